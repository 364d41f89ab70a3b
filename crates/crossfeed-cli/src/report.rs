//! Writes the output of commands: the answer to standard output, remarks to standard error, and why the command stopped.

use crate::{
    layout::{self, Form, TokenStyles},
    terminal::Styles,
};
use crossfeed::{
    Error, ErrorCode,
    error::{
        ErrorBody, ErrorReport, Failure, IdError, LookupError, ResolveError, printable,
        printable_lines,
    },
    store::{StoreError, with_causes},
};
use std::{
    fmt::Display,
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

/// The status when the answer is an error.
pub(crate) const ERROR: u8 = 1;
/// Errors that are written with their advice; the others without.
const MAX_ADVISED_ERRORS: usize = 20;
/// The status when the command could not be carried out.
pub(crate) const USAGE: u8 = 2;

/// The outcome of a command, or of a step of one.
pub(crate) type Result<T = (), E = CommandError> = std::result::Result<T, E>;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The engine's answer is errors.
    Answer(Vec<ErrorBody>),
    /// The command could not be carried out.
    Usage(String),
    /// The answer could not be written.
    Output(io::Error),
    /// The errors are written already; the exit status.
    Written(u8),
}

impl CommandError {
    /// One error with a code and a message.
    pub(crate) fn answer(code: ErrorCode, message: impl Into<String>) -> Self {
        ErrorBody::new(code, message).into()
    }

    /// The command could not be carried out.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Sets the advice of every error.
    pub(crate) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        let advice = advice.into();
        for body in self.bodies_mut() {
            body.advice = Some(advice.clone());
        }
        self
    }

    /// Puts the place before every error's message.
    pub(crate) fn at_place(mut self, place: &str) -> Self {
        for body in self.bodies_mut() {
            body.message = format!("{place}: {}", body.message);
        }
        self
    }

    /// The errors that the engine answered with.
    pub(crate) fn bodies_mut(&mut self) -> &mut [ErrorBody] {
        match self {
            Self::Answer(bodies) => bodies,
            _ => &mut [],
        }
    }

    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Answer(_) => ERROR,
            Self::Written(status) => *status,
            // The reader of the answer closed the pipe.
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => 0,
            Self::Usage(_) | Self::Output(_) => USAGE,
        }
    }

    /// An error body, with the store's own error if there is one.
    pub(crate) fn with_store_error(mut body: ErrorBody, error: &Error) -> Self {
        add_store_error(&mut body, error);
        body.into()
    }
}

/// Returns the error that the command cannot be carried out.
macro_rules! bail {
    ($($message:tt)*) => {
        return Err($crate::report::CommandError::usage(format!($($message)*)))
    };
}
pub(crate) use bail;

impl From<ErrorBody> for CommandError {
    fn from(body: ErrorBody) -> Self {
        Self::Answer(vec![body])
    }
}

impl From<ResolveError> for CommandError {
    fn from(error: ResolveError) -> Self {
        let mut bodies = error.bodies();
        for (body, failure) in bodies.iter_mut().zip(error.failures()) {
            add_store_error(body, &failure.error);
        }
        Self::Answer(bodies)
    }
}

/// A failure without a place in arguments.
impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        let mut body = failure.body();
        body.at = None;
        Self::with_store_error(body, &failure.error)
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::answer(error.code(), with_causes(&error)).with_advice(error.advice())
    }
}

/// An invalid id on the command line.
impl From<IdError> for CommandError {
    fn from(error: IdError) -> Self {
        Self::usage(error.to_string())
    }
}

/// Sets the message to the store's own error. A model would get a neutral line, but here the host reads it.
fn add_store_error(body: &mut ErrorBody, error: &Error) {
    if let Error::Lookup(LookupError::Store(error)) | Error::Store(error) = error {
        body.message = with_causes(&**error);
        body.advice = Some(error.advice());
    }
}

/// Only the answer is written with `?`.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The two streams of a command.
pub(crate) struct Streams<'w> {
    pub(crate) out: &'w mut dyn Write,
    pub(crate) err: &'w mut dyn Write,
    /// The styles of `err`.
    styles: Styles,
    /// How JSON answers are laid out, and their colours.
    layout: (Form, TokenStyles),
    /// Whether errors are written as JSON to `out`.
    pub(crate) errors_as_json: bool,
    /// Where the command is in its input, if it has several documents.
    pub(crate) place: Option<String>,
}

impl<'w> Streams<'w> {
    pub(crate) fn new(out: &'w mut dyn Write, err: &'w mut dyn Write, styles: Styles) -> Self {
        Self {
            out,
            err,
            styles,
            layout: Default::default(),
            errors_as_json: false,
            place: None,
        }
    }

