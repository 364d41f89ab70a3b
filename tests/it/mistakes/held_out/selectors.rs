//! Correct selectors, broken in ways that no rule was fitted to.

use crate::mistakes::{
    dialects::{Theme, theme},
    documents::{Given, Shape},
    goals::{Form, Goal, More, dotted, literal, members, name, pure, then},
    selectors::{
        Break, camel, changed, first_replaced, number, one, other, snake, with_field, with_root,
        wrapped,
    },
};
use crossfeed_json::Document;
use serde_json::Value;

/// A template with the parts of a goal in place of their marks, where the goal has them all:
///
/// | mark | part |
/// |---|---|
/// | `§S` | the whole selector |
/// | `§L`, `§I` | the list as a path, and as a value |
/// | `§l`, `§n` | the list's own name, and what one of it is called |
/// | `§F`, `§f` | the field, with and without a dot before it |
/// | `§B` | the field that is compared or sorted by |
/// | `§V`, `§J`, `§T` | the value compared with: as a literal, as JSON, as a text without quotes |
/// | `§W` | the word that is looked for |
/// | `§N`, `§E` | an index, and a count |
/// | `§A`, `§C`, `§X`, `§Y` | two fields, and two values |
/// | `§H`, `§K` | the members of a construction, and a list within an item |
fn fill(goal: &Goal, template: &str) -> Option<String> {
    let mut parts = vec![("§S", goal.selector())];
    let root = dotted(&goal.root);
    let items = if root.is_empty() { "@" } else { &root };
    parts.push(("§I", items.to_owned()));
    if !root.is_empty() || !template.replace("§L[", "").contains("§L") {
        parts.push(("§L", root.clone()));
    }
    if let Some(last) = goal.root.last() {
        parts.push(("§l", name(last)));
        let noun = number(last).filter(|noun| name(noun) == *noun && noun.len() < last.len());
        parts.push(("§n", noun.unwrap_or_else(|| "item".to_owned())));
    }
    let mut copy = goal.clone();
    if let Some(by) = copy.by_mut() {
        parts.push(("§B", dotted(by)));
    }
    if let Some(is) = copy.literal_mut() {
        parts.push(("§V", literal(is)));
        parts.push(("§J", is.to_string()));
        if let Some(text) = is.as_str().filter(|text| is_unquoted(text)) {
            parts.push(("§T", text.to_owned()));
        }
    }
    if !matches!(goal.form, Form::Hash(_) | Form::Join(..) | Form::Whole)
        && let Some(field) = copy.field_mut()
    {
        parts.push(("§F", then(field)));
        parts.push(("§f", dotted(field)));
    }
    let mut pair = |a: String, c: String| parts.extend([("§A", a), ("§C", c)]);
    match &goal.form {
        Form::Both((a, x), (b, y), _) => {
            pair(dotted(a), dotted(b));
            parts.extend([("§X", literal(x)), ("§Y", literal(y))]);
        }
        Form::Join(index, a, b) => {
            let item = format!("{root}[{index}]");
            pair(format!("{item}{}", then(a)), format!("{item}{}", then(b)));
        }
        Form::More(More::Either(_, x, y, _)) => {
            parts.extend([("§X", literal(x)), ("§Y", literal(y))])
        }
        Form::Hash(pairs) => parts.push(("§H", members(pairs, dotted))),
        Form::Nested(list, _) => parts.push(("§K", dotted(list))),
        Form::Contains(_, word, _) | Form::More(More::Starts(_, word, _)) | Form::Grep(word)
            if is_unquoted(word) =>
        {
            parts.push(("§W", word.clone()))
        }
        Form::Slice(count, _) | Form::More(More::Tail(count, _)) => {
            parts.push(("§E", count.to_string()))
        }
        Form::Item(index, _)
        | Form::Line(index)
        | Form::More(More::CountWithin(index, _) | More::FirstWithin(index, _)) => {
            parts.push(("§N", index.to_string()))
        }
        Form::Cell(line, cell) => {
            parts.extend([("§N", line.to_string()), ("§E", cell.to_string())])
        }
        _ => {}
    }
    let text = parts
        .iter()
        .fold(template.to_owned(), |text, (mark, part)| {
            text.replace(mark, part)
        });
    (!text.contains('§')).then_some(text)
}

/// Whether it means the same between any quotes.
fn is_unquoted(text: &str) -> bool {
    !text.contains(['\'', '"', '`', '\\'])
}

fn filled(goal: &Goal, templates: &[&str]) -> Vec<String> {
    templates
        .iter()
        .filter_map(|template| fill(goal, template))
        .collect()
}

/// A class of templates by the form of the goal.
macro_rules! forms {
    ($($form:pat => $templates:expr),+ $(,)?) => {
        |goal, _| match &goal.form {
            $($form => filled(goal, &$templates),)+
            _ => Vec::new(),
        }
    };
}

/// Those of the selectors whose word has letters and digits only: it means the same as a pattern.
fn plain_word(goal: &Goal, templates: &[&str]) -> Vec<String> {
    match &goal.form {
        Form::Contains(_, word, _) | Form::More(More::Starts(_, word, _)) | Form::Grep(word)
            if word.chars().all(char::is_alphanumeric) =>
        {
            filled(goal, templates)
        }
        _ => Vec::new(),
    }
}

/// Paths, of which the templates are made where the value is of a kind.
fn of_value(goal: &Goal, given: &Given, is: fn(&Value) -> bool, templates: &[&str]) -> Vec<String> {
    let value = || pure(&Document::new(given.root.to_string()), &goal.selector());
    if theme(goal) == Theme::Path
        && goal.selector() != "@"
        && value().is_some_and(|value| is(&value))
    {
        filled(goal, templates)
    } else {
        Vec::new()
    }
}

fn is_any(_: &Value) -> bool {
    true
}

