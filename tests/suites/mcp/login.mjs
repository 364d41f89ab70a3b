// A user of the gateway, for the suite's scenarios of authorization: `login.mjs --gateway PROGRAM --folder FOLDER URL`.
//
// Starts a gateway over the URL and speaks to it over standard input. Does what it says where it wants a login, and then asks
// again, the same gateway. What came of it is written to `FOLDER/SCENARIO/outcome`; status 1 where the tool is not called.

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

/** How often a person logs in before they give up. */
const LOGINS = 3;
/** Scenarios run side by side, many at once. */
const READ_TIMEOUT_MS = 60_000;
const NAME = 'scenario';

const { values: options, positionals } = parseArgs({
  options: { gateway: { type: 'string' }, folder: { type: 'string' } },
  allowPositionals: true,
});
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
// The suite `draft` holds others, too.
if (!scenario.startsWith('auth/')) process.exit(0);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

const folder = join(options.folder, scenario);

/** What stands in the configuration from the start: who the gateway is, where that is known before. */
const oauth = { directory: join(folder, 'tokens') };
if (context.client_id) oauth.clientId = context.client_id;
if (context.client_secret) oauth.clientSecret = context.client_secret;
if (context.issuer) oauth.issuer = context.issuer;
if (scenario === 'auth/client-credentials-basic') oauth.grant = 'client_credentials';
if (scenario === 'auth/basic-cimd') oauth.clientId = 'https://conformance-test.local/client-metadata.json';

const file = join(folder, 'gateway.json');
const configure = () => {
  const servers = { [NAME]: { url: positionals.at(-1), oauth } };
  writeFileSync(file, JSON.stringify({ mcpServers: servers }, null, 2));
};

mkdirSync(folder, { recursive: true });
configure();
const gateway = start();
let outcome = 'there is no tool';
try {
  const clientInfo = { name: 'crossfeed-conformance', version: '1.0.0' };
  await allowed('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  gateway.send({ method: 'notifications/initialized' });
  const { tools } = await allowed('tools/list');
  for (const { name } of tools.filter((tool) => tool.name === 'test-tool')) {
    const { isError, content } = await allowed('tools/call', { name, arguments: {} });
    if (isError || content?.[0]?.text !== 'test') throw new Error(`the tool says ${JSON.stringify(content)}`);
    outcome = 'called';
  }
} catch (problem) {
  outcome = problem.message;
} finally {
  await gateway.stop();
}
writeFileSync(join(folder, 'outcome'), outcome);
console.log(outcome);
process.exitCode = outcome === 'called' ? 0 : 1;

/** The result of a request, after as many logins as it takes. */
async function allowed(method, params = {}) {
  for (let logins = 0; ; logins++) {
    const { result, error } = await gateway.request(method, params);
    const refusal = error?.message ?? (result.isError ? JSON.stringify(result.content) : '');
    if (!refusal.includes(`crossfeed gateway --login ${NAME}`)) {
      if (error) throw new Error(`${method}: ${error.message}`);
      return result;
    }
    console.log(`${method}: ${refusal}`);
    if (logins === LOGINS) throw new Error(`${method}: it still wants a login`);
    await login();
  }
}

/** Logs in; where the server went over to another authorization server, the person says that it is right. */
async function login() {
  let said = await loginOnce();
  const moved = /the server names `([^`]+)`.* make it the `issuer`/.exec(said ?? '');
  if (moved) {
    console.log(said);
    oauth.issuer = moved[1];
    configure();
    said = await loginOnce();
  }
  if (said !== undefined) throw new Error(said);
}

/** Opens the address as a browser does: the authorization server sends back at once. What was said where it fails. */
function loginOnce() {
  const child = spawn(options.gateway, ['gateway', '--config', file, '--login', NAME], { stdio: ['ignore', 'ignore', 'pipe'] });
  const late = setTimeout(() => child.kill('SIGKILL'), READ_TIMEOUT_MS);
  const problems = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    const address = /^ {2}(https?:\/\/\S+)$/.exec(line)?.[1];
    if (address) fetch(address).then((page) => page.text()).catch((problem) => problems.push(`the browser: ${problem}`));
    if (line.startsWith('error[')) problems.push(line);
  });
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(late);
      resolve(code === 0 ? undefined : problems.join('; ') || `the login ended with ${code}`);
    });
  });
}

function start() {
  const child = spawn(options.gateway, ['gateway', '--config', file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  // One that ended reads no more, which is said by its end.
  child.stdin.on('error', () => {});
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return {
    send,
    request: (method, params) =>
      new Promise((resolve, reject) => {
        const id = waiting.size + 1;
        const late = setTimeout(() => reject(new Error(`${method}: no answer`)), READ_TIMEOUT_MS);
        ended.then(() => {
          clearTimeout(late);
          reject(new Error(`${method}: the gateway ended`));
        });
        waiting.set(id, (message) => (clearTimeout(late), resolve(message)));
        send({ id, method, params });
      }),
    stop: async () => {
      child.stdin.end();
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(late);
    },
  };
}
