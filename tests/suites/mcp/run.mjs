// Runs the conformance suites at the fixture server, straight and through the gateway, and compares what every check says.
//
// In: the suites as installed, the two programs. Out: a table, and status 1 where a check says something else through the
// gateway and `expected-failures.toml` does not list it, or lists what is not so. With `--replicas`, the gateway is several
// behind a balancer. Not here: installing (see `run`).

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { clients } from './clients.mjs';
import { differences } from './differences.mjs';
import { expected } from './expected.mjs';
import { logins } from './logins.mjs';
import { startFixture, startGateway } from './processes.mjs';
import { missing, startReplicas } from './replicas.mjs';
import { report } from './report.mjs';
import { compare, runSuite, suites } from './suites.mjs';

const { values: options } = parseArgs({
  options: {
    cache: { type: 'string' },
    fixture: { type: 'string' },
    gateway: { type: 'string' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    client: { type: 'boolean', default: false },
    login: { type: 'boolean', default: false },
    differences: { type: 'boolean', default: false },
    replicas: { type: 'string' },
  },
});
const here = dirname(fileURLToPath(import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'crossfeed-mcp-'));
const replicas = Number(options.replicas ?? 0);
if (!Number.isInteger(replicas) || replicas < 0) throw new Error(`--replicas ${options.replicas}: write a number`);
const everything = !options.client && !options.login && !options.differences && !replicas;

// What stands behind the gateway, and how it hands out results. A suite of another era than the server's goes over the bridge.
const stdio = (...more) => ({ command: options.fixture, args: ['--stdio', ...more] });
const memory = {
  command: process.execPath,
  args: [join(options.cache, 'servers/node_modules/@modelcontextprotocol/server-memory/dist/index.js')],
  env: { MEMORY_FILE_PATH: join(work, 'memory.json') },
};
const shapes = [
  { name: 'stdio', servers: async () => ({ fixture: stdio() }) },
  { name: 'stdio, session only', servers: async () => ({ fixture: stdio('--era', 'session') }) },
  { name: 'stdio, stateless only', servers: async () => ({ fixture: stdio('--era', 'stateless') }) },
  { name: 'HTTP', servers: async (start) => ({ fixture: { url: await start() } }) },
  { name: 'HTTP, session only', servers: async (start) => ({ fixture: { url: await start('--era', 'session') } }) },
  { name: 'HTTP, stateless only', servers: async (start) => ({ fixture: { url: await start('--era', 'stateless') } }) },
  { name: 'stdio, beside another server', servers: async () => ({ fixture: stdio(), memory }) },
  { name: 'stdio, results for programs', view: 'program', servers: async () => ({ fixture: stdio() }) },
  { name: 'HTTP, results for programs', view: 'program', servers: async (start) => ({ fixture: { url: await start() } }) },
];

let failed = false;
try {
  const lacking = replicas ? missing(options.gateway, work) : undefined;
  if (lacking) {
    console.error(`SKIPPED: ${lacking}`);
    failed = process.env.CROSSFEED_REQUIRE_REDIS === '1';
  } else {
    failed = await run();
  }
} finally {
  if (options.keep) console.log(`What was said is in ${work}.`);
  else rmSync(work, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;

/** Runs what was asked for; whether something failed. */
async function run() {
  const known = expected(join(here, 'expected-failures.toml'));
  const parts = {};
  if (everything || replicas) {
    parts.suites = await conformance(known);
  }
  if ((everything && !options.only) || options.differences) {
    parts.differences = await differences({ ...options, work });
  }
  if ((everything && !options.only) || options.client) {
    parts.clients = await clients({ ...options, work, known });
  }
  if ((everything && !options.only) || options.login) {
    parts.logins = await logins({ ...options, work, known });
  }
  const stale = everything && !options.only ? known.stale() : [];
  const text = report(parts, known, stale, replicas);
  console.log(text.summary);
  if (options.write) writeFileSync(join(here, replicas ? 'REPLICAS.md' : 'RESULTS.md'), text.page);
  return text.failed;
}

/** Whether a shape is looked at. A server that is a process is one of each replica: what it remembers, the others do not know. */
function isLookedAt(shape) {
  if (options.only) return shape.name === options.only;
  return !replicas || shape.name.startsWith('HTTP');
}

/** Every suite: straight, then through the gateway in every shape. */
async function conformance(known) {
  const results = [];
  for (const suite of suites) {
    const straight = await startFixture(options.fixture);
    let direct;
    try {
      direct = await runSuite(suite, straight.url, options.cache, join(work, `${suite.name}, direct`));
    } finally {
      await straight.stop();
    }
    results.push({ suite, shape: 'direct', run: direct, unlike: [] });
    for (const shape of shapes) {
      if (!isLookedAt(shape)) continue;
      const started = [];
      const start = async (...more) => {
        const fixture = await startFixture(options.fixture, ...more);
        started.push(fixture);
        return fixture.url;
      };
      const folder = join(work, `${suite.name}, ${shape.name}`);
      try {
        const config = { mcpServers: await shape.servers(start), prefix: 'collisions', eras: 'all', ...(shape.view ? { view: shape.view } : {}) };
        const gateway = replicas
          ? await startReplicas(options.gateway, replicas, config, folder)
          : await startGateway(options.gateway, config, folder);
        started.unshift(gateway);
        const through = await runSuite(suite, gateway.url, options.cache, folder);
        if (gateway.taken?.includes(0)) throw new Error(`requests that replicas got: ${gateway.taken.join(', ')}`);
        results.push({ suite, shape: shape.name, run: through, unlike: compare(direct, through, suite, shape.name, known) });
      } catch (problem) {
        results.push({ suite, shape: shape.name, problem: String(problem) });
      } finally {
        for (const one of started) await one.stop();
      }
      const last = results.at(-1);
      console.error(`${suite.name}, ${shape.name}: ${last.problem ?? `${last.unlike.filter((one) => !one.known).length} checks unlike`}`);
    }
  }
  return results;
}