    /// Lays out JSON answers like this.
    pub(crate) fn with_layout(mut self, layout: (Form, TokenStyles)) -> Self {
        self.layout = layout;
        self
    }

    /// Writes errors as JSON.
    pub(crate) fn with_errors_as_json(mut self, errors_as_json: bool) -> Self {
        self.errors_as_json = errors_as_json;
        self
    }

    /// Lays out each answer on one line.
    pub(crate) fn keep_to_lines(&mut self) {
        self.layout.0 = Form::Compact;
    }

    /// Whether answers go to a terminal, and nobody asked for their bytes.
    #[cfg(feature = "sql")]
    pub(crate) fn prints_for_reader(&self) -> bool {
        self.layout.0 == Form::Indented
    }

    /// Writes JSON as a line of the answer, or as several if it is indented.
    pub(crate) fn json(&mut self, json: impl AsRef<[u8]>) -> Result {
        let (form, styles) = self.layout;
        layout::write(json.as_ref(), form, styles, self.out)?;
        Ok(writeln!(self.out)?)
    }

    /// Writes a line of the answer.
    pub(crate) fn answer(&mut self, line: impl Display) -> Result {
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Writes a JSON value like [`Self::json`]; with `raw` a string is written as its text.
    pub(crate) fn value(&mut self, json: &[u8], raw: bool) -> Result {
        if raw && let Ok(text) = serde_json::from_slice::<String>(json) {
            return self.answer(text);
        }
        self.json(json)
    }

    /// Writes a line to standard error, after what there is of the answer. The answer is written even if that fails.
    pub(crate) fn remark(&mut self, line: impl Display) {
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{line}");
    }

    /// A remark behind the place in the input, if the input has several documents.
    pub(crate) fn with_place(&self, text: impl Display) -> String {
        match &self.place {
            Some(place) => format!("{place}: {text}"),
            None => text.to_string(),
        }
    }

    /// Writes a notice.
    pub(crate) fn notice(&mut self, text: impl Display) {
        let style = self.styles.notice;
        let text = self.with_place(text);
        let text = printable(&text);
        self.remark(format_args!("{style}notice:{style:#} {text}"));
    }

    /// Writes an error that has no code.
    pub(crate) fn error(&mut self, text: impl Display) {
        let style = self.styles.error;
        let text = text.to_string();
        let text = printable_lines(&text);
        self.remark(format_args!("{style}error:{style:#} {text}"));
    }
}

/// A number of things: `1 tool`, `2 tools`.
pub(crate) fn count(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// Reports why a command stopped, as JSON on standard output or as text on standard error, and
/// gives the exit status.
pub(crate) fn report(error: &CommandError, io: &mut Streams<'_>) -> ExitCode {
    let unwritten = match write(error, io) {
        Ok(()) => return ExitCode::from(error.status()),
        Err(unwritten) => CommandError::Output(unwritten),
    };
    // Standard error cannot fail here: what it does not take is lost.
    let _ = write(&unwritten, io);
    ExitCode::from(error.status().max(unwritten.status()))
}

/// Writes an error. Only JSON on standard output can fail.
pub(crate) fn write(error: &CommandError, io: &mut Streams<'_>) -> io::Result<()> {
    match error {
        CommandError::Answer(bodies) if io.errors_as_json => write_json(bodies, io.out),
        CommandError::Answer(bodies) => {
            write_text(bodies, io);
            Ok(())
        }
        CommandError::Usage(message) if io.errors_as_json => write_json(
            &[ErrorBody::new(ErrorCode::CommandInvalid, message)],
            io.out,
        ),
        CommandError::Usage(message) => {
            io.error(message);
            Ok(())
        }
        CommandError::Output(error) if error.kind() != ErrorKind::BrokenPipe => {
            io.error(format_args!("cannot write the answer: {error}"));
            Ok(())
        }
        CommandError::Output(_) | CommandError::Written(_) => Ok(()),
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

fn write_text(bodies: &[ErrorBody], io: &mut Streams<'_>) {
    let style = io.styles.error;
    for (index, body) in bodies.iter().enumerate() {
        let (code, message) = (body.code, printable_lines(&body.message));
        io.remark(format_args!("{style}error[{code}]:{style:#} {message}"));
        if let Some(advice) = body.advice.as_ref().filter(|_| index < MAX_ADVISED_ERRORS) {
            io.remark(printable_lines(advice));
        }
    }
}
