// The official TypeScript SDK, out of the folder that the packages were installed into.
//
// Its client validates: lists by its types, structured results by the output schemas that were listed.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { command } from './gateway.mjs';

export const MODULES = join(process.env.CROSSFEED_PEERS_CACHE, 'node', 'node_modules');
const require = createRequire(join(MODULES, 'x.js'));
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const later = require('@modelcontextprotocol/client');
const laterStdio = require('@modelcontextprotocol/client/stdio');
export const types = require('@modelcontextprotocol/sdk/types.js');

/** A server from the registry, as `mcpServers` has it. */
export function packaged(name, args = [], more = {}) {
  return {
    command: process.execPath,
    args: [join(MODULES, '@modelcontextprotocol', name, 'dist', 'index.js'), ...args],
    ...more,
  };
}

const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } };

/** The most that a client takes in one message over standard input and output: the default of the SDK is 10 MiB. */
const LONGEST = 256 << 20;

/** A client over standard input and output, of the gateway or of the first server itself. */
export async function stdio(servers, { prepare, ...how } = {}) {
  const client = made(how);
  prepare?.(client);
  const { StdioClientTransport: Transport } = how.stateless ? laterStdio : { StdioClientTransport };
  const transport = new Transport({ ...command(servers, how), stderr: process.env.PEERS_STDERR ?? 'ignore', maxBufferSize: LONGEST });
  await client.connect(transport);
  return client;
}

/** A client over HTTP. */
export async function http(url, { prepare, headers, ...how } = {}) {
  const client = made(how);
  prepare?.(client);
  const { StreamableHTTPClientTransport: Transport } = how.stateless ? later : { StreamableHTTPClientTransport };
  const transport = new Transport(url, headers ? { requestInit: { headers } } : undefined);
  await client.connect(transport);
  const close = client.close.bind(client);
  client.close = async () => {
    await transport.terminateSession().catch(() => {});
    await close();
  };
  return client;
}

/** A client: of the SDK for revisions with sessions, or `stateless` of the later one, which speaks 2026-07-28 only. */
function made({ capabilities = CAPABILITIES, name = 'peers', version = '1.0.0', stateless = false }) {
  if (!stateless) return new Client({ name, version }, { capabilities });
  return new later.Client({ name, version }, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
}
