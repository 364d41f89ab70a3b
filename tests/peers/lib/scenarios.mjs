// What the end-to-end suite of the TypeScript SDK tries of a client and a server, as scenarios of our own: npm carries no tests.
//
// What comes in: a way to connect. What goes out: for each scenario what the client saw, what it heard, and what the server saw,
// so that two ways can be compared. Not here: what is right.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { sleep, until } from './checks.mjs';
import { MODULES } from './sdk.mjs';

const require = createRequire(join(MODULES, 'x.js'));
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const OWN_TOOLS = ['inspect_tool_output', 'read_result', 'list_results'];
const LATER = '2026-07-28';
/** Clients by what they speak; all but one have sessions with the server. `auto` finds out, of a server that has sessions only. */
export const CLIENTS = {
  session: { versionNegotiation: { mode: 'legacy' } },
  [LATER]: { versionNegotiation: { mode: { pin: LATER } } },
  auto: { versionNegotiation: { mode: 'auto' } },
  '2024-11-05': { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: ['2024-11-05'] },
};
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** Gives what a promise gives, or how it failed. */
async function outcome(promise) {
  try {
    return await promise;
  } catch (error) {
    return { failed: { code: error.code, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) } };
  }
}

const call = (name, args, more) => (client) => outcome(client.callTool({ name, ...(args === undefined ? {} : { arguments: args }), ...more }));

/** All pages of a list, with the cursors between them. */
async function pages(client, method) {
  const found = [];
  let cursor;
  do {
    const result = await client.request({ method, params: cursor === undefined ? {} : { cursor } });
    found.push(result);
    cursor = result.nextCursor;
  } while (cursor !== undefined && found.length < 20);
  return found;
}

/** Something of each tool of the server, by its name. */
const ofEach = (part) => async (client) => {
  const { tools } = await client.listTools();
  return Object.fromEntries(tools.filter(({ name }) => !OWN_TOOLS.includes(name)).map((tool) => [tool.name, part(tool)]));
};

