// Many clients over HTTP: sessions that do not mix, the era without sessions, what is refused, and the end.

import { connect } from 'node:net';
import { assert, sleep, until } from '../lib/checks.mjs';
import { left, listening, nothingLeft } from '../lib/gateway.mjs';
import { callId, text } from '../lib/raw.mjs';
import { http } from '../lib/sdk.mjs';
import { Session, send, stateless } from '../lib/web.mjs';
import { own } from './chains.mjs';

const servers = { faults: own('faults'), sink: own('sink') };

export default async function over(t) {
  if (t.direct) return;
  await t.using('a gateway', () => listening(servers), async (gateway) => {
    await sessions(t, gateway);
    await withoutSessions(t, gateway);
    await refused(t, gateway);
  });
  await t.check('no server is left of it', () => nothingLeft());
  await tokens(t);
  await limits(t);
  await t.check('SIGTERM lets running calls end, takes no new ones, and leaves nothing', async () => {
    const gateway = await listening(servers);
    const session = await new Session(gateway.url).initialize();
    const slow = session.call('slow', { ms: 1500 });
    await sleep(300);
    const ended = gateway.close('SIGTERM');
    assert.match(text(await slow), /slept 1500/);
    const { code } = await ended;
    assert.equal(code, 0);
    await nothingLeft();
  });
}

async function sessions(t, { url, base }) {
  await t.check('call ids do not reach from one session into another', async () => {
    const [ann, bob] = await Promise.all([new Session(url).initialize(), new Session(url).initialize()]);
    assert.notEqual(ann.id, bob.id);
    const id = callId(await ann.call('numbers'));
    const never = await bob.call('take', { value: { $tool: 'call_99' } });
    const reached = await bob.call('take', { value: { $tool: id } });
    assert.equal(reached.isError, true);
    assert.equal(text(reached).replaceAll(id, 'X'), text(never).replaceAll('call_99', 'X'), 'as one that never existed');
    assert.match(text(await ann.call('take', { value: { $tool: id, $select: 'z' } })), /"value":1\b/);
    await Promise.all([ann.close(), bob.close()]);
  });
  await t.check('each session has servers of its own, which end with it', async () => {
    const before = left().length;
    const [ann, bob] = await Promise.all([new Session(url).initialize(), new Session(url).initialize()]);
    const pids = await Promise.all([ann, bob].map(async (one) => /\d+/.exec(text(await one.call('pid')))[0]));
    assert.notEqual(pids[0], pids[1]);
    await ann.close();
    const gone = await ann.request('ping');
    assert.equal(gone.status, 404);
    await until(() => !left().includes(Number(pids[0])), 10_000, 'the end of the server of the session');
    assert.match(text(await bob.call('echo', { text: 'still' })), /still/);
    await bob.close();
    await until(() => left().length <= before, 10_000, 'the end of all servers of both sessions');
  });
  await t.check('16 sessions with 30 calls each get each its own answers', async () => {
    await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const session = await new Session(url).initialize();
        for (let m = 0; m < 30; m += 3) {
          const answers = await Promise.all([0, 1, 2].map((k) => session.call('take', { text: `<${n}.${m + k}>` })));
          answers.forEach((answer, k) => assert.ok(text(answer).includes(`<${n}.${m + k}>`)));
        }
        await session.close();
      }),
    );
  });
  await t.check('a client that hangs up in a call harms nobody', async () => {
    const session = await new Session(url).initialize();
    const abort = new AbortController();
    const cut = session.request('tools/call', { name: 'slow', arguments: { ms: 5000 } }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 200);
    await assert.rejects(cut);
    assert.match(text(await session.call('echo', { text: 'after' })), /after/);
    await session.close();
  });
  await t.check('two TypeScript clients at once, one of which dies in a call', async () => {
    const [ann, bob] = await Promise.all([http(url), http(url)]);
    const dying = ann.callTool({ name: 'die', arguments: {} });
    const beside = bob.callTool({ name: 'slow', arguments: { ms: 500 } });
    const died = await dying.then((result) => result.isError, () => true);
    assert.equal(died, true);
    assert.match(text(await beside), /slept/);
    await Promise.all([ann.close(), bob.close()]);
  });
  await t.check('an unknown session is 404, none is 400', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
    assert.equal((await send(url, { headers: { 'Mcp-Session-Id': 'nobody', 'MCP-Protocol-Version': '2025-11-25' }, body })).status, 404);
    assert.equal((await send(url, { headers: { 'MCP-Protocol-Version': '2025-11-25' }, body })).status, 400);
  });
  await t.check('its health and its figures are served', async () => {
    const health = await send(`${base}/healthz`, { method: 'GET' });
    assert.equal(health.status, 200);
    assert.match(health.text, /faults/);
    const metrics = await send(`${base}/metrics`, { method: 'GET' });
    assert.equal(metrics.status, 200);
    assert.match(metrics.text, /^# TYPE crossfeed_/m);
  });
}

