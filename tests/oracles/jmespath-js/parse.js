// Reads one {"expression"} a line, writes true or false a line: whether it parses.
"use strict";
const { compile } = require("./jmespath.js");
const lines = require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean);
for (const line of lines) {
  let parses = true;
  try {
    compile(JSON.parse(line).expression);
  } catch {
    parses = false;
  }
  process.stdout.write(`${parses}\n`);
}
