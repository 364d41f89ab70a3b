//! The same goals in yet other languages, and in other corners of the first ones.

use crate::mistakes::{
    dialects::{is_plain, quoted, single, variable},
    goals::{Form, Goal, More, Path, name},
};
use serde_json::Value;

/// `.a.b`, where all names are plain.
fn plain(path: &[String]) -> Option<String> {
    path.iter()
        .all(|field| is_plain(field))
        .then(|| path.iter().map(|field| format!(".{field}")).collect())
}

/// `["a"]["b"]`
fn subscripts(path: &[String]) -> String {
    path.iter()
        .map(|field| format!("[{}]", quoted(field)))
        .collect()
}

/// `['a']['b']`
fn brackets(path: &[String]) -> String {
    path.iter().map(|field| format!("['{field}']")).collect()
}

fn constant(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => single(other),
    }
}

/// The templates with the parts of a goal in them, where the goal is of a list with plain names:
/// `LIST`, `.FIELD`, `.BY`, `'IS'`, `"IS"`, `'ELSE'`, `"ELSE"`, `WORD`, `INDEX`, `END`, `.A`, `.B`, `.IN`, `FIELD` and `BY` without the dot.
struct Parts {
    replacements: Vec<(&'static str, String)>,
}

impl Parts {
    fn of(goal: &Goal) -> Option<Self> {
        let list = variable(goal)?;
        let mut replacements = vec![("LIST", list)];
        let mut path = |with_dot, without, path: &[String]| {
            let dotted = plain(path)?;
            replacements.push((without, dotted.trim_start_matches('.').to_owned()));
            replacements.push((with_dot, dotted));
            Some(())
        };
        let mut goal = goal.clone();
        if let Some(by) = goal.by_mut() {
            path("·BY", "BY", by)?;
        }
        match &goal.form {
            Form::Nested(list, _) => path("·IN", "IN", list)?,
            Form::Join(_, a, b) => {
                path("·A", "A", a)?;
                path("·B", "B", b)?;
            }
            Form::Both((a, _), (b, _), _) => {
                path("·A", "A", a)?;
                path("·B", "B", b)?;
            }
            _ => {}
        }
        if let Form::Join(..) | Form::Hash(_) | Form::Whole = goal.form {
        } else if let Some(field) = goal.field_mut() {
            path("·FIELD", "FIELD", field)?;
        } else if !matches!(goal.form, Form::Count | Form::CountWhere(..) | Form::Keys) {
            return None;
        }
        let mut literals = |single_quotes, double_quotes, is: &Value| {
            replacements.push((single_quotes, single(is)));
            replacements.push((double_quotes, is.to_string()));
        };
        match &goal.form {
            Form::More(More::Either(_, a, b, _)) | Form::Both((_, a), (_, b), _) => {
                literals("'IS'", "\"IS\"", a);
                literals("'ELSE'", "\"ELSE\"", b);
            }
            Form::More(More::Since(_, date, _)) => {
                literals("'IS'", "\"IS\"", &Value::from(date.as_str()))
            }
            _ => {
                if let Some(is) = goal.literal_mut() {
                    literals("'IS'", "\"IS\"", is);
                }
            }
        }
        match &goal.form {
            Form::Item(index, _)
            | Form::Join(index, ..)
            | Form::More(More::CountWithin(index, _) | More::FirstWithin(index, _)) => {
                replacements.push(("INDEX", index.to_string()));
                replacements.push(("NTH", (index + 1).to_string()));
            }
            Form::Slice(end, _) | Form::More(More::Tail(end, _)) => {
                replacements.push(("END", end.to_string()))
            }
            Form::Contains(_, word, _) | Form::More(More::Starts(_, word, _)) => {
                replacements.push(("WORD", word.clone()))
            }
            _ => {}
        }
        // The longer first, so that none is read within another.
        replacements.sort_by_key(|(from, _)| std::cmp::Reverse(from.chars().count()));
        Some(Self { replacements })
    }

    fn fill(&self, template: &str) -> String {
        let is_within = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
        let mut text = String::new();
        let mut rest = template;
        'next: while let Some(first) = rest.chars().next() {
            let before = template[..template.len() - rest.len()].chars().next_back();
            for (from, to) in &self.replacements {
                let is_word = first.is_alphabetic();
                let after = rest.strip_prefix(from).filter(|after| {
                    !is_word || !is_within(before) && !is_within(after.chars().next())
                });
                if let Some(after) = after {
                    text.push_str(to);
                    rest = after;
                    continue 'next;
                }
            }
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
        text
    }
}

fn filled<T: AsRef<str>>(goal: &Goal, templates: &[T]) -> Vec<String> {
    Parts::of(goal)
        .map(|parts| {
            templates
                .iter()
                .map(|template| parts.fill(template.as_ref()))
                .collect()
        })
        .unwrap_or_default()
}

/// Whether a path within an item has more names than one.
fn is_deep(goal: &Goal) -> bool {
    let mut copy = goal.clone();
    copy.by_mut().is_some_and(|by| by.len() > 1)
        || copy.field_mut().is_some_and(|field| field.len() > 1)
        || matches!(&goal.form, Form::Both((a, _), (b, _), _) if a.len() > 1 || b.len() > 1)
        || matches!(&goal.form, Form::Nested(list, _) if list.len() > 1)
}

fn is_number(goal: &Goal) -> bool {
    goal.clone().literal_mut().is_some_and(|is| is.is_number())
}

pub(crate) fn jq(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(0, _) => &[
            "first(.LIST[])·FIELD",
            ".LIST | first | ·FIELD",
            "limit(1; .LIST[])·FIELD",
            ".LIST[0]?·FIELD?",
            "[.LIST[] | ·FIELD] | first",
            ".LIST | .[0] | ·FIELD // empty",
        ],
        Form::Item(..) => &[
            "nth(INDEX; .LIST[])·FIELD",
            ".LIST | nth(INDEX) | ·FIELD",
            "[.LIST[]·FIELD][INDEX]",
            ".LIST as $x | $x[INDEX]·FIELD",
        ],
        Form::Last(_) => &[
            "last(.LIST[]) | ·FIELD",
            "[.LIST[]·FIELD] | last",
            "[.LIST[]·FIELD][-1]",
            ".LIST | reverse | .[0]·FIELD",
            ".LIST | reverse | first | ·FIELD",
        ],
        Form::Slice(..) => &[
            "[limit(END; .LIST[]·FIELD)]",
            ".LIST[:END] | map(·FIELD)",
            ".LIST | .[0:END] | [.[]·FIELD]",
            "[.LIST[]·FIELD][:END]",
        ],
        Form::More(More::Tail(..)) => &[
            ".LIST[-END:][]·FIELD",
            ".LIST[-END:] | map(·FIELD)",
            "[.LIST[]·FIELD][-END:]",
        ],
        Form::Project(_) => &[
            ".LIST | [.[]·FIELD]",
            ".LIST[]?·FIELD?",
            "[.LIST[] as $x | $x·FIELD]",
            "reduce .LIST[] as $x ([]; . + [$x·FIELD])",
            ".LIST | .[] | ·FIELD",
            "[.LIST | .[] | ·FIELD]",
            "[ .LIST[] | .[\"FIELD\"] ]",
            ".LIST | to_entries | map(.value·FIELD)",
        ],
        Form::Values(_) => &[
            "[.LIST | .[] | ·FIELD]",
            ".LIST | map_values(·FIELD) | .[]",
            "[.LIST | to_entries[] | .value·FIELD]",
            ".LIST | with_entries(.value |= ·FIELD) | [.[]]",
        ],
        Form::Filter(..) => &[
            "[.LIST[] | select(·BY == \"IS\")] | map(·FIELD)",
            ".LIST | map(select(·BY == \"IS\") | ·FIELD)",
            ".LIST[] | if ·BY == \"IS\" then ·FIELD else empty end",
            "[.LIST[] | select(·BY == \"IS\")·FIELD]",
            ".LIST | [.[] | select(·BY == \"IS\") | ·FIELD]",
            ".LIST[] | select(·BY==\"IS\")·FIELD",
        ],
        Form::First(..) => &[
            "first(.LIST[] | select(·BY == \"IS\"))·FIELD",
            "[.LIST[] | select(·BY == \"IS\") | ·FIELD][0]",
            "[.LIST[] | select(·BY == \"IS\") | ·FIELD] | first",
            "limit(1; .LIST[] | select(·BY == \"IS\")) | ·FIELD",
            "first(.LIST[] | select(·BY == \"IS\") | ·FIELD)",
        ],
        Form::Both(..) => &[
            ".LIST | map(select(·A == \"IS\" and ·B == \"ELSE\")·FIELD)",
            ".LIST[] | select(·A == \"IS\") | select(·B == \"ELSE\") | ·FIELD",
            "[.LIST[] | select((·A == \"IS\") and (·B == \"ELSE\"))·FIELD]",
        ],
        Form::More(More::Either(..)) => &[
            ".LIST[] | select(·BY == \"IS\" or ·BY == \"ELSE\") | ·FIELD",
            "[.LIST[] | select(·BY | IN(\"IS\", \"ELSE\")) | ·FIELD]",
        ],
        Form::More(More::Except(..)) => &[
            ".LIST[] | select(·BY != \"IS\") | ·FIELD",
            ".LIST | map(select(·BY == \"IS\" | not)·FIELD)",
            "[.LIST[] | select((·BY == \"IS\") | not) | ·FIELD]",
        ],
        Form::More(More::Below(..)) => &[
            ".LIST[] | select(·BY < \"IS\") | ·FIELD",
            ".LIST | map(select(·BY < \"IS\") | ·FIELD)",
        ],
        Form::More(More::Since(..)) => &[
            ".LIST[] | select(·BY >= \"IS\") | ·FIELD",
            ".LIST | map(select(·BY >= \"IS\")·FIELD)",
        ],
        Form::More(More::Starts(..)) => &[
            ".LIST[] | select(·BY | startswith(\"WORD\")) | ·FIELD",
            "[.LIST[] | select(·BY | test(\"^WORD\")) | ·FIELD]",
            ".LIST | map(select(·BY | startswith(\"WORD\"))·FIELD)",
        ],
        Form::More(More::Present(..)) => &[
            ".LIST[] | select(·BY != null) | ·FIELD",
            ".LIST | map(select(·BY != null)·FIELD)",
        ],
        Form::More(More::Missing(..)) => &[
            ".LIST[] | select(·BY == null) | ·FIELD",
            ".LIST | map(select(·BY == null)) | map(·FIELD)",
        ],
        Form::More(More::Records(..)) => &[
            ".LIST[] | select(·BY == \"IS\") | ·FIELD",
            ".LIST | to_entries[] | select(.value·BY == \"IS\") | .value·FIELD",
            "[.LIST | to_entries | map(.value) | .[] | select(·BY == \"IS\")·FIELD]",
        ],
        Form::CountWhere(..) => &[
            "[.LIST[] | select(·BY == \"IS\")] | length",
            ".LIST | map(select(·BY == \"IS\")) | length",
            "reduce (.LIST[] | select(·BY == \"IS\")) as $x (0; . + 1)",
            "[.LIST[] | select(·BY == \"IS\") | 1] | add",
        ],
        Form::More(More::Descending(..)) => &[
            ".LIST | sort_by(·BY) | reverse | map(·FIELD)",
            ".LIST | sort_by(-·BY) | .[]·FIELD",
            "[.LIST | sort_by(·BY) | reverse[] | ·FIELD]",
        ],
        Form::More(More::Least(..)) => &[
            ".LIST | min_by(·BY)·FIELD",
            ".LIST | sort_by(·BY) | .[0]·FIELD",
            ".LIST | sort_by(·BY) | first·FIELD",
        ],
        Form::More(More::Average(_)) => &[
            ".LIST | map(·FIELD) | add / length",
            "[.LIST[]·FIELD] | add/length",
            "(.LIST | map(·FIELD) | add) / (.LIST | length)",
        ],
        Form::More(More::Min(_)) => &[".LIST | map(·FIELD) | min", "[.LIST[]·FIELD] | min"],
        Form::More(More::Flat(_)) => &[
            ".LIST[]·FIELD[]",
            "[.LIST[]·FIELD[]]",
            ".LIST | map(·FIELD) | flatten",
            "[.LIST[]·FIELD] | add",
            ".LIST | map(·FIELD[])",
        ],
        Form::More(More::CountWithin(..)) => &[
            ".LIST[INDEX]·FIELD | length",
            ".LIST | .[INDEX] | ·FIELD | length",
        ],
        Form::More(More::FirstWithin(..)) => &[
            ".LIST[INDEX]·FIELD | first",
            "first(.LIST[INDEX]·FIELD[])",
            ".LIST[INDEX] | ·FIELD | .[0]",
        ],
        Form::Sum(_) => &[
            "reduce .LIST[] as $x (0; . + $x·FIELD)",
            "[.LIST[] | ·FIELD] | add",
            ".LIST | map(·FIELD) | add",
        ],
        Form::Nested(..) => &[
            ".LIST[]·IN[] | ·FIELD",
            ".LIST | map(·IN[]) | map(·FIELD)",
            "[.LIST[]·IN[]·FIELD]",
            ".LIST | map(·IN) | flatten | map(·FIELD)",
        ],
        _ => &[],
    };
    let texts = filled(goal, templates).into_iter();
    texts
        .filter(|text| !is_deep(goal) || !text.contains("[\""))
        .collect()
}

