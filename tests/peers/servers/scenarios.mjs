// A server made with the TypeScript SDK that has everything the protocol has, for the scenarios of `lib/scenarios.mjs`.
//
// What comes in: `FILE [--listen]`, and requests of both eras, over standard input and output or over HTTP; with `PEERS_SESSIONS_ONLY`
// in the environment, of the one with sessions. What goes out: answers,
// and in FILE a line of JSON for everything that the server saw and a client could not know. Not here: what is right.

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.CROSSFEED_PEERS_CACHE, 'node', 'node_modules', 'x.js'));
const { Server, ProtocolError, WebStandardStreamableHTTPServerTransport, createMcpHandler, inputRequired, isLegacyRequest } = require('@modelcontextprotocol/server');
const { StdioServerTransport, serveStdio } = require('@modelcontextprotocol/server/stdio');

const [file, how] = process.argv.slice(2);
const saw = (what, value) => appendFileSync(file, `${JSON.stringify([what, value])}\n`);
/** What everybody is told who listens, in the era without sessions over HTTP. */
let told;

const object = (properties = {}, more = {}) => ({ type: 'object', properties, ...more });
const text = (value) => ({ type: 'text', text: value });
const says = (value) => ({ content: [text(value)] });
const TINY = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const form = { message: 'Who are you?', requestedSchema: object({ name: { type: 'string' }, age: { type: 'integer', minimum: 0 } }, { required: ['name'] }) };
const question = { messages: [{ role: 'user', content: text('What is new?') }], maxTokens: 50, systemPrompt: 'Be brief.', temperature: 0.5 };

