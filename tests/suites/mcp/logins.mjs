// The suites' scenarios of authorization: the gateway as the client of OAuth, with a user who does what it says (`login.mjs`).

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { playClients } from './suites.mjs';

const user = join(dirname(fileURLToPath(import.meta.url)), 'login.mjs');

/** `scenarios`: how many there are, so that one that does not run is noticed. Those of a suite run side by side. */
const suites = [
  { name: '0.1.16, auth', package: '0.1', args: ['--suite', 'auth'], scenarios: 14 },
  { name: '0.1.16, draft', package: '0.1', args: ['--suite', 'draft'], scenarios: 3 },
  { name: '0.1.16, backcompat', package: '0.1', args: ['--suite', 'backcompat'], scenarios: 2 },
  { name: '0.1.16, extensions', package: '0.1', args: ['--suite', 'extensions'], scenarios: 3 },
  { name: '0.2, 2025-11-25', package: '0.2', args: ['--suite', 'auth', '--spec-version', '2025-11-25'], scenarios: 14 },
  { name: '0.2, 2026-07-28', package: '0.2', args: ['--suite', 'auth', '--spec-version', '2026-07-28'], scenarios: 14 },
  { name: '0.2, draft', package: '0.2', args: ['--suite', 'draft', '--spec-version', '2026-07-28'], scenarios: 11 },
  { name: '0.2, backcompat', package: '0.2', args: ['--suite', 'backcompat'], scenarios: 2 },
  { name: '0.2, extensions', package: '0.2', args: ['--suite', 'extensions'], scenarios: 6 },
];

/** Where nobody may be logged in, or a login never helps: the tool is not called in the end. In all others it is. */
const refused = new Set(
  ['resource-mismatch', 'iss-supported-missing', 'iss-wrong-issuer', 'iss-unexpected', 'iss-normalized', 'metadata-issuer-mismatch', 'scope-retry-limit'].map(
    (name) => `auth/${name}`,
  ),
);

export async function logins({ cache, gateway, work, known }) {
  const rows = [];
  let failed = false;
  for (const suite of suites) {
    const folder = join(work, `login, ${suite.name}`);
    const scenarios = await runLogins(suite, folder, cache, gateway);
    let good = 0;
    for (const [scenario, checks] of [...scenarios].sort()) {
      const file = join(folder, scenario, 'outcome');
      const outcome = existsSync(file) ? readFileSync(file, 'utf8') : 'the user did not come to an end';
      const bad = [...checks, end(scenario, outcome)]
        .filter((check) => check.status === 'FAILURE' || check.status === 'WARNING')
        .map((check) => ({ ...check, known: known.take(`login, ${suite.name}`, scenario, check.id) }));
      failed ||= bad.some((check) => !check.known);
      good += bad.length === 0;
      const why = new Set(bad.map((check) => (check.known ? `expected: ${check.known}` : `${check.id}: ${check.errorMessage ?? check.description}`)));
      rows.push(`| ${suite.name} | ${scenario} | ${bad.length === 0 ? 'passes' : 'fails'} | ${cell(outcome, 160)} | ${cell([...why].join('; '), 500)} |`);
    }
    if (scenarios.size !== suite.scenarios) {
      failed = true;
      rows.push(`| ${suite.name} | | ${scenarios.size} of ${suite.scenarios} scenarios ran | | |`);
    }
    console.error(`login, ${suite.name}: ${good} of ${suite.scenarios} scenarios pass`);
  }
  return { failed, text: ['| Suite | Scenario | Verdict | The tool in the end | Checks that fail |', '|---|---|---|---|---|', ...rows].join('\n') };
}

async function runLogins(suite, folder, cache, gateway) {
  const words = [process.execPath, user, '--gateway', gateway, '--folder', folder];
  const args = [...suite.args, '--timeout', '120000'];
  const scenarios = await playClients({ cache, version: suite.package, words, args, folder });
  return new Map([...scenarios].filter(([scenario]) => scenario.startsWith('auth/')));
}

/** Whether it ended as it should, as a check. */
function end(scenario, outcome) {
  const is = refused.has(scenario) ? outcome !== 'called' : outcome === 'called';
  return { id: 'outcome', status: is ? 'SUCCESS' : 'FAILURE', description: refused.has(scenario) ? 'the tool is called, and should not be' : 'the tool is not called' };
}

/** On one line, and without the ports of this run. */
function cell(text, length) {
  return text.replace(/(localhost|127\.0\.0\.1):\d+/g, '$1').replaceAll('|', '\\|').replaceAll('\n', ' ').slice(0, length);
}
