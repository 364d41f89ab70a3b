// A real server, asked the same things straight and through the gateway: what is not about tools has to come back byte for
// byte, and of a tool result everything but what the gateway is there to change.

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const READ_TIMEOUT_MS = 20_000;

export async function differences({ cache, gateway, fixture, work }) {
  const everything = join(cache, 'servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js');
  const servers = [
    { name: 'server-everything', command: [process.execPath, everything, 'stdio'], calls: everythingCalls },
    { name: 'fixture', command: [fixture, '--stdio'], calls: fixtureCalls },
  ];
  const rows = [];
  let failed = false;
  for (const { name, command, calls } of servers) {
    const folder = join(work, `differences, ${name}`);
    mkdirSync(folder, { recursive: true });
    const [direct, through] = [await ask(command, calls), await ask([gateway, 'gateway', '--', ...command], calls)];
    writeFileSync(join(folder, 'direct.jsonl'), direct.all.join('\n'));
    writeFileSync(join(folder, 'through.jsonl'), through.all.join('\n'));
    for (const [at, call] of [...common, ...calls].entries()) {
      const verdict = same(call, direct.answers.get(at + 1), through.answers.get(at + 1));
      failed ||= verdict !== 'same';
      rows.push(`| ${name} | ${call.method}${call.params?.name ? ` ${call.params.name}` : ''} | ${verdict.replaceAll('|', '\\|').slice(0, 300)} |`);
    }
    const asked = (run) => run.asked.sort().join(', ');
    const alike = asked(direct) === asked(through);
    failed ||= !alike;
    rows.push(`| ${name} | what the server asks the client | ${alike ? 'same' : `${asked(direct)} is ${asked(through)}`} |`);
  }
  return { failed, text: ['| Server | Request | Through the gateway |', '|---|---|---|', ...rows].join('\n') };
}

const info = { name: 'crossfeed-differences', version: '1.0.0' };
const common = [
  { method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: { sampling: {}, elicitation: {}, roots: {} }, clientInfo: info } },
  { method: 'ping' },
  { method: 'resources/list' },
  { method: 'resources/templates/list' },
  { method: 'prompts/list' },
  { method: 'logging/setLevel', params: { level: 'error' } },
  { method: 'tools/list' },
  { method: 'no/such', params: { kept: [1.50, { a: null }] } },
  { method: 'prompts/get', params: { name: 'no-such-prompt' } },
  { method: 'resources/read', params: { uri: 'no-such:resource' } },
  { method: 'tools/call', params: { name: 'no-such-tool', arguments: {} } },
];
const tool = (name, args = {}, meta) => ({ method: 'tools/call', params: { name, arguments: args, ...(meta ? { _meta: meta } : {}) } });
const everythingCalls = [
  { method: 'prompts/get', params: { name: 'simple-prompt' } },
  { method: 'prompts/get', params: { name: 'args-prompt', arguments: { city: 'Paris', state: 'Texas' } } },
  { method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'S' } } },
  { method: 'resources/read', params: { uri: 'demo://resource/static/document/features.md' } },
  tool('echo', { message: 'one' }),
  tool('get-sum', { a: 1.5, b: 2 }),
  tool('get-tiny-image'),
  tool('get-annotated-message', { messageType: 'error', includeImage: true }),
  tool('get-structured-content', { location: 'Chicago' }),
  tool('get-resource-links', { count: 3 }),
  tool('get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
  tool('echo', { wrong: true }),
  tool('trigger-long-running-operation', { duration: 0.4, steps: 2 }, { progressToken: 'p-1' }),
  tool('trigger-elicitation-request'),
  tool('trigger-sampling-request', { prompt: 'x', maxTokens: 5 }),
];
const fixtureCalls = [
  { method: 'prompts/get', params: { name: 'test_simple_prompt' } },
  { method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'p' } } },
  { method: 'resources/read', params: { uri: 'test://static-binary' } },
  tool('precise'),
  tool('fail', { message: 'no', code: -32077, data: { digits: 1 } }),
  tool('fail', { message: 'no' }),
  tool('test_multiple_content_types'),
  tool('records', { bytes: 3000 }),
  tool('test_tool_with_progress', {}, { progressToken: 17 }),
  tool('test_elicitation', { message: 'who' }),
  tool('test_sampling', { prompt: 'x' }),
  tool('test_list_roots'),
  tool('for_a_page'),
];

