use super::guesses;
use crate::select::SelectOptions;
use crossfeed_jmespath::{Arena, Budget, View};
use crossfeed_json::Document;

const ITEMS: &str = r#"{
    "meta": {"timestamp": "2026-01-31"},
    "total": 3,
    "items": [
        {"id": "chrome", "name": "Chrome", "type": "desktop", "score": 4.5, "user": {"login": "ada"}, "labels": [{"name": "bug"}]},
        {"id": "deno", "name": "Deno", "type": "server", "score": 2, "user": {"login": "bob"}, "labels": []},
        {"id": "bun", "name": "Bun", "type": "server", "score": 3, "user": {"login": "ada"}, "labels": [{"name": "ui"}]}
    ]
}"#;

const RECORDS: &str =
    r#"{"licenses": {"MIT": {"url": "m", "name": "Em"}, "FSL": {"url": "f", "name": "Ef"}}}"#;

fn guessed(json: &str, text: &str) -> Vec<String> {
    let document = Document::new(json.to_owned());
    let root = document.root().unwrap();
    let options = SelectOptions::default();
    let arena = Arena::new();
    let budget = Budget::new(&options.limits, root.value_count());
    guesses(text, &View::from(root), &arena, &budget, &options, 12)
}

/// A selector is among the first three guesses.
#[track_caller]
fn check(text: &str, expected: &str) {
    check_on(ITEMS, text, expected);
}

#[track_caller]
fn check_on(json: &str, text: &str, expected: &str) {
    let found = guessed(json, text);
    assert!(
        found.iter().take(3).any(|found| found == expected),
        "{text}: {found:?}"
    );
}

#[test]
fn words_name_a_path() {
    for text in [
        "the name of items[1]",
        "name of the second item",
        "items[1]'s name",
        "items > :nth-child(2) > name",
        "items:nth-child(2) > name",
        "$result->items[1]->name",
        "items.ElementAt(1).name",
        "items[1]!.name",
        "items.dig(1, 'name')",
        "items<1>.name",
        "items[`1`].name",
        "items[\"1\"].name",
        "items[1]..name",
        "items[1] name",
        "(items or [])[1]['name']",
        "items['name'].iloc[1]",
        "| jq -r '.items[1].name'",
        "jmespath.search('items[1].name', data)",
        "{\"select\": \"items[1].name\"}",
        "&items[1].name",
        "items[1].name.unwrap()",
    ] {
        check(text, "items[1].name");
    }
    check(
        "items.iter().last().unwrap().user.login",
        "items[-1].user.login",
    );
    check("($items | Select-Object -Last 1).type", "items[-1].type");
    check("(items | last).user.login", "items[-1].user.login");
    check("$items[count($items) - 1]['type']", "items[-1].type");
    check("items:last-child > type", "items[-1].type");
    check("items[last].type", "items[-1].type");
    check("items[0,1].id", "items[:2].id");
    check("items.first(2).map { |x| x['id'] }", "items[:2].id");
    check("_(items).take(2).map('type').value()", "items[:2].type");
    check("objects[[0..1]] items id", "items[0:2].id");
}

#[test]
fn words_name_a_projection() {
    for text in [
        "type of all items",
        "every item's type",
        "type of each item",
        "$map(items, function($x) { $x.type })",
        "{% for x in items %}{{ x.type }}{% endfor %}",
        "const values = items.map(x => x.type);",
        "SELECT x.type FROM items x",
    ] {
        check(text, "items[*].type");
    }
    check(
        "items[*].(id: id, other: user/login)",
        "items[*].{id: id, other: user.login}",
    );
    check(
        "items[*].(id as label, type as type)",
        "items[*].{label: id, type: type}",
    );
    check(
        "items[*].{id => id, other => type}",
        "items[*].{id: id, other: type}",
    );
    check(
        "items.map(x => ({a: x.id, b: x.user.login}))",
        "items[*].{a: id, b: user.login}",
    );
    check("items[**].labels.name", "items[*].labels[*].name");
}