async function withoutSessions(t, { url }) {
  const call = async (name, args = {}, how) => {
    const { message, status, text: body } = await stateless(url, 'tools/call', { name, arguments: args }, how);
    if (!message?.result) throw new Error(`${name}: ${status} ${body.slice(0, 300)}`);
    return message.result;
  };
  await t.check('stateless: the gateway says what it is', async () => {
    const { message, headers } = await stateless(url, 'server/discover');
    assert.ok(message.result.supportedVersions.includes('2026-07-28'), JSON.stringify(message));
    assert.equal(headers['mcp-session-id'], undefined);
  });
  await t.check('stateless: tools are listed as complete and with a life', async () => {
    const { message } = await stateless(url, 'tools/list');
    assert.equal(message.result.resultType, 'complete');
    assert.equal(typeof message.result.ttlMs, 'number');
    assert.ok(message.result.tools.some(({ name }) => name === 'take'));
  });
  await t.check('stateless: a chain works under ids that nobody guesses', async () => {
    const first = await call('numbers');
    const id = callId(first);
    assert.ok(id.length > 20, id);
    assert.match(text(await call('take', { value: { $tool: id, $select: 'z' } })), /"value":1\b/);
    const changed = id.slice(0, -1) + (id.endsWith('a') ? 'b' : 'a');
    const wrong = await call('take', { value: { $tool: changed } });
    assert.equal(wrong.isError, true);
    const small = await call('take', { value: { $tool: 'call_1' } });
    assert.equal(small.isError, true);
  });
  await t.check('stateless: a header that contradicts the body is refused', async () => {
    const answer = await stateless(url, 'tools/list', {}, { headers: { 'Mcp-Method': 'tools/call' } });
    assert.equal(answer.status, 400);
  });
  await t.check('stateless: to hang up is to cancel', async () => {
    const abort = new AbortController();
    const hanging = stateless(url, 'tools/call', { name: 'hang', arguments: {} }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 300);
    await assert.rejects(hanging);
    await until(async () => text(await call('notes')).includes('notifications/cancelled'), 5000, 'the cancellation at the server');
  });
  await t.check('stateless: fifty clients at once get each its own answer', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => call('take', { text: `<${n}>` })));
    answers.forEach((answer, n) => assert.ok(text(answer).includes(`<${n}>`)));
  });
}