/** Tools: what is listed, and what a call does; a call gets its arguments and all that the SDK tells of the request. */
const TOOLS = {
  add: {
    title: 'Sum',
    description: 'Adds two numbers',
    inputSchema: object({ a: { type: 'number' }, b: { type: 'number', description: 'the other one' } }, { required: ['a', 'b'], additionalProperties: false }),
    annotations: { readOnlyHint: true, idempotentHint: true, title: 'Sum' },
    _meta: { 'example.com/kept': [1, { two: 2 }] },
    call: ({ a, b }) => says(String(a + b)),
  },
  defined: {
    description: 'Has a schema with definitions',
    inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', $defs: { point: object({ x: { type: 'integer' } }) }, ...object({ at: { $ref: '#/$defs/point' } }) },
    call: ({ at }) => says(JSON.stringify(at)),
  },
  either: {
    description: 'Has combinators at the root of its schema',
    inputSchema: { ...object({ a: { type: 'string' }, b: { type: 'string' } }), anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    call: (args) => says(JSON.stringify(args)),
  },
  contents: {
    description: 'Gives one of every kind of content',
    inputSchema: object(),
    call: () => ({
      content: [
        { ...text('first'), annotations: { audience: ['user'], priority: 0.5 }, _meta: { 'example.com/part': true } },
        { type: 'image', data: TINY, mimeType: 'image/png' },
        { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'notes://one', name: 'one', description: 'a link', mimeType: 'text/plain', size: 3 },
        { type: 'resource', resource: { uri: 'notes://two', text: 'inside', mimeType: 'text/plain' } },
        { type: 'resource', resource: { uri: 'notes://three', blob: 'AAEC', mimeType: 'application/octet-stream' } },
      ],
      _meta: { 'example.com/result': { n: 1 } },
    }),
  },
  structured: {
    description: 'Gives what its output schema says',
    inputSchema: object(),
    outputSchema: object({ temperature: { type: 'number' }, tags: { type: 'array', items: { type: 'string' } } }, { required: ['temperature'] }),
    call: () => ({ ...says('{"temperature":21.5,"tags":["warm"]}'), structuredContent: { temperature: 21.5, tags: ['warm'] } }),
  },
  wrong: {
    description: 'Gives what its output schema does not say',
    inputSchema: object(),
    outputSchema: object({ temperature: { type: 'number' } }, { required: ['temperature'] }),
    call: () => ({ ...says('{"temperature":"warm"}'), structuredContent: { temperature: 'warm' } }),
  },
  fails: { description: 'Fails, and says so', inputSchema: object(), call: () => ({ ...says('there is no such city'), isError: true }) },
  refuses: {
    description: 'Refuses with an error of its own',
    inputSchema: object(),
    call: () => {
      throw new ProtocolError(-32099, 'not today', { until: 'tomorrow' });
    },
  },
  throws: {
    description: 'Throws',
    inputSchema: object(),
    call: () => {
      throw new Error('something broke');
    },
  },
  tells: {
    description: 'Tells what came with the call',
    inputSchema: object({ value: {} }),
    call: (args, { _meta = {} }) => {
      const own = Object.fromEntries(Object.entries(_meta).filter(([key]) => key.startsWith('example.com/')));
      return { ...says(JSON.stringify({ args, own })), _meta: own };
    },
  },
  client: {
    description: 'Tells who the client is',
    inputSchema: object(),
    call: (_, { server, envelope }) => says(JSON.stringify(envelope ?? { client: server.getClientVersion(), capabilities: server.getClientCapabilities() })),
  },
  progress: {
    description: 'Tells how far it is',
    inputSchema: object({ steps: { type: 'integer' } }),
    call: async ({ steps }, { _meta, notify }) => {
      saw('has a progress token', _meta?.progressToken !== undefined);
      for (let step = 1; step <= steps && _meta?.progressToken !== undefined; step += 1) {
        await notify({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: step, total: steps, message: `step ${step}` } });
        await new Promise((done) => setTimeout(done, 20));
      }
      return says('there');
    },
  },
  waits: {
    description: 'Waits until it is cancelled',
    inputSchema: object(),
    call: (_, { signal }) => {
      saw('waits', true);
      return new Promise((done) => signal.addEventListener('abort', () => {
        saw('is cancelled', String(signal.reason?.message ?? signal.reason ?? ''));
        done(says('too late'));
      }));
    },
  },
  logs: {
    description: 'Logs at every level',
    inputSchema: object(),
    call: async (_, { log }) => {
      for (const level of ['debug', 'info', 'warning', 'error']) await log(level, { at: level, of: 'a call' }, 'scenarios');
      return says('logged');
    },
  },
  samples: {
    description: 'Asks the client for a completion',
    inputSchema: object(),
    call: (_, { inputResponses }) => (inputResponses ? says(JSON.stringify(inputResponses)) : inputRequired({ inputRequests: { sample: inputRequired.createMessage(question) } })),
  },
  elicits: {
    description: 'Asks the user',
    inputSchema: object(),
    call: (_, { inputResponses }) => (inputResponses ? says(JSON.stringify(inputResponses)) : inputRequired({ inputRequests: { who: inputRequired.elicit(form) } })),
  },
  sends: {
    description: 'Sends the user somewhere',
    inputSchema: object(),
    call: (_, { inputResponses }) => (inputResponses ? says(JSON.stringify(inputResponses)) : inputRequired({ inputRequests: { where: inputRequired.elicitUrl({ message: 'Log in', url: 'https://example.com/login?state=1' }) } })),
  },
  roots: {
    description: 'Asks for the roots',
    inputSchema: object(),
    call: (_, { inputResponses }) => (inputResponses ? says(JSON.stringify(inputResponses)) : inputRequired({ inputRequests: { roots: inputRequired.listRoots() } })),
  },
  rounds: {
    description: 'Asks twice, and remembers the first answer in its state',
    inputSchema: object({ city: { type: 'string' } }),
    call: ({ city }, { inputResponses, requestState }) => {
      saw('a round', { city, inputResponses, requestState });
      if (!inputResponses) return inputRequired({ inputRequests: { who: inputRequired.elicit(form) }, requestState: 'one' });
      if (requestState === 'one') return inputRequired({ inputRequests: { sample: inputRequired.createMessage(question), roots: inputRequired.listRoots() }, requestState: 'two' });
      return says(JSON.stringify({ city, inputResponses, requestState }));
    },
  },
  pushes: {
    description: 'Asks the client things while it runs, as servers with sessions do',
    inputSchema: object(),
    call: async (_, { elicitInput, requestSampling, send }) => says(JSON.stringify([await requestSampling(question), await elicitInput(form), await send({ method: 'roots/list' }), await send({ method: 'ping' })])),
  },
  changes: {
    description: 'Says that everything has changed',
    inputSchema: object(),
    call: async (_, { server, legacy }) => {
      if (told && !legacy) {
        told.toolsChanged();
        told.promptsChanged();
        told.resourcesChanged();
        told.resourceUpdated('notes://one');
      } else {
        await server.sendToolListChanged();
        await server.sendPromptListChanged();
        await server.sendResourceListChanged();
        await server.sendResourceUpdated({ uri: 'notes://one' });
      }
      return says('changed');
    },
  },
  custom: {
    description: 'Sends a notification that MCP does not know',
    inputSchema: object(),
    call: async (_, { notify }) => {
      await notify({ method: 'notifications/example.com/custom', params: { x: [1, 'two'] } });
      return says('sent');
    },
  },
};

const RESOURCES = Array.from({ length: 5 }, (_, n) => ({ uri: `notes://${['one', 'two', 'three', 'four', 'five'][n]}`, name: `note ${n + 1}`, title: `Note ${n + 1}`, mimeType: 'text/plain', annotations: { priority: n / 10 } }));
const TEMPLATES = [{ uriTemplate: 'notes://by/{author}', name: 'by', description: 'of an author' }];
const PROMPTS = Array.from({ length: 3 }, (_, n) => ({ name: `prompt_${n + 1}`, title: `Prompt ${n + 1}`, description: 'a prompt', arguments: [{ name: 'city', description: 'where', required: true }] }));

