//! The law that a repair loses nothing of what was written: each name, number and text of an expression is in what is
//! evaluated instead, and so is what its functions do; and what is evaluated depends on the value.
//!
//! A reading that does not keep the law is [doubtful](super::Candidate::is_doubtful): it is offered, never evaluated instead.

use jmespath::ast::Ast;

use super::{Repair, Rule, dialect::MAX_TOKENS};
use crate::function::Function;
use crate::token::{Kind, Tokens, decode_quoted};

/// Whether no repair loses anything, and the last gives an expression of the value.
pub(super) fn keeps(repairs: &[Repair], has_key: &dyn Fn(&str) -> bool) -> bool {
    repairs.iter().all(|repair| lost(repair, has_key).is_none())
        && repairs
            .last()
            .is_none_or(|repair| depends_on_value(&repair.after))
}

/// What a repair loses, if that is anything.
fn lost(repair: &Repair, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    // Other signs for the same words, and a type that is no part of the path.
    if matches!(repair.rule, Rule::PlainSigns | Rule::TypeSuffix) {
        return None;
    }
    let before = Tokens::new(&repair.before);
    let after = Tokens::new(&repair.after);
    // What is that long is neither translated nor taken out of anything.
    if before.len() > MAX_TOKENS {
        return None;
    }
    if repair.rule == Rule::Wrapping
        && let Some(lost) = unwrapped(&before, &repair.after, has_key)
    {
        return lost;
    }
    let kept = Kept::new(&after);
    let bound = bound(&before, has_key);
    let is_bound = |word: &str| bound.contains(&word);
    let is_lost = |at: usize| {
        let text = before.text(at);
        match before.kind(at) {
            Kind::Quoted | Kind::Raw | Kind::Literal => {
                let content = content(&before, at);
                // A template names variables.
                let is_template = content.contains(['{', '(']);
                let is_there =
                    |run: &String| kept.holds(run) || is_template && is_bound(run.as_str());
                !runs(&content).iter().all(is_there) && !is_option(&content, &kept)
            }
            Kind::Number => !kept.number(text) && !is_idiom(&before, at),
            Kind::Word | Kind::Loose => {
                !(kept.holds(text)
                    || is_bound(text)
                    || is_root(&before, at, has_key)
                    || is_said(&before, at, &is_bound, &kept, has_key))
            }
            _ => false,
        }
    };
    if let Some(at) = (0..before.len()).find(|at| is_lost(*at)) {
        return Some(before.text(at).to_owned());
    }
    if repair.rule == Rule::DottedSubscript {
        return None;
    }
    let is_compared_less = comparisons(&before) > comparisons(&after) + tests(&after);
    is_compared_less.then(|| "a comparison".to_owned())
}

/// How many comparisons there are, but for those that ask only whether something is there.
fn comparisons(tokens: &Tokens<'_>) -> usize {
    let is_nothing = |at: usize| {
        let text = tokens
            .text(at)
            .trim_matches(['`', '-', '\'', '"'])
            .to_lowercase();
        let words = [
            "0",
            "1",
            "",
            "null",
            "none",
            "nil",
            "undefined",
            "true",
            "false",
            "not",
        ];
        words.contains(&text.as_str())
    };
    let is_comparison = |at: &usize| {
        let at = *at;
        tokens.kind(at).is_comparator()
            && tokens.behind(at, 1).ends_operand()
            && tokens.kind(at + 1).begins_operand()
            && !is_nothing(at - 1)
            && tokens.text(at.saturating_sub(3)) != "position"
            && !is_nothing(at + 1)
    };
    (0..tokens.len()).filter(is_comparison).count()
}

/// How many calls test something.
fn tests(tokens: &Tokens<'_>) -> usize {
    let names = [
        "contains",
        "starts_with",
        "ends_with",
        "match",
        "sort_by",
        "max_by",
        "min_by",
    ];
    let is_test = |at: &usize| tokens.is_call(*at) && names.contains(&tokens.text(*at));
    (0..tokens.len()).filter(is_test).count()
}

