// Runs the themes, one after the other, and writes down what was seen.
//
// What comes in: names of themes, and options (`./run --help`). What goes out: a line for each check, a
// table if it is asked for, and whether all of it was true.

import { writeFileSync } from 'node:fs';
import { Report } from './lib/checks.mjs';

const THEMES = ['everything', 'filesystem', 'edits', 'chains', 'scripts', 'same', 'mistakes', 'faults', 'clients', 'http', 'inspector', 'python', 'rmcp', 'suites', 'pages', 'soak'];

const options = { only: [], themes: [], direct: false, quick: false, table: undefined };
const args = process.argv.slice(2);
while (args.length > 0) {
  const arg = args.shift();
  if (arg === '--only') options.only.push(args.shift());
  else if (arg === '--direct') options.direct = true;
  else if (arg === '--quick') options.quick = true;
  else if (arg === '--table') options.table = args.shift();
  else if (THEMES.includes(arg)) options.themes.push(arg);
  else {
    console.error(`${arg} is not a theme: ${THEMES.join(', ')}`);
    process.exit(2);
  }
}

const themes = options.themes.length > 0 ? options.themes : THEMES.filter((theme) => theme !== 'soak' || !options.quick);
const report = new Report(options);
process.on('unhandledRejection', (error) => report.note('FAIL', 'nothing is left unhandled', 0, String(error?.message ?? error)));
for (const theme of themes) {
  report.theme = theme;
  const { default: run } = await import(`./themes/${theme}.mjs`);
  await run(report);
}

const failed = report.count('FAIL');
const skipped = report.count('skip');
console.log(`${report.count('ok')} ok, ${failed} failed, ${skipped} skipped`);
if (options.table) writeFileSync(options.table, table(report));
process.exit(failed > 0 || (skipped > 0 && process.env.CROSSFEED_REQUIRE_PEERS === '1') ? 1 : 0);

function table({ seen }) {
  const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const rows = seen.map(({ verdict, theme, name, detail }) => `| ${theme} | ${cell(name)} | ${verdict}${detail ? `: ${cell(detail)}` : ''} |`);
  return [
    '# What was seen of real clients and servers',
    '',
    'Written by `tests/peers/run --table tests/peers/RESULTS.md`; what each theme is stands in `README.md` beside this page.',
    '',
    `${seen.filter((one) => one.verdict === 'ok').length} checks held, ${failed} did not, ${skipped} were skipped.`,
    '',
    '| theme | check | seen |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
