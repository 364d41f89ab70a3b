// Scripts that read results, as clients with a code mode run them: what they compute through the gateway is what they
// compute without it, or they fail. In the view `program` results are those of the server; in `model` none that is cut is data.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assert } from '../lib/checks.mjs';
import { BINARY, command, listening, scratch } from '../lib/gateway.mjs';
import { follow } from '../lib/lines.mjs';
import { Raw, callId, text } from '../lib/raw.mjs';
import { SCRIPTS, answers, readings } from '../lib/readers.mjs';
import { http, stdio } from '../lib/sdk.mjs';
import { Session } from '../lib/web.mjs';
import { own } from './chains.mjs';

const servers = { tables: own('tables') };
const PYTHON = join(process.env.CROSSFEED_PEERS_CACHE, 'python');
const PROGRAM = fileURLToPath(new URL('../python/scripts.py', import.meta.url));
const EXAMPLE = fileURLToPath(new URL('../../../crates/crossfeed-gateway/examples/sum.py', import.meta.url));
const TABLES = [
  'structured', 'structured_only', 'structured_and_prose', 'structured_undeclared', 'structured_by_name',
  'json_object', 'json_list', 'json_pretty', 'json_parts', 'csv', 'python', 'parts', 'fails',
];
const DECLARED = TABLES.slice(0, 3).concat('structured_by_name');
/** How long tables are; the larger ones for some of the ways to give them only. */
const SIZES = { '1 KB': 1000, '100 KB': 100_000, '2 MB': 2_000_000, '20 MB': 20_000_000 };
const LARGEST = ['structured_only', 'json_object', 'parts'];
/** What goes to the next tool whole: of a text that holds JSON at most a million values are read for that. */
const passable = (size) => (SIZES[size] > 10_000_000 ? 'structured_only' : 'json_object');
const CALL_ID = 'dev.crossfeed/callId';
const VIEW = 'dev.crossfeed/view';
// The largest are given twice, and kept while the next one comes.
const ROOM = { limits: { sessionBytes: '512 MiB', totalBytes: '512 MiB', memoryBytes: '2 GiB' } };
const LONG = { patience: 240_000 };

export default async function scripts(t) {
  if (t.direct) return;
  const sizes = t.quick ? ['1 KB', '100 KB', '2 MB'] : Object.keys(SIZES);
  await t.using('a connection to the server itself', () => stdio(servers, { direct: true }), async (direct) => {
    const expect = expected(direct);
    for (const stateless of [false, true]) {
      const era = stateless ? '2026-07-28' : 'sessions';
      const options = ROOM;
      for (const view of ['program', 'model']) {
        const args = ['--view', view];
        const read = (client, where) => ({ program: programs, model: models })[view](t, `${where}, ${era}, ${view}`, direct, expect, client, sizes);
        await t.using(`a client over stdio (${era}, ${view})`, () => stdio(servers, { stateless, options, args }), (client) => read(client, 'stdio'));
        await t.using(`a gateway over HTTP (${era}, ${view})`, () => listening(servers, { options, args }), (gateway) =>
          t.using('a client over HTTP', () => http(gateway.url, { stateless }), (client) => read(client, 'HTTP')),
        );
      }
    }
    await whole(t, direct);
  });
  await choices(t);
  await wire(t, sizes);
  await python(t, sizes);
}

const asked = (sizes) => sizes.flatMap((size) => TABLES.filter((name) => SIZES[size] < 1_000_000 || LARGEST.includes(name)).map((name) => [name, size]));
const caller = (client) => (name, args, meta) => client.callTool({ name, arguments: args, ...(meta ? { _meta: meta } : {}) }, ...(client.experimental ? [undefined, { timeout: 200_000 }] : [{ timeout: 200_000 }]));

/** What the server gave: a result without what says that a call is over, and how it is called. */
function given({ _meta, resultType, ...result }) {
  const { [CALL_ID]: id, ...meta } = _meta ?? {};
  // Who serves the later revision says its name in each result.
  delete meta['io.modelcontextprotocol/serverInfo'];
  return { id, result: Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result };
}