/** Each has a name and what it does; `era` where it is of one only. */
const SCENARIOS = {
  'the beginning: revision and server': { run: (client) => [client.getNegotiatedProtocolVersion(), client.getServerVersion()] },
  'the beginning: capabilities': { run: (client) => client.getServerCapabilities() },
  'the beginning: instructions': { run: (client) => client.getInstructions() },
  'tools: the list, without what they say, take and give': {
    run: async (client) => {
      const { tools, ...rest } = await client.listTools();
      return { tools: tools.map(({ description, inputSchema, outputSchema, ...tool }) => tool), ...rest };
    },
  },
  'tools: their descriptions': { run: ofEach(({ description }) => description) },
  'tools: what they take': { run: ofEach(({ name, inputSchema }) => (name === 'either' ? null : inputSchema)) },
  'tools: combinators at the root of what one takes': { run: ofEach(({ name, inputSchema }) => (name === 'either' ? inputSchema : null)) },
  'tools: what they give': { run: ofEach(({ outputSchema }) => outputSchema ?? null) },
  'tools: page by page': {
    run: async (client) => (await pages(client, 'tools/list')).map(({ tools, nextCursor }) => [tools.map(({ name }) => name).filter((name) => !OWN_TOOLS.includes(name)), nextCursor]),
  },
  'tools: a cursor that is none': { run: (client) => outcome(client.request({ method: 'tools/list', params: { cursor: 'nonsense' } })) },
  'tools: a call with arguments': { run: call('add', { a: 1, b: 2.5 }) },
  'tools: arguments by a definition': { run: call('defined', { at: { x: 7 } }) },
  'tools: arguments by combinators': { run: call('either', { b: 'two' }) },
  'tools: arguments that the schema does not admit': { run: call('add', { a: 'one' }) },
  'tools: no arguments': { run: call('contents') },
  'tools: every kind of content': { run: call('contents', {}) },
  'tools: a structured result': { run: call('structured', {}) },
  'tools: a structured result that its schema does not admit': { run: call('wrong', {}) },
  'tools: a result that is an error': { run: call('fails', {}) },
  'tools: an error of the protocol, with data': { run: call('refuses', {}) },
  'tools: an exception': { run: call('throws', {}) },
  'tools: one that is unknown': { run: call('nowhere', {}) },
  'tools: one that is not listed': { run: call('hidden', {}) },
  'tools: `_meta` both ways, and arguments of every kind': {
    run: call('tells', { value: [null, true, 1.5, -0.25, 'a\u0000b\u2028 \u{1f600}', { '': [], a: {} }] }, { _meta: { 'example.com/a': { b: [1] }, 'example.com/c': 'd' } }),
  },
  'tools: thirty calls at once': {
    run: (client) => Promise.all(Array.from({ length: 30 }, (_, n) => client.callTool({ name: 'add', arguments: { a: n, b: 1000 } }))),
  },
  'the client, as the server sees it': { run: call('client', {}) },
  'resources: page by page': { run: (client) => pages(client, 'resources/list') },
  'resources: templates': { run: (client) => client.listResourceTemplates() },
  'resources: a text': { run: (client) => client.readResource({ uri: 'notes://one' }) },
  'resources: bytes': { run: (client) => client.readResource({ uri: 'notes://bytes' }) },
  'resources: of a template': { run: (client) => client.readResource({ uri: 'notes://by/ada' }) },
  'resources: one that is unknown': { run: (client) => outcome(client.readResource({ uri: 'nowhere://one' })) },
  'resources: subscribe, hear of a change, unsubscribe': {
    era: 'session',
    run: async (client, { hear }) => {
      const first = await client.subscribeResource({ uri: 'notes://one' });
      await client.callTool({ name: 'changes', arguments: {} });
      await hear('notifications/resources/updated', 1);
      return [first, await client.unsubscribeResource({ uri: 'notes://one' })];
    },
  },
  'lists that change': {
    era: 'session',
    run: async (client, { hear }) => {
      const result = await client.callTool({ name: 'changes', arguments: {} });
      for (const kind of ['tools', 'prompts', 'resources']) await hear(`notifications/${kind}/list_changed`, 1);
      return result;
    },
  },
  'listening: what is asked for, and nothing else': {
    era: LATER,
    run: async (client, { hear }) => {
      const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['notes://one'] });
      const result = await client.callTool({ name: 'changes', arguments: {} });
      await hear('notifications/tools/list_changed', 1);
      await hear('notifications/resources/updated', 1);
      await subscription.close();
      return { honored: subscription.honoredFilter, result, closed: await subscription.closed };
    },
  },
  'prompts: page by page': { run: (client) => pages(client, 'prompts/list') },
  'prompts: one with arguments': { run: (client) => client.getPrompt({ name: 'prompt_2', arguments: { city: 'Oslo' } }) },
  'prompts: one that is unknown': { run: (client) => outcome(client.getPrompt({ name: 'nowhere' })) },
  'completion: of a prompt, with a context': {
    run: (client) => client.complete({ ref: { type: 'ref/prompt', name: 'prompt_1' }, argument: { name: 'city', value: 'Pa' }, context: { arguments: { country: 'France' } } }),
  },
  'completion: of a template': { run: (client) => client.complete({ ref: { type: 'ref/resource', uri: 'notes://by/{author}' }, argument: { name: 'author', value: 'Bo' } }) },
  'asking: a completion': { run: call('samples', {}) },
  'asking: a form': { run: call('elicits', {}) },
  'asking: a form that is declined': { prepare: { elicit: { action: 'decline' } }, run: call('elicits', {}) },
  'asking: a form that is dismissed': { prepare: { elicit: { action: 'cancel' } }, run: call('elicits', {}) },
  'asking: a page to go to': { run: call('sends', {}) },
  'asking: the roots': { run: call('roots', {}) },
  'asking: twice, with a state': { run: call('rounds', { city: 'Oslo' }) },
  'asking: while a call runs, one thing after the other': { era: 'session', run: call('pushes', {}) },
  'asking: six completions at once': { run: (client) => Promise.all(Array.from({ length: 6 }, () => client.callTool({ name: 'samples', arguments: {} }))) },
  'asking: after a call was cancelled': {
    run: async (client, { seen }) => {
      const gone = new AbortController();
      const waiting = outcome(client.callTool({ name: 'waits', arguments: {} }, { signal: gone.signal }));
      await seen('waits', 1);
      gone.abort();
      await waiting;
      return [await call('elicits', {})(client), await call('roots', {})(client)];
    },
  },
  'roots that change': {
    era: 'session',
    run: async (client, { seen }) => {
      await client.sendRootsListChanged();
      await seen('roots changed', 1);
    },
  },
  'progress: of a call': {
    run: async (client) => {
      const steps = [];
      const result = await client.callTool({ name: 'progress', arguments: { steps: 4 } }, { onprogress: (step) => steps.push(step) });
      return { steps, result };
    },
  },
  'progress: nobody asked for it': { run: call('progress', { steps: 2 }) },
  'progress: keeps a call alive': {
    run: async (client) => outcome(client.callTool({ name: 'progress', arguments: { steps: 100 } }, { timeout: 1500, resetTimeoutOnProgress: true, onprogress: () => {} })),
  },
  'cancelling: a call, and the next one goes on': {
    run: async (client, { seen }) => {
      const gone = new AbortController();
      const waiting = outcome(client.callTool({ name: 'waits', arguments: {} }, { signal: gone.signal }));
      await seen('waits', 1);
      const beside = client.callTool({ name: 'add', arguments: { a: 1, b: 1 } });
      gone.abort('enough');
      const cancelled = await waiting;
      await seen('is cancelled', 1);
      return [cancelled, await beside, await client.callTool({ name: 'add', arguments: { a: 2, b: 2 } })];
    },
  },
  'time: a call that takes too long': {
    run: async (client, { seen }) => {
      const late = await outcome(client.callTool({ name: 'waits', arguments: {} }, { timeout: 1000 }));
      await seen('is cancelled', 1);
      return late;
    },
  },
  'logging: from a level on': {
    era: 'session',
    run: async (client, { hear }) => {
      const set = await client.setLoggingLevel('warning');
      const result = await client.callTool({ name: 'logs', arguments: {} });
      await hear('notifications/message', 2);
      return [set, result];
    },
  },
  'logging: a level that is none': { era: 'session', run: (client) => outcome(client.setLoggingLevel('nonsense')) },
  'logging: as the call says': {
    era: LATER,
    run: async (client, { hear }) => {
      const result = await client.callTool({ name: 'logs', arguments: {}, _meta: { [LOG_LEVEL]: 'info' } });
      await hear('notifications/message', 3);
      return result;
    },
  },
  'ping': { era: 'session', run: (client) => client.ping() },
  'a notification of the server that MCP does not know': {
    run: async (client, { hear }) => {
      const result = await client.callTool({ name: 'custom', arguments: {} });
      await hear('notifications/example.com/custom', 1);
      return result;
    },
  },
  'a notification of the client that MCP does not know': {
    era: 'session',
    run: async (client, { seen }) => {
      await client.notification({ method: 'notifications/example.com/of-client', params: { x: 1 } });
      await seen('notifications/example.com/of-client', 1);
    },
  },
};

