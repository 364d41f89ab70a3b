// Reads `expected-failures.toml`: tables of plain strings, which is all that there is in it.

import { existsSync, readFileSync } from 'node:fs';

export function expected(file) {
  const entries = [];
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  lines.forEach((line, at) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) return;
    if (text === '[[failure]]') return entries.push({ line: at + 1, used: 0 });
    const member = /^(suite|shape|check|reason|sometimes)\s*=\s*"((?:[^"\\]|\\.)*)"$/.exec(text);
    if (!member || entries.length === 0) throw new Error(`${file}:${at + 1}: not understood: ${text}`);
    entries.at(-1)[member[1]] = JSON.parse(`"${member[2]}"`);
  });
  for (const entry of entries) {
    if (!entry.suite || !entry.check || !entry.reason) throw new Error(`${file}:${entry.line}: lacks a member`);
  }
  const matches = (pattern, text) => pattern === undefined || pattern === text || (pattern.endsWith('*') && text.startsWith(pattern.slice(0, -1)));
  const find = (suite, shape, check) => entries.find((one) => matches(one.suite, suite) && matches(one.shape, shape) && matches(one.check, check));
  return {
    /** The reason why a check may say something else, if it is listed. */
    take(suite, shape, check) {
      const entry = find(suite, shape, check);
      if (entry) entry.used += 1;
      return entry?.reason;
    },
    /** Whether a check is listed as one that says something else in every run. */
    always(suite, shape, check) {
      const entry = find(suite, shape, check);
      return entry !== undefined && !entry.sometimes;
    },
    /** What is listed and is not so, but for what is so only sometimes. */
    stale: () => entries.filter((entry) => entry.used === 0 && !entry.sometimes),
  };
}
