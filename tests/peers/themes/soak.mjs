// A while of everything at once: clients that come and go, die and cancel. Memory and processes are watched.

import { assert, sleep } from '../lib/checks.mjs';
import { left, listening, memory, nothingLeft } from '../lib/gateway.mjs';
import { callId, text } from '../lib/raw.mjs';
import { Session, stateless } from '../lib/web.mjs';
import { own } from './chains.mjs';

const SECONDS = Number(process.env.CROSSFEED_SOAK_SECONDS ?? 60);
const CLIENTS = 6;

export default async function soak(t) {
  if (t.direct) return;
  const servers = { faults: own('faults'), sink: own('sink'), mistakes: own('mistakes') };
  const options = { limits: { session_bytes: 8 << 20, total_bytes: 32 << 20, sessions: 16 } };
  await t.using('a gateway', () => listening(servers, { options }), async (gateway) => {
    await t.check(`${SECONDS} s of clients that come, chain, cancel, die and go`, async () => {
      const end = performance.now() + SECONDS * 1000;
      const rest = () => performance.now() < end;
      const counts = { calls: 0, sessions: 0, faults: 0 };
      const samples = [];
      const watch = (async () => {
        while (rest()) {
          samples.push({ memory: memory(gateway.pid).now, processes: left().length });
          await sleep(500);
        }
      })();
      await Promise.all([
        watch,
        ...Array.from({ length: CLIENTS }, (_, n) => sessions(gateway.url, n, rest, counts)),
        anonymous(gateway.url, rest, counts),
      ]);
      const third = Math.floor(samples.length / 3);
      const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
      const [early, late] = [samples.slice(third, 2 * third), samples.slice(2 * third)].map((part) => median(part.map((one) => one.memory)));
      const most = Math.max(...samples.map((one) => one.processes));
      t.note('seen', 'soak', 0, `${counts.calls} calls, ${counts.sessions} sessions, ${counts.faults} faults; memory ${Math.round(early / 1024)} MiB in the second third, ${Math.round(late / 1024)} MiB in the last; at most ${most} servers`);
      assert.ok(late < early * 1.3 + 20_000, `memory grows: ${early} kB, then ${late} kB`);
      assert.ok(most <= 3 * (CLIENTS + 2) + 6, `${most} servers at once`);
    }, { patience: SECONDS * 1000 + 60_000 });
    await t.check('after it a new client is served', async () => {
      const session = await new Session(gateway.url).initialize();
      assert.match(text(await session.call('take', { text: 'after' })), /after/);
      await session.close();
    });
  });
  await t.check('nothing is left of it', () => nothingLeft());
}

async function sessions(url, n, rest, counts) {
  for (let round = 0; rest(); round += 1) {
    const session = await new Session(url).initialize();
    counts.sessions += 1;
    for (let m = 0; m < 12 && rest(); m += 1) {
      const mark = `<${n}.${round}.${m}>`;
      const large = callId(await session.call('strict_output'));
      const answer = await session.call('take', { text: mark, value: { $tool: large, $select: 'items[*].name' } });
      assert.ok(text(answer).includes(mark), 'each its own answer');
      assert.match(text(answer), /item 399/);
      const stranger = await session.call('take', { value: { $tool: 'call_9999' } });
      assert.equal(stranger.isError, true);
      counts.calls += 3;
    }
    if (round % 3 === 1) {
      await session.request('tools/call', { name: round % 2 ? 'die' : 'half', arguments: {} });
      counts.faults += 1;
    }
    if (round % 3 === 2) {
      const abort = new AbortController();
      const cut = session.request('tools/call', { name: 'hang', arguments: {} }, { signal: abort.signal }).catch(() => {});
      await sleep(30);
      abort.abort();
      await cut;
      counts.faults += 1;
    }
    await session.close();
  }
}

async function anonymous(url, rest, counts) {
  for (let n = 0; rest(); n += 1) {
    const { message } = await stateless(url, 'tools/call', { name: 'take', arguments: { text: `<${n}>` } });
    assert.ok(text(message.result).includes(`<${n}>`));
    counts.calls += 1;
    await sleep(20);
  }
}