/** Asks everything, one after the other, and keeps what comes. */
function ask([command, ...args], calls) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const result = { answers: new Map(), all: [], asked: [] };
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  let waiting = () => {};
  let rest = '';
  child.stdout.on('data', (bytes) => {
    rest += bytes;
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines) {
      result.all.push(line);
      let message;
      try {
        message = JSON.parse(line);
      } catch {
        continue;
      }
      if (message.method === undefined) {
        result.answers.set(message.id, line);
        waiting(message.id);
      } else if (message.id !== undefined) {
        result.asked.push(`${message.method} ${JSON.stringify(message.params ?? {})}`);
        send({ id: message.id, result: answerTo(message.method) });
      } else if (message.method === 'notifications/progress') {
        result.asked.push(`${message.method} ${JSON.stringify(message.params)}`);
      }
    }
  });
  return (async () => {
    try {
      for (const [at, call] of [...common, ...calls].entries()) {
        const answered = new Promise((resolve) => {
          const timer = setTimeout(resolve, READ_TIMEOUT_MS);
          waiting = (id) => id === at + 1 && (clearTimeout(timer), resolve());
        });
        send({ id: at + 1, ...call });
        await answered;
        if (call.method === 'initialize') send({ method: 'notifications/initialized' });
      }
    } finally {
      child.stdin.end();
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await new Promise((resolve) => child.once('exit', resolve));
      clearTimeout(late);
    }
    return result;
  })();
}

function answerTo(method) {
  if (method === 'roots/list') return { roots: [{ uri: 'file:///tmp', name: 'tmp' }] };
  if (method === 'elicitation/create') return { action: 'decline' };
  if (method === 'sampling/createMessage') return { role: 'assistant', model: 'none', content: { type: 'text', text: 'said' } };
  return {};
}

/** Whether two answers are the same, but for what the gateway changes on purpose. */
function same(call, direct, through) {
  if (direct === undefined || through === undefined) return `${direct ?? 'no answer'} is ${through ?? 'no answer'}`;
  if (direct === through) return 'same';
  const [was, is] = [JSON.parse(untimed(direct)), JSON.parse(untimed(through))];
  // That no tool has this name the gateway knows by itself, and says it as the protocol wants it said.
  if (call.params?.name === 'no-such-tool') return is.error?.code === -32602 ? 'same' : `${direct} is ${through}`;
  if (was.error || is.error || was.result?.isError) return `${direct} is ${through}`;
  if (call.method === 'initialize') {
    // Guidance is added, tools are listed where there were none.
    delete was.result.instructions;
    delete is.result.instructions;
    was.result.capabilities.tools ??= {};
    is.result.capabilities.tools ??= {};
    return equal(was.result, is.result) ? 'same' : `${direct} is ${through}`;
  }
  if (call.method === 'tools/list') {
    for (const { name, title, annotations, _meta, execution, icons } of was.result.tools) {
      const other = is.result.tools.find((one) => one.name === name);
      if (!other) return `${name} is not listed`;
      const kept = (one) => [one.title, one.annotations, one._meta, one.execution, one.icons];
      if (!equal([title, annotations, _meta, execution, icons], kept(other))) return `${name} is listed otherwise: ${JSON.stringify(other)}`;
    }
    return 'same';
  }
  if (call.method !== 'tools/call') return `${direct} is ${through}`;
  const plain = (content) => content.filter((item) => item.type !== 'text');
  const rest = ({ content, structuredContent, _meta, ...others }) => others;
  if (!equal(rest(was.result), rest(is.result))) return `members of the result differ: ${through}`;
  if (!equal(plain(was.result.content), plain(is.result.content))) return `content differs: ${through}`;
  return 'same';
}

/** An answer without the time of day, which two runs do not share. */
function untimed(text) {
  return text.replace(/\d{1,2}:\d\d:\d\d [AP]M/g, 'then');
}

/** Also the order of members. */
function equal(left, right) {
  return JSON.stringify(left) === JSON.stringify(right);
}
