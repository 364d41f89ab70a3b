//! Errors at the session boundary: the sum of every stage's own, with their place in the arguments.

use crate::error::{
    ArgumentError, ArtifactError, LimitError, LookupError, MalformedReference, NotJson,
    ReferenceEditError, RenderError, RevealError, SelectError, ValidationCost, cut, quotable,
};
use crossfeed_projection::ProjectionError;
use crossfeed_schema::SchemaError;
use crossfeed_store::{Budget as StoreBudget, StoreError};
use crossfeed_tools::ReadError;
use crossfeed_wire::{
    ArtifactId, CallId, ErrorBody, ErrorCode, ErrorReport, Fault, Pointer, printable,
    printable_lines, reference::Input,
};
use std::{borrow::Cow, fmt, sync::Arc};

/// Why the arguments of a call are refused, or a request for a result fails.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something that looks like a reference and is not valid.
    #[error(transparent)]
    Reference(#[from] MalformedReference),
    /// There is no result to refer to.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A selector did not produce a value.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The arguments are not valid JSON.
    #[error(transparent)]
    NotJson(#[from] NotJson),
    /// The resolved arguments do not fit the tool's schema.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// Beyond a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Arguments that cannot be read back from the schema that the model was shown.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A call with references to a tool with an invalid schema, which cannot judge the arguments.
    #[error("the tool cannot take references, because its input schema is not valid: {0}")]
    Schema(#[from] SchemaError),
    /// Arguments that take too much to be judged.
    #[error(transparent)]
    Validation(#[from] ValidationCost),
    /// A result from which the requested artifact cannot be made.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The store refused an artifact.
    #[error("{}", not_stored(.0))]
    Store(#[source] Arc<StoreError>),
    /// A result that cannot be shown as requested.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A result that cannot be redacted.
    #[error(transparent)]
    Reveal(#[from] RevealError),
    /// A projection that cannot be made as requested.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// The edit of a reference, which is not made.
    #[error(transparent)]
    Edit(Box<ReferenceEditError>),
}

impl From<ReferenceEditError> for Error {
    fn from(error: ReferenceEditError) -> Self {
        Self::Edit(Box::new(error))
    }
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Reference(_) => ErrorCode::ReferenceMalformed,
            Self::Lookup(error) => error.code(),
            Self::Select(error) => error.code(),
            Self::Edit(error) => error.code(),
            Self::NotJson(_) | Self::Arguments(_) => ErrorCode::ArgumentsInvalid,
            Self::Read(error) => error.code(),
            Self::Schema(error) => error.code(),
            Self::Artifact(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Projection(error) => error.code(),
            Self::Limit(_) | Self::Validation(_) | Self::Render(_) | Self::Reveal(_) => {
                ErrorCode::LimitExceeded
            }
        }
    }

    /// Who can act.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Lookup(error) => error.fault(),
            Self::Projection(error) => error.fault(),
            // Only the host sets budgets.
            Self::Render(_) => Fault::Host,
            Self::Store(error) if error.fault() == Fault::Backend => Fault::Backend,
            // A model chose the id of an artifact, and it can still call a tool without references.
            _ => Fault::Model,
        }
    }

    /// What was found, then one next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Reference(error) => error.advice(),
            Self::Lookup(error) => error.advice(),
            Self::Select(error) => error.advice(),
            Self::Edit(error) => error.advice(),
            Self::NotJson(_) => "write the arguments as one JSON value".to_owned(),
            Self::Arguments(error) => error.advice(),
            Self::Limit(error) => error.advice().to_owned(),
            Self::Read(error) => error.advice(),
            Self::Schema(_) => "call this tool with values in place of references".to_owned(),
            Self::Validation(_) => "try: a selector that gives flatter or less data".to_owned(),
            Self::Render(error) => error.advice(),
            Self::Artifact(error) => error.advice(),
            Self::Store(error) => store_something_else(error).to_owned(),
            Self::Reveal(_) => "try: a call that returns less, or flatter, data".to_owned(),
            Self::Projection(error) => error.advice(),
        }
    }
}

/// Why an artifact is not stored, without details of the backend, which are for its operator.
fn not_stored(error: &StoreError) -> String {
    match error.fault() {
        Fault::Backend => "artifacts cannot be stored at the moment".to_owned(),
        _ => error.to_string(),
    }
}

/// What a model can do when an artifact is not stored; the store's own advice is for its operator.
fn store_something_else(error: &StoreError) -> &'static str {
    match error {
        StoreError::DuplicateArtifact { .. } => {
            "try: another artifact id, or the artifact that is there"
        }
        StoreError::Full {
            budget: StoreBudget::SessionArtifacts,
            ..
        } => "no more artifacts can be made in this session: use those that are there",
        StoreError::TooLarge { .. } | StoreError::Full { .. } => {
            "try: a smaller artifact, by a base selector that picks only what is needed"
        }
        error if error.may_retry() => "try again",
        _ => "trying again does not help: go on without storing it",
    }
}

/// One thing that is wrong with the arguments of a call, and where.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The place in the arguments: of the reference, or of the value that does not fit.
    pub at: Pointer,
    /// The call that the reference names.
    pub call_id: Option<CallId>,
    /// The file or resource that it names in place of a call.
    pub input: Option<Input>,
    /// The artifact that the reference names.
    pub artifact_id: Option<ArtifactId>,
    /// The selector as it was written.
    pub expression: Option<String>,
    /// The error.
    pub error: Error,
    /// Replaces the error's own advice where that would not work.
    pub(crate) advice: Option<String>,
}

