// A server that says what it received: the raw parameters of each call, byte for byte.

import { any, says, serve } from './serve.mjs';

const open = {
  type: 'object',
  properties: {
    value: { description: 'anything' },
    text: { type: 'string' },
    list: { type: 'array', items: { type: 'string' } },
    number: { type: 'number' },
    url: { type: 'string', format: 'uri', description: 'a data URL of an image' },
  },
};
const calls = [];

serve({
  name: 'sink',
  tools: {
    take: {
      definition: { description: 'Takes anything and answers with the call as it came', inputSchema: open },
      call: (_, __, raw) => {
        calls.push(raw);
        return says(raw);
      },
    },
    swallow: {
      definition: { description: 'Takes anything and says how much it was', inputSchema: open },
      call: (args, _, raw) => {
        calls.push(raw);
        return says(`swallowed ${raw.length} characters, ${JSON.stringify(Object.keys(args))}`);
      },
    },
    closed: {
      definition: {
        description: 'Takes nothing but `text`',
        inputSchema: {
          type: 'object',
          properties: { text: { type: 'string' } },
          required: ['text'],
          additionalProperties: false,
        },
      },
      call: (_, __, raw) => says(raw),
    },
    numbers: {
      definition: { description: 'Numbers that no double holds', inputSchema: any },
      call: (_, { id }) => {
        // Written by hand: no JavaScript number has these digits.
        const data = '{"big":12345678901234567890123,"exact":0.10000000000000000555,"zero":1.50,"z":1,"a":2}';
        process.stdout.write(
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":${JSON.stringify(data)}}],"structuredContent":${data}}}\n`,
        );
      },
    },
    received: {
      definition: { description: 'How many calls there were', inputSchema: any },
      call: () => says(String(calls.length)),
    },
  },
});
