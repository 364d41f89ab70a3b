//! The crossfeed command.
fn main() {}
