//! `crossfeed trace sanitize`: removes internal fields from OTLP/JSON. Each document is written before the next one is read, so
//! that the command works at the end of a pipe, and only one document is in memory.

use crate::{
    cli::{self, Payload},
    input,
    project::rules,
    report::{CommandError, Result, Streams, bail, count},
    unmatched::{self, Names, Unmatched, last_key},
};
use bytes::Bytes;
use crossfeed::{
    ErrorCode,
    json::Document,
    project::{Path, Step},
    telemetry::{
        HashKey, JsonDocuments, JsonPiece, OtlpJsonError, Policy, Redaction, StreamPosition,
        sanitize_json,
    },
};
use std::io::{ErrorKind, Write};

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 16;

pub(crate) fn run(args: &cli::Sanitize, io: &mut Streams<'_>) -> Result {
    let mut stream = Stream {
        policy: policy(args)?,
        documents: JsonDocuments::new(args.max_document),
        max_document: args.max_document,
        counts: Counts::default(),
        given: given(args)?,
        names: Names::default(),
    };
    let done = stream.run(args, io.out);
    io.out.flush()?;
    // The report covers what was done before an error.
    if args.report {
        io.remark(stream.counts.line());
    }
    done?;
    // Without documents every name would be unmatched.
    if stream.counts.documents == 0 {
        return Ok(());
    }
    let names = stream.names;
    let unmatched = stream.given.into_iter().map(|given| Unmatched {
        nearest: given
            .name
            .map_or_else(Vec::new, |name| names.nearest(&name)),
        ..given.unmatched
    });
    unmatched::report(unmatched.collect(), args.allow_unmatched, io)
}

/// A name in `--never` or `--keep` that no document has so far.
struct Given {
    /// What every document that it can match holds, unless it is escaped.
    name: Option<String>,
    /// The policies with it and without it: they differ only in what they do with what it matches.
    with: Policy,
    without: Policy,
    /// Whether it is among what is stripped of results anyway, so that with it nothing may differ.
    is_internal: bool,
    unmatched: Unmatched,
}

impl Given {
    fn matches(&self, document: &Document) -> bool {
        let bytes = document.raw();
        let holds = |text: &str| {
            bytes
                .windows(text.len().max(1))
                .any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
        };
        if self.name.as_deref().is_some_and(|name| !holds(name)) && !holds("\\u") {
            return false;
        }
        if self.is_internal {
            return true;
        }
        let with = sanitize_json(document, &self.with);
        let without = sanitize_json(document, &self.without);
        match (with, without) {
            (Ok(with), Ok(without)) => with.json != without.json,
            _ => false,
        }
    }
}

fn given(args: &cli::Sanitize) -> Result<Vec<Given>> {
    let without = Policy::default()
        .with_tool_results(args.tool_result.iter().cloned())
        .with_payloads(args.payload_attribute.iter().cloned());
    let unmatched = |option, name, is_expected| Unmatched {
        option,
        name,
        is_expected,
        nearest: Vec::new(),
    };
    let mut given = Vec::new();
    for key in &args.keep {
        given.push(Given {
            name: Some(key.clone()).filter(|name| name.is_ascii()),
            with: without.clone().with_kept([key.clone()]),
            without: without.clone(),
            is_internal: false,
            unmatched: unmatched("--keep", key.clone(), false),
        });
    }
    for path in never(args)? {
        let with = without.clone().with_never([path.to_string()]);
        given.push(Given {
            name: last_key(&path)
                .filter(|name| name.is_ascii())
                .map(str::to_owned),
            with: with.map_err(|error| CommandError::answer(error.code(), error.to_string()))?,
            is_internal: path.steps().iter().any(|step| {
                matches!(step, Step::Key(name) if name.starts_with('_')
                    && !args.keep.iter().any(|kept| **kept == **name))
            }),
            without: without.clone(),
            unmatched: unmatched(
                "--never",
                path.to_string(),
                path.steps().contains(&Step::EachKey),
            ),
        });
    }
    Ok(given)
}

fn never(args: &cli::Sanitize) -> Result<Vec<Path>> {
    Ok(rules(&[], &args.never)?.never().to_vec())
}

