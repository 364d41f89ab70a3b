//! The history checker with several replicas over one Redis. `tests/history/README.md` says what it checks.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let plan = ["--replicas", "3", "--seconds", "15"].map(str::to_owned);
    let arguments: Vec<String> = plan.into_iter().chain(std::env::args().skip(1)).collect();
    let gateway = Path::new(env!("CARGO_BIN_EXE_crossfeed"));
    crossfeed_history::main(&arguments, gateway)
}
