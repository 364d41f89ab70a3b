//! Paths: JSONPath's `$`, jq's dots and pipes, subscripts with strings, types from hints, and keys that need quotes.

use super::{
    Reading,
    compare::lone_after,
    edit::{Edit, quoted, raw_content, spelled, walk},
};
use crate::token::{Enclosing, Kind, Tokens, decode_quoted};

/// `items[0].id[number]` becomes `items[0].id`, and `items[array-2-items]` becomes `items`: hints say the type of a value
/// after its path. Only where no list can stand, as for [`string_subscript`].
pub(super) fn type_suffix(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    let mut suffix_at = None;
    walk(tokens, |edit, _, index| {
        let subscripts = [Kind::Number, Kind::Raw, Kind::Quoted];
        if tokens.kind(index) != Kind::LBracket
            || tokens.kind(index + 2) != Kind::RBracket
            || !matches!(tokens.kind(index + 1), Kind::Word | Kind::Loose)
            || !is_type(tokens.text(index + 1))
            || !follows_value(tokens, index, suffix_at, &subscripts)
        {
            return;
        }
        suffix_at = Some(index + 2);
        let next = tokens.kind(index + 3);
        if next.closes_operand() || is_subscript(next) || next == Kind::Dot {
            edit.replace(index, index + 2, "");
        } else {
            edit.remove(index, index + 2);
        }
    })
}