pub(crate) fn jq_command(goal: &Goal) -> Vec<String> {
    let program = match &goal.form {
        Form::Whole | Form::Item(..) | Form::Last(_) => {
            let selector = goal.selector();
            if selector.contains('"') || selector.starts_with('@') {
                return Vec::new();
            }
            format!(".{selector}")
        }
        Form::Project(_) => filled(goal, &[".LIST[]·FIELD"]).pop().unwrap_or_default(),
        Form::Filter(..) => filled(goal, &[".LIST[] | select(·BY == \"IS\") | ·FIELD"])
            .pop()
            .unwrap_or_default(),
        Form::Count => filled(goal, &[".LIST | length"]).pop().unwrap_or_default(),
        _ => String::new(),
    };
    if program.is_empty() || program.contains('\'') {
        return Vec::new();
    }
    [
        "jq '…'",
        "jq -r '…'",
        "jq: …",
        "| jq '…'",
        "jq -c '…' result.json",
    ]
    .iter()
    .map(|frame| frame.replace('…', &program))
    .collect()
}

pub(crate) fn jsonpath(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(..) => &[
            "$['LIST'][INDEX]·FIELD",
            "$.LIST.[INDEX]·FIELD",
            "$.LIST[(INDEX)]·FIELD",
            "@.LIST[INDEX]·FIELD",
            "$LIST[INDEX]·FIELD",
            "jsonpath:$.LIST[INDEX]·FIELD",
            "$.LIST.INDEX·FIELD",
        ],
        Form::Last(_) => &[
            "$.LIST[?(@.length-1)]·FIELD",
            "$.LIST[(@.length - 1)]·FIELD",
            "$.LIST.last()·FIELD",
            "$.LIST[last]·FIELD",
        ],
        Form::Slice(2, _) => &[
            "$.LIST[0,1]·FIELD",
            "$.LIST[0:2:1]·FIELD",
            "$.LIST[:2]['FIELD']",
        ],
        Form::More(More::Tail(..)) => &["$.LIST[-END:]·FIELD", "$.LIST[(@.length-END):]·FIELD"],
        Form::Project(_) => &[
            "$.LIST.[*]·FIELD",
            "$['LIST'][*]['FIELD']",
            "$.LIST[:]·FIELD",
            "$.LIST[]·FIELD",
            "$.LIST..FIELD",
            "$.LIST[*].['FIELD']",
        ],
        Form::Values(_) => &["$.LIST.*·FIELD", "$['LIST'].*·FIELD", "$.LIST.[*]·FIELD"],
        Form::Filter(..) => &[
            "$.LIST[?(@·BY === 'IS')]·FIELD",
            "$.LIST[?(@['BY']=='IS')]['FIELD']",
            "$.LIST[?@·BY=='IS']·FIELD",
            "$.LIST.[?(@·BY == \"IS\")]·FIELD",
            "$.LIST[*][?(@·BY == 'IS')]·FIELD",
            "$.LIST[?('IS' == @·BY)]·FIELD",
            "$.LIST[?(@·BY in ['IS'])]·FIELD",
            "$.LIST[?(@·BY eq 'IS')]·FIELD",
        ],
        Form::First(..) => &[
            "$.LIST[?(@·BY == 'IS')].first()·FIELD",
            "$.LIST[?(@·BY == 'IS')]·FIELD[0]",
            "$.LIST[?(@·BY === 'IS')][:1]·FIELD",
        ],
        Form::Above(..) => &["$.LIST[?(@['BY'] > \"IS\")]·FIELD"],
        Form::More(More::Below(..)) if is_number(goal) => &[
            "$.LIST[?(@·BY < \"IS\")]·FIELD",
            "$.LIST[?@·BY < \"IS\"]·FIELD",
        ],
        Form::More(More::Except(..)) => &[
            "$.LIST[?(@·BY != 'IS')]·FIELD",
            "$.LIST[?(!(@·BY == 'IS'))]·FIELD",
            "$.LIST[?(@·BY nin ['IS'])]·FIELD",
        ],
        Form::More(More::Either(..)) => &[
            "$.LIST[?(@·BY in ['IS', 'ELSE'])]·FIELD",
            "$.LIST[?(@·BY == 'IS' || @·BY == 'ELSE')]·FIELD",
            "$.LIST[?(@·BY == 'IS' or @·BY == 'ELSE')]·FIELD",
        ],
        Form::More(More::Since(..)) => &[
            "$.LIST[?(@·BY >= 'IS')]·FIELD",
            "$.LIST[?@·BY >= \"IS\"]·FIELD",
        ],
        Form::More(More::Starts(..)) => &[
            "$.LIST[?(@·BY =~ /^WORD/)]·FIELD",
            "$.LIST[?(@·BY =~ /^WORD.*/)]·FIELD",
            "$.LIST[?search(@·BY, '^WORD')]·FIELD",
        ],
        Form::Contains(..) => &[
            "$.LIST[?(@·BY contains 'WORD')]·FIELD",
            "$.LIST[?search(@·BY, 'WORD')]·FIELD",
            "$.LIST[?(@·BY.indexOf('WORD') != -1)]·FIELD",
        ],
        Form::More(More::Present(..)) => &[
            "$.LIST[?(@·BY != null)]·FIELD",
            "$.LIST[?@·BY != null]·FIELD",
        ],
        Form::More(More::Missing(..)) => &["$.LIST[?(@·BY == null)]·FIELD"],
        Form::More(More::Records(..)) => &[
            "$.LIST[?(@·BY == 'IS')]·FIELD",
            "$.LIST.*[?(@·BY == 'IS')]·FIELD",
        ],
        Form::More(More::Flat(_)) => &["$.LIST[*]·FIELD[*]", "$.LIST.*·FIELD.*"],
        Form::More(More::FirstWithin(..)) => &[
            "$.LIST[INDEX]·FIELD[0]",
            "$['LIST'][INDEX]['FIELD'][0]",
            "$.LIST[INDEX]·FIELD.first()",
        ],
        Form::Nested(..) => &[
            "$.LIST[*]·IN[*]·FIELD",
            "$.LIST[*]['IN'][*]['FIELD']",
            "$.LIST.[*]·IN.[*]·FIELD",
        ],
        Form::Both(..) => &[
            "$.LIST[?(@·A == 'IS' && @·B == 'ELSE')]·FIELD",
            "$.LIST[?(@·A=='IS')][?(@·B=='ELSE')]·FIELD",
        ],
        Form::Count => &[
            "$.LIST.count()",
            "count($.LIST[*])",
            "$.LIST[*].length()",
            "length($.LIST[*])",
            "$.LIST.size()",
        ],
        Form::CountWhere(..) => &[
            "count($.LIST[?(@·BY == 'IS')])",
            "$.LIST[?(@·BY == 'IS')].length",
            "$.LIST[?@·BY == 'IS'].count()",
        ],
        Form::Sum(_) => &["$.LIST[*]·FIELD.sum()", "$sum(LIST·FIELD)"],
        Form::More(More::Average(_)) => &[
            "$.LIST[*]·FIELD.avg()",
            "avg($.LIST[*]·FIELD)",
            "$.LIST..FIELD.avg()",
        ],
        Form::More(More::Min(_)) => &["$.LIST[*]·FIELD.min()", "min($.LIST[*]·FIELD)"],
        Form::More(More::CountWithin(..)) => &[
            "$.LIST[INDEX]·FIELD.length",
            "$.LIST[INDEX]·FIELD.length()",
            "length($.LIST[INDEX]·FIELD)",
        ],
        Form::Keys => &["$.LIST.keys()", "keys($.LIST)", "$.LIST~", "$.LIST.*~"],
        _ => &[],
    };
    filled(goal, templates)
        .into_iter()
        // A path of more names than one does not stand in one pair of brackets.
        .filter(|text| {
            text.split("['").skip(1).all(|rest| {
                rest.split_once("']")
                    .is_none_or(|(name, _)| !name.contains('.'))
            })
        })
        .collect()
}

