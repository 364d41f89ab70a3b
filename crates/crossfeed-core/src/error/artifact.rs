//! Why an artifact cannot be made from a result.

use crate::shape::Shape;
use crossfeed_json::MAX_DEPTH;
use crossfeed_wire::{ErrorCode, Pointer};

/// The most mismatches or names that are listed.
const MAX_LISTED: usize = 5;

/// One place of the full data that the component's schema refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComponentMismatch {
    /// The place in the full data.
    pub at: Pointer,
    /// The schema's demand, in words.
    pub expected: String,
    /// The shape of the value there; `None` for a missing property.
    pub found: Option<Shape>,
    /// Selectors on the base's value whose values would fit the property, best first.
    pub fitting: Vec<String>,
}

impl ComponentMismatch {
    /// The property of the component at fault.
    pub(crate) fn property(&self) -> Option<String> {
        self.at.tokens().next()
    }
}

impl std::fmt::Display for ComponentMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let expected = &self.expected;
        match &self.found {
            None => write!(f, "`{}` is missing, expected {expected}", self.at.as_str()),
            Some(found) if self.at.as_str().is_empty() => {
                write!(f, "expected {expected}, found {found}")
            }
            Some(found) => write!(
                f,
                "`{}`: expected {expected}, found {found}",
                self.at.as_str()
            ),
        }
    }
}

/// Why an artifact cannot be made from a result, apart from its selectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The full data does not fit the component's schema: a title that is a number.
    #[error("the data does not fit the component: {}", listed(misfits))]
    Unfit {
        /// The parts that do not fit, in the schema's order.
        misfits: Vec<ComponentMismatch>,
        /// The shape of the base's value.
        base: Shape,
    },
    /// The base has none of the component's properties: it is a list.
    #[error("the component's properties are missing: found {base}")]
    Nothing {
        /// The shape of the base's value.
        base: Shape,
        /// The component's properties.
        properties: Vec<String>,
    },
    /// A detail that is not a property of the component.
    #[error("the component has no property for the detail `{name}`")]
    NoProperty {
        /// The detail.
        name: String,
        /// The component's properties.
        properties: Vec<String>,
    },
    /// Details that nest too deep to be read again: lists within lists that an expression built.
    #[error("the data nests deeper than {MAX_DEPTH}")]
    TooDeep,
    /// More data than an artifact may take: a whole result of 100 MiB.
    #[error("the data is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes of an artifact.
        limit: usize,
    },
}

fn listed(misfits: &[ComponentMismatch]) -> String {
    let more = misfits.len().saturating_sub(MAX_LISTED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let listed = misfits.iter().take(MAX_LISTED).map(ToString::to_string);
    listed.chain(more).collect::<Vec<_>>().join("; ")
}

fn names(names: &[String]) -> String {
    let more = (names.len() > MAX_LISTED).then(|| "…".to_owned());
    let listed = names
        .iter()
        .take(MAX_LISTED)
        .map(|name| format!("`{name}`"));
    listed.chain(more).collect::<Vec<_>>().join(", ")
}

impl ArtifactError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unfit { .. } | Self::Nothing { .. } | Self::NoProperty { .. } => {
                ErrorCode::ArgumentsInvalid
            }
            Self::TooDeep | Self::TooLarge { .. } => ErrorCode::LimitExceeded,
        }
    }

    /// What was found, then one next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Unfit { misfits, base } => {
                let property = misfits
                    .first()
                    .and_then(|misfit| Some((misfit, misfit.property()?)));
                let next = match property {
                    None => "try: detail selectors that pick what fits".to_owned(),
                    Some((misfit, name)) if misfit.fitting.is_empty() => {
                        format!(
                            "try: a detail selector for `{name}` that gives {}",
                            misfit.expected
                        )
                    }
                    Some((misfit, name)) => {
                        format!(
                            "try: for the detail `{name}`: {}",
                            misfit.fitting.join(", ")
                        )
                    }
                };
                format!("found: {base}\n{next}")
            }
            Self::Nothing { properties, .. } => format!(
                "try: a base selector that picks one object with {}, or a detail selector for each",
                names(properties)
            ),
            Self::NoProperty { properties, .. } => {
                format!("its properties are {}", names(properties))
            }
            Self::TooDeep => "try: detail selectors that build fewer levels".to_owned(),
            Self::TooLarge { .. } => "try: a base selector that picks what is needed".to_owned(),
        }
    }
}
