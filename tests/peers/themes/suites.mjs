// The suites of the official SDKs through the gateway: what they say of a client and a server, they say with the gateway between.
// What differs is listed in `suites/expected-differences.toml`, with the reason.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expected } from '../../suites/mcp/expected.mjs';
import { until, within } from '../lib/checks.mjs';
import { BINARY, command, listening, nothingLeft, scratch } from '../lib/gateway.mjs';
import { CLIENTS, connect, difference, isLate, plain, play } from '../lib/scenarios.mjs';

const CACHE = process.env.CROSSFEED_PEERS_CACHE;
const HERE = fileURLToPath(new URL('..', import.meta.url));
const LIST = join(HERE, 'suites', 'expected-differences.toml');

/** As it is without options, and with nothing for chaining: then nothing but what the list says may differ. */
const MODES = {
  chaining: {},
  'no chaining': { extraTools: false, server: { neverChain: true } },
};

/** The scenario that every other begins with. */
const BEGUN = 'the beginning: a client connects';

export default async function suites(t) {
  const known = expected(LIST);
  const judge = new Judge(t, known);
  for (const part of [interaction, scenarios]) {
    try {
      await part(t, judge);
    } catch (error) {
      t.note('FAIL', `${part.name} runs to its end`, 0, error.message);
    }
  }
  await t.check('nothing that was started runs on', () => nothingLeft());
  if (!t.quick && !t.direct && t.only.length === 0) {
    judge.list();
    for (const entry of known.stale()) t.note('FAIL', 'every listed difference occurs', 0, `${LIST}:${entry.line}: ${entry.check}`);
  }
}

/** Says of each cell of a suite whether it is as the list has it. */
class Judge {
  constructor(t, known) {
    Object.assign(this, { t, known, differences: new Map() });
  }

  /** `outcomes`: `{ shape, test, outcome, why }`, of one suite. Gives what is not as it is listed. */
  surprises(suite, outcomes) {
    return outcomes.filter(({ shape, test, outcome }) =>
      (outcome === 'FAIL' ? !this.known.take(suite, shape, test) : this.known.always(suite, shape, test)));
  }

  tell(suite, outcomes, began) {
    const odd = new Set(this.surprises(suite, outcomes));
    for (const shape of [...new Set(outcomes.map((one) => one.shape))].sort()) {
      const cells = outcomes.filter((one) => one.shape === shape);
      const differ = cells.filter((one) => one.outcome === 'FAIL');
      for (const { test } of differ) {
        const name = `${suite}: ${test}`;
        const { reason, shapes } = this.differences.get(name) ?? { reason: this.known.take(suite, shape, test), shapes: [] };
        this.differences.set(name, { reason, shapes: [...shapes, shape] });
      }
      for (const { test, outcome, why } of cells.filter((one) => odd.has(one))) {
        const what = outcome === 'FAIL' ? `is not as it should be, and not listed: ${why}` : 'is listed as a difference, and is none';
        this.t.note('FAIL', `${suite}, ${shape}: ${test}`, 0, what.replace(/\s+/g, ' ').slice(0, 600));
      }
      if (!cells.some((one) => odd.has(one))) {
        this.t.note('ok', `${suite}, ${shape}: ${cells.length - differ.length} tests are as directly, ${differ.length} differ as listed`, performance.now() - began);
      }
    }
  }

  /** Writes down what differed, and why. */
  list() {
    for (const [name, { reason, shapes }] of this.differences) this.t.note('seen', `${name} differs, ${shapes.length} times`, 0, reason);
  }
}