pub(crate) fn javascript(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Whole => {
            let Some(path) = variable(goal).filter(|path| path.contains('.')) else {
                return Vec::new();
            };
            return vec![
                path.replace('.', "?."),
                format!("data?.{}", path.replace('.', "?.")),
                format!("result.{path} ?? null"),
            ];
        }
        Form::Item(0, _) => &[
            "LIST.at(0)?·FIELD",
            "LIST?.[0]·FIELD",
            "LIST.slice(0, 1)[0]·FIELD",
            "const [first] = LIST; first·FIELD",
            "LIST.shift()·FIELD",
            "Array.from(LIST)[0]·FIELD",
            "LIST.map(x => x·FIELD)[0]",
            "(LIST || [])[0]·FIELD",
        ],
        Form::Item(..) => &[
            "LIST.at(INDEX)·FIELD",
            "LIST?.at(INDEX)?·FIELD",
            "LIST.map(x => x·FIELD)[INDEX]",
            "LIST.map(({FIELD}) => FIELD)[INDEX]",
            "(LIST ?? [])[INDEX]?·FIELD",
            "LIST.slice(INDEX)[0]·FIELD",
        ],
        Form::Last(_) => &[
            "LIST[LIST.length-1]·FIELD",
            "LIST.slice(-1).map(x => x·FIELD)[0]",
            "[...LIST].pop()·FIELD",
            "LIST.reverse()[0]·FIELD",
            "LIST.map(x => x·FIELD).at(-1)",
        ],
        Form::More(More::FirstWithin(..)) => &[
            "LIST[INDEX]·FIELD?.[0]",
            "LIST.at(INDEX)·FIELD.at(0)",
            "LIST[INDEX]?·FIELD[0]",
        ],
        Form::Slice(..) => &[
            "LIST.slice(0,END).map(({FIELD}) => FIELD)",
            "LIST.filter((_, i) => i < END).map(x => x·FIELD)",
            "LIST.map(x => x·FIELD).slice(0, END)",
            "Array.from(LIST).slice(0, END).map(x => x·FIELD)",
        ],
        Form::More(More::Tail(..)) => &[
            "LIST.slice(-END).map(x => x·FIELD)",
            "LIST.map(x => x·FIELD).slice(-END)",
            "LIST.slice(LIST.length - END).map(x => x·FIELD)",
        ],
        Form::Project(_) => &[
            "LIST.map(({FIELD}) => FIELD)",
            "LIST.map(({ FIELD }) => FIELD)",
            "Array.from(LIST, x => x·FIELD)",
            "LIST?.map(x => x?·FIELD)",
            "[...LIST].map(x => x·FIELD)",
            "LIST.map((x, i) => x·FIELD)",
            "LIST.reduce((all, x) => [...all, x·FIELD], [])",
            "LIST.map((x) => { return x·FIELD; })",
            "LIST.map(x => x[\"FIELD\"])",
            "LIST.flatMap(x => [x·FIELD])",
        ],
        Form::Values(_) => &[
            "Object.values(LIST).map(({FIELD}) => FIELD)",
            "Object.entries(LIST).map(([k, v]) => v·FIELD)",
            "Object.keys(LIST).map(k => LIST[k]·FIELD)",
            "Object.values(LIST).map(v => v·FIELD)",
        ],
        Form::More(More::Flat(_)) => &[
            "LIST.flatMap(x => x·FIELD)",
            "LIST.map(x => x·FIELD).flat()",
            "[].concat(...LIST.map(x => x·FIELD))",
            "LIST.reduce((all, x) => all.concat(x·FIELD), [])",
        ],
        Form::Nested(..) => &[
            "LIST.flatMap(x => x·IN).map(y => y·FIELD)",
            "LIST.map(x => x·IN).flat().map(y => y·FIELD)",
            "LIST.flatMap(({IN}) => IN.map(({FIELD}) => FIELD))",
        ],
        Form::Filter(..) => &[
            "LIST.filter(({BY}) => BY === 'IS').map(({FIELD}) => FIELD)",
            "LIST.filter(x => x?·BY === \"IS\").map(x => x·FIELD)",
            "LIST.filter(function (x) { return x·BY === 'IS'; }).map(x => x·FIELD)",
            "LIST.filter(x => 'IS' === x·BY).map(x => x·FIELD)",
            "LIST.filter((x) => { return x·BY == 'IS' }).map((x) => x·FIELD)",
            "LIST.filter(x => Object.is(x·BY, 'IS')).map(x => x·FIELD)",
            "LIST.flatMap(x => x·BY === 'IS' ? [x·FIELD] : [])",
        ],
        Form::First(..) => &[
            "LIST.find(({BY}) => BY === 'IS')·FIELD",
            "LIST.find(x => x·BY === 'IS')?.['FIELD']",
            "LIST.filter(x => x·BY === 'IS').at(0)·FIELD",
            "LIST.filter(x => x·BY === 'IS').shift()·FIELD",
            "LIST.filter(x => x·BY === 'IS').map(x => x·FIELD)[0]",
            "LIST[LIST.findIndex(x => x·BY === 'IS')]·FIELD",
            "(LIST.find(x => x·BY === 'IS') || {})·FIELD",
        ],
        Form::More(More::Except(..)) => &[
            "LIST.filter(x => x·BY !== 'IS').map(x => x·FIELD)",
            "LIST.filter(x => !(x·BY === 'IS')).map(x => x·FIELD)",
        ],
        Form::More(More::Either(..)) => &[
            "LIST.filter(x => ['IS', 'ELSE'].includes(x·BY)).map(x => x·FIELD)",
            "LIST.filter(x => x·BY === 'IS' || x·BY === 'ELSE').map(x => x·FIELD)",
        ],
        Form::More(More::Below(..)) if is_number(goal) => &[
            "LIST.filter(x => x·BY < \"IS\").map(x => x·FIELD)",
            "LIST.filter(({BY}) => BY < \"IS\").map(x => x·FIELD)",
        ],
        Form::More(More::Since(..)) => &[
            "LIST.filter(x => x·BY >= 'IS').map(x => x·FIELD)",
            "LIST.filter(x => new Date(x·BY) >= new Date('IS')).map(x => x·FIELD)",
        ],
        Form::More(More::Starts(..)) => &[
            "LIST.filter(x => x·BY.startsWith('WORD')).map(x => x·FIELD)",
            "LIST.filter(x => x·BY.indexOf('WORD') === 0).map(x => x·FIELD)",
            "LIST.filter(x => /^WORD/.test(x·BY)).map(x => x·FIELD)",
        ],
        Form::Contains(..) => &[
            "LIST.filter(x => x·BY.indexOf('WORD') !== -1).map(x => x·FIELD)",
            "LIST.filter(x => x·BY?.includes(\"WORD\")).map(x => x·FIELD)",
            "LIST.filter(x => x·BY.match(/WORD/)).map(x => x·FIELD)",
        ],
        Form::More(More::Present(..)) => &[
            "LIST.filter(x => x·BY != null).map(x => x·FIELD)",
            "LIST.filter(x => x·BY !== null && x·BY !== undefined).map(x => x·FIELD)",
        ],
        Form::More(More::Missing(..)) => &["LIST.filter(x => x·BY == null).map(x => x·FIELD)"],
        Form::More(More::Records(..)) => &[
            "Object.values(LIST).filter(x => x·BY === 'IS').map(x => x·FIELD)",
            "Object.entries(LIST).filter(([k, v]) => v·BY === 'IS').map(([k, v]) => v·FIELD)",
        ],
        Form::Both(..) => &[
            "LIST.filter(x => x·A === 'IS').filter(x => x·B === 'ELSE').map(x => x·FIELD)",
            "LIST.filter(({A, B}) => A === 'IS' && B === 'ELSE').map(x => x·FIELD)",
        ],
        Form::Count => &[
            "LIST.length()",
            "LIST?.length ?? 0",
            "[...LIST].length",
            "LIST.size",
            "LIST.map(x => x).length",
            "LIST.reduce((n) => n + 1, 0)",
            "Object.keys(LIST).length",
        ],
        Form::CountWhere(..) => &[
            "LIST.filter(({BY}) => BY === 'IS').length",
            "LIST.filter(x => x·BY == 'IS').length",
            "LIST.reduce((n, x) => x·BY === 'IS' ? n + 1 : n, 0)",
        ],
        Form::Sum(_) => &[
            "LIST.map(x => x·FIELD).reduce((a, b) => a + b)",
            "LIST.reduce((a, {FIELD}) => a + FIELD, 0)",
            "LIST.reduce((acc, cur) => acc + cur·FIELD, 0)",
        ],
        Form::More(More::Average(_)) => &[
            "LIST.reduce((a, x) => a + x·FIELD, 0) / LIST.length",
            "LIST.map(x => x·FIELD).reduce((a, b) => a + b, 0) / LIST.length",
        ],
        Form::More(More::Min(_)) => &[
            "Math.min(...LIST.map(x => x·FIELD))",
            "Math.min(...LIST.map(({FIELD}) => FIELD))",
            "LIST.map(x => x·FIELD).sort((a, b) => a - b)[0]",
        ],
        Form::More(More::Descending(..)) => &[
            "LIST.sort((a, b) => b·BY - a·BY).map(x => x·FIELD)",
            "LIST.slice().sort((a, b) => b·BY - a·BY).map(({FIELD}) => FIELD)",
            "[...LIST].sort((a, b) => a·BY - b·BY).reverse().map(x => x·FIELD)",
            "LIST.toSorted((a, b) => b·BY - a·BY).map(x => x·FIELD)",
        ],
        Form::More(More::Least(..)) => &[
            "LIST.sort((a, b) => a·BY - b·BY)[0]·FIELD",
            "LIST.reduce((a, b) => a·BY < b·BY ? a : b)·FIELD",
            "LIST.reduce((min, x) => x·BY < min·BY ? x : min, LIST[0])·FIELD",
        ],
        Form::More(More::CountWithin(..)) => &[
            "LIST[INDEX]·FIELD.length",
            "LIST[INDEX]?·FIELD?.length",
            "LIST.at(INDEX)·FIELD.length",
        ],
        Form::Keys => &[
            "Object.entries(LIST).map(([k]) => k)",
            "[...Object.keys(LIST)]",
            "Object.keys(LIST).map(k => k)",
        ],
        Form::Join(..) => &[
            "[LIST[INDEX]·A, LIST[INDEX]·B].join(' ')",
            "`${LIST[INDEX]·A} ${LIST[INDEX]·B}`",
            "LIST[INDEX]·A + \" \" + LIST[INDEX]·B",
            "LIST[INDEX]·A.concat(' ', LIST[INDEX]·B)",
        ],
        _ => &[],
    };
    destructured(goal, filled(goal, templates))
}

/// Without those that take apart a path of more names than one.
fn destructured(goal: &Goal, texts: Vec<String>) -> Vec<String> {
    let takes_apart = |text: &str| {
        ["({", "[\"", "['", ", {"]
            .iter()
            .any(|sign| text.contains(sign))
    };
    texts
        .into_iter()
        .filter(|text| !is_deep(goal) || !takes_apart(text))
        .collect()
}

pub(crate) fn javascript_statement(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(..) => &[
            "return LIST[INDEX]·FIELD;",
            "const value = LIST[INDEX]·FIELD;",
            "result => result.LIST[INDEX]·FIELD",
            "data => data.LIST[INDEX]·FIELD",
            "(r) => r.LIST[INDEX]·FIELD",
            "const { LIST } = result; return LIST[INDEX]·FIELD",
            "await LIST[INDEX]·FIELD",
        ],
        Form::Project(_) => &[
            "return LIST.map(x => x·FIELD);",
            "const values = LIST.map(x => x·FIELD);",
            "r => r.LIST.map(x => x·FIELD)",
            "function(r) { return r.LIST.map(x => x·FIELD); }",
        ],
        Form::Filter(..) => &[
            "return LIST.filter(x => x·BY === 'IS').map(x => x·FIELD);",
            "let found = LIST.filter(x => x·BY === 'IS').map(x => x·FIELD)",
            "data => data.LIST.filter(x => x·BY === 'IS').map(x => x·FIELD)",
        ],
        _ => &[],
    };
    filled(goal, templates)
        .into_iter()
        .filter(|text| !text.contains("{ ") || goal.root.len() == 1 && goal.root[0] != "result")
        .collect()
}

pub(crate) fn python_get(goal: &Goal) -> Vec<String> {
    let gets = |path: &[String]| {
        path.iter()
            .map(|field| format!(".get('{field}')"))
            .collect::<String>()
    };
    let defaults = |path: &[String]| {
        path.iter()
            .map(|field| format!(".get(\"{field}\", {{}})"))
            .collect::<String>()
    };
    let Some((first, _)) = goal.root.split_first().filter(|(first, _)| is_plain(first)) else {
        return Vec::new();
    };
    match &goal.form {
        Form::Whole => vec![
            format!("data{}", gets(&goal.root)),
            format!("result{}", defaults(&goal.root)),
            format!("{first}{}", gets(&goal.root[1..])),
        ]
        .into_iter()
        .filter(|_| goal.root.len() > 1)
        .collect(),
        Form::Item(index, field) => vec![
            format!("data{}[{index}]{}", gets(&goal.root), gets(field)),
            format!("result{}[{index}]{}", subscripts(&goal.root), gets(field)),
            format!("data{}[{index}]{}", defaults(&goal.root), gets(field)),
            format!(
                "({first}{} or [])[{index}]{}",
                gets(&goal.root[1..]),
                brackets(field)
            ),
            format!(
                "{first}{}[{index}]{}",
                gets(&goal.root[1..]),
                defaults(field)
            ),
            format!(
                "json.loads(text){}[{index}]{}",
                brackets(&goal.root),
                brackets(field)
            ),
        ],
        Form::Last(field) => vec![
            format!("data{}[-1]{}", gets(&goal.root), gets(field)),
            format!(
                "list({first}{})[-1]{}",
                brackets(&goal.root[1..]),
                brackets(field)
            ),
        ],
        _ => Vec::new(),
    }
}

