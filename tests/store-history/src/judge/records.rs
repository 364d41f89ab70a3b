//! Judges what was said of a record of the host.

use super::{Law, Span, Terms, Verdict};
use crate::event::{Action, Outcome};
use std::collections::BTreeMap;

impl Verdict {
    /// Judges what was said of one key, whose writes all have numbers of their own and expect what was read before.
    pub(super) fn judge_host(&mut self, spans: &[Span], terms: &Terms) {
        let writes: BTreeMap<u64, (&Span, Option<u64>)> = spans
            .iter()
            .filter_map(|span| match span.operation.action {
                Action::Write(number, expected) => Some((number, (span, expected))),
                _ => None,
            })
            .collect();
        // What is known to have been there: number, version, and who was told.
        let mut shown: Vec<(u64, u64, &Span)> = Vec::new();
        for span in spans {
            match (&span.outcome, span.operation.action) {
                (Some(Outcome::Record(Some((number, version)))), _) => {
                    let write = writes.get(number);
                    if write.is_none_or(|(write, _)| write.begin > span.latest_end()) {
                        self.violates(Law::Whole, &[span]);
                    } else {
                        shown.push((*number, *version, span));
                    }
                }
                (Some(Outcome::Written(Some(version))), Action::Write(number, _)) => {
                    shown.push((number, *version, span));
                }
                _ => {}
            }
        }
        if !terms.keeps {
            return;
        }
        // Each version is one write, and replaces one that no other replaces.
        let mut by_version: BTreeMap<u64, (u64, &Span)> = BTreeMap::new();
        let mut by_replaced: BTreeMap<Option<u64>, (u64, &Span)> = BTreeMap::new();
        for (number, version, span) in &shown {
            let (known, first) = by_version.entry(*version).or_insert((*number, span));
            if known != number {
                self.violates(Law::Updates, &[first, span]);
            }
            let Some((_, expected)) = writes.get(number) else {
                continue;
            };
            let (known, first) = by_replaced.entry(*expected).or_insert((*number, span));
            if known != number {
                self.violates(Law::Updates, &[first, span]);
            }
        }
        let place = |number: u64| {
            let (mut number, mut place) = (number, 1);
            while let Some((_, Some(expected))) = writes.get(&number)
                && let Some((before, _)) = by_version.get(expected)
                && place < spans.len()
            {
                (number, place) = (*before, place + 1);
            }
            place
        };
        let mut told: Vec<(usize, &Span)> = Vec::new();
        for (number, _, span) in &shown {
            told.push((place(*number), span));
        }
        for span in spans {
            if span.outcome == Some(Outcome::Record(None)) {
                told.push((0, span));
            }
        }
        for (late, span) in &told {
            let before = told.iter().filter(|(_, other)| other.is_before(span));
            if let Some((early, other)) = before.max_by_key(|(place, _)| *place)
                && early > late
            {
                self.violates(Law::Latest, &[other, span]);
            }
        }
        // What a write that found something else says was there is another record, or none.
        for span in spans {
            let Action::Write(number, _) = span.operation.action else {
                continue;
            };
            if span.outcome == Some(Outcome::Written(None))
                && let Some((_, _, other)) = shown.iter().find(|(other, ..)| *other == number)
            {
                self.violates(Law::Truthful, &[span, other]);
            }
        }
    }
}
