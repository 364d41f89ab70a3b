// Reads one {"schema", "instances"?} a line, writes one {"valid": [bool, ...]} or {"error"} a line: whether
// Ajv takes the schema for one of its dialect (by its meta-schema, and by compiling it), and which instances it accepts.
// The dialect is the schema's own `$schema`; without one it is 2020-12.
"use strict";
const options = {
  strict: false,
  validateFormats: false,
  // Two schemas with one `$id` must not meet.
  addUsedSchema: false,
  logger: false,
};
const ajv = (bundle) => new (bundle.default || bundle)(options);
const draft7 = ajv(require("./ajv7.min.js"));
const draft202012 = ajv(require("./ajv2020.min.js"));
const isDraft7 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;

function judge({ schema, instances = [] }) {
  const declared = typeof schema === "object" && schema !== null ? schema.$schema : undefined;
  const validator = isDraft7.test(declared) ? draft7 : draft202012;
  if (!validator.validateSchema(schema)) {
    return { error: validator.errorsText(validator.errors) };
  }
  try {
    const validate = validator.compile(schema);
    return { valid: instances.map((instance) => validate(instance)) };
  } finally {
    validator.removeSchema(schema);
  }
}

const lines = require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean);
for (const line of lines) {
  let answer;
  try {
    answer = judge(JSON.parse(line));
  } catch (error) {
    answer = { error: String(error.message) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
