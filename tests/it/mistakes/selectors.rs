//! Correct selectors, broken the way models break them.

use crate::mistakes::{
    dialects::{self, Theme, theme},
    documents::{Given, Shape},
    goals::{Form, Goal, Path, dotted, literal, name, pure, then},
};
use serde_json::Value;

/// A goal on a document, and what a class makes of it.
pub(crate) type Break = fn(&Goal, &Given) -> Vec<String>;

pub(crate) fn one(selector: Option<String>) -> Vec<String> {
    selector.into_iter().collect()
}

/// The selector of a goal that was changed.
pub(crate) fn changed(goal: &Goal, change: impl FnOnce(&mut Goal) -> Option<()>) -> Option<String> {
    let mut goal = goal.clone();
    change(&mut goal)?;
    Some(goal.selector())
}

pub(crate) fn with_field(goal: &Goal, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    changed(goal, |goal| {
        let last = goal.field_mut()?.last_mut()?;
        *last = change(last)?;
        Some(())
    })
}

pub(crate) fn with_root(goal: &Goal, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_list = goal.is_of_a_list() || goal.root.len() > 1;
    changed(goal, |goal| {
        // Of a path to one value, the object that it stands in.
        let index = if goal.is_of_a_list() {
            goal.root.len().checked_sub(1)?
        } else {
            goal.root.len().checked_sub(2)?
        };
        let name = goal.root.get_mut(index).filter(|_| is_list)?;
        *name = change(name)?;
        Some(())
    })
}

pub(crate) fn other(from: &str, to: String) -> Option<String> {
    (to != from && !to.is_empty()).then_some(to)
}

/// Two letters exchanged, near the middle.
pub(crate) fn swapped(word: &str) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    let index = (letters.len() / 2..letters.len().checked_sub(1)?)
        .chain(1..letters.len() / 2)
        .find(|index| letters[*index] != letters[index + 1])?;
    letters.swap(index, index + 1);
    other(word, letters.into_iter().collect())
}

pub(crate) fn dropped(word: &str) -> Option<String> {
    let letters: Vec<char> = word.chars().collect();
    let middle = letters.len() / 2;
    (letters.len() > 3).then(|| {
        letters
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != middle)
            .map(|(_, letter)| letter)
            .collect()
    })
}

pub(crate) fn camel(word: &str) -> Option<String> {
    let mut parts = word.split(['_', '-']);
    let first = parts.next()?.to_owned();
    let rest = parts.map(|part| {
        let mut letters = part.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    });
    other(word, first + &rest.collect::<String>())
}

pub(crate) fn snake(word: &str) -> Option<String> {
    let mut snake = String::new();
    for letter in word.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    other(word, snake)
}

pub(crate) fn number(word: &str) -> Option<String> {
    match word.strip_suffix("ies") {
        Some(stem) => Some(format!("{stem}y")),
        None => Some(
            word.strip_suffix('s')
                .map_or_else(|| format!("{word}s"), str::to_owned),
        ),
    }
}

fn recased(word: &str) -> Option<String> {
    let upper = word.to_uppercase();
    other(
        word,
        if upper == word {
            word.to_lowercase()
        } else {
            upper
        },
    )
}

pub(crate) fn capital(word: &str) -> Option<String> {
    let mut letters = word.chars();
    let first = letters.next()?;
    let first = if first.is_uppercase() {
        first.to_lowercase().to_string()
    } else {
        first.to_uppercase().to_string()
    };
    other(word, first + letters.as_str())
}

/// Another word for the same.
fn synonym(word: &str) -> Option<String> {
    let words = [
        ("items", "results"),
        ("issues", "items"),
        ("url", "link"),
        ("id", "identifier"),
        ("name", "title"),
        ("title", "name"),
        ("html_url", "url"),
        ("login", "username"),
        ("version", "release"),
        ("state", "status"),
        ("type", "kind"),
        ("statuses", "checks"),
        ("Faces", "faces"),
        ("number", "id"),
        ("rows", "data"),
        ("date", "created"),
        ("native", "nativeName"),
        ("capital", "capitalCity"),
        ("user", "author"),
        ("context", "name"),
    ];
    words
        .iter()
        .find(|(from, _)| *from == word)
        .map(|(_, to)| (*to).to_owned())
}

