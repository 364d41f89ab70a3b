//! Other readings of an expression: repairs of the mistakes that models make in JMESPath.
//!
//! Gives at most [`MAX_CANDIDATES`] readings that parse, best first, each with the [`Repair`]s that led to it. An expression
//! that parses is evaluated as written first; a repaired reading is worth something only if it selects something.
//!
//! # Invariants
//!
//! - Repairs look at tokens: nothing inside a raw string or a literal is changed, except that a literal that is not
//!   valid JSON becomes a string as a whole, and a key that is compared with a literal a field.
//! - A word with an opening parenthesis after it is a call, and no rule on words takes it for one.
//! - First come plain signs, what stands round the selector, and signs that other languages have for the same thing; then an
//!   expression of another language is translated as a whole, before the other rules. What is long beyond any selector has
//!   neither.
//! - A reading that loses something of what was written is [doubtful](Candidate::is_doubtful).
//! - Repairing a reading again, as its own first reading, changes nothing.
//! - Time is linear in the length of the expression. Nothing that exceeds the limits in [`crate::guard`] is parsed.

mod call;
mod compare;
mod dialect;
mod edit;
mod kept;
mod loose;
mod path;
mod programs;
mod shell;
mod signs;
#[cfg(test)]
mod tests;

pub use self::dialect::foreign;

use crate::function::Function;
use crate::guard;
use crate::token::{Kind, Tokens};

/// How many readings are offered at most: two of another dialect, each plain and exact, then one of JMESPath, one with the
/// left-hand words of comparisons as strings, the same two with pipes as jq reads them, and the same two with subscripts of
/// whole lists.
pub const MAX_CANDIDATES: usize = 10;

/// One repair: the whole expression before and after it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The rule that was applied.
    pub rule: Rule,
    /// The whole expression before.
    pub before: String,
    /// The whole expression after.
    pub after: String,
}

impl Repair {
    /// A repair by a rule.
    pub fn new(rule: Rule, before: String, after: String) -> Self {
        Self {
            rule,
            before,
            after,
        }
    }
}

/// The rule of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// An expression of jq: `.items | map(.url)` is `items[*].url`.
    Jq,
    /// An expression of JSONPath: `$.items[(@.length-1)]` is `items[-1]`.
    JsonPath,
    /// JavaScript: `items.map(x => x.url)` is `items[*].url`.
    #[strum(serialize = "javascript")]
    JavaScript,
    /// Python: `[x["url"] for x in items]` is `items[*].url`.
    Python,
    /// A path with slashes: `/items/0/url` is `items[0].url`.
    #[strum(serialize = "xpath")]
    XPath,
    /// A call of lodash: `_.map(items, 'url')` is `items[*].url`.
    Lodash,
    /// A statement of SQL: `SELECT url FROM items` is `items[*].url`.
    Sql,
    /// A function under another name: `len(items)` is `length(items)`.
    FunctionName,
    /// An expression for each item begins with `&`: `sort_by(items, score)` is `sort_by(items, &score)`.
    MissingAmpersand,
    /// Arguments in the other order: `map(items, &url)` is `map(&url, items)`.
    ArgumentOrder,
    /// A method is a function: `items.length()` is `length(items)`.
    MethodCall,
    /// A member of a hash as programs write it: `{url}` and `{url = url}` are `{url: url}`.
    MemberName,
    /// Something around the whole: `"items[0].url"`, `{{ items[0].url }}` and `return items[0].url;` are `items[0].url`.
    Wrapping,
    /// Signs of typography, HTML, URLs or a text of a program: `items%5B0%5D` is `items[0]`.
    PlainSigns,
    /// A subscript behind a dot: `items.0.url` is `items[0].url`, and `items.#.url` is `items[*].url`.
    DottedSubscript,
    /// An index takes from the whole list: `items[*].name[0]` is `items[*].name | [0]`.
    PipedIndex,
    /// A comma between elements or arguments, and none after the last: `[a b]` is `[a, b]`, and `{a: b,}` is `{a: b}`.
    Comma,
    /// The type that hints append is not part of the path: `items[0].id[number]` is `items[0].id`.
    TypeSuffix,
    /// jq maps over a pipe: `items[] | .name` is `items[].name`.
    JqPipe,
    /// A subscript with a string: `headers['x-id']` is `headers."x-id"`.
    StringSubscript,
    /// JSONPath's root: `$.items` is `items`, and `$` is `@`.
    RootSign,
    /// A dot where an expression begins, or in front of a subscript: `.items` is `items`, and `.` is `@`.
    LeadingDot,
    /// A comparison in a subscript is a filter: `items[id == 3]` is `items[?id == 3]`.
    FilterSign,
    /// `name ~ contains(@, 'x')` is `contains(name, 'x')`, and `name =~ 'x'` is `match(name, 'x')`; a tilde means nothing
    /// elsewhere.
    Tilde,
    /// `=` and `===` are `==` inside a filter.
    EqualsSign,
    /// `and`, `or`, `not`, `is`, `eq` and their like, and a lone `&`, are signs inside a filter.
    WordOperator,
    /// A literal that is not valid JSON is a string: `` `active` `` is `'active'`.
    BareLiteral,
    /// A text that a filter compares with another one is the field of that name: `[?'status' == 'done']` is
    /// `[?status == 'done']`.
    QuotedField,
    /// A bare number, `true`, `false` or `null` in a comparison is a literal: `a > 5` is `` a > `5` ``.
    BareConstant,
    /// A word that a filter compares with is a string: `[?status == active]` is `[?status == 'active']`.
    ComparedWord,
    /// A quoted argument is a string: `contains(name, "x")` is `contains(name, 'x')`.
    QuotedArgument,
    /// A key that needs quotes gets them: `headers.content-type` is `headers."content-type"`.
    UnquotedKey,
    /// `!` binds closer than a dot, so that `!a.b` is always null: `!(a.b)` is meant.
    NegatedPath,
    /// The whole selector stands in quotes that make it a text: `'items[0].url'`.
    QuotedSelector,
}

