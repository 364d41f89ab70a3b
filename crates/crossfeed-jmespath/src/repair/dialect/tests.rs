use super::super::{Rule, candidates, foreign};
use crate::{Arena, Budget, Expression, Limits, View, error::Dialect, evaluate};
use crossfeed_json::Document;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

fn has_key(_: &str) -> bool {
    false
}

#[track_caller]
fn check_all(rows: &[(&str, &str)]) {
    let rows = rows.iter();
    let wrong: Vec<_> = rows
        .filter_map(|(input, expected)| {
            let found = candidates(input, &has_key);
            let first = found
                .first()
                .map_or("", |found| &found.expression)
                .to_owned();
            (first != *expected).then_some((input, first, expected))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn jq() {
    check_all(&[
        (".items[] | select(.id==3) | .url", "items[?id == `3`].url"),
        (".items[] | select(.id==3)", "items[?id == `3`]"),
        (".items | map(.url)", "items[*].url"),
        (".items | length", "length(items)"),
        (".items[].url", "items[*].url"),
        (".items | first", "items[0]"),
        (".items | last", "items[-1]"),
        (".items | last.url", "items[-1].url"),
        (".items | last | .url", "items[-1].url"),
        (
            ".items | sort_by(.score) | .[0]",
            "sort_by(items, &score)[0]",
        ),
        (
            ".items | sort_by(.score) | .[0].url",
            "sort_by(items, &score)[0].url",
        ),
        (
            ".items | sort_by(-.score)",
            "reverse(sort_by(reverse(items), &score))",
        ),
        (
            "[.items[] | {name, url: .link}]",
            "items[*].{name: name, url: link}",
        ),
        (
            ".items[] | {name, url: .link}",
            "items[*].{name: name, url: link}",
        ),
        (".items | keys", "sort(keys(items))"),
        (".items | map(.n) | add", "sum(items[*].n)"),
        ("[.items[].n] | add", "sum(items[*].n)"),
        (
            "[.items[] | select(.score > 0.5)] | length",
            "length(items[?score > `0.5`])",
        ),
        (
            "[.items[] | select(.score > 0.5) | .url]",
            "items[?score > `0.5`].url",
        ),
        (
            "[.items[] | select(.score > 0.5)][0].url",
            "items[?score > `0.5`] | [0].url",
        ),
        (
            r#".items | map(select(.kind == "a"))"#,
            "items[?kind == 'a']",
        ),
        (
            r#".items | map(select(.kind == "a") | .url)"#,
            "items[?kind == 'a'].url",
        ),
        (
            r#".items | map(select(.kind == "a" and .score > 1)) | length"#,
            "length(items[?kind == 'a' && score > `1`])",
        ),
        (
            r#".items[] | select(.name | startswith("x")) | .url"#,
            "items[?starts_with(name, 'x')].url",
        ),
        (
            r#".items[] | select(.tags | contains(["x"]))"#,
            "items[?contains(tags, 'x')]",
        ),
        (
            ".items | any(.score > 1)",
            "length(items[?score > `1`]) > `0`",
        ),
        (
            ".items | all(.score > 1)",
            "length(items[?!(score > `1`)]) == `0`",
        ),
        (r#".items[] | .name // "x""#, "items[*].not_null(name, 'x')"),
        ("[limit(2; .items[]) | .url]", "items[:2].url"),
        ("items[*].n | sum", "sum(items[*].n)"),
        (r#".a // "x""#, "not_null(a, 'x')"),
        (
            ".items | max_by(.score) | .url",
            "max_by(items, &score).url",
        ),
        (".items | max_by(.score).url", "max_by(items, &score).url"),
        ("first(.items[])", "items[0]"),
        (
            "first(.items[] | select(.id == 3))",
            "items[?id == `3`] | [0]",
        ),
        (
            r#".items | map(.name) | join(", ")"#,
            "join(', ', items[*].name)",
        ),
        (".items[2:5] | map(.url)", "items[2:5].url"),
        (".items | map(.name | length)", "items[*].length(name)"),
        (".items[] | [.a, .b]", "items[*].[a, b]"),
        (".items[] | [.a, .b] | .[0]", "items[*].[a, b][*][0]"),
        (
            "items.map(x => ({u: x.url})).map(y => y.u)",
            "items[*].{u: url}[*].u",
        ),
        (
            ".items | map(select(.score > 1).url)",
            "items[?score > `1`].url",
        ),
        (
            ".items[] | .tags | map(.n) | first",
            "map(&(tags[*].n | [0]), items)",
        ),
        (
            ".items[] | .name | split(\" \") | .[0]",
            "items[*].split(name, ' ')[0]",
        ),
        (".items[] | length", "items[*].length(@)"),
        (".items | .[2:5]", "items[2:5]"),
        (".items | reverse | .[0]", "reverse(items)[0]"),
        (
            ".items | map({n: .name, c: (.tags | length)})",
            "items[*].{n: name, c: length(tags)}",
        ),
        (".items[]? | .url?", "items[*].url"),
        (".items[]?.url?", "items[*].url"),
        (".a.b | tostring", "to_string(a.b)"),
        ("items[] | select(.id == 3)", "items[?id == `3`]"),
        (
            r#".items | map(has("url"))"#,
            "items[*].contains(keys(@), 'url')",
        ),
    ]);
}

#[test]
fn what_follows_an_operator_is_on_its_outcome() {
    check_all(&[
        (
            ".response | .data // .result | .items",
            "response | not_null(data, result).items",
        ),
        (
            ".response | .data or .result | .items",
            "(response | data || result).items",
        ),
        ("(.x | .a or (.b // .c))[0]", "(x | a || not_null(b, c))[0]"),
        ("(.x | .a // .b)[0]", "x | not_null(a, b)[0]"),
        (
            ".user | (.nick // .real) | .name",
            "user | not_null(nick, real).name",
        ),
        (".items[] | (.a // .b) | .c", "items[*].not_null(a, b).c"),
        (".items[] | (.a or .b) | .c", "map(&a || b, items)[*].c"),
        ("[.items[] | (.a or .b)] | .[0]", "map(&a || b, items)[0]"),
        (
            "items.map(x => x.a || x.b).map(x => x.c)",
            "map(&a || b, items)[*].c",
        ),
        (
            "items.map(x => x.tags.map(t => t.a || t.b))[0]",
            "items[*].map(&a || b, tags) | [0]",
        ),
        ("(a || b)?.c ?? 'x'", "not_null((a || b).c, 'x')"),
        (
            ".items | .[0] | .link // .tags | .[0]",
            "items[0] | not_null(link, tags)[0]",
        ),
    ]);
}

#[test]
fn defaults_are_for_what_is_missing() {
    check_all(&[
        (
            "items[0].get('active', True)",
            "not_null(items[0].active, `true`)",
        ),
        (
            "items[0]?.active ?? true",
            "not_null(items[0].active, `true`)",
        ),
        (".a // .b // .c", "not_null(a, b, c)"),
        // What is false is missing for jq.
        (".active // true", "active || `true`"),
        (".a == 1 // .b", "a == `1` || b"),
        (".a // .b or .c", "not_null(a, b || c)"),
    ]);
}

#[test]
fn tests_of_patterns_are_true_or_false() {
    check_all(&[
        (
            r#".items[] | .name | test("^A")"#,
            "map(&length(match(name, '^A')) > `0`, items)",
        ),
        (
            r#".items[] | select(.name | test("^A")) | .id"#,
            "items[?match(name, '^A')].id",
        ),
        (
            r#".items | map(select((.name | test("^A") | not) and .ok))"#,
            "items[?!match(name, '^A') && ok]",
        ),
    ]);
}

#[test]
fn json_path() {
    check_all(&[
        ("$.items[*].url", "items[*].url"),
        ("$.items.length()", "length(items)"),
        (
            "$.items[?(@.name =~ /^a.*/i)].url",
            "items[?match(name, '(?i)^a.*')].url",
        ),
        ("$.items.length", "length(items)"),
        ("$.items[(@.length-1)]", "items[-1]"),
        ("$.items[(@.length-1)].url", "items[-1].url"),
        (
            "$.items[?(@.score > 0.5)].url",
            "items[?(@.score > `0.5`)].url",
        ),
        (
            "$.items[?(@.score > 0.5 && @.kind == 'a')].url",
            "items[?(@.score > `0.5` && @.kind == 'a')].url",
        ),
        ("$['items'][0]['url']", "items[0].url"),
        ("$.items[0,1]", "items.[[0], [1]]"),
        ("$.items[-1:]", "items[-1:]"),
        ("$..url", ""),
    ]);
}

#[test]
fn javascript() {
    check_all(&[
        ("items.map(x => x.url)", "items[*].url"),
        (
            "items.filter(x => x.score > 0.5 && x.kind === 'a').map(x => x.url)",
            "items[?score > `0.5` && kind == 'a'].url",
        ),
        (
            "items.find(i => i.id === 3).url",
            "items[?id == `3`] | [0].url",
        ),
        ("items.slice(-3).map(i => i.url)", "items[-3:].url"),
        ("items?.[0]?.url", "items[0].url"),
        (
            "items.some(x => x.score > 1)",
            "length(items[?score > `1`]) > `0`",
        ),
        (
            "items.every(x => x.score > 1)",
            "length(items[?!(score > `1`)]) == `0`",
        ),
        (
            "items.filter(x => x.tags.includes('a'))",
            "items[?contains(tags, 'a')]",
        ),
        (
            "items.filter(x => x.name.startsWith('a')).length",
            "length(items[?starts_with(name, 'a')])",
        ),
        (
            "items.map(x => x.name).join(', ')",
            "join(', ', items[*].name)",
        ),
        ("items.reduce((s, x) => s + x.n, 0)", "sum(items[*].n)"),
        (
            "items.sort((a, b) => a.score - b.score)[0].url",
            "sort_by(items, &score)[0].url",
        ),
        (
            "items.sort((a,b)=>b.score-a.score)[0]",
            "reverse(sort_by(reverse(items), &score))[0]",
        ),
        (
            "items.sort((a, b) => a.name.localeCompare(b.name)).map(x => x.name)",
            "sort_by(items, &name)[*].name",
        ),
        ("items.flatMap(x => x.tags)", "items[*].tags[]"),
        ("Object.keys(meta)", "keys(meta)"),
        ("Object.values(meta).map(m => m.x)", "values(meta)[*].x"),
        (
            "Math.max(...items.map(x => x.score))",
            "max(items[*].score)",
        ),
        ("JSON.parse(body).y", "y"),
        (
            "items.map(({url, name}) => ({url, name}))",
            "items[*].{url: url, name: name}",
        ),
        (
            "items.map(x => ({url: x.link, n: x.tags.length}))",
            "items[*].{url: link, n: length(tags)}",
        ),
        ("items.map(x => [x.a, x.b])", "items[*].[a, b]"),
        ("items.filter(x => !x.deleted)", "items[?!deleted]"),
        (
            "items.filter(x => !x.meta.deleted).map(x => x.id)",
            "items[?!(meta.deleted)].id",
        ),
        ("items.filter(x => x.a === x.b)", "items[?@.a == @.b]"),
        (
            r#"items.filter(i => i.kind !== "a")[0]"#,
            "items[?kind != 'a'] | [0]",
        ),
        (
            "items.filter(i => i['x-id'] == 'a')",
            r#"items[?"x-id" == 'a']"#,
        ),
        ("items.map(x => x.score > 1)", "map(&score > `1`, items)"),
        (
            "items.map(x => x.tags.map(t => t.name))",
            "items[*].tags[*].name",
        ),
        ("items.map(x => x.tags[0])", "items[*].tags[0]"),
        ("items.filter(x => ids.includes(x.id))", ""),
        (
            "items.filter(x => ['a', 'b'].includes(x.kind))",
            "items[?contains(['a', 'b'], kind)]",
        ),
        ("items.map(x => x.a + x.b)", "items[*].sum([a, b])"),
        ("items.map(x => x.a * x.b)", ""),
        ("items.map(x => x)", "items[*]"),
        (
            "items.Where(x => x.a > 1).Select(x => x.url).First()",
            "items[?a > `1`].url | [0]",
        ),
        ("items.select(x => x.url)", ""),
        (
            "items.FirstOrDefault(x => x.id == 3).url",
            "items[?id == `3`] | [0].url",
        ),
        ("items.map(x => { return x.url; })", "items[*].url"),
        ("items.map(x => { return {u: x.url} })", "items[*].{u: url}"),
        ("items.map(x => { const y = x.url; return y })", ""),
        ("items.map(({url}) => url + base)", ""),
        (
            "Math.max.apply(null, items.map(x => x.n))",
            "max(items[*].n)",
        ),
        (
            "items.filter(x => /^a\\/b/i.test(x.name)).map(x => x.id)",
            "items[?match(name, '(?i)^a/b')].id",
        ),
        (
            "items.map(x => x.a ? x.b : x.c)",
            "map(&(a && [b] || [c])[0], items)",
        ),
        ("items.map(x => `${x.url}`)", "items[*].join('', [url])"),
        ("map(x => x.url)", "[*].url"),
        (
            "[...items].sort((a, b) => a.n - b.n)[0].url",
            "sort_by(items, &n)[0].url",
        ),
        ("result.map(x => x.url)", "[*].url"),
        ("data.items.filter(x => x.ok)", "items[?ok]"),
        ("data => data.items.map(i => i.url)", "items[*].url"),
        ("(data) => data.items[0].url", "items[0].url"),
        (
            "items.map(x => x.url).filter(Boolean)",
            "items[*].url | [?@]",
        ),
        ("(items || []).map(x => x.url)", "(items || `[]`)[*].url"),
        (
            "items.find(x => x.id === 3)?.url ?? 'none'",
            "not_null(items[?id == `3`] | [0].url, 'none')",
        ),
        (
            "_.chain(items).map(x => x.url).first().value()",
            "items[*].url | [0]",
        ),
        (
            "items.filter(x => !!x.url).length > 0",
            "length(items[?!(!url)]) > `0`",
        ),
        ("items.filter(x => x.url != null)", "items[?url != `null`]"),
        ("result.items.map((item) => item.url)", "items[*].url"),
    ]);
}

#[test]
fn functions_and_methods() {
    check_all(&[
        ("items.length", "length(items)"),
        ("items[items.length - 1]", "items[-1]"),
        ("items[items.length-1].url", "items[-1].url"),
        ("a.items[a.items.length - 2].url", "a.items[-2].url"),
        ("items.at(-1)", "items[-1]"),
        ("items.at(-1).url", "items[-1].url"),
        ("items.slice(0, 3)", "items[0:3]"),
        ("tags.includes('a')", "contains(tags, 'a')"),
        ("items.reverse()", "reverse(items)"),
        ("items.filter(Boolean)", "items[?@]"),
        ("len(items)", "length(items)"),
        ("items[last()].url", "items[-1].url"),
        ("find(items, {id: 3}).url", "items[?id == `3`] | [0].url"),
        ("count()", ""),
        ("rows | count(@)", "length(rows)"),
        ("items.size", "length(items)"),
        ("items.pop().url", "items[-1].url"),
        ("text.splitlines()[0]", "lines(@)[0]"),
        ("a + ' ' + b", "join(' ', [a, b])"),
        ("concat(a, ' ', b)", "join(' ', [a, b])"),
        (
            "items[?has(name, 'x')].id",
            "items[?contains(name, 'x')].id",
        ),
        ("items[*]{n: name, u: url}", "items[*].{n: name, u: url}"),
        ("items[*].url.", "items[*].url"),
        ("items[0].url (string)", "items[0].url"),
        ("items[0].url → string", "items[0].url"),
        ("items[0].url -> string", "items[0].url"),
        ("```\nitems[0].url\n```", "items[0].url"),
        (
            "```jmespath\nitems[?a == \"x\"].url\n```",
            "items[?a == 'x'].url",
        ),
        ("[security == `false`].name", "[?security == `false`].name"),
        (
            "items[contains(name, 'x')].url",
            "items[?contains(name, 'x')].url",
        ),
        ("lines(@)[?contains(@, 'x')", "lines(@)[?contains(@, 'x')]"),
        (
            "items[?a.b like '%x%'].url",
            "items[?contains(a.b, 'x')].url",
        ),
        (
            "items[?a LIKE 'x%' and b].url",
            "items[?starts_with(a, 'x') && b].url",
        ),
        (
            "items[?name contains 'x'].url",
            "items[?contains(name, 'x')].url",
        ),
        ("items[?a like 'x_y%'].url", ""),
        ("items.-1.url", "items[-1].url"),
        ("split(\"\\n\") | length", "length(lines(@))"),
        ("items[?kind eq 'a'].url", "items[?kind == 'a'].url"),
        (
            "items[?kind == 'a' & score > 1].url",
            "items[?kind == 'a' && score > `1`].url",
        ),
        (
            "items[?not (kind == 'a')].url",
            "items[?!(kind == 'a')].url",
        ),
        ("items[?not(kind == 'a')].url", "items[?!(kind == 'a')].url"),
        (
            "items[?not kind == 'a' and done].url",
            "items[?!(kind == 'a') && done].url",
        ),
        (
            "items[?done && not meta.x].url",
            "items[?done && !(meta.x)].url",
        ),
        ("items[?'x' in tags].url", "items[?contains(tags, 'x')].url"),
        (
            "items | sort_by(&score) | [0].url",
            "sort_by(items, &score) | [0].url",
        ),
        ("items[*].name | join(', ')", "join(', ', items[*].name)"),
        ("items | length()", "length(items)"),
        ("items[*].{n = name, u = url}", "items[*].{n: name, u: url}"),
        (
            "items[*].{'n': name, 'u': url}",
            "items[*].{n: name, u: url}",
        ),
        ("items[*].{n: name, u: url,}", "items[*].{n: name, u: url}"),
        ("[a, b,]", "[a, b]"),
        ("contains(a, 'x',)", "contains(a, 'x')"),
        ("items[0].url]", "items[0].url"),
        ("items[*].url)", "items[*].url"),
        ("items[0].url,", "items[0].url"),
        ("length(items", "length(items)"),
        ("items[*].{n: name", "items[*].{n: name}"),
        ("{items[0].url}", "items[0].url"),
        ("select: items[0].url", "items[0].url"),
        ("$select: items[0].url", "items[0].url"),
        ("`url`", "url"),
        ("`[*].url`", "[*].url"),
        ("\"length(items)\"", "length(items)"),
        ("`two words`", ""),
        ("length", "length(@)"),
        (
            "items[?a][?b].tags[?c].length",
            "length(items[?a] | [?b].tags | [?c])",
        ),
        ("items[?done == True].url", "items[?done == `true`].url"),
        ("items[?done is not None].url", "items[?done != `null`].url"),
        ("items[kind=='a'].url", "items[?kind=='a'].url"),
        ("items[id=3].url", "items[?id==`3`].url"),
        ("items[tags[0] == 'a'].url", "items[?tags[0] == 'a'].url"),
        (
            r#"items[?name =~ "^a"].url"#,
            "items[?match(name, '^a')].url",
        ),
        ("{{ items[0].url }}", "items[0].url"),
        ("{{items.0.url}}", "items[0].url"),
        ("= items[0].url", "items[0].url"),
        ("return items[0].url;", "items[0].url"),
        ("items[0].url;", "items[0].url"),
        ("return", ""),
        ("return(a)", "a"),
        ("len(items) > 0", "length(items) > `0`"),
        (
            "items[?len(tags) > 0 && kind == \"a\"].url",
            "items[?length(tags) > `0` && kind == 'a'].url",
        ),
        (
            "data.get('items', [])[0].get('url')",
            "not_null(items, `[]`)[0].url",
        ),
        ("max(items, score)", "max_by(items, &score)"),
        ("sort(items, &score)", "sort_by(items, &score)"),
        (r#"items[-1]["url"]"#, "items[-1].url"),
        ("items[0].get('url')", "items[0].url"),
        (
            "items[0].get('url', 'none')",
            "not_null(items[0].url, 'none')",
        ),
        ("items[:3]", ""),
        ("items.0.url", "items[0].url"),
        ("items.0.tags.1", "items[0].tags[1]"),
        ("items.#.url", "items[*].url"),
        ("items[].0.url", "items[][0].url"),
        ("startsWith(name, 'x')", "starts_with(name, 'x')"),
        (
            r#"items[?startsWith(name, "x")]"#,
            "items[?starts_with(name, 'x')]",
        ),
        ("toNumber(a)", "to_number(a)"),
        (r#"len(items[?kind == "a"])"#, "length(items[?kind == 'a'])"),
        ("size(items)", "length(items)"),
        ("count(items)", "length(items)"),
        ("first(items)", "items[0]"),
        ("first(items).url", "items[0].url"),
        ("first(items[?a == 'x'].url)", "items[?a == 'x'].url | [0]"),
        ("last(items)", "items[-1]"),
        ("average(items[*].n)", "avg(items[*].n)"),
        ("flatten(items[*].tags)", "items[*].tags[]"),
        ("items.length()", "length(items)"),
        ("items | length", "length(items)"),
        ("name.contains('x')", "contains(name, 'x')"),
        ("items[?name.contains('x')]", "items[?contains(name, 'x')]"),
        (
            "items[?name.startsWith('x')].url",
            "items[?starts_with(name, 'x')].url",
        ),
        ("items.sort_by(&x)", "sort_by(items, &x)"),
        ("items.max_by(&score).url", "max_by(items, &score).url"),
        ("sort_by(items, score)", "sort_by(items, &score)"),
        (
            "sort_by(items, score)[0].url",
            "sort_by(items, &score)[0].url",
        ),
        (r#"max_by(items, "score")"#, r#"max_by(items, &"score")"#),
        ("max_by(items, 'score')", "max_by(items, &score)"),
        ("map(url, items)", "map(&url, items)"),
        ("map(items, &url)", "map(&url, items)"),
        ("map(items, 'url')", "map(&url, items)"),
        ("join(items[*].name, ', ')", "join(', ', items[*].name)"),
        (r#""items[0].url""#, "items[0].url"),
        ("`items[0].url`", "items[0].url"),
        ("[a b]", "[a, b]"),
        ("contains(x 'y')", "contains(x, 'y')"),
        ("contains(x  y)", "contains(x, y)"),
        ("items[*].{name, url}", "items[*].{name: name, url: url}"),
        (
            "items[?kind==active][0].name",
            "items[?kind=='active'][0].name",
        ),
        ("items[*].name[0]", "items[*].name | [0]"),
        ("items[?a == 'x'][0].name", "items[?a == 'x'] | [0].name"),
        (
            "items[?score > `1`].length()",
            "length(items[?score > `1`])",
        ),
        ("items[?score > 1].length", "length(items[?score > `1`])"),
        ("upper(name)", ""),
        ("items[*].url", ""),
        ("items.*.url", "items[*].url"),
    ]);
}

#[test]
fn python() {
    check_all(&[
        ("[x['url'] for x in items]", "items[*].url"),
        ("[x.url for x in items]", "items[*].url"),
        (
            "[x.url for x in items if x.score > 0.5]",
            "items[?score > `0.5`].url",
        ),
        (
            "[x for x in items if x['kind'] == 'a' and not x['deleted']]",
            "items[?kind == 'a' && !deleted]",
        ),
        (
            "[x for x in items if 'a' in x['tags']][0]['url']",
            "items[?contains(tags, 'a')] | [0].url",
        ),
        ("sum(x['n'] for x in items)", "sum(items[*].n)"),
        ("sum(1 for x in items if x.ok)", "length(items[?ok])"),
        ("lambda r: r['items'][0]['url']", "items[0].url"),
        (
            "sorted(items, key=lambda i: -i['score'])[0]",
            "reverse(sort_by(reverse(items), &score))[0]",
        ),
        ("len([x for x in items if x['ok']])", "length(items[?ok])"),
        (
            "max(items, key=lambda x: x['score'])",
            "max_by(items, &score)",
        ),
        (
            "max(items, key=lambda x: x['score'])['url']",
            "max_by(items, &score).url",
        ),
        ("max(x['score'] for x in items)", "max(items[*].score)"),
        (
            "sorted(items, key=lambda x: x['score'], reverse=True)[0]",
            "reverse(sort_by(reverse(items), &score))[0]",
        ),
        (
            "sorted(items, key=lambda x: x['score'])[:3]",
            "sort_by(items, &score)[:3]",
        ),
        (
            "next(x for x in items if x['id'] == 3)",
            "items[?id == `3`] | [0]",
        ),
        (
            "next((x for x in items if x['id'] == 3), None)['url']",
            "items[?id == `3`] | [0].url",
        ),
        ("'a' in tags", "contains(tags, 'a')"),
        ("[t for x in items for t in x['tags']]", "items[*].tags[]"),
        (
            "[{'u': x['url'], 'n': len(x['tags'])} for x in items]",
            "items[*].{u: url, n: length(tags)}",
        ),
        (
            "[x for x in items if x['url'] is not None]",
            "items[?url != `null`]",
        ),
        (
            "[x for x in items if x['kind'] in ['a', 'b']]",
            "items[?contains(['a', 'b'], kind)]",
        ),
        (
            "', '.join(x['name'] for x in items)",
            "join(', ', items[*].name)",
        ),
        ("any(x['ok'] for x in items)", "length(items[?ok]) > `0`"),
        ("list(map(lambda x: x['url'], items))", "items[*].url"),
        ("list(filter(lambda x: x['ok'], items))", "items[?ok]"),
        ("[x['url'] for x in items[:3]]", "items[:3].url"),
        (
            "[x for x in items if x['name'].startswith('a')]",
            "items[?starts_with(name, 'a')]",
        ),
    ]);
}

#[test]
fn slashes() {
    check_all(&[
        ("/items/0/url", "items[0].url"),
        ("/items/*/url", "items[*].url"),
        ("count(/items)", "length(items)"),
        ("sum(/items/*/n)", "sum(items[*].n)"),
        ("/items/length()", "length(items)"),
        ("items/0/url", "items[0].url"),
        ("//url", ""),
        ("/items[id=3]/url", "items[?id == `3`].url"),
        ("/items[@kind='a']/url", "items[?kind == 'a'].url"),
        ("/items[1]/url", ""),
        ("/items[0]/url", "items[0].url"),
        ("#/items/0/url", "items[0].url"),
        ("/items[last()]/url", "items[-1].url"),
        ("/items/*[a/b='x']/url", "items[?a.b == 'x'].url"),
        ("/a/*/b[c=1]/d", "a[*].b[?c == `1`].d"),
        ("/items/0/@id", "items[0].id"),
    ]);
}

#[test]
fn sql() {
    check_all(&[
        ("SELECT url FROM items", "items[*].url"),
        ("select * from data.items;", "data.items"),
        (
            "SELECT url FROM items WHERE score > 0.5 AND kind = 'a'",
            "items[?score > `0.5` && kind == 'a'].url",
        ),
        (
            "SELECT id, name AS n FROM items WHERE kind IN ('a', 'b') OR x IS NOT NULL",
            "items[?contains(['a', 'b'], kind) || x != `null`].{id: id, n: name}",
        ),
        (
            "SELECT url FROM items ORDER BY score DESC LIMIT 3",
            "reverse(sort_by(reverse(items), &score))[:3].url",
        ),
        (
            "SELECT COUNT(*) FROM items WHERE ok",
            "length(items[?ok == `true`])",
        ),
        ("SELECT MAX(score) FROM items", "max(items[*].score)"),
        (
            "SELECT a FROM b WHERE c LIKE '%x%'",
            "b[?contains(c, 'x')].a",
        ),
        ("SELECT a FROM b WHERE c <> 'x'", "b[?c != 'x'].a"),
        (
            "SELECT a FROM b WHERE c BETWEEN 1 AND 3 AND d",
            "b[?c >= `1` && c <= `3` && d == `true`].a",
        ),
        ("SELECT a FROM b WHERE NOT c = 'x'", "b[?!(c == 'x')].a"),
        (
            "SELECT a FROM b WHERE c NOT BETWEEN 1 AND 3",
            "b[?!(c >= `1` && c <= `3`)].a",
        ),
        (
            "SELECT a FROM b WHERE c ILIKE 'x%'",
            r"b[?match(c, '(?i)\Ax')].a",
        ),
        ("SELECT a FROM b GROUP BY c", ""),
        ("SELECT DISTINCT a FROM b", ""),
        ("select(from)", "[?from]"),
    ]);
}

#[test]
fn pairs() {
    check_all(&[
        (".a | to_entries | map(.value.name)", "values(a)[*].name"),
        (".a | to_entries[] | .key", "keys(a)"),
        (
            ".a | to_entries | map(select(.value.n > 1) | .value.id)",
            "values(a)[?n > `1`].id",
        ),
        (".a | to_entries | map(select(.value.n > 1) | .key)", ""),
        (".a | to_entries | length", "length(a)"),
        (
            "Object.entries(a).map(([k, v]) => v.name)",
            "values(a)[*].name",
        ),
        ("Object.entries(a).map(([k, v]) => k)", "keys(a)"),
        ("Object.entries(a).map(e => e[1].name)", "values(a)[*].name"),
        ("Object.entries(a).map(([k, v]) => ({k, v}))", ""),
        ("[v['name'] for k, v in a.items()]", "values(a)[*].name"),
        ("[k for k, v in a.items()]", "keys(a)"),
        ("[k for k, v in a.items() if v > 1]", ""),
    ]);
}

#[test]
fn lodash() {
    check_all(&[
        ("_.get(x, 'items[0].url')", "items[0].url"),
        ("_.map(items, 'url')", "map(&url, items)"),
        ("_.filter(items, {kind: 'a'})", "items[?kind == 'a']"),
        ("_.find(items, {id: 3}).url", "items[?id == `3`] | [0].url"),
        (
            "_.find(items, i => i.id === 3).url",
            "items[?id == `3`] | [0].url",
        ),
        ("_.size(items)", "length(items)"),
        (
            "_.filter(items, {id: 3}).map(x => x.url)",
            "items[?id == `3`].url",
        ),
        ("_.sortBy(items, 'score')", "sort_by(items, &score)"),
        (
            "_.orderBy(items, ['score'], ['desc'])",
            "reverse(sort_by(reverse(items), &score))",
        ),
        ("_.filter(items, ['kind', 'a'])", "items[?kind == 'a']"),
    ]);
}

#[test]
fn what_is_not_understood_says_its_language() {
    let said = |input: &str| foreign(input, &has_key).map(|found| found.to_string());
    for (input, expected) in [
        ("items[*].url", None),
        ("items[", None),
        (
            ".items[] | select(.id > 3) | .name | ascii_downcase",
            Some("this is jq; understood so far: `items[?id > `3`].name`"),
        ),
        ("$..url", Some("this is JSONPath")),
        (
            "$.items..url",
            Some("this is JSONPath; understood so far: `items`"),
        ),
        (
            "items.map(x => x.a * x.b)",
            Some("this is JavaScript; understood so far: `items`"),
        ),
        (
            "[x['a'] * 2 for x in items]",
            Some("this is Python; understood so far: `items`"),
        ),
        ("//url", Some("this is XPath")),
        (
            ".items | map(.url)",
            Some("this is jq, and means `items[*].url`"),
        ),
    ] {
        assert_eq!(said(input).as_deref(), expected, "{input}");
    }
    assert_eq!(
        foreign("_.chunk(items, 2)", &has_key).unwrap().dialect,
        Dialect::Lodash
    );
}

/// A condition on an item.
#[derive(Clone, Debug)]
enum Condition {
    Compares(&'static str, &'static str, Value),
    StartsWith(&'static str, &'static str),
    HasTag(&'static str),
    IsFalse(&'static str),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

/// What is taken from the list that is left.
#[derive(Clone, Debug)]
enum Taken {
    All,
    Each(&'static [&'static str]),
    One(i64, &'static [&'static str]),
    Slice(usize, usize, &'static [&'static str]),
    Length,
    Sum,
    Best(&'static str),
    Pairs,
    Tags,
    /// The size of one member of each item or of the first one, or of another member where there is none.
    EachElse(Else),
    FirstElse(Else),
    /// Whether each item has a score above zero, as a text.
    Compared,
    /// What a list that is made of each item gives.
    OfEach(Made, Part),
    /// The name of each item that is done, and of no other.
    OfSome,
}

/// A list that is made of one item.
#[derive(Clone, Copy, Debug)]
enum Made {
    Pair,
    Split,
    Mapped,
    Filtered,
    Keys,
}

/// What is taken of such a list.
#[derive(Clone, Copy, Debug)]
enum Part {
    At(usize),
    First,
    Last,
    Slice,
    Length,
}

/// How an alternative is chosen.
#[derive(Clone, Copy, Debug)]
enum Else {
    Missing,
    False,
}

/// A query that every dialect can say.
#[derive(Clone, Debug)]
struct Plan {
    path: &'static [&'static str],
    condition: Option<Condition>,
    /// The key to sort by, and whether it falls.
    order: Option<(&'static str, bool)>,
    taken: Taken,
}

const PATHS: [&[&str]; 4] = [&["name"], &["meta", "size"], &["x-id"], &["meta", "a b"]];

fn condition() -> impl Strategy<Value = Condition> {
    let compared = prop_oneof![
        (select(vec!["==", "!="]), select(vec!["a", "it's", "x\"y"]))
            .prop_map(|(sign, text)| Condition::Compares("kind", sign, json!(text))),
        (
            select(vec!["==", "!=", "<", "<=", ">", ">="]),
            select(vec![json!(1), json!(0.5), json!(-2)])
        )
            .prop_map(|(sign, number)| Condition::Compares("score", sign, number)),
        select(vec![json!(true), json!(false)])
            .prop_map(|flag| Condition::Compares("done", "==", flag)),
        select(vec!["a", "b"]).prop_map(|part| Condition::StartsWith("name", part)),
        select(vec!["t", "u"]).prop_map(Condition::HasTag),
        Just(Condition::IsFalse("done")),
    ];
    compared.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::Both(a.into(), b.into())),
            (inner.clone(), inner).prop_map(|(a, b)| Condition::Either(a.into(), b.into())),
        ]
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let path = || select(PATHS.to_vec());
    let other = || select(vec![Else::Missing, Else::False]);
    let made = select(vec![
        Made::Pair,
        Made::Split,
        Made::Mapped,
        Made::Filtered,
        Made::Keys,
    ]);
    let part = select(vec![
        Part::At(0),
        Part::At(1),
        Part::First,
        Part::Last,
        Part::Slice,
        Part::Length,
    ]);
    let taken = prop_oneof![
        Just(Taken::All),
        path().prop_map(Taken::Each),
        (-2_i64..3, path()).prop_map(|(at, path)| Taken::One(at, path)),
        (0_usize..3, 0_usize..4, path()).prop_map(|(a, b, path)| Taken::Slice(a, b, path)),
        Just(Taken::Length),
        Just(Taken::Sum),
        select(vec!["max", "min"]).prop_map(Taken::Best),
        Just(Taken::Pairs),
        Just(Taken::Tags),
        other().prop_map(Taken::EachElse),
        other().prop_map(Taken::FirstElse),
        Just(Taken::Compared),
        (made, part).prop_map(|(made, part)| Taken::OfEach(made, part)),
        Just(Taken::OfSome),
    ];
    let order = proptest::option::of((select(vec!["score", "name"]), any::<bool>()));
    let lists: [&[&str]; 3] = [&["items"], &["data", "items"], &["x-items"]];
    (
        select(lists.to_vec()),
        proptest::option::of(condition()),
        order,
        taken,
    )
        .prop_map(|(path, condition, order, taken)| Plan {
            path,
            condition,
            // An order of people has no value beside another one, and nulls make one.
            order: order.filter(|_| !matches!(taken, Taken::OfEach(Made::Mapped, _))),
            taken,
        })
}

fn document() -> impl Strategy<Value = Value> {
    let item = (
        select(vec!["a", "it's", "x\"y", "c"]),
        -2_i64..3,
        any::<bool>(),
        select(vec!["ab", "ba", "b", "c"]),
        vec(select(vec!["t", "u", "v"]), 0..3),
        0..9_i64,
        select(vec![Value::Null, json!({"size": 9})]),
    );
    let item = item.prop_map(|(kind, score, done, name, tags, size, nick)| {
        json!({
            "nick": nick,
            "kind": kind, "score": score, "done": done, "name": name, "tags": tags, "x-id": size,
            "meta": {"size": size, "a b": name},
        })
    });
    vec(item, 1..6)
        .prop_map(|items| json!({"items": items, "data": {"items": items}, "x-items": items}))
}

/// The plan as jq, JavaScript, Python and JMESPath say it.
trait Spelling {
    fn field(&self, path: &[&str]) -> String;
    fn equality<'s>(&self, sign: &'s str) -> &'s str {
        sign
    }
    fn constant(&self, value: &Value) -> String {
        value.to_string()
    }
    fn condition(&self, condition: &Condition) -> String {
        let [and, or, not] = self.words();
        match condition {
            Condition::Compares(name, sign, value) => format!(
                "{} {} {}",
                self.field(&[name]),
                self.equality(sign),
                self.constant(value)
            ),
            Condition::StartsWith(name, part) => self.starts_with(&self.field(&[name]), part),
            Condition::HasTag(tag) => self.has_tag(&self.field(&["tags"]), tag),
            Condition::IsFalse(name) => not.replace('@', &self.field(&[name])),
            Condition::Both(a, b) => {
                format!("({}) {and} ({})", self.condition(a), self.condition(b))
            }
            Condition::Either(a, b) => {
                format!("({}) {or} ({})", self.condition(a), self.condition(b))
            }
        }
    }
    fn words(&self) -> [&'static str; 3];
    fn starts_with(&self, text: &str, part: &str) -> String;
    fn has_tag(&self, tags: &str, tag: &str) -> String;
    fn whole(&self, plan: &Plan) -> String;
}

struct Jmespath;

impl Spelling for Jmespath {
    fn field(&self, path: &[&str]) -> String {
        let names: Vec<_> = path.iter().map(|name| json!(name).to_string()).collect();
        names.join(".")
    }
    fn constant(&self, value: &Value) -> String {
        format!("`{value}`")
    }
    fn words(&self) -> [&'static str; 3] {
        ["&&", "||", "!@"]
    }
    fn starts_with(&self, text: &str, part: &str) -> String {
        format!("starts_with({text}, '{part}')")
    }
    fn has_tag(&self, tags: &str, tag: &str) -> String {
        format!("contains({tags}, '{tag}')")
    }
    fn whole(&self, plan: &Plan) -> String {
        let mut stages = vec![self.field(plan.path)];
        if let Some(condition) = &plan.condition {
            stages.push(format!("[?{}]", self.condition(condition)));
        }
        match plan.order {
            Some((key, true)) => stages.push(format!("reverse(sort_by(reverse(@), &{key}))")),
            Some((key, false)) => stages.push(format!("sort_by(@, &{key})")),
            None => {}
        }
        match &plan.taken {
            Taken::All => {}
            Taken::Each(path) => stages.push(format!("[*].{}", self.field(path))),
            Taken::One(at, path) => stages.push(format!("[{at}].{}", self.field(path))),
            Taken::Slice(a, b, path) => {
                stages.push(format!("[{a}:{b}] | [*].{}", self.field(path)));
            }
            Taken::Length => stages.push("length(@)".to_owned()),
            Taken::Sum => stages.push("sum([*].score)".to_owned()),
            Taken::Best(name) => stages.push(format!("{name}([*].score)")),
            Taken::Pairs => stages.push("[*].{n: name, count: length(tags)}".to_owned()),
            Taken::Tags => stages.push("[*].tags[]".to_owned()),
            Taken::EachElse(_) => stages.push("map(&not_null(nick.size, meta.size), @)".to_owned()),
            Taken::FirstElse(_) => stages.push("not_null([0].nick.size, [0].meta.size)".to_owned()),
            Taken::Compared => stages.push("map(&to_string(score > `0`), @)".to_owned()),
            Taken::OfEach(made, part) => {
                let made = match made {
                    Made::Pair => "[kind, name]",
                    Made::Split => "split(name, 'a')",
                    Made::Mapped => "map(&length(@), tags)",
                    Made::Filtered => "tags[?@ != 't']",
                    Made::Keys => "sort(keys(meta))",
                };
                let part = match part {
                    Part::At(at) => format!("[{at}]"),
                    Part::First => "[0]".to_owned(),
                    Part::Last => "[-1]".to_owned(),
                    Part::Slice => "[0:1]".to_owned(),
                    Part::Length => "length(@)".to_owned(),
                };
                stages.push(format!("map(&({made} | {part}), @)[*]"));
            }
            Taken::OfSome => stages.push("[?done].name".to_owned()),
        }
        stages.join(" | ")
    }
}

struct Jq;

impl Spelling for Jq {
    fn field(&self, path: &[&str]) -> String {
        let names = path.iter().map(|name| {
            if name.contains(['-', ' ']) {
                format!("[{}]", json!(name))
            } else {
                format!(".{name}")
            }
        });
        let text: String = names.collect();
        if text.starts_with('[') {
            format!(".{text}")
        } else {
            text
        }
    }
    fn words(&self) -> [&'static str; 3] {
        ["and", "or", "(@ | not)"]
    }
    fn starts_with(&self, text: &str, part: &str) -> String {
        format!("({text} | startswith({}))", json!(part))
    }
    fn has_tag(&self, tags: &str, tag: &str) -> String {
        format!("({tags} | contains([{}]))", json!(tag))
    }
    fn whole(&self, plan: &Plan) -> String {
        let list = self.field(plan.path);
        let mut text = match &plan.condition {
            Some(condition) => format!("[{list}[] | select({})]", self.condition(condition)),
            None => format!("{list} | map(.)"),
        };
        match plan.order {
            Some((key, true)) => text += &format!(" | reverse | sort_by(.{key}) | reverse"),
            Some((key, false)) => text += &format!(" | sort_by(.{key})"),
            None => {}
        }
        text + &match &plan.taken {
            Taken::All => String::new(),
            Taken::Each(path) => format!(" | map({})", self.field(path)),
            Taken::One(at, path) => {
                format!(" | .[{at}]{}", self.field(path).replacen(".[", "[", 1))
            }
            Taken::Slice(a, b, path) => format!(" | .[{a}:{b}] | map({})", self.field(path)),
            Taken::Length => " | length".to_owned(),
            Taken::Sum => " | map(.score) | add".to_owned(),
            Taken::Best(name) => format!(" | map(.score) | {name}"),
            Taken::Pairs => " | map({n: .name, count: (.tags | length)})".to_owned(),
            Taken::Tags => " | [.[] | .tags[]]".to_owned(),
            Taken::EachElse(Else::Missing) => " | .[] | (.nick // .meta) | .size".to_owned(),
            Taken::EachElse(Else::False) => " | map((.nick // .meta).size)".to_owned(),
            Taken::FirstElse(Else::Missing) => " | .[0] | .nick // .meta | .size".to_owned(),
            Taken::FirstElse(Else::False) => " | (.[0].nick // .[0].meta).size".to_owned(),
            Taken::Compared => " | .[] | (.score > 0) | tostring".to_owned(),
            Taken::OfEach(made, part) => {
                let made = match made {
                    Made::Pair => "[.kind, .name]",
                    Made::Split => ".name | split(\"a\")",
                    Made::Mapped => ".tags | map(length)",
                    Made::Filtered => ".tags | map(select(. != \"t\"))",
                    Made::Keys => ".meta | keys",
                };
                let part = match part {
                    Part::At(at) => format!(".[{at}]"),
                    Part::First => "first".to_owned(),
                    Part::Last => "last".to_owned(),
                    Part::Slice => ".[0:1]".to_owned(),
                    Part::Length => "length".to_owned(),
                };
                if plan.condition.is_some() {
                    format!(" | .[] | {made} | {part}")
                } else {
                    format!(" | map({made} | {part})")
                }
            }
            Taken::OfSome if plan.condition.is_some() => {
                " | .[] | if .done then .name else empty end".to_owned()
            }
            Taken::OfSome => " | map(select(.done) | .name // empty)".to_owned(),
        }
    }
}

struct Script;

impl Spelling for Script {
    fn field(&self, path: &[&str]) -> String {
        format!("x{}", member(path))
    }
    fn equality<'s>(&self, sign: &'s str) -> &'s str {
        match sign {
            "==" => "===",
            "!=" => "!==",
            other => other,
        }
    }
    fn words(&self) -> [&'static str; 3] {
        ["&&", "||", "!@"]
    }
    fn starts_with(&self, text: &str, part: &str) -> String {
        format!("{text}.startsWith('{part}')")
    }
    fn has_tag(&self, tags: &str, tag: &str) -> String {
        format!("{tags}.includes('{tag}')")
    }
    fn whole(&self, plan: &Plan) -> String {
        let mut text = match member(plan.path) {
            path if path.starts_with('.') => path[1..].to_owned(),
            path => format!("${path}"),
        };
        if let Some(condition) = &plan.condition {
            text += &format!(".filter(x => {})", self.condition(condition));
        }
        match plan.order {
            Some(("score", true)) => text += ".sort((a, b) => b.score - a.score)",
            Some(("score", false)) => text += ".sort((a, b) => a.score - b.score)",
            Some((key, true)) => {
                text += &format!(".sort((p, q) => q.{key}.localeCompare(p.{key}))")
            }
            Some((key, false)) => text += &format!(".sort((p, q) => p.{key} < q.{key} ? -1 : 1)"),
            None => {}
        }
        let taken = match &plan.taken {
            Taken::All => ".map(x => x)".to_owned(),
            Taken::Each(path) => format!(".map(x => {})", self.field(path)),
            Taken::One(at, path) => format!(".at({at}){}", member(path)),
            Taken::Slice(a, b, path) => format!(".slice({a}, {b}).map(x => {})", self.field(path)),
            Taken::Length => ".length".to_owned(),
            Taken::Sum => ".reduce((total, x) => total + x.score, 0)".to_owned(),
            Taken::Best(name) => return format!("Math.{name}(...{text}.map(x => x.score))"),
            Taken::Pairs => ".map(x => ({n: x.name, count: x.tags.length}))".to_owned(),
            Taken::Tags => ".flatMap(x => x.tags)".to_owned(),
            Taken::EachElse(other) => format!(".map(x => (x.nick {} x.meta).size)", sign(*other)),
            Taken::FirstElse(other) => format!(".map(x => x.nick {} x.meta)[0].size", sign(*other)),
            Taken::Compared => ".map(x => x.score > 0).map(x => String(x))".to_owned(),
            Taken::OfEach(made, part) => {
                let made = match made {
                    Made::Pair => "[x.kind, x.name]",
                    Made::Split => "x.name.split('a')",
                    Made::Mapped => "x.tags.map(t => t.length)",
                    Made::Filtered => "x.tags.filter(t => t !== 't')",
                    Made::Keys => "Object.keys(x.meta).sort()",
                };
                let part = match part {
                    Part::At(at) => format!("[{at}]"),
                    Part::First => "[0]".to_owned(),
                    Part::Last => ".at(-1)".to_owned(),
                    Part::Slice => ".slice(0, 1)".to_owned(),
                    Part::Length => ".length".to_owned(),
                };
                if plan.condition.is_some() {
                    format!(".map(x => {made}).map(y => y{part})")
                } else {
                    format!(".map(x => {made}{part})")
                }
            }
            Taken::OfSome => ".filter(x => x.done).map(x => x.name)".to_owned(),
        };
        text + &taken
    }
}

fn sign(other: Else) -> &'static str {
    match other {
        Else::Missing => "??",
        Else::False => "||",
    }
}

fn member(path: &[&str]) -> String {
    let names = path.iter().map(|name| {
        if name.contains(['-', ' ']) {
            format!("['{name}']")
        } else {
            format!(".{name}")
        }
    });
    names.collect()
}

struct Python;

impl Spelling for Python {
    fn field(&self, path: &[&str]) -> String {
        format!("x{}", keyed(path))
    }
    fn constant(&self, value: &Value) -> String {
        match value {
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            other => other.to_string(),
        }
    }
    fn words(&self) -> [&'static str; 3] {
        ["and", "or", "not @"]
    }
    fn starts_with(&self, text: &str, part: &str) -> String {
        format!("{text}.startswith('{part}')")
    }
    fn has_tag(&self, tags: &str, tag: &str) -> String {
        format!("'{tag}' in {tags}")
    }
    fn whole(&self, plan: &Plan) -> String {
        let list = format!("${}", keyed(plan.path));
        let mut list = match &plan.condition {
            Some(condition) => format!("[x for x in {list} if {}]", self.condition(condition)),
            None => format!("[x for x in {list}]"),
        };
        if let Some((key, falls)) = plan.order {
            let falls = if falls { ", reverse=True" } else { "" };
            list = format!("sorted({list}, key=lambda x: x['{key}']{falls})");
        }
        match &plan.taken {
            Taken::All => list,
            Taken::Each(path) => format!("[x{} for x in {list}]", keyed(path)),
            Taken::One(at, path) => format!("{list}[{at}]{}", keyed(path)),
            Taken::Slice(a, b, path) => format!("[x{} for x in {list}[{a}:{b}]]", keyed(path)),
            Taken::Length => format!("len({list})"),
            Taken::Sum => format!("sum(x['score'] for x in {list})"),
            Taken::Best(name) => format!("{name}(x['score'] for x in {list})"),
            Taken::Pairs => {
                format!("[{{'n': x['name'], 'count': len(x['tags'])}} for x in {list}]")
            }
            Taken::Tags => format!("[t for x in {list} for t in x['tags']]"),
            Taken::EachElse(Else::Missing) => {
                format!("[(x.get('nick') or x['meta'])['size'] for x in {list}]")
            }
            Taken::EachElse(Else::False) => {
                format!("[(x['nick'] or x['meta'])['size'] for x in {list}]")
            }
            Taken::FirstElse(Else::Missing) => {
                format!("[x['nick'] if x['nick'] else x['meta'] for x in {list}][0]['size']")
            }
            Taken::FirstElse(Else::False) => {
                format!("[x['nick'] or x['meta'] for x in {list}][0]['size']")
            }
            Taken::Compared => format!("[json.dumps(x['score'] > 0) for x in {list}]"),
            Taken::OfEach(made, part) => {
                let made = match made {
                    Made::Pair => "[x['kind'], x['name']]",
                    Made::Split => "x['name'].split('a')",
                    Made::Mapped => "[len(t) for t in x['tags']]",
                    Made::Filtered => "[t for t in x['tags'] if t != 't']",
                    Made::Keys => "sorted(x['meta'].keys())",
                };
                match part {
                    Part::At(at) => format!("[{made}[{at}] for x in {list}]"),
                    Part::First => format!("[{made}[0] for x in {list}]"),
                    Part::Last => format!("[{made}[-1] for x in {list}]"),
                    Part::Slice => format!("[{made}[0:1] for x in {list}]"),
                    Part::Length => format!("[len({made}) for x in {list}]"),
                }
            }
            Taken::OfSome => format!("[x['name'] for x in {list} if x['done']]"),
        }
    }
}

fn keyed(path: &[&str]) -> String {
    path.iter().map(|name| format!("['{name}']")).collect()
}

/// What an expression of a dialect gives: the first reading that selects something, if it is exact or gives the same as the
/// exact one.
pub(super) fn answer(expression: &str, document: &Document) -> Option<Value> {
    let keys = String::from_utf8_lossy(document.root().unwrap().raw()).into_owned();
    let has_key = |key: &str| keys.contains(&format!("{}:", json!(key)));
    let given = |text: &str| {
        let expression = Expression::parse(text).ok()?;
        let (arena, budget) = (Arena::new(), Budget::new(&Limits::default(), 1000));
        let root = View::from(document.root().unwrap());
        let found = evaluate(&expression, &root, &arena, &budget).ok()?;
        Some(found.map(|view| view.to_value(&mut 10_000).unwrap()))
    };
    if let Some(Some(value)) = given(expression) {
        return Some(value);
    }
    let found = candidates(expression, &has_key).into_iter();
    found
        .filter(|found| {
            let exact = found.exact.as_deref();
            exact.is_none_or(|exact| {
                given(exact).is_some_and(|value| Some(value) == given(&found.expression))
            })
        })
        .find_map(|found| given(&found.expression)?)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// What a translation selects is what the same query in JMESPath does.
    #[test]
    fn translations_select_what_was_meant(plan in plan(), value in document()) {
        let document = Document::new(value.to_string());
        // A list may leave out items that have no such part.
        let without_nulls = |value: Option<Value>| match (value, &plan.taken) {
            (Some(Value::Array(items)), Taken::OfEach(..)) => {
                Some(items.into_iter().filter(|item| !item.is_null()).collect())
            }
            (value, _) => value,
        };
        let expected = without_nulls(answer(&Jmespath.whole(&plan), &document));
        let spellings: [&dyn Spelling; 3] = [&Jq, &Script, &Python];
        for spelling in spellings {
            let written = spelling.whole(&plan);
            let found = candidates(&written, &has_key);
            let said = without_nulls(answer(&written, &document));
            prop_assert_eq!(&said, &expected, "{} as {:?}", &written, &found);
            let Some(first) = found.first() else {
                // What JMESPath says in the same words is not translated.
                prop_assert!(Expression::parse(&written).is_ok(), "{}", written);
                continue;
            };
            let again = candidates(&first.expression, &has_key);
            prop_assert!(
                again.iter().all(|other| other.repairs[0].rule != first.repairs[0].rule),
                "{} as {} as {:?}", written, first.expression, again
            );
        }
    }

    /// Whatever is written, what is offered parses, and is not translated again.
    #[test]
    fn anything_can_be_read(words in vec(select(vec![
        "items", ".", "[", "]", "(", ")", "{", "}", "x", "=>", "|", "map", "filter", "select", "for", "in", "if",
        "'a'", "\"b\"", "0", "-1", ":", ",", "&", "!", "==", "&&", "and", "not", "length", "first", "sort_by", "$",
        "@", "_", "/", "?", "*", "lambda", "len", " ", ".length", "[*]", "[]", "[?", "..", "`1`", "=", "max",
        "//", "??", "or", ".x", "`${x}`", "f'{x}'", "\"\\(.x)\"", "then", "else", "end", "SELECT", "FROM", "WHERE",
        "ORDER BY", "LIMIT", "to_entries", "Object.entries", "([k, v])", "return", "/x/", ".test", "+", "parseInt",
        "not_null", "sort", ".sort((a, b) => a.x - b.x)", "???", "is", "None", ";", "%", "like", "→",
    ]), 0..14)) {
        let written = words.join(if words.len() % 2 == 0 { " " } else { "" });
        for found in candidates(&written, &has_key) {
            prop_assert!(super::super::parses(&found.expression));
            let tokens = crate::token::Tokens::new(&found.expression);
            let again = super::translated(&tokens, &has_key, false);
            prop_assert!(again.is_none() || found.repairs[0].rule != again.as_ref().map_or(Rule::Jq, |again| again.rule),
                "{} as {} as {:?}", written, found.expression, again.map(|again| again.plain));
        }
        foreign(&written, &has_key);
    }
}

#[test]
fn what_is_said_twice_stays_short() {
    let started = std::time::Instant::now();
    let nested = |open: &str, close: &str| format!("{}x?.y{}", open.repeat(20), close.repeat(20));
    for text in [
        nested("(", " || a)"),
        nested("(", " && a)"),
        nested("((", " || a) ? b : c)"),
        nested("parseInt(", ")"),
        nested("JSON.stringify(", ")"),
        nested("(.a | ", " // .b)").replace("x?.y", ".x"),
        nested("str(", ")"),
        nested("`${", "}`"),
        format!(".a{}", " // .b".repeat(90)),
        format!("a?.b{}", " || c".repeat(90)),
        format!("a?.b{}", " + 'c'".repeat(90)),
    ] {
        for found in candidates(&text, &has_key) {
            assert!(found.expression.len() < 100_000, "{text}");
        }
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn values_of_objects_are_the_second_reading() {
    for (input, expected) in [
        ("/*/name", "*.name"),
        (".[] | {name}", "*.{name: name}"),
        ("[.[] | .name]", "*.name"),
    ] {
        let found = candidates(input, &has_key);
        assert_eq!(found[1].expression, expected, "{input}");
    }
}
