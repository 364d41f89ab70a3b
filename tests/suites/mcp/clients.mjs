// The suite's client scenarios, with a real client straight at the scenario's server, and with the gateway between them.

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare, passes, playClients } from './suites.mjs';

const client = join(dirname(fileURLToPath(import.meta.url)), 'client.mjs');

/** Those of `auth/*` are not here: they want a user at a browser (`logins.mjs`). */
const revisions = {
  '2025-11-25': ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry', 'json-schema-2020-12-preservation'],
  '2026-07-28': [
    'tools_call', 'request-metadata', 'sep-2322-client-request-state', 'http-standard-headers', 'http-custom-headers',
    'http-invalid-tool-headers', 'json-schema-ref-no-deref', 'json-schema-2020-12-preservation',
  ],
};

export async function clients({ cache, gateway, work, known }) {
  const rows = [];
  let failed = false;
  for (const [revision, scenarios] of Object.entries(revisions)) {
    for (const scenario of scenarios) {
      const run = (through) => runScenario({ cache, gateway, work, revision, scenario, through });
      const [direct, through] = [await run(false), await run(true)];
      const suite = { name: `client, ${revision}` };
      const unlike = compare(direct, through, suite, scenario, known);
      const open = unlike.filter((one) => !one.known);
      const good = (result) => (result.checks.length > 0 && passes(result.checks) ? 'passes' : 'fails');
      failed ||= open.length > 0 || through.checks.length === 0;
      const why = unlike.map((one) => `${one.check}: ${one.was} is ${one.is}${one.known ? ` (expected: ${one.known})` : ''}: ${one.why ?? ''}`);
      rows.push(`| ${revision} | ${scenario} | ${good(direct)} | ${good(through)} | ${why.join('; ').replaceAll('|', '\\|').replaceAll('\n', ' ').slice(0, 400)} |`);
      console.error(`client, ${revision}, ${scenario}: ${good(direct)} directly, ${good(through)} through the gateway`);
    }
  }
  return { failed, text: ['| Revision | Scenario | Direct | Through | Checks unlike |', '|---|---|---|---|---|', ...rows].join('\n') };
}

async function runScenario({ cache, gateway, work, revision, scenario, through }) {
  const folder = join(work, `client, ${revision}, ${scenario.replaceAll('/', '-')}, ${through ? 'through' : 'direct'}`);
  const sdk = join(cache, '0.2/node_modules/@modelcontextprotocol/sdk');
  const words = [process.execPath, client, '--sdk', sdk, ...(through ? ['--gateway', gateway, '--folder', folder] : [])];
  const args = ['--scenario', scenario, '--spec-version', revision];
  const scenarios = await playClients({ cache, version: '0.2', words, args, folder });
  return { scenarios: new Map([...scenarios].map(([, checks]) => [scenario, checks])), checks: [...scenarios.values()].flat() };
}