/// The name that a model expects rather than the one that is there.
fn guessed(word: &str) -> Option<String> {
    let words = [
        ("atomic_number", "z"),
        ("atomic_weight", "atomic_mass"),
        ("en_pauling", "electronegativity"),
        ("discovery_year", "discovered"),
        ("is_radioactive", "radioactive"),
        ("alternativeName", "display_name"),
        ("countryCode", "country_code"),
        ("rawOffsetInMinutes", "utc_offset"),
        ("mainCities", "cities"),
        ("displayName", "currency_name"),
        ("abbr", "abbreviation"),
        ("long", "longitude"),
        ("lat", "latitude"),
        ("zones", "timezones"),
        ("nodeid", "test_id"),
        ("outcome", "result"),
        ("lineno", "line_number"),
        ("duration", "elapsed"),
        ("created", "timestamp"),
        ("exitcode", "exit_code"),
        ("components", "packages"),
        ("licenses", "licence"),
        ("bom-ref", "ref"),
        ("eventID", "event_id"),
        ("eventName", "event_type"),
        ("awsRegion", "region"),
        ("SequenceNumber", "seq"),
        ("SizeBytes", "size"),
        ("Body Mass (g)", "body_mass"),
        ("Flipper Length (mm)", "flipper_length"),
        ("Beak Length (mm)", "beak_length"),
        ("Island", "location"),
        ("Species", "kind"),
        ("Sex", "gender"),
        ("html_url", "web_url"),
        ("comments", "comment_count"),
        ("created_at", "creation_date"),
        ("description", "summary"),
        ("mag", "magnitude"),
        ("place", "location"),
        ("hexcode", "code_point"),
        ("label", "description"),
        ("isDeprecated", "deprecated"),
        ("tests", "test_cases"),
        ("elements", "items"),
        ("features", "earthquakes"),
        ("Records", "events"),
        ("statuses", "status_checks"),
        ("FaceId", "id"),
        ("browser", "engine_name"),
    ];
    words
        .iter()
        .find(|(from, _)| *from == word)
        .map(|(_, to)| (*to).to_owned())
}

/// The words of a name, small.
fn words(word: &str) -> Vec<String> {
    let snake = snake(word).unwrap_or_else(|| word.to_owned());
    let parts = snake.split(|char: char| !char.is_alphanumeric());
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// How many members anywhere have a name of which this says yes.
fn count_of_names(value: &Value, is: &dyn Fn(&str) -> bool, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if is(key) && !found.contains(key) {
                    found.push(key.clone());
                }
                count_of_names(member, is, found);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| count_of_names(item, is, found)),
        _ => {}
    }
}

/// With the path to the field in one name.
fn joined(goal: &Goal, join: impl Fn(&[String]) -> String) -> Vec<String> {
    if matches!(goal.form, Form::Whole) {
        return Vec::new();
    }
    one(changed(goal, |goal| {
        let field = goal.field_mut().filter(|field| field.len() > 1)?;
        let name = join(field);
        *field = vec![name];
        Some(())
    }))
}

/// Whether the document has this list of its own and no other, so that any name for a list means it.
fn is_only_list(goal: &Goal, given: &Given) -> bool {
    let lists = given.root.as_object().map_or(1, |members| {
        members.values().filter(|member| member.is_array()).count()
    });
    lists == 1 && goal.root.len() <= 1
}

/// Another place for the list.
fn in_list(goal: &Goal, names: &[&str]) -> Vec<String> {
    if !matches!(
        goal.form,
        Form::Item(..) | Form::Project(_) | Form::Filter(..) | Form::First(..) | Form::Last(_)
    ) {
        return Vec::new();
    }
    let own = dotted(&goal.root);
    let selector = goal.selector();
    let rest = &selector[own.len()..];
    names
        .iter()
        .map(|name| format!("{}{rest}", name.replace("§L", &own)))
        .filter(|text| !text.contains("..") && !text.contains(".[") && !text.starts_with('.'))
        .collect()
}

