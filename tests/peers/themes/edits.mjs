// Fetch, edit, write back: one sentence of a large page changes, and nothing else of it passes through the model. And a
// large file goes into an argument, of which the model writes the name.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../lib/checks.mjs';
import { scratch } from '../lib/gateway.mjs';
import { callId, text } from '../lib/raw.mjs';
import { stdio, types } from '../lib/sdk.mjs';
import { filesystem } from './filesystem.mjs';

const SENTENCE = 'The ferry to the island leaves at eight.';
const CHANGED = 'The ferry to the island leaves at half past nine.';

/** A page of some 290 KB with one sentence that occurs once, and characters of every length. */
function page() {
  const lines = [];
  for (let n = 0; n < 4_200; n += 1) lines.push(`${n}. Tides at stage ${n % 97}: „high“, 1.${n}0 m, ☂ or 🌊 by turns.\r\n`);
  lines.splice(2_100, 0, `${SENTENCE}\n`);
  return lines.join('');
}

export default async function edits(t) {
  if (t.direct) return;
  const root = scratch('edits');
  const whole = page();
  writeFileSync(join(root, 'page.txt'), whole);
  const servers = { filesystem: filesystem(root) };
  await t.using('a client, with edits switched on', () => stdio(servers, { options: { references: { edits: true } } }), async (client) => {
    let shown = 0;
    const call = async (name, args) => {
      const result = await client.callTool({ name, arguments: args });
      shown += Buffer.byteLength(JSON.stringify(result));
      return result;
    };
    const { tools } = await client.listTools();
    await t.check('tools offer edits', async () => {
      assert.match(JSON.stringify(tools.find(({ name }) => name === 'write_file')), /_edit/);
    });
    let id;
    let digest;
    await t.check('a page of 290 KB is shown as a preview with its digest', async () => {
      const result = await call('read_text_file', { path: join(root, 'page.txt') });
      id = callId(result);
      digest = /; digest ([0-9a-f]{12})/.exec(text(result))?.[1];
      assert.ok(digest, text(result).slice(0, 300));
      assert.ok(shown < 20_000, `${shown} bytes`);
    });
    await t.check('one sentence changes, and every other byte is written back', async () => {
      const path = join(root, 'changed.txt');
      const content = { _tool: id, _select: 'content', _edit: [{ old: SENTENCE, new: CHANGED }], _digest: digest };
      const written = { path, content: null, _refs: { content } };
      const sent = Buffer.byteLength(JSON.stringify(written));
      // No tokenizer makes more tokens of a text than it has bytes.
      assert.ok(sent < 500, `${sent} bytes`);
      const result = await call('write_file', written);
      assert.notEqual(result.isError, true, text(result));
      const changed = readFileSync(path);
      assert.ok(changed.equals(Buffer.from(whole.replace(SENTENCE, CHANGED))));
      t.note('seen', 'a page, one sentence changed', 0, `${changed.length} bytes written; ${sent} bytes of arguments and ${shown} bytes of results passed the model`);
    });
    await t.check('a quotation that misses is answered with the passage, and nothing is written', async () => {
      const path = join(root, 'never.txt');
      const edit = [{ old: 'The ferry to the islands leaves at 8.', new: CHANGED }];
      const result = await call('write_file', { path, content: { $tool: id, $select: 'content', $edit: edit } });
      assert.equal(result.isError, true);
      assert.match(text(result), /does not occur/);
      assert.match(text(result), /nearest passage.*The ferry to the island leaves at /);
      assert.throws(() => readFileSync(path));
    });
    await t.check('the digest of another result is refused', async () => {
      const content = { $tool: id, $select: 'content', $edit: [], $digest: '0123456789ab' };
      const result = await call('write_file', { path: join(root, 'never.txt'), content });
      assert.equal(result.isError, true);
      assert.match(text(result), new RegExp(digest));
    });
    await t.check('a change of what was read again since is made, and reported', async () => {
      const again = callId(await call('read_text_file', { path: join(root, 'page.txt') }));
      const content = { $tool: id, $select: 'content', $edit: [{ old: SENTENCE, new: CHANGED }] };
      const result = await call('write_file', { path: join(root, 'late.txt'), content });
      assert.match(JSON.stringify(result._meta), new RegExp(`${again}. is the same call made later`));
    });
  });
  await t.using('a client of a gateway without edits', () => stdio(servers), async (client) => {
    await t.check('an edit is refused, and the message says how to switch it on', async () => {
      const read = await client.callTool({ name: 'read_text_file', arguments: { path: join(root, 'page.txt') } });
      const content = { $tool: callId(read), $select: 'content', $edit: [{ old: SENTENCE, new: CHANGED }] };
      const result = await client.callTool({ name: 'write_file', arguments: { path: join(root, 'never.txt'), content } });
      assert.equal(result.isError, true);
      assert.match(text(result), /`references.edits` in the configuration/);
    });
  });
  await inputs(t, servers, root);
}

/** A client of an era, whose roots are those in `roots` when it is asked. */
function rooted(stateless, roots) {
  const list = () => ({ roots: roots.map((path) => ({ uri: `file://${path}`, name: 'root' })) });
  const prepare = (client) => client.setRequestHandler(stateless ? 'roots/list' : types.ListRootsRequestSchema, list);
  return { stateless, prepare, capabilities: { roots: {} } };
}

async function inputs(t, servers, root) {
  for (const name of ['in', 'out']) mkdirSync(join(root, name));
  const whole = page().padEnd(300_000, '\n');
  writeFileSync(join(root, 'in', 'large.txt'), whole);
  const options = { references: { files: join(root, 'in') } };
  for (const stateless of [false, true]) {
    const era = stateless ? 'without sessions' : 'with sessions';
    const roots = [root];
    await t.using(`a client ${era}, with files switched on`, () => stdio(servers, { options, ...rooted(stateless, roots) }), async (client) => {
      const put = async (path) => {
        const written = { path, content: null, _refs: { content: { _file: 'large.txt' } } };
        const result = await client.callTool({ name: 'write_file', arguments: written });
        return [result, Buffer.byteLength(JSON.stringify(written)), Buffer.byteLength(JSON.stringify(result))];
      };
      await client.listTools();
      await t.check(`a file of 330 KB goes into an argument, ${era}`, async () => {
        const path = join(root, 'out', `${stateless}.txt`);
        const [result, sent, shown] = await put(path);
        assert.notEqual(result.isError, true, text(result));
        const copied = readFileSync(path);
        assert.ok(copied.equals(Buffer.from(whole)));
        assert.ok(sent + shown < 1_000, `${sent} and ${shown} bytes`);
        t.note('seen', `a file in an argument, ${era}`, 0, `${copied.length} bytes reached the server; ${sent} bytes of arguments and ${shown} bytes of results passed the model`);
      });
      await t.check(`roots of the client narrow what is read, ${era}`, async () => {
        roots[0] = join(root, 'out');
        const [result] = await put(join(root, 'out', 'never.txt'));
        assert.equal(result.isError, true);
        assert.match(text(result), /outside of the roots of the client/);
        assert.throws(() => readFileSync(join(root, 'out', 'never.txt')));
      });
    });
  }
}
