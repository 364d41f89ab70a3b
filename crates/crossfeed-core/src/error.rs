//! Errors at the session boundary: every stage's own, summed, with their place in the arguments.

use crate::{
    artifact::ArtifactError,
    render::RenderError,
    resolve::{LimitError, MalformedReference},
    reveal::RevealError,
    select::{SelectError, quotable},
    session::NotJson,
    suggest::Offer,
    validate::{ArgumentError, ValidationCost},
};
use crossfeed_projection::ProjectionError;
use crossfeed_schema::{ReadError, SchemaError};
use crossfeed_store::{ArtifactMissing, Budget as StoreBudget, Missing, StoreError, Tombstone};
use crossfeed_wire::{ArtifactId, CallId, ErrorBody, ErrorCode, ErrorReport, Fault, Pointer};
use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

/// Why there is no result to refer to.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No such call in this session; a call of another session reads the same.
    #[error("no result of call `{call_id}` is known in this session")]
    Unknown {
        /// The call.
        call_id: CallId,
        /// The calls whose results are there.
        offer: Offer,
    },
    /// The result was kept for its time to live.
    #[error("the result of call `{call_id}` has expired")]
    Expired {
        /// The call.
        call_id: CallId,
        /// The call that it came from.
        tombstone: Tombstone,
    },
    /// The result had to make room.
    #[error("the result of call `{call_id}` had to make room for newer ones")]
    Evicted {
        /// The call.
        call_id: CallId,
        /// The call that it came from.
        tombstone: Tombstone,
    },
    /// The call failed.
    #[error("call `{call_id}` failed: {message}")]
    Failed {
        /// The call.
        call_id: CallId,
        /// The failure's own message.
        message: String,
        /// The tool, where it is known.
        tool: Option<String>,
        /// Whether the call may be made again without harm.
        repeatable: bool,
    },
    /// The call is in flight: it was begun and has not returned.
    #[error("call `{call_id}` has not returned{}", after(*waited))]
    Pending {
        /// The call.
        call_id: CallId,
        /// How long it was waited for; `None` where it was not, since this does not wait for calls or
        /// something else is wrong.
        waited: Option<Duration>,
    },
    /// The call was in flight, and was given up while it was waited for.
    #[error("call `{call_id}` was given up before it returned")]
    GivenUp {
        /// The call.
        call_id: CallId,
        /// The call.
        tombstone: Tombstone,
    },
    /// The call waits for the one that refers to it, by itself or by others: nothing would ever
    /// return.
    #[error("{}", circle(path))]
    Cycle {
        /// The call.
        call_id: CallId,
        /// From the call that refers to it round to itself.
        path: Vec<CallId>,
    },
    /// No such artifact in this session.
    #[error("no artifact `{artifact_id}` of call `{call_id}` is known in this session")]
    ArtifactUnknown {
        /// The artifact.
        artifact_id: ArtifactId,
        /// The call.
        call_id: CallId,
        /// The artifacts that are there.
        offer: Offer,
    },
    /// The artifact was kept for its time to live.
    #[error("artifact `{artifact_id}` of call `{call_id}` has expired")]
    ArtifactExpired {
        /// The artifact.
        artifact_id: ArtifactId,
        /// The call.
        call_id: CallId,
        /// The call whose result it was made from.
        tombstone: Tombstone,
    },
    /// The store did not answer.
    #[error("stored results cannot be read at the moment")]
    Store(#[source] Arc<StoreError>),
}

impl LookupError {
    /// The error for a result that nothing is known of.
    pub(crate) fn unknown(call_id: CallId) -> Self {
        let offer = Offer::default();
        Self::Unknown { call_id, offer }
    }

    /// The error for a result that a store does not have.
    #[must_use]
    pub fn missing(call_id: CallId, missing: Missing) -> Self {
        match missing {
            Missing::Unknown => Self::unknown(call_id),
            Missing::Expired(tombstone) => Self::Expired { call_id, tombstone },
            Missing::Evicted(tombstone) => Self::Evicted { call_id, tombstone },
        }
    }