/// Whether a word is a type as hints write it: `number`, `array-2-items`.
fn is_type(word: &str) -> bool {
    let items = word.strip_prefix("array-");
    let items = items.and_then(|rest| rest.strip_suffix("-items"));
    matches!(
        word,
        "null" | "boolean" | "number" | "string" | "object" | "array"
    ) || items.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `headers['x-id']` and `headers["x-id"]` become `headers."x-id"`.
///
/// Only where no list can stand: after a name or an index. Behind a list projection, `["a"]` is a list of fields.
pub(super) fn string_subscript(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    let mut subscript_at = None;
    walk(tokens, |edit, _, index| {
        if tokens.kind(index) != Kind::LBracket || tokens.kind(index + 2) != Kind::RBracket {
            return;
        }
        let name = match tokens.kind(index + 1) {
            Kind::Raw => raw_content(tokens, index + 1),
            Kind::Quoted => decode_quoted(tokens.text(index + 1)),
            _ => None,
        };
        let Some(name) = name else { return };
        if follows_value(tokens, index, subscript_at, &[Kind::Number]) {
            edit.replace(index, index + 2, &format!(".{}", spelled(&name)));
            subscript_at = Some(index + 2);
        }
    })
}

/// Whether a bracket at `index` is after a name, a root sign, an index of such a kind, or a subscript that ended
/// at `last` and goes.
fn follows_value(tokens: &Tokens<'_>, index: usize, last: Option<usize>, kinds: &[Kind]) -> bool {
    match tokens.behind(index, 1) {
        Kind::Dollar | Kind::At => true,
        Kind::RBracket => {
            last == index.checked_sub(1)
                || (kinds.contains(&tokens.behind(index, 2))
                    && tokens.behind(index, 3) == Kind::LBracket)
        }
        kind => kind.is_name(),
    }
}

/// `$.items` becomes `items`, `$[0]` becomes `[0]`, and a lone `$` becomes `@`, wherever an expression begins.
pub(super) fn root_sign(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    let mut edit = Edit::new(tokens);
    let mut enclosing = Enclosing::default();
    let mut begins = true;
    let mut index = 0;
    while index < tokens.len() {
        let kind = tokens.kind(index);
        enclosing.step(kind);
        if kind == Kind::Dollar && begins {
            let next = tokens.kind(index + 1);
            if next == Kind::Dot && stays_path(tokens, &enclosing, index, index + 2) {
                edit.replace(index, index + 1, "@.");
            } else if next == Kind::Dot && goes_on(tokens.kind(index + 2)) {
                edit.remove(index, index + 1);
                index += 2;
                continue;
            }
            if next == Kind::Dot && tokens.kind(index + 2).closes_operand() {
                edit.replace(index, index + 1, "@");
            } else if is_subscript(next) {
                edit.remove(index, index);
            } else if next.closes_operand() {
                edit.replace(index, index, "@");
            }
        }
        begins = kind.opens_expression();
        index += 1;
    }
    edit.finish()
}

/// Whether the sign at `first` marks the lone name after it as a field rather than a string, in a comparison
/// of a filter.
fn stays_path(tokens: &Tokens<'_>, enclosing: &Enclosing, first: usize, name: usize) -> bool {
    let next = tokens.kind(name + 1);
    let is_right = tokens.behind(first, 1).is_comparator() && next.closes_operand();
    let is_left = next.is_comparator() && lone_after(tokens, name + 1).is_none();
    enclosing.in_filter() && tokens.kind(name).is_name() && (is_right || is_left)
}

/// Whether a path can go on after a dot with this token.
fn goes_on(kind: Kind) -> bool {
    kind.is_name() || is_subscript(kind) || matches!(kind, Kind::Star | Kind::LBrace | Kind::Dollar)
}

fn is_subscript(kind: Kind) -> bool {
    matches!(kind, Kind::LBracket | Kind::Filter | Kind::Flatten)
}

/// `.items` becomes `items` and a lone `.` becomes `@`, wherever an expression begins; `items.[0]` becomes `items[0]`, and
/// `items[*]{url: url}` becomes `items[*].{url: url}`.
/// Where a filter compares `.a` with `.b`, the dots say that neither is a string: they become `@.a` and `@.b`.
pub(super) fn leading_dot(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, enclosing, index| {
        if begins_hash(tokens, index) {
            edit.insert(index, ".");
            return;
        }
        if tokens.kind(index) != Kind::Dot {
            return;
        }
        let next = tokens.kind(index + 1);
        if tokens.behind(index, 1).opens_expression() {
            if stays_path(tokens, enclosing, index, index + 1) {
                edit.replace(index, index, "@.");
            } else if next != Kind::Dollar && goes_on(next) {
                edit.remove(index, index);
            } else if next.closes_operand() {
                edit.replace(index, index, "@");
            }
        } else if matches!(next, Kind::Filter | Kind::Flatten)
            || (next == Kind::LBracket
                && matches!(tokens.kind(index + 2), Kind::Number | Kind::Colon))
            || (reading.choice.of_lists
                && [next, tokens.kind(index + 2), tokens.kind(index + 3)]
                    == [Kind::LBracket, Kind::Star, Kind::RBracket])
        {
            edit.remove(index, index);
        }
    })
}

/// Whether a hash begins right behind a path, as in `items[*]{url: url}`, whose dot is missing.
fn begins_hash(tokens: &Tokens<'_>, index: usize) -> bool {
    let before = tokens.behind(index, 1);
    tokens.kind(index) == Kind::LBrace
        && (before.is_name() || matches!(before, Kind::RBracket | Kind::Flatten | Kind::Star))
        && tokens.kind(index + 1).is_name()
        && tokens.kind(index + 2) == Kind::Colon
}

/// `items[] | .name` becomes `items[].name`: jq's pipe maps over the values of a list projection.
pub(super) fn jq_pipe(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    if !reading.choice.jq_pipe {
        return None;
    }
    let mut projections = Projections::default();
    walk(tokens, |edit, _, index| {
        let dotted = tokens.kind(index + 1) == Kind::Dot;
        let next = tokens.kind(index + 2);
        let is_pipe = tokens.kind(index) == Kind::Pipe && projections.here;
        if is_pipe && tokens.kind(index + 1) == Kind::LBrace {
            edit.join(index, index, ".");
        } else if !is_pipe || !dotted {
            projections.step(tokens, index);
        } else if next.is_name() {
            edit.join(index, index + 1, ".");
        } else if is_subscript(next) {
            edit.join(index, index + 1, "");
        } else {
            projections.here = false;
        }
    })
}

