//! crossfeed: over a document whose index was built before, or from bytes.

use super::{Part, Peer, Reason, looped};
use crate::{files::File, rows::Row};
use bytes::Bytes;
use crossfeed_benches::Contender;
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

pub(crate) struct Ours {
    /// Whether each evaluation meets an index that nobody has used.
    first: bool,
    document: Document,
    expression: Option<Expression>,
}

/// Building anew what is not measured may take so long for a sample.
const MOST_BUILDING: Duration = Duration::from_millis(40);

impl Ours {
    pub(crate) fn again() -> Self {
        Self {
            first: false,
            document: Document::new(Bytes::new()),
            expression: None,
        }
    }

    pub(crate) fn first() -> Self {
        Self {
            first: true,
            ..Self::again()
        }
    }

    /// The mean over as many documents as can be made in some time, each evaluated once.
    fn first_evaluations(&self) -> Duration {
        let mut taken = Duration::ZERO;
        let mut times = 0;
        let start = Instant::now();
        while times == 0 || (times < 1000 && start.elapsed() < MOST_BUILDING) {
            let document = Document::new(self.document.raw().clone());
            document.root().unwrap();
            let start = Instant::now();
            black_box(self.evaluate(&document));
            taken += start.elapsed();
            times += 1;
        }
        taken / times
    }

    fn evaluate(&self, document: &Document) -> Vec<u8> {
        evaluated(self.expression.as_ref().unwrap(), document)
    }
}

/// What an expression gives over a document, as JSON.
pub(crate) fn evaluated(expression: &Expression, document: &Document) -> Vec<u8> {
    let root = document.root().unwrap();
    let limits = Limits::default();
    let (arena, budget) = (Arena::new(), Budget::new(&limits, root.value_count()));
    let mut json = Vec::new();
    let outcome = evaluate(expression, &View::from(root), &arena, &budget).unwrap();
    // A miss is told apart from a value here; to JMESPath it is null.
    match outcome {
        Some(value) => value.write(&mut json, limits.output_bytes).unwrap(),
        None => json.extend_from_slice(b"null"),
    }
    json
}

impl Peer for Ours {
    fn name(&self) -> &'static str {
        if self.first {
            "crossfeed, first"
        } else {
            "crossfeed"
        }
    }

    fn contents(&self, part: Part) -> Option<String> {
        let text = match (part, self.first) {
            (Part::ParseExcluded, false) => {
                "evaluation over an index that was built and used before"
            }
            (Part::ParseExcluded, true) => {
                "the first evaluation over an index just built; the clock is read for each one"
            }
            (Part::ParseIncluded, false) => "bytes checked and indexed, evaluated, index dropped",
            (Part::ParseIncluded, true) => return None,
        };
        Some(text.to_owned())
    }

    fn open(&mut self, file: &File) -> Result<(), Reason> {
        self.document = Document::new(file.bytes.clone());
        self.document.root().map_err(|error| error.to_string())?;
        Ok(())
    }

    fn prepare(&mut self, row: &Row) -> Result<(), Reason> {
        let expression = Expression::parse(&row.jmespath).map_err(|error| error.to_string())?;
        self.expression = Some(expression);
        Ok(())
    }

    fn answer(&mut self) -> Result<Vec<u8>, Reason> {
        Ok(self.evaluate(&self.document))
    }

    fn run(&mut self, part: Part, times: u64) -> Duration {
        let start = Instant::now();
        for _ in 0..times {
            black_box(match part {
                Part::ParseExcluded => self.evaluate(&self.document),
                Part::ParseIncluded => self.evaluate(&Document::new(self.document.raw().clone())),
            });
        }
        start.elapsed()
    }

    fn contender(&mut self, part: Part) -> Contender<'_> {
        if self.first {
            Contender::averaged(|| self.first_evaluations())
        } else {
            looped(self, part)
        }
    }
}
