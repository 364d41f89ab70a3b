//! The errors of reading back arguments that a model wrote for a shown schema.

use crossfeed_json::MAX_DEPTH;
use crossfeed_wire::{ErrorBody, ErrorCode, Fault, Pointer};

/// The most characters of a name or a place that a message quotes.
const MAX_QUOTED_CHARS: usize = 200;
/// How a user of the library offers a choice of fields.
const BY_OPTION: &str = "the host lists them with `ListOptions::with_reflection`";

/// Why arguments cannot be read back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// `{"url": null}` without an entry for `url`, which the tool requires and where it takes no
    /// null.
    #[error("nothing fills `{}`", quoted(name))]
    Unfilled {
        /// Where the null stands.
        at: Pointer,
        /// The parameter.
        name: String,
        /// The key of the references map, where the style has one.
        references: Option<String>,
    },
    /// `{"_refs": {"urll": {"_tool": "c"}}}` for a tool with the one parameter `url`.
    #[error("the tool has no parameter `{}`", quoted(name))]
    UnknownParameter {
        /// Where the entry stands.
        at: Pointer,
        /// The name in it.
        name: String,
        /// The closest parameter name.
        nearest: Option<String>,
    },
    /// `{"_select": ["id"]}` for a tool that was listed without a choice of fields.
    #[error("the tool does not offer `{name}`")]
    NotOffered {
        /// The parameter written: `_select` or `_fields`, with either sign.
        name: &'static str,
        /// The parameters of the kind that the tool offers.
        offered: Vec<&'static str>,
    },
    /// `{"_whole": "yes"}`.
    #[error("`{name}` must be a boolean, not {found}")]
    NotBoolean {
        /// The parameter.
        name: &'static str,
        /// The JSON type that stood there.
        found: &'static str,
    },
    /// 1,000 lists within each other.
    #[error("the arguments nest deeper than {MAX_DEPTH}")]
    TooDeep,
    /// A thousand values, each with ten thousand alternatives.
    #[error("the schemas that may apply to these arguments are too many")]
    TooMuch,
}

impl ReadError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unfilled { .. } | Self::NotOffered { .. } | Self::NotBoolean { .. } => {
                ErrorCode::ArgumentsInvalid
            }
            Self::UnknownParameter { .. } => ErrorCode::ReferenceMalformed,
            Self::TooDeep | Self::TooMuch => ErrorCode::LimitExceeded,
        }
    }

    /// Who can act.
    pub fn fault(&self) -> Fault {
        Fault::Model
    }

    /// Where in the arguments.
    pub fn at(&self) -> Pointer {
        match self {
            Self::Unfilled { at, .. } | Self::UnknownParameter { at, .. } => at.clone(),
            Self::NotOffered { name, .. } | Self::NotBoolean { name, .. } => {
                Pointer::root().key(name)
            }
            Self::TooDeep | Self::TooMuch => Pointer::root(),
        }
    }

    /// The fault, then one next step.
    pub fn advice(&self) -> String {
        self.advice_with(BY_OPTION)
    }

    /// The advice with the condition under which this host offers a choice of fields, such as "the server has
    /// `projection = true`".
    pub fn advice_with(&self, to_offer: &str) -> String {
        match self {
            Self::NotOffered { name, offered } => match offered.as_slice() {
                [] => format!(
                    "leave `{name}` out: tools offer a choice of fields only where {to_offer}; to pass on a part \
                     of an earlier result, write a reference as the value of a parameter"
                ),
                [own, ..] => format!(
                    "try: `{own}`, which names fields of this call's result; to pass on a part of an earlier \
                     result, write a reference as the value of a parameter"
                ),
            },
            Self::NotBoolean { name, .. } => {
                format!("write {{\"{name}\": true}} for the whole result, or leave it out")
            }
            Self::Unfilled { references, .. } => match references {
                Some(key) => {
                    format!(
                        "found: null\ntry: a value, or an entry in `{key}` that names the parameter"
                    )
                }
                None => "found: null\ntry: a value".to_owned(),
            },
            Self::UnknownParameter { nearest, .. } => match nearest {
                Some(nearest) => format!("try: {}", quoted(nearest)),
                None => "the tool has no parameters: leave the entry out".to_owned(),
            },
            Self::TooDeep => "write arguments that nest less".to_owned(),
            Self::TooMuch => "write less in one call".to_owned(),
        }
    }

    /// The error as it is written in JSON.
    pub fn body(&self) -> ErrorBody {
        let at = self.at();
        let message = match at.as_str() {
            "" => self.to_string(),
            at => format!("{self} (argument `{}`)", quoted(at)),
        };
        let mut body = ErrorBody::new(self.code(), message);
        body.at = Some(at.as_str().chars().take(5 * MAX_QUOTED_CHARS).collect());
        body.advice = Some(self.advice());
        body
    }
}

/// The beginning of a text that a model or a server wrote.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
