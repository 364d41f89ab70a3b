// The client of rmcp, in both eras over both transports, with `server-everything` behind.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { command, listening } from '../lib/gateway.mjs';
import { follow } from '../lib/lines.mjs';
import { packaged } from '../lib/sdk.mjs';

const servers = { everything: packaged('server-everything', ['stdio']) };

export default async function rmcp(t) {
  const binary = process.env.CROSSFEED_PEER_RMCP ?? join(process.env.CROSSFEED_PEERS_CACHE, 'rmcp', 'debug', 'crossfeed-peer-rmcp');
  if (!existsSync(binary)) {
    t.skip('the client of rmcp', `${binary} is not built`);
    return;
  }
  const { command: program, args } = command(servers, { direct: t.direct });
  for (const era of t.direct ? ['session'] : ['session', 'stateless']) {
    await follow(t, `${era}, stdio`, binary, [era, program, ...args]);
  }
  if (t.direct) return;
  await t.using('a gateway over HTTP', () => listening(servers), async (gateway) => {
    for (const era of ['session', 'stateless']) await follow(t, `${era}, HTTP`, binary, [era, gateway.url.href]);
  });
}
