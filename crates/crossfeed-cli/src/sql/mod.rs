//! `crossfeed sql`: SQL over results, as a model gets it, in a process that is shut off.

mod grid;

use crate::{
    cli, document, input,
    records::{self, Content},
    report::{CommandError, Result, Streams, bail},
    terminal,
};
use crossfeed::{CallId, Engine, EngineOptions, Scope, Session, error::printable_lines};
use crossfeed_gateway::export::{self, ExportRequest, export};
use crossfeed_sql::is_ended;
use crossfeed_worker::{Lease, QueryAnswer, WorkerCommand, WorkerError, WorkerOptions, Workers};
use rustyline::{DefaultEditor, error::ReadlineError};
use std::{
    collections::HashSet,
    io::{self, IsTerminal as _, Read as _},
    path::Path,
    time::Duration,
};

/// The words that end the prompt.
const ENDS: [&str; 4] = ["exit", "quit", ".exit", ".quit"];

/// The arguments that make this program a worker.
pub(crate) const WORKER: [&str; 1] = ["worker"];

pub(crate) fn run(args: &cli::Sql, io: &mut Streams<'_>) -> Result {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| CommandError::usage(format!("cannot start: {error}")))?;
    runtime.block_on(answer(args, io))
}

async fn answer(args: &cli::Sql, io: &mut Streams<'_>) -> Result {
    let first = Path::new(&args.statement);
    let is_named = first != Path::new("-");
    let mut files: Vec<&Path> = args.files.iter().map(AsRef::as_ref).collect();
    if args.describe && is_named {
        // There is no statement, so that the first is a file, too.
        files.insert(0, first);
    }
    let reads_statement = !args.describe && !is_named;
    let is_prompt = reads_statement && io::stdin().is_terminal();
    let statement = (reads_statement && !is_prompt).then_some(Path::new("-"));
    let inputs = files
        .iter()
        .copied()
        .chain(args.results.as_deref())
        .chain(statement);
    input::check_stdin(inputs.map(|path| Some(path.as_os_str())))?;
    if files.is_empty() && args.results.is_none() {
        bail!("there is nothing to query: name files, or give `--results FILE`");
    }
    let mut tables = Tables::new(workers(args)?);
    for path in files {
        let name = table_name(path);
        let document = document::read(path, args.kind, io)?;
        let id = CallId::parse(&name)?;
        let session =
            records::session_of(EngineOptions::default(), &id, document, args.kind).await?;
        tables.add(&session, &id, io).await?;
    }
    if let Some(path) = &args.results {
        add_records(&mut tables, path, &args.session, io).await?;
    }
    let mut worker = tables.lease().await?;
    let printer = Printer {
        is_grid: args.table || io.prints_for_reader(),
    };
    if args.describe {
        let tables = worker.outline_all().await.map_err(failed)?;
        return io.answer(printable_lines(&tables.text));
    }
    if is_prompt {
        return prompt(&tables, worker, &printer, io).await;
    }
    let mut sql = args.statement.clone();
    if reads_statement {
        sql.clear();
        let read = io::stdin().lock().read_to_string(&mut sql);
        read.map_err(|error| input::unreadable(Path::new("-"), &error))?;
    }
    let answer = worker.query(&sql).await.map_err(failed)?;
    printer.print(&answer, io)
}

fn workers(args: &cli::Sql) -> Result<Workers<()>> {
    let mut options = WorkerOptions::new(WorkerCommand::own(WORKER).map_err(failed)?);
    let limits = options
        .limits
        .with_time(Duration::from_secs(args.time))
        .with_answer_bytes(256 << 20)
        .with_import_bytes(256 << 20);
    options.limits = limits;
    // What is read by hand is as large as the files of its owner.
    let options = options.with_memory_bytes(8 << 30).with_warm(0);
    Ok(Workers::new(options))
}

/// The table of a file: its name without what tells its kind.
fn table_name(path: &Path) -> String {
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| stem != "-")
        .unwrap_or_else(|| "input".to_owned())
}

async fn add_records(
    tables: &mut Tables,
    path: &Path,
    session: &str,
    io: &mut Streams<'_>,
) -> Result {
    let scope = records::named_scope(session)?;
    let results = input::read(path)?;
    let records = records::of_file(&results, path)?;
    let options = records::with_room(EngineOptions::default(), results.len());
    let engine = Engine::new(options, records::store());
    let session = engine.session(scope.clone());
    for record in records {
        if record
            .scope
            .as_ref()
            .is_some_and(|own: &Scope| *own != scope)
        {
            continue;
        }
        if let Content::Result(id, result) = record.content {
            session.record(&id, result).await?;
            tables.add(&session, &id, io).await?;
        }
    }
    Ok(())
}

