// A server that makes the mistakes of real ones, through a client that validates.

import { assert } from '../lib/checks.mjs';
import { command, listening } from '../lib/gateway.mjs';
import { Raw, callId, text } from '../lib/raw.mjs';
import { http, stdio } from '../lib/sdk.mjs';
import { own, received } from './chains.mjs';

const servers = { mistakes: own('mistakes') };

export default async function mistakes(t) {
  if (t.direct) return;
  await t.using('a TypeScript client over stdio', () => stdio(servers), (client) => accepted(t, 'stdio', client));
  await t.using('a gateway over HTTP', () => listening(servers), (gateway) =>
    t.using('a TypeScript client over HTTP', () => http(gateway.url), (client) => accepted(t, 'HTTP', client)),
  );
  await t.using('a connection without an SDK', async () => {
    const raw = new Raw(command(servers));
    await raw.initialize();
    return raw;
  }, (raw) => wire(t, raw));
}

async function accepted(t, transport, client) {
  const call = (name, args = {}) => client.callTool({ name, arguments: args });
  let tools = [];
  await t.check(`${transport}: the list of all mistakes is accepted`, async () => {
    ({ tools } = await client.listTools());
    assert.ok(tools.length > 30, String(tools.length));
  });
  for (const tool of tools.filter(({ name }) => !/^(inspect_tool_output|read_result|list_results)$/.test(name))) {
    await t.check(`${transport}: a result of ${tool.name} is accepted`, async () => {
      const args = tool.name === 'header' ? { region: 'eu' } : {};
      const result = await call(tool.name, args);
      assert.ok(Array.isArray(result.content));
    });
  }
  await t.check(`${transport}: a large result is shown as a preview that no schema refuses`, async () => {
    const result = await call('strict_output');
    const id = callId(result);
    const shown = JSON.stringify(result);
    assert.ok(shown.length < 12_000, `${shown.length} characters`);
    assert.ok(text(result).startsWith(`[crossfeed preview of ${id}: `));
    assert.equal(result.structuredContent, undefined);
    assert.equal(tools.find(({ name }) => name === 'strict_output').outputSchema, undefined);
  });
  await t.check(`${transport}: prose beside structured content does not hide it`, async () => {
    const result = await call('prose');
    const id = callId(result);
    assert.match(text(result), /Found 200 items|items/);
    const seen = received(await call('no_root_type', { a: { $tool: id, $select: 'items[-1].name' } }));
    assert.equal(seen.a, 'item 199');
  });
  await t.check(`${transport}: JSON in a string is opened where a path goes through it`, async () => {
    const id = callId(await call('json_in_string'));
    const seen = received(await call('no_root_type', { a: { $tool: id, $select: 'result.items[7].url' } }));
    assert.equal(seen.a, 'https://example.com/items/7');
  });
  await t.check(`${transport}: JSON as text is selected from`, async () => {
    const id = callId(await call('json_text'));
    const seen = received(await call('no_root_type', { a: { $tool: id, $select: 'items[?score > `1.98`].name | [0]' } }));
    assert.equal(seen.a, 'item 199');
  });
  await t.check(`${transport}: a Python repr is text, and passes as it is`, async () => {
    const id = callId(await call('python_repr'));
    const seen = received(await call('no_root_type', { a: { $tool: id } }));
    assert.match(seen.a, /^\[\{'id': 1/);
  });
  await t.check(`${transport}: a page gets its structured content whole`, async () => {
    const { structuredContent } = await call('page');
    assert.equal(structuredContent.items.length, 300);
    assert.deepEqual(Object.keys(structuredContent), ['items', 'total']);
  });
  await t.check(`${transport}: a failed call is passed on as it is and cannot be referred to`, async () => {
    const before = Number(callId(await call('json_text')).slice(5));
    const failed = await call('fails');
    assert.equal(failed.isError, true);
    assert.equal(text(failed), 'the database is away:  try later ');
    const refused = await call('no_root_type', { a: { $tool: `call_${before + 1}`, $select: 'reason' } });
    assert.equal(refused.isError, true);
    assert.match(text(refused), /failed|the database is away/);
  });
  await t.check(`${transport}: what looks like a reference in a result is data`, async () => {
    const id = callId(await call('lookalike'));
    const seen = received(await call('no_root_type', { a: 'x', b: { $tool: id, $select: 'inner' } }));
    assert.deepEqual(seen.b, { $tool: 'call_1', $select: 'x' });
  });
  await t.check(`${transport}: a tool with \`fields\`, \`output\` and \`_select\` of its own gets them`, async () => {
    const args = { fields: ['a', 'b'], output: 'o', project: 'p', _select: 's' };
    assert.deepEqual(received(await call('own_fields', args)), args);
  });
  await t.check(`${transport}: a closed tool gets nothing of ours`, async () => {
    const id = callId(await call('json_text'));
    const seen = received(await call('closed', { _refs: { a: { _tool: id, _select: 'items[0].name' } }, deep: { b: 1 } }));
    assert.deepEqual(seen, { a: 'item 0', deep: { b: 1 } });
    const nulls = received(await call('closed', { a: null, deep: { b: 2 }, _refs: null }));
    assert.deepEqual(nulls, { deep: { b: 2 } });
  });
  await t.check(`${transport}: pointers into what was rewritten still work`, async () => {
    const seen = received(await call('pointer', { first: { x: 1 }, second: { x: 2 } }));
    assert.deepEqual(seen.second, { x: 2 });
  });
  await t.check(`${transport}: a tool whose schema is none runs without references only`, async () => {
    assert.deepEqual(received(await call('broken_schema', { a: 5 })), { a: 5 });
    const id = callId(await call('json_text'));
    const refused = await call('broken_schema', { a: { $tool: id, $select: 'total' } });
    assert.equal(refused.isError, true);
  });
  await t.check(`${transport}: pictures, sounds, blobs and links arrive as they are`, async () => {
    const picture = (await call('picture')).content.find((part) => part.type === 'image');
    assert.equal(picture.data, Buffer.alloc(3000, 7).toString('base64'));
    assert.equal((await call('sound')).content.find((part) => part.type === 'audio').mimeType, 'audio/wav');
    assert.ok((await call('blob')).content.find((part) => part.type === 'resource').resource.blob);
    assert.equal((await call('link')).content.find((part) => part.type === 'resource_link').uri, 'file:///x.txt');
  });
  await t.check(`${transport}: a picture goes into a text parameter as base64`, async () => {
    const id = callId(await call('only_picture'));
    const whole = await call('no_root_type', { a: { $tool: id } });
    assert.equal(received(whole).a, Buffer.alloc(60, 7).toString('base64'), text(whole));
  });
  await t.check(`${transport}: a long text is cut aloud, and read in pages`, async () => {
    const result = await call('long_text');
    const id = callId(result);
    assert.ok(text(result).length < 20_000, String(text(result).length));
    assert.match(text(result), /^\[crossfeed preview of [^]*\n\[end of crossfeed preview of \w+\]$/);
    const page = await call('read_result', { call_id: id });
    assert.notEqual(page.isError, true, text(page));
    assert.match(text(page), /line 0: all work/);
    assert.match(text(await call('measure', { a: { $tool: id } })), /^62889 characters, 2000 lines/);
  });
  await t.check(`${transport}: outputs are inspected by the schema and by what was learned`, async () => {
    const known = await call('inspect_tool_output', { tool_id: 'strict_output', field_path: 'items[]' });
    assert.match(JSON.stringify(known), /score/);
    const learned = await call('inspect_tool_output', { tool_id: 'json_text', field_path: '' });
    assert.match(JSON.stringify(learned), /items/);
  });
}

async function wire(t, raw) {
  await t.check('wire: what is listed is a list that every client accepts', async () => {
    const { tools } = await raw.result('tools/list');
    for (const { name, inputSchema, outputSchema } of tools) {
      // With that, clients take what is combined at the root.
      assert.equal(inputSchema.type, 'object', name);
      if (!outputSchema) continue;
      assert.equal(outputSchema.type, 'object', name);
      for (const word of ['oneOf', 'anyOf', 'allOf']) assert.equal(outputSchema[word], undefined, `${name}: ${word}`);
    }
    const ids = tools.map(({ outputSchema }) => outputSchema?.$id).filter(Boolean);
    assert.equal(new Set(ids).size, ids.length, 'an `$id` stands once');
    const { inputSchema } = tools.find(({ name }) => name === 'header');
    assert.equal(inputSchema.properties.region['x-mcp-header'], 'Region');
    assert.equal(inputSchema.properties.region.anyOf, undefined);
    const again = await raw.request('tools/list');
    assert.equal(JSON.stringify(again.message.result.tools), JSON.stringify(tools), 'twice the same bytes');
  });
  await t.check('wire: structured content is an object or not there', async () => {
    for (const name of ['structured_list', 'structured_null', 'root_list', 'structured_only', 'nothing_at_all']) {
      const result = await raw.call(name);
      assert.ok(Array.isArray(result.content), `${name} has content`);
      const shown = result.structuredContent;
      assert.ok(shown === undefined || (typeof shown === 'object' && shown !== null && !Array.isArray(shown)), name);
    }
  });
  await t.check('wire: a call id stands in the text and in the structured content, where there is one', async () => {
    for (const name of ['json_text', 'json_in_string', 'strict_output', 'prose', 'structured_list', 'one_id_a', 'long_text']) {
      const result = await raw.call(name);
      const id = callId(result);
      assert.ok(text(result).includes(id), `${name}: in the text`);
      if (result.structuredContent) assert.ok(JSON.stringify(result.structuredContent).includes(id), `${name}: in the structured content`);
    }
  });
  await t.check('wire: a failed result has the bytes of the server', async () => {
    const { raw: line } = await raw.request('tools/call', { name: 'fails', arguments: {} });
    assert.ok(
      line.includes('{"isError":true,"content":[{"type":"text","text":"the database is away:  try later "}],"structuredContent":{"reason":"away","retry":1.5}}'),
      line,
    );
  });
  await t.check('wire: what the server says under our keys is not passed on, and what it says under its own is', async () => {
    const { _meta } = await raw.call('claims');
    assert.equal(_meta?.['example.com/kept'], 7);
    assert.notEqual(_meta['dev.crossfeed/chain'], false);
    assert.notEqual(_meta['dev.crossfeed/projection']?.applied, true);
  });
  await t.check('wire: members of a result that nobody knows are kept', async () => {
    assert.deepEqual((await raw.call('unknown_part')).extra, { kept: true });
  });
  await t.check('wire: lines of the server that are not messages reach nobody', async () => {
    assert.deepEqual(raw.stray, []);
    assert.deepEqual(raw.others.filter(({ message }) => !message.method.startsWith('notifications/')), []);
  });
}