/** What the server gave, and what scripts compute with it: by script, all answers that are right. */
function expected(direct) {
  const known = new Map();
  return (name, size) => {
    const key = `${name} ${size}`;
    if (!known.has(key)) {
      known.set(key, caller(direct)(name, { bytes: SIZES[size] }).then((result) => {
        const found = readings(result, { plain: SIZES[size] > 200_000 });
        const right = new Set(Object.values(SCRIPTS).flatMap((script) => answers(found, script).map(({ given }) => given)));
        return { ...given(result), right };
      }));
    }
    return known.get(key);
  };
}

async function programs(t, what, direct, expect, client, sizes) {
  const [ask, call] = [caller(direct), caller(client)];
  await t.check(`${what}: output schemas are listed as they were declared`, async () => {
    const [plain, through] = await Promise.all([direct, client].map(async (one) => (await one.listTools()).tools));
    for (const { name, outputSchema } of plain) {
      assert.deepEqual(through.find((tool) => tool.name === name)?.outputSchema, outputSchema, name);
    }
  });
  for (const [name, size] of asked(sizes)) {
    await t.check(`${what}: ${name} of ${size} is what the server gave`, async () => {
      const plain = await expect(name, size);
      const through = given(await call(name, { bytes: SIZES[size] }));
      assert.equal(through.id === undefined, name === 'fails', 'all but errors have a call id');
      assert.deepStrictEqual(through.result, plain.result);
      const found = readings(through.result, { plain: true });
      for (const [title, script] of Object.entries(SCRIPTS)) {
        for (const { given } of answers(found, script)) assert.ok(plain.right.has(given), title);
      }
    }, LONG);
  }
  await t.check(`${what}: a script pages through a table`, async () => {
    assert.equal(await paged(call, 100_000), sum(JSON.parse(text(await ask('json_object', { bytes: 100_000 }))).rows));
  });
  await t.check(`${what}: a script filters rows and passes them on, by value and by reference`, async () => {
    const { rows, id } = await table(call, 'structured', 100_000);
    const kept = rows.filter((row) => row.amount > 50);
    assert.ok(kept.length > 0 && kept.length < rows.length);
    assert.deepEqual(digested(await call('digest', { value: kept })), { rows: kept.length, sum: sum(kept), hash: hash(kept) });
    const reference = { $tool: id, $select: 'rows[?amount > `50`]' };
    assert.deepEqual(digested(await call('digest', { value: reference })), { rows: kept.length, sum: sum(kept), hash: hash(kept) });
  });
  for (const size of sizes) {
    await t.check(`${what}: ${size} go by reference to the next tool, and the script sends no more than that`, async () => {
      const { value, id } = await table(call, passable(size), SIZES[size]);
      const taken = await call('digest', { value: { $tool: id } });
      assert.deepEqual(digested(taken), { rows: value.rows.length, sum: sum(value.rows), hash: hash(value) });
      assert.ok(JSON.parse(taken.content[0].text).received > SIZES[size] * 0.9);
    }, LONG);
  }
  await t.check(`${what}: an error of the server is that error`, () => refused(ask, call));
  await t.check(`${what}: a reference to what failed is an error that a script sees`, async () => {
    const result = await call('digest', { value: { $tool: 'call_9999' } });
    assert.equal(result.isError, true);
  });
}