    /// The error for an artifact that a store does not have.
    #[must_use]
    pub fn artifact_missing(
        artifact_id: ArtifactId,
        call_id: CallId,
        missing: ArtifactMissing,
    ) -> Self {
        match missing {
            ArtifactMissing::Unknown => Self::ArtifactUnknown {
                artifact_id,
                call_id,
                offer: Offer::default(),
            },
            ArtifactMissing::Expired(tombstone) => Self::ArtifactExpired {
                artifact_id,
                call_id,
                tombstone,
            },
        }
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } => ErrorCode::ResultUnknown,
            Self::Expired { .. } => ErrorCode::ResultExpired,
            Self::Evicted { .. } => ErrorCode::ResultEvicted,
            Self::Failed { .. } => ErrorCode::ResultFailed,
            Self::Pending { .. } | Self::GivenUp { .. } => ErrorCode::ResultPending,
            Self::Cycle { .. } => ErrorCode::ResultCycle,
            Self::ArtifactUnknown { .. } => ErrorCode::ArtifactUnknown,
            Self::ArtifactExpired { .. } => ErrorCode::ArtifactExpired,
            Self::Store(_) => ErrorCode::StoreUnavailable,
        }
    }

    /// Who can act.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Store(error) => error.fault(),
            _ => Fault::Model,
        }
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Unknown { offer, .. } => offer.advice(
                "results",
                "use the `_toolCallId` of a result of this session, exactly as it was shown",
            ),
            Self::Expired { tombstone, .. }
            | Self::Evicted { tombstone, .. }
            | Self::GivenUp { tombstone, .. }
                if tombstone.repeatable() =>
            {
                run_again(tombstone)
            }
            Self::Expired { tombstone, .. } | Self::Evicted { tombstone, .. } => {
                do_not_repeat("the call was made and only its result is gone", tombstone.tool())
            }
            Self::GivenUp { tombstone, .. } => do_not_repeat("the call may have run", tombstone.tool()),
            Self::Pending { .. } => "refer to that call when it has returned".to_owned(),
            Self::Cycle { .. } => {
                "make these calls one after another, the first of them without a reference to the others"
                    .to_owned()
            }
            Self::ArtifactExpired { tombstone, .. } => {
                if tombstone.repeatable() {
                    run_again(tombstone)
                } else {
                    do_not_repeat("the call was made and only the artifact is gone", tombstone.tool())
                }
            }
            Self::Failed { tool, repeatable, .. } => {
                let call = call_again(tool.as_deref());
                if *repeatable {
                    format!("{call} with other arguments, then refer to that call")
                } else {
                    format!(
                        "a call that failed may have had effects: {call}, with other arguments, only if \
                         repeating it is intended"
                    )
                }
            }
            Self::ArtifactUnknown { offer, .. } => offer.advice(
                "artifacts",
                "use the artifact id and call id of an artifact of this session, exactly as they were shown",
            ),
            // What the store itself advises is for whoever runs it.
            Self::Store(error) if error.may_retry() => "try again".to_owned(),
            Self::Store(_) => "trying again does not help: go on without stored results".to_owned(),
        }
    }
}

/// How long a call was waited for.
fn after(waited: Option<Duration>) -> String {
    let waited = waited.map(|waited| format!(" after {} ms", waited.as_millis()));
    waited.unwrap_or_default()
}

/// The most calls of a circle that are said.
const CIRCLE_CALLS: usize = 8;

/// Who waits for whom: `a` -> `b` -> `a`.
fn circle(path: &[CallId]) -> String {
    let quoted = |id: &CallId| format!("`{id}`");
    match path {
        [one, same] if one == same => format!("call `{one}` refers to itself"),
        [ahead @ .., last] => {
            let said = ahead.iter().take(CIRCLE_CALLS).map(quoted);
            let more = ahead.len().saturating_sub(CIRCLE_CALLS);
            let more = (more > 0).then(|| format!("{more} more"));
            let all = said.chain(more).chain([quoted(last)]);
            let all = all.collect::<Vec<_>>().join(" -> ");
            format!("the calls wait for each other: {all}")
        }
        [] => "the calls wait for each other".to_owned(),
    }
}

/// What a model is told to do: `call X again`.
fn call_again(tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("call `{tool}` again"),
        None => "make the call again".to_owned(),
    }
}

/// The advice for a call that may be made again without harm.
fn run_again(tombstone: &Tombstone) -> String {
    let call = call_again(tombstone.tool());
    match (tombstone.tool(), tombstone.arguments()) {
        (Some(_), Some(arguments)) => format!(
            "{call} with {}, then refer to that call",
            String::from_utf8_lossy(arguments)
        ),
        _ => format!("{call}, then refer to that call"),
    }
}

