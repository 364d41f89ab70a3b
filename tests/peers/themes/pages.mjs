// What the README and the guide show of programs of others: blocks of `console peers` print what stands under their commands, and
// what a client is given starts a server that accepts references. `CROSSFEED_BLESS=1` writes what is printed into the pages.

import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assert } from '../lib/checks.mjs';
import { BINARY, scratch } from '../lib/gateway.mjs';
import { MODULES, stdio } from '../lib/sdk.mjs';

const repository = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const EXAMPLES = 'crates/crossfeed-gateway/examples';
const BLOCK = /^```([^\n]*)\n([^]*?)^```$/gm;

/** A folder in which packages are found as if npm had installed them, with the examples and the programs of a reader. */
function folder() {
  const path = scratch('page');
  symlinkSync(MODULES, join(path, 'node_modules'));
  for (const name of ['chain.mjs', 'sum.py']) copyFileSync(repository(join(EXAMPLES, name)), join(path, name));
  mkdirSync(join(path, 'bin'));
  symlinkSync(BINARY, join(path, 'bin', 'crossfeed'));
  // A client that prints what it is given, one argument a line.
  writeFileSync(join(path, 'bin', 'claude'), '#!/bin/sh\nprintf "%s\\n" "$@"\n');
  chmodSync(join(path, 'bin', 'claude'), 0o755);
  return path;
}

function environment(path) {
  const python = join(process.env.CROSSFEED_PEERS_CACHE, 'python', 'bin');
  const PATH = [join(path, 'bin'), dirname(process.execPath), python, process.env.PATH].join(delimiter);
  return { ...process.env, PATH };
}

/** What a command prints; how long the gateway has waited for a server goes to standard error. */
async function run(path, command) {
  const options = { cwd: path, env: environment(path), maxBuffer: 1 << 26 };
  const { stdout } = await promisify(execFile)('sh', ['-c', command], options);
  return stdout.replaceAll(path, '~');
}

/** The block with what its commands print now. */
async function printed(path, block) {
  let written = '';
  for (const [, command] of block.matchAll(/^\$ (.*)$/gm)) written += `$ ${command}\n${await run(path, command)}`;
  return written;
}

/** What a client is given: the entries of `mcpServers`, and the commands after `claude mcp add NAME --`. */
async function entries(path, kind, block) {
  if (kind === 'json') return Object.values(JSON.parse(block).mcpServers ?? {});
  if (kind !== 'sh') return [];
  const found = [];
  for (const line of block.split('\n').filter((line) => line.startsWith('claude mcp add '))) {
    const words = (await run(path, line)).trim().replaceAll('~', path).split('\n');
    const [command, ...args] = words.slice(words.indexOf('--') + 1);
    found.push({ command, args });
  }
  return found;
}

export default async function pages(t) {
  if (t.direct) return;
  const docs = readdirSync(repository('docs')).filter((name) => name.endsWith('.md'));
  for (const page of ['README.md', ...docs.map((name) => `docs/${name}`)]) {
    const file = repository(page);
    const text = readFileSync(file, 'utf8');
    const path = folder();
    let written = '';
    let end = 0;
    for (const { 0: all, 1: kind, 2: block, index } of text.matchAll(BLOCK)) {
      if (kind === 'console peers') {
        const [first] = block.split('\n');
        await t.check(`${page}: ${first.slice(2)}`, async () => {
          const now = await printed(path, block);
          written += `${text.slice(end, index)}\`\`\`${kind}\n${now}\`\`\``;
          end = index + all.length;
          if (!process.env.CROSSFEED_BLESS) assert.equal(block, now);
        });
      }
      for (const { command, args } of await entries(path, kind, block)) {
        const server = { command: command === 'crossfeed' ? BINARY : command, args, cwd: path, env: { PATH: environment(path).PATH } };
        await t.using(`${page}: a client of ${command}`, () => stdio({ server }, { direct: true }), (client) =>
          t.check(`${page}: ${command} ${args.slice(0, 2).join(' ')} … accepts references`, async () => {
            const { tools } = await client.listTools();
            const { inputSchema } = tools.find(({ name }) => name === 'read_text_file');
            assert.ok(inputSchema.properties._refs, JSON.stringify(inputSchema));
          }),
        );
      }
    }
    if (process.env.CROSSFEED_BLESS) writeFileSync(file, written + text.slice(end));
  }
}
