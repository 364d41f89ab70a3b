//! What stands round a selector: a command, a call, an assignment, an object, marks of Markdown, words and remarks.

use super::edit::raw_content;
use crate::token::{Kind, Tokens, decode_quoted};

/// How a shell is taken off.
type Open = fn(&Tokens<'_>, &dyn Fn(&str) -> bool) -> Option<String>;

/// The expression without one shell; nothing where there is none.
pub(super) fn opened(text: &str, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let shells: [Open; 9] = [
        fenced, marked, remarked, labelled, commanded, called, listed, piped, worded,
    ];
    let tokens = Tokens::new(text.trim());
    // A statement of SQL has words at its beginning, too.
    let is = |at: usize, word: &str| tokens.text(at).eq_ignore_ascii_case(word);
    if is(0, "select") && (2..tokens.len()).any(|at| is(at, "from")) {
        return None;
    }
    let found = shells.into_iter().find_map(|open| open(&tokens, has_key))?;
    let found = found.trim();
    (!found.is_empty() && found != text).then(|| found.to_owned())
}

/// The names of what a selector is.
const LABELS: [&str; 32] = [
    "select",
    "selector",
    "path",
    "query",
    "expression",
    "expr",
    "jmespath",
    "jmes_path",
    "jsonpath",
    "json_path",
    "jq",
    "filter",
    "value",
    "result",
    "output",
    "answer",
    "found",
    "x",
    "res",
    "val",
    "key",
    "field",
    "projection",
    "transform",
    "ref",
    "pointer",
    "pick",
    "sel",
    "values",
    "q",
    "p",
    "v",
];

fn is_label(word: &str) -> bool {
    let word = word.trim_start_matches('$').to_ascii_lowercase();
    LABELS.contains(&word.as_str())
}

/// The content of a text in quotes or backticks.
fn content(tokens: &Tokens<'_>, index: usize) -> Option<String> {
    match tokens.kind(index) {
        Kind::Raw => raw_content(tokens, index),
        Kind::Quoted => {
            decode_quoted(tokens.text(index)).or_else(|| Some(tokens.content(index)?.to_owned()))
        }
        Kind::Literal => Some(tokens.content(index)?.replace("\\`", "`")),
        _ => None,
    }
}

/// Whether a text is more than a name or a word: a path, a call, a filter.
fn is_expression(text: &str) -> bool {
    let tokens = Tokens::new(text);
    tokens.len() > 1
        && (0..tokens.len()).any(|at| !matches!(tokens.kind(at), Kind::Word | Kind::Loose))
        || text == "@"
}

/// The rest from a token on.
fn from(tokens: &Tokens<'_>, first: usize) -> Option<String> {
    Some(tokens.span(first, tokens.len().checked_sub(1)?)?.to_owned())
}

/// Three backticks before and after, or one of a language's marks.
fn fenced(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let inside = tokens.source().strip_prefix("```")?;
    let inside = inside.strip_suffix("```").unwrap_or(inside);
    let (first, rest) = inside.split_once('\n').unwrap_or(("", inside));
    let is_language = first
        .trim()
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric());
    let inside = if is_language { rest } else { inside };
    (!inside.contains("```")).then(|| inside.to_owned())
}

/// `**items[0].url**`, `- items[0].url`, `1. items[0].url`.
fn marked(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let text = tokens.source();
    for mark in ["**", "__", "~~", "*", "_"] {
        if let Some(inside) = text
            .strip_prefix(mark)
            .and_then(|rest| rest.strip_suffix(mark))
            && !inside.starts_with(['.', '[', ' '])
            && is_expression(inside)
            && !inside.contains(mark)
            && !has_key(&format!("{mark}{}", Tokens::new(inside).text(0)))
        {
            return Some(inside.to_owned());
        }
    }
    for mark in [
        "- ", "* ", "+ ", "> ", "# ", "## ", "• ", "| ", "$ ", "% ", ">>> ", "=> ", "-> ", "→ ",
        ": ",
    ] {
        if let Some(rest) = text.strip_prefix(mark)
            && !(mark == "* "
                && rest
                    .trim_start()
                    .starts_with(['|', '.', '[', '&', '=', '!', '<', '>']))
        {
            return Some(rest.to_owned());
        }
    }
    let (number, rest) = text.split_once([' ', '\t'])?;
    let number = number.strip_suffix(['.', ')'])?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rest.to_owned())
}