/// The advice for any other call. Its arguments are left out: they would invite to make it again.
fn do_not_repeat(what_is_known: &str, tool: Option<&str>) -> String {
    let call = call_again(tool);
    format!("{what_is_known}: do not {call} unless repeating it is intended")
}

/// Whatever can be wrong with the arguments of a call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something that looks like a reference is none.
    #[error(transparent)]
    Reference(#[from] MalformedReference),
    /// There is no result to refer to.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A selector did not produce a value.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The arguments are no JSON.
    #[error(transparent)]
    NotJson(#[from] NotJson),
    /// The resolved arguments do not fit the tool's schema.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// Beyond a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Arguments that cannot be read back from what the model was shown.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A call with references of a tool whose own schema is none: nothing could judge it.
    #[error("the tool cannot take references, since its own schema is none: {0}")]
    Schema(#[from] SchemaError),
    /// Arguments that take too much to be judged.
    #[error(transparent)]
    Validation(#[from] ValidationCost),
    /// A result that makes no artifact as it was asked for.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The store did not take what was to be stored.
    #[error("{}", not_stored(.0))]
    Store(#[source] Arc<StoreError>),
    /// A result that cannot be shown as it was asked for.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A result of which it cannot be told what may be shown.
    #[error(transparent)]
    Reveal(#[from] RevealError),
    /// A projection that cannot be made as it was asked for.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
}

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Reference(_) => ErrorCode::ReferenceMalformed,
            Self::Lookup(error) => error.code(),
            Self::Select(error) => error.code(),
            Self::NotJson(error) => error.code(),
            Self::Arguments(error) => error.code(),
            Self::Limit(error) => error.code(),
            Self::Read(error) => error.code(),
            Self::Schema(error) => error.code(),
            Self::Validation(error) => error.code(),
            Self::Render(error) => error.code(),
            Self::Artifact(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Reveal(error) => error.code(),
            Self::Projection(error) => error.code(),
        }
    }

    /// Who can act.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Lookup(error) => error.fault(),
            Self::Reveal(error) => error.fault(),
            Self::Projection(error) => error.fault(),
            Self::Render(error) => error.fault(),
            Self::Store(error) => match error.fault() {
                Fault::Backend => Fault::Backend,
                // It is a model that asked for this artifact, under this id.
                _ => Fault::Model,
            },
            // The model can still call the tool without references.
            Self::Schema(_)
            | Self::Read(_)
            | Self::Reference(_)
            | Self::Select(_)
            | Self::NotJson(_)
            | Self::Arguments(_)
            | Self::Limit(_)
            | Self::Artifact(_)
            | Self::Validation(_) => Fault::Model,
        }
    }

    /// What was there, then one next step.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Reference(error) => error.advice(),
            Self::Lookup(error) => error.advice(),
            Self::Select(error) => error.advice(),
            Self::NotJson(error) => error.advice().to_owned(),
            Self::Arguments(error) => error.advice(),
            Self::Limit(error) => error.advice().to_owned(),
            Self::Read(error) => error.advice(),
            Self::Schema(_) => "call this tool with values in place of references".to_owned(),
            Self::Validation(error) => error.advice().to_owned(),
            Self::Render(error) => error.advice(),
            Self::Artifact(error) => error.advice(),
            Self::Store(error) => store_something_else(error).to_owned(),
            Self::Reveal(error) => error.advice().to_owned(),
            Self::Projection(error) => error.advice(),
        }
    }
}

/// Why something is not stored, as a model may know it: what is the matter with a backend is for
/// whoever runs it.
fn not_stored(error: &StoreError) -> String {
    match error.fault() {
        Fault::Backend => "artifacts cannot be stored at the moment".to_owned(),
        _ => error.to_string(),
    }
}

/// What a model can do when something is not stored. What the store itself advises is for whoever
/// runs it.
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
    /// The artifact that the reference names.
    pub artifact_id: Option<ArtifactId>,
    /// The selector as it was written.
    pub expression: Option<String>,
    /// What is wrong.
    pub error: Error,
    /// What is advised in place of what the error advises: where that would not work.
    pub(crate) advice: Option<String>,
}

impl Failure {
    pub(crate) fn new(at: Pointer, error: Error) -> Self {
        Self {
            at,
            call_id: None,
            artifact_id: None,
            expression: None,
            error,
            advice: None,
        }
    }