pub(crate) fn python(goal: &Goal) -> Vec<String> {
    let Some((first, rest)) = goal.root.split_first().filter(|(first, _)| is_plain(first)) else {
        return Vec::new();
    };
    let list = format!("{first}{}", brackets(rest));
    let x = |path: &[String]| format!("x{}", brackets(path));
    let get = |path: &[String]| {
        format!(
            "x{}",
            path.iter()
                .map(|field| format!(".get('{field}')"))
                .collect::<String>()
        )
    };
    let is = |by: &Path, is: &Value| format!("{} == {}", x(by), constant(is));
    match &goal.form {
        Form::Project(field) => vec![
            format!("list({} for x in {list})", x(field)),
            format!("[{} for i, x in enumerate({list})]", x(field)),
            format!("[{} for x in data{}]", get(field), brackets(&goal.root)),
            format!("list(map(lambda item: item{}, {list}))", brackets(field)),
            format!(
                "list(map(itemgetter('{}'), {list}))",
                field.last().map_or("", String::as_str)
            ),
            format!("[x{} for x in {list}]", subscripts(field)),
            format!("[i{} for i in {list}]", brackets(field)),
            format!("[({}) for x in {list}]", x(field)),
            format!("tuple({} for x in {list})", x(field)),
        ]
        .into_iter()
        .filter(|text| field.len() == 1 || !text.contains("itemgetter"))
        .collect(),
        Form::Slice(end, field) => vec![
            format!("[{} for x in {list}[:{end}]]", get(field)),
            format!("list({} for x in {list})[:{end}]", x(field)),
            format!("[{list}[i]{} for i in range({end})]", brackets(field)),
        ],
        Form::More(More::Tail(count, field)) => vec![
            format!("[{} for x in {list}[-{count}:]]", x(field)),
            format!("[{} for x in {list}][-{count}:]", x(field)),
        ],
        Form::Values(field) => vec![
            format!("[v{} for v in {list}.values()]", brackets(field)),
            format!("[v{} for k, v in {list}.items()]", brackets(field)),
            format!("[{list}[k]{} for k in {list}]", brackets(field)),
        ],
        Form::Hash(pairs) => {
            let inner = |open: &str| {
                pairs
                    .iter()
                    .map(|(key, field)| format!("{open}{key}{open}: {}", x(field)))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let arguments = pairs
                .iter()
                .map(|(key, field)| format!("{key}={}", x(field)))
                .collect::<Vec<_>>()
                .join(", ");
            vec![
                format!("[{{{}}} for x in {list}]", inner("\"")),
                format!("list(map(lambda x: {{{}}}, {list}))", inner("'")),
                format!("[dict({arguments}) for x in {list}]"),
            ]
        }
        Form::Nested(inner, field) => vec![
            format!(
                "[y{} for x in {list} for y in {}]",
                subscripts(field),
                get(inner)
            ),
            format!(
                "sum([[y{} for y in {}] for x in {list}], [])",
                brackets(field),
                x(inner)
            ),
        ],
        Form::More(More::Flat(inner)) => vec![
            format!("[y for x in {list} for y in {}]", x(inner)),
            format!("list(chain.from_iterable({} for x in {list}))", x(inner)),
            format!("sum([{} for x in {list}], [])", x(inner)),
        ],
        Form::Filter(by, to, field) => vec![
            format!(
                "[{} for x in {list} if {} == {}]",
                get(field),
                get(by),
                constant(to)
            ),
            format!(
                "list(map(lambda x: {}, filter(lambda x: {}, {list})))",
                x(field),
                is(by, to)
            ),
            format!(
                "[x{} for x in filter(lambda x: {}, {list})]",
                brackets(field),
                is(by, to)
            ),
            format!("[{} for x in {list} if ({})]", x(field), is(by, to)),
            format!(
                "[{} for x in {list} if {} in [{}]]",
                x(field),
                x(by),
                constant(to)
            ),
            format!(
                "[{} for x in [y for y in {list} if y{} == {}]]",
                x(field),
                brackets(by),
                constant(to)
            ),
        ],
        Form::First(by, to, field) => vec![
            format!(
                "next(({} for x in {list} if {}), None)",
                x(field),
                is(by, to)
            ),
            format!(
                "next(filter(lambda x: {}, {list})){}",
                is(by, to),
                brackets(field)
            ),
            format!(
                "[x for x in {list} if {}][0]{}",
                is(by, to),
                brackets(field)
            ),
            format!(
                "list(filter(lambda x: {}, {list}))[0]{}",
                is(by, to),
                brackets(field)
            ),
            format!(
                "next((x for x in {list} if {}), {{}}).get('{}')",
                is(by, to),
                field.join("").as_str()
            ),
        ]
        .into_iter()
        .take(if field.len() == 1 { 5 } else { 4 })
        .collect(),
        Form::Both((a, p), (b, q), field) => vec![
            format!(
                "[{} for x in {list} if {} if {}]",
                x(field),
                is(a, p),
                is(b, q)
            ),
            format!(
                "[{} for x in {list} if ({}) and ({})]",
                x(field),
                is(a, p),
                is(b, q)
            ),
        ],
        Form::More(More::Either(by, a, b, field)) => vec![
            format!(
                "[{} for x in {list} if {} in ({}, {})]",
                x(field),
                x(by),
                constant(a),
                constant(b)
            ),
            format!(
                "[{} for x in {list} if {} or {}]",
                x(field),
                is(by, a),
                is(by, b)
            ),
            format!(
                "[{} for x in {list} if {} in [{}, {}]]",
                x(field),
                x(by),
                constant(a),
                constant(b)
            ),
        ],
        Form::More(More::Except(by, to, field)) => vec![
            format!(
                "[{} for x in {list} if {} != {}]",
                x(field),
                x(by),
                constant(to)
            ),
            format!("[{} for x in {list} if not {}]", x(field), is(by, to)),
            format!(
                "[{} for x in {list} if {} not in [{}]]",
                x(field),
                x(by),
                constant(to)
            ),
        ],
        Form::More(More::Below(by, than, field)) => vec![
            format!("[{} for x in {list} if {} < {than}]", x(field), x(by)),
            format!("[{} for x in {list} if {than} > {}]", x(field), x(by)),
        ],
        Form::More(More::Since(by, date, field)) => vec![
            format!("[{} for x in {list} if {} >= '{date}']", x(field), x(by)),
            format!(
                "[{} for x in {list} if datetime.fromisoformat({}) >= datetime.fromisoformat('{date}')]",
                x(field),
                x(by)
            ),
        ],
        Form::More(More::Starts(by, word, field)) => vec![
            format!(
                "[{} for x in {list} if {}.startswith('{word}')]",
                x(field),
                x(by)
            ),
            format!(
                "[{} for x in {list} if re.match(r'^{word}', {})]",
                x(field),
                x(by)
            ),
            format!(
                "[{} for x in {list} if {}[:4] == '{word}']",
                x(field),
                x(by)
            ),
        ],
        Form::Contains(by, word, field) => vec![
            format!(
                "[{} for x in {list} if '{word}' in {}]",
                get(field),
                get(by)
            ),
            format!(
                "[{} for x in {list} if {}.find('{word}') >= 0]",
                x(field),
                x(by)
            ),
            format!(
                "[{} for x in {list} if re.search('{word}', {})]",
                x(field),
                x(by)
            ),
        ],
        Form::More(More::Present(by, field)) => vec![
            format!("[{} for x in {list} if {} is not None]", x(field), get(by)),
            format!("[{} for x in {list} if {} != None]", x(field), get(by)),
        ],
        Form::More(More::Missing(by, field)) => vec![
            format!("[{} for x in {list} if {} is None]", x(field), get(by)),
            format!("[{} for x in {list} if {} == None]", x(field), get(by)),
        ],
        Form::More(More::Records(by, to, field)) => vec![
            format!("[{} for x in {list}.values() if {}]", x(field), is(by, to)),
            format!(
                "[v{} for k, v in {list}.items() if v{} == {}]",
                brackets(field),
                brackets(by),
                constant(to)
            ),
        ],
        Form::Count => vec![
            format!("len(list({list}))"),
            format!("{list}.__len__()"),
            format!("sum(1 for _ in {list})"),
            format!("len([x for x in {list}])"),
            format!("len(data{})", subscripts(&goal.root)),
        ],
        Form::CountWhere(by, to) => vec![
            format!("len(list(filter(lambda x: {}, {list})))", is(by, to)),
            format!("sum({} for x in {list})", is(by, to)),
            format!("len([1 for x in {list} if {}])", is(by, to)),
            format!(
                "sum([1 for x in {list} if {} == {}])",
                get(by),
                constant(to)
            ),
        ],
        Form::Sort(by, field) => vec![
            format!(
                "[{} for x in sorted({list}, key=itemgetter('{}'))]",
                x(field),
                by.join("")
            ),
            format!(
                "list(map(lambda x: {}, sorted({list}, key=lambda x: {})))",
                x(field),
                x(by)
            ),
            format!(
                "[i{} for i in sorted({list}, key=lambda i: i{})]",
                brackets(field),
                brackets(by)
            ),
        ]
        .into_iter()
        .skip(usize::from(by.len() > 1))
        .collect(),
        Form::More(More::Descending(by, field)) => vec![
            format!(
                "[{} for x in sorted({list}, key=lambda x: {}, reverse=True)]",
                x(field),
                x(by)
            ),
            format!(
                "[{} for x in sorted({list}, key=lambda x: -{})]",
                x(field),
                x(by)
            ),
            format!(
                "[{} for x in sorted({list}, key=lambda x: {})[::-1]]",
                x(field),
                x(by)
            ),
            format!(
                "[{} for x in reversed(sorted({list}, key=lambda x: {}))]",
                x(field),
                x(by)
            ),
        ],
        Form::More(More::Least(by, field)) => vec![
            format!("min({list}, key=lambda x: {}){}", x(by), brackets(field)),
            format!(
                "sorted({list}, key=lambda i: i{})[0]{}",
                brackets(by),
                brackets(field)
            ),
        ],
        Form::Greatest(by, field) => vec![
            format!(
                "max({list}, key=lambda i: i{}){}",
                subscripts(by),
                subscripts(field)
            ),
            format!(
                "sorted({list}, key=lambda x: {}, reverse=True)[0]{}",
                x(by),
                brackets(field)
            ),
            format!(
                "max({list}, key=lambda x: {}).get('{}')",
                get(by),
                field.join("")
            ),
        ]
        .into_iter()
        .take(if field.len() == 1 { 3 } else { 2 })
        .collect(),
        Form::More(More::Average(field)) => vec![
            format!("sum({} for x in {list}) / len({list})", x(field)),
            format!("statistics.mean({} for x in {list})", x(field)),
            format!("mean([{} for x in {list}])", x(field)),
            format!("np.mean([{} for x in {list}])", x(field)),
        ],
        Form::More(More::Min(field)) => vec![
            format!("min({} for x in {list})", x(field)),
            format!("min([{} for x in {list}])", get(field)),
            format!("min(map(lambda x: {}, {list}))", x(field)),
            format!("sorted({} for x in {list})[0]", x(field)),
        ],
        Form::Max(field) => vec![
            format!("max(map(lambda x: {}, {list}))", x(field)),
            format!("max([i{} for i in {list}])", subscripts(field)),
        ],
        Form::Sum(field) => vec![
            format!("sum(map(lambda x: {}, {list}))", x(field)),
            format!("sum([i{} for i in {list}])", subscripts(field)),
        ],
        Form::More(More::CountWithin(index, field)) => vec![
            format!("len({list}[{index}]{})", brackets(field)),
            format!("len({list}[{index}].get('{}', []))", field.join("")),
        ],
        Form::Keys => vec![
            format!("[k for k in {list}]"),
            format!("list({list}.keys())"),
            format!("[k for k, v in {list}.items()]"),
        ],
        Form::Join(index, a, b) => vec![
            format!(
                "f\"{{{list}[{index}]{}}} {{{list}[{index}]{}}}\"",
                brackets(a),
                brackets(b)
            ),
            format!(
                "'{{}} {{}}'.format({list}[{index}]{}, {list}[{index}]{})",
                brackets(a),
                brackets(b)
            ),
            format!(
                "\" \".join([{list}[{index}]{}, {list}[{index}]{}])",
                subscripts(a),
                subscripts(b)
            ),
        ],
        _ => Vec::new(),
    }
}

pub(crate) fn python_statement(goal: &Goal) -> Vec<String> {
    let Some((first, rest)) = goal.root.split_first().filter(|(first, _)| is_plain(first)) else {
        return Vec::new();
    };
    let list = format!("{first}{}", brackets(rest));
    match &goal.form {
        Form::Item(index, field) => vec![
            format!("value = {list}[{index}]{}", brackets(field)),
            format!("return {list}[{index}]{}", brackets(field)),
            format!(
                "lambda r: r{}[{index}]{}",
                brackets(&goal.root),
                brackets(field)
            ),
            format!("print({list}[{index}]{})", brackets(field)),
        ],
        Form::Project(field) => vec![
            format!("return [x{} for x in {list}]", brackets(field)),
            format!("values = [x{} for x in {list}]", brackets(field)),
            format!(
                "lambda r: [x{} for x in r{}]",
                brackets(field),
                brackets(&goal.root)
            ),
        ],
        Form::Filter(by, to, field) => vec![
            format!(
                "found = [x{} for x in {list} if x{} == {}]",
                brackets(field),
                brackets(by),
                constant(to)
            ),
            format!(
                "return [x{} for x in {list} if x{} == {}]",
                brackets(field),
                brackets(by),
                constant(to)
            ),
        ],
        _ => Vec::new(),
    }
}

pub(crate) fn xpath(goal: &Goal) -> Vec<String> {
    let path = |path: &[String]| {
        path.iter()
            .map(|field| format!("/{field}"))
            .collect::<String>()
    };
    if goal.root.is_empty() || !goal.root.iter().all(|field| is_plain(field)) {
        return Vec::new();
    }
    let root = path(&goal.root);
    let inner = &root[1..];
    match &goal.form {
        Form::Whole => vec![
            format!("{root}/text()"),
            format!(".{root}"),
            format!("string({root})"),
            format!("/{root}/text()"),
        ],
        Form::Item(index, field) => vec![
            format!(".{root}/{index}{}", path(field)),
            format!("{inner}/[{index}]{}", path(field)),
            format!("{root}/{index}{}/text()", path(field)),
        ],
        Form::Last(field) => vec![
            format!("{root}[last()]{}", path(field)),
            format!("{root}/*[last()]{}", path(field)),
            format!("{root}[position()=last()]{}", path(field)),
        ],
        Form::Project(field) => vec![
            format!(".{root}/*{}", path(field)),
            format!("{root}/*{}/text()", path(field)),
            format!("{root}[*]{}", path(field)),
            format!("{root}/@{}", field.join("/@")),
            format!("{root}/child::*{}", path(field)),
        ],
        Form::Slice(end, field) => vec![
            format!("{root}[position() <= {end}]{}", path(field)),
            format!("{root}/*[position()<={end}]{}", path(field)),
        ],
        Form::Nested(list, field) => vec![
            format!("{root}/*{}/*{}", path(list), path(field)),
            format!("{root}[*]{}[*]{}", path(list), path(field)),
        ],
        Form::Values(field) => vec![
            format!("{root}/*{}", path(field)),
            format!("{root}/child::*{}", path(field)),
        ],
        Form::Filter(by, to, field) => vec![
            format!("{root}/*[./{}={}]{}", by.join("/"), single(to), path(field)),
            format!(
                "{root}[@{}={}]/@{}",
                by.join("/@"),
                single(to),
                field.join("/@")
            ),
            format!(
                "{root}[{} = {}]{}/text()",
                by.join("/"),
                single(to),
                path(field)
            ),
            format!(".{root}[./{}={}]{}", by.join("/"), single(to), path(field)),
        ],
        Form::First(by, to, field) => vec![
            format!(
                "({root}[{}={}])[1]{}",
                by.join("/"),
                single(to),
                path(field)
            ),
            format!("{root}[{}={}][1]{}", by.join("/"), single(to), path(field)),
        ],
        Form::Both((a, p), (b, q), field) => vec![
            format!(
                "{root}[{}={} and {}={}]{}",
                a.join("/"),
                single(p),
                b.join("/"),
                single(q),
                path(field)
            ),
            format!(
                "{root}[@{}={}][@{}={}]{}",
                a.join("/@"),
                single(p),
                b.join("/@"),
                single(q),
                path(field)
            ),
        ],
        Form::Above(by, than, field) => vec![
            format!("{root}[{} > {than}]{}", by.join("/"), path(field)),
            format!("{root}/*[number({}) > {than}]{}", by.join("/"), path(field)),
        ],
        Form::More(More::Below(by, than, field)) => {
            vec![format!("{root}[{} < {than}]{}", by.join("/"), path(field))]
        }
        Form::More(More::Except(by, to, field)) => vec![
            format!(
                "{root}[not({}={})]{}",
                by.join("/"),
                single(to),
                path(field)
            ),
            format!("{root}[{} != {}]{}", by.join("/"), single(to), path(field)),
        ],
        Form::More(More::Either(by, a, b, field)) => vec![format!(
            "{root}[{0}={1} or {0}={2}]{3}",
            by.join("/"),
            single(a),
            single(b),
            path(field)
        )],
        Form::More(More::Starts(by, word, field)) => vec![
            format!(
                "{root}[starts-with({}, '{word}')]{}",
                by.join("/"),
                path(field)
            ),
            format!(
                "{root}/*[starts-with({}, \"{word}\")]{}",
                by.join("/"),
                path(field)
            ),
        ],
        Form::Contains(by, word, field) => vec![
            format!(
                "{root}/*[contains({}, '{word}')]{}",
                by.join("/"),
                path(field)
            ),
            format!(
                "{root}[contains(@{}, '{word}')]{}",
                by.join("/@"),
                path(field)
            ),
            format!("{root}[matches({}, '{word}')]{}", by.join("/"), path(field)),
        ],
        Form::Count => vec![format!("count({root}/*)"), format!("count(.{root}/*)")],
        Form::CountWhere(by, to) => vec![
            format!("count({root}[{}={}])", by.join("/"), single(to)),
            format!("count({root}/*[{}={}])", by.join("/"), single(to)),
        ],
        Form::Sum(field) => vec![
            format!("sum({root}{})", path(field)),
            format!("sum({root}/*{})", path(field)),
        ],
        Form::More(More::Average(field)) => vec![
            format!("avg({root}/*{})", path(field)),
            format!("avg({root}{})", path(field)),
        ],
        Form::More(More::Min(field)) => vec![format!("min({root}/*{})", path(field))],
        Form::Max(field) => vec![
            format!("max({root}/*{})", path(field)),
            format!("max({root}{})", path(field)),
        ],
        _ => Vec::new(),
    }
}

pub(crate) fn pointer(goal: &Goal) -> Vec<String> {
    let escaped = |path: &[String]| {
        path.iter()
            .map(|field| format!("/{}", field.replace('~', "~0").replace('/', "~1")))
            .collect::<String>()
    };
    let root = escaped(&goal.root);
    match &goal.form {
        Form::Whole if goal.root.len() > 1 => vec![
            format!("#{root}"),
            format!("{root}/"),
            format!("pointer:{root}"),
            root.replace('/', "\\"),
        ],
        Form::Item(index, field) => vec![
            format!("#{root}/{index}{}", escaped(field)),
            format!("{root}/{index}{}/", escaped(field)),
            format!(".{root}/{index}{}", escaped(field)),
            format!("{root}[{index}]{}", escaped(field)),
            format!(
                "{}[{index}]{}",
                root.trim_start_matches('/'),
                escaped(field)
            ),
        ],
        Form::Last(field) => vec![format!("{root}/-1{}", escaped(field))],
        Form::More(More::FirstWithin(index, field)) => vec![
            format!("{root}/{index}{}/0", escaped(field)),
            format!("#{root}/{index}{}/0", escaped(field)),
        ],
        _ => Vec::new(),
    }
}

pub(crate) fn lodash(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(..) => &[
            "_.get(data, ['LIST', INDEX, 'FIELD'])",
            "_.at(data, 'LIST[INDEX]·FIELD')[0]",
            "R.path(['LIST', INDEX, 'FIELD'], data)",
            "get(data, 'LIST[INDEX]·FIELD')",
            "_.property('LIST[INDEX]·FIELD')(data)",
            "_.get(LIST[INDEX], 'FIELD')",
        ],
        Form::Last(_) => &[
            "_.last(LIST)·FIELD",
            "_.get(_.last(LIST), 'FIELD')",
            "R.last(LIST)·FIELD",
            "_(LIST).last()·FIELD",
        ],
        Form::Project(_) => &[
            "_.map(LIST, x => x·FIELD)",
            "_(LIST).map('FIELD').value()",
            "_.chain(LIST).map('FIELD').value()",
            "R.pluck('FIELD', LIST)",
            "R.map(R.prop('FIELD'), LIST)",
            "_.pluck(LIST, 'FIELD')",
            "_.map(LIST, _.property('FIELD'))",
        ],
        Form::Slice(..) => &[
            "_.take(_.map(LIST, 'FIELD'), END)",
            "_(LIST).take(END).map('FIELD').value()",
            "R.take(END, LIST).map(x => x·FIELD)",
            "_.slice(LIST, 0, END).map(x => x·FIELD)",
        ],
        Form::More(More::Tail(..)) => &[
            "_.map(_.takeRight(LIST, END), 'FIELD')",
            "_(LIST).takeRight(END).map('FIELD').value()",
        ],
        Form::More(More::Flat(_)) => &[
            "_.flatMap(LIST, 'FIELD')",
            "_.flatten(_.map(LIST, 'FIELD'))",
            "R.chain(R.prop('FIELD'), LIST)",
        ],
        Form::Filter(..) => &[
            "_.map(_.filter(LIST, ['BY', 'IS']), 'FIELD')",
            "_(LIST).filter({BY: 'IS'}).map('FIELD').value()",
            "_.chain(LIST).filter(x => x·BY === 'IS').map('FIELD').value()",
            "R.filter(R.propEq('BY', 'IS'), LIST).map(x => x·FIELD)",
            "_.map(_.filter(LIST, x => x·BY === 'IS'), 'FIELD')",
            "_.where(LIST, {BY: 'IS'}).map(x => x·FIELD)",
        ],
        Form::First(..) => &[
            "_.find(LIST, ['BY', 'IS'])·FIELD",
            "_.find(LIST, x => x·BY === 'IS')·FIELD",
            "_.head(_.filter(LIST, {BY: 'IS'}))·FIELD",
            "R.find(R.propEq('BY', 'IS'), LIST)·FIELD",
            "_.findWhere(LIST, {BY: 'IS'})·FIELD",
        ],
        Form::More(More::Except(..)) => &[
            "_.map(_.reject(LIST, {BY: 'IS'}), 'FIELD')",
            "_.reject(LIST, ['BY', 'IS']).map(x => x·FIELD)",
        ],
        Form::CountWhere(..) => &[
            "_.filter(LIST, {BY: 'IS'}).length",
            "_.size(_.filter(LIST, ['BY', 'IS']))",
        ],
        Form::Count => &[
            "_(LIST).size()",
            "R.length(LIST)",
            "_.chain(LIST).size().value()",
        ],
        Form::Sum(_) => &[
            "_(LIST).sumBy('FIELD')",
            "_.sumBy(LIST, x => x·FIELD)",
            "R.sum(R.pluck('FIELD', LIST))",
        ],
        Form::More(More::Average(_)) => {
            &["_.meanBy(LIST, 'FIELD')", "_.mean(_.map(LIST, 'FIELD'))"]
        }
        Form::More(More::Min(_)) => &[
            "_.min(_.map(LIST, 'FIELD'))",
            "_.minBy(LIST, 'FIELD')·FIELD",
        ],
        Form::More(More::Least(..)) => &[
            "_.minBy(LIST, 'BY')·FIELD",
            "_.minBy(LIST, x => x·BY)·FIELD",
            "_.sortBy(LIST, 'BY')[0]·FIELD",
        ],
        Form::More(More::Descending(..)) => &[
            "_.map(_.orderBy(LIST, ['BY'], ['desc']), 'FIELD')",
            "_.orderBy(LIST, 'BY', 'desc').map(x => x·FIELD)",
            "_.map(_.sortBy(LIST, 'BY').reverse(), 'FIELD')",
        ],
        Form::Sort(..) => &[
            "_(LIST).sortBy('BY').map('FIELD').value()",
            "_.map(_.orderBy(LIST, ['BY']), 'FIELD')",
            "R.sortBy(R.prop('BY'), LIST).map(x => x·FIELD)",
        ],
        Form::Greatest(..) => &[
            "_.maxBy(LIST, x => x·BY)·FIELD",
            "_.last(_.sortBy(LIST, 'BY'))·FIELD",
        ],
        Form::Keys => &["_.keys(LIST)", "R.keys(LIST)"],
        _ => &[],
    };
    let is_deep = is_deep(goal) || goal.root.len() > 1;
    filled(goal, templates)
        .into_iter()
        .filter(|text| !is_deep || !["R.", "['", "{"].iter().any(|sign| text.contains(sign)))
        .collect()
}