#[test]
fn words_name_a_filter() {
    for text in [
        "items where type is 'server', name",
        "items with type `\"server\"` -> name",
        "name of items where type == 'SERVER'",
        "items[?eq(type, 'server')].name",
        "items[type equals 'server'].name",
        "items(?type == 'server').name",
        "items[?type: 'server'].name",
        "items.#(type==\"server\")#.name",
        "/items[@type='server']/name",
        "db.items.find({type: 'server'}).name",
        "items[{type: 'server'}].name",
        "$items | Where-Object { $_.type -eq 'server' } | Select-Object -ExpandProperty name",
        "items.iter().filter(|x| x.type == \"server\").map(|x| x.name)",
        "items[items['type'].str.contains('erver')]['name']",
        "_(items).filter({type: 'server'}).map('name').value()",
        "items | selectattr('type', 'equalto', 'server') | map(attribute='name')",
        "$filter(items, function($x) { $x.type = 'server' }).name",
        "items[?type == \\'server\\'].name",
        "items[?type == “server”].name",
    ] {
        let found = guessed(ITEMS, text);
        let wanted = [
            "items[?type == 'server'].name",
            "items[?contains(type, 'erver')].name",
        ];
        assert!(
            found
                .iter()
                .take(2)
                .any(|found| wanted.contains(&found.as_str())),
            "{text}: {found:?}"
        );
    }
    check(
        "items.find(where: type = 'server').name",
        "items[?type == 'server'] | [0].name",
    );
    check(
        "items where type = 'server' and name = 'Bun', id",
        "items[?type == 'server' && name == 'Bun'].id",
    );
    check(
        "items[?type == 'server'; name == 'Bun'].id",
        "items[?type == 'server' && name == 'Bun'].id",
    );
    check(
        "items[?id IN ('bun', 'deno')].name",
        "items[?id == 'bun' || id == 'deno'].name",
    );
    check(
        "items[?score greater than 2].name",
        "items[?score > `2`].name",
    );
    check("items[?gte(score, 3)].name", "items[?score >= `3`].name");
    check(
        "items[?user/login == 'ada'].name",
        "items[?user.login == 'ada'].name",
    );
    check(
        "[?labels[*].name == 'bug'].id",
        "items[?contains(labels[*].name, 'bug')].id",
    );
    check_on(
        RECORDS,
        "licenses[?name == 'Em'].url",
        "licenses.* | [?name == 'Em'].url",
    );
    check_on(RECORDS, "{licenses: *}.url", "licenses.*.url");
}

#[test]
fn words_name_a_function() {
    check(
        "count(items, type == 'server')",
        "length(items[?type == 'server'])",
    );
    check(
        "items.count(type == 'server')",
        "length(items[?type == 'server'])",
    );
    check(
        "$count(items[type='server'])",
        "length(items[?type == 'server'])",
    );
    check(
        "items.countDocuments({type: 'server'})",
        "length(items[?type == 'server'])",
    );
    check(
        "(items['type'] == 'server').sum()",
        "length(items[?type == 'server'])",
    );
    check("($items | Measure-Object).Count", "length(items)");
    check("items length", "length(items)");
    check("number of items", "length(items)");
    check("items.shape[0]", "length(items)");
    check("Object.keys(meta).length", "length(meta)");
    check("items.iter().map(|x| x.score).sum()", "sum(items[*].score)");
    check("avg(/items/*/score)", "avg(items[*].score)");
    check(
        "items.max_by(|x| x.score).name",
        "max_by(items, &score).name",
    );
    check(
        "items.loc[items['score'].idxmax()]['name']",
        "max_by(items, &score).name",
    );
    check(
        "items | sort(score) | name",
        "sort_by(items, &score)[*].name",
    );
    check(
        "items.OrderByDescending(x => x.score).Select(x => x.name)",
        "reverse(sort_by(items, &score))[*].name",
    );
    check(
        "concat(items[1].id, \" \", items[1].name)",
        "join(' ', [items[1].id, items[1].name])",
    );
    check(
        "items[1].id & ' ' & items[1].name",
        "join(' ', [items[1].id, items[1].name])",
    );
    check(
        "format('{} {}', items[1].id, items[1].name)",
        "join(' ', [items[1].id, items[1].name])",
    );
    check(
        "items[1].id + \" - \" + items[1].name",
        "join(' - ', [items[1].id, items[1].name])",
    );
}

#[test]
fn what_is_not_there_is_not_guessed() {
    assert_eq!(
        guessed(ITEMS, "items where type is 'phone', name"),
        [] as [&str; 0]
    );
    assert_eq!(guessed(ITEMS, "zzz"), [] as [&str; 0]);
}

#[test]
fn a_text_about_many_names_is_read_within_bounds() {
    let members: Vec<_> = (0..2000)
        .map(|number| format!(r#""name_{number}": {{"first_{number}": 1, "id": "{number}"}}"#))
        .collect();
    let json = format!("{{{}}}", members.join(", "));
    let words: Vec<_> = (0..300)
        .map(|number| format!("nam_{number} is '{number}'"))
        .collect();
    guessed(&json, &words.join(", "));
}
