// Starts the programs under test, waits until they listen, and ends them.

import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const READ_TIMEOUT_MS = 20_000;

/** Starts a program and waits for the first URL on one of its streams. */
function start(command, args, stream, log) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  if (log) {
    const file = createWriteStream(log);
    child.stderr.pipe(file);
  }
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(late);
  };
  return new Promise((resolve, reject) => {
    const give = (why) => {
      child.kill('SIGKILL');
      reject(new Error(`${command} ${args.join(' ')}: ${why}`));
    };
    const timer = setTimeout(() => give('does not listen'), READ_TIMEOUT_MS);
    child.once('error', (problem) => give(problem.message));
    let said = '';
    child[stream].on('data', (bytes) => {
      said += said.length < 100_000 ? bytes : '';
      const url = /http:\/\/[\w.:[\]]+\/[\w/]+/.exec(said);
      if (url) {
        clearTimeout(timer);
        resolve({ url: url[0], stop, pid: child.pid });
      }
    });
    ended.then((code) => {
      clearTimeout(timer);
      give(`ended with ${code}: ${said.slice(-500)}`);
    });
    if (stream !== 'stderr' && !log) child.stderr.resume();
    if (stream !== 'stdout') child.stdout.resume();
  });
}

export function startFixture(fixture, ...more) {
  return start(fixture, ['--listen', '127.0.0.1:0', ...more], 'stdout');
}

/** The gateway over a configuration, on a port of its own unless it is given one. */
export function startGateway(gateway, config, folder, { name = 'gateway', port = 0 } = {}) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(config, null, 2));
  return start(gateway, ['gateway', '--config', file, '--listen', `127.0.0.1:${port}`, '--anonymous'], 'stderr', join(folder, `${name}.log`));
}
