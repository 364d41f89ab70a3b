//! What became of each file, for people or as JSON.
//!
//! Nothing is printed before everything is done.

use crate::report::{self, CommandError, Result};
use crossfeed::{ErrorBody, ErrorCode, ErrorReport};
use serde_json::{Map, Value, json};
use std::{
    io::{self, Write},
    path::Path,
};

/// What became of a file.
pub(super) struct FileReport {
    /// The file.
    file: String,
    /// What became of it, as a word and in words.
    outcome: (&'static str, String),
    /// The servers that go through the gateway.
    pub(super) moved: Vec<String>,
    /// The servers that stay, and why.
    pub(super) stay: Vec<(String, String)>,
    /// What else there is to know.
    pub(super) notices: Vec<String>,
    /// The gateway's configuration.
    pub(super) config: Option<String>,
    /// The file as it was, and how that is put back.
    pub(super) backup: Option<(String, String)>,
    /// The servers that would go, and the one that would come.
    pub(super) change: Option<(Value, Value)>,
    error: Option<CommandError>,
}

impl FileReport {
    pub(super) fn new(file: &Path, outcome: &'static str, words: impl Into<String>) -> Self {
        Self {
            file: file.display().to_string(),
            outcome: (outcome, words.into()),
            moved: Vec::new(),
            stay: Vec::new(),
            notices: Vec::new(),
            config: None,
            backup: None,
            change: None,
            error: None,
        }
    }

    /// Of a file with which it did not work.
    pub(super) fn failed(file: &Path, why: CommandError) -> Self {
        Self {
            error: Some(why),
            ..Self::new(file, "failed", String::new())
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.error.is_some() {
            // `write` reports it.
            return Ok(());
        }
        writeln!(out, "{}: {}", plain(&self.file), plain(&self.outcome.1))?;
        for (name, why) in &self.stay {
            let (name, why) = (plain(name), plain(why));
            writeln!(out, "  `{name}` stays where it is: {why}")?;
        }
        for notice in &self.notices {
            writeln!(out, "  notice: {}", plain(notice))?;
        }
        if let Some(config) = &self.config {
            writeln!(out, "  configuration of the gateway: {}", plain(config))?;
        }
        if let Some((backup, back)) = &self.backup {
            let (backup, back) = (plain(backup), plain(back));
            writeln!(out, "  as it was: {backup}; `{back}` puts it back")?;
        }
        let Some((gone, new)) = &self.change else {
            return Ok(());
        };
        for (sign, servers) in [('-', gone), ('+', new)] {
            let text = format!("{servers:#}");
            // The braces around them say nothing.
            for line in text.lines().filter(|line| line.starts_with(' ')) {
                writeln!(out, "{sign} {}", plain(line))?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let mut said = Map::new();
        said.insert("file".to_owned(), self.file.as_str().into());
        said.insert("outcome".to_owned(), self.outcome.0.into());
        match &self.error {
            Some(CommandError::Answer(bodies)) => {
                said.insert("errors".to_owned(), json!(bodies));
            }
            Some(CommandError::Usage(why)) => {
                said.insert("errors".to_owned(), json!([{ "message": why }]));
            }
            Some(CommandError::Output(_) | CommandError::Written(_)) | None => {}
        }
        let stay = self.stay.iter();
        let stay = stay.map(|(name, why)| json!({"name": name, "why": why}));
        let mut list = |key: &str, items: Vec<Value>| {
            if !items.is_empty() {
                said.insert(key.to_owned(), items.into());
            }
        };
        list("moved", self.moved.iter().map(|name| json!(name)).collect());
        list("stay", stay.collect());
        list("notices", self.notices.iter().map(|it| json!(it)).collect());
        if let Some(config) = &self.config {
            said.insert("config".to_owned(), config.as_str().into());
        }
        if let Some((backup, _)) = &self.backup {
            said.insert("backup".to_owned(), backup.as_str().into());
        }
        if let Some((gone, new)) = &self.change {
            said.insert("gone".to_owned(), gone.clone());
            said.insert("new".to_owned(), new.clone());
        }
        said.into()
    }
}

/// Says it of all files, and how the command ends by it: the other files are none the worse for one with
/// which it did not work.
pub(super) fn write(said: Vec<FileReport>, json: bool, out: &mut dyn Write) -> Result {
    let files: Vec<_> = said.iter().map(FileReport::json).collect();
    let mut lines = Vec::new();
    for file in said.iter().filter(|_| !json) {
        file.write(&mut lines)?;
    }
    let (mut wrong, mut failed) = (Vec::new(), Vec::new());
    for error in said.into_iter().filter_map(|file| file.error) {
        match error {
            CommandError::Answer(bodies) => wrong.extend(bodies),
            CommandError::Usage(why) => failed.push(why),
            CommandError::Output(error) => return Err(error.into()),
            CommandError::Written(_) => {}
        }
    }
    let status = if failed.is_empty() {
        report::ERROR
    } else {
        report::USAGE
    };
    let failed = failed
        .into_iter()
        .map(|why| ErrorBody::new(ErrorCode::CommandInvalid, why));
    let wrong: Vec<_> = failed.chain(wrong).collect();
    if json {
        let mut document = Map::from_iter([("files".to_owned(), files.into())]);
        if let Some((first, rest)) = wrong.split_first() {
            let report = json!(ErrorReport::new(first.clone(), rest.iter().cloned()));
            document.extend(report.as_object().cloned().unwrap_or_default());
        }
        writeln!(lines, "{}", Value::Object(document))?;
    }
    out.write_all(&lines)?;
    out.flush()?;
    match (wrong.is_empty(), json, status) {
        (true, ..) => Ok(()),
        (false, true, _) => Err(CommandError::Written(status)),
        (false, false, report::USAGE) => {
            let messages: Vec<_> = wrong.into_iter().map(|body| body.message).collect();
            Err(CommandError::usage(messages.join("; ")))
        }
        (false, false, _) => Err(CommandError::Answer(wrong)),
    }
}

/// A text of a client's file as a line may hold it: what would steer a terminal is escaped.
pub(super) fn plain(text: &str) -> String {
    let escaped = |c: char| {
        if c.is_control() {
            c.escape_debug().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(escaped).collect()
}