impl Rule {
    /// The rule's stable name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Another reading of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The repaired expression. It parses.
    pub expression: String,
    /// The repairs that led to it, each beginning where the one before ended.
    pub repairs: Vec<Repair>,
    /// An expression that says what the other language does for any value: this reading counts only where both give the
    /// same value. The next reading is that expression, unless there are values for which it gives none either.
    pub exact: Option<String>,
    /// Whether it leaves out a part of what was written, or gives the same for every value: it may be offered, and is never
    /// evaluated instead.
    pub is_doubtful: bool,
}

/// Other readings of `expression`, best first, none equal to it; empty where there is nothing to repair.
///
/// `has_key` says whether the value has such a key anywhere: it tells a field whose name needs quotes from a word, and which
/// of two compared words is the field.
///
/// ```
/// # use crossfeed_jmespath::repair::candidates;
/// let found = candidates("items[?status == active].url", &|key| key == "status");
/// assert_eq!(found[0].expression, "items[?status == 'active'].url");
/// assert_eq!(found[0].repairs[0].rule.as_str(), "compared-word");
/// ```
pub fn candidates(expression: &str, has_key: &dyn Fn(&str) -> bool) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    // Far too many to be parsed, whatever is repaired.
    if guard::operators(expression) > 4 * guard::MAX_OPERATORS {
        return found;
    }
    let written = expression;
    let (plain, first) = bared(expression, has_key);
    let expression = plain.as_str();
    let is_foreign = dialect::is_foreign(&Tokens::new(expression), has_key);
    let mut offer = |mut candidate: Candidate| {
        candidate.repairs.splice(0..0, first.iter().cloned());
        if candidate.expression != written
            && found
                .iter()
                .all(|other| other.expression != candidate.expression)
            && parses(&candidate.expression)
        {
            candidate.is_doubtful = !kept::keeps(&candidate.repairs, has_key);
            found.push(candidate);
        }
    };
    for choice in CHOICES {
        if is_foreign && !choice.translated {
            break;
        }
        let reading = Reading {
            choice: Choice {
                is_foreign,
                ..choice
            },
            has_key,
        };
        let (mut plain, is_translated) = repair(expression, &reading);
        if is_translated.is_some() {
            let choice = Choice {
                exact: true,
                ..reading.choice
            };
            let (exact, refuses) = repair(expression, &Reading { choice, has_key });
            if exact.expression != plain.expression {
                plain.exact = Some(exact.expression.clone());
                offer(plain);
                if refuses == Some(false) {
                    offer(exact);
                }
                continue;
            }
        }
        offer(plain);
    }
    found
}

/// How many shells and ways to write signs are taken off at most.
const MAX_SHELLS: usize = 12;

/// The expression in plain signs, without what stands round it, and the repairs that led to it.
fn bared(expression: &str, has_key: &dyn Fn(&str) -> bool) -> (String, Vec<Repair>) {
    let mut text = expression.to_owned();
    let mut repairs = Vec::new();
    if Tokens::new(expression).len() > dialect::MAX_TOKENS {
        return (text, repairs);
    }
    while repairs.len() < MAX_SHELLS {
        let shell = || {
            let plain = signs::plain(&text).map(|plain| (Rule::PlainSigns, plain));
            plain.or_else(|| Some((Rule::Wrapping, shell::opened(&text, has_key)?)))
        };
        let found = is_open(&text).then(shell).flatten();
        let found = found.or_else(|| loose::tightened(&text, has_key));
        let Some((rule, after)) = found else { break };
        let before = std::mem::replace(&mut text, after.clone());
        repairs.push(Repair::new(rule, before, after));
    }
    (text, repairs)
}

/// Whether a text may be something else than the expression that is meant: it is no expression, or one only of a text, a
/// call or a construction, which may hold another.
fn is_open(text: &str) -> bool {
    let tokens = Tokens::new(text);
    let is_shell = tokens.len() == 1 && tokens.kind(0).is_delimited()
        || tokens.kind(0).is_opener()
        || tokens.kind(0) == Kind::Star
        || (0..tokens.len())
            .any(|at| tokens.is_call(at) && Function::named(tokens.text(at)).is_none());
    is_shell || !parses(text)
}

