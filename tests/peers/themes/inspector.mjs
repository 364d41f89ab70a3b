// The inspector's command line, which checks as the inspector does.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { assert } from '../lib/checks.mjs';
import { command, listening } from '../lib/gateway.mjs';
import { MODULES, packaged } from '../lib/sdk.mjs';
import { own } from './chains.mjs';

const run = promisify(execFile);
const INSPECTOR = join(MODULES, '.bin', 'mcp-inspector');
const servers = { everything: packaged('server-everything', ['stdio']) };

export default async function inspector(t) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const node = process.env.CROSSFEED_NODE22 ?? process.execPath;
  if (major < 22 || (major === 22 && minor < 19)) {
    if (!process.env.CROSSFEED_NODE22) {
      t.skip('the inspector lists and calls', `it wants Node 22.19, here is ${process.version}`);
      return;
    }
  }
  const inspect = async (what, ...args) => {
    const { stdout } = await run(node, [INSPECTOR, '--cli', ...what, ...args], { maxBuffer: 64 << 20, timeout: 50_000 });
    return JSON.parse(stdout.slice(stdout.indexOf('{')));
  };
  const stdio = (which) => {
    const { command: program, args } = command(which, { direct: t.direct });
    return [program, ...args];
  };
  await t.check('stdio: it lists the tools', async () => {
    const { tools } = await inspect(stdio(servers), '--method', 'tools/list');
    assert.ok(tools.some(({ name }) => name === 'echo'));
  });
  await t.check('stdio: it calls a tool', async () => {
    const { content } = await inspect(stdio(servers), '--method', 'tools/call', '--tool-name', 'get-sum', '--tool-arg', 'a=2', 'b=3');
    assert.match(JSON.stringify(content), /\b5\b/);
  });
  await t.check('stdio: it lists resources and prompts', async () => {
    assert.ok((await inspect(stdio(servers), '--method', 'resources/list')).resources.length > 0);
    assert.ok((await inspect(stdio(servers), '--method', 'prompts/list')).prompts.length > 0);
  });
  if (t.direct) return;
  const wrong = { mistakes: own('mistakes') };
  await t.check('stdio: it lists a server full of mistakes', async () => {
    const { tools } = await inspect(stdio(wrong), '--method', 'tools/list');
    assert.ok(tools.length > 30);
  });
  for (const name of ['strict_output', 'breaks_its_schema', 'structured_list', 'one_id_b', 'fails']) {
    await t.check(`stdio: it accepts a result of ${name}`, async () => {
      const { content } = await inspect(stdio(wrong), '--method', 'tools/call', '--tool-name', name);
      assert.ok(Array.isArray(content));
    });
  }
  await t.using('a gateway over HTTP', () => listening(servers), async (gateway) => {
    await t.check('HTTP: it lists and calls', async () => {
      const at = [gateway.url.href, '--transport', 'http'];
      assert.ok((await inspect(at, '--method', 'tools/list')).tools.length > 10);
      const { content } = await inspect(at, '--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'message=hello');
      assert.match(JSON.stringify(content), /hello/);
    });
  });
}
