// Checks in other languages: programs that print `ok NAME`, `FAIL NAME: WHY` or `skip NAME: WHY`.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { within } from './checks.mjs';

/** Runs a program and takes its lines over into the report. */
export async function follow(t, name, program, args, { env, patience = 240_000 } = {}) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors = (errors + chunk).slice(-4000);
  });
  let seen = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, verdict, what, why] = /^(ok|FAIL|skip) (.*?)(?:: (.*))?$/.exec(line) ?? [];
    if (!verdict) return;
    seen += 1;
    t.note(verdict, `${name}: ${what}`, 0, why ? why.slice(0, 600) : '');
  });
  const ended = new Promise((done, fail) => {
    child.on('close', (code, signal) => done({ code, signal }));
    child.on('error', fail);
  });
  try {
    const { code, signal } = await within(patience, ended, name);
    if (code !== 0 || seen === 0) t.note('FAIL', `${name} runs to its end`, 0, `${code ?? signal}: ${errors.trim().split('\n').slice(-3).join(' ').slice(-500)}`);
  } catch (error) {
    child.kill('SIGKILL');
    t.note('FAIL', `${name} runs to its end`, 0, error.message);
  }
}
