// The TypeScript SDK's client and `server-everything`: all that the protocol has, over both transports.

import { assert, until } from '../lib/checks.mjs';
import { listening } from '../lib/gateway.mjs';
import { callId, text } from '../lib/raw.mjs';
import { http, packaged, stdio, types } from '../lib/sdk.mjs';

const servers = { everything: packaged('server-everything', ['stdio']) };
const TOOLS = ['echo', 'get-annotated-message', 'get-env', 'get-structured-content', 'get-sum', 'get-tiny-image'];

export default async function everything(t) {
  await over(t, 'stdio', (prepare) => stdio(servers, { prepare, direct: t.direct }));
  if (t.direct) return;
  await t.using('a gateway over HTTP', () => listening(servers), (gateway) =>
    over(t, 'HTTP', (prepare) => http(gateway.url, { prepare })),
  );
}

async function over(t, transport, connect) {
  const asked = { sampling: [], elicitation: [], roots: 0 };
  const heard = { updated: [], tools: 0, logs: [] };
  const prepare = (client) => {
    client.setRequestHandler(types.CreateMessageRequestSchema, async ({ params }) => {
      asked.sampling.push(params);
      return { role: 'assistant', model: 'a-model', content: { type: 'text', text: 'sampled words' } };
    });
    client.setRequestHandler(types.ElicitRequestSchema, async ({ params }) => {
      asked.elicitation.push(params);
      return { action: 'accept', content: { name: 'Ada', check: true, integer: 42, number: 1.5, color: 'Red' } };
    });
    client.setRequestHandler(types.ListRootsRequestSchema, async () => {
      asked.roots += 1;
      return { roots: [{ uri: 'file:///tmp/project', name: 'project' }] };
    });
    client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ params }) => void heard.updated.push(params.uri));
    client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => void heard.logs.push(params));
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => void (heard.tools += 1));
  };
  await t.using(`a TypeScript client over ${transport}`, () => connect(prepare), async (client) => {
    const check = (name, body, how) => t.check(`${transport}: ${name}`, body, how);
    const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options);

    await check('tools are listed, ours first, and those of the server after them', async () => {
      const { tools } = await client.listTools();
      const names = tools.map((tool) => tool.name);
      for (const name of TOOLS) assert.ok(names.includes(name), `${name} in ${names}`);
      if (!t.direct) assert.equal(names[0], 'inspect_tool_output');
      for (const tool of tools) assert.equal(tool.inputSchema.type, 'object', tool.name);
    });
    await check('instructions are those of the server, and more', async () => {
      assert.match(client.getInstructions() ?? '', /everything|Testing and demonstration/i);
    });
    await check('a call is answered', async () => {
      assert.match(text(await call('echo', { message: 'hello „you“' })), /Echo: hello „you“/);
    });
    await check('a validated structured result arrives whole', async () => {
      const result = await call('get-structured-content', { location: 'Chicago' });
      const { temperature, conditions, humidity } = result.structuredContent;
      assert.deepEqual([typeof temperature, typeof conditions, typeof humidity], ['number', 'string', 'number']);
    });
    if (!t.direct) await chains(check, call);
    await check('a picture arrives as it was', async () => {
      const { content } = await call('get-tiny-image');
      const picture = content.find((part) => part.type === 'image');
      assert.equal(picture.mimeType, 'image/png');
      assert.equal(Buffer.from(picture.data, 'base64').subarray(1, 4).toString(), 'PNG');
    });
    await check('annotations of content are kept', async () => {
      const { content } = await call('get-annotated-message', { messageType: 'error', includeImage: true });
      assert.ok(content.some((part) => part.annotations?.priority === 1), JSON.stringify(content).slice(0, 300));
      assert.ok(content.some((part) => part.type === 'image' && part.annotations));
    });
    await check('resource links and embedded resources arrive', async () => {
      const links = await call('get-resource-links', { count: 4 });
      assert.equal(links.content.filter((part) => part.type === 'resource_link').length, 4);
      const embedded = await call('get-resource-reference', { resourceType: 'Text', resourceId: 3 });
      assert.ok(embedded.content.some((part) => part.type === 'resource' && part.resource.uri.endsWith('/3')));
    });
    await check('progress arrives in order', async () => {
      const seen = [];
      const result = await call('trigger-long-running-operation', { duration: 0.4, steps: 4 }, {
        onprogress: ({ progress, total }) => seen.push([progress, total]),
      });
      assert.match(text(result), /Long running operation completed/);
      assert.deepEqual(seen.slice(0, 3), [[1, 4], [2, 4], [3, 4]]);
    });
    await check('a cancelled call ends at once, and the connection lives on', async () => {
      const abort = new AbortController();
      const began = performance.now();
      const long = call('trigger-long-running-operation', { duration: 20, steps: 20 }, { signal: abort.signal });
      setTimeout(() => abort.abort('enough'), 200);
      await assert.rejects(long);
      assert.ok(performance.now() - began < 5000);
      assert.match(text(await call('echo', { message: 'alive' })), /alive/);
    });
    await check('bad arguments are a tool error', async () => {
      const result = await call('get-sum', { a: 'one', b: 2 });
      assert.equal(result.isError, true);
    });
    await check('an unknown tool is refused by its server', async () => {
      const refused = await call('no-such-tool').catch((error) => error);
      assert.ok(refused.code === -32602 || refused.isError === true, JSON.stringify(refused));
    });
    await check('an unknown resource keeps the error of the server', async () => {
      await assert.rejects(client.readResource({ uri: 'demo://nowhere' }), (error) => Number.isInteger(error.code));
    });
    await check('resources are listed and read', async () => {
      const { resources } = await client.listResources();
      assert.ok(resources.length > 0);
      const { contents } = await client.readResource({ uri: resources[0].uri });
      assert.ok((contents[0].text ?? contents[0].blob).length > 0);
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.ok(resourceTemplates.length > 0);
    });
    await check('prompts are listed, got and completed', async () => {
      const { prompts } = await client.listPrompts();
      const completable = prompts.find(({ name }) => /complet/.test(name));
      assert.ok(completable, prompts.map(({ name }) => name).join());
      const { completion } = await client.complete({
        ref: { type: 'ref/prompt', name: completable.name },
        argument: { name: completable.arguments[0].name, value: '' },
      });
      assert.ok(completion.values.length > 0);
      const simple = prompts.find((prompt) => !prompt.arguments?.length);
      const { messages } = await client.getPrompt({ name: simple.name });
      assert.ok(messages.length > 0);
    });
    await check('the level of logs is set, and logs arrive', async () => {
      await client.setLoggingLevel('debug');
      await call('toggle-simulated-logging');
      await until(() => heard.logs.length > 0, 15_000, 'a log message');
      await call('toggle-simulated-logging');
    });
    await check('a subscribed resource is reported when it changes', async () => {
      const { resources } = await client.listResources();
      await client.subscribeResource({ uri: resources[0].uri });
      await call('toggle-subscriber-updates');
      await until(() => heard.updated.includes(resources[0].uri), 20_000, 'an update');
      await call('toggle-subscriber-updates');
      await client.unsubscribeResource({ uri: resources[0].uri });
    });
    await check('the server samples from the client', async () => {
      const result = await call('trigger-sampling-request', { prompt: 'say words', maxTokens: 20 });
      assert.match(JSON.stringify(result.content), /sampled words/);
      assert.equal(asked.sampling.length, 1);
      assert.match(JSON.stringify(asked.sampling[0].messages), /say words/);
    });
    await check('the server asks the user', async () => {
      const result = await call('trigger-elicitation-request');
      assert.equal(asked.elicitation.length, 1);
      assert.match(JSON.stringify(result.content), /Ada/);
    });
    await check('the server lists the roots of the client', async () => {
      const result = await call('get-roots-list');
      assert.match(JSON.stringify(result.content), /file:\/\/\/tmp\/project/);
      assert.ok(asked.roots > 0);
    });
    await check('a ping is answered', () => client.ping());
    await check('a task runs to its result', async () => {
      const stream = client.experimental.tasks.callToolStream(
        { name: 'simulate-research-query', arguments: { topic: 'bridges' } },
        types.CallToolResultSchema,
        { task: { ttl: 60_000 } },
      );
      const kinds = [];
      let result;
      for await (const message of stream) {
        kinds.push(message.type);
        if (message.type === 'result') result = message.result;
        if (message.type === 'error') throw message.error;
      }
      assert.equal(kinds[0], 'taskCreated');
      assert.match(JSON.stringify(result), /bridges/);
    });
  });
}

