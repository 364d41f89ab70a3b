// Servers that die, hang, flood, send half a message or far too much: the rest goes on, and nothing is left.

import { join } from 'node:path';
import { assert, sleep, until } from '../lib/checks.mjs';
import { command, left, memory, nothingLeft, scratch } from '../lib/gateway.mjs';
import { Raw, callId, text } from '../lib/raw.mjs';
import { own } from './chains.mjs';

const servers = () => ({ faults: own('faults'), sink: own('sink') });

export async function connected(what, how) {
  const raw = new Raw(command(what, how), { stderr: 'keep' });
  await raw.initialize({ capabilities: { roots: {} } });
  return raw;
}

/** How a call failed: as a tool error or as an error of the protocol. */
export async function failure(raw, name, args = {}, how) {
  const { message } = await raw.request('tools/call', { name, arguments: args }, how);
  if (message.error) return message.error.message;
  assert.equal(message.result.isError, true, JSON.stringify(message).slice(0, 300));
  return text(message.result);
}

const alive = async (raw) => {
  const began = performance.now();
  assert.match(text(await raw.call('take', { text: 'alive' })), /alive/);
  return performance.now() - began;
};
const back = (raw) =>
  until(async () => {
    const { message } = await raw.request('tools/call', { name: 'pid', arguments: {} });
    return message.result && !message.result.isError && /\d+/.exec(text(message.result))[0];
  }, 20_000, 'the server');

export default async function faults(t) {
  if (t.direct) return;
  await t.using('a client of a server that fails and of one that does not', () => connected(servers()), (raw) => inCalls(t, raw));
  await sizes(t);
  await starts(t);
  await ends(t);
}