/// What is lost where the expression stands in another text; nothing where it is not there as it is.
fn unwrapped(
    before: &Tokens<'_>,
    after: &str,
    has_key: &dyn Fn(&str) -> bool,
) -> Option<Option<String>> {
    let holds = |at: usize| before.kind(at).is_delimited() && content(before, at).contains(after);
    let (start, end) = match before.source().find(after) {
        Some(start) => (start, start + after.len()),
        None => {
            let at = (0..before.len()).find(|at| holds(*at))?;
            let token = before.get(at)?;
            (token.start, token.end)
        }
    };
    let is_inside = |at: usize| {
        before
            .get(at)
            .is_some_and(|token| token.end > start && token.start < end)
    };
    // Brackets that are closed before or behind it hold something of their own.
    let holds_own = |at: usize| {
        let kind = before.kind(at);
        let is_bracket = matches!(kind, Kind::LBracket | Kind::Filter | Kind::LBrace);
        let closer = before.closer(at).and_then(|closer| before.get(closer));
        let opener = before.get(at);
        let encloses = closer
            .zip(opener)
            .is_none_or(|(closer, opener)| opener.start < start && closer.start >= end);
        is_bracket && !encloses || matches!(kind, Kind::Eq | Kind::Ne | Kind::Le | Kind::Ge)
    };
    // A remark says what it likes; any other word behind that is a key may say what to take.
    let rest = before.source().get(end..).unwrap_or_default();
    let is_remark = ["//", "#", "--", "/*", "<!--"]
        .iter()
        .any(|mark| rest.trim_start().starts_with(mark));
    let is_key_behind = |at: usize| {
        let is_behind = before.get(at).is_some_and(|token| token.start >= end);
        let is_file = before.kind(at + 1) == Kind::Dot
            && matches!(before.text(at + 2), "json" | "jsonl" | "ndjson" | "txt");
        is_behind
            && !is_remark
            && !is_file
            && before.kind(at) == Kind::Word
            && has_key(before.text(at))
    };
    let is_lost = |at: &usize| !is_inside(*at) && (holds_own(*at) || is_key_behind(*at));
    let at = (0..before.len()).find(is_lost);
    Some(at.map(|at| before.text(at).to_owned()))
}

/// The content of a text in quotes or backticks.
fn content(tokens: &Tokens<'_>, at: usize) -> String {
    let text = tokens.text(at);
    decode_quoted(text)
        .or_else(|| tokens.content(at).map(str::to_owned))
        .unwrap_or_else(|| text.to_owned())
}

/// The words of a text, without signs and the letters of escapes.
fn runs(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_escaped = false;
    for sign in text.chars() {
        if (sign.is_alphanumeric() || sign == '_') && !is_escaped {
            if let Some(last) = found.last_mut() {
                last.push(sign);
            }
        } else if found.last().is_some_and(|last| !last.is_empty()) {
            found.push(String::new());
        }
        is_escaped = sign == '\\' && !is_escaped;
    }
    found.retain(|run| !run.is_empty());
    found
}

/// What an expression holds.
struct Kept {
    words: Vec<String>,
    numbers: Vec<f64>,
    /// Its functions, and the signs that stand for one.
    text: String,
}

impl Kept {
    fn new(tokens: &Tokens<'_>) -> Self {
        let mut kept = Self {
            words: Vec::new(),
            numbers: Vec::new(),
            text: tokens.source().to_owned(),
        };
        for at in 0..tokens.len() {
            if tokens.kind(at).is_delimited() {
                kept.words.extend(runs(&content(tokens, at)));
            } else {
                kept.words.extend(runs(tokens.text(at)));
                kept.numbers.extend(tokens.text(at).parse::<f64>().ok());
            }
        }
        let numbers = kept
            .words
            .iter()
            .filter_map(|word| word.parse::<f64>().ok());
        kept.numbers.extend(numbers.collect::<Vec<_>>());
        kept
    }

    /// Whether all words of a text are there.
    fn holds(&self, text: &str) -> bool {
        let is_there = |run: &String| self.words.contains(run);
        runs(text).iter().all(is_there)
    }

    /// Whether a number is there, or a count for a place or the reverse.
    fn number(&self, text: &str) -> bool {
        let Ok(number) = text.parse::<f64>() else {
            return self.holds(text);
        };
        let is_near = |other: f64| (number.abs() - other.abs()).abs() <= 1.0;
        // The end of a slice is its beginning and how many there are.
        let mut pairs = self.numbers.windows(2);
        self.numbers.iter().any(|other| is_near(*other))
            || pairs.any(|pair| (pair[0] - pair[1]).abs() == number.abs())
    }
}