/// Where list projections are going on, kept while walking over a token list.
#[derive(Default)]
struct Projections {
    /// For each open bracket, whether one is around it.
    outer: Vec<(Kind, bool)>,
    /// Whether one is going on in front of the next token.
    here: bool,
}

impl Projections {
    /// Takes note of the next token.
    fn step(&mut self, tokens: &Tokens<'_>, index: usize) {
        let Self { outer, here } = self;
        match tokens.kind(index) {
            kind @ (Kind::LBracket | Kind::Filter | Kind::LParen | Kind::LBrace) => {
                outer.push((kind, *here));
                *here = false;
            }
            Kind::RBracket | Kind::RParen | Kind::RBrace => {
                let sliced = match (tokens.behind(index, 1), tokens.behind(index, 2)) {
                    (Kind::Star, Kind::LBracket) | (Kind::Number, Kind::Colon) => true,
                    (last, _) => last == Kind::Colon,
                };
                *here = match outer.pop() {
                    Some((Kind::Filter, _)) => true,
                    Some((Kind::LBracket, before)) => before || sliced,
                    Some((Kind::LBrace, before)) => before,
                    _ => false,
                };
            }
            Kind::Flatten | Kind::Star => *here = true,
            Kind::Comma
            | Kind::Colon
            | Kind::Pipe
            | Kind::Or
            | Kind::And
            | Kind::Not
            | Kind::Ampersand => *here = false,
            kind if kind.is_comparator() => *here = false,
            _ => {}
        }
    }
}

/// `items[?a == 'x'][0].name` becomes `items[?a == 'x'] | [0].name`: the first of those that were found.
pub(super) fn piped_index(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    if !reading.choice.of_lists {
        return None;
    }
    let mut projections = Projections::default();
    let mut compares = false;
    let piped = walk(tokens, |edit, enclosing, index| {
        let kind = tokens.kind(index);
        let outside = enclosing.innermost() == Kind::Edge;
        compares |=
            outside && (kind.is_comparator() || matches!(kind, Kind::Or | Kind::And | Kind::Not));
        let is_index = kind == Kind::LBracket
            && tokens.kind(index + 1) == Kind::Number
            && tokens.kind(index + 2) == Kind::RBracket;
        if is_index && projections.here && projections.outer.is_empty() {
            edit.replace(index, index, " | [");
            projections.here = false;
        }
        projections.step(tokens, index);
    });
    piped.filter(|_| !compares)
}

/// `items.0.url` becomes `items[0].url`, and `items.#.url` becomes `items[*].url`.
pub(super) fn dotted_subscript(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, _, index| {
        let before = tokens.behind(index, 1);
        if tokens.kind(index) != Kind::Dot || before.opens_expression() || before == Kind::LBrace {
            return;
        }
        let text = tokens.text(index + 1);
        let subscript = match tokens.kind(index + 1) {
            Kind::Number => text.split('.').map(|at| format!("[{at}]")).collect(),
            Kind::Star if reading.choice.of_lists => "[*]".to_owned(),
            Kind::Unknown if text == "#" => "[*]".to_owned(),
            _ => return,
        };
        let is_key = text.split('.').any(|part| (reading.has_key)(part));
        if !is_key && !text.contains(['e', 'E']) {
            edit.replace(index, index + 1, &subscript);
        }
    })
}

