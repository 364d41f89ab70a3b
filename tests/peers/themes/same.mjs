// What is not about tools is the same with the gateway as without it, byte for byte.
//
// One server is asked the same directly and through the gateway; lines are compared as they came.

import { assert } from '../lib/checks.mjs';
import { command } from '../lib/gateway.mjs';
import { Raw } from '../lib/raw.mjs';
import { packaged } from '../lib/sdk.mjs';
import { own } from './chains.mjs';

const everything = { everything: packaged('server-everything', ['stdio']) };

export default async function same(t) {
  if (t.direct) return;
  for (const version of ['2025-06-18', '2025-11-25']) await revision(t, version);
  await foreign(t);
}

async function pair(servers, version) {
  const both = [new Raw(command(servers, { direct: true })), new Raw(command(servers))];
  const results = await Promise.all(both.map((raw) => raw.initialize({ version, capabilities: { roots: {}, sampling: {}, elicitation: {} } })));
  return { both, results };
}

// Not every server ends when its input does; the gateway must.
const closePair = ({ both: [direct, through] }) => Promise.all([direct.kill(), through.close()]);

async function ask({ both }, method, params, id) {
  return Promise.all(both.map(async (raw) => (await raw.request(method, params, { id })).raw));
}

async function revision(t, version) {
  await t.using(`a pair of connections (${version})`, () => pair(everything, version), async (made) => {
    await t.check(`${version}: the revision and the server are those of the server`, () => {
      const [direct, through] = made.results;
      assert.equal(through.protocolVersion, direct.protocolVersion);
      assert.deepEqual(through.serverInfo, direct.serverInfo);
      for (const [key, value] of Object.entries(direct.capabilities)) assert.deepEqual(through.capabilities[key], value, key);
      assert.ok(through.instructions.endsWith(direct.instructions), 'its instructions follow those of the gateway');
      return Promise.resolve();
    });
    const [direct] = made.both;
    const { resources } = await direct.result('resources/list');
    const { prompts } = await direct.result('prompts/list');
    const completable = prompts.find(({ name }) => /complet/.test(name));
    const asked = [
      ['ping'],
      ['resources/list'],
      ['resources/list', {}],
      ['resources/templates/list'],
      ['resources/read', { uri: resources[0].uri }],
      ['resources/read', { uri: 'demo://nowhere' }],
      ['resources/read', {}],
      ['resources/subscribe', { uri: resources[0].uri }],
      ['resources/unsubscribe', { uri: resources[0].uri }],
      ['prompts/list'],
      ['prompts/get', { name: prompts[0].name, arguments: {} }],
      ['prompts/get', { name: 'nowhere' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: completable.name }, argument: { name: completable.arguments[0].name, value: '' } }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'nowhere' }, argument: { name: 'x', value: '' } }],
      ['logging/setLevel', { level: 'error' }],
      ['logging/setLevel', { level: 'nonsense' }],
      ['no/such-method', { x: [1, 2] }],
      ['tools/call', { name: 'echo' }],
    ];
    let n = 0;
    for (const [method, params] of asked) {
      const title = `${version}: ${method} ${JSON.stringify(params) ?? ''}`.trim();
      await t.check(title, async () => {
        const id = (n += 1) % 2 === 0 ? `ask-"${n}"` : 1000 + n;
        const [plain, through] = await ask(made, method, params, id);
        if (method === 'tools/call') return; // Checked elsewhere: results of tools say their call.
        assert.equal(through, plain);
      });
    }
  }, closePair);
}

async function foreign(t) {
  await t.using('a pair of connections to our own server', () => pair({ sink: own('sink') }, '2025-11-25'), async (made) => {
    await t.check('ids of every kind come back as they were', async () => {
      for (const id of [0, -7, 9007199254740991, 'x', '', '"\\\u00e9', '1']) {
        const [plain, through] = await ask(made, 'ping', undefined, id);
        assert.equal(through, plain);
      }
    });
    await t.check('two requests under a number and its text do not mix', async () => {
      const [, gateway] = made.both;
      const [number, string] = await Promise.all([
        gateway.request('tools/call', { name: 'take', arguments: { text: 'number' } }, { id: 55 }),
        gateway.request('tools/call', { name: 'take', arguments: { text: 'string' } }, { id: '55' }),
      ]);
      assert.match(number.raw, /\\"number\\"/);
      assert.match(string.raw, /\\"string\\"/);
    });
    await t.check('`_meta` and unknown members of a call reach the server', async () => {
      const [, gateway] = made.both;
      const { message } = await gateway.request('tools/call', {
        name: 'take',
        arguments: { text: 'x' },
        _meta: { 'example.com/a': 1, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
        later: { x: true },
      });
      const seen = JSON.parse(message.result.content[0].text).params;
      assert.equal(seen._meta['example.com/a'], 1);
      assert.match(seen._meta.traceparent, /^00-0af7651916cd43dd8448eb211c80319c-/);
      assert.deepEqual(seen.later, { x: true });
    });
  }, closePair);
}
