//! Functions as other programs write them, as JavaScript does: closures of Rust, blocks of Ruby, Kotlin, Swift and PowerShell,
//! `function (x) { … }`; and queries that are objects or paths of their own.

use super::{
    Rule,
    edit::{Edit, walk},
};
use crate::token::{Kind, Tokens};

/// One rule: the repaired text; `None` if there is nothing to repair.
type Apply = fn(&Tokens<'_>) -> Option<String>;

/// The expression with one thing written as JavaScript does; nothing where there is nothing to write so.
pub(super) fn rewritten(tokens: &Tokens<'_>) -> Option<(Rule, String)> {
    let rules: [(Rule, Apply); 4] = [
        (Rule::JavaScript, functions),
        (Rule::JavaScript, blocks),
        (Rule::JavaScript, cmdlets),
        (Rule::FilterSign, paths_of_filters),
    ];
    rules
        .into_iter()
        .find_map(|(rule, apply)| Some((rule, apply(tokens)?)))
}

/// What a block gives, without its `return` and its stop.
fn body<'a>(tokens: &Tokens<'a>, first: usize, last: usize) -> Option<&'a str> {
    let first = first + usize::from(tokens.text(first) == "return");
    let last = last - usize::from(tokens.text(last) == ";");
    tokens.span(first, last)
}

/// `function (x) { return x.url; }`, `fn($x) => $x.url` and `|x| x.url` are `x => x.url`.
fn functions(tokens: &Tokens<'_>) -> Option<String> {
    let mut edit = Edit::new(tokens);
    for at in 0..tokens.len() {
        let is_named = matches!(tokens.text(at), "function" | "func" | "fn");
        let variable = tokens.text(at + 2);
        if is_named
            && tokens.kind(at + 1) == Kind::LParen
            && tokens.kind(at + 2) == Kind::Word
            && tokens.kind(at + 3) == Kind::RParen
        {
            if tokens.kind(at + 4) == Kind::LBrace {
                let end = tokens.closer(at + 4)?;
                let body = body(tokens, at + 5, end.checked_sub(1)?)?;
                // There, one sign compares.
                let body = body.replace(" = ", " == ");
                edit.replace(at, end, &format!("{variable} => {body}"));
            } else if tokens.kind(at + 4) == Kind::Assign {
                edit.replace(at, at + 3, variable);
            }
        }
        let is_closure = tokens.kind(at) == Kind::Pipe
            && tokens.behind(at, 1) == Kind::LParen
            && tokens.kind(at + 2) == Kind::Pipe;
        if is_closure && tokens.kind(at + 1).is_name() {
            edit.replace(at, at + 2, &format!("{} =>", tokens.text(at + 1)));
        } else if tokens.kind(at) == Kind::Pipe
            && tokens.behind(at, 1) == Kind::LParen
            && tokens.kind(at + 1) == Kind::Ampersand
            && tokens.kind(at + 3) == Kind::Pipe
        {
            edit.replace(at, at + 3, &format!("{} =>", tokens.text(at + 2)));
        }
    }
    edit.finish()
}

/// `items.map { |x| x.url }`, `items.map { it.url }` and `items.map { $0.url }` are `items.map(x => x.url)`, with `'url'`
/// for `:url`.
fn blocks(tokens: &Tokens<'_>) -> Option<String> {
    let mut edit = Edit::new(tokens);
    for open in 1..tokens.len() {
        // A symbol of Ruby.
        let is_symbol = tokens.kind(open) == Kind::Colon
            && matches!(
                tokens.kind(open - 1),
                Kind::LBracket | Kind::LParen | Kind::Comma
            )
            && tokens.kind(open + 1) == Kind::Word
            && tokens.touches_next(open)
            && matches!(
                tokens.kind(open + 2),
                Kind::RBracket | Kind::RParen | Kind::Comma
            );
        if is_symbol {
            edit.replace(open, open + 1, &format!("'{}'", tokens.text(open + 1)));
            continue;
        }
        let is_method = tokens.kind(open - 1) == Kind::Word && tokens.behind(open, 2) == Kind::Dot;
        if tokens.kind(open) != Kind::LBrace || !is_method {
            continue;
        }
        let Some(end) = tokens.closer(open) else {
            continue;
        };
        let first = open + 1;
        let (variable, from) =
            if tokens.kind(first) == Kind::Pipe && tokens.kind(first + 2) == Kind::Pipe {
                (tokens.text(first + 1), first + 3)
            } else if tokens.text(first + 1) == "->"
                || tokens.text(first + 1) == "-" && tokens.kind(first + 2) == Kind::Gt
            {
                (tokens.text(first), first + 3)
            } else if (first..end).any(|at| tokens.text(at) == "it") {
                ("it", first)
            } else {
                continue;
            };
        if let Some(body) = body(tokens, from, end - 1) {
            edit.replace(open, end, &format!("({variable} => {body})"));
        }
    }
    edit.finish()
}

