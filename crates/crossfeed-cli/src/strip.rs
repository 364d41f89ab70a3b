//! `crossfeed strip`: a result without the fields that the engine added.

use crate::{cli, input, report::Stop};
use crossfeed::{StripPolicy, json::Document, strip};
use std::io::Write;

pub(crate) fn run(args: &cli::Strip, out: &mut dyn Write) -> Result<(), Stop> {
    let document = Document::new(input::read(&args.file)?);
    let policy = if args.all_underscore {
        StripPolicy::AllUnderscore
    } else {
        StripPolicy::Internal
    };
    match strip(&document, policy) {
        Some(stripped) => out.write_all(&stripped)?,
        None => out.write_all(document.raw())?,
    }
    Ok(())
}