/// `"items[0].url"`, `` `items[0].url` ``, `{{ items[0].url }}`, `select: items[0].url` and `return items[0].url;` become
/// `items[0].url`: no name and no value looks like that.
pub(super) fn wrapping(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    if let Some(inside) = fenced(tokens.source()) {
        return Some(inside.to_owned());
    }
    let content = match tokens.kind(0) {
        Kind::Quoted if tokens.len() == 1 => decode_quoted(tokens.text(0))?,
        Kind::Literal if tokens.len() == 1 => tokens.content(0)?.replace("\\`", "`"),
        _ => return unwrapped(tokens),
    };
    let is_quoted = tokens.kind(0) == Kind::Quoted;
    let inside = Tokens::new(&content);
    let begins = inside.kind(0).is_name() || is_subscript(inside.kind(0));
    let is_path = inside.len() > 1 && inside.iter().all(|(_, token)| token.kind != Kind::Unknown);
    let is_expression = if is_quoted {
        is_path && begins && !(reading.has_key)(&content)
    } else {
        jmespath::Variable::from_json(&content).is_err()
    };
    (is_expression && super::parses(&content)).then_some(content)
}

/// The one expression in a fence: three backticks, maybe with the name of a language, and three at the end.
fn fenced(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let (first, rest) = inside.split_once('\n').unwrap_or(("", inside));
    let is_language = first
        .trim()
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric());
    let inside = if is_language { rest } else { inside }.trim();
    (!inside.is_empty() && !inside.contains("```")).then_some(inside)
}

/// The expression without the signs of a template or a statement around it, and with the brackets at its end that it needs.
fn unwrapped(tokens: &Tokens<'_>) -> Option<String> {
    let (mut first, mut end) = (0, tokens.len());
    let back = |end: usize, places: usize| tokens.behind(end, places);
    let is_stop = |end: usize| match back(end, 1) {
        Kind::Comma => true,
        Kind::Dot => back(end, 2).ends_operand(),
        _ => tokens.text(end - 1) == ";",
    };
    while end > 0 && is_stop(end) {
        end -= 1;
    }
    end = without_words(tokens, end);
    let label = usize::from(tokens.kind(0) == Kind::Dollar);
    let is_label = tokens.kind(label + 1) == Kind::Colon
        && matches!(
            tokens.text(label),
            "select" | "selector" | "path" | "query" | "expression" | "jmespath"
        );
    let braces = [tokens.kind(0), tokens.kind(1)] == [Kind::LBrace; 2]
        && [back(end, 1), back(end, 2)] == [Kind::RBrace; 2];
    if braces {
        first = 2;
        end -= 2;
    } else if is_label {
        first = label + 2;
    } else if is_lone_path_in_braces(tokens, end) {
        first = 1;
        end -= 1;
    } else if tokens.kind(0) == Kind::Assign
        || tokens.text(0) == "return" && tokens.kind(1).begins_operand() && !tokens.is_call(0)
    {
        first = 1;
    }
    // A closing bracket too many goes; one that is missing at the end comes.
    let mut open = Vec::new();
    let mut index = first;
    while index < end {
        let kind = tokens.kind(index);
        if kind.is_opener() {
            open.push(kind);
        } else if kind.is_closer() && open.pop().is_none() {
            if index + 1 < end {
                return None;
            }
            end = index;
        }
        index += 1;
    }
    // A subscript that is not closed may lack more than its bracket, and so may a filter without a condition.
    let has_condition =
        (first..end).any(|at| tokens.kind(at).is_comparator() || tokens.is_call(at));
    let is_whole = end > first && has_condition && back(end, 1).ends_operand();
    let is_cut = open.iter().any(|kind| match kind {
        Kind::LParen | Kind::LBrace => false,
        Kind::Filter => !is_whole,
        _ => true,
    });
    if is_cut || first == 0 && end == tokens.len() && open.is_empty() {
        return None;
    }
    let closers = open.iter().rev();
    let missing: String = closers
        .map(|kind| match kind {
            Kind::LParen => ')',
            Kind::Filter => ']',
            _ => '}',
        })
        .collect();
    let rest = tokens.span(first, end.checked_sub(1).filter(|last| *last >= first)?)?;
    Some(format!("{rest}{missing}"))
}

