//! The documents of a command that takes several: each file is one, or with `--ndjson` each line. An error in one of several
//! is reported, and the next one follows.

use crate::{
    cli::{self, Kind},
    document, input,
    report::{self, CommandError, Result, Streams, bail, count},
};
use crossfeed::json::Document;
use std::{
    io::{BufRead, BufReader},
    path::Path,
};

/// Errors that are written of one file with a document in each line; the others are counted. As JSON all are written.
const MAX_WRITTEN_ERRORS: usize = 20;

/// Runs the command on each document.
///
/// # Errors
///
/// That of the only document; with several, the worst status of those that are reported already, or that the answer cannot
/// be written.
pub(crate) async fn each(
    args: &cli::Inputs,
    kind: Option<Kind>,
    io: &mut Streams<'_>,
    mut run: impl AsyncFnMut(Document, &mut Streams<'_>) -> Result,
) -> Result {
    input::check_stdin(args.files.iter().map(|file| Some(file.as_os_str())))?;
    if args.ndjson && matches!(kind, Some(Kind::Text | Kind::Bytes)) {
        bail!("with `--ndjson` each line is JSON: `--kind` may be json or mcp");
    }
    if let ([file], false) = (args.files.as_slice(), args.ndjson) {
        let document = document::read(file, kind, io)?;
        return run(document, io).await;
    }
    let mut status = 0;
    for file in &args.files {
        let done = if args.ndjson {
            each_line(file, kind, io, &mut run).await
        } else {
            match document::read(file, kind, io) {
                Ok(document) => {
                    io.place = Some(input::name(file));
                    run(document, io).await
                }
                Err(error) => Err(error), // It names the file.
            }
        };
        status = status.max(reported(done, io)?);
    }
    ended(status, io)
}

/// Runs the command on each line of a file.
async fn each_line(
    file: &Path,
    kind: Option<Kind>,
    io: &mut Streams<'_>,
    run: &mut impl AsyncFnMut(Document, &mut Streams<'_>) -> Result,
) -> Result {
    let mut lines = BufReader::new(input::open(file)?);
    let (mut status, mut errors) = (0, 0_usize);
    let mut line = Vec::new();
    for number in 1_u64.. {
        if !lines.buffer().contains(&b'\n') {
            // What is answered is written before more is waited for.
            io.out.flush()?;
        }
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return Err(input::unreadable(file, &error)),
        }
        let name = input::name(file);
        if number == 1
            && let Some(why) = document::no_lines(&line)
        {
            bail!("{name} {why}");
        }
        let text = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
        if text.trim_ascii().is_empty() {
            continue;
        }
        let place = format!("line {number} of {name}");
        let done = match document::line(text.trim_ascii(), kind) {
            Ok(document) => {
                io.place = Some(place);
                run(document, io).await
            }
            Err(why) => Err(CommandError::usage(format!("{place} {why}"))),
        };
        errors += usize::from(done.is_err());
        status = status.max(match done {
            Err(error)
                if unwritten(errors, io) > 0 && !matches!(error, CommandError::Output(_)) =>
            {
                error.status()
            }
            done => reported(done, io)?,
        });
    }
    let unwritten = unwritten(errors, io);
    if unwritten > 0 {
        let more = count(unwritten, "more line");
        io.error(format_args!("{more} of {} failed", input::name(file)));
    }
    ended(status, io)
}

/// How many of a file's errors are only counted.
fn unwritten(errors: usize, io: &Streams<'_>) -> usize {
    if io.errors_as_json {
        0
    } else {
        errors.saturating_sub(MAX_WRITTEN_ERRORS)
    }
}

/// The status of one of several documents, whose error is written. Only a failure to write ends the command.
fn reported(done: Result, io: &mut Streams<'_>) -> Result<u8> {
    let place = io.place.take();
    match (done, place) {
        (Ok(()), _) => Ok(0),
        (Err(error @ CommandError::Output(_)), _) => Err(error),
        (Err(error), place) => {
            let error = match place {
                Some(place) => error.at_place(&place),
                None => error,
            };
            report::write(&error, io)?;
            Ok(error.status())
        }
    }
}

/// The worst status of several documents, once their answers are written.
fn ended(status: u8, io: &mut Streams<'_>) -> Result {
    io.out.flush()?;
    match status {
        0 => Ok(()),
        status => Err(CommandError::Written(status)),
    }
}
