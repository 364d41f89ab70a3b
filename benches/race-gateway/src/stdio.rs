//! A client on the standard input and output of a child process: writes lines, reads lines, nothing between.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::Outcome;

pub(crate) struct Lines {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

pub(crate) fn start(mut command: Command) -> Outcome<(Child, Lines)> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no standard streams".into());
    };
    Ok((
        child,
        Lines {
            input,
            output: BufReader::with_capacity(1 << 16, output),
            line: Vec::new(),
        },
    ))
}

impl Lines {
    pub(crate) fn send(&mut self, message: &[u8]) -> Outcome<()> {
        self.input.write_all(message)?;
        self.input.flush()?;
        Ok(())
    }

    /// The next answer. What is no answer is passed over.
    pub(crate) fn receive(&mut self) -> Outcome<&[u8]> {
        loop {
            self.line.clear();
            if self.output.read_until(b'\n', &mut self.line)? == 0 {
                return Err("the process ended".into());
            }
            if crate::measure::is_answer(&self.line) {
                return Ok(&self.line);
            }
        }
    }
}