/** A client of `CLIENTS`; `way` is a command, or the address of a server. */
export async function connect(way, kind) {
  const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
  const client = new Client({ name: 'scenarios-client', version: '3.2.1', title: 'A client' }, { capabilities, ...CLIENTS[kind] });
  const heard = [];
  const answers = { elicit: { action: 'accept', content: { name: 'Ada', age: 36 } } };
  const answer = (method, give) => client.setRequestHandler(method, ({ params }) => {
    const { _meta, elicitationId, ...asked } = params ?? {};
    heard.push([method, asked]);
    return give(asked);
  });
  answer('sampling/createMessage', () => ({ role: 'assistant', content: { type: 'text', text: 'nothing' }, model: 'none', stopReason: 'endTurn' }));
  answer('elicitation/create', ({ mode }) => (mode === 'url' ? { action: 'accept' } : answers.elicit));
  answer('roots/list', () => ({ roots: [{ uri: 'file:///tmp/project', name: 'project' }] }));
  const note = ({ method, params = {} }) => {
    const { _meta, ...told } = params;
    heard.push([method, told]);
  };
  for (const method of ['message', 'resources/updated', 'tools/list_changed', 'prompts/list_changed', 'resources/list_changed', 'elicitation/complete']) {
    client.setNotificationHandler(`notifications/${method}`, note);
  }
  client.fallbackNotificationHandler = async (notification) => note(notification);
  const transport = way.url ? new StreamableHTTPClientTransport(new URL(way.url)) : new StdioClientTransport({ ...way, stderr: 'ignore' });
  await client.connect(transport);
  return {
    client,
    heard,
    answers,
    close: async () => {
      await transport.terminateSession?.().catch(() => {});
      await client.close();
    },
  };
}

