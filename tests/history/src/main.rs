//! `crossfeed-history --gateway PROGRAM [--seconds N] [--seed N] [--soak | --replicas N]`: the history checker by hand.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    crossfeed_history::main(&arguments, Path::new("crossfeed"))
}