/// The names that an expression binds itself: parameters of functions, variables of loops, what a statement assigns to.
fn bound<'a>(tokens: &Tokens<'a>, has_key: &dyn Fn(&str) -> bool) -> Vec<&'a str> {
    let mut found = Vec::new();
    let is_arrow = |at: usize| {
        let is_sign = tokens.kind(at) == Kind::Assign || tokens.text(at) == "-";
        is_sign && tokens.kind(at + 1) == Kind::Gt && tokens.touches_next(at)
    };
    let names = |first: usize, last: usize| {
        (first..last)
            .filter(|at| tokens.kind(*at) == Kind::Word)
            .map(|at| tokens.text(at))
    };
    for at in 0..tokens.len() {
        let text = tokens.text(at);
        let until =
            |stop: &dyn Fn(usize) -> bool| (at + 1..tokens.len().min(at + 12)).find(|at| stop(*at));
        match text {
            "lambda" => {
                let stop = until(&|at| tokens.kind(at) == Kind::Colon);
                found.extend(stop.map(|stop| names(at + 1, stop)).into_iter().flatten());
            }
            "for" | "foreach" | "from" | "each" | "const" | "let" | "var" | "my" => {
                let ends = |at: usize| {
                    matches!(tokens.text(at), "in" | "of") || tokens.kind(at) == Kind::Assign
                };
                let stop = until(&ends);
                found.extend(stop.map(|stop| names(at + 1, stop)).into_iter().flatten());
            }
            "as" if tokens.kind(at + 1) == Kind::Dollar => found.push(tokens.text(at + 2)),
            "function" | "func" | "fn" if tokens.kind(at + 1) == Kind::LParen => {
                let stop = until(&|at| tokens.kind(at) == Kind::RParen);
                found.extend(stop.map(|stop| names(at + 2, stop)).into_iter().flatten());
            }
            _ => {}
        }
        if tokens.kind(at) == Kind::Word && is_arrow(at + 1) && (at > 0 || !has_key(text)) {
            found.push(text);
        }
        if tokens.kind(at) == Kind::LParen
            && let Some(end) = tokens.closer(at)
            && is_arrow(end + 1)
        {
            let is_member = (at..end).any(|at| tokens.kind(at) == Kind::LBrace);
            found.extend(names(at, if is_member { at } else { end }));
        }
        if tokens.kind(at) == Kind::Pipe && tokens.kind(at + 2) == Kind::Pipe {
            found.push(tokens.text(at + 1));
        }
    }
    found
}

/// Whether a word names the whole value, which has no such key.
fn is_root(tokens: &Tokens<'_>, at: usize, has_key: &dyn Fn(&str) -> bool) -> bool {
    let begins = at == 0 || at == 1 && tokens.kind(0) == Kind::Dollar;
    let is_argument = at == 4 && tokens.text(0) == "_" && tokens.kind(5) == Kind::Comma;
    (begins || is_argument)
        && !has_key(tokens.text(at))
        && matches!(
            tokens.kind(at + 1),
            Kind::Dot | Kind::LBracket | Kind::Assign | Kind::Colon | Kind::Comma
        )
}

