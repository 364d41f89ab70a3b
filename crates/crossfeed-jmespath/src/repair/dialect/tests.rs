use super::super::{candidates, foreign};
use crate::error::Dialect;

fn has_key(_: &str) -> bool {
    false
}

#[track_caller]
fn check_all(rows: &[(&str, &str)]) {
    for (input, expected) in rows {
        let found = candidates(input, &has_key);
        let first = found.first().map_or("", |found| &found.expression);
        assert_eq!(first, *expected, "{input}");
    }
}

#[test]
fn jq() {
    check_all(&[
        (".items[] | select(.id==3) | .url", "items[?id == `3`].url"),
        (".items[] | select(.id==3)", "items[?id == `3`]"),
        (".items | map(.url)", "items[*].url"),
        (".items | length", "length(items)"),
        (".items[].url", "items[].url"),
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
        (".items | sort_by(-.score)", ""),
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
        (r#".items[] | .name // "x""#, "map(&name || 'x', items)"),
        (r#".a // "x""#, "a || 'x'"),
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
        (".items[] | length", "items[*].length(@)"),
        (".items | .[2:5]", "items | [2:5]"),
        (".items | reverse | .[0]", "reverse(items)[0]"),
        (
            ".items | map({n: .name, c: (.tags | length)})",
            "items[*].{n: name, c: length(tags)}",
        ),
        (".items[]? | .url?", "items[*].url"),
        (".a.b | tostring", "to_string(a.b)"),
        ("items[] | select(.id == 3)", "items[?id == `3`]"),
        (
            r#".items | map(has("url"))"#,
            "items[*].contains(keys(@), 'url')",
        ),
    ]);
}

#[test]
fn json_path() {
    check_all(&[
        ("$.items[*].url", "items[*].url"),
        ("$.items.length()", "length(items)"),
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
            "reverse(sort_by(items, &score))[0]",
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
        ("JSON.parse(body).y", "body.y"),
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
        ("items.map(x => x.a + x.b)", ""),
        ("items.map(x => x)", "items[*]"),
        ("items.filter(x => x.url != null)", "items[?url != `null`]"),
        (
            "result.items.map((item) => item.url)",
            "result.items[*].url",
        ),
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
        (r#"items[-1]["url"]"#, "items[-1].url"),
        ("items[0].get('url')", "items[0].url"),
        ("items[0].get('url', 'none')", "items[0].url || 'none'"),
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
            "reverse(sort_by(items, &score))[0]",
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
        ("items/0/url", "items[0].url"),
        ("//url", ""),
        ("/items[id=3]/url", "items[?id == `3`].url"),
        ("/items[@kind='a']/url", "items[?kind == 'a'].url"),
        ("/items[1]/url", ""),
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
        ("_.sortBy(items, 'score')", "sort_by(items, &score)"),
        ("_.orderBy(items, ['score'], ['desc'])", ""),
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
            "items.map(x => x.a + x.b)",
            Some("this is JavaScript; understood so far: `items`"),
        ),
        (
            "[x['a'] + 1 for x in items]",
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