async function inCalls(t, raw) {
  const before = await t.check('both are listed', async () => {
    const { tools } = await raw.result('tools/list');
    assert.ok(tools.some(({ name }) => name === 'die') && tools.some(({ name }) => name === 'take'));
    return /\d+/.exec(text(await raw.call('pid')))[0];
  });
  for (const fault of ['die', 'half']) {
    await t.check(`${fault}: the call and those beside it are answered with an error, at once`, async () => {
      const slow = failure(raw, 'slow', { ms: 30_000 }, { patience: 10_000 });
      await sleep(50);
      const said = await failure(raw, fault, {}, { patience: 10_000 });
      assert.match(said, /faults/, 'the server is named');
      await slow;
      await alive(raw);
    });
    await t.check(`${fault}: the server is back, as another process, and the client is told`, async () => {
      const after = await back(raw);
      assert.notEqual(after, before);
      await raw.heard(({ method }) => method === 'notifications/tools/list_changed');
    });
  }
  await t.check('results of before are still there after the server died', async () => {
    const id = callId(await raw.call('numbers'));
    await failure(raw, 'die');
    assert.match(text(await raw.call('take', { value: { $tool: id, $select: 'z' } })), /"value":1\b/);
    await back(raw);
  });
  await t.check('a call that hangs holds nobody up, and is cancelled', async () => {
    const id = 'hanging';
    raw.request('tools/call', { name: 'hang', arguments: {} }, { id }).catch(() => {});
    await sleep(100);
    assert.match(text(await raw.call('echo', { text: 'beside' })), /beside/);
    raw.notify('notifications/cancelled', { requestId: id, reason: 'enough' });
    const notes = await until(async () => {
      const said = text(await raw.call('notes'));
      return said.includes('notifications/cancelled') && said;
    });
    assert.match(notes, /enough/);
    assert.doesNotMatch(notes, /hanging/, 'by the id that the server knows');
  });
  await t.check('lines that are not messages harm nothing', async () => {
    assert.match(text(await raw.call('garbage')), /after the garbage/);
    await alive(raw);
    assert.deepEqual(raw.stray, []);
  });
  await t.check('a second answer is dropped', async () => {
    assert.match(text(await raw.call('twice')), /once/);
    await alive(raw);
    assert.deepEqual(raw.stray, []);
  });
  await t.check('20,000 notifications arrive in order, before the answer', async () => {
    raw.others = [];
    const result = await raw.call('flood', { count: 20_000 });
    assert.match(text(result), /flooded 20000/);
    const numbers = raw.others.map(({ message }) => Number(/^flood (\d+)/.exec(message.params?.data ?? '')?.[1]));
    assert.equal(numbers.length, 20_000);
    assert.ok(numbers.every((n, place) => n === place), 'in order');
    raw.others = [];
  });
  await t.check('while one server floods, the other answers', async () => {
    const flood = raw.call('flood', { count: 100_000 }, { patience: 60_000 });
    const times = [];
    for (let n = 0; n < 20; n += 1) times.push(await alive(raw));
    await flood;
    times.sort((a, b) => a - b);
    assert.ok(times[10] < 1000, `half of the calls take more than ${Math.round(times[10])} ms`);
    raw.others = [];
  });
  await t.check('a server that reads nothing holds only its own calls up', async () => {
    const deaf = raw.call('deaf', { ms: 1500 });
    await sleep(50);
    const block = 'x'.repeat(100_000);
    const many = Array.from({ length: 30 }, (_, n) => raw.call('echo', { text: `${n} ${block}` }));
    assert.ok((await alive(raw)) < 1200, 'the other one answers meanwhile');
    await deaf;
    const answers = await Promise.all(many);
    answers.forEach((answer) => assert.notEqual(answer.isError, true));
  });
  await t.check('progress of a call arrives in order under the token of the client', async () => {
    raw.others = [];
    await raw.result('tools/call', { name: 'progress', arguments: { steps: 50 }, _meta: { progressToken: 'tok-1' } });
    const seen = raw.others.filter(({ message }) => message.method === 'notifications/progress').map(({ message }) => message.params);
    assert.deepEqual(seen.map(({ progress }) => progress), Array.from({ length: 50 }, (_, n) => n + 1));
    assert.ok(seen.every(({ progressToken }) => progressToken === 'tok-1'));
  });
  await t.check('a server asks the client in a call', async () => {
    raw.answers['roots/list'] = () => ({ roots: [{ uri: 'file:///asked' }] });
    assert.match(text(await raw.call('asks')), /file:\/\/\/asked/);
  });
  await t.check('tools that change are listed anew, and the old ones are gone', async () => {
    raw.others = [];
    await raw.call('change');
    await raw.heard(({ method }) => method === 'notifications/tools/list_changed');
    const names = (await raw.result('tools/list')).tools.map(({ name }) => name);
    assert.ok(names.includes('added') && !names.includes('busy'), names.join());
    assert.match(text(await raw.call('added')), /added/);
    const { message } = await raw.request('tools/call', { name: 'busy', arguments: {} });
    assert.equal(message.result.isError, true);
    assert.match(text(message.result), /tool\.unknown/);
  });
}

async function sizes(t) {
  const limited = { options: { limits: { message_bytes: 8 << 20 } } };
  await t.using('a client under a limit of 8 MiB', () => connected(servers(), limited), async (raw) => {
    await t.check('200 MB in one line are refused by name, in bounded memory', async () => {
      const said = await failure(raw, 'big', { megabytes: 200 }, { patience: 60_000 });
      assert.match(said, /large|limit|bytes/i);
      const { peak } = memory(raw.child.pid);
      assert.ok(peak < 100_000, `${peak} kB at most`);
      await alive(raw);
      assert.match(text(await raw.call('echo', { text: 'still there' })), /still there/);
    }, { patience: 90_000 });
    await t.check('a request over the limit is refused by its id', async () => {
      const { message } = await raw.request('tools/call', { name: 'take', arguments: { text: 'x'.repeat(9 << 20) } });
      assert.ok(message.error, JSON.stringify(message).slice(0, 200));
      await alive(raw);
    });
  });
  const roomy = { options: { limits: { message_bytes: 256 << 20 } } };
  await t.using('a client under limits that admit 100 MB', () => connected(servers(), roomy), async (raw) => {
    await t.check('100 MB in one line are kept, shown as a preview, and passed on', async () => {
      const result = await raw.call('big', { megabytes: 100 }, { patience: 80_000 });
      const shown = JSON.stringify(result);
      assert.ok(shown.length < 20_000, `${shown.length} characters`);
      const { peak } = memory(raw.child.pid);
      t.note('seen', 'memory of the gateway at most, with 100 MB in one result', 0, `${Math.round(peak / 1024)} MiB`);
      const passed = await raw.call('swallow', { text: { $tool: callId(result) } }, { patience: 80_000 });
      const characters = Number(/swallowed (\d+)/.exec(text(passed))?.[1]);
      assert.ok(characters > 100 * (1 << 20), text(passed).slice(0, 200));
    }, { patience: 170_000 });
  });
}