pub(crate) fn sql(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Project(_) => &[
            "SELECT FIELD FROM LIST",
            "select FIELD from LIST",
            "SELECT LIST·FIELD FROM LIST;",
            "SELECT x·FIELD FROM LIST x",
        ],
        Form::Slice(..) => &[
            "SELECT FIELD FROM LIST LIMIT END",
            "select FIELD from LIST limit END;",
            "SELECT TOP END FIELD FROM LIST",
        ],
        Form::Filter(..) => &[
            "SELECT FIELD FROM LIST WHERE BY = 'IS'",
            "select FIELD from LIST where BY='IS'",
            "SELECT FIELD FROM LIST WHERE BY = \"IS\";",
        ],
        Form::Both(..) => &["SELECT FIELD FROM LIST WHERE A = 'IS' AND B = 'ELSE'"],
        Form::First(..) => &["SELECT FIELD FROM LIST WHERE BY = 'IS' LIMIT 1"],
        Form::Above(..) if is_number(goal) => &[
            "SELECT FIELD FROM LIST WHERE BY > \"IS\"",
            "select FIELD from LIST where BY > \"IS\";",
        ],
        Form::More(More::Below(..)) if is_number(goal) => {
            &["SELECT FIELD FROM LIST WHERE BY < \"IS\""]
        }
        Form::More(More::Either(..)) => &[
            "SELECT FIELD FROM LIST WHERE BY IN ('IS', 'ELSE')",
            "SELECT FIELD FROM LIST WHERE BY = 'IS' OR BY = 'ELSE'",
        ],
        Form::More(More::Except(..)) => &[
            "SELECT FIELD FROM LIST WHERE BY <> 'IS'",
            "SELECT FIELD FROM LIST WHERE NOT BY = 'IS'",
        ],
        Form::More(More::Missing(..)) => &["SELECT FIELD FROM LIST WHERE BY IS NULL"],
        Form::More(More::Present(..)) => &["SELECT FIELD FROM LIST WHERE BY IS NOT NULL"],
        Form::More(More::Starts(..)) => &["SELECT FIELD FROM LIST WHERE BY LIKE 'WORD%'"],
        Form::Contains(..) => &["SELECT FIELD FROM LIST WHERE BY LIKE '%WORD%'"],
        Form::More(More::Since(..)) => &["SELECT FIELD FROM LIST WHERE BY >= 'IS'"],
        Form::Count => &[
            "SELECT COUNT(*) FROM LIST",
            "select count(*) from LIST",
            "COUNT(LIST)",
        ],
        Form::CountWhere(..) => &["SELECT COUNT(*) FROM LIST WHERE BY = 'IS'"],
        Form::Sum(_) => &["SELECT SUM(FIELD) FROM LIST", "select sum(FIELD) from LIST"],
        Form::Max(_) => &["SELECT MAX(FIELD) FROM LIST"],
        Form::More(More::Min(_)) => &["SELECT MIN(FIELD) FROM LIST"],
        Form::More(More::Average(_)) => &["SELECT AVG(FIELD) FROM LIST"],
        Form::Sort(..) => &[
            "SELECT FIELD FROM LIST ORDER BY BY",
            "select FIELD from LIST order by BY asc",
        ],
        Form::More(More::Descending(..)) => &["SELECT FIELD FROM LIST ORDER BY BY DESC"],
        _ => &[],
    };
    // The words `ORDER BY` hold the name of a part.
    let ordered: Vec<String> = templates
        .iter()
        .map(|text| {
            text.replace("ORDER BY", "ORDER")
                .replace("order by", "order")
        })
        .collect();
    filled(goal, &ordered)
        .into_iter()
        .map(|text| {
            text.replace(" ORDER ", " ORDER BY ")
                .replace(" order ", " order by ")
        })
        .collect()
}