/// What becomes tables: kept, since a process that is ended loses its own.
struct Tables {
    workers: Workers<()>,
    results: Vec<(String, Vec<u8>)>,
    /// In lower case.
    names: HashSet<String>,
}

impl Tables {
    fn new(workers: Workers<()>) -> Self {
        Self {
            workers,
            results: Vec::new(),
            names: HashSet::new(),
        }
    }

    /// Adds a result; with a notice in its place where it has no rows.
    async fn add(&mut self, session: &Session, id: &CallId, io: &mut Streams<'_>) -> Result {
        if !self.names.insert(id.as_str().to_ascii_lowercase()) {
            bail!("two results would be the table `{id}`: give one another name");
        }
        let exported = export(session, ExportRequest::new(id), usize::MAX, |_| Some(())).await;
        let exported = match exported {
            Ok((exported, ())) => exported,
            Err(export::ExportError::Failure(failure)) => {
                io.notice(format_args!("`{id}` is no table: {}", failure.error));
                return Ok(());
            }
            Err(error) => return Err(CommandError::usage(error.to_string())),
        };
        let json = match exported.content {
            export::Content::Json(json) => json.to_vec(),
            export::Content::Text(text) => serde_json::Value::from(text).to_string().into_bytes(),
            _ => {
                io.notice(format_args!("`{id}` is no table: it is binary data"));
                return Ok(());
            }
        };
        self.results.push((id.to_string(), json));
        Ok(())
    }

    /// A process that has all of them.
    async fn lease(&self) -> Result<Lease<()>> {
        let mut worker = self.workers.lease("").await.map_err(failed)?;
        for (name, json) in &self.results {
            worker.import(name, json).await.map_err(failed)?;
        }
        Ok(worker)
    }
}

fn failed(error: WorkerError) -> CommandError {
    CommandError::answer(error.code(), error.to_string()).with_advice(error.advice())
}

/// Answers statements until the input ends. One that is interrupted, or takes too long, ends with its process.
async fn prompt(
    tables: &Tables,
    mut worker: Lease<()>,
    printer: &Printer,
    io: &mut Streams<'_>,
) -> Result {
    let unreadable =
        |error: ReadlineError| CommandError::usage(format!("cannot read statements: {error}"));
    let mut editor = DefaultEditor::new().map_err(unreadable)?;
    let outline = worker.outline_all().await.map_err(failed)?.text;
    io.remark(printable_lines(&outline));
    io.remark(
        "Write a statement and `;`. `.tables` shows the tables again, `.quit` or Ctrl-D ends.",
    );
    let mut statement = String::new();
    loop {
        io.out.flush()?;
        let is_begun = !statement.trim().is_empty();
        match editor.readline(if is_begun { "...> " } else { "sql> " }) {
            Ok(line) if !is_begun && ENDS.contains(&line.trim().trim_end_matches(';')) => {
                return Ok(());
            }
            Ok(line) if !is_begun && line.trim() == ".tables" => {
                io.remark(printable_lines(&outline));
                continue;
            }
            Ok(line) => {
                statement.push_str(&line);
                statement.push('\n');
            }
            // What was begun is given up.
            Err(ReadlineError::Interrupted) if is_begun => statement.clear(),
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(unreadable(error)),
        }
        if !is_ended(&statement) {
            continue;
        }
        let sql = std::mem::take(&mut statement);
        let _ = editor.add_history_entry(sql.trim());
        let answered = tokio::select! {
            answered = worker.query(&sql) => answered,
            _ = tokio::signal::ctrl_c() => {
                io.remark("interrupted");
                drop(worker);
                worker = tables.lease().await?;
                continue;
            }
        };
        match answered {
            Ok(answer) => printer.print(&answer, io)?,
            Err(error) => {
                let is_gone = !matches!(error, WorkerError::Query(_));
                crate::report::write(&failed(error), io)?;
                if is_gone {
                    drop(worker);
                    worker = tables.lease().await?;
                }
            }
        }
    }
}

struct Printer {
    is_grid: bool,
}

impl Printer {
    fn print(&self, answer: &QueryAnswer, io: &mut Streams<'_>) -> Result {
        if self.is_grid {
            grid::write(&answer.json, terminal::columns(), io.out)?;
        } else {
            io.json(&answer.json)?;
        }
        if answer.is_cut {
            io.notice(format_args!(
                "only the first {} rows: the answer is longer than it may be",
                answer.rows
            ));
        }
        Ok(())
    }
}