async function refused(t, { url }) {
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } };
  await t.check('a host or an origin of elsewhere is 403', async () => {
    assert.equal((await send(url, { headers: { Host: 'evil.example' }, body })).status, 403);
    assert.equal((await send(url, { headers: { Origin: 'https://evil.example' }, body })).status, 403);
  });
  await t.check('what is not valid JSON, no message or no JSON type is a client error', async () => {
    assert.equal((await send(url, { body: '{"jsonrpc":' })).status, 400);
    assert.equal((await send(url, { body: '7' })).status, 400);
    const typed = await send(url, { headers: { 'Content-Type': 'text/plain' }, body });
    assert.ok(typed.status >= 400 && typed.status < 500, String(typed.status));
  });
  await t.check('clients that never finish their headers hold nobody up', async () => {
    const slow = Array.from({ length: 50 }, () => connect(Number(url.port), '127.0.0.1'));
    slow.forEach((socket) => socket.on('error', () => {}).write('POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: '));
    const session = await new Session(url).initialize();
    assert.match(text(await session.call('take', { text: 'beside' })), /beside/);
    await session.close();
    slow.forEach((socket) => socket.destroy());
  });
  await t.check('headers without end are refused', async () => {
    const answer = await send(url, { headers: { 'X-Long': 'x'.repeat(600_000) }, body }).catch((error) => ({ status: 431, error }));
    assert.ok(answer.status >= 400, String(answer.status));
  });
}

async function tokens(t) {
  const options = { tokens: { ann: 'ann-has-a-token-of-length', bob: 'bob-has-one-of-his-own-too' } };
  const bearer = (token) => ({ Authorization: `Bearer ${token}` });
  await t.using('a gateway with tokens', () => listening(servers, { options }), async (gateway) => {
    await t.check('without a token, or with a wrong one, nothing is served', async () => {
      for (const headers of [{}, bearer('wrong'), { Authorization: 'Basic x' }]) {
        const { status, headers: said } = await send(gateway.url, { headers, body: { jsonrpc: '2.0', id: 1, method: 'ping' } });
        assert.equal(status, 401);
        assert.match(said['www-authenticate'], /Bearer/i);
      }
    });
    await t.check('a session belongs to whom it was made for', async () => {
      const ann = await new Session(gateway.url, bearer(options.tokens.ann)).initialize();
      assert.match(text(await ann.call('take', { text: 'ann' })), /ann/);
      const { status } = await ann.request('ping', undefined, { headers: bearer(options.tokens.bob) });
      assert.ok(status === 404 || status === 403, String(status));
      await ann.close();
    });
    await t.check('stateless: the ids of one are nothing to the other', async () => {
      const as = (name) => ({ headers: bearer(options.tokens[name]) });
      const made = await stateless(gateway.url, 'tools/call', { name: 'numbers', arguments: {} }, as('ann'));
      const id = callId(made.message.result);
      const use = (name) => stateless(gateway.url, 'tools/call', { name: 'take', arguments: { value: { $tool: id } } }, as(name));
      assert.notEqual((await use('ann')).message.result.isError, true);
      assert.equal((await use('bob')).message.result.isError, true);
    });
    await t.check('no token stands in the log', () => {
      for (const token of Object.values(options.tokens)) assert.ok(!gateway.log().includes(token));
      return Promise.resolve();
    });
  });
}

async function limits(t) {
  const options = { limits: { message_bytes: 1 << 20, sessions: 3 } };
  await t.using('a gateway with narrow limits', () => listening({ sink: own('sink') }, { options }), async (gateway) => {
    await t.check('a body over the limit is 413, and the session lives', async () => {
      const session = await new Session(gateway.url).initialize();
      const large = await session.request('tools/call', { name: 'take', arguments: { text: 'x'.repeat(2 << 20) } }).catch(() => ({ status: 413 }));
      assert.equal(large.status, 413);
      assert.match(text(await session.call('take', { text: 'small' })), /small/);
      await session.close();
    });
    await t.check('sessions beyond the limit are refused or take the place of idle ones', async () => {
      const made = [];
      for (let n = 0; n < 5; n += 1) {
        const one = await new Session(gateway.url).initialize().catch((error) => error);
        made.push(one);
      }
      await until(() => left().length <= 3, 10_000, 'no more servers than sessions');
      await Promise.all(made.filter((one) => one instanceof Session).map((one) => one.close()));
    });
  });
}