function page(name, all, size, cursor) {
  const from = cursor === undefined ? 0 : Number(/^after-(\d+)$/.exec(cursor)?.[1] ?? NaN);
  if (Number.isNaN(from)) throw new ProtocolError(-32602, `no such cursor: ${cursor}`);
  saw(`a page of ${name}`, cursor ?? null);
  return { [name]: all.slice(from, from + size), ...(from + size < all.length ? { nextCursor: `after-${from + size}` } : {}) };
}

function made({ era }) {
  const legacy = era === 'legacy';
  const server = new Server(
    { name: 'scenarios', version: '1.2.3', title: 'Scenarios' },
    {
      capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true }, completions: {}, logging: {} },
      instructions: 'Add numbers, and read notes.',
    },
  );
  const listed = Object.entries(TOOLS).map(([name, { call, ...definition }]) => ({ name, ...definition }));
  server.setRequestHandler('tools/list', ({ params }) => page('tools', listed, 8, params?.cursor));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    if (params.name === 'hidden') return says('of no list');
    const tool = TOOLS[params.name];
    if (!tool) throw new ProtocolError(-32602, `there is no tool ${params.name}`, { wanted: params.name });
    const { signal, envelope, inputResponses, _meta = params._meta } = mcpReq;
    // What the SDK makes of functions goes by `this`.
    const [notify, send, log, elicitInput, requestSampling] = ['notify', 'send', 'log', 'elicitInput', 'requestSampling'].map((name) => (...args) => mcpReq[name](...args));
    return tool.call(params.arguments ?? {}, { server, legacy, signal, envelope, _meta, inputResponses, requestState: mcpReq.requestState?.(), notify, send, log, elicitInput, requestSampling });
  });
  server.setRequestHandler('resources/list', ({ params }) => page('resources', RESOURCES, 2, params?.cursor));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: TEMPLATES }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    if (uri === 'notes://bytes') return { contents: [{ uri, blob: 'AAEC/w==', mimeType: 'application/octet-stream' }] };
    if (!uri.startsWith('notes://')) throw new ProtocolError(-32602, 'no such note', { uri });
    return { contents: [{ uri, text: `what ${uri} says`, mimeType: 'text/plain', _meta: { 'example.com/n': 1 } }] };
  });
  server.setRequestHandler('resources/subscribe', ({ params }) => {
    saw('subscribe', params.uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    saw('unsubscribe', params.uri);
    return {};
  });
  server.setRequestHandler('prompts/list', ({ params }) => page('prompts', PROMPTS, 2, params?.cursor));
  server.setRequestHandler('prompts/get', ({ params }) => {
    if (!PROMPTS.some(({ name }) => name === params.name)) throw new ProtocolError(-32602, `no such prompt: ${params.name}`);
    return { description: params.name, messages: [{ role: 'user', content: text(`About ${params.arguments?.city}`) }, { role: 'assistant', content: { type: 'image', data: TINY, mimeType: 'image/png' } }] };
  });
  server.setRequestHandler('completion/complete', ({ params: { ref, argument, context } }) => ({
    completion: { values: [`${argument.value}ris`, `${ref.name ?? ref.uri}`, JSON.stringify(context ?? null)], total: 3, hasMore: false },
  }));
  server.setNotificationHandler('notifications/roots/list_changed', () => saw('roots changed', true));
  server.fallbackNotificationHandler = async ({ method, params }) => {
    if (!/initialized|cancelled/.test(method)) saw(method, params);
  };
  return server;
}

/** A server of before 2026-07-28. */
const sessionsOnly = process.env.PEERS_SESSIONS_ONLY === '1';

if (how === '--listen') await listen();
else if (sessionsOnly) await made({ era: 'legacy' }).connect(new StdioServerTransport());
else serveStdio(made);

async function listen() {
  const handler = createMcpHandler(made, { legacy: 'reject' });
  told = handler.notify;
  const sessions = new Map();
  const web = createServer(async (incoming, outgoing) => {
    const parts = [];
    for await (const part of incoming) parts.push(part);
    const body = Buffer.concat(parts).toString('utf8');
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, { method: incoming.method, headers: incoming.headers, signal: gone.signal, ...(body ? { body } : {}) });
    const response = await route(request, body ? JSON.parse(body) : undefined);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    const reader = response.body?.getReader();
    outgoing.on('close', () => reader?.cancel().catch(() => {}));
    for (let part = await reader?.read(); part && !part.done; part = await reader.read()) outgoing.write(part.value);
    outgoing.end();
  });
  async function route(request, parsedBody) {
    const known = sessions.get(request.headers.get('mcp-session-id'));
    if (known) return known.handleRequest(request, { parsedBody });
    if (!sessionsOnly && !(await isLegacyRequest(request, parsedBody))) return handler.fetch(request, { parsedBody });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await made({ era: 'legacy' }).connect(transport);
    return transport.handleRequest(request, { parsedBody });
  }
  web.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${web.address().port}/mcp`));
  for (const stop of ['SIGTERM', 'SIGINT']) process.on(stop, () => process.exit(0));
}
