// `server-filesystem`: a directory tree as JSON in a string, selected into other calls; files; pictures.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../lib/checks.mjs';
import { scratch } from '../lib/gateway.mjs';
import { Raw, callId, text } from '../lib/raw.mjs';
import { command } from '../lib/gateway.mjs';
import { packaged, stdio } from '../lib/sdk.mjs';

/** A folder with many files: enough that its tree is shown as a preview. */
export function forest(name, folders = 40, each = 12) {
  const root = scratch(name);
  for (let n = 0; n < folders; n += 1) {
    const folder = join(root, `folder-${String(n).padStart(3, '0')}`);
    mkdirSync(folder);
    for (let m = 0; m < each; m += 1) writeFileSync(join(folder, `leaf-${m}.txt`), `folder ${n}, leaf ${m}\n`);
  }
  for (let n = 0; n < 5; n += 1) writeFileSync(join(root, `top-${n}.txt`), `top ${n}: „words“\n`);
  writeFileSync(join(root, 'dot.png'), Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));
  return root;
}

/** The server on a folder, which is its working directory, too: relative paths are below it. */
export const filesystem = (root) => packaged('server-filesystem', [root], { cwd: root });

export default async function files(t) {
  const root = forest('forest');
  const servers = { filesystem: filesystem(root) };
  const tree = await t.check('the tree is the same with and without the gateway', async () => {
    const direct = new Raw(command(servers, { direct: true }));
    await direct.initialize();
    const whole = await direct.call('directory_tree', { path: root });
    await direct.close();
    assert.ok(text(whole).length > 30_000);
    assert.equal(whole.structuredContent.content, text(whole));
    return text(whole);
  });
  await t.using('a TypeScript client', () => stdio(servers, { direct: t.direct }), async (client) => {
    const call = (name, args = {}) => client.callTool({ name, arguments: args });
    await t.check('tools are listed', async () => {
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === 'directory_tree'));
    });
    if (t.direct) return;
    const id = await t.check('a large tree is shown as a preview that names its call', async () => {
      const result = await call('directory_tree', { path: root });
      assert.notEqual(result.isError, true);
      const shown = JSON.stringify(result);
      assert.ok(shown.length < tree.length / 2, `${shown.length} of ${tree.length} characters`);
      const id = callId(result);
      assert.equal(result.structuredContent, undefined);
      assert.match(text(result), new RegExp(`^\\[crossfeed preview of ${id}: `));
      return id;
    });
    await t.check('names selected out of the tree are read by another call', async () => {
      const result = await call('read_multiple_files', {
        paths: { $tool: id, $select: "content[?type=='file' && ends_with(name, '.txt')].name" },
      });
      for (let n = 0; n < 5; n += 1) assert.match(text(result), new RegExp(`top ${n}: „words“`));
      assert.doesNotMatch(text(result), /leaf/);
    });
    await t.check('the same by the map of references', async () => {
      const result = await call('read_multiple_files', {
        _refs: { paths: { _tool: id, _select: "content[?name=='top-3.txt'].name" } },
      });
      assert.match(text(result), /top 3: „words“/);
      assert.doesNotMatch(text(result), /top 2/);
    });
    await t.check('the whole tree is written to a file, byte for byte', async () => {
      const path = join(root, 'tree.json');
      const result = await call('write_file', { path, content: { $tool: id, $select: 'content' } });
      assert.notEqual(result.isError, true, text(result));
      assert.equal(readFileSync(path, 'utf8'), tree);
    });
    await t.check('a folder deep in the tree is reached', async () => {
      const result = await call('write_file', {
        path: join(root, 'deep.txt'),
        content: { $tool: id, $select: "content[?name=='folder-007'].children | [0][11].name" },
      });
      assert.notEqual(result.isError, true, text(result));
      assert.match(readFileSync(join(root, 'deep.txt'), 'utf8'), /^leaf-\d+\.txt$/);
    });
    await t.check('an object is not put where a string must be', async () => {
      const path = join(root, 'never.txt');
      const result = await call('write_file', { path, content: { $tool: id } });
      assert.equal(result.isError, true);
      assert.match(text(result), /string/);
      assert.throws(() => readFileSync(path));
    });
    await t.check('a stored result is paged into view', async () => {
      const result = await call('read_result', { call_id: id });
      assert.notEqual(result.isError, true, text(result));
    });
    await t.check('a picture is shown and passed on', async () => {
      const picture = await call('read_media_file', { path: join(root, 'dot.png') });
      assert.notEqual(picture.isError, true, text(picture));
      const shown = picture.content.find((part) => part.type === 'image') ?? picture.structuredContent?.content?.[0];
      assert.equal(shown.data, readFileSync(join(root, 'dot.png')).toString('base64'));
    });
    await t.check('an error is passed on as it is', async () => {
      const result = await call('read_text_file', { path: '/etc/passwd' });
      assert.equal(result.isError, true);
      assert.match(text(result), /Access denied/);
      assert.doesNotMatch(text(result), /call_/);
    });
  });
}
