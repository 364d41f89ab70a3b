//! A client on the standard input and output of a child process: writes lines, reads lines, nothing between.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

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

/// Starts a command, and copies lines between it and this process's standard input and output until one of them ends.
pub(crate) fn copy(command: &[OsString]) -> Outcome<()> {
    let (program, rest) = command.split_first().ok_or("no command")?;
    #[expect(clippy::disallowed_methods, reason = "a racer in front of a server")]
    let mut command = Command::new(program);
    let mut child = command
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no standard streams".into());
    };
    let there = thread::spawn(move || lines(io::stdin().lock(), to).is_ok());
    lines(BufReader::with_capacity(1 << 16, from), io::stdout())?;
    child.wait()?;
    // It waits for a line that nobody needs, or is done.
    drop(there);
    Ok(())
}

fn lines(mut from: impl BufRead, mut to: impl io::Write) -> io::Result<()> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        line.clear();
    }
    Ok(())
}

impl Lines {
    pub(crate) fn send(&mut self, message: &[u8]) -> Outcome<()> {
        self.input.write_all(message)?;
        self.input.flush()?;
        Ok(())
    }

    /// The next answer. What is not an answer is passed over.
    pub(crate) fn receive(&mut self) -> Outcome<&[u8]> {
        loop {
            self.line.clear();
            if self.output.read_until(b'\n', &mut self.line)? == 0 {
                return Err("the process ended".into());
            }
            if crate::messages::is_answer(&self.line) {
                return Ok(&self.line);
            }
        }
    }
}