pub(crate) fn replaced(selector: &str, from: &str, to: &str) -> Vec<String> {
    one(selector.contains(from).then(|| selector.replace(from, to)))
}

pub(crate) fn first_replaced(selector: &str, from: &str, to: &str) -> Vec<String> {
    one(selector
        .contains(from)
        .then(|| selector.replacen(from, to, 1)))
}

fn field(goal: &Goal) -> Option<Path> {
    goal.clone().field_mut().cloned()
}

/// The call's own comparison, written otherwise.
pub(crate) fn compared(
    goal: &Goal,
    write: impl Fn(&str, &str, &Value) -> Option<String>,
) -> Vec<String> {
    let mut copy = goal.clone();
    let by = dotted(&copy.by_mut().cloned().unwrap_or_default());
    let Some(is) = copy.literal_mut().cloned() else {
        return Vec::new();
    };
    let operator = if matches!(goal.form, Form::Above(..)) {
        ">"
    } else {
        "=="
    };
    let from = format!("{by} {operator} {}", literal(&is));
    write(&by, operator, &is)
        .map(|to| first_replaced(&goal.selector(), &from, &to))
        .unwrap_or_default()
}

/// Where it asks for equality.
pub(crate) fn equal(goal: &Goal, write: impl Fn(&str, &Value) -> String) -> Vec<String> {
    compared(goal, |by, operator, is| {
        (operator == "==").then(|| write(by, is))
    })
}

