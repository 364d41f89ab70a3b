//! Why a command stopped, and how it says so.

use crossfeed::{
    Error, ErrorBody, ErrorCode, ErrorReport, Failure, LookupError, ResolveError, store::StoreError,
};
use std::{
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

/// The status when the answer is an error.
pub(crate) const ERROR: u8 = 1;
/// How many errors are written in full as text; of the others, the line.
const IN_FULL: usize = 20;
/// The status when the command could not be carried out.
pub(crate) const USAGE: u8 = 2;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The engine's answer is an error; all that is wrong.
    Answer(Vec<ErrorBody>),
    /// The command could not be carried out.
    Usage(String),
    /// The answer could not be written.
    Output(io::Error),
    /// What is wrong is written already; the exit status.
    Written(u8),
}

impl Stop {
    /// One error with a code and a message.
    pub(crate) fn answer(code: ErrorCode, message: impl Into<String>) -> Self {
        ErrorBody::new(code, message).into()
    }

    /// The same errors, each with the place at which it came up.
    pub(crate) fn at_place(mut self, place: &str) -> Self {
        if let Self::Answer(bodies) = &mut self {
            for body in bodies {
                body.message = format!("{place}: {}", body.message);
            }
        }
        self
    }

    /// An error as it is written, with what is the matter where that is a store.
    pub(crate) fn told(mut body: ErrorBody, error: &Error) -> Self {
        tell(&mut body, error);
        body.into()
    }
}

impl From<ErrorBody> for Stop {
    fn from(body: ErrorBody) -> Self {
        Self::Answer(vec![body])
    }
}

impl From<ResolveError> for Stop {
    fn from(error: ResolveError) -> Self {
        let mut bodies = error.bodies();
        for (body, failure) in bodies.iter_mut().zip(error.failures()) {
            tell(body, &failure.error);
        }
        Self::Answer(bodies)
    }
}

/// A failure as it is written where there are no arguments that it could have a place in.
impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        let mut body = failure.body();
        body.at = None;
        Self::told(body, &failure.error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        let mut body = ErrorBody::new(error.code(), with_causes(&error));
        body.advice = Some(error.advice());
        body.into()
    }
}

/// Says what is the matter with a store: a model gets a neutral line, but whoever sits here is the
/// host.
fn tell(body: &mut ErrorBody, error: &Error) {
    if let Error::Lookup(LookupError::Store(error)) | Error::Store(error) = error {
        body.message = with_causes(&**error);
        body.advice = Some(error.advice());
    }
}

/// An error and what caused it, in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}

/// Only the answer is written with `?`.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Says why a command stopped: `json` on `out`, else as a model reads it on `err`.
pub(crate) fn report(
    stop: &Stop,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> ExitCode {
    // Where an error cannot be written, the status still says that there was one.
    match stop {
        Stop::Answer(bodies) => {
            let _ = if json {
                write_json(bodies, out)
            } else {
                write_text(bodies, err)
            };
            ExitCode::from(ERROR)
        }
        Stop::Usage(message) => {
            let _ = if json {
                let body = ErrorBody::new(ErrorCode::CommandInvalid, message);
                write_json(&[body], out)
            } else {
                writeln!(err, "error: {message}")
            };
            ExitCode::from(USAGE)
        }
        Stop::Written(status) => ExitCode::from(*status),
        // Whoever read the answer has seen enough.
        Stop::Output(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Stop::Output(error) => {
            let _ = writeln!(err, "error: cannot write the answer: {error}");
            ExitCode::from(USAGE)
        }
    }
}

fn write_json(bodies: &[ErrorBody], out: &mut dyn Write) -> io::Result<()> {
    if let Some((first, rest)) = bodies.split_first() {
        let report = ErrorReport::new(first.clone(), rest.iter().cloned());
        serde_json::to_writer(&mut *out, &report)?;
        writeln!(out)?;
    }
    out.flush()
}

fn write_text(bodies: &[ErrorBody], err: &mut dyn Write) -> io::Result<()> {
    for (index, body) in bodies.iter().enumerate() {
        writeln!(err, "error[{}]: {}", body.code, body.message)?;
        if let Some(advice) = body.advice.as_ref().filter(|_| index < IN_FULL) {
            writeln!(err, "{advice}")?;
        }
    }
    Ok(())
}