impl Failure {
    pub(crate) fn new(at: Pointer, error: impl Into<Error>) -> Self {
        Self {
            at,
            call_id: None,
            input: None,
            artifact_id: None,
            expression: None,
            error: error.into(),
            advice: None,
        }
    }

    /// What was found, and one next step; empty where it was said before.
    fn advice(&self) -> String {
        self.advice.clone().unwrap_or_else(|| self.error.advice())
    }

    /// A failure of a call's result or artifact, or of a request for it, rather than of arguments.
    pub(crate) fn with_ids(
        call_id: &CallId,
        artifact_id: Option<&ArtifactId>,
        error: impl Into<Error>,
    ) -> Self {
        Self {
            call_id: Some(call_id.clone()),
            artifact_id: artifact_id.cloned(),
            ..Self::new(Pointer::root(), error)
        }
    }

    /// The same with the selector as it was written.
    pub(crate) fn with_expression(mut self, expression: Option<&str>) -> Self {
        self.expression = expression.map(str::to_owned);
        self
    }

    /// The error as it is written in JSON.
    pub fn body(&self) -> ErrorBody {
        let mut body = ErrorBody::new(self.error.code(), self.line());
        body.call_id = self.call_id.as_ref().map(ToString::to_string);
        let expression = self.expression.as_deref().map(quotable);
        body.expression = expression.map(Cow::into_owned);
        body.at = Some(cut(self.at.as_str(), MAX_AT_CHARS).into_owned());
        body.advice = Some(self.advice()).filter(|advice| !advice.is_empty());
        body
    }

    /// One line: the error, the reference, and the place.
    fn line(&self) -> String {
        let mut line = self.error.to_string();
        let mut place = Vec::new();
        let source = match (&self.input, &self.call_id, &self.artifact_id) {
            (Some(input), ..) => Some((input.to_string(), "")),
            (None, Some(call_id), Some(id)) => {
                Some((format!("artifact `{id}` of call `{call_id}`"), ""))
            }
            (None, Some(call_id), None) => Some((format!("call `{call_id}`"), "the result of ")),
            (None, None, _) => None,
        };
        let is_told = matches!(
            self.error,
            Error::Select(_) | Error::Limit(_) | Error::Edit(_)
        );
        if let Some((source, result)) = source.filter(|_| is_told) {
            if matches!(
                self.error,
                Error::Select(SelectError::MatchedNothing { .. })
            ) {
                line.push_str(&format!(" in {result}{source}"));
            } else {
                place.push(source);
            }
        }
        if !self.at.as_str().is_empty() {
            place.push(format!(
                "argument `{}`",
                cut(self.at.as_str(), MAX_LINE_AT_CHARS)
            ));
        }
        if !place.is_empty() {
            line.push_str(&format!(" ({})", place.join(", ")));
        }
        line
    }
}

/// The most characters of a place in a line.
const MAX_LINE_AT_CHARS: usize = 200;
/// The most characters of a place in JSON, which programs read.
const MAX_AT_CHARS: usize = 1000;
/// The most failures that are written in full; of the others only the line is.
const MAX_IN_FULL: usize = 20;
/// The most failures that have advice in JSON.
const MAX_ADVISED: usize = 100;

/// A failure without a place and a call, which the caller adds. Boxed, because it is large.
impl<E: Into<Error>> From<E> for Box<Failure> {
    fn from(error: E) -> Self {
        Box::new(Failure::new(Pointer::root(), error))
    }
}

/// The text for a model: the error, what was found, one next step.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.line()))?;
        match self.advice() {
            advice if advice.is_empty() => Ok(()),
            advice => write!(f, "\n{}", printable_lines(&advice)),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message contains the error itself, but not its cause.
        self.error.source()
    }
}

/// Why a call must not run: all failures of its arguments, at least one.
#[derive(Clone, Debug)]
pub struct ResolveError {
    failures: Vec<Failure>,
}

impl ResolveError {
    pub(crate) fn new(failures: Vec<Failure>) -> Self {
        Self { failures }
    }

    pub(crate) fn failures_mut(&mut self) -> &mut [Failure] {
        &mut self.failures
    }

    /// The failures, in the order of the arguments.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Who can act: a backend's fault outweighs a host's, and that a model's, because nothing that the model
    /// changes would help.
    pub fn fault(&self) -> Fault {
        let has = |fault| {
            self.failures
                .iter()
                .any(|failure| failure.error.fault() == fault)
        };
        let mut faults = [Fault::Backend, Fault::Host].into_iter();
        faults.find(|fault| has(*fault)).unwrap_or(Fault::Model)
    }

    /// The failures as they are written in JSON: all of them, those beyond the first 100 without advice.
    pub fn bodies(&self) -> Vec<ErrorBody> {
        let mut bodies: Vec<_> = self.failures.iter().map(Failure::body).collect();
        for body in bodies.iter_mut().skip(MAX_ADVISED) {
            body.advice = None;
        }
        bodies
    }

    /// The same, with the first of them repeated at the top level.
    pub fn report(&self) -> Option<ErrorReport> {
        let mut bodies = self.bodies().into_iter();
        Some(ErrorReport::new(bodies.next()?, bodies))
    }
}

impl<E: Into<Error>> From<E> for ResolveError {
    fn from(error: E) -> Self {
        Failure::new(Pointer::root(), error).into()
    }
}

impl From<Failure> for ResolveError {
    fn from(failure: Failure) -> Self {
        Self::new(vec![failure])
    }
}

/// The text for a model: the first 20 failures in full, the others by their line.
impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, failure) in self.failures.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            if index < MAX_IN_FULL {
                write!(f, "{failure}")?;
            } else {
                f.write_str(&printable(&failure.line()))?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ResolveError {}