pub(crate) fn graphql(goal: &Goal) -> Vec<String> {
    if goal.root.is_empty() || !goal.root.iter().all(|field| is_plain(field)) {
        return Vec::new();
    }
    let nested = |path: &[String], inner: String| {
        path.iter().rev().fold(inner, |inner, field| {
            if inner.is_empty() {
                field.clone()
            } else {
                format!("{field} {{ {inner} }}")
            }
        })
    };
    match &goal.form {
        Form::Whole if goal.root.len() > 1 => {
            let query = nested(&goal.root, String::new());
            vec![
                format!("{{ {query} }}"),
                format!("query {{ {query} }}"),
                query,
            ]
        }
        Form::Project(field) if !field.is_empty() => {
            let query = nested(&[goal.root.clone(), field.clone()].concat(), String::new());
            vec![
                format!("{{ {query} }}"),
                query.clone(),
                format!("query {{ {query} }}"),
            ]
        }
        Form::Nested(list, field) => {
            let query = nested(
                &[goal.root.clone(), list.clone(), field.clone()].concat(),
                String::new(),
            );
            vec![format!("{{ {query} }}"), query]
        }
        Form::Hash(pairs) if pairs.iter().all(|(_, field)| field.len() == 1) => {
            let inner = pairs
                .iter()
                .map(|(key, field)| {
                    if *key == field[0] {
                        key.clone()
                    } else {
                        format!("{key}: {}", field[0])
                    }
                })
                .collect::<Vec<_>>()
                .join(" ");
            vec![nested(&goal.root, inner)]
        }
        _ => Vec::new(),
    }
}

pub(crate) fn pandas(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Project(_) => &[
            "df['FIELD'].tolist()",
            "LIST['FIELD']",
            "pd.DataFrame(LIST)['FIELD'].tolist()",
            "df·FIELD.tolist()",
            "LIST['FIELD'].to_list()",
            "df['FIELD']",
        ],
        Form::Item(..) => &[
            "df.iloc[INDEX]['FIELD']",
            "LIST.iloc[INDEX]['FIELD']",
            "df['FIELD'][INDEX]",
            "df.loc[INDEX, 'FIELD']",
            "pd.DataFrame(LIST).iloc[INDEX]['FIELD']",
        ],
        Form::Last(_) => &["df.iloc[-1]['FIELD']", "LIST['FIELD'].iloc[-1]"],
        Form::Slice(..) => &[
            "df['FIELD'].head(END).tolist()",
            "df.head(END)['FIELD']",
            "LIST['FIELD'][:END]",
        ],
        Form::More(More::Tail(..)) => &["df['FIELD'].tail(END).tolist()", "df.tail(END)['FIELD']"],
        Form::Filter(..) => &[
            "df[df['BY'] == 'IS']['FIELD'].tolist()",
            "df.loc[df['BY'] == 'IS', 'FIELD']",
            "LIST[LIST['BY'] == 'IS']['FIELD']",
            "df.query(\"BY == 'IS'\")['FIELD']",
            "df[df·BY == 'IS']·FIELD",
        ],
        Form::Above(..) if is_number(goal) => &[
            "df[df['BY'] > \"IS\"]['FIELD']",
            "LIST[LIST['BY'] > \"IS\"]['FIELD'].tolist()",
        ],
        Form::Both(..) => &["df[(df['A'] == 'IS') & (df['B'] == 'ELSE')]['FIELD']"],
        Form::More(More::Either(..)) => &["df[df['BY'].isin(['IS', 'ELSE'])]['FIELD']"],
        Form::More(More::Missing(..)) => &["df[df['BY'].isnull()]['FIELD']"],
        Form::More(More::Present(..)) => &[
            "df[df['BY'].notnull()]['FIELD']",
            "df.dropna(subset=['BY'])['FIELD']",
        ],
        Form::Contains(..) => &["df[df['BY'].str.contains('WORD')]['FIELD']"],
        Form::Sum(_) => &[
            "df['FIELD'].sum()",
            "LIST['FIELD'].sum()",
            "pd.DataFrame(LIST)['FIELD'].sum()",
        ],
        Form::Max(_) => &["df['FIELD'].max()", "LIST['FIELD'].max()"],
        Form::More(More::Min(_)) => &["df['FIELD'].min()", "LIST['FIELD'].min()"],
        Form::More(More::Average(_)) => &["df['FIELD'].mean()", "LIST['FIELD'].mean()"],
        Form::Count => &["len(df)", "LIST.shape[0]", "df.shape[0]"],
        Form::CountWhere(..) => &["len(df[df['BY'] == 'IS'])", "(df['BY'] == 'IS').sum()"],
        Form::Sort(..) => &[
            "df.sort_values('BY')['FIELD'].tolist()",
            "LIST.sort_values(by='BY')['FIELD']",
        ],
        Form::More(More::Descending(..)) => &["df.sort_values('BY', ascending=False)['FIELD']"],
        Form::Greatest(..) => &["df.loc[df['BY'].idxmax()]['FIELD']"],
        _ => &[],
    };
    let texts = shallow(
        goal,
        &templates
            .iter()
            .map(|text| text.replace("df", "LIST"))
            .collect::<Vec<_>>(),
    );
    texts.into_iter().filter(|_| goal.root.len() == 1).collect()
}

