// A client for the suite's client scenarios: `client.mjs --sdk FOLDER [--gateway PROGRAM --folder FOLDER] URL`.
//
// With `--gateway` it speaks to a gateway that it starts over the URL. The scenarios of the session revisions are played by the
// TypeScript SDK, those of the stateless one, which it does not speak, by hand.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { startGateway } from './processes.mjs';

const { values: options, positionals } = parseArgs({
  options: { sdk: { type: 'string' }, gateway: { type: 'string' }, folder: { type: 'string' } },
  allowPositionals: true,
});
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const target = positionals.at(-1);

let gateway;
try {
  let url = target;
  if (options.gateway) {
    gateway = await startGateway(options.gateway, { mcpServers: { scenario: { url: target } }, eras: 'all' }, options.folder);
    url = gateway.url;
  }
  await (revision === '2026-07-28' ? stateless(url) : session(url));
} finally {
  await gateway?.stop();
}

async function session(url) {
  const load = (file) => import(pathToFileURL(join(options.sdk, 'dist/esm', file)));
  const { Client } = await load('client/index.js');
  const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');
  const { ElicitRequestSchema } = await load('types.js');
  const client = new Client(
    { name: 'crossfeed-conformance', version: '1.0.0' },
    { capabilities: { elicitation: { form: { applyDefaults: true } } } },
  );
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: {} }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  for (const { name, arguments: args } of calls(tools)) await client.callTool({ name, arguments: args });
  await client.close();
}

/** Which of the tools a scenario wants called. */
function calls(tools) {
  const has = (name) => tools.some((tool) => tool.name === name);
  if (scenario === 'tools_call') return [{ name: 'add_numbers', arguments: { a: 5, b: 3 } }];
  if (scenario === 'elicitation-sep1034-client-defaults') return [{ name: 'test_client_elicitation_defaults', arguments: {} }];
  if (scenario === 'sse-retry') return [{ name: 'test_reconnection', arguments: {} }];
  if (scenario === 'http-custom-headers') return context.toolCalls ?? [];
  if (scenario === 'http-standard-headers') return [{ name: 'test_headers', arguments: {} }];
  if (scenario === 'http-invalid-tool-headers') return [{ name: 'valid_tool', arguments: { region: 'us-west1' } }];
  if (scenario === 'json-schema-2020-12-preservation') {
    const schema = tools.find((tool) => tool.name === 'json_schema_2020_12_tool')?.inputSchema;
    return [{ name: 'json_schema_echo', arguments: { schema } }];
  }
  if (scenario === 'sep-2322-client-request-state') {
    const names = ['test_mrtr_echo_state', 'test_mrtr_unrelated', 'test_mrtr_no_state', 'test_mrtr_no_result_type'];
    return names.filter(has).map((name) => ({ name, arguments: {} }));
  }
  return [];
}

async function stateless(url) {
  let next = 1;
  let version = revision;
  const meta = () => ({
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'crossfeed-conformance', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {}, roots: {} },
  });
  const request = async (method, params = {}, headers = {}) => {
    const id = next++;
    const name = params.name ?? params.uri;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': version,
        'Mcp-Method': method,
        ...(name === undefined ? {} : { 'Mcp-Name': encode(name) }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta() } }),
    });
    const text = await response.text();
    const messages = response.headers.get('content-type')?.includes('text/event-stream')
      ? text.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).filter(Boolean)
      : [text];
    const answer = messages.map((message) => JSON.parse(message)).find((message) => message.id === id);
    if (answer?.error?.code === -32022 && answer.error.data?.supported?.includes(revision) && version !== 'tried') {
      version = revision;
      return request(method, params, headers);
    }
    return answer;
  };
  await request('server/discover');
  const { tools = [] } = (await request('tools/list'))?.result ?? {};
  for (const { name, arguments: args } of calls(tools)) {
    const tool = tools.find((one) => one.name === name);
    let more = {};
    for (let round = 0; round < 5; round++) {
      const answer = await request('tools/call', { name, arguments: args, ...more }, headersOf(tool, args));
      if (answer?.result?.resultType !== 'input_required') break;
      const { inputRequests = {}, requestState } = answer.result;
      const accept = { action: 'accept', content: { confirmed: true } };
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accept]));
      more = { inputResponses, ...(requestState === undefined ? {} : { requestState }) };
    }
  }
  if (scenario === 'http-standard-headers') {
    const { resources = [] } = (await request('resources/list'))?.result ?? {};
    if (resources.length > 0) await request('resources/read', { uri: resources[0].uri });
    const { prompts = [] } = (await request('prompts/list'))?.result ?? {};
    if (prompts.length > 0) await request('prompts/get', { name: prompts[0].name });
  }
}

/** The headers that repeat arguments. */
function headersOf(tool, args) {
  const headers = {};
  for (const [property, schema] of Object.entries(tool?.inputSchema?.properties ?? {})) {
    const name = schema['x-mcp-header'];
    const value = args[property];
    if (name === undefined || value === undefined || value === null) continue;
    headers[`Mcp-Param-${name}`] = encode(String(value));
  }
  return headers;
}

/** A value as a header carries it: as it is where that is safe. */
function encode(value) {
  const safe = /^[\x20-\x7e]*$/.test(value) && value === value.trim() && !(value.startsWith('=?base64?') && value.endsWith('?='));
  return safe ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