pub(crate) const CLASSES: &[(&str, Break)] = &[
    // Functions that are not there, or otherwise.
    (
        "map with its arguments otherwise",
        forms! {
            Form::Project(_) => ["map(§I, &§f)", "map(§I, §f)", "map(§I, '§f')", "§L | map(&§f)", "map(&§f)"],
        },
    ),
    (
        "pluck and the like",
        forms! {
            Form::Project(_) => ["pluck(§I, '§f')", "pluck(§I, &§f)", "extract(§I, '§f')", "values_of(§I, '§f')", "collect(§I, &§f)"],
        },
    ),
    (
        "a function for a list round a projection",
        forms! {
            Form::Project(_) | Form::Filter(..) => ["list(§S)", "array(§S)", "to_list(§S)", "collect(§S)", "toArray(§S)"],
        },
    ),
    ("a function for a value round a path", |goal, given| {
        of_value(
            goal,
            given,
            is_any,
            &[
                "value(§S)",
                "get(§S)",
                "field(§S)",
                "scalar(§S)",
                "extract(§S)",
            ],
        )
    }),
    ("a conversion round a number", |goal, given| {
        of_value(
            goal,
            given,
            Value::is_number,
            &["number(§S)", "float(§S)", "to_num(§S)", "as_number(§S)"],
        )
    }),
    ("a conversion round a text", |goal, given| {
        of_value(
            goal,
            given,
            Value::is_string,
            &["string(§S)", "str(§S)", "to_str(§S)", "text(§S)"],
        )
    }),
    ("a cast behind a text", |goal, given| {
        of_value(
            goal,
            given,
            Value::is_string,
            &[
                "§S::text",
                "§S as string",
                "§S | string",
                "§S.toString()",
                "§S | str",
            ],
        )
    }),
    ("a default behind a path", |goal, given| {
        of_value(
            goal,
            given,
            Value::is_string,
            &[
                "§S ?? 'unknown'",
                "§S or 'unknown'",
                "§S | default('')",
                "coalesce(§S, 'unknown')",
                "default(§S, '')",
            ],
        )
    }),
    ("question marks in a path", |goal, given| {
        of_value(goal, given, is_any, &["§S?", "§S!"])
    }),
    (
        "a function for an index",
        forms! {
            Form::Item(..) => ["nth(§I, §N)§F", "at(§I, §N)§F", "get(§I, §N)§F", "element(§I, §N)§F", "item(§I, §N)§F", "§L | nth(@, §N)§F"],
        },
    ),
    (
        "a function for a slice",
        forms! {
            Form::Slice(..) => ["take(§I, §E)[*]§F", "limit(§I, §E)[*]§F", "slice(§I, 0, §E)[*]§F", "head(§I, §E)[*]§F", "§L | limit(§E) | [*]§F"],
            Form::More(More::Tail(..)) => ["tail(§I, §E)[*]§F", "last(§I, §E)[*]§F", "slice(§I, -§E)[*]§F", "take_last(§I, §E)[*]§F"],
        },
    ),
    (
        "dots and brackets behind a slice",
        forms! {
            Form::Slice(..) => ["§L[:§E].[*]§F", "§L[0:§E].[]§F", "§L[..§E]§F"],
        },
    ),
    (
        "a sum or a mean by a field",
        forms! {
            Form::Sum(_) => ["sum_by(§I, &§f)", "sum_by(§I, '§f')", "sum(map(§I, &§f))", "sum(§I, '§f')", "aggregate(§L[*]§F, 'sum')"],
            Form::More(More::Average(_)) => ["avg_by(§I, &§f)", "mean_by(§I, &§f)", "avg(map(§I, &§f))", "avg(§I, '§f')"],
        },
    ),
    (
        "a sum divided by a count",
        forms! {
            Form::More(More::Average(_)) => ["sum(§L[*]§F) / length(§I)", "div(sum(§L[*]§F), length(§I))", "divide(sum(§L[*]§F), length(§L[*]§F))", "sum(§L[*]§F)/length(§L[*])"],
        },
    ),
    (
        "a count with a condition",
        forms! {
            Form::CountWhere(..) => ["count_if(§I, &§B == §V)", "count_by(§I, &§B, §V)", "length(§L[?§B == §V]).count", "count(§I, §B == §V)", "sum(§L[*].(§B == §V))", "length(filter(§I, &§B == §V))"],
        },
    ),
    (
        "a count within by another function",
        forms! {
            Form::More(More::CountWithin(..)) => ["count(§L[§N]§F)", "len(§L[§N]§F)", "size(§L[§N]§F)", "§L[§N]§F.length", "§L[§N]§F | length", "§L[§N]§F.length()"],
        },
    ),
    (
        "the first within in another way",
        forms! {
            Form::More(More::FirstWithin(..)) => ["§L[§N]§F.0", "§L[§N]§F.[0]", "first(§L[§N]§F)", "§L[§N]§F.first", "§L[§N]§F | first(@)"],
        },
    ),
    (
        "an index behind the greatest",
        forms! {
            Form::Greatest(..) => ["max_by(§I, &§B)[0]§F", "max_by(§I, &§B)[*]§F", "max_by(§I, &§B) | [0]§F", "max_by(§L[*], &§B)[0]§F"],
            Form::More(More::Least(..)) => ["min_by(§I, &§B)[0]§F", "min_by(§I, &§B)[*]§F", "min_by(§I, &§B) | [0]§F"],
        },
    ),
    (
        "the greatest as the end of a sort",
        forms! {
            Form::Greatest(..) => ["sort(§I, &§B)[-1]§F", "order_by(§I, &§B)[-1]§F", "sort_by(§I, &§B desc)[0]§F", "sort_by(§I, '§B')[-1]§F", "sort_by(§I, &§B, 'desc')[0]§F"],
            Form::More(More::Least(..)) => ["sort(§I, &§B)[0]§F", "order_by(§I, &§B)[0]§F", "sort_by(§I, &§B asc)[0]§F", "sort_by(§I, '§B')[0]§F"],
        },
    ),
    (
        "the field behind the greatest number",
        forms! {
            Form::Greatest(..) => ["max(§L[*].§B)§F", "max(§I, &§B)§F", "max(§I, §B)§F"],
            Form::More(More::Least(..)) => ["min(§L[*].§B)§F", "min(§I, &§B)§F", "min(§I, §B)§F"],
        },
    ),
    (
        "the greatest as a filter",
        forms! {
            Form::Greatest(..) => ["§L[?§B == max(§L[*].§B)] | [0]§F", "§L[?§B == max($.§L[*].§B)] | [0]§F", "§L[?§B == max(@[*].§B)] | [0]§F", "§L[?§B == max(§L[].§B)][0]§F"],
            Form::More(More::Least(..)) => ["§L[?§B == min(§L[*].§B)] | [0]§F", "§L[?§B == min($.§L[*].§B)] | [0]§F", "§L[?§B == min(@[*].§B)] | [0]§F"],
        },
    ),
    (
        "a sort behind a pipe",
        forms! {
            Form::Sort(..) => ["§L | sort_by(&§B) | [*]§F", "§L | sort_by(§B)[*]§F", "§L | sort(@, &§B) | [*]§F", "§L[*] | sort_by(@, §B)[*]§F", "§L | sort_by(@, '§B') | [*]§F"],
        },
    ),
    (
        "a lambda for `&`",
        forms! {
            Form::Sort(..) => ["sort_by(§I, x => x.§B)[*]§F", "sort_by(§I, lambda x: x.§B)[*]§F", "sort_by(§I, item -> item.§B)[*]§F", "sort_by(§I, (a) => a.§B)[*]§F"],
            Form::Greatest(..) => ["max_by(§I, x => x.§B)§F", "max_by(§I, lambda x: x.§B)§F", "max_by(§I, (i) => i.§B)§F"],
            Form::More(More::Least(..)) => ["min_by(§I, x => x.§B)§F", "min_by(§I, lambda x: x.§B)§F"],
        },
    ),
    (
        "another form behind `&`",
        forms! {
            Form::Sort(..) => ["sort_by(§I, &.§B)[*]§F", "sort_by(§I, &$.§B)[*]§F", "sort_by(§I, &item.§B)[*]§F", "sort_by(§I, &'§B')[*]§F", "sort_by(§I, &§l.§B)[*]§F"],
            Form::Greatest(..) => ["max_by(§I, &.§B)§F", "max_by(§I, &$.§B)§F", "max_by(§I, &item.§B)§F", "max_by(§I, &'§B')§F"],
        },
    ),
    (
        "arguments with names",
        forms! {
            Form::Sort(..) => ["sort_by(§I, key=&§B)[*]§F", "sort_by(§I, by=&§B)[*]§F", "sort_by(array: §I, expr: &§B)[*]§F"],
            Form::Greatest(..) => ["max_by(§I, key=&§B)§F", "max_by(§I, expr=§B)§F", "max_by(list=§I, by='§B')§F"],
            Form::Contains(..) => ["§L[?contains(subject=§B, search='§W')]§F", "§L[?contains(§B, substring='§W')]§F"],
            Form::Join(..) => ["join(glue=' ', [§A, §C])", "join(separator=' ', values=[§A, §C])"],
        },
    ),
    (
        "a comma at the end of the arguments",
        forms! {
            Form::Sort(..) => ["sort_by(§I, &§B,)[*]§F"],
            Form::Greatest(..) => ["max_by(§I, &§B,)§F"],
            Form::Contains(..) => ["§L[?contains(§B, '§W',)]§F"],
            Form::Count => ["length(§I,)"],
            Form::Sum(_) => ["sum(§L[*]§F,)"],
        },
    ),
    (
        "a blank before the parentheses",
        forms! {
            Form::Count => ["length (§I)"],
            Form::Sort(..) => ["sort_by (§I, &§B)[*]§F"],
            Form::Sum(_) => ["sum (§L[*]§F)"],
            Form::Contains(..) => ["§L[?contains (§B, '§W')]§F"],
            Form::Greatest(..) => ["max_by (§I, &§B)§F"],
            Form::Keys => ["keys (§I)"],
        },
    ),
    (
        "join with its arguments otherwise",
        forms! {
            Form::Join(..) => ["join([§A, §C])", "join(' ')([§A, §C])", "join([§A, ' ', §C])", "string_join(' ', [§A, §C])", "[§A, §C] | join(' ')", "'${§A} ${§C}'", "f'{§A} {§C}'"],
        },
    ),
    (
        "keys in another way",
        forms! {
            Form::Keys => ["object_keys(§I)", "keys_of(§I)", "§L.*~", "to_entries(§I)[*].key", "items(§I)[*][0]", "keys[§L]", "§L[*].key", "§L.keys[*]", "list_keys(§I)"],
        },
    ),
    (
        "values in another way",
        forms! {
            Form::Values(_) => ["§L.values()[*]§F", "to_entries(§I)[*].value§F", "items(§I)[*][1]§F", "§L.[*]§F", "§L.{key}§F", "§L.<key>§F", "§L[*].value§F"],
        },
    ),
    (
        "entries of records",
        forms! {
            Form::More(More::Records(..)) => ["to_entries(§I)[?value.§B == §V].value§F", "items(§I)[?value.§B == §V].value§F", "§L[*] | [?§B == §V]§F", "entries(§I)[?value.§B == §V].value§F", "values(§I) | filter(§B == §V)§F"],
        },
    ),
    (
        "functions of other editions",
        forms! {
            Form::Contains(..) => ["§L[?find_first(§B, '§W') != null]§F", "§L[?index_of(§B, '§W') >= `0`]§F", "§L[?includes_text(§B, '§W')]§F", "§L[?contains_substring(§B, '§W')]§F", "§L[?str_contains(§B, '§W')]§F"],
            Form::Filter(_, Value::String(_), _) => ["§L[?trim(§B) == §V]§F", "§L[?equals_text(§B, §V)]§F", "§L[?is_equal(§B, §V)]§F"],
        },
    ),
    (
        "`let` and variables",
        forms! {
            Form::Filter(..) => ["let $x = §V in §L[?§B == $x]§F", "let x = §V; §L[?§B == x]§F"],
            Form::Greatest(..) => ["let $m = max(§L[*].§B) in §L[?§B == $m] | [0]§F"],
            Form::Project(_) => ["let $list = §I in $list[*]§F"],
        },
    ),
    // Where things stand.
    (
        "a filter behind the field",
        forms! {
            Form::Filter(..) => ["§L[*]§F[?§B == §V]", "§L[]§F[?§B == §V]", "§L§F[?§B == §V]"],
            Form::Contains(..) => ["§L[*]§F[?contains(§B, '§W')]"],
        },
    ),
    (
        "`[*]` before the filter",
        forms! {
            Form::Filter(..) => ["§L[*][?§B == §V]§F", "§L[*].[?§B == §V]§F"],
            Form::Above(..) => ["§L[*][?§B > §V]§F"],
            Form::Contains(..) => ["§L[*][?contains(§B, '§W')]§F"],
            Form::CountWhere(..) => ["length(§L[*][?§B == §V])"],
            Form::First(..) => ["§L[*][?§B == §V] | [0]§F"],
            Form::More(More::Starts(..)) => ["§L[*][?starts_with(§B, '§W')]§F"],
        },
    ),
    (
        "a dot before the filter",
        forms! {
            Form::Filter(..) => ["§L.[?§B == §V]§F", "§L.?[§B == §V]§F", "§L.[?(§B == §V)]§F"],
            Form::Above(..) => ["§L.[?§B > §V]§F"],
            Form::First(..) => ["§L.[?§B == §V] | [0]§F", "§L.[?§B == §V].[0]§F"],
        },
    ),
    (
        "`[*]` behind the filter and a pipe",
        forms! {
            Form::Filter(..) => ["§L[?§B == §V] | §f", "§L[?§B == §V] | [*] | §f", "§L | [?§B == §V] | §f"],
            Form::Above(..) => ["§L[?§B > §V] | §f"],
            Form::Contains(..) => ["§L[?contains(§B, '§W')] | §f"],
            Form::More(More::Except(..)) => ["§L[?§B != §V] | §f"],
        },
    ),
    (
        "a pipe behind `[*]`",
        forms! {
            Form::Project(_) => ["§L[*] | §f", "§L | [*] | §f", "§L[] | §f"],
            Form::Slice(..) => ["§L[:§E] | §f", "§L | [:§E] | §f"],
            Form::Sort(..) => ["sort_by(§I, &§B) | §f", "sort_by(§I, &§B)[*] | §f"],
        },
    ),
    (
        "the field of a sort without `[*]`",
        forms! {
            Form::Sort(..) => ["sort_by(§I, &§B)§F"],
            Form::More(More::Descending(..)) => ["reverse(sort_by(§I, &§B))§F", "reverse(sort_by(§I, &§B)§F)"],
        },
    ),
    ("`[*]` on an object", |goal, _| match &goal.form {
        Form::Whole if goal.root.len() > 1 => vec![
            format!("{}[*].{}", dotted(&goal.root[..1]), dotted(&goal.root[1..])),
            format!("{}[].{}", dotted(&goal.root[..1]), dotted(&goal.root[1..])),
        ],
        Form::Item(index, field) if field.len() > 1 => vec![format!(
            "{}[{index}].{}[*].{}",
            dotted(&goal.root),
            dotted(&field[..1]),
            dotted(&field[1..])
        )],
        _ => Vec::new(),
    }),
    (
        "brackets round a projection",
        forms! {
            Form::Project(_) | Form::Filter(..) => ["[§S]", "[ §S ]"],
        },
    ),
    (
        "brackets round the last name",
        forms! {
            Form::Item(..) => ["§L[§N].[§f]", "§L[§N].{§f}", "§L[§N].(§f)"],
            Form::Project(_) => ["§L[*].[§f]", "§L[*].{§f}", "§L[*].(§f)"],
        },
    ),
    (
        "doubled brackets",
        forms! {
            Form::Item(..) => ["§L[[§N]]§F"],
            Form::Project(_) => ["§L[[*]]§F", "§L[*][*]§F"],
            Form::Filter(..) => ["§L[[?§B == §V]]§F", "§L[?[§B == §V]]§F"],
        },
    ),
    (
        "the field within the brackets",
        forms! {
            Form::Project(_) => ["§L[*.§f]", "§L[*: §f]"],
            Form::Filter(..) => ["§L[?§B == §V, §f]", "§L[?§B == §V: §f]", "§L[?§B == §V | §f]", "§L[?§B == §V].[§f]"],
            Form::Item(..) => ["§L[§N§F]", "§L[§N, '§f']", "§L[§N][§f]"],
        },
    ),
    (
        "brackets missing in nested lists",
        forms! {
            Form::Nested(..) => ["§L[*].§K[*]§F", "§L[*].§K§F", "flatten(§L[*].§K[*]§F)", "§L[*].§K[*]§F | flatten(@)"],
        },
    ),
    (
        "the list's name twice",
        forms! {
            Form::Item(..) => ["§L.§l[§N]§F", "§L[§N].§l§F"],
            Form::Project(_) => ["§L.§l[*]§F", "§L[*].§l§F"],
            Form::Filter(..) => ["§L.§l[?§B == §V]§F"],
            Form::Count => ["length(§L.§l)"],
        },
    ),
    (
        "the item's noun as a level",
        forms! {
            Form::Item(..) => ["§L[§N].§n§F", "§L.§n[§N]§F"],
            Form::Project(_) => ["§L[*].§n§F", "§L.§n[*]§F"],
            Form::Filter(..) => ["§L[?§B == §V].§n§F"],
            Form::Last(_) => ["§L[-1].§n§F"],
        },
    ),
    ("a list within the list", |goal, _| {
        in_list(
            goal,
            &[
                "§L.items",
                "§L.nodes",
                "§L.data",
                "§L.entries",
                "§L.list",
                "§L.values",
            ],
        )
    }),
    (
        "edges and nodes",
        forms! {
            Form::Project(_) => ["§L.edges[*].node§F", "§L[*].node§F"],
            Form::Item(..) => ["§L.edges[§N].node§F", "§L[§N].node§F"],
            Form::Filter(..) => ["§L.edges[?node.§B == §V].node§F"],
        },
    ),
    ("the envelope of another API", |goal, given| {
        let mut all = in_list(goal, &["_embedded.§L", "response.body.§L", "d.§L"]);
        if is_only_list(goal, given) {
            all.extend(in_list(
                goal,
                &[
                    "hits.hits",
                    "d.results",
                    "response.docs",
                    "results",
                    "value",
                ],
            ));
        }
        all
    }),
    ("an index before the selector", |goal, given| {
        if given.root.is_array()
            || goal.is_of_a_text()
            || theme(goal) == Theme::Function
            || goal.selector().starts_with(['@', '*', '['])
        {
            return Vec::new();
        }
        filled(goal, &["[0].§S", "data[0].§S", "results[0].§S"])
    }),
    ("an invented wrapper `results` or `value`", |goal, _| {
        ["results", "value", "payload", "json", "contents"]
            .iter()
            .flat_map(|name| wrapped(goal, name))
            .collect()
    }),
    ("a level behind the field", |goal, given| {
        of_value(
            goal,
            given,
            is_any,
            &["§S.value", "§S.text", "§S.raw", "§S.content", "§S.S"],
        )
    }),
    ("levels joined to one name", |goal, _| {
        let mut all = joined(goal, |field| field.join("_"));
        all.extend(joined(goal, |field| field.join(".")));
        all.extend(joined(goal, |field| {
            camel(&field.join("_")).unwrap_or_default()
        }));
        all
    }),
    // Names.
    ("a guessed name of the field", |goal, _| {
        one(with_field(goal, guessed))
    }),
    ("a guessed name of the list", |goal, _| {
        one(with_root(goal, guessed))
    }),
    ("a guessed name in the filter", |goal, _| {
        one(changed(goal, |goal| {
            let last = goal.by_mut()?.last_mut()?;
            *last = guessed(last)?;
            Some(())
        }))
    }),
    ("an odd name written plainly", |goal, _| {
        let plain = |join: fn(&[String]) -> String| {
            with_field(goal, |word| {
                (name(word) != word).then(|| join(&words(word)))
            })
        };
        [
            plain(|words| words.join("_")),
            plain(|words| words.concat()),
            plain(|words| words.join("-")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }),
    ("the last word of the field left out", |goal, given| {
        one(with_field(goal, |word| {
            let mut parts = words(word);
            parts.pop().filter(|_| !parts.is_empty())?;
            let rest = parts.join("_");
            let mut found = Vec::new();
            count_of_names(
                &given.root,
                &|key| words(key).join("_").starts_with(&rest),
                &mut found,
            );
            let short = if word.contains('_') {
                rest
            } else {
                camel(&rest).unwrap_or(rest)
            };
            (found.len() == 1)
                .then_some(())
                .and_then(|()| other(word, short))
        }))
    }),
    ("the words of the field the other way round", |goal, _| {
        one(with_field(goal, |word| {
            let mut parts = words(word);
            (parts.len() == 2 && word.is_ascii()).then_some(())?;
            parts.reverse();
            let turned = parts.join("_");
            other(
                word,
                if word.contains('_') {
                    turned
                } else {
                    camel(&turned)?
                },
            )
        }))
    }),
    ("an odd name in other quotes", |goal, _| {
        let selector = goal.selector();
        if selector.matches('"').count() != 2 {
            return Vec::new();
        }
        ["`", "\\\"", "\"\"", "“"]
            .iter()
            .map(|quote| selector.replace('"', quote))
            .collect()
    }),
    // Filters.
    (
        "the field in quotes in the filter",
        forms! {
            Form::Filter(..) => ["§L[?'§B' == §V]§F", "§L[?`§B` == §V]§F", "§L[?['§B'] == §V]§F", "§L[?@['§B'] == §V]§F"],
            Form::Above(..) => ["§L[?'§B' > §V]§F", "§L[?@['§B'] > §V]§F"],
            Form::Contains(..) => ["§L[?contains('§B', '§W')]§F"],
            Form::First(..) => ["§L[?'§B' == §V] | [0]§F"],
        },
    ),
    (
        "the list's name in the filter",
        forms! {
            Form::Filter(..) => ["§L[?§L.§B == §V]§F", "§L[?§l.§B == §V].§l§F", "§L[?§L[*].§B == §V]§F"],
            Form::Above(..) => ["§L[?§L.§B > §V]§F"],
            Form::Contains(..) => ["§L[?contains(§L.§B, '§W')]§F"],
            Form::CountWhere(..) => ["length(§L[?§L.§B == §V])"],
        },
    ),
    (
        "a name for the item in the filter",
        forms! {
            Form::Filter(..) => ["§L[?this.§B == §V]§F", "§L[?it.§B == §V]§F", "§L[?self.§B == §V]§F", "§L[?_.§B == §V]§F", "§L[?$item.§B == §V]§F", "§L[?.§B == §V]§F"],
            Form::Contains(..) => ["§L[?contains(this.§B, '§W')]§F", "§L[?contains(.§B, '§W')]§F", "§L[?contains($.§B, '§W')]§F"],
            Form::First(..) => ["§L[?.§B == §V] | [0]§F", "§L[?this.§B == §V] | [0]§F"],
        },
    ),
    ("the item's name in a construction", |goal, _| {
        match &goal.form {
            Form::Hash(pairs) => ["item.", "this.", "it.", "x.", "$item."]
                .iter()
                .map(|item| {
                    format!(
                        "{}[*].{{{}}}",
                        dotted(&goal.root),
                        members(pairs, |path| format!("{item}{}", dotted(path)))
                    )
                })
                .collect(),
            _ => Vec::new(),
        }
    }),
    (
        "a construction within a function",
        forms! {
            Form::Hash(_) => ["map(§I, &{§H})", "map({§H}, §I)", "map(&{§H})", "§L.map({§H})", "§L | map({§H})", "project(§I, {§H})"],
        },
    ),
    (
        "a construction without its projection",
        forms! {
            Form::Hash(_) => ["§L{§H}", "§L[{§H}]", "§L[*]: {§H}", "{§H} for §L", "§L -> {§H}", "§L[*].select({§H})"],
        },
    ),
    ("a pattern for a text in the filter", |goal, _| {
        plain_word(
            goal,
            match goal.form {
                Form::Contains(..) => &[
                    "§L[?regex(§B, '§W')]§F",
                    "§L[?matches(§B, '.*§W.*')]§F",
                    "§L[?regex_match(§B, '§W')]§F",
                    "§L[?test(§B, '§W')]§F",
                    "§L[?§B =~ '.*§W.*']§F",
                    "§L[?search(§B, '§W')]§F",
                ],
                Form::More(More::Starts(..)) => &[
                    "§L[?matches(§B, '^§W')]§F",
                    "§L[?regex(§B, '^§W.*')]§F",
                    "§L[?§B =~ '^§W']§F",
                    "§L[?startsWith(§B, '§W') == true]§F",
                ],
                _ => &[],
            },
        )
    }),
    ("the beginning of a text cut out", |goal, _| {
        match &goal.form {
            Form::More(More::Starts(_, word, _)) => {
                let end = word.chars().count();
                [
                    "§L[?substring(§B, 0, END) == '§W']§F",
                    "§L[?§B[0:END] == '§W']§F",
                    "§L[?§B[:END] = '§W']§F",
                    "§L[?left(§B, END) == '§W']§F",
                    "§L[?slice(§B, 0, END) == '§W']§F",
                ]
                .iter()
                .filter_map(|template| fill(goal, &template.replace("END", &end.to_string())))
                .collect()
            }
            _ => Vec::new(),
        }
    }),
    (
        "a list of two values for the one",
        forms! {
            Form::More(More::Either(..)) => ["§L[?§B == [§X, §Y]]§F", "§L[?any(§B, [§X, §Y])]§F", "§L[?one_of(§B, §X, §Y)]§F", "§L[?includes([§X, §Y], §B)]§F", "§L[?§B == §X, §Y]§F", "§L[?§B == §X OR §Y]§F", "§L[?§B.in(§X, §Y)]§F"],
        },
    ),
    (
        "a comma or a bracket between two conditions",
        forms! {
            Form::Both(..) => ["§L[?§A == §X, §C == §Y]§F", "§L[?§A == §X] && [?§C == §Y]§F", "§L[?§A == §X && ?§C == §Y]§F", "§L[?and(§A == §X, §C == §Y)]§F", "§L[?(§A == §X; §C == §Y)]§F"],
            Form::More(More::Either(..)) => ["§L[?or(§B == §X, §B == §Y)]§F", "§L[?§B == §X || ?§B == §Y]§F"],
        },
    ),
    (
        "a negation before the field",
        forms! {
            Form::More(More::Except(..)) => ["§L[?!§B == §V]§F", "§L[?not §B == §V]§F", "§L[?not(§B == §V)]§F", "§L[?§B not §V]§F", "§L[?!§B = §V]§F", "§L[!?§B == §V]§F", "§L[?not_equals(§B, §V)]§F"],
        },
    ),
    (
        "a text in two quotations",
        forms! {
            Form::Filter(_, Value::String(_), _) => ["§L[?§B == `'§T'`]§F", "§L[?§B == \"'§T'\"]§F", "§L[?§B == '\"§T\"']§F", "§L[?§B == '`§T`']§F", "§L[?§B == ''§T'']§F"],
            Form::First(_, Value::String(_), _) => ["§L[?§B == `'§T'`] | [0]§F", "§L[?§B == '\"§T\"'] | [0]§F", "§L[?§B == ''§T''] | [0]§F"],
        },
    ),
    (
        "a number in two quotations",
        forms! {
            Form::Above(..) => ["§L[?§B > '`§J`']§F", "§L[?§B > \"`§J`\"]§F", "§L[?§B > `'§J'`]§F", "§L[?§B > `\"§J\"`]§F", "§L[?§B > to_number(§J)]§F", "§L[?§B > number(`§J`)]§F"],
            Form::More(More::Below(..)) => ["§L[?§B < '`§J`']§F", "§L[?§B < `\"§J\"`]§F", "§L[?§B < to_number(§J)]§F", "§L[?§B < int(§J)]§F"],
        },
    ),
    (
        "a flag as another literal",
        forms! {
            Form::Filter(_, Value::Bool(_), _) => ["§L[?§B == `\"§J\"`]§F", "§L[?§B == '`§J`']§F", "§L[?§B is §J]§F", "§L[?§B === §J]§F", "§L[?bool(§B) == §J]§F", "§L[?§B == bool(§J)]§F"],
        },
    ),
    (
        "a quote missing",
        forms! {
            Form::Filter(_, Value::String(_), _) => ["§L[?§B == '§T]§F", "§L[?§B == §T']§F", "§L[?§B == `§T]§F", "§L[?§B == \"§T]§F"],
            Form::Contains(..) => ["§L[?contains(§B, '§W)]§F", "§L[?contains(§B, §W')]§F"],
        },
    ),
    (
        "two different quotes",
        forms! {
            Form::Filter(_, Value::String(_), _) => ["§L[?§B == '§T\"]§F", "§L[?§B == \"§T']§F", "§L[?§B == `§T']§F", "§L[?§B == '§T`]§F"],
            Form::Contains(..) => ["§L[?contains(§B, '§W\")]§F", "§L[?contains(§B, `§W')]§F"],
        },
    ),
    (
        "a parenthesis too many or too few",
        forms! {
            Form::Filter(..) => ["§L[?(§B == §V]§F", "§L[?§B == §V)]§F", "§L[?((§B == §V)]§F"],
            Form::Contains(..) => ["§L[?contains(§B, '§W']§F", "§L[?contains(§B, '§W'))]§F", "§L[?(contains(§B, '§W')]§F"],
            Form::Sort(..) => ["sort_by(§I, &§B[*]§F", "sort_by(§I, &§B))[*]§F"],
            Form::Count => ["length((§I)"],
        },
    ),
    (
        "the question mark elsewhere",
        forms! {
            Form::Filter(..) => ["§L?[§B == §V]§F", "§L[§B == §V]?§F", "§L[§B ?== §V]§F", "§L[ ?§B == §V]§F", "§L[??§B == §V]§F", "§L[?:§B == §V]§F"],
            Form::Above(..) => ["§L?[§B > §V]§F", "§L[ ?§B > §V]§F"],
            Form::First(..) => ["§L?[§B == §V] | [0]§F", "§L[ ?§B == §V] | [0]§F"],
        },
    ),
    (
        "another sign for `==`",
        forms! {
            Form::Filter(..) => ["§L[?§B := §V]§F", "§L[?§B = = §V]§F", "§L[?§B.equals(§V)]§F", "§L[?§B equal §V]§F", "§L[?§B.eq(§V)]§F", "§L[?§B EQ §V]§F"],
            Form::First(..) => ["§L[?§B := §V] | [0]§F", "§L[?§B.equals(§V)] | [0]§F"],
        },
    ),
    (
        "the value before the field, without quotes",
        forms! {
            Form::Filter(_, Value::String(_), _) => ["§L[?\"§T\" == §B]§F", "§L[?\"§T\" === §B]§F"],
            Form::Above(..) => ["§L[?§J < §B]§F"],
        },
    ),
    (
        "the comparison as a pair",
        forms! {
            Form::Filter(..) => ["§L[?{§B: §V}]§F", "§L[{\"§B\": §J}]§F", "§L[?\"§B\": §J]§F"],
            Form::First(..) => ["§L.find({\"§B\": §J})§F", "§L[{§B: §V}] | [0]§F", "find(§I, {§B: §J})§F"],
        },
    ),
    // Other languages.
    ("Postgres and SQL's JSON", |goal, given| match &goal.form {
        Form::Item(index, field) if !goal.root.is_empty() => {
            let steps = |last: &str, path: &[String]| -> String {
                let (leaf, levels) = path
                    .split_last()
                    .map_or(("", [].as_slice()), |(leaf, levels)| {
                        (leaf.as_str(), levels)
                    });
                let levels: String = levels.iter().map(|level| format!("->'{level}'")).collect();
                format!("{levels}{last}'{leaf}'")
            };
            vec![
                format!(
                    "data{}->{index}{}",
                    steps("->", &goal.root),
                    steps("->>", field)
                ),
                format!("{}->{index}{}", dotted(&goal.root), steps("->>", field)),
                format!("JSON_VALUE(data, '$.{}')", goal.selector()),
                format!("json_extract(result, '$.{}')", goal.selector()),
            ]
        }
        Form::Whole if goal.root.len() > 1 && given.root.is_object() => vec![
            format!("JSON_VALUE(data, '$.{}')", goal.selector()),
            format!("JSON_EXTRACT(@, '$.{}')", goal.selector()),
        ],
        _ => Vec::new(),
    }),
    (
        "a search with the selector as a text",
        |goal, _| match theme(goal) {
            Theme::Path | Theme::Projection
                if !goal.selector().contains(['\'', '"']) && goal.selector() != "@" =>
            {
                filled(
                    goal,
                    &[
                        "json_query('§S')",
                        "jmespath.search('§S', result)",
                        "search('§S', @)",
                        "get(data, '§S')",
                        "query(\"§S\")",
                        "@ | json_query('§S')",
                    ],
                )
            }
            _ => Vec::new(),
        },
    ),
    (
        "a method for the index",
        forms! {
            Form::Item(..) => ["§L.Item(§N)§F", "§L.get(§N)§F", "§L.elementAt(§N)§F", "§L.nth(§N)§F", "§L.index(§N)§F"],
        },
    ),
    // Texts.
    ("a name for the whole of a text", |goal, given| {
        match (&goal.form, given.shape) {
            (Form::Whole, Shape::Plain) => [
                "text",
                "body",
                "stdout",
                "output",
                "result.text",
                "response.text",
                "raw",
                "data",
            ]
            .map(str::to_owned)
            .into(),
            _ => Vec::new(),
        }
    }),
    (
        "texts: a split at line breaks",
        forms! {
            Form::Line(_) => ["split('\\n', @)[§N]", "split(@, \"\\n\")[§N]", "split(@, `\\n`)[§N]", "@ | split('\\n') | [§N]", "split_by(@, '\\n')[§N]"],
            Form::Grep(_) => ["split(@, '\\n')[?contains(@, '§W')]", "split('\\n', @)[?contains(@, '§W')]", "split(@, \"\\n\") | [?contains(@, '§W')]"],
        },
    ),
    ("texts: a search for lines", |goal, _| {
        plain_word(
            goal,
            match goal.form {
                Form::Grep(_) => &[
                    "grep(@, '§W')",
                    "lines(@) | grep('§W')",
                    "grep('§W', lines(@))",
                    "lines(@)[?@ like '%§W%']",
                    "lines(@)[?regex(@, '§W')]",
                    "lines(@).contains('§W')",
                    "find_lines(@, '§W')",
                ],
                _ => &[],
            },
        )
    }),
    (
        "texts: a condition on a name for the line",
        forms! {
            Form::Grep(_) => ["lines(@)[?contains(line, '§W')]", "lines(@)[?contains(text, '§W')]", "lines(@)[?line.contains('§W')]", "lines(@)[*][?contains(@, '§W')]", "lines[*][?contains(@, '§W')]", "lines(@)[?contains(_, '§W')]"],
        },
    ),
    (
        "texts: cells by the name of their column",
        |goal, given| match goal.form {
            Form::Cell(line, cell) if line > 0 => {
                let header = given
                    .root
                    .as_str()
                    .and_then(|text| text.lines().next())
                    .unwrap_or_default();
                let Some(column) = header.split(',').nth(cell) else {
                    return Vec::new();
                };
                let row = line - 1;
                vec![
                    format!("parse_csv(@)[{row}].{column}"),
                    format!("csv(@)[{row}].{column}"),
                    format!("[{row}].{column}"),
                    format!("rows[{row}].{column}"),
                    format!("from_csv(@)[{row}].{column}"),
                    format!("[{row}]['{column}']"),
                ]
            }
            _ => Vec::new(),
        },
    ),
    (
        "texts: cells with the arguments otherwise",
        forms! {
            Form::Cell(..) => ["split(lines(@)[§N])[§E]", "lines(@)[§N] | split(',', @) | [§E]", "fields(lines(@)[§N])[§E]", "split(lines(@)[§N], ',', §E)", "lines(@)[§N].split(',').[§E]", "cut(lines(@)[§N], ',', §E)"],
        },
    ),
    (
        "texts: a count in another way",
        forms! {
            Form::Lines => ["line_count(@)", "lines(@).count", "size(lines(@))", "length(lines(text))", "lines(@)[*] | length"],
        },
    ),
    (
        "two mistakes: double quotes and a misspelt function",
        |goal, _| match &goal.form {
            Form::Contains(..) => filled(
                goal,
                &["§L[?contain(§B, \"§W\")]§F", "§L[?includes(.§B, \"§W\")]§F"],
            ),
            Form::More(More::Starts(..)) => filled(
                goal,
                &[
                    "§L[?startswith(.§B, \"§W\")]§F",
                    "§L[?starts_with(item.§B, \"§W\")]§F",
                ],
            ),
            _ => Vec::new(),
        },
    ),
    (
        "two mistakes: `[0]` for a pipe and double quotes",
        |goal, _| match &goal.form {
            Form::First(_, Value::String(_), _) => filled(
                goal,
                &[
                    "§L[?§B == \"§T\"][0]§F",
                    "§L[?§B = \"§T\"].[0]§F",
                    "$.§L[?(@.§B == \"§T\")] | [0]§F",
                    "§L[?§B === '§T'][0]§F",
                ],
            ),
            _ => Vec::new(),
        },
    ),
    (
        "two mistakes: a wrapper and brackets missing",
        |goal, _| match &goal.form {
            Form::Project(_) => filled(goal, &["data.§L.§f", "result.§L.§f", "response.§L§F"]),
            _ => Vec::new(),
        },
    ),
    ("two mistakes: another case and a wrong quote", |goal, _| {
        let cased = with_field(goal, |word| camel(word).or_else(|| snake(word)));
        one(cased)
            .into_iter()
            .flat_map(|text| first_replaced(&text, "[?", "[?@."))
            .map(|text| text.replace(" == ", " = "))
            .filter(|text| text.contains(" = "))
            .collect()
    }),
];