async function chains(check, call) {
  const weather = async () => {
    const result = await call('get-structured-content', { location: 'New York' });
    return { id: callId(result), temperature: result.structuredContent.temperature };
  };
  await check('a number of one result goes into another call, in place', async () => {
    const { id, temperature } = await weather();
    const sum = await call('get-sum', { a: { $tool: id, $select: 'temperature' }, b: 1000 });
    assert.match(text(sum), new RegExp(`\\b${temperature + 1000}\\b`));
  });
  await check('and by the map of references that is listed', async () => {
    const { id, temperature } = await weather();
    const sum = await call('get-sum', { b: 2000, _refs: { a: { _tool: id, _select: 'temperature' } } });
    assert.match(text(sum), new RegExp(`\\b${temperature + 2000}\\b`));
  });
  await check('a reference to nothing is a tool error that says so', async () => {
    const result = await call('get-sum', { a: { $tool: 'call_999' }, b: 1 });
    assert.equal(result.isError, true);
    assert.match(text(result), /call_999/);
  });
  await check('a selector that matches nothing offers one that does', async () => {
    const { id } = await weather();
    const result = await call('get-sum', { a: { $tool: id, $select: 'temprature' }, b: 1 });
    assert.equal(result.isError, true);
    assert.match(text(result), /try: [^\n]*temperature/);
  });
  await check('a result of the wrong type is refused before the server sees it', async () => {
    const { id } = await weather();
    const result = await call('get-sum', { a: { $tool: id, $select: 'conditions' }, b: 1 });
    assert.equal(result.isError, true);
    assert.match(text(result), /number/);
  });
}