/// A remark at the end: `items[0].url // the address`.
fn remarked(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let text = tokens.source();
    let start = |at: usize| tokens.get(at).map_or(text.len(), |token| token.start);
    let is_apart = |at: usize| at > 0 && !tokens.touches_next(at - 1);
    let is_prose = |at: usize| {
        let is_word = |at: usize| matches!(tokens.kind(at), Kind::Word | Kind::Loose);
        is_word(at) && is_word(at + 1) && !tokens.touches_next(at)
    };
    let begins = |at: usize| {
        let rest = text.get(start(at)..).unwrap_or_default();
        let is_double = |sign: &str| rest.starts_with(sign);
        is_double("/*")
            || is_double("<!--")
            || is_double("//") && is_prose(at + 2)
            || is_double("--") && is_prose(at + 2)
            || tokens.text(at) == "#" && (is_prose(at + 1) || tokens.kind(at + 2) == Kind::Edge)
            || tokens.kind(at) == Kind::LParen
                && is_prose(at + 1)
                && tokens.behind(tokens.len(), 1) == Kind::RParen
            || tokens.behind(at, 1).ends_operand()
                && tokens.behind(at, 1) != Kind::Word
                && is_prose(at)
                && !is_operator(tokens.text(at))
            || tokens.kind(at) == Kind::Comma && is_prose(at + 1)
    };
    // Only a remark has nothing but words.
    let is_said = |at: &usize| {
        let kind = tokens.kind(*at);
        let is_sign = matches!(
            kind,
            Kind::LBracket | Kind::Filter | Kind::LBrace | Kind::Pipe
        );
        !kind.is_delimited() && !is_sign && !tokens.is_call(*at)
    };
    let said = (0..tokens.len()).rev().take_while(is_said).last();
    let mut open = 0_usize;
    for at in 0..tokens.len() {
        let is_place = is_apart(at) || at > 0 && tokens.kind(at) == Kind::Comma;
        let is_remark = said.is_some_and(|said| said <= at)
            || matches!(text.get(start(at)..start(at) + 2), Some("/*" | "<!"));
        if open == 0 && is_place && is_remark && begins(at) {
            return Some(text.get(..start(at))?.to_owned());
        }
        let kind = tokens.kind(at);
        if kind.is_opener() {
            open += 1;
        } else if kind.is_closer() {
            open = open.saturating_sub(1);
        }
    }
    None
}

/// Whether a word between operands may be an operator of a language.
fn is_operator(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "and"
            | "or"
            | "not"
            | "is"
            | "in"
            | "if"
            | "else"
            | "for"
            | "where"
            | "like"
            | "as"
            | "with"
            | "from"
            | "contains"
            | "order"
            | "of"
    )
}

/// `path: items[0].url`, `"select" = "items[0].url"`, `const x = items[0].url;`.
fn labelled(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut at = usize::from(matches!(
        tokens.text(0),
        "const" | "let" | "var" | "my" | "val" | "local"
    ));
    let is_declared = at > 0;
    at += usize::from(tokens.kind(at) == Kind::Dollar);
    let name = match tokens.kind(at) {
        Kind::Word => tokens.text(at).to_owned(),
        Kind::Quoted | Kind::Raw => content(tokens, at).filter(|name| is_label(name))?,
        _ => return None,
    };
    let is_assigned = tokens.kind(at + 1) == Kind::Assign
        && !matches!(tokens.kind(at + 2), Kind::Gt | Kind::Tilde);
    let is_colon = tokens.kind(at + 1) == Kind::Colon;
    let rest = if is_colon && tokens.kind(at + 2) == Kind::Assign {
        at + 3
    } else if is_assigned
        || is_colon
            && (is_label(&name) || !tokens.touches_next(at + 1))
            && tokens.kind(at + 2) != Kind::Colon
    {
        at + 2
    } else if tokens.source().starts_with(&format!("{name}\n")) && is_label(&name) {
        at + 1
    } else {
        return None;
    };
    let text = from(tokens, rest)?;
    let lone =
        content(tokens, rest).filter(|_| rest + 1 == tokens.len() || tokens.text(rest + 1) == ";");
    if lone.is_some() && !is_declared && !is_label(&name) {
        return None;
    }
    let text = lone.unwrap_or(text);
    let is_new = !has_key(&name);
    let is_plain = is_declared || is_label(&name) && is_new;
    let may_be = is_label(&name) || is_assigned && is_new;
    (is_plain || may_be && is_expression(&text)).then_some(text)
}