async function starts(t) {
  for (const fault of ['exit', 'talk']) {
    const broken = { faults: own('faults', { env: { FAULT: fault } }), sink: own('sink') };
    await t.using(`a client of a server that cannot start (${fault})`, () => connected(broken), async (raw) => {
      await t.check(`${fault} at start: the other server is there`, async () => {
        const names = (await raw.result('tools/list')).tools.map(({ name }) => name);
        assert.ok(names.includes('take') && !names.includes('pid'));
        await alive(raw);
      });
      if (fault === 'talk') {
        await t.check('what it said on standard error is in the log', () =>
          until(() => raw.log.includes('cannot open the database'), 5000),
        );
      }
    });
  }
  const silent = { faults: own('faults', { env: { FAULT: 'silent' } }), sink: own('sink') };
  const patience = { options: { limits: { start_timeout: 2 } } };
  await t.using('a client of a server that never says what it is', () => connected(silent, patience), async (raw) => {
    await t.check('silent at start: the other server is there within the limit', async () => {
      const began = performance.now();
      const names = (await raw.result('tools/list')).tools.map(({ name }) => name);
      assert.ok(names.includes('take'));
      assert.ok(performance.now() - began < 10_000);
    });
  });
  const once = { faults: own('faults', { env: { FAULT: 'exit', FAULT_ONCE: join(scratch('once'), 'failed') } }), sink: own('sink') };
  await t.using('a client of a server that starts the second time', () => connected(once), async (raw) => {
    await t.check('it is listed when it is there, and the client is told', async () => {
      const listed = async () => (await raw.result('tools/list')).tools.some(({ name }) => name === 'pid');
      if (!(await listed())) {
        await raw.heard(({ method }) => method === 'notifications/tools/list_changed', 30_000);
        await until(listed);
      }
      await back(raw);
    });
  });
}

async function ends(t) {
  await t.check('no server is left of all these', () => nothingLeft());
  await t.check('a server that wants to stay is ended', async () => {
    const raw = await connected({ faults: own('faults', { env: { FAULT: 'stubborn' } }) });
    await raw.call('pid');
    await raw.close(30_000);
    await nothingLeft(15_000);
  });
  await t.check('what a shell started is ended with it', async () => {
    const { command: node, args } = own('faults', {});
    const raw = await connected({ faults: { command: 'sh', args: ['-c', `"${node}" "${args[0]}"; sleep 600`] } });
    await raw.call('pid');
    await raw.close(30_000);
    await nothingLeft(15_000);
  });
  await t.check('servers end when the gateway is killed', async () => {
    const raw = await connected(servers());
    await raw.call('pid');
    assert.equal(left().length >= 2, true);
    await raw.kill('SIGKILL');
    await nothingLeft();
  });
  await t.check('a client that goes away in a call leaves nothing', async () => {
    const raw = await connected(servers());
    raw.request('tools/call', { name: 'hang', arguments: {} }).catch(() => {});
    await sleep(100);
    await raw.close(30_000);
    await nothingLeft();
  });
}