async function models(t, what, direct, expect, client, sizes) {
  const [ask, call] = [caller(direct), caller(client)];
  await t.check(`${what}: no tool whose result may be cut says what shape it has`, async () => {
    const { tools } = await client.listTools();
    for (const { name, outputSchema } of tools) assert.ok(!TABLES.includes(name) || outputSchema === undefined, name);
  });
  for (const [name, size] of asked(sizes)) {
    await t.check(`${what}: no script computes a wrong answer from ${name} of ${size}`, async () => {
      const plain = await expect(name, size);
      const shown = await call(name, { bytes: SIZES[size] });
      const cut = text(shown).startsWith('[crossfeed preview of ');
      assert.equal(cut, size !== '1 KB');
      assert.equal(shown.isError, plain.result.isError);
      if (cut) {
        assert.equal(shown.structuredContent, undefined);
        assert.match(shown.content[0].text, /^\[crossfeed preview of (\w+): cut, not the data[^]*\n\[end of crossfeed preview of \1\]$/);
        assert.ok(JSON.stringify(shown).length < 12_000);
        const pictures = (result) => result.content.filter((part) => part.type === 'image');
        assert.deepEqual(pictures(shown), pictures(plain.result));
      }
      const found = readings(shown);
      for (const [title, script] of Object.entries(SCRIPTS)) {
        for (const { reader, given } of answers(found, script)) assert.ok(plain.right.has(given), `${title}, ${reader}: ${given}, not one of ${[...plain.right]}`);
      }
    }, LONG);
  }
  await t.check(`${what}: a script that pages through a table is right where pages are small, and fails where they are cut`, async () => {
    assert.equal(await paged(call, 4000), sum(JSON.parse(text(await ask('json_object', { bytes: 4000 }))).rows));
    await assert.rejects(paged(call, 100_000), SyntaxError);
  });
  await t.check(`${what}: a script reads all of what was cut in pages`, async () => {
    const { rows } = JSON.parse(text(await ask('json_object', { bytes: 20_000 })));
    const id = idOf(await call('json_object', { bytes: 20_000 }));
    const found = [];
    for (let offset = 0; offset !== null && offset !== undefined; ) {
      const page = JSON.parse((await call('read_result', { call_id: id, select: 'rows', offset })).content[0].text);
      found.push(...page.items);
      offset = page.next_offset;
    }
    assert.deepEqual(found, rows);
  });
  for (const size of sizes) {
    await t.check(`${what}: ${size} go by reference to the next tool, whatever was shown`, async () => {
      const name = passable(size);
      const { value } = await table(ask, name, SIZES[size]);
      const id = idOf(await call(name, { bytes: SIZES[size] }));
      assert.deepEqual(digested(await call('digest', { value: { $tool: id } })), { rows: value.rows.length, sum: sum(value.rows), hash: hash(value) });
    }, LONG);
  }
  await t.check(`${what}: an error of the server is that error`, () => refused(ask, call));
}

/** With `ask`, a call says itself who reads its result. */
async function whole(t, direct) {
  for (const stateless of [false, true]) {
    const what = `ask, ${stateless ? '2026-07-28' : 'sessions'}`;
    await t.using(`a client (${what})`, () => stdio(servers, { stateless, args: ['--view', 'ask'] }), async (client) => {
      const [ask, call] = [caller(direct), caller(client)];
      await t.check(`${what}: each tool has \`_whole\`, and what it does is said once`, async () => {
        const { tools } = await client.listTools();
        for (const { name, inputSchema, outputSchema } of tools) {
          const offers = TABLES.includes(name) || name === 'digest';
          assert.equal(inputSchema.properties?._whole !== undefined, offers || ['page', 'refuse'].includes(name), name);
          assert.ok(outputSchema === undefined || !offers, name);
        }
        assert.match(client.getInstructions() ?? '', /_whole/);
      });
      for (const name of TABLES) {
        await t.check(`${what}: ${name} is what the server gave where a call says so, and what a model reads where not`, async () => {
          const args = { bytes: 100_000 };
          const plain = given(await ask(name, args));
          const through = given(await call(name, { ...args, _whole: true }));
          assert.deepStrictEqual(through.result, plain.result);
          for (const not of [{}, { _whole: false }, { _whole: null }]) {
            const shown = await call(name, { ...args, ...not });
            assert.match(text(shown), /^\[crossfeed preview of /);
            assert.equal(shown.isError, plain.result.isError);
          }
        });
      }
      await t.check(`${what}: the tool does not receive it`, async () => {
        const { content } = await call('digest', { value: [{ amount: 1 }], _whole: true });
        assert.deepEqual(JSON.parse(content[0].text).names, ['value']);
      });
    });
  }
}

/** Who chooses a view: the first that says so. */
async function choices(t) {
  const by = (view) => ({ [VIEW]: view });
  const client = (view, more = {}) => ({ clients: { 'A Script': { view, ...more } } });
  const of = (view) => ({ tables: { ...own('tables'), view } });
  const cases = [
    ['nobody', {}, 'model'],
    ['the request', { meta: by('program') }, 'program'],
    ['the request before the client', { meta: by('model'), options: client('program') }, 'model'],
    ['the client by its name', { options: client('program') }, 'program'],
    ['the client before the server', { options: client('program'), servers: of('model') }, 'program'],
    ['the client of another version', { options: client('program', { version: '2.*' }) }, 'model'],
    ['the client of this version', { options: client('program', { version: '1.*' }) }, 'program'],
    ['another client', { options: client('program'), name: 'another' }, 'model'],
    ['the server', { servers: of('program') }, 'program'],
    ['the server before the command', { servers: of('program'), args: ['--view', 'model'] }, 'program'],
    ['the command', { args: ['--view', 'program'] }, 'program'],
    ['the command before the configuration', { args: ['--view', 'program'], options: { view: 'model' } }, 'program'],
    ['the configuration', { options: { view: 'program' } }, 'program'],
    ['the table of clients', { name: 'opencode', version: '2.1.0' }, 'program'],
    ['the table, asked by the request', { meta: by('auto'), name: 'opencode', version: '2.1.0', options: { view: 'model' } }, 'program'],
  ];
  for (const stateless of [false, true]) {
    const era = stateless ? '2026-07-28' : 'sessions';
    for (const [who, how, view] of cases) {
      await t.check(`views, ${era}: ${who} makes it ${view}`, async () => {
        const { meta, servers: these = servers, ...more } = how;
        const one = await stdio(these, { name: 'a script', stateless, ...more });
        try {
          const { tools } = await one.listTools(meta ? { _meta: meta } : {});
          const { outputSchema } = tools.find(({ name }) => name === 'structured');
          assert.equal(outputSchema !== undefined, view === 'program', 'the output schema');
          const result = await caller(one)('structured', { bytes: 20_000 }, meta);
          assert.equal(result.structuredContent !== undefined, view === 'program', text(result).slice(0, 200));
          assert.equal(result._meta?.[CALL_ID] !== undefined, view === 'program');
        } finally {
          await one.close();
        }
      });
    }
    await t.check(`views, ${era}: a word that is none is refused with -32602`, async () => {
      const one = await stdio(servers, { stateless });
      try {
        await assert.rejects(caller(one)('structured', { bytes: 10 }, by('everything')), (error) => error.code === -32602);
      } finally {
        await one.close();
      }
    });
  }
}

/** The bytes of a result, and the same without the call id. */
function bytesOf(line) {
  const result = line.slice(line.indexOf('"result":') + '"result":'.length, line.lastIndexOf('}')).trim();
  // Where it is added: a `_meta` of its own at the end, or the last member of the server's.
  const without = result.replace(/,"_meta":\{"dev\.crossfeed\/callId":"\w+"\}(?=\}$)/, '').replace(/,"dev\.crossfeed\/callId":"\w+"(?=\}\}$)/, '');
  return { without, hasId: without.length < result.length };
}

