//! `crossfeed-store-history`: the checker of shared stores, by hand and in the tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    crossfeed_store_history::main(&arguments)
}
