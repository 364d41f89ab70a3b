// A server whose results are tables of about as many bytes as are asked for, in each way in which servers give them.
//
// Results are written by hand: no JSON writer gives the digits, blanks and escapes that are in them.

import { createHash } from 'node:crypto';
import { says, serve, write } from './serve.mjs';

const asked = {
  type: 'object',
  properties: { bytes: { type: 'integer', description: 'about how long the table is' }, from: { type: 'integer' } },
  required: ['bytes'],
};
/** As it was written: blanks, digits and escapes of its own. */
const table =
  '{"type": "object", "required": ["rows", "count"], "properties": {"count": {"type": "integer", "minimum": 0.0}, "rows": {"type": "array", "items": ' +
  '{"type": "object", "title": "a caf\\u00e9", "required": ["id", "name", "amount"], "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "amount": {"type": "number"}}}}}}';

/** A row as JSON. Every amount is positive, so that fewer rows have another sum. */
const json = (id) => `{"id": ${id}, "name": "row ${id} of caf\\u00e9s, \\"as it is\\"", "amount": ${(id % 97) + 1}.50}`;

/** Rows until they have the length. */
function rows(bytes, form = json, from = 0) {
  const found = [];
  for (let length = 0, id = from; length < bytes; id += 1) {
    const one = form(id);
    found.push(one);
    length += one.length + 2;
  }
  return found;
}

const list = (bytes) => `[${rows(bytes).join(', ')}]`;
const object = (bytes) => {
  const found = rows(bytes);
  return `{"rows": [${found.join(', ')}], "count": ${found.length}}`;
};
/** The same with a line for each member. */
const pretty = (bytes) => JSON.stringify(JSON.parse(object(bytes)), null, 2);
const text = (text) => `{"type": "text", "text": ${JSON.stringify(text)}}`;
const IMAGE = `{"type": "image", "mimeType": "image/png", "data": "${Buffer.alloc(900, 7).toString('base64')}"}`;
/** A table by names, in which each member counts. */
const byName = (bytes) => `{${rows(bytes, (id) => `"name ${id}": ${(id % 97) + 1}.50`).join(', ')}}`;

const results = {
  structured: (bytes) => `{"content": [${text(object(bytes))}], "structuredContent": ${object(bytes)}}`,
  structured_only: (bytes) => `{"structuredContent": ${object(bytes)}, "content": []}`,
  structured_and_prose: (bytes) => `{"content": [${text('The table, by id.')}], "structuredContent": ${object(bytes)}, "_meta": {"example.com/kept": 1.0}}`,
  structured_undeclared: (bytes) => `{"content": [${text(object(bytes))}], "structuredContent": ${object(bytes)}, "isError": false}`,
  structured_by_name: (bytes) => `{"content": [${text(byName(bytes))}], "structuredContent": ${byName(bytes)}}`,
  json_object: (bytes) => `{"content": [${text(object(bytes))}]}`,
  json_list: (bytes) => `{"content": [${text(list(bytes))}]}`,
  json_pretty: (bytes) => `{"content": [${text(pretty(bytes))}]}`,
  json_parts: (bytes) => `{"content": [${rows(bytes / 4, () => text(list(4 * 80))).slice(0, 12).join(', ')}, ${text(list(bytes))}]}`,
  csv: (bytes) => `{"content": [${text(`id,name,amount\n${rows(bytes, (id) => `${id},row ${id},${(id % 97) + 1}.50`).join('\n')}\n`)}]}`,
  python: (bytes) => `{"content": [${text(`[${rows(bytes, (id) => `{'id': ${id}, 'name': 'row ${id}', 'amount': ${(id % 97) + 1}.5}`).join(', ')}]`)}]}`,
  parts: (bytes) => `{"content": [${text('A chart and its table.')}, ${IMAGE}, ${text(object(bytes))}, ${IMAGE}]}`,
  fails: (bytes) => `{"content": [${text(object(bytes))}], "isError": true}`,
  page: (bytes, from) => {
    const count = rows(bytes).length;
    const found = rows(bytes / 5, json, from).slice(0, count - from);
    const next = from + found.length;
    return `{"content": [${text(`{"rows": [${found.join(', ')}], "next": ${next < count ? next : null}}`)}]}`;
  },
};
const declared = {
  structured: table,
  structured_only: table,
  structured_and_prose: table,
  structured_by_name: '{"type": "object", "additionalProperties": {"type": "number"}}',
};

const tools = Object.fromEntries(
  Object.entries(results).map(([name, result]) => [
    name,
    {
      definition: { description: `A table: ${name}`, inputSchema: asked },
      outputSchema: declared[name],
      call: ({ bytes, from = 0 }, { id }) => {
        write(`{"jsonrpc": "2.0", "id": ${JSON.stringify(id)}, "result": ${result(bytes, from)}}`);
      },
    },
  ]),
);

/** What was said to be the table: its rows, and their sum. */
function digest(value, raw) {
  const found = Array.isArray(value) ? value : value.rows;
  const sum = found.reduce((sum, one) => sum + one.amount, 0);
  return { rows: found.length, sum, hash: createHash('sha256').update(JSON.stringify(value)).digest('hex'), received: raw.length };
}

serve({
  name: 'tables',
  tools: {
    ...tools,
    digest: {
      definition: {
        description: 'Takes a table, and says what it was',
        inputSchema: { type: 'object', properties: { value: { type: ['object', 'array'], description: 'a table, or its rows' } }, required: ['value'] },
      },
      call: (args, _, raw) => says(JSON.stringify({ ...digest(args.value, raw), names: Object.keys(args) })),
    },
    refuse: {
      definition: { description: 'An error of the protocol', inputSchema: asked },
      call: (_, { id }) => {
        write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32044,"message":"no table","data":{"exact":1.50}}}`);
      },
    },
  },
});
