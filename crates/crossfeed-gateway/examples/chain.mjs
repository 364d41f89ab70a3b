// Two calls of the official TypeScript client: a large directory tree, and a path of it in the next call.
//
//     npm install @modelcontextprotocol/sdk
//     node chain.mjs "$PWD/crates"
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const directory = process.argv[2];
const client = new Client({ name: 'chain', version: '1.0.0' });
await client.connect(new StdioClientTransport({
    command: 'crossfeed',
    args: ['gateway', '--log', 'warn', '--', 'npx', '-y', '@modelcontextprotocol/server-filesystem', directory],
}));

async function call(name, args) {
    const { content } = await client.callTool({ name, arguments: args });
    console.log(content.map((part) => part.text).join('\n'));
}

await call('directory_tree', { path: directory });
await call('get_file_info', {
    path: null,
    _refs: { path: { _tool: 'call_1', _select: `join('/', ['${directory}', content[0].name, content[0].children[0].name])` } },
});
await client.close();
