//! The worker's side: reads what the host asks, and answers.

use crate::{
    frame,
    message::{self, Fault, Reply, Request, TableOutline},
    sandbox::Sandbox,
};
use bytes::Bytes;
use crossfeed_sql::{Database, SqlError, Table, outline};
use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

/// Is a worker on standard input and output until the host closes them. A program that a
/// [`WorkerCommand`](crate::WorkerCommand) names calls this before it starts a thread or opens a file.
#[must_use = "it is how the process ends"]
pub fn serve() -> ExitCode {
    match run(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // The host has closed its end, so that it cannot be told.
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
    let mut database = match Database::open(opening.limits()) {
        Ok(database) => database,
        Err(error) => return answer(to, &failed(&error), b""),
    };
    answer(to, &Reply::Opened { sandbox }, b"")?;
    while let Some(frame) = frame::read(from)? {
        let Some((request, end)) = message::read::<Request>(&frame) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let answered = match request {
            Request::Open(_) => return Err(io::ErrorKind::InvalidData.into()),
            Request::Import { name } => {
                import(&mut database, &name, Bytes::from(frame).slice(end..))
            }
            Request::Query { results } => query(&mut database, results.as_deref(), &frame[end..]),
            Request::Outline { results } => {
                let tables = database.tables().iter();
                let tables = tables.filter(|table| is_one_of(results.as_deref(), &table.result));
                Ok((outlined(tables), Vec::new()))
            }
        };
        match answered {
            Ok((reply, json)) => answer(to, &reply, &json)?,
            Err(error) => answer(to, &failed(&error), b"")?,
        }
    }
    Ok(())
}

type Answered = Result<(Reply, Vec<u8>), SqlError>;

fn import(database: &mut Database, name: &str, json: Bytes) -> Answered {
    let tables = database.import(name, json)?;
    Ok((outlined(tables.iter()), Vec::new()))
}

fn query(database: &mut Database, results: Option<&[String]>, sql: &[u8]) -> Answered {
    let sql = String::from_utf8_lossy(sql);
    let answer = database.query_within(&sql, |result| is_one_of(results, result))?;
    let reply = Reply::Rows {
        rows: answer.rows,
        is_cut: answer.is_cut,
    };
    Ok((reply, answer.json))
}

fn is_one_of(results: Option<&[String]>, result: &str) -> bool {
    results.is_none_or(|results| results.iter().any(|own| own == result))
}

fn outlined<'t>(tables: impl Iterator<Item = &'t Table>) -> Reply {
    Reply::Outlined(TableOutline {
        text: outline(tables),
    })
}

fn answer(to: &mut impl Write, reply: &Reply, behind: &[u8]) -> io::Result<()> {
    frame::write(to, &[&message::head(reply), behind])
}

fn failed(error: &SqlError) -> Reply {
    Reply::Failed(Fault {
        code: error.code().as_str().to_owned(),
        message: error.to_string(),
        advice: error.advice(),
        is_memory: *error == SqlError::Memory,
    })
}