/// Where the words end that say more of a path: `items[0].url → string` and `items[0].url (string)`.
fn without_words(tokens: &Tokens<'_>, end: usize) -> usize {
    let is_arrow = |at: usize| {
        matches!(tokens.text(at), "→" | "⇒")
            || tokens.text(at) == "-" && tokens.kind(at + 1) == Kind::Gt && tokens.touches_next(at)
    };
    if let Some(arrow) = (1..end).find(|at| is_arrow(*at)) {
        return arrow;
    }
    let kinds = [4, 3, 2, 1].map(|back| tokens.behind(end, back));
    match kinds {
        [before, Kind::LParen, Kind::Word, Kind::RParen]
            if before.ends_operand()
                && !tokens.touches_next(end - 4)
                && is_type(tokens.text(end - 2)) =>
        {
            end - 3
        }
        _ => end,
    }
}

/// `{items[0].url}`: braces around one path, which is no hash.
fn is_lone_path_in_braces(tokens: &Tokens<'_>, end: usize) -> bool {
    let inner = 1..end.saturating_sub(1);
    tokens.kind(0) == Kind::LBrace
        && tokens.behind(end, 1) == Kind::RBrace
        && tokens.kind(1).is_name()
        && inner.len() > 1
        && matches!(
            tokens.kind(2),
            Kind::Dot | Kind::LBracket | Kind::Filter | Kind::Flatten
        )
        && inner
            .clone()
            .all(|at| !matches!(tokens.kind(at), Kind::LBrace | Kind::RBrace | Kind::Comma))
}

/// `headers.content-type` becomes `headers."content-type"`: names that need quotes, where the value has such a key, and keys
/// of a multiselect hash. So do `@type`, `$ref` and `years.2024`.
pub(super) fn unquoted_key(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, enclosing, index| {
        let kind = tokens.kind(index);
        let last = match kind {
            Kind::Loose => index,
            Kind::Number if tokens.behind(index, 1) == Kind::Dot => index,
            Kind::At | Kind::Dollar if marks_name(tokens, index) => index + 1,
            _ => return,
        };
        let is_new_name = enclosing.innermost() == Kind::LBrace
            && matches!(tokens.behind(index, 1), Kind::LBrace | Kind::Comma)
            && tokens.kind(last + 1) == Kind::Colon;
        let name = tokens.span(index, last).unwrap_or_default();
        if tokens.kind(last + 1) != Kind::LParen && (is_new_name || (reading.has_key)(name)) {
            edit.replace(index, last, &quoted(name));
        }
    })
}

/// Whether a name follows directly on the sign at `index`, where a name can stand.
fn marks_name(tokens: &Tokens<'_>, index: usize) -> bool {
    let before = tokens.behind(index, 1);
    matches!(tokens.kind(index + 1), Kind::Word | Kind::Loose)
        && tokens.touches_next(index)
        && (before.opens_expression() || matches!(before, Kind::Dot | Kind::LBrace))
}

/// `!a.b` and `!a[0]`, which are null whatever `a` is, become `!(a.b)` and `!(a[0])`.
pub(super) fn negated_path(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, _, index| {
        let first = index + 1;
        let begins = tokens.kind(first).is_name() || tokens.kind(first) == Kind::At;
        if tokens.kind(index) != Kind::Not || !begins {
            return;
        }
        let mut last = first;
        loop {
            if tokens.kind(last + 1) == Kind::Dot
                && tokens.kind(last + 2).is_name()
                && !tokens.is_call(last + 2)
            {
                last += 2;
            } else if tokens.kind(last + 1) == Kind::LBracket
                && tokens.kind(last + 2) == Kind::Number
                && tokens.kind(last + 3) == Kind::RBracket
            {
                last += 3;
            } else {
                break;
            }
        }
        if let Some(path) = tokens.span(first, last).filter(|_| last > first) {
            edit.replace(first, last, &format!("({path})"));
        }
    })
}