/** The interaction suite of the Python SDK, out of its source distribution. */
async function interaction(t, judge) {
  const suite = 'Python SDK';
  const folder = join(CACHE, 'python-suite');
  if (!existsSync(join(folder, 'installed.txt'))) {
    t.skip('the interaction suite of the Python SDK', 'there is no Python 3.10 or newer, or pip cannot fetch it');
    return;
  }
  const legs = ['stdio', 'HTTP', 'HTTP without sessions'];
  if (!t.quick) {
    const began = performance.now();
    judge.tell(`${suite} without the gateway`, await pytest(folder, { legs }), began);
  }
  if (t.direct) return;
  for (const [mode, options] of Object.entries(MODES)) {
    // Half of the cells, each in one of the modes, where there is little time.
    const rounds = t.quick ? [[mode === 'chaining' ? 'stdio' : 'HTTP']] : [legs, ['HTTP to stdio']];
    for (const legs of rounds) {
      const name = `${suite}, ${mode}`;
      const began = performance.now();
      let outcomes = await pytest(folder, { legs, options });
      // The suite gives what a test waits for five seconds, which a machine with much to do may take.
      const late = judge.surprises(name, outcomes).filter(({ why }) => why?.startsWith('TimeoutError'));
      if (late.length > 0) {
        t.note('seen', `${name}: tests that ran out of time and ran again`, 0, late.map((one) => `${one.shape}: ${one.test}`).join(', '));
        const again = await pytest(folder, { legs, options, only: late });
        const key = ({ shape, test }) => `${shape}: ${test}`;
        const keys = new Set(again.map(key));
        outcomes = outcomes.filter((one) => !keys.has(key(one))).concat(again);
      }
      judge.tell(name, outcomes, began);
    }
  }
}

/** Runs the suite in processes that share its cells, and gives what became of each. Most of the time they wait. */
async function pytest(folder, { legs, options, only }) {
  const shares = only ? 1 : Math.min(2 * availableParallelism(), 8);
  const told = scratch('outcomes');
  const runs = Array.from({ length: shares }, async (_, share) => {
    const file = join(told, `${share}.jsonl`);
    const env = {
      // With the mark of this run, by which what is left of it is seen.
      ...command({ none: {} }, { direct: true }).env,
      PYTHONPATH: join(HERE, 'python'),
      PEERS_LEGS: JSON.stringify(legs),
      PEERS_OUTCOMES: file,
      PEERS_SHARE: `${share}/${shares}`,
      ...(options ? { PEERS_GATEWAY: BINARY, PEERS_OPTIONS: JSON.stringify(options) } : {}),
      ...(only ? { PEERS_ONLY: JSON.stringify(only.map(({ shape, test }) => [shape, test])) } : {}),
    };
    const args = ['-m', 'pytest', '-c', join(HERE, 'python', 'pytest.ini'), '--rootdir=.', '--confcutdir=tests/interaction', '-p', 'interaction', '-p', 'no:cacheprovider'];
    const where = ['tests/interaction/lowlevel', 'tests/interaction/mcpserver'];
    const child = spawn(join(CACHE, 'python', 'bin', 'python'), [...args, '--inline-snapshot=disable', '-q', '--tb=native', ...where], {
      cwd: join(folder, 'suite'),
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said = (said + chunk).slice(-4000)));
    const ended = new Promise((done, fail) => {
      child.on('close', done);
      child.on('error', fail);
    });
    try {
      const code = await within(900_000, ended, 'a run of pytest');
      // 1: some tests failed.
      if (code > 1 || code === null || !existsSync(file)) throw new Error(`pytest ended with ${code}: ${said}`);
    } finally {
      child.kill('SIGKILL');
    }
    return readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  });
  return (await Promise.all(runs)).flat();
}

