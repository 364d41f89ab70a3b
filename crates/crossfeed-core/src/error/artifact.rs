//! Why a result makes no artifact.

use crate::shape::Shape;
use crossfeed_json::MAX_DEPTH;
use crossfeed_wire::{ErrorCode, Pointer};

/// The most misfits that are listed.
const LISTED: usize = 5;

/// One place of the full data that the component's schema refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComponentMismatch {
    /// The place in the full data.
    pub at: Pointer,
    /// What the schema asks for.
    pub expected: String,
    /// The shape of what is there; `None` for a property that is missing.
    pub found: Option<Shape>,
    /// Selectors on what the base picked whose values would fit the property, best first.
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

/// Why a result makes no artifact, beside its selectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The full data is not what the component's schema asks for: a title that is a number.
    #[error("the data does not fit the component: {}", listed(misfits))]
    Unfit {
        /// What does not fit, in the schema's order.
        misfits: Vec<ComponentMismatch>,
        /// The shape of what the base picked.
        base: Shape,
    },
    /// Nothing that the base picked is a property of the component: a list was picked.
    #[error("the component's properties are missing: found {base}")]
    Nothing {
        /// The shape of what the base picked.
        base: Shape,
        /// The component's properties.
        properties: Vec<String>,
    },
    /// A detail that the component has no property for.
    #[error("the component has no property for the detail `{name}`")]
    NoProperty {
        /// The detail.
        name: String,
        /// The component's properties.
        properties: Vec<String>,
    },
    /// Details that nest so deep that they could not be read again: lists within lists that an
    /// expression built.
    #[error("the data nests deeper than {MAX_DEPTH}")]
    TooDeep,
    /// More data than an artifact may take: a whole result of 100 MiB.
    #[error("the data is larger than {limit} bytes")]
    TooLarge {
        /// The most there may be.
        limit: usize,
    },
}

fn listed(misfits: &[ComponentMismatch]) -> String {
    let mut lines: Vec<String> = misfits
        .iter()
        .take(LISTED)
        .map(ComponentMismatch::to_string)
        .collect();
    if misfits.len() > LISTED {
        lines.push(format!("and {} more", misfits.len() - LISTED));
    }
    lines.join("; ")
}

fn names(names: &[String]) -> String {
    let listed: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|n| format!("`{n}`"))
        .collect();
    let more = if names.len() > LISTED { ", …" } else { "" };
    format!("{}{more}", listed.join(", "))
}

impl ArtifactError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unfit { .. } | Self::Nothing { .. } | Self::NoProperty { .. } => {
                ErrorCode::ArgumentsInvalid
            }
            Self::TooDeep | Self::TooLarge { .. } => ErrorCode::LimitExceeded,
        }
    }

    /// What was there, then one next step.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Unfit { misfits, base } => {
                let next = match misfits.first() {
                    Some(misfit) => step(misfit),
                    None => "try: detail selectors that pick what fits".to_owned(),
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

/// What to do about one misfit.
fn step(misfit: &ComponentMismatch) -> String {
    match (misfit.property(), misfit.fitting.as_slice()) {
        (None, _) => "try: detail selectors that pick what fits".to_owned(),
        (Some(name), []) => format!(
            "try: a detail selector for `{name}` that gives {}",
            misfit.expected
        ),
        (Some(name), fitting) => {
            format!("try: for the detail `{name}`: {}", fitting.join(", "))
        }
    }
}
