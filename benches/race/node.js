// jmespath.js, asked over standard input: one JSON object a line, one answer a line.
//
//     node node.js FOLDER     the folder that holds node_modules
//
// What is timed is a loop in this process: the document is parsed before ("evaluate") or within it
// ("parse"), the expression is compiled before, and each answer is written as JSON in UTF-8.
"use strict";

const fs = require("fs");
const path = require("path");
const readline = require("readline");

// The library compiles an expression and has an interpreter for what comes out of that, but its
// `search` compiles anew in each call and the interpreter is not let out. One line added to the
// source as it is read lets it out, so that the library is measured at its best.
const PRIVATE = "exports.Runtime = Runtime; exports.TreeInterpreter = TreeInterpreter;";
const LAST = "  exports.search = search;";

function library(folder) {
  const home = path.join(folder, "node_modules", "jmespath");
  const file = path.join(home, "jmespath.js");
  let source;
  try {
    source = fs.readFileSync(file, "utf8");
  } catch {
    return { missing: "the npm package jmespath is not installed" };
  }
  const { version } = JSON.parse(fs.readFileSync(path.join(home, "package.json"), "utf8"));
  const module = { exports: {} };
  const opened = source.replace(LAST, `${LAST}\n  ${PRIVATE}`);
  new Function("exports", "module", "require", opened)(module.exports, module, require);
  const { compile, search, Runtime, TreeInterpreter } = module.exports;
  const version_of = `jmespath.js ${version} on Node ${process.versions.node}`;
  if (!TreeInterpreter) {
    const version = `${version_of}, compiling in each call`;
    return { version, compile: (text) => (value) => search(value, text) };
  }
  return {
    version: `${version_of}, compiled once`,
    compile: (text) => {
      const runtime = new Runtime();
      const interpreter = new TreeInterpreter(runtime);
      runtime._interpreter = interpreter;
      const tree = compile(text);
      return (value) => interpreter.search(tree, value);
    },
  };
}

const { missing, version, compile } = library(process.argv[2]);
let bytes, value, search;
let written = 0; // used, so that nothing is optimised away

function write(answer) {
  const json = Buffer.from(JSON.stringify(answer));
  written += json.length;
  return json;
}

function timed(times, once) {
  const start = process.hrtime.bigint();
  for (let n = 0; n < times; n++) once();
  return { nanoseconds: Number(process.hrtime.bigint() - start) };
}

const COMMANDS = {
  open({ file }) {
    bytes = fs.readFileSync(file);
    value = JSON.parse(bytes);
    return {};
  },
  compile({ expression }) {
    search = compile(expression);
    return {};
  },
  answer: () => ({ answer: write(search(value)).toString() }),
  evaluate: ({ times }) => timed(times, () => write(search(value))),
  parse: ({ times }) => timed(times, () => write(search(JSON.parse(bytes)))),
};

function say(answer) {
  fs.writeSync(1, JSON.stringify(answer) + "\n");
}

say(missing ? { missing } : { version });
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  try {
    say(COMMANDS[request.do](request));
  } catch (error) {
    say({ error: String(error) });
  }
});
