// The suites: how each is run, how what its checks say is read, and how two runs are compared.

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `scenarios`: how many there are, so that a suite that runs nothing is noticed. */
export const suites = [
  { name: '0.1.16', package: '0.1', args: [], scenarios: 30 },
  { name: '0.2, 2025-11-25', package: '0.2', args: ['--requirements', '2025-11-25'], scenarios: 33 },
  { name: '0.2, 2026-07-28', package: '0.2', args: ['--requirements', '2026-07-28'], scenarios: 50 },
];

const conformance = (cache, version) =>
  join(cache, version, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    let said = '';
    child.stdout.on('data', (bytes) => (said += bytes));
    child.stderr.on('data', (bytes) => (said += bytes));
    child.once('error', (problem) => resolve({ code: -1, said: String(problem) }));
    child.once('exit', (code) => resolve({ code, said }));
  });
}

/** What the checks said that were kept in a folder: by scenario. */
function readChecks(folder, prefix) {
  const scenarios = new Map();
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.name !== 'checks.json') continue;
    const inside = entry.parentPath.slice(folder.length + 1);
    const name = inside.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '').slice(prefix.length);
    scenarios.set(name, JSON.parse(readFileSync(join(entry.parentPath, entry.name), 'utf8')));
  }
  return scenarios;
}

/** Runs a suite's program, and keeps in the folder what it says. */
async function play({ cache, version, args, folder, prefix }) {
  const output = join(folder, 'checks');
  mkdirSync(output, { recursive: true });
  const { code, said } = await run(process.execPath, [conformance(cache, version), ...args, '-o', output], { cwd: folder });
  writeFileSync(join(folder, 'said.txt'), said);
  return { code, scenarios: readChecks(output, prefix) };
}

export async function runSuite(suite, url, cache, folder) {
  const args = ['server', '--url', url, ...suite.args];
  const { code, scenarios } = await play({ cache, version: suite.package, args, folder, prefix: 'server-' });
  const good = [...scenarios.values()].filter((checks) => passes(checks)).length;
  return { code, scenarios, good };
}

/** Has a suite play client scenarios with the client that these words start; gives the checks by scenario. */
export async function playClients({ cache, version, words, args, folder }) {
  const command = words.map((word) => (/[\s,]/.test(word) ? `'${word}'` : word)).join(' ');
  const played = await play({ cache, version, args: ['client', '--command', command, ...args], folder, prefix: '' });
  return played.scenarios;
}

/** A scenario passes where no check fails or warns. */
export function passes(checks) {
  return checks.every((check) => check.status !== 'FAILURE' && check.status !== 'WARNING');
}

/** The verdicts of a run: scenario, check and how often it came, each with its status. Notes are none. */
function verdicts(result) {
  const found = new Map();
  for (const [scenario, checks] of result.scenarios) {
    const seen = new Map();
    for (const check of checks) {
      if (check.status === 'INFO') continue;
      const name = check.name && check.name !== check.id ? `${check.id} (${check.name})` : check.id;
      const times = (seen.get(name) ?? 0) + 1;
      seen.set(name, times);
      found.set(`${scenario}: ${name}${times > 1 ? ` #${times}` : ''}`, { status: check.status, why: check.errorMessage });
    }
  }
  return found;
}

/** Where two runs say something else. */
export function compare(direct, through, suite, shape, known) {
  const [left, right] = [verdicts(direct), verdicts(through)];
  const unlike = [];
  for (const check of new Set([...left.keys(), ...right.keys()])) {
    const [was, is] = [left.get(check)?.status ?? 'none', right.get(check)?.status ?? 'none'];
    if (was === is) continue;
    unlike.push({ check, was, is, why: right.get(check)?.why, known: known.take(suite.name, shape, check) });
  }
  return unlike;
}
