// Reads one {"expression", "data"} a line, writes one {"value"} or {"error"} a line.
"use strict";
const { search } = require("./jmespath.js");
const lines = require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean);
for (const line of lines) {
  const { expression, data } = JSON.parse(line);
  let answer;
  try {
    const value = search(data, expression);
    answer = { value: value === undefined ? null : value };
  } catch (error) {
    answer = { error: String(error.message) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
