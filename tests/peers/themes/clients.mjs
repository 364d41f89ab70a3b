// Clients that pipeline, cancel everything, never read, or send what is not a message.

import { assert, sleep, until } from '../lib/checks.mjs';
import { memory, nothingLeft } from '../lib/gateway.mjs';
import { text } from '../lib/raw.mjs';
import { own } from './chains.mjs';
import { connected } from './faults.mjs';

const servers = { faults: own('faults') };

export default async function clients(t) {
  if (t.direct) return;
  await t.using('a client', () => connected(servers), async (raw) => {
    await t.check('1,000 calls in one go get each its own answer', async () => {
      const answers = await Promise.all(
        Array.from({ length: 1000 }, (_, n) => raw.call('echo', { text: `pipelined <${n}>` })),
      );
      answers.forEach((answer, n) => assert.ok(text(answer).includes(`<${n}>`), `${n}: ${text(answer)}`));
    });
    await t.check('requests beyond the limit of a client are answered, one way or another', async () => {
      const waiting = Array.from({ length: 1500 }, () => raw.request('tools/call', { name: 'slow', arguments: { ms: 1500 } }));
      const answers = await Promise.all(waiting);
      assert.equal(answers.length, 1500);
      await raw.request('ping');
    });
    await t.check('500 calls that are cancelled at once get no answer, and the rest goes on', async () => {
      const seen = new Set();
      const ids = Array.from({ length: 500 }, (_, n) => `gone-${n}`);
      for (const id of ids) {
        raw.request('tools/call', { name: 'slow', arguments: { ms: 400 } }, { id }).then(() => seen.add(id), () => {});
        raw.notify('notifications/cancelled', { requestId: id });
      }
      await raw.request('ping');
      assert.match(text(await raw.call('slow', { ms: 800 })), /slept 800/);
      assert.ok(seen.size < 50, `${seen.size} of 500 were answered`);
      assert.deepEqual(raw.stray, []);
    });
    await t.check('what is not valid JSON is answered with -32700, and the next line is read', async () => {
      raw.stray = [];
      raw.send('{"jsonrpc":"2.0","id":1,');
      await raw.request('ping');
      assert.ok(raw.stray.some((line) => JSON.parse(line).error?.code === -32700), raw.stray.join());
      raw.stray = [];
    });
    await t.check('lines that are JSON and no message harm nothing', async () => {
      for (const line of ['[]', '5', '"x"', 'null', '{}', '{"jsonrpc":"1.0","id":5,"method":"ping"}', '[{"jsonrpc":"2.0","id":6,"method":"ping"}]', '']) raw.send(line);
      raw.send(`${'['.repeat(100_000)}`);
      raw.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`);
      raw.send('{"jsonrpc":"2.0","id":404,"result":{}}');
      raw.send('{"jsonrpc":"2.0","method":"notifications/unknown","params":{"x":1}}');
      raw.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never"}}');
      raw.send('{"jsonrpc":"2.0","method":"notifications/cancelled"}');
      await raw.request('ping');
      assert.match(text(await raw.call('echo', { text: 'after' })), /after/);
      raw.stray = [];
    });
    await t.check('a request under an id that is in use harms nobody else', async () => {
      raw.send({ jsonrpc: '2.0', id: 'same', method: 'tools/call', params: { name: 'slow', arguments: { ms: 200 } } });
      raw.send({ jsonrpc: '2.0', id: 'same', method: 'tools/call', params: { name: 'slow', arguments: { ms: 200 } } });
      await sleep(600);
      assert.match(text(await raw.call('echo', { text: 'after' })), /after/);
      raw.stray = [];
    });
  });
  await t.using('a client that does not read', () => connected(servers), async (raw) => {
    await t.check('what it does not read waits, in bounded memory, and then comes in order', async () => {
      raw.child.stdout.pause();
      const flood = raw.call('flood', { count: 300_000 }, { patience: 90_000 });
      await sleep(4000);
      const { now } = memory(raw.child.pid);
      t.note('seen', 'memory of the gateway while its client reads nothing of a flood', 0, `${Math.round(now / 1024)} MiB`);
      assert.ok(now < 120_000, `${now} kB`);
      raw.child.stdout.resume();
      await flood;
      const numbers = raw.others.map(({ message }) => Number(/^flood (\d+)/.exec(message.params?.data ?? '')?.[1])).filter((n) => n >= 0);
      assert.equal(numbers.length, 300_000);
      assert.ok(numbers.every((n, place) => n === place));
    }, { patience: 120_000 });
  });
  await t.check('a client that ends in the middle of a line leaves nothing', async () => {
    const raw = await connected(servers);
    raw.child.stdin.write('{"jsonrpc":"2.0","id":9,"meth');
    await raw.close(20_000);
    await nothingLeft();
  });
  await t.check('a client that ends while calls run gets their answers first', async () => {
    const raw = await connected(servers);
    const slow = raw.call('slow', { ms: 700 });
    await sleep(100);
    raw.child.stdin.end();
    assert.match(text(await slow), /slept 700/);
    const { code } = await raw.ended;
    assert.equal(code, 0);
    await nothingLeft();
  });
  await t.check('SIGTERM ends it as the end of input does', async () => {
    const raw = await connected(servers);
    const slow = raw.call('slow', { ms: 700 });
    await sleep(100);
    raw.child.kill('SIGTERM');
    assert.match(text(await slow), /slept 700/);
    await raw.ended;
    await nothingLeft();
  });
  await t.check('calls before `initialize` are answered, whatever with', async () => {
    const { Raw } = await import('../lib/raw.mjs');
    const { command } = await import('../lib/gateway.mjs');
    const raw = new Raw(command(servers));
    await raw.request('tools/call', { name: 'echo', arguments: {} });
    await raw.request('ping');
    await raw.close();
    await until(() => true);
  });
}
