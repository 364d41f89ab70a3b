// The gateway under test, and what it leaves behind.
//
// What comes in: servers in the `mcpServers` shape. What goes out: a command or an address for clients.
// Every server gets a mark in its environment, by which is seen what still runs when nothing should.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './checks.mjs';

export const BINARY = process.env.CROSSFEED_BIN ?? 'crossfeed';
const MARK = `CROSSFEED_PEERS_RUN=${process.pid}.${Date.now()}`;
const [MARK_NAME, MARK_VALUE] = MARK.split('=');
const folder = mkdtempSync(join(tmpdir(), 'crossfeed-peers-'));
const running = new Set();
let files = 0;

process.on('exit', () => {
  for (const child of running) end(child.pid);
  for (const pid of left()) end(pid);
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

function end(pid) {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // It is gone.
    }
  }
}

/** A folder of this run's own, removed when it ends. */
export function scratch(name) {
  return mkdtempSync(join(folder, `${name}-`));
}

/** A configuration file with these servers, whose tools keep their names; `options` are its other keys. */
export function config(servers, options = {}) {
  const marked = {};
  for (const [name, server] of Object.entries(servers)) {
    marked[name] = server.command
      ? { ...server, env: { ...server.env, [MARK_NAME]: MARK_VALUE } }
      : server;
  }
  const path = join(folder, `config-${(files += 1)}.json`);
  writeFileSync(path, JSON.stringify({ mcpServers: marked, prefix: 'collisions', eras: 'all', ...options }, null, 2));
  return path;
}

/** The command of a gateway over standard input and output, or of the first server itself. */
export function command(servers, { options, direct = false, args = [] } = {}) {
  if (direct) {
    const [server] = Object.values(servers);
    return {
      command: server.command,
      args: server.args,
      cwd: server.cwd,
      env: { ...process.env, ...server.env, [MARK_NAME]: MARK_VALUE },
    };
  }
  return {
    command: BINARY,
    args: ['gateway', '--config', config(servers, options), ...args],
    env: { ...process.env },
  };
}

/** A gateway over HTTP: its address, its process, what it logged, and how to end it. */
export async function listening(servers, { options, args = [] } = {}) {
  const file = config(servers, options?.tokens ? options : { anonymous: true, ...options });
  const child = spawn(BINARY, ['gateway', '--config', file, '--listen', '127.0.0.1:0', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  let log = '';
  let failed;
  child.stderr.on('data', (chunk) => {
    log = (log + chunk).slice(-100_000);
  });
  const ended = new Promise((done) => {
    child.on('exit', (code, signal) => done({ code, signal }));
    child.on('error', (error) => {
      failed = error;
      done({ error });
    });
  });
  ended.then(() => running.delete(child));
  const address = await until(
    () => {
      if (failed) throw failed;
      if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}: ${log.slice(-400)}`);
      return /127\.0\.0\.1:([1-9]\d*)/.exec(log)?.[0];
    },
    20_000,
    'the address of the gateway',
  );
  return {
    url: new URL(`http://${address}/mcp`),
    base: `http://${address}`,
    pid: child.pid,
    log: () => log,
    ended,
    close: async (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
}

/** Processes of this run's servers that still run, by the mark in their environment. */
export function left() {
  const found = [];
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    try {
      if (readFileSync(`/proc/${entry}/environ`, 'latin1').split('\0').includes(MARK)) {
        const state = /\) (\w)/.exec(readFileSync(`/proc/${entry}/stat`, 'latin1'))?.[1];
        if (state !== 'Z') found.push(Number(entry));
      }
    } catch {
      // It ended, or it is another's.
    }
  }
  return found;
}

/** Waits until no server of this run is left. */
export async function nothingLeft(ms = 10_000) {
  await until(() => left().length === 0, ms, `the end of all servers (${left().length} run)`);
}

/** Kilobytes of memory that a process holds now, and the most it ever held. */
export function memory(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const field = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

/** The process ids right below a process. */
export function children(pid) {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => {
      try {
        return Number(/\) \w (\d+)/.exec(readFileSync(`/proc/${entry}/stat`, 'latin1'))?.[1]) === pid;
      } catch {
        return false;
      }
    })
    .map(Number);
}
