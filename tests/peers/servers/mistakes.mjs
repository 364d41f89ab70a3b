// A server that makes the mistakes of real ones, each in a tool of its own.
//
// Which: no root type, root combinators, one `$id` twice, lists and null as structured content, JSON in a
// string, a Python `repr`, lines on standard output that are not messages, prose beside structured content,
// results that their own schema refuses, nothing in `content`, words of ours in the server's mouth.

import { any, says, serve, write } from './serve.mjs';

const item = (n) => ({ id: n, name: `item ${n}`, url: `https://example.com/items/${n}`, score: n / 100 });
const items = (count) => Array.from({ length: count }, (_, n) => item(n));
const listing = {
  type: 'object',
  properties: {
    items: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: {
          id: { type: 'integer' },
          name: { type: 'string' },
          url: { type: 'string' },
          score: { type: 'number' },
        },
        required: ['id', 'name', 'url', 'score'],
        additionalProperties: false,
      },
    },
    total: { type: 'integer' },
  },
  required: ['items', 'total'],
  additionalProperties: false,
};
const both = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value });
const twice = (field) => ({
  $id: 'https://example.com/one-id',
  type: 'object',
  properties: { [field]: { type: 'string' } },
  required: [field],
});
const tool = (definition, call) => ({ definition: { inputSchema: any, ...definition }, call });

// Real servers greet.
write('Mistakes MCP Server running on stdio');
write('');
write('{"level":30,"msg":"a log line that is JSON"}');
write('[1, 2, 3]');

const noisy = (call) => (args, message, raw) => {
  write(`handling ${message.params.name}`);
  return call(args, message, raw);
};

const tools = {
  no_root_type: tool({ inputSchema: { properties: { a: { type: 'string' } } } }, (_, __, raw) => says(raw)),
  measure: tool({ inputSchema: { type: 'object', properties: { a: { type: 'string' } } } }, ({ a }) =>
    says(`${a?.length} characters, ${a?.split('\n').length} lines`),
  ),
  root_one_of: tool(
    {
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        oneOf: [{ required: ['a'] }, { required: ['b'] }],
      },
    },
    (_, __, raw) => says(raw),
  ),
  root_any_of_alone: tool(
    { inputSchema: { anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { type: 'object', properties: { b: { type: 'number' } } }] } },
    (_, __, raw) => says(raw),
  ),
  pointer: tool(
    {
      inputSchema: {
        type: 'object',
        properties: {
          first: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
          second: { $ref: '#/properties/first' },
        },
      },
    },
    (_, __, raw) => says(raw),
  ),
  broken_schema: tool({ inputSchema: { type: 'object', properties: { a: { type: 'nonsense' } } } }, (_, __, raw) => says(raw)),
  one_id_a: tool({ outputSchema: twice('a') }, () => both({ a: 'first' })),
  one_id_b: tool({ outputSchema: twice('b') }, () => both({ b: 'second' })),
  root_list: tool({ outputSchema: { type: 'array', items: { type: 'number' } } }, () => both([1, 2, 3])),
  root_union: tool(
    { outputSchema: { oneOf: [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, { type: 'object' }] } },
    () => both({ a: 'x' }),
  ),
  structured_list: tool({}, () => both([{ a: 1 }, { a: 2 }])),
  structured_null: tool({}, () => ({ content: [{ type: 'text', text: 'nothing' }], structuredContent: null })),
  structured_only: tool({}, () => ({ structuredContent: { a: 1 } })),
  nothing_at_all: tool({}, () => ({})),
  json_in_string: tool({ outputSchema: { type: 'object', properties: { result: { type: 'string' } }, required: ['result'] } }, () =>
    both({ result: JSON.stringify({ items: items(200), total: 200 }) }),
  ),
  json_text: tool({}, () => says(JSON.stringify({ items: items(200), total: 200 }))),
  python_repr: tool({}, () => says("[{'id': 1, 'name': 'it''s', 'ok': True, 'none': None}]")),
  prose: tool({ outputSchema: listing }, () => ({
    content: [{ type: 'text', text: 'Found 200 items, the best of which is item 199.' }],
    structuredContent: { items: items(200), total: 200 },
  })),
  strict_output: tool({ outputSchema: listing }, () => both({ items: items(400), total: 400 })),
  breaks_its_schema: tool({ outputSchema: listing }, () => both({ items: [], extra: true })),
  schema_but_text: tool({ outputSchema: listing }, () => says('no structured content here')),
  page: tool({ outputSchema: listing, _meta: { ui: { resourceUri: 'ui://page' } } }, () => both({ items: items(300), total: 300 })),
  header: tool(
    {
      inputSchema: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, text: { type: 'string' } },
        required: ['region'],
      },
    },
    (_, __, raw) => says(raw),
  ),
  own_fields: tool(
    {
      inputSchema: {
        type: 'object',
        properties: {
          fields: { type: 'array', items: { type: 'string' } },
          output: { type: 'string' },
          project: { type: 'string' },
          _select: { type: 'string' },
        },
        additionalProperties: false,
      },
    },
    (_, __, raw) => says(raw),
  ),
  closed: tool(
    {
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'string' }, deep: { type: 'object', properties: { b: { type: 'number' } }, additionalProperties: false } },
        additionalProperties: false,
      },
    },
    (_, __, raw) => says(raw),
  ),
  fails: tool({ outputSchema: listing }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'the database is away:  try later ' }],
    structuredContent: { reason: 'away', retry: 1.50 },
  })),
  claims: tool({}, () => ({
    content: [{ type: 'text', text: '{"a":1}' }],
    _meta: { 'dev.crossfeed/chain': false, 'dev.crossfeed/projection': { applied: true }, 'example.com/kept': 7 },
  })),
  lookalike: tool({}, () => both({ inner: { $tool: 'call_1', $select: 'x' }, _refs: { a: { _tool: 'call_1' } }, _id: 'kept' })),
  picture: tool({}, () => ({
    content: [
      { type: 'text', text: 'a picture' },
      { type: 'image', data: Buffer.alloc(3000, 7).toString('base64'), mimeType: 'image/png' },
    ],
  })),
  only_picture: tool({}, () => ({ content: [{ type: 'image', data: Buffer.alloc(60, 7).toString('base64'), mimeType: 'image/png' }] })),
  sound: tool({}, () => ({ content: [{ type: 'audio', data: Buffer.alloc(60, 9).toString('base64'), mimeType: 'audio/wav' }] })),
  blob: tool({}, () => ({
    content: [{ type: 'resource', resource: { uri: 'file:///x.bin', mimeType: 'application/octet-stream', blob: Buffer.alloc(60, 3).toString('base64') } }],
  })),
  link: tool({}, () => ({ content: [{ type: 'resource_link', uri: 'file:///x.txt', name: 'x' }] })),
  long_text: tool({}, () => says(Array.from({ length: 2000 }, (_, n) => `line ${n}: all work and no play`).join('\n'))),
  unknown_part: tool({}, () => ({ content: [{ type: 'text', text: 'before' }], extra: { kept: true } })),
};
for (const one of Object.values(tools)) one.call = noisy(one.call);

serve({ name: 'mistakes', tools, instructions: 'Mind the mistakes.' });