/// `jq -r '.items[0].url' result.json`, `--query "items[0].url"`.
fn commanded(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_command = |at: usize| {
        matches!(
            tokens.text(at),
            "jq" | "jp"
                | "jmespath"
                | "jsonpath"
                | "yq"
                | "query"
                | "jello"
                | "jaq"
                | "gojq"
                | "fx"
                | "jpterm"
        ) && tokens.kind(at + 1) != Kind::LParen
            && tokens.kind(at + 1) != Kind::Dot
            && (tokens.text(at) != "query" || tokens.text(at.wrapping_sub(1)) == "-")
            && !has_key(tokens.text(at))
    };
    let command = (0..tokens.len().min(16)).find(|at| is_command(*at))?;
    let mut at = command + 1;
    at += usize::from(tokens.kind(at) == Kind::Assign);
    // Options are a hyphen and a word each.
    while tokens.text(at) == "-" {
        at += 1;
        while tokens.text(at) == "-"
            || tokens.kind(at).is_name()
                && tokens.touches_next(at - 1)
                && !tokens.kind(at).is_delimited()
        {
            at += 1;
        }
    }
    if let Some(text) = content(tokens, at) {
        return Some(text);
    }
    if command > 0 && tokens.text(command - 1) != "-" || at >= tokens.len() {
        return None;
    }
    // A file may follow.
    from(tokens, at)
}

/// `jmespath('items[0].url')`, `select(items[0].url)`, `print(items[0])`, `(items[0].url)`.
fn called(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut open = 0;
    while tokens.kind(open).is_name() && tokens.kind(open + 1) == Kind::Dot {
        open += 2;
    }
    // A method of a value is none of a library.
    let modules = [
        "jmespath", "jsonpath", "json", "console", "jq", "pyjq", "jp",
    ];
    if open > 0 && !modules.contains(&tokens.text(0)) {
        return None;
    }
    let name = tokens.text(open).to_ascii_lowercase();
    let is_named = tokens.is_call(open);
    let known = [
        "jmespath",
        "search",
        "select",
        "query",
        "path",
        "jq",
        "jp",
        "jsonpath",
        "json_path",
        "jmespath_search",
        "json_query",
        "print",
        "log",
        "return",
        "expr",
        "expression",
        "selector",
        "extract",
        "eval",
        "echo",
        "jsonpath_ng",
        "compile",
        "json_extract",
        "json_value",
        "getpath",
        "get",
        "pick",
        "println",
        "console",
        "ref",
    ];
    if is_named && (!known.contains(&name.as_str()) || has_key(&name)) || open > 0 && !is_named {
        return None;
    }
    let open = open + usize::from(is_named);
    let is_statement = tokens.text(0) == "return" && tokens.kind(1) != Kind::LParen;
    if is_statement && tokens.len() > 1 {
        return from(tokens, 1);
    }
    let end = tokens.len() - usize::from(tokens.text(tokens.len().checked_sub(1)?) == ";");
    if tokens.kind(open) != Kind::LParen || tokens.behind(end, 1) != Kind::RParen {
        return None;
    }
    // The parenthesis is closed by the last one.
    let (mut depth, mut commas, mut compares) = (0_usize, Vec::new(), false);
    for at in open..end {
        let kind = tokens.kind(at);
        if kind.is_opener() {
            depth += 1;
        } else if kind.is_closer() {
            depth = depth.checked_sub(1)?;
            if depth == 0 && at + 1 < end {
                return None;
            }
        } else if depth == 1 {
            compares |= kind.is_comparator();
            if kind == Kind::Comma {
                commas.push(at);
            }
        }
    }
    let (first, last) = (open + 1, end.checked_sub(2)?);
    if is_named {
        // One of the arguments is a text that holds the selector.
        let mut texts = (first..=last).filter(|at| {
            let is_alone = (*at == first || commas.contains(&(at - 1)))
                && (*at == last || commas.contains(&(at + 1)));
            is_alone && tokens.kind(*at).is_delimited()
        });
        if let (Some(at), None) = (texts.next(), texts.next()) {
            return content(tokens, at).filter(|text| commas.is_empty() || is_expression(text));
        }
        let is_own = matches!(name.as_str(), "select" | "get" | "path");
        if is_own
            && (compares
                || matches!(tokens.kind(first), Kind::Dot | Kind::Ampersand)
                || first == last)
        {
            return None;
        }
    }
    if !commas.is_empty() {
        return None;
    }
    let inside = tokens.span(first, last)?;
    (!compares || is_named).then(|| inside.to_owned())
}