/// `$items | Where-Object { $_.id -eq 3 } | Select-Object -ExpandProperty url` is `items.filter(_ => …).map(_ => _.url)`.
fn cmdlets(tokens: &Tokens<'_>) -> Option<String> {
    let text = tokens.source();
    let parts: Vec<&str> = text.split('|').map(str::trim).collect();
    let is_cmdlet = |part: &str| {
        [
            "where-object",
            "select-object",
            "foreach-object",
            "measure-object",
            "sort-object",
        ]
        .iter()
        .any(|name| part.to_ascii_lowercase().starts_with(name))
    };
    if !parts.iter().skip(1).any(|part| is_cmdlet(part)) {
        return None;
    }
    let mut parts = parts.into_iter();
    let first = parts.next()?;
    let (grouped, first) = match first.strip_prefix('(') {
        Some(rest) => (true, rest),
        None => (false, first),
    };
    let mut said = first.trim_start_matches('$').to_owned();
    let mut rest = String::new();
    for part in parts {
        let mut part = part;
        if grouped && let Some((inside, after)) = part.rsplit_once(')') {
            rest = after.to_owned();
            part = inside;
        }
        let (name, arguments) = part.split_once(' ').unwrap_or((part, ""));
        let arguments = arguments.trim();
        let block = arguments.trim_matches(['{', '}']).replace("$_.", "it.");
        let block = block.trim();
        match name.to_ascii_lowercase().as_str() {
            "where-object" | "where" => {
                let mut condition = block.to_owned();
                for (word, sign) in [
                    (" -eq ", " === "),
                    (" -ne ", " !== "),
                    (" -gt ", " > "),
                    (" -ge ", " >= "),
                    (" -lt ", " < "),
                    (" -le ", " <= "),
                    (" -and ", " && "),
                    (" -or ", " || "),
                ] {
                    condition = condition.replace(word, sign);
                }
                said += &format!(".filter(it => {condition})");
            }
            "foreach-object" | "foreach" => said += &format!(".map(it => {block})"),
            "measure-object" => rest = rest.replace(".Count", ".length"),
            "sort-object" => {
                said = format!(
                    "sort_by({said}, &{})",
                    arguments.trim_start_matches("-Property ")
                )
            }
            "select-object" | "select" => {
                let mut words = arguments.split_whitespace();
                while let Some(word) = words.next() {
                    let value = words.next()?;
                    match word.to_ascii_lowercase().as_str() {
                        "-first" if value == "1" => said += "[0]",
                        "-last" if value == "1" => said += "[-1]",
                        "-first" => said += &format!(".slice(0, {value})"),
                        "-last" => said += &format!(".slice(-{value})"),
                        "-index" => said += &format!("[{value}]"),
                        "-expandproperty" => said += &format!(".map(it => it.{value})"),
                        _ => return None,
                    }
                }
            }
            _ => return None,
        }
    }
    Some(said + &rest)
}