    /// What was there, and one next step.
    fn advice(&self) -> String {
        let own = self.advice.clone();
        own.unwrap_or_else(|| self.error.advice())
    }

    /// What is wrong with a call's result, or with what was asked of it: nothing of any arguments.
    pub(crate) fn of_call(call_id: &CallId, error: impl Into<Error>) -> Self {
        let mut failure = Self::new(Pointer::root(), error.into());
        failure.call_id = Some(call_id.clone());
        failure
    }

    /// The same of an artifact of that call.
    pub(crate) fn with_artifact(mut self, artifact_id: Option<&ArtifactId>) -> Self {
        self.artifact_id = artifact_id.cloned();
        self
    }

    /// The same with the selector as it was written.
    pub(crate) fn with_expression(mut self, expression: Option<&str>) -> Self {
        self.expression = expression.map(str::to_owned);
        self
    }

    /// The error in the shape in which it is written.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        let mut body = ErrorBody::new(self.error.code(), self.line());
        body.call_id = self.call_id.as_ref().map(ToString::to_string);
        body.expression = self
            .expression
            .as_deref()
            .map(|text| quotable(text).into_owned());
        body.at = Some(cut(self.at.as_str(), AT_CHARS).into_owned());
        body.advice = Some(self.advice());
        body
    }

    /// One line: what is wrong, with what, and where.
    fn line(&self) -> String {
        let mut line = self.error.to_string();
        let mut place = Vec::new();
        let named = matches!(self.error, Error::Select(_) | Error::Limit(_));
        if let Some(call_id) = self.call_id.as_ref().filter(|_| named) {
            let (within, result) = match &self.artifact_id {
                Some(id) => (format!("artifact `{id}` of call `{call_id}`"), ""),
                None => (format!("call `{call_id}`"), "the result of "),
            };
            match self.error {
                Error::Select(SelectError::MatchedNothing { .. }) => {
                    line.push_str(&format!(" in {result}{within}"));
                }
                _ => place.push(within),
            }
        }
        if !self.at.as_str().is_empty() {
            place.push(format!("argument `{}`", cut(self.at.as_str(), PLACE_CHARS)));
        }
        if !place.is_empty() {
            line.push_str(&format!(" ({})", place.join(", ")));
        }
        line
    }
}

/// The most characters of a place that a line says.
const PLACE_CHARS: usize = 200;
/// The most characters of a place in JSON, where programs read it.
const AT_CHARS: usize = 1000;
/// How many failures are written in full; of the others, the line.
const IN_FULL: usize = 20;
/// How many failures have advice in JSON.
const ADVISED: usize = 100;

/// The beginning of a text that is too long.
fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// As a model reads it: what is wrong, what was there, one next step.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.line(), self.advice())
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // What is wrong is in the message already; its cause is not.
        self.error.source()
    }
}

/// Why a call must not run: all that is wrong with its arguments, at least one thing.
#[derive(Clone, Debug)]
pub struct ResolveError {
    failures: Vec<Failure>,
}

impl ResolveError {
    pub(crate) fn new(failures: Vec<Failure>) -> Self {
        Self { failures }
    }

    /// All that is wrong, in the order of the arguments.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Who can act: a backend's fault outweighs a model's, because nothing that the model changes
    /// would help.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let faults = || self.failures.iter().map(|failure| failure.error.fault());
        match (
            faults().any(|fault| fault == Fault::Backend),
            faults().any(|fault| fault == Fault::Host),
        ) {
            (true, _) => Fault::Backend,
            (_, true) => Fault::Host,
            _ => Fault::Model,
        }
    }

    /// The failures in the shape in which they are written: all of them, beyond the first 100 without
    /// advice.
    #[must_use]
    pub fn bodies(&self) -> Vec<ErrorBody> {
        let mut bodies: Vec<_> = self.failures.iter().map(Failure::body).collect();
        for body in bodies.iter_mut().skip(ADVISED) {
            body.advice = None;
        }
        bodies
    }

    /// The same with the first of them once more.
    #[must_use]
    pub fn report(&self) -> Option<ErrorReport> {
        let mut bodies = self.bodies().into_iter();
        Some(ErrorReport::new(bodies.next()?, bodies))
    }
}

/// As a model reads it: the first 20 failures in full, the others by their line.
impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, failure) in self.failures.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            if index < IN_FULL {
                write!(f, "{failure}")?;
            } else {
                f.write_str(&failure.line())?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ResolveError {}
