//! Why a text is not an expression.

/// Why a text is not an expression that can be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Not the grammar of JMESPath: `a..b`.
    #[error("unexpected {found} at character {position}")]
    Syntax {
        /// The position of the first character at fault, from 1.
        position: usize,
        /// The text at that place, shortened; or "end".
        found: String,
    },
    /// Another query language or a program, of which at least a part cannot be read: `items.map(x => x.a + x.b)`.
    #[error(transparent)]
    Foreign(Box<Foreign>),
    /// A function that JMESPath does not have: `upper(name)`.
    #[error("there is no function `{name}`")]
    UnknownFunction {
        /// The name as it was written.
        name: String,
        /// The function whose name is nearest, if one is near.
        nearest: Option<&'static str>,
    },
    /// A function with too few or too many arguments: `length()`.
    #[error("`{name}` takes {expected}, not {found}")]
    Arity {
        /// The function.
        name: &'static str,
        /// The arguments that it takes, such as "1 argument".
        expected: String,
        /// Number of arguments that were given.
        found: usize,
    },
    /// A slice with a step of zero: `[::0]`.
    #[error("the step of a slice must not be 0")]
    ZeroStep,
    /// More operators, nested or in all, than the parser can safely handle.
    #[error("{found} operators {how}, the limit is {limit}")]
    TooDeep {
        /// How many there are.
        found: usize,
        /// "nested in each other", or "in one expression".
        how: &'static str,
        /// How many there may be.
        limit: usize,
    },
}

impl ParseError {
    /// Whether the expression may be correct, but exceeds a limit.
    pub fn is_too_costly(&self) -> bool {
        matches!(self, Self::TooDeep { .. })
    }
}

/// A language whose expressions are taken for JMESPath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::IntoStaticStr)]
#[non_exhaustive]
pub enum Dialect {
    /// `.items[] | select(.id == 3) | .url`
    #[strum(serialize = "jq")]
    Jq,
    /// `$.items[(@.length-1)].url`
    #[strum(serialize = "JSONPath")]
    JsonPath,
    /// `items.map(x => x.url)`
    JavaScript,
    /// `[x["url"] for x in items]`
    Python,
    /// `/items/0/url`
    XPath,
    /// `_.map(items, 'url')`
    #[strum(serialize = "lodash")]
    Lodash,
    /// `SELECT url FROM items`
    #[strum(serialize = "SQL")]
    Sql,
}

/// An expression in another language.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is {dialect}{}", said(.understood.as_deref(), *.complete))]
#[non_exhaustive]
pub struct Foreign {
    /// The language.
    pub dialect: Dialect,
    /// What it says in JMESPath, as far as it was understood.
    pub understood: Option<String>,
    /// Whether that is all of it.
    pub complete: bool,
}

fn said(understood: Option<&str>, complete: bool) -> String {
    match understood {
        None => String::new(),
        Some(all) if complete => format!(", and means `{all}`"),
        Some(part) => format!("; understood so far: `{part}`"),
    }
}