fn with_literal(goal: &Goal, change: impl Fn(&Value) -> Option<Value>) -> Vec<String> {
    one(changed(goal, |goal| {
        let is = goal.literal_mut()?;
        let other = change(is)?;
        (other != *is).then(|| *is = other)
    }))
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

fn of_theme(wanted: Theme, write: fn(&Goal) -> Vec<String>) -> impl Fn(&Goal) -> Vec<String> {
    move |goal| {
        if theme(goal) == wanted {
            write(goal)
        } else {
            Vec::new()
        }
    }
}

macro_rules! dialect {
    ($write:ident, $theme:ident) => {
        |goal, _| of_theme(Theme::$theme, dialects::$write)(goal)
    };
}

/// The lists and objects in which a field of that name stands, for a path that begins elsewhere.
fn elsewhere(goal: &Goal, given: &Given) -> Option<String> {
    let mut goal = goal.clone();
    // Without a field nothing says what was meant.
    let says_what = goal.is_of_a_list() && goal.field_mut().is_some() || goal.root.len() > 1;
    let Value::Object(members) = &given.root else {
        return None;
    };
    let wrong = members
        .keys()
        .find(|key| Some(*key) != goal.root.first())?
        .clone();
    *goal.root.first_mut().filter(|_| says_what)? = wrong;
    Some(goal.selector())
}

pub(crate) fn wrapped(goal: &Goal, wrapper: &str) -> Option<String> {
    changed(goal, |goal| {
        if goal.is_of_a_text() || matches!(goal.form, Form::Join(..)) {
            return None;
        }
        goal.root.insert(0, wrapper.to_owned());
        Some(())
    })
}

/// A root list that a model writes with the name that it expects.
fn named_root(goal: &Goal, given: &Given, name: &str) -> Option<String> {
    (given.root.is_array() && goal.root.is_empty())
        .then(|| wrapped(goal, name))
        .flatten()
}

fn outside_literals(selector: &str) -> bool {
    !selector.contains(['\'', '`', '"'])
}

pub(crate) const CLASSES: &[(&str, Break)] = &[
    // Names.
    ("letters swapped in the field", |goal, _| {
        one(with_field(goal, swapped))
    }),
    ("a letter missing in the field", |goal, _| {
        one(with_field(goal, dropped))
    }),
    ("letters swapped in the list", |goal, _| {
        one(with_root(goal, swapped))
    }),
    ("a letter missing in the list", |goal, _| {
        one(with_root(goal, dropped))
    }),
    ("singular for plural list", |goal, _| {
        one(with_root(goal, number))
    }),
    ("plural for singular field", |goal, _| {
        one(with_field(goal, number))
    }),
    ("camelCase field", |goal, _| one(with_field(goal, camel))),
    ("snake_case field", |goal, _| one(with_field(goal, snake))),
    ("another case of the field", |goal, _| {
        one(with_field(goal, capital))
    }),
    ("another case of the list", |goal, _| {
        one(with_root(goal, capital))
    }),
    ("a synonym of the field", |goal, _| {
        one(with_field(goal, synonym))
    }),
    ("a synonym of the list", |goal, _| {
        one(with_root(goal, synonym))
    }),
    ("a misspelt field in the filter", |goal, _| {
        one(changed(goal, |goal| {
            let last = goal.by_mut()?.last_mut()?;
            *last = swapped(last)?;
            Some(())
        }))
    }),
    ("camelCase in the filter", |goal, _| {
        one(changed(goal, |goal| {
            let last = goal.by_mut()?.last_mut()?;
            *last = camel(last).or_else(|| snake(last))?;
            Some(())
        }))
    }),
    // Places.
    ("the field alone", |goal, _| {
        one(field(goal)
            .filter(|_| goal.root.len() > 1 || goal.is_of_a_list())
            .map(|field| name(field.last().map_or("", |last| last))))
    }),
    ("an invented wrapper `data`", |goal, _| {
        one(wrapped(goal, "data"))
    }),
    ("an invented wrapper `response`", |goal, _| {
        one(wrapped(goal, "response"))
    }),
    ("an invented wrapper `result`", |goal, _| {
        one(wrapped(goal, "result"))
    }),
    ("an invented wrapper `output`", |goal, _| {
        one(wrapped(goal, "output"))
    }),
    ("the wrapper left out", |goal, _| {
        one(changed(goal, |goal| {
            (goal.root.len() > 1).then(|| {
                goal.root.remove(0);
            })
        }))
    }),
    ("the list left out", |goal, _| {
        one(changed(goal, |goal| {
            (goal.root.len() == 1 && goal.is_of_a_list()).then(|| goal.root.clear())
        }))
    }),
    ("a list name where the root is a list", |goal, given| {
        one(named_root(goal, given, "items"))
    }),
    ("the tool's noun where the root is a list", |goal, given| {
        one(named_root(
            goal,
            given,
            given.tool.rsplit('_').next().unwrap_or("items"),
        ))
    }),
    ("the wrong parent", |goal, given| {
        one(elsewhere(goal, given))
    }),
    ("a level of the field left out", |goal, _| {
        one(changed(goal, |goal| {
            let field = goal.field_mut().filter(|field| field.len() > 1)?;
            field.remove(0);
            Some(())
        }))
    }),
    ("a level of the filter's field left out", |goal, _| {
        one(changed(goal, |goal| {
            let by = goal.by_mut().filter(|by| by.len() > 1)?;
            by.remove(0);
            Some(())
        }))
    }),
    ("a level invented in the field", |goal, _| {
        one(changed(goal, |goal| {
            let field = goal.field_mut()?;
            field.insert(field.len() - 1, "attributes".to_owned());
            Some(())
        }))
    }),
    // Lists.
    ("`[*]` missing", |goal, _| {
        replaced(&goal.selector(), "[*]", "")
    }),
    ("`[0]` for `[*]`", |goal, _| {
        first_replaced(&goal.selector(), "[*]", "[0]")
    }),
    ("`[*]` for `[0]`", |goal, _| match goal.form {
        Form::Item(0, _) => first_replaced(&goal.selector(), "[0]", "[*]"),
        _ => Vec::new(),
    }),
    ("the index missing", |goal, _| match goal.form {
        Form::Item(0, _) => first_replaced(&goal.selector(), "[0]", ""),
        _ => Vec::new(),
    }),
    ("an index on an object", |goal, _| match goal.form {
        Form::Whole if goal.root.len() > 1 => one(Some(format!(
            "{}[0].{}",
            dotted(&goal.root[..1]),
            dotted(&goal.root[1..])
        ))),
        Form::Item(index, ref field) if field.len() > 1 => one(Some(format!(
            "{}[{index}].{}[0].{}",
            dotted(&goal.root),
            dotted(&field[..1]),
            dotted(&field[1..])
        ))),
        _ => Vec::new(),
    }),
    ("an index after the field", |goal, _| match goal.form {
        Form::Item(..) | Form::Last(_) | Form::Project(_) => {
            one(Some(format!("{}[0]", goal.selector())))
        }
        _ => Vec::new(),
    }),
    ("`[]` in the middle of a name", |goal, _| match &goal.form {
        Form::Project(field) => one(Some(format!("{}.[*]{}", dotted(&goal.root), then(field)))),
        _ => Vec::new(),
    }),
    ("`[?…][0].field`", |goal, _| {
        first_replaced(&goal.selector(), "] | [0]", "][0]")
    }),
    ("`[?…].field[0]`", |goal, _| match &goal.form {
        Form::First(by, is, field) => one(Some(format!(
            "{}[?{} == {}]{}[0]",
            dotted(&goal.root),
            dotted(by),
            literal(is),
            then(field)
        ))),
        _ => Vec::new(),
    }),
    (
        "a filter that gives a list for one value",
        |goal, _| match &goal.form {
            Form::First(by, is, field) => one(Some(format!(
                "{}[?{} == {}]{}",
                dotted(&goal.root),
                dotted(by),
                literal(is),
                then(field)
            ))),
            _ => Vec::new(),
        },
    ),
    ("one value for a filter's list", |goal, _| {
        match &goal.form {
            Form::Filter(by, is, field) => one(Some(format!(
                "{}[?{} == {}] | [0]{}",
                dotted(&goal.root),
                dotted(by),
                literal(is),
                then(field)
            ))),
            _ => Vec::new(),
        }
    }),
    // Filters.
    ("double quotes in the filter", |goal, _| {
        compared(goal, |by, op, is| {
            text(is).map(|is| format!("{by} {op} {}", Value::from(is)))
        })
    }),
    ("bare words in the filter", |goal, _| {
        compared(goal, |by, op, is| {
            text(is)
                .filter(|is| {
                    is.chars()
                        .all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char))
                })
                .map(|is| format!("{by} {op} {is}"))
        })
    }),
    ("bare numbers in the filter", |goal, _| {
        compared(goal, |by, op, is| {
            (!is.is_string()).then(|| format!("{by} {op} {is}"))
        })
    }),
    ("`=` for `==`", |goal, _| {
        equal(goal, |by, is| format!("{by} = {}", literal(is)))
    }),
    ("`===` for `==`", |goal, _| {
        equal(goal, |by, is| format!("{by} === {}", literal(is)))
    }),
    ("`===` and double quotes", |goal, _| {
        equal(goal, |by, is| format!("{by} === {is}"))
    }),
    ("`eq` for `==`", |goal, _| {
        equal(goal, |by, is| format!("{by} eq {}", literal(is)))
    }),
    ("`and` for `&&`", |goal, _| {
        replaced(&goal.selector(), " && ", " and ")
    }),
    ("`&` for `&&`", |goal, _| {
        replaced(&goal.selector(), " && ", " & ")
    }),
    ("`AND` and `=`", |goal, _| {
        replaced(&goal.selector(), " && ", " AND ")
            .into_iter()
            .map(|text| text.replace(" == ", " = "))
            .collect()
    }),
    ("`not` and parentheses", |goal, _| {
        equal(goal, |by, is| format!("not({by} != {})", literal(is)))
    }),
    ("another case of the compared value", |goal, _| {
        with_literal(goal, |is| recased(text(is)?).map(Value::from))
    }),
    ("blanks round the compared value", |goal, _| {
        with_literal(goal, |is| Some(Value::from(format!(" {} ", text(is)?))))
    }),
    ("a number compared as text", |goal, _| {
        with_literal(goal, |is| {
            is.is_number().then(|| Value::from(is.to_string()))
        })
    }),
    ("a flag compared as text", |goal, _| {
        with_literal(goal, |is| {
            is.is_boolean().then(|| Value::from(is.to_string()))
        })
    }),
    ("`True` for `true`", |goal, _| {
        compared(goal, |by, _, is| {
            is.as_bool()
                .map(|is| format!("{by} == {}", if is { "True" } else { "False" }))
        })
    }),
    ("backticks round a text", |goal, _| {
        compared(goal, |by, op, is| {
            text(is).map(|is| format!("{by} {op} `{is}`"))
        })
    }),
    ("`@.` in the filter", |goal, _| {
        compared(goal, |by, op, is| Some(format!("@.{by} {op} {is}")))
    }),
    ("parentheses in the filter", |goal, _| {
        compared(goal, |by, op, is| Some(format!("(@.{by} {op} {is})")))
    }),
    ("a filter without a question mark", |goal, _| {
        first_replaced(&goal.selector(), "[?", "[")
    }),
    ("`in` for contains", |goal, _| match &goal.form {
        Form::Contains(by, word, field) => one(Some(format!(
            "{}[?'{word}' in {}]{}",
            dotted(&goal.root),
            dotted(by),
            then(field)
        ))),
        _ => Vec::new(),
    }),
    ("a method for contains", |goal, _| match &goal.form {
        Form::Contains(by, word, field) => ["contains", "includes", "startsWith"]
            .iter()
            .take(2)
            .map(|method| {
                format!(
                    "{}[?{}.{method}('{word}')]{}",
                    dotted(&goal.root),
                    dotted(by),
                    then(field)
                )
            })
            .collect(),
        _ => Vec::new(),
    }),
    ("double quotes in a function", |goal, _| match &goal.form {
        Form::Contains(by, word, field) => one(Some(format!(
            "{}[?contains({}, \"{word}\")]{}",
            dotted(&goal.root),
            dotted(by),
            then(field)
        ))),
        _ => Vec::new(),
    }),
    ("`like` for contains", |goal, _| match &goal.form {
        Form::Contains(by, word, field) => vec![
            format!(
                "{}[?{} =~ '{word}']{}",
                dotted(&goal.root),
                dotted(by),
                then(field)
            ),
            format!(
                "{}[?{} like '%{word}%']{}",
                dotted(&goal.root),
                dotted(by),
                then(field)
            ),
        ],
        _ => Vec::new(),
    }),
    // Functions.
    ("`&` missing", |goal, _| {
        replaced(&goal.selector(), ", &", ", ")
    }),
    ("a text for `&`", |goal, _| match &goal.form {
        Form::Sort(by, _) | Form::Greatest(by, _) => replaced(
            &goal.selector(),
            &format!(", &{}", dotted(by)),
            &format!(", '{}'", by.join(".")),
        ),
        _ => Vec::new(),
    }),
    ("a camelCase function", |goal, _| {
        let selector = goal.selector();
        replaced(&selector, "sort_by(", "sortBy(")
            .into_iter()
            .chain(replaced(&selector, "max_by(", "maxBy("))
            .collect()
    }),
    ("a method for a function", |goal, _| {
        let (root, by) = (
            dotted(&goal.root),
            goal.clone().by_mut().cloned().unwrap_or_default(),
        );
        match &goal.form {
            Form::Count => vec![format!("{root}.length()"), format!("{root}.count()")],
            Form::Sort(_, field) => one(Some(format!(
                "{root}.sort_by(&{})[*]{}",
                dotted(&by),
                then(field)
            ))),
            Form::Greatest(_, field) => one(Some(format!(
                "{root}.max_by(&{}){}",
                dotted(&by),
                then(field)
            ))),
            Form::Sum(field) => one(Some(format!("{root}[*]{}.sum()", then(field)))),
            Form::Max(field) => one(Some(format!("{root}[*]{}.max()", then(field)))),
            _ => Vec::new(),
        }
    }),
    ("a function piped to", |goal, _| {
        let root = dotted(&goal.root);
        match &goal.form {
            Form::Count => vec![
                format!("{root} | length"),
                format!("{root} | length()"),
                format!("{root} | count(@)"),
            ],
            Form::Sum(field) => one(Some(format!("{root}[*]{} | sum", then(field)))),
            Form::Max(field) => one(Some(format!("{root}[*]{} | max()", then(field)))),
            _ => Vec::new(),
        }
    }),
    ("another name of the function", |goal, _| {
        let selector = goal.selector();
        let names = [
            ("length(", "count("),
            ("length(", "len("),
            ("length(", "size("),
            ("max_by(", "maximum_by("),
            ("sum(", "total("),
            ("max(", "maximum("),
            ("sort_by(", "order_by("),
            ("contains(", "includes("),
            ("contains(", "has("),
        ];
        names
            .iter()
            .filter(|(from, _)| {
                selector.starts_with(from) || selector.contains(&format!("[?{from}"))
            })
            .flat_map(|(from, to)| first_replaced(&selector, from, to))
            .collect()
    }),
    ("the list missing in the sum", |goal, _| match goal.form {
        Form::Sum(_) | Form::Max(_) => replaced(&goal.selector(), "[*]", ""),
        _ => Vec::new(),
    }),
    ("two arguments for a sum", |goal, _| match &goal.form {
        Form::Sum(field) => one(Some(format!(
            "sum({}, &{})",
            dotted(&goal.root),
            dotted(field)
        ))),
        Form::Max(field) => one(Some(format!(
            "max({}, &{})",
            dotted(&goal.root),
            dotted(field)
        ))),
        _ => Vec::new(),
    }),
    // Constructions.
    ("a misspelt field in a hash", |goal, _| match goal.form {
        Form::Hash(_) => one(with_field(goal, swapped)),
        _ => Vec::new(),
    }),
    ("a hash without colons", |goal, _| match &goal.form {
        Form::Hash(pairs)
            if pairs
                .iter()
                .all(|(key, path)| path.len() == 1 && *key == path[0]) =>
        {
            one(Some(format!(
                "{}[*].{{{}}}",
                dotted(&goal.root),
                pairs
                    .iter()
                    .map(|(key, _)| name(key))
                    .collect::<Vec<_>>()
                    .join(", ")
            )))
        }
        Form::Hash(pairs) => one(pairs
            .first()
            .filter(|(key, path)| path.len() == 1 && *key == path[0])
            .map(|(key, _)| {
                replaced(
                    &goal.selector(),
                    &format!("{{{}: {}", name(key), name(key)),
                    &format!("{{{}", name(key)),
                )
            })
            .and_then(|mut texts| texts.pop())),
        _ => Vec::new(),
    }),
    ("`=` in a hash", |goal, _| match goal.form {
        Form::Hash(_) => replaced(&goal.selector(), ": ", " = "),
        _ => Vec::new(),
    }),
    ("a dot missing before a hash", |goal, _| {
        replaced(&goal.selector(), "].{", "]{")
    }),
    ("quoted keys in a hash", |goal, _| match &goal.form {
        Form::Hash(pairs) => one(Some(format!(
            "{}[*].{{{}}}",
            dotted(&goal.root),
            pairs
                .iter()
                .map(|(key, path)| format!("'{key}': {}", dotted(path)))
                .collect::<Vec<_>>()
                .join(", ")
        ))),
        _ => Vec::new(),
    }),
    ("a comma missing", |goal, _| match goal.form {
        Form::Hash(_) | Form::Sort(..) | Form::Greatest(..) | Form::Contains(..) => {
            replaced(&goal.selector(), ", ", " ")
        }
        _ => Vec::new(),
    }),
    ("a comma too many in a hash", |goal, _| match goal.form {
        Form::Hash(_) => one(goal
            .selector()
            .strip_suffix('}')
            .map(|text| format!("{text}, }}"))),
        _ => Vec::new(),
    }),
    // Ends.
    ("the closing bracket missing", |goal, _| {
        one(goal
            .selector()
            .strip_suffix([')', ']', '}'])
            .map(str::to_owned))
    }),
    ("a closing bracket too many", |goal, _| match theme(goal) {
        Theme::Function => one(Some(format!("{})", goal.selector()))),
        Theme::Filter => first_replaced(&goal.selector(), "]", "]]"),
        _ => one(Some(format!("{}]", goal.selector()))),
    }),
    ("a semicolon at the end", |goal, _| {
        one(Some(format!("{};", goal.selector())))
    }),
    ("a comma at the end", |goal, _| {
        one(Some(format!("{},", goal.selector())))
    }),
    ("a full stop at the end", |goal, _| {
        one(Some(format!("{}.", goal.selector())))
    }),
    // Round the whole.
    ("`$.` before the selector", |goal, _| {
        one((!goal.root.is_empty() && theme(goal) != Theme::Function)
            .then(|| format!("$.{}", goal.selector())))
    }),
    ("`$` before a root list", |goal, _| {
        one(goal
            .selector()
            .starts_with('[')
            .then(|| format!("${}", goal.selector())))
    }),
    ("a dot before the selector", |goal, _| {
        one((theme(goal) != Theme::Function
            && !goal.is_of_a_text()
            && !goal.selector().starts_with('@'))
        .then(|| format!(".{}", goal.selector())))
    }),
    ("`@.` before the selector", |goal, _| {
        one((!goal.root.is_empty()
            && theme(goal) != Theme::Function
            && !goal.selector().starts_with('@'))
        .then(|| format!("@.{}", goal.selector())))
    }),
    ("double quotes round the whole", |goal, _| {
        one(outside_literals(&goal.selector()).then(|| format!("\"{}\"", goal.selector())))
    }),
    ("single quotes round the whole", |goal, _| {
        one((!goal.selector().contains('\'')).then(|| format!("'{}'", goal.selector())))
    }),
    ("backticks round the whole", |goal, _| {
        one((!goal.selector().contains('`')).then(|| format!("`{}`", goal.selector())))
    }),
    ("a fence round the whole", |goal, _| {
        vec![
            format!("```\n{}\n```", goal.selector()),
            format!("```jmespath\n{}\n```", goal.selector()),
        ]
    }),
    ("braces round the whole", |goal, _| {
        vec![
            format!("{{{{{}}}}}", goal.selector()),
            format!("{{{{ {} }}}}", goal.selector()),
        ]
    }),
    ("`${}` round the whole", |goal, _| {
        one(Some(format!("${{{}}}", goal.selector())))
    }),
    ("`select:` before the selector", |goal, _| {
        vec![
            format!("select: {}", goal.selector()),
            format!("$select: {}", goal.selector()),
        ]
    }),
    ("`jmespath:` before the selector", |goal, _| {
        one(Some(format!("jmespath:{}", goal.selector())))
    }),
    // Where it was read.
    (
        "the call's id before the selector",
        |goal, given| match goal.selector() {
            selector if selector.starts_with('[') => {
                one(Some(format!("{}{selector}", given.call_id)))
            }
            selector => one(
                (theme(goal) != Theme::Function && !selector.starts_with('@'))
                    .then(|| format!("{}.{selector}", given.call_id)),
            ),
        },
    ),
    ("the tool's name before the selector", |goal, given| {
        one((theme(goal) != Theme::Function && !goal.root.is_empty())
            .then(|| format!("{}.{}", given.tool, goal.selector())))
    }),
    ("`content[0].text` before the selector", |goal, given| {
        envelope(goal, given, "content[0].text")
    }),
    ("`content[1].text` before the selector", |goal, given| {
        envelope(goal, given, "content[1].text")
    }),
    ("`content` before the selector", |goal, given| {
        envelope(goal, given, "content")
    }),
    ("`structuredContent` before the selector", |goal, given| {
        envelope(goal, given, "structuredContent")
    }),
    (
        "`result.content[0].text` before the selector",
        |goal, given| envelope(goal, given, "result.content[0].text"),
    ),
    ("read off the text", |goal, given| match given.shape {
        Shape::File | Shape::Parts => one(Some(goal.selector())),
        _ => Vec::new(),
    }),
    ("a type after the path", |goal, given| {
        let (Form::Item(..) | Form::Whole | Form::Last(_)) = goal.form else {
            return Vec::new();
        };
        let kind = match pure(
            &crossfeed_json::Document::new(given.root.to_string()),
            &goal.selector(),
        ) {
            Some(Value::String(_)) => "[string]",
            Some(Value::Number(_)) => "[number]",
            Some(Value::Bool(_)) => "[boolean]",
            _ => return Vec::new(),
        };
        one(Some(format!("{}{kind}", goal.selector())))
    }),
    ("`→` and words after the path", |goal, _| {
        match theme(goal) {
            Theme::Path => one(Some(format!("{} (string)", goal.selector()))),
            _ => Vec::new(),
        }
    }),
    // Values.
    ("unquoted odd name", |goal, _| {
        one(goal
            .selector()
            .contains("\"")
            .then(|| goal.selector().replace('"', "")))
    }),
    ("single quotes round an odd name", |goal, _| {
        one(
            (goal.selector().contains('"') && !goal.selector().contains('\''))
                .then(|| goal.selector().replace('"', "'")),
        )
    }),
    ("brackets round an odd name", |goal, _| {
        let selector = goal.selector();
        let Some((before, rest)) = selector.split_once('"') else {
            return Vec::new();
        };
        let Some((name, after)) = rest.split_once('"') else {
            return Vec::new();
        };
        let before = before.strip_suffix('.').unwrap_or(before);
        vec![
            format!("{before}['{name}']{after}"),
            format!("{before}[\"{name}\"]{after}"),
        ]
    }),
    ("stars for nested lists", |goal, _| match &goal.form {
        Form::Nested(list, field) => vec![
            format!(
                "{}[*].{}[*]{}",
                dotted(&goal.root),
                dotted(list),
                then(field)
            ),
            format!("{}.{}{}", dotted(&goal.root), dotted(list), then(field)),
            format!("{}[].{}{}", dotted(&goal.root), dotted(list), then(field)),
        ],
        _ => Vec::new(),
    }),
    ("`+` joins two fields", |goal, _| match &goal.form {
        Form::Join(index, a, b) => {
            let item = format!("{}[{index}]", dotted(&goal.root));
            vec![
                format!("{item}{} + ' ' + {item}{}", then(a), then(b)),
                format!("concat({item}{}, ' ', {item}{})", then(a), then(b)),
            ]
        }
        _ => Vec::new(),
    }),
    ("the separator missing in a join", |goal, _| {
        match &goal.form {
            Form::Join(index, a, b) => {
                let item = format!("{}[{index}]", dotted(&goal.root));
                vec![format!("join([{item}{}, {item}{}], ' ')", then(a), then(b))]
            }
            _ => Vec::new(),
        }
    }),
    ("a method for keys", |goal, _| match &goal.form {
        Form::Keys if goal.root.is_empty() => vec![
            "keys()".to_owned(),
            "@.keys()".to_owned(),
            "keys".to_owned(),
        ],
        _ => Vec::new(),
    }),
    ("texts: other words", |goal, _| dialects::of_texts(goal)),
    ("texts: a range of lines", |goal, _| match goal.form {
        Form::Line(index) => vec![
            format!("[{index}]"),
            format!("line({index})"),
            format!("lines[{index}:{}] | [0]", index + 1),
        ],
        _ => Vec::new(),
    }),
    ("texts: jq", dialect!(jq, Text)),
    ("texts: Python", dialect!(python, Text)),
    // Other languages.
    ("jq: a path", dialect!(jq, Path)),
    ("jq: a projection", dialect!(jq, Projection)),
    ("jq: a filter", dialect!(jq, Filter)),
    ("jq: a function", dialect!(jq, Function)),
    ("JSONPath: a projection", dialect!(jsonpath, Projection)),
    ("JSONPath: a path", dialect!(jsonpath, Path)),
    ("JSONPath: a function", dialect!(jsonpath, Function)),
    ("JSONPath: a filter", dialect!(jsonpath, Filter)),
    ("JavaScript: a path", dialect!(javascript, Path)),
    ("JavaScript: a projection", dialect!(javascript, Projection)),
    ("JavaScript: a filter", dialect!(javascript, Filter)),
    ("JavaScript: a function", dialect!(javascript, Function)),
    ("Python: a projection", dialect!(python, Projection)),
    ("Python: a path", dialect!(python, Path)),
    ("Python: a function", dialect!(python, Function)),
    ("Python: a filter", dialect!(python, Filter)),
    ("slashes: a path", dialect!(slashes, Path)),
    ("slashes: a projection", dialect!(slashes, Projection)),
    ("slashes: a filter", dialect!(slashes, Filter)),
    ("slashes: a function", dialect!(slashes, Function)),
    ("lodash: a projection", dialect!(lodash, Projection)),
    ("lodash: a path", dialect!(lodash, Path)),
    ("lodash: a function", dialect!(lodash, Function)),
    ("lodash: a filter", dialect!(lodash, Filter)),
];

fn envelope(goal: &Goal, given: &Given, before: &str) -> Vec<String> {
    let selector = goal.selector();
    if theme(goal) == Theme::Function
        || selector.starts_with('@')
        || matches!(given.shape, Shape::Json | Shape::Plain | Shape::Wrapped)
    {
        return Vec::new();
    }
    let dot = if selector.starts_with('[') { "" } else { "." };
    vec![format!("{before}{dot}{selector}")]
}
