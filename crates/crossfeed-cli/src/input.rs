//! Reads files, standard input, and JSON on the command line.

use crate::{
    encoding::decoded,
    report::{CommandError, Result, bail},
    schema_file,
};
use bytes::Bytes;
use crossfeed::{ErrorCode, json::Document};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    io::{self, Read},
    path::Path,
};

/// Whether the name means standard input.
pub(crate) fn is_stdin(name: &OsStr) -> bool {
    name == "-"
}

/// Refuses standard input for more than one input.
pub(crate) fn check_stdin<'p>(inputs: impl IntoIterator<Item = Option<&'p OsStr>>) -> Result {
    let stdin = inputs.into_iter().flatten().filter(|name| is_stdin(name));
    if stdin.count() > 1 {
        bail!("only one input may be standard input");
    }
    Ok(())
}

/// The name of an input in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_stdin(path.as_os_str()) {
        "standard input".to_owned()
    } else {
        format!("`{}`", path.display())
    }
}

/// The bytes of a file or of standard input.
pub(crate) fn read(path: &Path) -> Result<Bytes> {
    let read = if is_stdin(path.as_os_str()) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    read.map(Bytes::from)
        .map_err(|error| unreadable(path, &error))
}

/// The bytes of a file or of standard input, up to a limit; or why there are none, with the name.
pub(crate) fn read_at_most(path: &Path, most: u64) -> Result<Bytes, String> {
    let mut bytes = Vec::new();
    let read = opened(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| cannot_read(path, &error))?;
    if bytes.len() as u64 > most {
        return Err(format!("{} is larger than {most} bytes", name(path)));
    }
    Ok(bytes.into())
}

/// A file or standard input as a stream.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>> {
    opened(path).map_err(|error| unreadable(path, &error))
}

fn opened(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if is_stdin(path.as_os_str()) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(fs::File::open(path)?)
    })
}

/// The bytes of a file or of standard input; text in UTF-16 becomes UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<Bytes> {
    Ok(decoded(read(path)?))
}

/// The error for an input that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::usage(cannot_read(path, error))
}

fn cannot_read(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", name(path))
}

/// The value of a JSON file; errors call it `what`.
pub(crate) fn read_schema(path: &Path, what: &str) -> Result<Value> {
    let schema = read_schema_within(path, what)?;
    match schema_file::data_fault(&schema) {
        None => Ok(schema),
        Some(why) => Err(invalid_schema(what, &why).with_advice(schema_file::ADVICE)),
    }
}

/// The value of a JSON file that is a schema, or holds one.
pub(crate) fn read_schema_within(path: &Path, what: &str) -> Result<Value> {
    let document = Document::new(read_text(path)?);
    let value = document.root().map_err(|error| error.to_string());
    let value = value.and_then(|root| root.to_value().map_err(|error| error.to_string()));
    value.map_err(|why| invalid_schema(what, &why))
}

fn invalid_schema(what: &str, why: &str) -> CommandError {
    let message = format!("{what} is not a valid JSON Schema: {why}");
    CommandError::answer(ErrorCode::SchemaInvalid, message)
}

/// The bytes of a file, of standard input, or of the text itself if it is JSON and not the name of a file.
pub(crate) fn read_or_inline(text: &OsStr) -> Result<Bytes> {
    let path = Path::new(text);
    if !is_stdin(text) && !path.exists() {
        let json = text.to_str().map(str::trim_start).unwrap_or_default();
        let document = Document::new(text.as_encoded_bytes().to_vec());
        // Brackets and quotes are meant as JSON, even if it is invalid.
        if json.starts_with(['{', '[', '"']) || document.root().is_ok() {
            return Ok(document.raw().clone());
        }
        bail!(
            "cannot read {}: there is no such file, and it is not valid JSON",
            name(path)
        );
    }
    read_text(path)
}
