// Several servers behind one gateway: chains across them, names that collide, rules on what may flow.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assert } from '../lib/checks.mjs';
import { BINARY, scratch } from '../lib/gateway.mjs';
import { callId, text } from '../lib/raw.mjs';
import { packaged, stdio } from '../lib/sdk.mjs';
import { filesystem, forest } from './filesystem.mjs';

export const own = (name, more = {}) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL(`../servers/${name}.mjs`, import.meta.url))],
  ...more,
});
/** What the sink received: the arguments of the call that it answered with. */
export const received = (result) => JSON.parse(result.content[0].text).params.arguments;

const repository = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** What the example of the guide prints, run as it stands on a folder. */
async function example(folder) {
  // What it imports, and what `npx` starts, is looked for where it stands.
  const installed = join(process.env.CROSSFEED_PEERS_CACHE, 'node');
  const program = join(installed, 'chain.mjs');
  copyFileSync(repository('crates/crossfeed-gateway/examples/chain.mjs'), program);
  const programs = scratch('programs');
  symlinkSync(BINARY, join(programs, 'crossfeed'));
  const PATH = [programs, dirname(process.execPath), process.env.PATH].join(delimiter);
  const run = promisify(execFile)(process.execPath, [program, folder], { cwd: installed, env: { ...process.env, PATH } });
  return (await run).stdout;
}

const hash = (value) => createHash('sha256').update(value).digest('hex').slice(0, 12);

export default async function chains(t) {
  if (t.direct) return;
  await t.check('the example of the guide takes a path out of a large tree', async () => {
    const said = await example(repository('crates'));
    assert.match(said, /^\[crossfeed preview of call_1: cut, not the data; /m);
    assert.match(said, /^size: \d+\n[^]*isFile: true\n[^]*"_toolCallId":"call_2"/m);
  });
  const root = forest('chain', 10, 5);
  const memory = packaged('server-memory', [], { env: { MEMORY_FILE_PATH: join(scratch('memory'), 'memory.jsonl') } });
  const servers = { files: filesystem(root), memory, sink: own('sink') };
  await t.using('a client of three servers', () => stdio(servers), async (client) => {
    const call = (name, args = {}) => client.callTool({ name, arguments: args });
    await t.check('tools of all of them are listed under their own names', async () => {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      for (const name of ['directory_tree', 'create_entities', 'take']) assert.ok(names.includes(name), name);
    });
    const id = await t.check('a tree of one server is shown', async () => callId(await call('directory_tree', { path: root })));
    await t.check('a selection of it becomes entities of another server', async () => {
      const made = await call('create_entities', {
        entities: { $tool: id, $select: "content[?type=='directory'].{name: name, entityType: type, observations: children[*].name}" },
      });
      assert.notEqual(made.isError, true, text(made));
      const { structuredContent, content } = await call('open_nodes', { names: ['folder-004'] });
      const node = (structuredContent ?? JSON.parse(content[0].text)).entities[0];
      assert.equal(node.entityType, 'directory');
      assert.deepEqual([...node.observations].sort(), ['leaf-0.txt', 'leaf-1.txt', 'leaf-2.txt', 'leaf-3.txt', 'leaf-4.txt']);
    });
    await t.check('a third server receives exactly what was selected', async () => {
      const seen = received(await call('take', { value: { $tool: id, $select: 'content[0]' } }));
      assert.equal(seen.value.name, 'dot.png');
      assert.deepEqual(Object.keys(seen), ['value']);
    });
    await t.check('digits and the order of keys are those of the source', async () => {
      const numbers = callId(await call('numbers'));
      const shown = await call('take', { value: { $tool: numbers } });
      assert.ok(
        text(shown).includes('{"big":12345678901234567890123,"exact":0.10000000000000000555,"zero":1.50,"z":1,"a":2}'),
        text(shown),
      );
    });
    await t.check('a result of a result of a result is the same bytes', async () => {
      const first = await call('read_text_file', { path: join(root, 'top-1.txt') });
      const second = await call('write_file', { path: join(root, 'copy.txt'), content: { $tool: callId(first), $select: 'content' } });
      assert.notEqual(second.isError, true, text(second));
      const third = await call('read_text_file', { path: join(root, 'copy.txt') });
      const seen = received(await call('take', { text: { $tool: callId(third), $select: 'content' } }));
      assert.equal(hash(seen.text), hash('top 1: „words“\n'));
    });
    await t.check('calls of one turn wait for each other', async () => {
      const list = await call('list_directory', { path: root });
      const next = `call_${Number(callId(list).slice(5)) + 1}`;
      const [first, second] = await Promise.all([
        call('read_text_file', { path: join(root, 'top-2.txt') }),
        call('take', { text: { $tool: next, $select: 'content' } }),
      ]);
      assert.equal(callId(first), next);
      assert.equal(received(second).text, 'top 2: „words“\n');
    });
    await t.check('what looks like a reference stays what it is under $literal', async () => {
      const seen = received(await call('take', { value: { $literal: { $tool: 'call_1' } } }));
      assert.deepEqual(seen.value, { $tool: 'call_1' });
    });
    await t.check('arguments without references are the bytes that were sent', async () => {
      const odd = { value: { z: 1, a: [1e3, 0.1, '\u2028', '\u00e9', null, true], '': {} } };
      assert.deepEqual(received(await call('take', odd)), odd);
    });
    await t.check('what was recorded is listed', async () => {
      const result = await call('list_results');
      assert.ok(JSON.stringify(result).includes(id), text(result).slice(0, 200));
    });
  });

  const pair = { left: own('sink'), right: own('sink') };
  await t.using('a client of two servers with the same tools', () => stdio(pair), async (client) => {
    await t.check('names that collide tell their server', async () => {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      assert.ok(names.includes('left__take') && names.includes('right__take'), names.join());
      assert.equal(new Set(names).size, names.length);
    });
    await t.check('a call goes to the server that is named, under its own name of the tool', async () => {
      const result = await client.callTool({ name: 'right__take', arguments: { text: 'x' } });
      assert.equal(JSON.parse(result.content[0].text).params.name, 'take');
      const counts = await Promise.all(['left__received', 'right__received'].map((name) => client.callTool({ name, arguments: {} })));
      assert.deepEqual(counts.map((count) => /\d+/.exec(count.content[0].text)[0]), ['0', '1']);
    });
  });

  const flows = [{ name: 'private-stays', from: 'private/*', to: 'public/*', action: 'deny' }];
  const ruled = { private: own('mistakes'), public: own('sink') };
  await t.using('a client under a rule', () => stdio(ruled, { options: { flows } }), async (client) => {
    const call = (name, args = {}) => client.callTool({ name, arguments: args });
    await t.check('a flow that a rule refuses never reaches the server', async () => {
      const id = callId(await call('json_text'));
      const refused = await call('take', { value: { $tool: id, $select: 'items[0]' } });
      assert.equal(refused.isError, true);
      assert.match(text(refused), /private-stays/);
      assert.match(text(await call('received')), /^0\b/);
    });
    await t.check('nor through a call that the rule does not name', async () => {
      const id = callId(await call('json_text'));
      const relayed = callId(await call('no_root_type', { a: { $tool: id, $select: 'items[0].name' } }));
      const refused = await call('take', { value: { $tool: relayed } });
      assert.equal(refused.isError, true);
      assert.match(text(await call('received')), /^0\b/);
    });
    await t.check('what no rule refuses goes', async () => {
      const id = callId(await call('numbers'));
      assert.equal(received(await call('take', { value: { $tool: id, $select: 'z' } })).value, 1);
    });
  });
}
