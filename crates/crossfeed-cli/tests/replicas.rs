//! The history checker with several replicas over one Redis. `tests/history/README.md` says what it checks.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // It is its own servers, too.
    if arguments.first().is_none_or(|first| first != "serve") {
        let plan = ["--replicas", "3", "--seconds", "15"].map(str::to_owned);
        arguments.splice(0..0, plan);
    }
    let gateway = Path::new(env!("CARGO_BIN_EXE_crossfeed"));
    crossfeed_history::main(&arguments, gateway)
}