/**
 * Plays all scenarios for a client one after the other, until `enough` says of one that it was the last; gives what was seen by
 * name. `file` is where the server writes; `late` gets the names of scenarios that ran out of time.
 */
export async function play(connection, file, kind, enough = () => false, late = new Set()) {
  const era = kind === LATER ? LATER : 'session';
  const { client, heard, answers } = connection;
  const lines = () => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const found = new Map();
  const usual = { ...answers };
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (scenario.era && scenario.era !== era) continue;
    heard.length = 0;
    const before = lines().length;
    Object.assign(answers, usual, scenario.prepare);
    const come = (count, wanted, what) => until(() => count() >= wanted, 5000, what).catch(() => late.add(name));
    const hear = (method, wanted) => come(() => heard.filter(([one]) => one === method).length, wanted, method);
    const seen = (what, wanted) => come(() => lines().slice(before).filter(([one]) => one === what).length, wanted, what);
    const given = await outcome(scenario.run(client, { hear, seen }));
    if (isLate(given?.failed?.message)) late.add(name);
    // What comes after what was waited for is seen, too, as far as it comes at once.
    if (heard.length > 0) await sleep(30);
    // A gateway reads the list of tools whenever it has to know it, and not only when it is asked.
    const told = lines().slice(before).filter(([what]) => what !== 'a page of tools' || name === 'tools: page by page');
    const all = { client: given, heard: grouped(heard), server: grouped(told) };
    found.set(name, all);
    if (enough(name, all)) break;
  }
  return found;
}

/** Whether an error says that something took too long. */
export const isLate = (message) => /timed out|did not come within|took more than/i.test(message ?? '');

/** Messages by kind: over HTTP two kinds may come by two streams, in any order. */
function grouped(all) {
  const groups = {};
  for (const [kind, value] of all) (groups[kind] ??= []).push(value);
  return Object.fromEntries(Object.entries(groups).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What was seen, without what a gateway that chains adds on purpose: call ids and tools of its own. */
export function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
  if (Array.isArray(copy.tools)) copy.tools = copy.tools.filter(({ name }) => !OWN_TOOLS.includes(name));
  if (Array.isArray(copy.content) && copy.content.at(-1)?.text?.startsWith('{"_toolCallId":')) copy.content.pop();
  if (copy.structuredContent) delete copy.structuredContent._toolCallId;
  return copy;
}

/** Where two values first differ, and how; nothing where they are equal. */
export function difference(a, b, at = '') {
  if (a === b) return undefined;
  const kind = (value) => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);
  if (kind(a) === kind(b) && (kind(a) === 'list' || kind(a) === 'object')) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const found = difference(a[key], b[key], `${at}/${key}`);
      if (found) return found;
    }
    return undefined;
  }
  const short = (value) => (value === undefined ? 'nothing' : JSON.stringify(value)?.slice(0, 200));
  return `at ${at || '/'}: ${short(a)} directly, ${short(b)} through the gateway`;
}
