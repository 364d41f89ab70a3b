// A client over HTTP without an SDK: one request, one answer, as JSON or as a stream of events.

import { request } from 'node:http';

/** The messages of an answer, whichever form it has. */
export function messages(type, body) {
  if (!/event-stream/.test(type ?? '')) return body ? [JSON.parse(body)] : [];
  return body
    .split(/\r?\n\r?\n/)
    .map((event) => event.split(/\r?\n/).filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).join('\n'))
    .filter(Boolean)
    .map((data) => JSON.parse(data));
}

/** Sends a request with exactly these headers; `Host` among them. Gives status, headers, body and messages. */
export function send(url, { method = 'POST', headers = {}, body, signal } = {}) {
  return new Promise((done, fail) => {
    const sent = request(
      url,
      {
        method,
        signal,
        agent: false,
        headers: {
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          Accept: 'application/json, text/event-stream',
          ...headers,
        },
      },
      (answer) => {
        const parts = [];
        answer.on('data', (part) => parts.push(part));
        answer.on('error', fail);
        answer.on('end', () => {
          const text = Buffer.concat(parts).toString('utf8');
          let found = [];
          try {
            found = messages(answer.headers['content-type'], text);
          } catch {
            // Whoever wants messages sees that there are none.
          }
          done({ status: answer.statusCode, headers: answer.headers, text, messages: found });
        });
      },
    );
    sent.on('error', fail);
    sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });
}

const rpc = (id, method, params) => ({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, ...(params ? { params } : {}) });

/** A session of the eras that have them. */
export class Session {
  constructor(url, headers = {}) {
    this.url = url;
    this.headers = headers;
    this.next = 1;
  }

  async initialize(version = '2025-11-25') {
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'web', version: '1.0.0' } };
    const answer = await send(this.url, { headers: this.headers, body: rpc(this.next++, 'initialize', params) });
    if (answer.status !== 200) throw new Error(`initialize: ${answer.status} ${answer.text.slice(0, 200)}`);
    this.id = answer.headers['mcp-session-id'];
    this.headers = { ...this.headers, 'Mcp-Session-Id': this.id, 'MCP-Protocol-Version': version };
    await send(this.url, { headers: this.headers, body: rpc(undefined, 'notifications/initialized') });
    return this;
  }

  async request(method, params, how = {}) {
    const id = this.next++;
    const answer = await send(this.url, { ...how, headers: { ...this.headers, ...how.headers }, body: rpc(id, method, params) });
    return { ...answer, message: answer.messages.find((message) => message.id === id) };
  }

  async call(name, args = {}, how) {
    const { message, status, text } = await this.request('tools/call', { name, arguments: args }, how);
    if (!message?.result) throw new Error(`${name}: ${status} ${text.slice(0, 300)}`);
    return message.result;
  }

  close() {
    return send(this.url, { method: 'DELETE', headers: this.headers });
  }
}

/** One request of the era without sessions. */
export async function stateless(url, method, params = {}, { headers = {}, ...how } = {}) {
  const id = Math.floor(Math.random() * 1e9);
  const named = params.name ?? params.uri;
  const answer = await send(url, {
    ...how,
    headers: {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(named ? { 'Mcp-Name': named } : {}),
      ...headers,
    },
    body: rpc(id, method, {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': { name: 'web', version: '1.0.0' },
      },
    }),
  });
  return { ...answer, message: answer.messages.find((message) => message.id === id) };
}