fn policy(args: &cli::Sanitize) -> Result<Policy> {
    let redaction = match (args.payload, &args.hash_key) {
        (Payload::Hash, Some(file)) => {
            let key = input::read(file)?;
            if key.is_empty() {
                bail!("{} holds no key", input::name(file));
            }
            Redaction::KeyedHash(HashKey::new(key))
        }
        (_, Some(_)) => {
            bail!("`--hash-key` goes with `--payload hash`");
        }
        (Payload::Keep, None) => Redaction::None,
        (Payload::Drop, None) => Redaction::Drop,
        (Payload::Hash, None) => Redaction::Hash,
    };
    let files = [Some(&args.file), args.hash_key.as_ref()];
    input::check_stdin(files.map(|file| file.map(|file| file.as_os_str())))?;
    let mut policy = Policy::default()
        .with_kept(args.keep.iter().cloned())
        .with_tool_results(args.tool_result.iter().cloned())
        .with_payloads(args.payload_attribute.iter().cloned())
        .with_redaction(redaction);
    if let Some(most) = args.max_bytes {
        policy = policy.with_max_bytes(most);
    }
    let never = never(args)?;
    if never.is_empty() {
        return Ok(policy);
    }
    policy
        .with_never(never.iter().map(ToString::to_string))
        .map_err(|error| CommandError::answer(error.code(), error.to_string()))
}

/// How much was done.
#[derive(Default)]
struct Counts {
    documents: usize,
    changed: usize,
    dropped: usize,
}

impl Counts {
    fn line(&self) -> String {
        format!(
            "{}: {} changed, {} dropped",
            count(self.documents, "document"),
            count(self.changed, "text"),
            count(self.dropped, "attribute")
        )
    }
}

struct Stream {
    policy: Policy,
    documents: JsonDocuments,
    max_document: usize,
    counts: Counts,
    /// What was given and has matched nothing so far.
    given: Vec<Given>,
    /// The names in the documents, while there is such a one.
    names: Names,
}

impl Stream {
    fn run(&mut self, args: &cli::Sanitize, out: &mut dyn Write) -> Result {
        let mut input = input::open(&args.file)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = match input.read(&mut chunk) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(input::unreadable(&args.file, &error)),
            };
            match chunk.get(..read) {
                Some(bytes) if read > 0 => self.documents.push(bytes),
                _ => self.documents.end(),
            }
            while let Some(piece) = self.documents.next() {
                self.piece(piece, read == 0, out)?;
            }
            if read == 0 {
                return Ok(());
            }
            // Before more is waited for.
            out.flush()?;
        }
    }

    fn piece(&mut self, piece: JsonPiece, is_ended: bool, out: &mut dyn Write) -> Result {
        match piece {
            JsonPiece::Blanks(blanks) => Ok(out.write_all(&blanks)?),
            JsonPiece::Document(bytes, place) => {
                let document = Document::new(bytes);
                let sanitized = sanitize_json(&document, &self.policy)
                    .map_err(|error| self.refused(document.raw(), place, error, is_ended))?;
                self.given.retain(|given| !given.matches(&document));
                if !self.given.is_empty() {
                    self.names.collect(&document);
                }
                self.counts.documents += 1;
                self.counts.changed += sanitized.changed;
                self.counts.dropped += sanitized.dropped;
                Ok(out.write_all(&sanitized.json)?)
            }
            JsonPiece::TooLarge(place) => {
                let (limit, number) = (self.max_document, place.number);
                let message = format!(
                    "document {number} (line {}) has more than {limit} bytes",
                    place.line
                );
                let error = CommandError::answer(ErrorCode::LimitExceeded, message);
                Err(error.with_advice(format!(
                    "{}; or raise the limit: `--max-document {}`",
                    self.before(place),
                    limit.saturating_mul(4)
                )))
            }
        }
    }

    /// Why a document is not printed, and where it is at fault.
    fn refused(
        &self,
        bytes: &Bytes,
        place: StreamPosition,
        error: OtlpJsonError,
        is_ended: bool,
    ) -> CommandError {
        let (number, mut line, offset) = (place.number, place.line, place.offset);
        let mut advice = self.before(place);
        let (code, message) = match error {
            OtlpJsonError::NotJson(error) => {
                let code = if error.is_limit() {
                    ErrorCode::LimitExceeded
                } else {
                    ErrorCode::TelemetryInvalid
                };
                let before = bytes.get(..error.offset).unwrap_or_default();
                line += before.iter().filter(|byte| **byte == b'\n').count();
                let at = offset + error.offset;
                let kind = error.kind;
                if is_ended && error.offset == bytes.len() {
                    advice = format!(
                        "the input ends within it: it was cut off, or is still being written; {advice}"
                    );
                }
                (
                    code,
                    format!(
                        "document {number} (line {line}) is not valid JSON: {kind} at byte {at}"
                    ),
                )
            }
            other => (
                ErrorCode::TelemetryInvalid,
                format!("document {number} (line {line}, byte {offset}) is {other}"),
            ),
        };
        CommandError::answer(code, message).with_advice(advice)
    }

    /// What was printed before a document that is not.
    fn before(&self, place: StreamPosition) -> String {
        match place.number {
            1 => "nothing was printed".to_owned(),
            2 => "the document before it was printed".to_owned(),
            number => format!("the {} documents before it were printed", number - 1),
        }
    }
}