/// Words of other languages that are no names, and what must be in an expression that leaves them out: one of these signs, or
/// nothing. Parts of words count, too: `firstOrDefault` is three.
const SAID: [(&[&str], &str); 29] = [
    // What connects, declares and converts, or says what the value is.
    (
        &[],
        "in for of then end and is as the by with to from on do that whose let var const my val function func fn lambda \
         return def new await async this it ctx self item items element elements value values data result results response \
         output input root json payload body node text string str object array list tuple dict iter iterator stream collect \
         document documents docs db select map mapped pluck content get getitem iloc loc parse loads load fromjson fromjsonstring \
         default query search jsonpath property expand foreach each every all chain wrap unwrap apply call key lodash \
         toarray tolist empty null none nil undefined true false num stdout position child yield boolean",
    ),
    (
        &["length(", "[-", ".length"],
        "length len size count sizeof nrow cardinality measure",
    ),
    (
        &["sum(", "length(", "avg(", "max", "min"],
        "reduce fold inject",
    ),
    (&["sum(", "length("], "sum add total sumby sumof"),
    (&["avg("], "avg mean average avgby meanby"),
    (&["max", "reverse("], "max maximum maxby maxof"),
    (&["min", "sort"], "min minimum minby minof"),
    (
        &["sort"],
        "sort sorted order sortby orderby tosorted localecompare ascending asc",
    ),
    (
        &["reverse(", "[-", "max"],
        "reverse reversed rsort desc descending",
    ),
    (&["keys("], "keys key"),
    (&["*", "values("], "vals"),
    (&["keys(", "values(", "*", "["], "entries"),
    (&["join("], "join format f printf sprintf implode"),
    (&["join(", "["], "concat"),
    (&["split(", "lines("], "split lines splitlines explode"),
    (
        &["[", ".filter(", ".slice("],
        "first head find findone next at elementat nth slice take limit last tail pop shift single top one skip offset dig firstordefault lastordefault singleordefault",
    ),
    (&["[-"], "takeright takelast"),
    (
        &["contains(", "length(", "==", "match("],
        "has any some includes include contains contain isin exists like ilike oneof",
    ),
    (
        &["starts_with(", "match("],
        "startswith beginswith starts begins prefix like ilike",
    ),
    (&["ends_with(", "match("], "endswith ends suffix like ilike"),
    (
        &["match(", "contains(", "=="],
        "match matches test regex like ilike scan",
    ),
    (
        &["==", "!=", "<", ">", "!"],
        "equals equal equalto eq ne neq gt gte ge lt lte le differs unequal greater more larger bigger above over after less \
         smaller fewer below under before least most than exactly between",
    ),
    (&["!", "<", ">", "contains(`[", "== `0`"], "not isnt reject"),
    (
        &["||", "not_null(", "[0]", ">=", "<=", "[?"],
        "or else if coalesce ifnull nvl",
    ),
    (
        &["to_number("],
        "number int integer float double parseint parsefloat tonumber",
    ),
    (&["to_string(", "join("], "tostring stringify dumps tojson"),
    (&["[]", "*"], "flat flatten flatmap selectmany"),
    (
        &["[?", ".filter("],
        "filter where when select findall if elif",
    ),
    (&["type("], "typeof"),
];

/// Whether a part of a word says what the expression does or need not say.
fn is_part_said(part: &str, kept: &Kept) -> bool {
    let part = part.to_lowercase();
    let mut said = SAID.into_iter();
    said.any(|(signs, words)| {
        words.split_whitespace().any(|word| word == part)
            && (signs.is_empty() || signs.iter().any(|sign| kept.text.contains(sign)))
    })
}

/// Whether a word is none of a name, and the expression does what it says.
fn is_said(
    tokens: &Tokens<'_>,
    at: usize,
    is_bound: &dyn Fn(&str) -> bool,
    kept: &Kept,
    has_key: &dyn Fn(&str) -> bool,
) -> bool {
    let text = tokens.text(at);
    let is_call = tokens.is_call(at);
    // Between operands these are signs, whatever the value has.
    let is_sign = tokens.behind(at, 1) != Kind::Dot
        && matches!(
            text.to_ascii_lowercase().as_str(),
            "in" | "for"
                | "and"
                | "or"
                | "not"
                | "is"
                | "if"
                | "else"
                | "as"
                | "of"
                | "from"
                | "where"
        )
        || text.eq_ignore_ascii_case("order") && tokens.text(at + 1).eq_ignore_ascii_case("by");
    if has_key(text) && !is_call && !is_sign {
        return false;
    }
    // The escape of a slash in a pointer.
    let escaped = text.strip_prefix(['0', '1']);
    if let Some(rest) = escaped.filter(|_| tokens.behind(at, 1) == Kind::Tilde) {
        return kept.holds(rest);
    }
    let is_part =
        |part: &String| is_part_said(part, kept) || is_bound(part.as_str()) || kept.number(part);
    let is_function = |name: &&str| kept.text.contains(&format!("{name}("));
    is_part_said(text, kept)
        || is_call && Function::misspelt(text).filter(is_function).is_some()
        || parts(text).iter().all(is_part)
}

/// The parts of a word: `findOne`, `find_one` and `Find-One` have two.
fn parts(word: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_upper = true;
    for sign in word.chars() {
        let is_begin = sign.is_uppercase() && !is_upper || !sign.is_alphanumeric();
        is_upper = sign.is_uppercase();
        if is_begin {
            found.push(String::new());
        }
        if sign.is_alphanumeric()
            && let Some(last) = found.last_mut()
        {
            last.push(sign);
        }
    }
    found.retain(|part| !part.is_empty());
    found
}

