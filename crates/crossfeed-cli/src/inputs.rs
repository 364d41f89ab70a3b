//! The documents of a command that takes several: each file is one, or with `--ndjson` each line. An error in one of several
//! is reported, and the next one follows.

use crate::{
    cli, document, input,
    report::{self, CommandError, Result, Streams, bail},
};
use crossfeed::json::Document;
use std::{
    io::{BufRead, BufReader},
    path::Path,
};

/// Runs the command on each document.
///
/// # Errors
///
/// That of the only document; with several, the worst status of those that are reported already.
pub(crate) async fn each(
    args: &cli::Inputs,
    io: &mut Streams<'_>,
    mut run: impl AsyncFnMut(Document, &mut Streams<'_>) -> Result,
) -> Result {
    input::check_stdin(args.files.iter().map(|file| Some(file.as_os_str())))?;
    if args.ndjson && matches!(args.kind, Some(cli::Kind::Text | cli::Kind::Bytes)) {
        bail!("with `--ndjson` each line is JSON: `--kind` may be json or mcp");
    }
    if let ([file], false) = (args.files.as_slice(), args.ndjson) {
        let document = document::read(file, args.kind, io)?;
        return run(document, io).await;
    }
    let mut status = 0;
    for file in &args.files {
        if args.ndjson {
            match input::open(file) {
                Ok(opened) => {
                    let mut lines = BufReader::new(opened);
                    each_line(args, file, &mut lines, io, &mut status, &mut run).await?;
                }
                Err(error) => status = status.max(report::write(&error, io)),
            }
            continue;
        }
        let done = match document::read(file, args.kind, io) {
            Ok(document) => {
                io.place = Some(input::name(file));
                run(document, io).await
            }
            Err(error) => Err(error), // It names the file.
        };
        status = status.max(reported(done, io)?);
    }
    match status {
        0 => Ok(()),
        status => Err(CommandError::Written(status)),
    }
}

/// Runs the command on each line of a file.

async fn each_line(
    args: &cli::Inputs,
    file: &Path,
    lines: &mut dyn BufRead,
    io: &mut Streams<'_>,
    status: &mut u8,
    run: &mut impl AsyncFnMut(Document, &mut Streams<'_>) -> Result,
) -> Result {
    let name = input::name(file);
    for number in 1_u64.. {
        let mut line = Vec::new();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                let error = input::unreadable(file, &error);
                *status = (*status).max(report::write(&error, io));
                break;
            }
        }
        let bytes = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            continue;
        }
        let place = format!("line {number} of {name}");
        let done = match document::line(bytes.to_vec().into(), args.kind) {
            Ok(document) => {
                io.place = Some(place);
                run(document, io).await
            }
            Err(why) => Err(CommandError::usage(format!("{place} {why}"))),
        };
        *status = (*status).max(reported(done, io)?);
    }
    Ok(())
}

/// The status of one of several documents, whose error is written. Only a failure to write the answer ends the command.
fn reported(done: Result, io: &mut Streams<'_>) -> Result<u8> {
    let place = io.place.take();
    match done {
        Ok(()) => Ok(0),
        Err(error @ CommandError::Output(_)) => Err(error),
        Err(error) => {
            let error = match place {
                Some(place) => error.at_place(&place),
                None => error,
            };
            Ok(report::write(&error, io))
        }
    }
}
