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

/** A client over standard input and output, of the gateway or of the first server itself. */
export async function stdio(servers, { capabilities = CAPABILITIES, name = 'peers', prepare, ...how } = {}) {
  const client = new Client({ name, version: '1.0.0' }, { capabilities });
  prepare?.(client);
  const transport = new StdioClientTransport({ ...command(servers, how), stderr: process.env.PEERS_STDERR ?? 'ignore' });
  await client.connect(transport);
  return client;
}

/** A client over HTTP. */
export async function http(url, { capabilities = CAPABILITIES, name = 'peers', prepare, headers } = {}) {
  const client = new Client({ name, version: '1.0.0' }, { capabilities });
  prepare?.(client);
  const transport = new StreamableHTTPClientTransport(url, headers ? { requestInit: { headers } } : undefined);
  await client.connect(transport);
  const close = client.close.bind(client);
  client.close = async () => {
    await transport.terminateSession().catch(() => {});
    await close();
  };
  return client;
}