pub(crate) fn jsonata(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(0, _) => &["LIST·FIELD[0]", "(LIST·FIELD)[0]"],
        Form::Last(_) => &["(LIST·FIELD)[-1]", "$.LIST[-1]·FIELD"],
        Form::Project(_) => &[
            "LIST·FIELD",
            "$.LIST·FIELD",
            "$map(LIST, function($x) { $x·FIELD })",
            "LIST.(FIELD)",
            "$$.LIST·FIELD",
        ],
        Form::Slice(2, _) => &["LIST[[0..1]]·FIELD"],
        Form::Filter(..) => &[
            "LIST[BY='IS']·FIELD",
            "LIST[BY = \"IS\"]·FIELD",
            "$filter(LIST, function($x) { $x·BY = 'IS' })·FIELD",
            "$.LIST[BY='IS']·FIELD",
            "LIST[$·BY = 'IS']·FIELD",
        ],
        Form::First(..) => &["LIST[BY='IS'][0]·FIELD", "(LIST[BY='IS'])[0]·FIELD"],
        Form::Both(..) => &["LIST[A='IS' and B='ELSE']·FIELD"],
        Form::Above(..) if is_number(goal) => &[
            "LIST[BY > \"IS\"]·FIELD",
            "$filter(LIST, function($x) { $x·BY > \"IS\" })·FIELD",
        ],
        Form::More(More::Below(..)) if is_number(goal) => &["LIST[BY < \"IS\"]·FIELD"],
        Form::More(More::Either(..)) => &[
            "LIST[BY='IS' or BY='ELSE']·FIELD",
            "LIST[BY in ['IS', 'ELSE']]·FIELD",
        ],
        Form::More(More::Except(..)) => &["LIST[BY != 'IS']·FIELD", "LIST[$not(BY = 'IS')]·FIELD"],
        Form::Contains(..) => &[
            "LIST[$contains(BY, 'WORD')]·FIELD",
            "LIST[BY ~> /WORD/]·FIELD",
        ],
        Form::More(More::Flat(_)) => &["LIST·FIELD"],
        Form::Nested(..) => &["LIST·IN·FIELD", "$.LIST·IN·FIELD"],
        Form::Count => &["$count(LIST)", "$count($.LIST)"],
        Form::CountWhere(..) => &[
            "$count(LIST[BY='IS'])",
            "$count($filter(LIST, function($x) { $x·BY = 'IS' }))",
        ],
        Form::Sum(_) => &["$sum(LIST·FIELD)", "$sum($.LIST·FIELD)"],
        Form::Max(_) => &["$max(LIST·FIELD)"],
        Form::More(More::Min(_)) => &["$min(LIST·FIELD)"],
        Form::More(More::Average(_)) => &["$average(LIST·FIELD)"],
        Form::Sort(..) => &[
            "LIST^(BY)·FIELD",
            "$sort(LIST, function($a, $b) { $a·BY > $b·BY })·FIELD",
        ],
        Form::More(More::Descending(..)) => &["LIST^(>BY)·FIELD", "$reverse(LIST^(BY))·FIELD"],
        Form::More(More::Least(..)) => &["LIST^(BY)[0]·FIELD"],
        Form::Keys => &["$keys(LIST)"],
        Form::Join(..) => &[
            "LIST[INDEX]·A & ' ' & LIST[INDEX]·B",
            "$join([LIST[INDEX]·A, LIST[INDEX]·B], ' ')",
        ],
        _ => &[],
    };
    filled(goal, templates)
}

pub(crate) fn gjson(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(..) => &["LIST.INDEX·FIELD", "LIST.[INDEX]·FIELD"],
        Form::Project(_) => &["LIST.#·FIELD"],
        Form::Filter(..) => &[
            "LIST.#(BY==\"IS\")#·FIELD",
            "LIST.#(BY==\"IS\")#|#·FIELD",
            "LIST.#[BY==\"IS\"]#·FIELD",
        ],
        Form::First(..) => &["LIST.#(BY==\"IS\")·FIELD"],
        Form::Above(..) if is_number(goal) => &["LIST.#(BY>\"IS\")#·FIELD"],
        Form::More(More::Starts(..)) => &["LIST.#(BY%\"WORD*\")#·FIELD"],
        Form::Count => &["LIST.#"],
        Form::Nested(..) => &["LIST.#·IN.#·FIELD"],
        Form::More(More::Flat(_)) => &["LIST.#·FIELD.#"],
        Form::Keys => &["LIST.@keys", "LIST|@keys"],
        Form::Values(_) => &["LIST.@values.#·FIELD"],
        _ => &[],
    };
    filled(goal, templates)
}

pub(crate) fn mongo(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Filter(..) => &[
            "LIST.find({BY: 'IS'}).map(x => x·FIELD)",
            "LIST[{BY: 'IS'}]·FIELD",
        ],
        Form::First(..) => &[
            "db.LIST.findOne({BY: 'IS'})·FIELD",
            "LIST.findOne({BY: 'IS'})·FIELD",
            "LIST.find({BY: 'IS'})[0]·FIELD",
        ],
        Form::Above(..) if is_number(goal) => &["LIST.find({BY: {$gt: \"IS\"}}).map(x => x·FIELD)"],
        Form::More(More::Either(..)) => {
            &["LIST.find({BY: {$in: ['IS', 'ELSE']}}).map(x => x·FIELD)"]
        }
        Form::Count => &["db.LIST.countDocuments({})", "LIST.countDocuments()"],
        Form::CountWhere(..) => &[
            "LIST.countDocuments({BY: 'IS'})",
            "db.LIST.count({BY: 'IS'})",
        ],
        _ => &[],
    };
    shallow(goal, templates)
}

pub(crate) fn jinja(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(0, _) => &[
            "(LIST | first)·FIELD",
            "{{ LIST[0]·FIELD | default('') }}",
            "LIST | map(attribute='FIELD') | first",
            "{{ (LIST | first)·FIELD }}",
        ],
        Form::Item(..) => &["{{ LIST.INDEX·FIELD }}", "{{ LIST[INDEX]['FIELD'] }}"],
        Form::Last(_) => &[
            "(LIST | last)·FIELD",
            "{{ LIST | last | attr('FIELD') }}",
            "{{ (LIST|last)·FIELD }}",
        ],
        Form::Project(_) => &[
            "LIST | map(attribute='FIELD') | list",
            "{{ LIST | map(attribute=\"FIELD\") | list }}",
            "{{ LIST|map(attribute='FIELD')|list|tojson }}",
            "{% for x in LIST %}{{ x·FIELD }}{% endfor %}",
            "LIST | map('FIELD')",
            "LIST | json_query('[*]·FIELD')",
        ],
        Form::Filter(..) => &[
            "LIST | selectattr('BY', 'equalto', 'IS') | map(attribute='FIELD') | list",
            "{{ LIST | selectattr(\"BY\", \"eq\", \"IS\") | map(attribute=\"FIELD\") | list }}",
            "LIST | where: 'BY', 'IS' | map: 'FIELD'",
        ],
        Form::First(..) => &[
            "(LIST | selectattr('BY', 'equalto', 'IS') | first)·FIELD",
            "{{ LIST | selectattr('BY', '==', 'IS') | map(attribute='FIELD') | first }}",
        ],
        Form::More(More::Except(..)) => {
            &["LIST | rejectattr('BY', 'equalto', 'IS') | map(attribute='FIELD') | list"]
        }
        Form::Count => &[
            "LIST|length",
            "{{ LIST | length }}",
            "LIST | count",
            "{{ LIST|count }}",
            "LIST | size",
        ],
        Form::CountWhere(..) => &["LIST | selectattr('BY', 'equalto', 'IS') | list | length"],
        Form::Sum(_) => &[
            "LIST | sum(attribute='FIELD')",
            "{{ LIST | map(attribute='FIELD') | sum }}",
        ],
        Form::Sort(..) => &["LIST | sort(attribute='BY') | map(attribute='FIELD') | list"],
        Form::More(More::Descending(..)) => {
            &["LIST | sort(attribute='BY', reverse=true) | map(attribute='FIELD') | list"]
        }
        Form::Max(_) => &["LIST | map(attribute='FIELD') | max"],
        Form::More(More::Least(..)) => &["(LIST | min(attribute='BY'))·FIELD"],
        _ => &[],
    };
    filled(goal, templates)
}

pub(crate) fn templates(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(..) => &["{{ (index .LIST INDEX)·FIELD }}", "{{LIST.[INDEX]·FIELD}}"],
        Form::Project(_) => &[
            "{{ range .LIST }}{{ ·FIELD }}{{ end }}",
            "{{#each LIST}}{{FIELD}}{{/each}}",
            "{{range .LIST}}{{·FIELD}} {{end}}",
            "{{#LIST}}{{FIELD}}{{/LIST}}",
            "{% for item in LIST %}{{ item·FIELD }}{% endfor %}",
        ],
        Form::Whole => {
            return variable(goal)
                .into_iter()
                .flat_map(|path| {
                    [
                        format!("{{{{ .{path} }}}}"),
                        format!("{{{{{{{path}}}}}}}"),
                        format!("<%= {path} %>"),
                        format!("@{{{path}}}"),
                        format!("#{{{path}}}"),
                    ]
                })
                .collect();
        }
        _ => &[],
    };
    filled(goal, templates)
}

pub(crate) fn ruby(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(0, _) => &[
            "LIST.first[:FIELD]",
            "LIST.first['FIELD']",
            "LIST.first·FIELD",
            "LIST.dig(0, :FIELD)",
            "LIST[0][:FIELD]",
        ],
        Form::Item(..) => &[
            "LIST[INDEX][:FIELD]",
            "LIST.dig(INDEX, 'FIELD')",
            "LIST[INDEX]&·FIELD",
            "LIST.at(INDEX)['FIELD']",
        ],
        Form::Last(_) => &["LIST.last[:FIELD]", "LIST.last['FIELD']", "LIST.last·FIELD"],
        Form::Project(_) => &[
            "LIST.map(&:FIELD)",
            "LIST.map { |x| x[:FIELD] }",
            "LIST.map { |x| x['FIELD'] }",
            "LIST.pluck(:FIELD)",
            "LIST.collect { |x| x·FIELD }",
        ],
        Form::Slice(..) => &[
            "LIST.first(END).map { |x| x['FIELD'] }",
            "LIST.take(END).map(&:FIELD)",
        ],
        Form::More(More::Tail(..)) => &["LIST.last(END).map { |x| x['FIELD'] }"],
        Form::Filter(..) => &[
            "LIST.select { |x| x[:BY] == 'IS' }.map { |x| x[:FIELD] }",
            "LIST.select { |x| x['BY'] == \"IS\" }.map { |x| x['FIELD'] }",
            "LIST.filter_map { |x| x['FIELD'] if x['BY'] == 'IS' }",
        ],
        Form::First(..) => &[
            "LIST.find { |x| x['BY'] == 'IS' }['FIELD']",
            "LIST.detect { |x| x[:BY] == 'IS' }[:FIELD]",
        ],
        Form::More(More::Except(..)) => {
            &["LIST.reject { |x| x['BY'] == 'IS' }.map { |x| x['FIELD'] }"]
        }
        Form::Count => &["LIST.size", "LIST.count"],
        Form::CountWhere(..) => &["LIST.count { |x| x['BY'] == 'IS' }"],
        Form::Sum(_) => &[
            "LIST.sum { |x| x['FIELD'] }",
            "LIST.map { |x| x['FIELD'] }.sum",
            "LIST.sum(&:FIELD)",
        ],
        Form::Sort(..) => &["LIST.sort_by { |x| x['BY'] }.map { |x| x['FIELD'] }"],
        Form::Greatest(..) => &["LIST.max_by { |x| x['BY'] }['FIELD']"],
        Form::More(More::Least(..)) => &["LIST.min_by { |x| x['BY'] }['FIELD']"],
        Form::More(More::Flat(_)) => &[
            "LIST.flat_map { |x| x['FIELD'] }",
            "LIST.map { |x| x['FIELD'] }.flatten",
        ],
        _ => &[],
    };
    shallow(goal, templates)
}

/// Where the paths within an item are one name each.
fn shallow<T: AsRef<str>>(goal: &Goal, templates: &[T]) -> Vec<String> {
    if is_deep(goal) {
        Vec::new()
    } else {
        filled(goal, templates)
    }
}

