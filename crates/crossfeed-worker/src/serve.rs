//! The worker's side: reads what the host asks, and answers.

use crate::{
    frame,
    message::{self, Failed, Outlined, Reply, Request},
    sandbox::Sandbox,
};
use crossfeed_sql::{Database, SqlError, Table, outline};
use std::{
    collections::HashMap,
    io::{self, Read, Write},
    process::ExitCode,
};

/// Is a worker on standard input and output until the host closes them. A program that a
/// [`WorkerCommand`](crate::WorkerCommand) names calls this before it starts a thread or opens a file.
#[must_use = "it is how the process ends"]
pub fn serve() -> ExitCode {
    match run(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // There is nobody to tell: the host has closed its end.
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let Some(frame) = frame::read(from)? else {
        return Ok(());
    };
    let Some((Request::Open(opening), _)) = message::read(&frame) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    drop(frame);
    let sandbox = Sandbox::enter(opening.memory_bytes);
    let mut worker = match Database::open(opening.limits()) {
        Ok(database) => Worker {
            database,
            tables: HashMap::new(),
        },
        Err(error) => return answer(to, &failed(&error), b""),
    };
    answer(to, &Reply::Opened { sandbox }, b"")?;
    while let Some(frame) = frame::read(from)? {
        let Some((request, end)) = message::read::<Request>(&frame) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match worker.answer(request, frame, end) {
            Ok((reply, json)) => answer(to, &reply, &json)?,
            Err(error) => answer(to, &failed(&error), b"")?,
        }
    }
    Ok(())
}

fn answer(to: &mut impl Write, reply: &Reply, behind: &[u8]) -> io::Result<()> {
    frame::write(to, &[&message::head(reply), behind])
}

fn failed(error: &SqlError) -> Reply {
    Reply::Failed(Failed {
        code: error.code().as_str().to_owned(),
        message: error.to_string(),
        advice: error.advice(),
    })
}

struct Worker {
    database: Database,
    /// The names of the tables of each result.
    tables: HashMap<String, Vec<String>>,
}

impl Worker {
    fn answer(
        &mut self,
        request: Request,
        frame: Vec<u8>,
        end: usize,
    ) -> Result<(Reply, Vec<u8>), SqlError> {
        match request {
            // It is open.
            Request::Open(_) => Err(SqlError::Empty),
            Request::Import { name } => {
                let json = bytes::Bytes::from(frame).slice(end..);
                let tables = self.database.import(&name, json)?;
                let names = tables.iter().map(|table| table.name.clone()).collect();
                let reply = Reply::Outlined(outlined(tables.iter()));
                self.tables.insert(name, names);
                Ok((reply, Vec::new()))
            }
            Request::Query => {
                let sql = String::from_utf8_lossy(&frame[end..]);
                let answer = self.database.query(&sql)?;
                let reply = Reply::Rows {
                    rows: answer.rows,
                    is_cut: answer.is_cut,
                };
                Ok((reply, answer.json))
            }
            Request::Outline { names } => {
                let own = names
                    .iter()
                    .filter_map(|name| self.tables.get(name))
                    .flatten();
                let own: Vec<&String> = own.collect();
                let tables = self.database.tables().iter();
                let tables = tables.filter(|table| own.contains(&&table.name));
                Ok((Reply::Outlined(outlined(tables)), Vec::new()))
            }
        }
    }
}

fn outlined<'t>(tables: impl Iterator<Item = &'t Table> + Clone) -> Outlined {
    Outlined {
        text: outline(tables.clone()),
        tables: tables.count(),
    }
}
