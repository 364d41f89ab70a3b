//! Why a selector did not produce a value, and what to try instead.

use crate::shape::Shape;
use crossfeed_jmespath::{Expression, ParseError, TypeMismatch, guard::Forbidden};
use crossfeed_tools::Spelling;
use crossfeed_wire::ErrorCode;
use std::borrow::Cow;

/// Why a selector did not produce a value.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// Only blanks: `""`.
    #[error("the selector is blank")]
    Blank,
    /// Not a JMESPath expression: `items[`.
    #[error("selector `{expression}` is not a JMESPath expression: {source}")]
    Invalid {
        /// The expression as it was written.
        expression: String,
        /// The parser's message.
        source: ParseError,
        /// The shape of the value.
        shape: Shape,
        /// The nearest selectors that match.
        nearest: Vec<String>,
    },
    /// An argument of a type that the function does not take: `length(total)`.
    #[error("selector `{expression}` cannot be evaluated on this result: {source}")]
    Mismatch {
        /// The expression as it was written.
        expression: String,
        /// The type given, and the types taken.
        source: Box<TypeMismatch>,
        /// The shape of the value.
        shape: Shape,
        /// The nearest selectors that match.
        nearest: Vec<String>,
    },
    /// Longer than the limit.
    #[error("selector `{start}…` has {chars} characters, the limit is {limit}")]
    TooLong {
        /// The beginning of the expression.
        start: String,
        /// Its length in characters.
        chars: usize,
        /// The limit.
        limit: usize,
    },
    /// A forbidden pattern: `${x}`, `eval(a)`, `__proto__`.
    #[error("selector `{expression}` is refused: {source}")]
    Forbidden {
        /// The expression as it was written.
        expression: String,
        /// The pattern, and its place.
        source: Forbidden,
        /// What the words of the expression may mean.
        nearest: Vec<String>,
    },
    /// Nothing is there: `items[0].titel`.
    #[error("selector `{expression}` matched nothing")]
    MatchedNothing {
        /// The expression as it was written.
        expression: String,
        /// Why an empty answer is taken for none: `` items[?score > '0.5'] `` where scores are numbers.
        why: Option<String>,
        /// The spelling of a `$default` that may be written for it, if one may.
        defaults: Option<Spelling>,
        /// The shape of the value.
        shape: Shape,
        /// The nearest selectors that match.
        nearest: Vec<String>,
    },
    /// More steps, text or time than allowed: `[@,@]|[@,@]|…`.
    #[error("selector `{expression}` is too costly: {why}")]
    TooCostly {
        /// The expression as it was written.
        expression: String,
        /// The limit that it would have exceeded.
        why: String,
    },
    /// Not enough memory for its output: many calls at once that each build 60 MB.
    #[error("the host has no memory left for what selector `{expression}` builds")]
    NoMemory {
        /// The expression as it was written.
        expression: String,
    },
}

