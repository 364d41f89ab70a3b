// A server that fails on purpose, when a tool of it is called or, by `FAULT`, when it starts.

import { existsSync, writeFileSync } from 'node:fs';
import { any, ask, notes, notify, says, serve, write } from './serve.mjs';

const { FAULT, FAULT_ONCE } = process.env;

// With `FAULT_ONCE` a file says that it has failed before: then it behaves.
function faulty() {
  if (!FAULT) return false;
  if (!FAULT_ONCE) return true;
  if (existsSync(FAULT_ONCE)) return false;
  writeFileSync(FAULT_ONCE, '');
  return true;
}

const fault = faulty() ? FAULT : undefined;
if (fault === 'exit') process.exit(3);
if (fault === 'talk') {
  process.stderr.write('cannot open the database\n');
  process.exit(4);
}
if (fault === 'stubborn') {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1000);
}

const number = (name) => ({ type: 'object', properties: { [name]: { type: 'number' } } });
const tool = (inputSchema, call) => ({ definition: { inputSchema }, call });
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
let busy = 0;

const tools = {
  pid: tool(any, () => says(String(process.pid))),
  echo: tool({ type: 'object', properties: { text: { type: 'string' } } }, (_, __, raw) => says(raw)),
  die: tool(any, () => process.exit(3)),
  hang: tool(any, () => undefined),
  slow: tool(number('ms'), async ({ ms }) => {
    busy += 1;
    await sleep(ms);
    busy -= 1;
    return says(`slept ${ms}`);
  }),
  busy: tool(any, () => says(String(busy))),
  half: tool(any, (_, { id }) => {
    process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"te`, () => process.exit(0));
  }),
  garbage: tool(any, () => {
    write('{"jsonrpc": "2.0", "id": 1, "result": ');
    write('\u0000\u0001\u001b[31mred');
    process.stdout.write(Buffer.from([0xff, 0xfe, 0x80, 10]));
    write('{"jsonrpc":"2.0","result":{}}');
    write('{"jsonrpc":"2.0","id":987654321,"result":{}}');
    write('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}');
    return says('after the garbage');
  }),
  // The id stands behind the result, as some libraries write it.
  big: tool(number('megabytes'), async ({ megabytes }, { id }) => {
    const send = (text) =>
      new Promise((done) => (process.stdout.write(text) ? done() : process.stdout.once('drain', done)));
    await send('{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"');
    const block = 'x'.repeat(1 << 20);
    for (let n = 0; n < megabytes; n += 1) await send(block);
    await send(`"}]},"id":${JSON.stringify(id)}}\n`);
  }),
  flood: tool(number('count'), async ({ count }) => {
    for (let n = 0; n < count; n += 1) {
      if (!write({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: `flood ${n} ${'y'.repeat(200)}` } })) {
        await new Promise((done) => process.stdout.once('drain', done));
      }
    }
    return says(`flooded ${count}`);
  }),
  deaf: tool(number('ms'), async ({ ms }) => {
    process.stdin.pause();
    await sleep(ms);
    process.stdin.resume();
    return says('hears again');
  }),
  change: tool(any, () => {
    tools.added = tool(any, () => says('added'));
    delete tools.busy;
    notify('notifications/tools/list_changed');
    return says('changed');
  }),
  notes: tool(any, () => says(JSON.stringify(notes))),
  twice: tool(any, (_, { id }) => {
    const result = says('once');
    write({ jsonrpc: '2.0', id, result });
    write({ jsonrpc: '2.0', id, result: says('twice') });
  }),
  asks: tool(any, async () => says(JSON.stringify(await ask('roots/list')))),
  progress: tool(number('steps'), async ({ steps }, { params }) => {
    for (let n = 1; n <= steps; n += 1) {
      notify('notifications/progress', { progressToken: params._meta?.progressToken, progress: n, total: steps });
      await sleep(5);
    }
    return says('done');
  }),
};

serve({
  name: 'faults',
  tools,
  onInitialize: () => (fault === 'silent' ? 'silent' : undefined),
  ...(fault === 'stubborn' ? { onEnd: () => {} } : {}),
});
