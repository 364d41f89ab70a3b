//! `crossfeed trace`: traces that were written down.

mod sanitize;

use crate::{cli::TraceCommand, report::Stop};
use std::io::Write;

pub(crate) fn run(
    command: &TraceCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    match command {
        TraceCommand::Sanitize(args) => sanitize::run(args, out, err),
    }
}