async function wire(t, sizes) {
  const args = ['--view', 'program'];
  const open = async (how) => {
    const raw = new Raw(command(servers, how));
    await raw.initialize();
    return raw;
  };
  const compare = async (direct, ask, name, size) => {
    const [plain, through] = [await direct.request('tools/call', { name, arguments: { bytes: SIZES[size] } }, LONG), await ask(name, size)];
    const [was, is] = [bytesOf(plain.raw), bytesOf(through)];
    assert.equal(is.hasId, name !== 'fails', 'the call id');
    assert.ok(is.without === was.without, `${is.without.slice(0, 100)}…${is.without.slice(-100)}, not ${was.without.slice(0, 100)}…${was.without.slice(-100)}`);
  };
  await t.using('a connection without an SDK to the server itself', () => open({ direct: true }), async (direct) => {
    await t.using('one to the gateway', () => open({ args, options: ROOM }), async (raw) => {
      await t.check('wire: output schemas are the bytes of the server', async () => {
        const [plain, through] = await Promise.all([direct, raw].map((one) => one.request('tools/list')));
        const schemas = [...plain.raw.matchAll(/"outputSchema":(\{.*?\})\}(?:,\{"name"|\])/g)].map(([, schema]) => schema);
        assert.equal(schemas.length, DECLARED.length);
        for (const schema of schemas) assert.equal(through.raw.split(schema).length, plain.raw.split(schema).length, schema);
      });
      for (const [name, size] of asked(sizes)) {
        const ask = async () => (await raw.request('tools/call', { name, arguments: { bytes: SIZES[size] } }, LONG)).raw;
        await t.check(`wire, stdio: ${name} of ${size} is the bytes of the server`, () => compare(direct, ask, name, size), LONG);
      }
    });
    await t.using('a gateway over HTTP', () => listening(servers, { args, options: ROOM }), async (gateway) => {
      const session = await new Session(gateway.url).initialize();
      for (const [name, size] of asked(sizes)) {
        const ask = async () => {
          const { text, headers } = await session.request('tools/call', { name, arguments: { bytes: SIZES[size] } });
          if (!/event-stream/.test(headers['content-type'])) return text;
          return text.split(/\r?\n/).find((line) => line.startsWith('data:') && line.includes('"result":')).slice(5).trim();
        };
        await t.check(`wire, HTTP: ${name} of ${size} is the bytes of the server`, () => compare(direct, ask, name, size), LONG);
      }
      await session.close();
    });
  });
}

