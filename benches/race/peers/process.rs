//! Peers in other languages: a process that stays, is asked over its standard input for one sample
//! at a time, and times its own loop.

use super::{FAILED, Part, Peer, Reason};
use crate::{files::File, rows::Row};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

pub(crate) struct Process {
    name: &'static str,
    version: String,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// jmespath.js.
pub(crate) fn node(folder: &Path) -> Result<Box<dyn Peer>, Reason> {
    Process::begin("jmespath.js", &["node"], "node.js", folder)
}

/// Python's jmespath.
pub(crate) fn python(folder: &Path) -> Result<Box<dyn Peer>, Reason> {
    Process::begin("jmespath.py", &["python3", "python"], "python.py", folder)
}

impl Process {
    fn begin(
        name: &'static str,
        interpreters: &[&str],
        program: &str,
        folder: &Path,
    ) -> Result<Box<dyn Peer>, Reason> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("race")
            .join(program);
        let mut reason = String::new();
        for interpreter in interpreters {
            let mut child = match command(interpreter)
                .args([&program, folder])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
            {
                Ok(child) => child,
                Err(error) => {
                    reason = format!("`{interpreter}` could not be started: {error}");
                    continue;
                }
            };
            let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(String::from("it has no pipes"));
            };
            let mut process = Self {
                name,
                version: String::new(),
                child,
                requests,
                answers: BufReader::new(answers),
            };
            // It may start and end at once, as the interpreter of a shop does that sells it.
            let hello = match process.read() {
                Ok(hello) => hello,
                Err(error) => {
                    reason = format!("`{interpreter}`: {error}");
                    continue;
                }
            };
            if let Some(missing) = hello["missing"].as_str() {
                return Err(missing.to_owned());
            }
            process.version = hello["version"].as_str().unwrap_or_default().to_owned();
            return Ok(Box::new(process));
        }
        Err(reason)
    }

    fn read(&mut self) -> Result<Value, Reason> {
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(|_| String::from("its process ended or spoke no JSON"))?;
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }

    fn ask(&mut self, request: &Value) -> Result<Value, Reason> {
        writeln!(self.requests, "{request}").map_err(|error| error.to_string())?;
        self.read()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "peers that are no libraries are processes"
)]
fn command(program: &str) -> Command {
    Command::new(program)
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer for Process {
    fn name(&self) -> &'static str {
        self.name
    }

    fn contents(&self, part: Part) -> Option<String> {
        let text = match part {
            Part::ParseExcluded => "its own loop over a value parsed before",
            Part::ParseIncluded => "its own loop, bytes parsed in each round",
        };
        Some(format!("{}; {text}", self.version))
    }

    fn open(&mut self, file: &File) -> Result<(), Reason> {
        self.ask(&json!({"do": "open", "file": file.path}))?;
        Ok(())
    }

    fn prepare(&mut self, row: &Row) -> Result<(), Reason> {
        self.ask(&json!({"do": "compile", "expression": row.jmespath}))?;
        Ok(())
    }

    fn answer(&mut self) -> Result<Vec<u8>, Reason> {
        let answer = self.ask(&json!({"do": "answer"}))?;
        let text = answer["answer"].as_str().unwrap_or_default();
        Ok(text.as_bytes().to_vec())
    }

    fn run(&mut self, part: Part, times: u64) -> Duration {
        let what = match part {
            Part::ParseExcluded => "evaluate",
            Part::ParseIncluded => "parse",
        };
        let answer = self.ask(&json!({"do": what, "times": times}));
        let taken = answer
            .ok()
            .and_then(|answer| answer["nanoseconds"].as_u64());
        taken.map_or(FAILED, Duration::from_nanos)
    }

    fn warms_up(&self) -> bool {
        true
    }
}