/// `items.#(id==3)#.url` is `items[?id==3].url`, `items.#(id==3).url` its first, and `items.#` a count.
fn paths_of_filters(tokens: &Tokens<'_>) -> Option<String> {
    let last = tokens.len().checked_sub(1)?;
    if last > 1
        && tokens.text(last) == "#"
        && tokens.kind(last - 1) == Kind::Dot
        && (0..last).all(|at| tokens.text(at) != "#")
    {
        return Some(format!("length({})", tokens.span(0, last.checked_sub(2)?)?));
    }
    let mut edit = Edit::new(tokens);
    for open in 2..tokens.len() {
        let opens = matches!(tokens.kind(open), Kind::LParen | Kind::LBracket);
        if !opens || tokens.text(open - 1) != "#" || tokens.kind(open - 2) != Kind::Dot {
            continue;
        }
        let Some(end) = tokens.closer(open) else {
            continue;
        };
        let condition = tokens.span(open + 1, end.checked_sub(1)?)?;
        let is_all = tokens.text(end + 1) == "#";
        let mut end = end + usize::from(is_all);
        // `#|#.url`
        if is_all && tokens.kind(end + 1) == Kind::Pipe && tokens.text(end + 2) == "#" {
            end += 2;
        }
        let first = if is_all { "" } else { " | [0]" };
        edit.replace(open - 2, end, &format!("[?{condition}]{first}"));
    }
    edit.finish()
}

/// `db.items.find({kind: 'a'})` gives all that are such, and `items[{kind: 'a'}]` likewise.
pub(super) fn documents(tokens: &Tokens<'_>) -> Option<String> {
    let is_all = |at: usize| {
        let Some(end) = tokens.closer(at + 1) else {
            return false;
        };
        let next = tokens.text(end + 2);
        tokens.kind(end + 1) == Kind::Edge
            || matches!(
                next,
                "map" | "toArray" | "length" | "count" | "forEach" | "limit" | "sort" | "skip"
            )
    };
    walk(tokens, |edit, _, at| {
        if at == 0
            && tokens.text(0) == "db"
            && tokens.kind(1) == Kind::Dot
            && tokens.kind(2) == Kind::Word
        {
            edit.remove(0, 1);
        } else if tokens.text(at) == "find"
            && tokens.behind(at, 1) == Kind::Dot
            && tokens.is_call(at)
            && tokens.kind(at + 2) == Kind::LBrace
            && is_all(at)
            && tokens.text(0) != "_"
        {
            edit.replace(at, at, "filter");
        } else if tokens.kind(at) == Kind::LBracket
            && tokens.kind(at + 1) == Kind::LBrace
            && tokens.behind(at, 1).is_name()
        {
            if let Some(end) = tokens.closer(at)
                && let Some(wanted) = tokens.span(at + 1, end.saturating_sub(1))
            {
                edit.replace(at, end, &format!(".filter({wanted})"));
            }
        } else if tokens.text(at) == "toArray"
            && tokens.behind(at, 1) == Kind::Dot
            && tokens.kind(at + 1) == Kind::LParen
        {
            edit.replace(at - 1, at + 2, "");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::candidates;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = candidates(text, &|key| {
            matches!(key, "items" | "url" | "id" | "kind" | "n")
        });
        let found: Vec<_> = found
            .iter()
            .map(|found| found.expression.as_str())
            .collect();
        assert!(found.contains(&expected), "{text}: {found:?}");
    }

    #[test]
    fn functions_of_other_programs() {
        for text in [
            "items.map(function (x) { return x.url; })",
            "items.iter().map(|x| x.url).collect()",
            "items.map { |x| x['url'] }",
            "items.map { |x| x[:url] }",
            "items.map { it.url }",
            "items.stream().map(x -> x.url).toList()",
            "$items | ForEach-Object { $_.url }",
            "$items | Select-Object -ExpandProperty url",
        ] {
            check(text, "items[*].url");
        }
        for text in [
            "items.filter(x -> x.kind.equals(\"a\")).map(x -> x.url)",
            "$items | Where-Object { $_.kind -eq 'a' } | Select-Object -ExpandProperty url",
            "db.items.find({kind: 'a'}).map(x => x.url)",
            "items.find({kind: 'a'}).map(x => x.url)",
            "$filter(items, function($x) { $x.kind = 'a' }).url",
        ] {
            check(text, "items[?kind == 'a'].url");
        }
        check("items.#(kind==\"a\")#.url", "items[?kind=='a'].url");
        check("items.#(kind==\"a\").url", "items[?kind=='a'] | [0].url");
        check("items.#", "length(items)");
        check("$count(items)", "length(items)");
        check("($items | Measure-Object).Count", "length(items)");
        check("items.dig(2, 'url')", "items[2].url");
        check(
            "items.countDocuments({kind: 'a'})",
            "length(items[?kind == 'a'])",
        );
    }
}