pub(crate) fn csharp(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(0, _) => &["LIST.First()·FIELD", "LIST.FirstOrDefault()?·FIELD"],
        Form::Item(..) => &["LIST.ElementAt(INDEX)·FIELD", "LIST[INDEX]!·FIELD"],
        Form::Last(_) => &[
            "LIST.Last()·FIELD",
            "LIST[^1]·FIELD",
            "LIST.LastOrDefault()?·FIELD",
        ],
        Form::Project(_) => &[
            "LIST.Select(x => x·FIELD)",
            "LIST.Select(x => x·FIELD).ToList()",
            "from x in LIST select x·FIELD",
        ],
        Form::Slice(..) => &[
            "LIST.Take(END).Select(x => x·FIELD)",
            "LIST.Take(END).Select(x => x·FIELD).ToArray()",
        ],
        Form::Filter(..) => &[
            "LIST.Where(x => x·BY == \"IS\").Select(x => x·FIELD)",
            "from x in LIST where x·BY == \"IS\" select x·FIELD",
            "LIST.Where(x => x·BY == \"IS\").Select(x => x·FIELD).ToList()",
        ],
        Form::First(..) => &[
            "LIST.First(x => x·BY == \"IS\")·FIELD",
            "LIST.FirstOrDefault(x => x·BY == \"IS\")?·FIELD",
            "LIST.Single(x => x·BY == \"IS\")·FIELD",
        ],
        Form::Above(..) if is_number(goal) => {
            &["LIST.Where(x => x·BY > \"IS\").Select(x => x·FIELD)"]
        }
        Form::Count => &["LIST.Count()", "LIST.Count", "LIST.Length"],
        Form::CountWhere(..) => &[
            "LIST.Count(x => x·BY == \"IS\")",
            "LIST.Where(x => x·BY == \"IS\").Count()",
        ],
        Form::Sum(_) => &["LIST.Sum(x => x·FIELD)", "LIST.Select(x => x·FIELD).Sum()"],
        Form::Max(_) => &["LIST.Max(x => x·FIELD)"],
        Form::More(More::Min(_)) => &["LIST.Min(x => x·FIELD)"],
        Form::More(More::Average(_)) => &["LIST.Average(x => x·FIELD)"],
        Form::Sort(..) => &["LIST.OrderBy(x => x·BY).Select(x => x·FIELD)"],
        Form::More(More::Descending(..)) => {
            &["LIST.OrderByDescending(x => x·BY).Select(x => x·FIELD)"]
        }
        Form::Greatest(..) => &[
            "LIST.MaxBy(x => x·BY)·FIELD",
            "LIST.OrderByDescending(x => x·BY).First()·FIELD",
        ],
        Form::Nested(..) => &["LIST.SelectMany(x => x·IN).Select(y => y·FIELD)"],
        _ => &[],
    };
    filled(goal, templates)
}

pub(crate) fn kotlin(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(0, _) => &[
            "LIST.first()·FIELD",
            "LIST.firstOrNull()?·FIELD",
            "LIST.iter().next().unwrap()·FIELD",
            "LIST.get(0)·FIELD",
        ],
        Form::Item(..) => &[
            "LIST.get(INDEX)·FIELD",
            "LIST[INDEX]·FIELD!!",
            "LIST.iter().nth(INDEX).unwrap()·FIELD",
            "&LIST[INDEX]·FIELD",
            "LIST[INDEX]·FIELD.clone()",
            "LIST[INDEX]·FIELD.unwrap()",
        ],
        Form::Last(_) => &[
            "LIST.last()·FIELD",
            "LIST.last().unwrap()·FIELD",
            "LIST.iter().last().unwrap()·FIELD",
        ],
        Form::Project(_) => &[
            "LIST.map { it·FIELD }",
            "LIST.iter().map(|x| x·FIELD).collect()",
            "LIST.iter().map(|x| &x·FIELD).collect::<Vec<_>>()",
            "LIST.stream().map(x -> x·FIELD).toList()",
            "LIST.mapNotNull { it·FIELD }",
        ],
        Form::Slice(..) => &[
            "LIST.take(END).map { it·FIELD }",
            "LIST.iter().take(END).map(|x| x·FIELD).collect()",
        ],
        Form::Filter(..) => &[
            "LIST.filter { it·BY == \"IS\" }.map { it·FIELD }",
            "LIST.iter().filter(|x| x·BY == \"IS\").map(|x| x·FIELD).collect()",
            "LIST.stream().filter(x -> x·BY.equals(\"IS\")).map(x -> x·FIELD).toList()",
        ],
        Form::First(..) => &[
            "LIST.first { it·BY == \"IS\" }·FIELD",
            "LIST.iter().find(|x| x·BY == \"IS\").unwrap()·FIELD",
            "LIST.find { it·BY == \"IS\" }?·FIELD",
        ],
        Form::Count => &["LIST.len()", "LIST.iter().count()", "LIST.size()"],
        Form::CountWhere(..) => &[
            "LIST.count { it·BY == \"IS\" }",
            "LIST.iter().filter(|x| x·BY == \"IS\").count()",
        ],
        Form::Sum(_) => &[
            "LIST.sumOf { it·FIELD }",
            "LIST.iter().map(|x| x·FIELD).sum()",
        ],
        Form::Greatest(..) => &[
            "LIST.maxByOrNull { it·BY }?·FIELD",
            "LIST.iter().max_by_key(|x| x·BY).unwrap()·FIELD",
        ],
        Form::Sort(..) => &["LIST.sortedBy { it·BY }.map { it·FIELD }"],
        Form::More(More::Descending(..)) => &["LIST.sortedByDescending { it·BY }.map { it·FIELD }"],
        Form::Nested(..) => &[
            "LIST.flatMap { it·IN }.map { it·FIELD }",
            "LIST.iter().flat_map(|x| x·IN.iter().map(|y| y·FIELD)).collect()",
        ],
        _ => &[],
    };
    filled(goal, templates)
}

pub(crate) fn php(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(..) => &[
            "$LIST[INDEX]['FIELD']",
            "$data['LIST'][INDEX]['FIELD']",
            "$result->LIST[INDEX]->FIELD",
            "$LIST[INDEX]->FIELD",
        ],
        Form::Last(_) => &["end($LIST)['FIELD']", "$LIST[count($LIST) - 1]['FIELD']"],
        Form::Project(_) => &[
            "array_column($LIST, 'FIELD')",
            "array_map(fn($x) => $x['FIELD'], $LIST)",
            "$LIST[*]['FIELD']",
        ],
        Form::Count => &["count($LIST)", "sizeof($LIST)"],
        Form::Sum(_) => &["array_sum(array_column($LIST, 'FIELD'))"],
        Form::Max(_) => &["max(array_column($LIST, 'FIELD'))"],
        Form::Keys => &["array_keys($LIST)"],
        _ => &[],
    };
    shallow(goal, templates)
        .into_iter()
        .filter(|_| goal.root.len() == 1)
        .collect()
}

pub(crate) fn powershell(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(..) => &[
            "$LIST[INDEX]·FIELD",
            "$result.LIST[INDEX]·FIELD",
            "$_.LIST[INDEX]·FIELD",
        ],
        Form::Last(_) => &["($LIST | Select-Object -Last 1)·FIELD", "$LIST[-1]·FIELD"],
        Form::Project(_) => &[
            "$LIST | Select-Object -ExpandProperty FIELD",
            "LIST | project FIELD",
            "$LIST | ForEach-Object { $_·FIELD }",
            "$LIST·FIELD",
        ],
        Form::Slice(..) => &[
            "$LIST | Select-Object -First END -ExpandProperty FIELD",
            "LIST | take END | project FIELD",
        ],
        Form::Filter(..) => &[
            "$LIST | Where-Object { $_·BY -eq 'IS' } | Select-Object -ExpandProperty FIELD",
            "LIST | where BY == 'IS' | project FIELD",
            "LIST | where BY == \"IS\" | select FIELD",
            "LIST | ? { $_·BY -eq 'IS' } | % { $_·FIELD }",
        ],
        Form::Above(..) if is_number(goal) => &["LIST | where BY > \"IS\" | project FIELD"],
        Form::Count => &[
            "$LIST.Count",
            "LIST | count",
            "($LIST | Measure-Object).Count",
        ],
        Form::CountWhere(..) => &["LIST | where BY == 'IS' | count"],
        Form::Sort(..) => &[
            "LIST | sort by BY asc | project FIELD",
            "$LIST | Sort-Object BY | Select-Object -ExpandProperty FIELD",
        ],
        Form::Sum(_) => &["LIST | summarize sum(FIELD)"],
        Form::Max(_) => &["LIST | summarize max(FIELD)"],
        _ => &[],
    };
    shallow(goal, templates)
}

pub(crate) fn terraform(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(..) => &["element(LIST, INDEX)·FIELD", "${LIST[INDEX]·FIELD}"],
        Form::Project(_) => &["LIST.*·FIELD", "[for x in LIST : x·FIELD]"],
        Form::Values(_) => &["[for k, v in LIST : v·FIELD]"],
        Form::Filter(..) => &[
            "[for x in LIST : x·FIELD if x·BY == \"IS\"]",
            "[for x in LIST: x·FIELD if x·BY == 'IS']",
        ],
        Form::First(..) => &["[for x in LIST : x·FIELD if x·BY == \"IS\"][0]"],
        Form::More(More::Flat(_)) => &[
            "flatten(LIST[*]·FIELD)",
            "flatten([for x in LIST : x·FIELD])",
        ],
        _ => &[],
    };
    filled(goal, templates)
}

pub(crate) fn css(goal: &Goal) -> Vec<String> {
    let templates: &[&str] = match &goal.form {
        Form::Item(0, _) => &[
            "LIST:first-child > FIELD",
            "LIST > :first-child > FIELD",
            "LIST:first FIELD",
        ],
        Form::Item(..) => &[
            "LIST:nth-child(NTH) > FIELD",
            "LIST > :nth-child(NTH) > FIELD",
        ],
        Form::Last(_) => &["LIST:last-child > FIELD", "LIST > :last-child > FIELD"],
        _ => &[],
    };
    shallow(goal, templates)
        .into_iter()
        .filter(|_| goal.root.len() == 1)
        .collect()
}

pub(crate) fn shell(goal: &Goal) -> Vec<String> {
    match &goal.form {
        Form::Line(0) => ["head -1", "head -n 1", "sed -n 1p", "awk 'NR==1'"]
            .map(str::to_owned)
            .to_vec(),
        Form::Line(index) => vec![
            format!("sed -n {}p", index + 1),
            format!("awk 'NR=={}'", index + 1),
            format!("sed '{}q;d'", index + 1),
        ],
        Form::Lines => ["wc -l", "grep -c ''", "awk 'END {print NR}'"]
            .map(str::to_owned)
            .to_vec(),
        Form::Grep(word) => vec![
            format!("grep {}", name(word)),
            format!("grep \"{word}\""),
            format!("grep -F '{word}'"),
            format!("| grep '{word}'"),
            format!("rg '{word}'"),
        ],
        Form::Cell(line, cell) => vec![
            format!("awk -F, 'NR=={} {{print ${}}}'", line + 1, cell + 1),
            format!("sed -n {}p | cut -d, -f{}", line + 1, cell + 1),
        ],
        _ => Vec::new(),
    }
}

pub(crate) fn other_texts(goal: &Goal) -> Vec<String> {
    match &goal.form {
        Form::Line(index) => vec![
            format!("text.lines[{index}]"),
            format!("strings.Split(text, \"\\n\")[{index}]"),
            format!("text.lines().nth({index})"),
            format!("text.Split('\\n')[{index}]"),
            format!("text.split(/\\r?\\n/)[{index}]"),
            format!("data.split('\\n')[{index}]"),
            format!("result.splitlines()[{index}]"),
        ],
        Form::Lines => [
            "text.lines.count",
            "text.lines().count()",
            "content.splitlines().length",
        ]
        .map(str::to_owned)
        .to_vec(),
        Form::Grep(word) => vec![
            format!("text.lines.grep(/{word}/)"),
            format!("text.lines().filter(|l| l.contains(\"{word}\"))"),
            format!("text.split('\\n').filter(line => line.indexOf('{word}') !== -1)"),
            format!("[line for line in content.split('\\n') if '{word}' in line]"),
            format!("[l for l in text.split(\"\\n\") if \"{word}\" in l]"),
        ],
        Form::Cell(line, cell) => vec![
            format!("text.lines[{line}].split(',')[{cell}]"),
            format!("list(csv.reader(text.splitlines()))[{line}][{cell}]"),
            format!("text.split(\"\\n\")[{line}].split(\",\")[{cell}]"),
        ],
        _ => Vec::new(),
    }
}
