//! Why a command stopped, and how it says so.

use crossfeed::{ErrorBody, ErrorCode, ErrorReport, ResolveError};
use std::{
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

/// The status when the answer is an error.
const ERROR: u8 = 1;
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
}

impl Stop {
    /// One error with a code and a message.
    pub(crate) fn answer(code: ErrorCode, message: impl Into<String>) -> Self {
        ErrorBody::new(code, message).into()
    }
}

impl From<ErrorBody> for Stop {
    fn from(body: ErrorBody) -> Self {
        Self::Answer(vec![body])
    }
}

impl From<ResolveError> for Stop {
    fn from(error: ResolveError) -> Self {
        Self::Answer(error.bodies())
    }
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
            let _ = writeln!(err, "error: {message}");
            ExitCode::from(USAGE)
        }
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
