//! The history checker, run against the gateway's program. `tests/history/README.md` says what it checks.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let gateway = Path::new(env!("CARGO_BIN_EXE_crossfeed"));
    crossfeed_history::main(&arguments, gateway)
}
