// The client of the Python SDK, in both eras over both transports: servers written in Python, and the others.

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { command, listening, scratch } from '../lib/gateway.mjs';
import { follow } from '../lib/lines.mjs';
import { packaged } from '../lib/sdk.mjs';
import { own } from './chains.mjs';

const CACHE = process.env.CROSSFEED_PEERS_CACHE;
const CLIENT = fileURLToPath(new URL('../python/client.py', import.meta.url));
const bin = (environment, name) => join(CACHE, environment, 'bin', name);

export default async function python(t) {
  const program = bin('python', 'python');
  if (!existsSync(join(CACHE, 'python', 'installed.txt'))) {
    t.skip('the client of the Python SDK', 'there is no Python 3.10 or newer, or pip cannot install');
    return;
  }
  const repository = scratch('repository');
  const git = (...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: repository, stdio: 'ignore' });
  git('init', '-q');
  for (const name of ['first', 'second']) {
    writeFileSync(join(repository, `${name}.txt`), name);
    git('add', '.');
    git('commit', '-qm', `a ${name} commit`);
  }
  const older = existsSync(join(CACHE, 'python-older', 'installed.txt'));
  if (!older) t.skip('mcp-server-duckdb', 'pip cannot install it');
  const themes = {
    servers: {
      time: { command: bin('python', 'mcp-server-time'), args: ['--local-timezone', 'Etc/UTC'] },
      git: { command: bin('python', 'mcp-server-git'), args: ['--repository', repository] },
      ...(older ? { duckdb: { command: bin('python-older', 'mcp-server-duckdb'), args: ['--db-path', join(scratch('duckdb'), 'table.duckdb')] } } : {}),
    },
    everything: { everything: packaged('server-everything', ['stdio']) },
    mistakes: { mistakes: own('mistakes') },
  };
  const env = { PEERS_REPOSITORY: repository, ...(t.direct ? { PEERS_DIRECT: '1' } : {}) };
  for (const [theme, servers] of Object.entries(themes)) {
    const { command: gateway, args } = command(servers, { direct: t.direct });
    for (const mode of ['legacy', 'auto']) {
      await follow(t, `${theme}, ${mode}, stdio`, program, [CLIENT, theme, mode, gateway, ...args], { env });
    }
    if (t.direct) continue;
    await t.using(`a gateway over HTTP (${theme})`, () => listening(servers), async (running) => {
      for (const mode of ['legacy', 'auto']) {
        await follow(t, `${theme}, ${mode}, HTTP`, program, [CLIENT, theme, mode, running.url.href], { env });
      }
    });
  }
}
