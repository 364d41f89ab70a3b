// From what was found to a page and a verdict.

const THROUGH_ONE = `# Conformance of the gateway

What \`tests/suites/mcp/run --write\` found; run it again after a change. \`expected-failures.toml\` gives the reasons for what is
unlike on purpose. [REPLICAS.md](REPLICAS.md) is the same through several replicas.`;

const throughReplicas = (count) => `# Conformance of ${count} replicas of the gateway

What \`tests/suites/mcp/run --replicas ${count} --write\` found, with a gateway of the feature \`redis\`: ${count} replicas over one Redis,
behind a balancer that gives each request to the next of them. What may be unlike is what may be so through one gateway
([RESULTS.md](RESULTS.md), \`expected-failures.toml\`). The servers are reached over HTTP: one that is a process of each replica, and
remembers something, remembers it for that one.`;

export function report({ suites = [], differences, clients, logins }, known, stale, replicas) {
  const out = [];
  let failed = false;
  if (suites.length > 0) {
    out.push('| Suite | Shape | Scenarios that pass | Checks unlike the direct run | Expected so |', '|---|---|---|---|---|');
    for (const { suite, shape, run, unlike, problem } of suites) {
      if (problem) {
        failed = true;
        out.push(`| ${suite.name} | ${shape} | none: ${cell(problem)} | | |`);
        continue;
      }
      const total = run.scenarios.size;
      const open = unlike.filter((one) => !one.known);
      if (total !== suite.scenarios || open.length > 0 || (shape === 'direct' && run.good !== total)) failed = true;
      out.push(`| ${suite.name} | ${shape} | ${run.good}/${suite.scenarios} | ${open.length} | ${unlike.length - open.length} |`);
    }
    const unlike = suites.flatMap(({ suite, shape, unlike = [] }) => unlike.map((one) => ({ suite, shape, ...one })));
    if (unlike.length > 0) {
      out.push('', '| Suite | Shape | Check | Direct | Through | Why |', '|---|---|---|---|---|---|');
      for (const { suite, shape, check, was, is, why, known } of unlike) {
        out.push(`| ${suite.name} | ${shape} | ${cell(check)} | ${was} | ${is} | ${cell(known ? `expected: ${known}` : why)} |`);
      }
    }
  }
  const parts = [['The same answers', differences], ['Clients through the gateway', clients], ['Logging in', logins]];
  for (const [title, part] of parts) {
    if (!part) continue;
    failed ||= part.failed;
    out.push('', `## ${title}`, '', part.text);
  }
  for (const entry of stale) {
    failed = true;
    out.push('', `expected-failures.toml:${entry.line}: listed, and not so: ${entry.check}`);
  }
  const summary = out.join('\n');
  const page = `${replicas ? throughReplicas(replicas) : THROUGH_ONE}

${summary}
`;
  return { failed, summary, page };
}

function cell(text) {
  return String(text ?? '').replaceAll('|', '\\|').replaceAll('\n', ' ').slice(0, 300);
}
