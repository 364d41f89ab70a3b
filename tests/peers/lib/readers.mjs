// How scripts get a value out of a result, and what they compute with it.
//
// What comes in: results as a client hands them out. What goes out: for every way to read one, what a script made of it.
// Real scripts are no stricter than these: what is not there is not looked for.

import vm from 'node:vm';

const texts = (result) => (result.content ?? []).filter((part) => part.type === 'text').map((part) => part.text);
const from = (text, opening, closing) => text.slice(text.search(opening), text.lastIndexOf(closing) + 1);
/** Tells of each bracket outside of strings, until something comes of it: that, or else whether the text ends within a string. */
const brackets = (text, see) => {
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (quoted) {
      if (c === '\\') at += 1;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if ('{[}]'.includes(c)) {
      const end = see(c, at);
      if (end !== undefined) return end;
    }
  }
  return quoted;
};
/** Up to where the value that begins the text goes, by its brackets. */
const balanced = (text) => {
  let depth = 0;
  const end = brackets(text, (c, at) => {
    if ('{['.includes(c)) depth += 1;
    else if ((depth -= 1) === 0) return at + 1;
  });
  if (typeof end === 'number') return text.slice(0, end);
  throw new Error('it does not end');
};
/** A value that was cut off, as readers of what a model is still writing complete it. */
const completed = (text) => {
  const open = [];
  const quoted = brackets(text, (c) => {
    if (c === '{') open.push('}');
    else if (c === '[') open.push(']');
    else open.pop();
  });
  return JSON.parse(text.replace(/,\s*$/, '') + (quoted ? '"' : '') + open.reverse().join(''));
};
const nothing = vm.createContext(Object.create(null));
const literal = (text) => vm.runInContext(`(${text})`, nothing);
const lines = (text) => text.split(/\r\n|[\n\r\u0085\u2028\u2029]/).filter((line) => line.trim());
const every = (list, read) =>
  list.flatMap((one) => {
    try {
      return [read(one)];
    } catch {
      return [];
    }
  });
/** What the client hands to a script as the result: the structure, else what the text holds, else the text. */
const unwrapped = (result) => {
  if (result.structuredContent !== undefined) return result.structuredContent;
  const all = texts(result).join('\n');
  try {
    return JSON.parse(all);
  } catch {
    return all;
  }
};

/** By name, what gives the values that a script may take for the result; what throws gives none. */
const READERS = {
  'the structure': (result) => [result.structuredContent],
  'what a client unwraps': (result) => [unwrapped(result)],
  'the first text': (result) => [JSON.parse(texts(result)[0])],
  'the last text': (result) => [JSON.parse(texts(result).at(-1))],
  'all texts in one': (result) => [JSON.parse(texts(result).join(''))],
  'each text': (result) => every(texts(result), JSON.parse),
  'each line': (result) => every(texts(result).flatMap(lines), JSON.parse),
  'all lines that are values': (result) => [every(texts(result).flatMap(lines), JSON.parse)].filter((found) => found.length > 0),
  'from the first bracket to the last': (result) => every(texts(result), (text) => JSON.parse(from(text, /[[{]/, /[[{]/.exec(text)[0] === '[' ? ']' : '}'))),
  'from the first brace to the last': (result) => every(texts(result), (text) => JSON.parse(from(text, /\{/, '}'))),
  'from the first square bracket to the last': (result) => every(texts(result), (text) => JSON.parse(from(text, /\[/, ']'))),
  'in a line, from the first bracket to the last': (result) => every(texts(result).flatMap(lines), (text) => JSON.parse(/[[{].*[\]}]/.exec(text)[0])),
  'from the first bracket to its end': (result) => every(texts(result), (text) => JSON.parse(balanced(text.slice(text.search(/[[{]/))))),
  'from the first brace to its end': (result) => every(texts(result), (text) => JSON.parse(balanced(text.slice(text.indexOf('{'))))),
  'behind the first line': (result) => every(texts(result), (text) => JSON.parse(text.slice(text.indexOf('\n') + 1))),
  'without the first line and the last': (result) => every(texts(result), (text) => JSON.parse(lines(text).slice(1, -1).join('\n'))),
  'a block of code': (result) => every(texts(result), (text) => JSON.parse(/```(?:json)?\s*([^]*?)```/.exec(text)[1])),
  'as a literal of the language': (result) => every(texts(result), literal),
  'each line as a literal': (result) => every(texts(result).flatMap(lines), literal),
  'completed where it is cut off': (result) => every(texts(result), completed),
  'the text': (result) => [texts(result)[0]],
  'completed from the first brace on': (result) => every(texts(result), (text) => completed(text.slice(text.indexOf('{')))),
};

/** What a script computes: strict about nothing, as scripts are. */
const rows = (value) => (Array.isArray(value) ? value : value.rows);
export const SCRIPTS = {
  'sums a column': (value) => rows(value).reduce((sum, row) => sum + row.amount, 0),
  'counts rows': (value) => rows(value).map((row) => row.id.toFixed()).length,
  'takes the largest': (value) => Math.max(...rows(value).slice(-500).map((row) => row.id)),
  'reads one field': (value) => value.count,
  'sums by name': (value) => (Array.isArray(value) || typeof value === 'string' ? undefined : Object.values(value).reduce((sum, one) => sum + one, 0)),
  'sums a column by its name': (text) => {
    const [head, ...body] = text.trim().split('\n').map((line) => line.split(','));
    return body.map((cells) => parseFloat(cells[head.indexOf('amount')])).reduce((sum, one) => sum + one);
  },
  'sums the last column': (text) => {
    const body = text.trim().split('\n').slice(1);
    return body.map((line) => parseFloat(line.split(',').at(-1))).reduce((sum, one) => sum + one);
  },
};

/** What a script gives for a value: a number, or nothing where it throws or what comes is none. */
export function answer(script, value) {
  try {
    const given = script(value);
    return typeof given === 'number' && Number.isFinite(given) ? given : undefined;
  } catch {
    return undefined;
  }
}

/** Those that read a large result as it is meant, in little time. */
const PLAIN = ['the structure', 'what a client unwraps', 'each text', 'the text'];

/** All that a result may be taken for, by the way to read it; with `plain` by few ways. */
export function readings(result, { plain = false } = {}) {
  const found = [];
  for (const [reader, read] of Object.entries(READERS)) {
    if (plain && !PLAIN.includes(reader)) continue;
    try {
      for (const value of read(result)) found.push({ reader, value });
    } catch {
      // It fails loudly.
    }
  }
  return found;
}

/** Every answer that a script gets out of what was read. */
export function answers(readings, script) {
  return readings.map(({ reader, value }) => ({ reader, given: answer(script, value) })).filter(({ given }) => given !== undefined);
}
