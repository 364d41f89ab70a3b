//! `crossfeed strip`: removes the fields that the engine added to a result.

use crate::{cli, document, report::Result};
use crossfeed::render::{StripPolicy, strip};
use std::io::Write;

pub(crate) fn run(args: &cli::Strip, out: &mut dyn Write) -> Result {
    // An invalid object could contain internal fields.
    let document = document::read_object(&args.file)?;
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