/// Whether a text is an option of a function rather than data: the order of a sort.
fn is_option(content: &str, kept: &Kept) -> bool {
    let content = content.to_lowercase();
    match content.as_str() {
        "desc" | "descending" | "asc" | "ascending" => is_part_said(&content, kept),
        "\n" | "\\n" => kept.text.contains("lines("),
        _ => false,
    }
}

/// Whether a number is part of how a program says something: the base of `parseInt`, what a sort returns, where a sum begins.
fn is_idiom(tokens: &Tokens<'_>, at: usize) -> bool {
    let calls =
        |names: &[&str]| (0..at).any(|at| tokens.is_call(at) && names.contains(&tokens.text(at)));
    match tokens.text(at).trim_start_matches('-') {
        "0" | "1" => calls(&["sort", "toSorted", "reduce", "fold", "sum", "entries"]),
        "10" => calls(&["parseInt"]),
        _ => false,
    }
}

/// Whether an expression gives something that is not the same for every value, in all of its conditions too.
fn depends_on_value(expression: &str) -> bool {
    jmespath::parse(expression).is_ok_and(|ast| !is_constant(&ast) && !has_vain_condition(&ast))
}

/// Whether an expression gives the same for every value.
fn is_constant(ast: &Ast) -> bool {
    match ast {
        Ast::Literal { .. } => true,
        Ast::Comparison { lhs, rhs, .. } | Ast::And { lhs, rhs, .. } | Ast::Or { lhs, rhs, .. } => {
            is_constant(lhs) && is_constant(rhs)
        }
        Ast::Subexpr { lhs, .. } | Ast::Projection { lhs, .. } => is_constant(lhs),
        Ast::Not { node, .. } | Ast::Flatten { node, .. } | Ast::ObjectValues { node, .. } => {
            is_constant(node)
        }
        Ast::MultiList { elements, .. } => elements.iter().all(is_constant),
        Ast::MultiHash { elements, .. } => elements.iter().all(|member| is_constant(&member.value)),
        Ast::Function { args, .. } => args.iter().all(is_constant),
        Ast::Condition { predicate, .. } => is_constant(predicate),
        Ast::Expref { .. }
        | Ast::Identity { .. }
        | Ast::Field { .. }
        | Ast::Index { .. }
        | Ast::Slice { .. } => false,
    }
}

/// Whether some condition in an expression is the same for every value.
fn has_vain_condition(ast: &Ast) -> bool {
    match ast {
        Ast::Comparison { lhs, rhs, .. } => {
            is_constant(lhs) && is_constant(rhs)
                || [lhs, rhs].iter().any(|side| has_vain_condition(side))
        }
        Ast::Condition {
            predicate, then, ..
        } => is_vain(predicate) || has_vain_condition(predicate) || has_vain_condition(then),
        Ast::And { lhs, rhs, .. }
        | Ast::Or { lhs, rhs, .. }
        | Ast::Subexpr { lhs, rhs, .. }
        | Ast::Projection { lhs, rhs, .. } => has_vain_condition(lhs) || has_vain_condition(rhs),
        Ast::Not { node, .. } | Ast::Flatten { node, .. } | Ast::ObjectValues { node, .. } => {
            has_vain_condition(node)
        }
        Ast::Expref { ast, .. } => has_vain_condition(ast),
        Ast::MultiList { elements, .. } => elements.iter().any(has_vain_condition),
        Ast::MultiHash { elements, .. } => elements
            .iter()
            .any(|member| has_vain_condition(&member.value)),
        Ast::Function { args, .. } => args.iter().any(has_vain_condition),
        Ast::Identity { .. }
        | Ast::Field { .. }
        | Ast::Index { .. }
        | Ast::Slice { .. }
        | Ast::Literal { .. } => false,
    }
}

/// Whether a condition or one of its operands is the same for every item.
fn is_vain(condition: &Ast) -> bool {
    match condition {
        Ast::And { lhs, rhs, .. } | Ast::Or { lhs, rhs, .. } => is_vain(lhs) || is_vain(rhs),
        Ast::Not { node, .. } => is_vain(node),
        other => is_constant(other),
    }
}