impl SelectError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Blank | Self::Invalid { .. } | Self::Mismatch { .. } => ErrorCode::SelectInvalid,
            Self::TooLong { .. } => ErrorCode::SelectTooLong,
            Self::Forbidden { .. } => ErrorCode::SelectForbidden,
            Self::MatchedNothing { .. } => ErrorCode::SelectMatchedNothing,
            Self::TooCostly { .. } => ErrorCode::SelectTooCostly,
            Self::NoMemory { .. } => ErrorCode::LimitExceeded,
        }
    }

    /// Whether a default may replace the value: the selector matched nothing.
    pub(crate) fn is_miss(&self) -> bool {
        matches!(self, Self::MatchedNothing { .. })
    }

    /// Whether the selector is in another language and could not be translated.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(
            self,
            Self::Invalid {
                source: ParseError::Foreign(_),
                ..
            }
        )
    }

    /// Says that a `$default` may be written where an answer is empty, if the schema has a place for it.
    pub(crate) fn offer_default(mut self, spelling: Option<Spelling>) -> Self {
        if let Self::MatchedNothing { defaults, .. } = &mut self {
            *defaults = spelling;
        }
        self
    }

    /// The nearest selectors, where they are offered.
    pub(crate) fn nearest_mut(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::Invalid { nearest, .. }
            | Self::Forbidden { nearest, .. }
            | Self::Mismatch { nearest, .. }
            | Self::MatchedNothing { nearest, .. } => Some(nearest),
            _ => None,
        }
    }

    /// What was found, then one next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Blank => "leave the selector out to pass the whole result".to_owned(),
            Self::Invalid {
                source:
                    ParseError::UnknownFunction {
                        nearest: Some(function),
                        ..
                    },
                nearest,
                ..
            } if nearest.is_empty() => format!("try: {function}"),
            Self::Invalid { shape, nearest, .. } | Self::Mismatch { shape, nearest, .. } => {
                found(shape, nearest)
            }
            Self::MatchedNothing {
                expression,
                why,
                defaults,
                shape,
                nearest,
            } => {
                let found = found(shape, &distinguished(nearest, expression));
                let Some(why) = why else { return found };
                let or_empty = defaults.map(|spelling| {
                    let key = spelling.key("default");
                    format!("\nor, if nothing may match: a `{key}`, such as `[]`")
                });
                format!("why: {why}\n{found}{}", or_empty.unwrap_or_default())
            }
            Self::TooLong { limit, .. } => {
                format!(
                    "try: a selector of at most {limit} characters, such as one path to what is needed"
                )
            }
            Self::Forbidden {
                source, nearest, ..
            } => {
                let remark = format!(
                    "a selector is JMESPath only; to compare with the text, write it in single quotes: '{}'",
                    source.pattern
                );
                if nearest.is_empty() {
                    return remark;
                }
                format!("{remark}\ntry: {}", nearest.join(", "))
            }
            Self::NoMemory { .. } => NO_MEMORY.to_owned(),
            // A path builds nothing, so its value is too large.
            Self::TooCostly { expression, .. } if is_path(expression) => {
                "try: a longer path, or a slice such as `[0:100]` of a list, which selects less"
                    .to_owned()
            }
            Self::TooCostly { .. } => {
                "try: a path or filter that selects less, without nesting lists in each other"
                    .to_owned()
            }
        }
    }
}

/// The advice when the host has no memory left.
pub(super) const NO_MEMORY: &str = "call again when other calls have returned, or select less";

/// Whether an expression has only fields and indexes, or is the whole value.
fn is_path(expression: &str) -> bool {
    matches!(expression.trim(), "@" | "result")
        || Expression::parse(expression).is_ok_and(|expression| expression.is_plain_path())
}

/// Makes selectors look different from the expression: if only one of both writes accents as separate
/// characters (Unicode's NFD and NFC), non-ASCII characters are escaped.
fn distinguished(selectors: &[String], expression: &str) -> Vec<String> {
    let combines = |text: &str| text.contains(|c| ('\u{300}'..='\u{36f}').contains(&c));
    let is_odd = combines(expression);
    let selectors = selectors.iter().map(|selector| {
        if combines(selector) == is_odd || selector.is_ascii() {
            return selector.clone();
        }
        let units = selector.encode_utf16();
        let escaped = units.map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        });
        escaped.collect()
    });
    selectors.collect()
}

fn found(shape: &Shape, nearest: &[String]) -> String {
    let why = if shape.is_text() {
        "; paths do not reach into a text"
    } else {
        ""
    };
    let next = match nearest {
        // What selects `null` matches nothing.
        [] if shape.is_null() => "no selector, to pass the whole result".to_owned(),
        [] => "@".to_owned(),
        selectors => selectors.join(", "),
    };
    format!("found: {shape}{why}\ntry: {next}")
}

/// The most characters of a selector that are quoted: the default limit of its length.
const MAX_QUOTED_CHARS: usize = 1000;

/// An expression as it was written; the beginning without blanks if it is far too long.
pub(crate) fn quotable(written: &str) -> Cow<'_, str> {
    if written.chars().nth(MAX_QUOTED_CHARS).is_none() {
        return Cow::Borrowed(written);
    }
    cut(written.trim(), MAX_QUOTED_CHARS)
}

/// The beginning of a text that is too long.
pub(crate) fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
