// A server without an SDK, so that it can be wrong on purpose.
//
// What comes in: lines on standard input; a table of tools. What goes out: what the tools say, as they say
// it, also where the protocol forbids it.

export const notes = [];

/** Writes a line; gives whether the reader keeps up. */
export function write(message) {
  return process.stdout.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
}

export function notify(method, params) {
  write({ jsonrpc: '2.0', method, params });
}

const waiting = new Map();
let asked = 0;

/** Asks the client something; gives its answer. */
export function ask(method, params) {
  const id = `server-${(asked += 1)}`;
  return new Promise((done) => {
    waiting.set(id, done);
    write({ jsonrpc: '2.0', id, method, params });
  });
}

/** A tool as it is listed. */
function listed([name, { definition, outputSchema }]) {
  const json = JSON.stringify({ name, ...definition });
  return outputSchema ? `${json.slice(0, -1)},"outputSchema":${outputSchema}}` : json;
}

/**
 * Serves tools: name → `{ definition, outputSchema, call(args, request, raw) }`; the schema is JSON text. A call
 * gives a result, or nothing where it writes for itself.
 */
export function serve({ name, tools, onNote = () => {}, onInitialize = () => {}, onEnd = () => process.exit(0), instructions }) {
  let rest = [];
  process.stdin.on('data', (chunk) => {
    let from = 0;
    for (;;) {
      const at = chunk.indexOf(10, from);
      if (at < 0) break;
      rest.push(chunk.subarray(from, at));
      const raw = Buffer.concat(rest).toString('utf8');
      rest = [];
      from = at + 1;
      answer(raw);
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  });
  process.stdin.on('end', onEnd);

  async function answer(raw) {
    const message = JSON.parse(raw);
    const { id, method, params } = message;
    if (method === undefined) {
      waiting.get(id)?.(message.result ?? message.error);
      waiting.delete(id);
      return;
    }
    if (id === undefined) {
      notes.push(raw);
      onNote(message);
      return;
    }
    const give = (result) => write({ jsonrpc: '2.0', id, result });
    const refuse = (code, text) => write({ jsonrpc: '2.0', id, error: { code, message: text } });
    switch (method) {
      case 'initialize':
        if (onInitialize(message) === 'silent') return;
        give({
          protocolVersion: params.protocolVersion,
          capabilities: { tools: { listChanged: true }, logging: {} },
          serverInfo: { name, version: '1.0.0' },
          ...(instructions ? { instructions } : {}),
        });
        return;
      case 'ping':
      case 'logging/setLevel':
        give({});
        return;
      case 'tools/list':
        write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[${Object.entries(tools).map(listed).join()}]}}`);
        return;
      case 'tools/call': {
        const tool = tools[params.name];
        if (!tool) {
          refuse(-32602, `Unknown tool: ${params.name}`);
          return;
        }
        const result = await tool.call(params.arguments ?? {}, message, raw);
        if (result !== undefined) give(result);
        return;
      }
      default:
        refuse(-32601, `Method not found: ${method}`);
    }
  }
}

export const says = (text) => ({ content: [{ type: 'text', text }] });
export const any = { type: 'object', properties: {} };