/// Which of several plausible readings a run of the rules takes.
#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    /// Whether other dialects are translated first.
    translated: bool,
    /// Whether the expression must be translated as a whole.
    is_foreign: bool,
    /// Whether a translation says what the dialect does for any value, not only for usual ones.
    exact: bool,
    /// Whether `map(a, b)`, which lacks its `&`, takes the list first, and `max(a, b)` two values.
    flipped: bool,
    /// Which of two bare words that a filter compares becomes a string.
    other_word: bool,
    /// Whether a pipe maps over the items of a list, as it does in jq.
    jq_pipe: bool,
    /// Whether an index behind a projection takes from the whole list, and `.*` is a list's `[*]`.
    of_lists: bool,
}

impl Choice {
    const fn of(translated: bool, flipped: bool) -> Self {
        Self {
            translated,
            exact: false,
            is_foreign: false,
            flipped,
            other_word: false,
            jq_pipe: false,
            of_lists: false,
        }
    }

    const fn of_words(other_word: bool, jq_pipe: bool, of_lists: bool) -> Self {
        Self {
            translated: false,
            exact: false,
            is_foreign: false,
            flipped: false,
            other_word,
            jq_pipe,
            of_lists,
        }
    }
}

const CHOICES: [Choice; 8] = [
    Choice::of(true, false),
    Choice::of(true, true),
    Choice::of_words(false, false, false),
    Choice::of_words(true, false, false),
    Choice::of_words(false, true, false),
    Choice::of_words(true, true, false),
    Choice::of_words(false, false, true),
    Choice::of_words(true, false, true),
];

/// The choice of a run of the rules, and its queries on the value.
struct Reading<'k> {
    choice: Choice,
    has_key: &'k dyn Fn(&str) -> bool,
}

/// One rule: the repaired text; `None` if there is nothing to repair.
type Apply = fn(&Tokens<'_>, &Reading<'_>) -> Option<String>;

/// The rules in order: no rule creates work for an earlier one.
const RULES: [(Rule, Apply); 20] = [
    (Rule::Wrapping, path::wrapping),
    (Rule::Comma, call::commas),
    (Rule::TypeSuffix, path::type_suffix),
    (Rule::StringSubscript, path::string_subscript),
    (Rule::DottedSubscript, path::dotted_subscript),
    (Rule::JqPipe, path::jq_pipe),
    (Rule::PipedIndex, path::piped_index),
    (Rule::RootSign, path::root_sign),
    (Rule::LeadingDot, path::leading_dot),
    (Rule::FilterSign, compare::filter_sign),
    (Rule::Tilde, call::tilde),
    (Rule::EqualsSign, compare::equals_sign),
    (Rule::WordOperator, compare::word_operator),
    (Rule::BareLiteral, compare::bare_literal),
    (Rule::QuotedField, compare::quoted_field),
    (Rule::BareConstant, compare::bare_constant),
    (Rule::ComparedWord, compare::compared_word),
    (Rule::QuotedArgument, call::quoted_argument),
    (Rule::UnquotedKey, path::unquoted_key),
    (Rule::NegatedPath, path::negated_path),
];

/// How often an expression is translated and repaired at most.
const MAX_ROUNDS: usize = 3;

/// Runs all rules in order. The text is tokenized again only where a rule has changed it. If another language is translated,
/// also says whether there are values for which the translation gives none.
fn repair(expression: &str, reading: &Reading<'_>) -> (Candidate, Option<bool>) {
    let mut text = expression.to_owned();
    let mut repairs = Vec::new();
    let mut refuses = None;
    let mut apply = |rule, text: &mut String, after: String| {
        repairs.push(Repair {
            rule,
            before: std::mem::replace(text, after.clone()),
            after,
        });
    };
    // What the rules put right may be readable as another language.
    for round in 0..MAX_ROUNDS {
        let tokens = Tokens::new(&text);
        let translated = if round > 0 || reading.choice.translated {
            dialect::translated(&tokens, reading.has_key, reading.choice.flipped)
        } else {
            None
        };
        match translated {
            Some(found) => {
                *refuses.get_or_insert(false) |= found.refuses;
                let after = if reading.choice.exact {
                    found.exact
                } else {
                    found.plain
                };
                apply(found.rule, &mut text, after);
            }
            // Nothing of a language that is not understood is taken for JMESPath.
            None if round > 0 || reading.choice.is_foreign => break,
            None => {}
        }
        let mut rules = RULES.into_iter();
        loop {
            let tokens = Tokens::new(&text);
            let changed = rules.find_map(|(rule, apply)| Some((rule, apply(&tokens, reading)?)));
            let Some((rule, after)) = changed else { break };
            apply(rule, &mut text, after);
        }
    }
    let candidate = Candidate {
        expression: text,
        repairs,
        exact: None,
        is_doubtful: false,
    };
    (candidate, refuses)
}

fn parses(expression: &str) -> bool {
    let tokens = Tokens::new(expression);
    guard::is_bounded(&tokens)
        && guard::outside_grammar(&tokens).is_none()
        && jmespath::parse(expression).is_ok()
}
