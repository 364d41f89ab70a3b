// A client without an SDK: it sends what it is told and keeps the bytes of what comes.
//
// What comes in: a command. What goes out: lines as they came, and the messages in them. It checks
// nothing, so that what is wrong on the wire is seen.

import { spawn } from 'node:child_process';
import { until, within } from './checks.mjs';

export class Raw {
  constructor({ command, args, env, cwd }, { stderr = 'ignore' } = {}) {
    this.child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', stderr === 'keep' ? 'pipe' : stderr] });
    this.next = 1;
    this.waiting = new Map();
    this.answers = {};
    this.others = [];
    this.stray = [];
    this.log = '';
    this.ended = new Promise((done) => {
      this.child.on('close', (code, signal) => done({ code, signal }));
      this.child.on('error', (error) => done({ error }));
    });
    this.ended.then((how) => {
      for (const { reject } of this.waiting.values()) reject(new Error(`the connection ended: ${JSON.stringify(how)}`));
      this.waiting.clear();
    });
    this.child.stdin.on('error', () => {});
    this.child.stderr?.on('data', (chunk) => {
      this.log = (this.log + chunk).slice(-200_000);
    });
    let parts = [];
    this.child.stdout.on('data', (chunk) => {
      let from = 0;
      for (;;) {
        const at = chunk.indexOf(10, from);
        if (at < 0) break;
        parts.push(chunk.subarray(from, at));
        this.line(Buffer.concat(parts).toString('utf8'));
        parts = [];
        from = at + 1;
      }
      if (from < chunk.length) parts.push(chunk.subarray(from));
    });
  }

  line(raw) {
    let message;
    try {
      message = JSON.parse(raw);
    } catch {
      this.stray.push(raw);
      return;
    }
    if (message.method !== undefined && message.id !== undefined) {
      const answer = this.answers[message.method];
      const id = message.id;
      if (!answer) {
        this.send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'not here' } });
      } else {
        Promise.resolve(answer(message.params)).then(
          (result) => result !== undefined && this.send({ jsonrpc: '2.0', id, result }),
        );
      }
    } else if (message.method !== undefined) {
      this.others.push({ message, raw });
    } else {
      const one = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (one) one.resolve({ message, raw });
      else this.stray.push(raw);
    }
  }

  send(message) {
    this.child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  /** Sends a request and gives its answer, result or error, with the bytes that it came in. */
  request(method, params, { id = this.next++, patience = 30_000 } = {}) {
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    answer.catch(() => {});
    this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
    return within(patience, answer, `the answer to ${method}`);
  }

  async result(method, params, how) {
    const { message } = await this.request(method, params, how);
    if (message.error) throw new Error(`${method}: ${JSON.stringify(message.error)}`);
    return message.result;
  }

  call(name, args = {}, how) {
    return this.result('tools/call', { name, arguments: args }, how);
  }

  notify(method, params) {
    this.send({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
  }

  async initialize({ version = '2025-11-25', capabilities = {}, name = 'raw' } = {}) {
    const result = await this.result('initialize', {
      protocolVersion: version,
      capabilities,
      clientInfo: { name, version: '1.0.0' },
    });
    this.notify('notifications/initialized');
    return result;
  }

  /** Waits for a notification. */
  heard(test, ms = 10_000) {
    return until(() => this.others.find(({ message }) => test(message)), ms, 'a notification');
  }

  /** Closes standard input and waits for the end; a connection that lingers is an error. */
  async close(ms = 15_000) {
    this.child.stdin.end();
    try {
      return await within(ms, this.ended, 'the end');
    } catch (error) {
      this.child.kill('SIGKILL');
      throw error;
    }
  }

  kill(signal = 'SIGKILL') {
    this.child.kill(signal);
    return this.ended;
  }
}

/** The id that a shown result names itself by, in the text that a model reads: behind it, or in front of a preview. */
export function callId(result) {
  const id = /"_toolCallId":"(\w+)"|^\[crossfeed preview of (\w+):/m.exec(text(result))?.slice(1).find(Boolean);
  if (!id) throw new Error(`no call id in ${JSON.stringify(result).slice(0, 300)}`);
  return id;
}

/** All text of a result. */
export function text(result) {
  return (result.content ?? [])
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .join('\n');
}
