//! Reports the outcome for each file, for people or as JSON, after everything is done.

use crate::report::{self, CommandError, Result};
use crossfeed::{
    ErrorCode,
    error::{ErrorBody, ErrorReport, printable},
};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    io::{self, Write},
    path::Path,
};

/// A server that stays in the client's file.
#[derive(Serialize)]
struct Stay {
    name: String,
    why: String,
}

/// The outcome for a file.
#[derive(Serialize)]
pub(super) struct FileReport {
    file: String,
    /// The outcome as a word.
    outcome: &'static str,
    /// The outcome for people.
    #[serde(skip)]
    words: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Value>,
    /// The servers that move behind the gateway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) moved: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stay: Vec<Stay>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notices: Vec<String>,
    /// The gateway's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<String>,
    /// The copy of the original file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backup: Option<String>,
    /// The command that restores the original file.
    #[serde(skip)]
    pub(super) restore: String,
    /// The servers that the change removes, and the one that it adds.
    #[serde(flatten)]
    pub(super) change: Option<Change>,
    #[serde(skip)]
    error: Option<CommandError>,
}

/// A change of a client's file that is only planned.
#[derive(Serialize)]
pub(super) struct Change {
    pub(super) gone: Value,
    pub(super) new: Value,
}

impl FileReport {
    pub(super) fn new(file: &Path, outcome: &'static str, words: impl Into<String>) -> Self {
        Self {
            file: file.display().to_string(),
            outcome,
            words: words.into(),
            errors: Vec::new(),
            moved: Vec::new(),
            stay: Vec::new(),
            notices: Vec::new(),
            config: None,
            backup: None,
            restore: String::new(),
            change: None,
            error: None,
        }
    }

    /// Sets the servers that stay, and why.
    pub(super) fn with_stay(mut self, stay: Vec<(String, String)>) -> Self {
        let stay = stay.into_iter();
        self.stay = stay.map(|(name, why)| Stay { name, why }).collect();
        self
    }

    /// The report of a file that failed.
    pub(super) fn failed(file: &Path, error: CommandError) -> Self {
        let errors = match &error {
            CommandError::Answer(bodies) => bodies.iter().map(|body| json!(body)).collect(),
            CommandError::Usage(why) => vec![json!({ "message": why })],
            CommandError::Output(_) | CommandError::Written(_) => Vec::new(),
        };
        Self {
            errors,
            error: Some(error),
            ..Self::new(file, "failed", String::new())
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.error.is_some() {
            // `write` reports it.
            return Ok(());
        }
        writeln!(out, "{}: {}", printable(&self.file), printable(&self.words))?;
        for Stay { name, why } in &self.stay {
            let (name, why) = (printable(name), printable(why));
            writeln!(out, "  `{name}` stays where it is: {why}")?;
        }
        for notice in &self.notices {
            writeln!(out, "  notice: {}", printable(notice))?;
        }
        if let Some(config) = &self.config {
            writeln!(out, "  configuration of the gateway: {}", printable(config))?;
        }
        if let Some(backup) = &self.backup {
            let (backup, restore) = (printable(backup), printable(&self.restore));
            writeln!(out, "  the original: {backup}; `{restore}` restores it")?;
        }
        let Some(Change { gone, new }) = &self.change else {
            return Ok(());
        };
        for (sign, servers) in [('-', gone), ('+', new)] {
            let text = format!("{servers:#}");
            // Without the outer braces.
            for line in text.lines().filter(|line| line.starts_with(' ')) {
                writeln!(out, "{sign} {}", printable(line))?;
            }
        }
        Ok(())
    }
}

/// Writes the reports of all files, and returns the errors of those that failed.
pub(super) fn write(reports: Vec<FileReport>, json: bool, out: &mut dyn Write) -> Result {
    let mut document = json!({ "files": &reports });
    let mut lines = Vec::new();
    for file in reports.iter().filter(|_| !json) {
        file.write(&mut lines)?;
    }
    let (mut bodies, mut messages) = (Vec::new(), Vec::new());
    for error in reports.into_iter().filter_map(|file| file.error) {
        match error {
            CommandError::Answer(wrong) => bodies.extend(wrong),
            CommandError::Usage(why) => messages.push(why),
            CommandError::Output(error) => return Err(error.into()),
            CommandError::Written(_) => {}
        }
    }
    let is_usage = !messages.is_empty();
    let is_done = bodies.is_empty() && !is_usage;
    if json {
        let failed = messages.iter();
        let failed = failed.map(|why| ErrorBody::new(ErrorCode::CommandInvalid, why));
        let mut errors = failed.chain(bodies.iter().cloned());
        if let Some(first) = errors.next()
            && let Value::Object(report) = json!(ErrorReport::new(first, errors))
            && let Some(document) = document.as_object_mut()
        {
            document.extend(report);
        }
        writeln!(lines, "{document}")?;
    }
    out.write_all(&lines)?;
    out.flush()?;
    if is_done {
        Ok(())
    } else if json {
        let status = if is_usage {
            report::USAGE
        } else {
            report::ERROR
        };
        Err(CommandError::Written(status))
    } else if is_usage {
        messages.extend(bodies.into_iter().map(|body| body.message));
        Err(CommandError::usage(messages.join("; ")))
    } else {
        Err(CommandError::Answer(bodies))
    }
}
