// Checks: each is a sentence and a function that throws when the sentence is not true.
//
// What comes in: checks of themes. What goes out: a line for each, and what was seen. Not here: what is
// checked.

import assert from 'node:assert/strict';

export { assert };

/** How long one check may take unless it says otherwise. */
const PATIENCE = 60_000;

export class Report {
  constructor({ only = [], direct = false, quick = false } = {}) {
    this.only = only;
    this.direct = direct;
    this.quick = quick;
    this.seen = [];
    this.theme = '';
  }

  /** Runs one check; gives what it gave, or nothing if it failed. */
  async check(name, body, { patience = PATIENCE } = {}) {
    if (this.only.length > 0 && !this.only.some((part) => `${this.theme}: ${name}`.includes(part))) {
      return undefined;
    }
    const began = performance.now();
    try {
      const given = await within(patience, body());
      this.note('ok', name, performance.now() - began);
      return given;
    } catch (error) {
      this.note('FAIL', name, performance.now() - began, reason(error));
      return undefined;
    }
  }

  /** Sets something up, runs checks with it, and takes it down again, whatever became of them. */
  async using(what, setUp, body, takeDown = (made) => made.close()) {
    let made;
    try {
      made = await within(PATIENCE, setUp());
    } catch (error) {
      this.note('FAIL', `${what} can be had`, 0, reason(error));
      return;
    }
    try {
      await body(made);
    } catch (error) {
      this.note('FAIL', `what uses ${what} runs to its end`, 0, reason(error));
    } finally {
      try {
        await within(20_000, Promise.resolve(takeDown(made)));
      } catch (error) {
        this.note('FAIL', `${what} ends`, 0, reason(error));
      }
    }
  }

  skip(name, why) {
    this.note('skip', name, 0, why);
  }

  note(verdict, name, ms = 0, detail = '') {
    this.seen.push({ verdict, theme: this.theme, name, detail });
    const tail = detail ? `: ${detail}` : '';
    console.log(`${verdict.padEnd(4)} ${this.theme}: ${name}${tail}${ms > 2000 ? ` (${Math.round(ms)} ms)` : ''}`);
  }

  count(verdict) {
    return this.seen.filter((one) => one.verdict === verdict).length;
  }
}

/** What a promise gives, or an error when it takes too long. */
export async function within(ms, promise, what = 'it') {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until something is so, and gives what it gave. */
export async function until(probe, ms = 10_000, what = 'what was waited for') {
  const end = performance.now() + ms;
  for (;;) {
    const given = await probe();
    if (given) return given;
    if (performance.now() > end) throw new Error(`${what} did not come within ${ms} ms`);
    await sleep(25);
  }
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function reason(error) {
  const text = String(error?.message ?? error).replace(/\s+/g, ' ').trim();
  const where = /themes\/[a-z]+\.mjs:\d+/.exec(String(error?.stack ?? ''))?.[0];
  return (where ? `${where}: ` : '') + (text.length > 600 ? `${text.slice(0, 600)}…` : text);
}
