// The inspector's command line, which checks as the inspector does.

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assert } from '../lib/checks.mjs';
import { command, listening, scratch } from '../lib/gateway.mjs';
import { MODULES, packaged } from '../lib/sdk.mjs';
import { own } from './chains.mjs';

const run = promisify(execFile);
const INSPECTOR = join(MODULES, '.bin', 'mcp-inspector');
const servers = { everything: packaged('server-everything', ['stdio']) };

export default async function inspector(t) {
  const inspect = async (what, ...args) => {
    const asked = run(process.execPath, [INSPECTOR, '--cli', ...what, ...args], { maxBuffer: 64 << 20, timeout: 50_000 });
    // A tool error is printed like any result; only the exit status tells it.
    const { stdout } = await asked.catch((error) => {
      if (!error.stdout) throw error;
      return error;
    });
    return JSON.parse(stdout.slice(stdout.indexOf('{')));
  };
  // As a user has it: the gateway is a server in the inspector's own configuration.
  const stdio = (which) => {
    const { command: program, args } = command(which, { direct: t.direct });
    const file = join(scratch('inspector'), 'mcp.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { tried: { command: program, args } } }));
    return ['--config', file, '--server', 'tried'];
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