/** The same from Python, whose client reads both revisions. */
async function python(t, sizes) {
  if (!existsSync(join(PYTHON, 'installed.txt'))) {
    t.skip('scripts in Python', 'there is no Python 3.10 or newer, or pip cannot install');
    return;
  }
  await t.check('the example in Python fails aloud as a model, and has the sum as a program', async () => {
    const folder = scratch('example');
    symlinkSync(BINARY, join(folder, 'crossfeed'));
    const PATH = [folder, process.env.PATH].join(delimiter);
    const { stdout } = await promisify(execFile)(join(PYTHON, 'bin', 'python'), [EXAMPLE], { cwd: folder, env: { ...process.env, PATH } });
    assert.match(stdout, /^model: Expecting value: line 1 column 2 \(char 1\), in\n\[crossfeed preview of call_1: cut, not the data; .*\]\nprogram: 25000\.0 euros\n$/);
  });
  const { command: direct, args: directly } = command(servers, { direct: true });
  const run = (mode, where, target) => {
    // An answer over HTTP that takes its time is an event, of which this client takes 1 MiB.
    const taken = sizes.filter((size) => where !== 'HTTP' || SIZES[size] < 500_000);
    const env = { PEERS_DIRECTLY: JSON.stringify([direct, ...directly]), PEERS_SIZES: JSON.stringify(taken.map((size) => [size, SIZES[size]])) };
    return follow(t, `Python, ${mode}, ${where}`, join(PYTHON, 'bin', 'python'), [PROGRAM, mode, ...target], { env, patience: 600_000 });
  };
  const { command: gateway, args } = command(servers, { options: ROOM });
  for (const mode of ['legacy', '2026-07-28']) await run(mode, 'stdio', [gateway, ...args]);
  await t.using('a gateway over HTTP', () => listening(servers, { options: ROOM }), async (running) => {
    for (const mode of ['legacy', '2026-07-28']) await run(mode, 'HTTP', [running.url.href]);
  });
}

const sum = (rows) => rows.reduce((sum, row) => sum + row.amount, 0);
const hash = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** What the last tool says that it was given. */
function digested(result) {
  assert.notEqual(result.isError, true, text(result));
  const { rows, sum, hash } = JSON.parse(result.content[0].text);
  return { rows, sum, hash };
}

const idOf = (result) => result._meta?.[CALL_ID] ?? callId(result);

/** A table as a script has it, and what its result is called. */
async function table(call, name, bytes) {
  const result = await call(name, { bytes });
  const value = result.structuredContent ?? JSON.parse(text(result));
  return { value, rows: value.rows, id: result._meta?.[CALL_ID] };
}

/** A script that pages, with the tool's own cursor. */
async function paged(call, bytes) {
  let total = 0;
  for (let from = 0; from !== null; ) {
    const page = JSON.parse((await call('page', { bytes, from })).content[0].text);
    total += sum(page.rows);
    from = page.next;
  }
  return total;
}

async function refused(ask, call) {
  const errors = [];
  for (const one of [ask, call]) {
    await assert.rejects(one('refuse', { bytes: 1 }), ({ code, message, data }) => errors.push({ code, message: message.replace(/^MCP error -\d+: /, ''), data }) > 0);
  }
  assert.deepEqual(errors[1], errors[0]);
}