/** What the end-to-end suite of the TypeScript SDK tries, by its client and its server. */
async function scenarios(t, judge) {
  const suite = 'TypeScript SDK';
  const all = ['stdio', 'HTTP', 'HTTP to stdio', 'stdio to HTTP'];
  const [eras, ways] = t.quick ? [['session', '2026-07-28'], all.slice(0, 2)] : [Object.keys(CLIENTS), all];
  for (const era of eras) {
    const direct = new Map();
    const behinds = new Set(ways.map((way) => way.split(' to ').at(-1)));
    await Promise.all([...behinds].map((behind) => t.using(`a server over ${behind} (${era})`, () => served(behind, era), async (server) => {
      direct.set(behind, await played(server, server.way, era));
    })));
    if (t.direct) {
      for (const [behind, found] of direct) t.note(found.size > 40 ? 'ok' : 'FAIL', `${suite}, direct, ${behind}, ${era}: ${found.size} scenarios were played`);
      continue;
    }
    const modes = Object.entries(MODES).map(async ([mode, options]) => {
      for (const way of ways) {
        const name = `${suite}, ${mode}`;
        const began = performance.now();
        const see = () => within(150_000, compared({ way, era, mode, options, direct }), 'what was played');
        try {
          let outcomes = await see();
          // A machine with much to do may be late. What differs for any other reason is judged as it was the first time.
          const late = judge.surprises(name, outcomes).filter((one) => one.late);
          if (late.length > 0) {
            t.note('seen', `${name}, ${era}, ${way}: scenarios that ran out of time and were played again`, 0, late.map(({ test }) => test).join('; '));
            const again = await see();
            const second = ({ test }) => again.find((one) => one.test === test);
            outcomes = late.some(({ test }) => test === BEGUN) ? again : outcomes.map((one) => (late.includes(one) ? second(one) ?? one : one));
          }
          judge.tell(name, outcomes, began);
        } catch (error) {
          t.note('FAIL', `${name}, ${era}, ${way} is played to its end`, 0, error.message);
        }
      }
    });
    await Promise.all(modes);
  }
}

/** What is unlike through a gateway, by scenario. The eras are those of its default, which other themes do not take. */
async function compared({ way, era, mode, options: { server: more, ...others }, direct }) {
  const [front, behind = front] = way.split(' to ');
  return using(await served(behind, era), async (server) => {
    const servers = { scenarios: { ...server.entry, ...more } };
    const options = { eras: 'servers', ...others };
    const clean = mode === 'chaining' ? plain : (one) => one;
    const unlike = (test, one) => difference(direct.get(behind).get(test), clean(one));
    // What clients of two revisions see is not the same: then no more is compared than that.
    const enough = (test, one) => test === 'the beginning: revision and server' && unlike(test, one) !== undefined;
    const late = new Set();
    const through = front === 'HTTP'
      ? await using(await listening(servers, { options }), (gateway) => played(server, { url: gateway.url }, era, enough, late))
      : await played(server, command(servers, { options }), era, enough, late);
    const names = [...through.keys()];
    return [...through].map(([test, one], place) => {
      const why = unlike(test, one);
      // What came late is seen by the scenario that is played next.
      return { shape: `${era}, ${way}`, test, outcome: why ? 'FAIL' : 'ok', why, late: late.has(test) || late.has(names[place - 1]) };
    });
  });
}

async function using(made, body) {
  try {
    return await body(made);
  } finally {
    await made.close();
  }
}

/** What was seen by scenario; of a client that could not connect, why. */
async function played(server, way, era, enough, late = new Set()) {
  let connection;
  try {
    connection = await connect(way, era);
  } catch (error) {
    if (isLate(error.message)) late.add(BEGUN);
    return new Map([[BEGUN, { failed: error.message }]]);
  }
  return using(connection, async () => new Map([[BEGUN, {}], ...(await play(connection, server.file, era, enough, late))]));
}

/** The server of the scenarios: what a client connects to, and how a configuration of the gateway has it. */
async function served(behind, era) {
  const file = join(scratch('scenarios'), 'seen.jsonl');
  writeFileSync(file, '');
  const program = join(HERE, 'servers', 'scenarios.mjs');
  const env = { CROSSFEED_PEERS_CACHE: CACHE, ...(era === 'auto' ? { PEERS_SESSIONS_ONLY: '1' } : {}) };
  if (behind === 'stdio') {
    const entry = { command: process.execPath, args: [program, file], env };
    return { file, entry, way: command({ scenarios: entry }, { direct: true }), close: () => {} };
  }
  const marked = command({ scenarios: { env } }, { direct: true }).env;
  const child = spawn(process.execPath, [program, file, '--listen'], { env: marked, stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  const url = await until(() => /http:\S+/.exec(said)?.[0], 20_000, 'the address of a server');
  return { file, entry: { url }, way: { url }, close: () => child.kill('SIGKILL') };
}
