// Several replicas of the gateway over one Redis, behind a balancer, as if they were one gateway.
//
// The balancer gives each request to the next replica, whatever connection or session it came with, and passes answers on as
// they come. It sends nothing twice: where a replica breaks off, the client's connection breaks off, too.

import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { connect, createServer as createPort } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway } from './processes.mjs';

const READ_TIMEOUT_MS = 20_000;
const REVISION = '2026-07-28';
const REDIS = process.env.CROSSFEED_REDIS_SERVER ?? 'redis-server';
/** Headers of one connection, which are not passed on. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade']);

/** Why there can be no replicas here; undefined where there can. */
export function missing(gateway, folder) {
  if (spawnSync(REDIS, ['--version']).status !== 0) return `${REDIS} is not installed`;
  const file = join(folder, 'no-store.json');
  // No server listens there: a gateway that knows Redis says that.
  const config = { mcpServers: { none: { command: 'true' } }, store: { url: 'redis://127.0.0.1:1' } };
  writeFileSync(file, JSON.stringify(config));
  const { stderr } = spawnSync(gateway, ['gateway', '--config', file], { input: '', encoding: 'utf8' });
  return /this build has no store on Redis/.exec(stderr ?? '') ? `${gateway} is built without the feature \`redis\`` : undefined;
}

async function freePort() {
  const server = createPort().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function startRedis(folder) {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', dir: folder, save: '', logfile: join(folder, 'redis.log') };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(REDIS, args, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  const end = Date.now() + READ_TIMEOUT_MS;
  while (!(await listens(port))) {
    if (child.exitCode !== null || Date.now() > end) {
      await stop();
      throw new Error(`${REDIS} does not listen`);
    }
    await sleep(20);
  }
  return { url: `redis://127.0.0.1:${port}`, stop };
}

function listens(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const say = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => say(true));
    socket.once('error', () => say(false));
  });
}

/** A balancer in front of the replicas at these ports; `taken` counts the requests of each. */
async function startBalancer(ports) {
  const taken = ports.map(() => 0);
  // One connection for each request.
  const agent = new Agent({ keepAlive: false });
  let turn = 0;
  const server = createServer((asked, answer) => {
    const at = turn++ % ports.length;
    taken[at] += 1;
    const { method, url } = asked;
    const passed = request({ agent, host: '127.0.0.1', port: ports[at], method, path: url, headers: passedOn(asked.rawHeaders) });
    const breakOff = () => {
      passed.destroy();
      answer.destroy();
    };
    passed.once('response', (given) => {
      answer.writeHead(given.statusCode, given.statusMessage, passedOn(given.rawHeaders));
      answer.flushHeaders();
      given.once('error', breakOff);
      given.pipe(answer);
    });
    passed.once('error', breakOff);
    // The client has gone, and waits for nothing more.
    answer.once('close', () => passed.destroy());
    asked.once('error', breakOff);
    asked.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return { port: server.address().port, taken, stop };
}

function passedOn(raw) {
  const passed = [];
  for (let at = 0; at < raw.length; at += 2) {
    if (!OF_CONNECTION.has(raw[at].toLowerCase())) passed.push(raw[at], raw[at + 1]);
  }
  return passed;
}

/** Has a replica list its tools: the first list takes longer than the half second that the suites wait for some answers. */
async function list(port) {
  const method = 'tools/list';
  const _meta = { 'io.modelcontextprotocol/protocolVersion': REVISION, 'io.modelcontextprotocol/clientCapabilities': {} };
  const headers = {
    Accept: 'application/json, text/event-stream',
    'Content-Type': 'application/json',
    'MCP-Protocol-Version': REVISION,
    'Mcp-Method': method,
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta } });
  const { status } = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body });
  if (status !== 200) throw new Error(`a replica answers ${status} to ${method}`);
}

/** So many replicas over one configuration. */
export async function startReplicas(gateway, count, config, folder) {
  mkdirSync(folder, { recursive: true });
  const started = [];
  const stop = async () => {
    for (const one of started.splice(0).reverse()) await one.stop();
  };
  try {
    const redis = await startRedis(folder);
    started.push(redis);
    const ports = [];
    for (let number = 1; number <= count; number += 1) ports.push(await freePort());
    const balancer = await startBalancer(ports);
    started.push(balancer);
    // Pages of the address that clients see, which is the balancer's.
    const origins = ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${balancer.port}`);
    const idKeys = `suites ${randomBytes(32).toString('base64')}`;
    for (const [at, port] of ports.entries()) {
      const listen = { advertise: `http://127.0.0.1:${port}`, origins };
      // At the end there is nothing that others would have to take up.
      const own = { ...config, store: { url: redis.url }, idKeys, listen, limits: { drain: '1 ms' } };
      started.push(await startGateway(gateway, own, folder, { name: `replica-${at + 1}`, port }));
    }
    await Promise.all(ports.map(list));
    return { url: `http://127.0.0.1:${balancer.port}/mcp`, taken: balancer.taken, stop };
  } catch (problem) {
    await stop();
    throw problem;
  }
}