/// `{"select": "items[0].url"}` and `["items[0].url"]`, as JSON or as a program writes it.
fn listed(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let last = tokens.len().checked_sub(1)?;
    match (tokens.kind(0), tokens.kind(last)) {
        (Kind::LBracket, Kind::RBracket) if tokens.len() == 3 => {
            content(tokens, 1).filter(|text| is_expression(text) && !has_key(text))
        }
        (Kind::LBrace, Kind::RBrace) => {
            let is_member = |at: &usize| {
                let name = content(tokens, *at).unwrap_or_else(|| tokens.text(*at).to_owned());
                let begins = matches!(tokens.behind(*at, 1), Kind::LBrace | Kind::Comma);
                let ends = matches!(tokens.kind(at + 3), Kind::RBrace | Kind::Comma);
                begins && ends && is_label(&name) && tokens.kind(at + 1) == Kind::Colon
            };
            let at = (1..last).find(is_member)?;
            content(tokens, at + 2)
                .filter(|text| is_expression(text) || tokens.kind(at).is_delimited())
        }
        _ => None,
    }
}

/// A pipe at an end.
fn piped(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let last = tokens.len().checked_sub(1).filter(|last| *last > 0)?;
    if tokens.kind(0) == Kind::Pipe {
        return from(tokens, 1);
    }
    let is_end = matches!(
        tokens.kind(last),
        Kind::Pipe | Kind::And | Kind::Or | Kind::Eq | Kind::Colon
    );
    is_end.then(|| tokens.span(0, last - 1).map(str::to_owned))?
}

/// `The selector is items[0].url`.
fn worded(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_speech = |at: usize| {
        let word = tokens.text(at);
        let is_known = is_label(word)
            || matches!(
                word.to_ascii_lowercase().as_str(),
                "the"
                    | "is"
                    | "use"
                    | "using"
                    | "get"
                    | "take"
                    | "here"
                    | "my"
                    | "it"
                    | "should"
                    | "be"
                    | "this"
                    | "returns"
                    | "return"
                    | "want"
                    | "need"
                    | "would"
                    | "apply"
                    | "try"
                    | "extract"
                    | "please"
                    | "following"
                    | "are"
                    | "will"
                    | "final"
            );
        let is_apart = !tokens.touches_next(at) || tokens.kind(at + 1) == Kind::Colon;
        is_known && tokens.kind(at) == Kind::Word && !has_key(word) && is_apart
    };
    let count = (0..tokens.len()).take_while(|at| is_speech(*at)).count();
    let at = count + usize::from(tokens.kind(count) == Kind::Colon && count > 0);
    // Words that only one operand follows, and nothing that a function may be called on.
    let rest = from(tokens, at).filter(|_| count > 0)?;
    is_expression(&rest).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::opened;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut text = text.to_owned();
        for _ in 0..4 {
            match opened(&text, &|_| false) {
                Some(inside) => text = inside,
                None => break,
            }
        }
        assert_eq!(text, expected);
    }

    #[test]
    fn what_stands_round_a_selector_goes() {
        for text in [
            "**items[0].url**",
            "_items[0].url_",
            "- items[0].url",
            "> items[0].url",
            "1. items[0].url",
            "items[0].url // the address",
            "items[0].url /* the address */",
            "items[0].url # the address",
            "items[0].url -- the address",
            "items[0].url (the address)",
            "items[0].url, the address",
            "path = \"items[0].url\"",
            "path: items[0].url",
            "selector: `items[0].url`",
            "jmespath\nitems[0].url",
            "const found = items[0].url",
            "The selector is items[0].url",
            "Use: items[0].url",
            "--query \"items[0].url\"",
            "aws x y --query 'items[0].url'",
            "jp \"items[0].url\"",
            "jq -r 'items[0].url' result.json",
            "| jq 'items[0].url'",
            "cat a.json | jq 'items[0].url'",
            "jmespath('items[0].url')",
            "jmespath.search(\"items[0].url\", data)",
            "select(items[0].url)",
            "print(items[0].url)",
            "(items[0].url)",
            "((items[0].url))",
            "return items[0].url",
            "{\"select\": \"items[0].url\"}",
            "{'select': 'items[0].url'}",
            "[\"items[0].url\"]",
            "items[0].url |",
            "| items[0].url",
            "```jmespath\nitems[0].url\n```",
        ] {
            check(text, "items[0].url");
        }
    }

    #[test]
    fn what_is_no_shell_stays() {
        for text in [
            "items[0].url",
            ".a // \"x\"",
            ".a // .b",
            ".items[] | select(.id == 3)",
            "select(.id == 3)",
            "select(from)",
            "(a || b).c",
            "length(items)",
            "a - b",
            "[a, b]",
            "{a: b}",
            "items[?a == 'x' and b == 'y']",
            "x for x in items",
            "_.map(items, 'url')",
            "SELECT url FROM items",
            "* | [?a == 'x'].b",
            "kind = active",
            "items.get('url')",
            "str(items[0].id)",
        ] {
            check(text, text);
        }
    }
}
