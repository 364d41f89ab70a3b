//! Judges how much was there at once.

use super::{Law, Removals, Span, Subject, Terms, Verdict};
use crate::{
    content,
    event::{Action, Outcome},
};
use std::collections::BTreeMap;

/// A result that was there from one moment to another, for sure.
struct Stay<'a> {
    from: &'a Span,
    to: &'a Span,
    bytes: usize,
}

/// How long a result was there for sure: its record was made once and found later.
fn stay<'a>(spans: &'a [Span], removals: &Removals) -> Option<Stay<'a>> {
    let may_record = |span: &&Span| {
        span.put().is_some() && (span.is_open() || span.outcome == Some(Outcome::New))
    };
    let mut recorded = spans.iter().filter(may_record);
    let (Some(from), None) = (recorded.next(), recorded.next()) else {
        return None;
    };
    let Action::Put(number) = from.operation.action else {
        return None;
    };
    let found = spans.iter().filter(|span| {
        span.outcome == Some(Outcome::Found(number))
            && from.is_before(span)
            && !removals.may_part(from, span)
    });
    Some(Stay {
        from,
        to: found.max_by_key(|span| span.begin)?,
        bytes: content::length(number),
    })
}

impl Verdict {
    /// Judges the limits of each session, and of the tenant.
    pub(super) fn judge_held(
        &mut self,
        by_id: &BTreeMap<(Subject, u64, u64), Vec<Span>>,
        removals: &BTreeMap<u64, Removals>,
        terms: &Terms,
    ) {
        let none = Removals::default();
        let mut sessions: BTreeMap<u64, Vec<Stay<'_>>> = BTreeMap::new();
        for ((subject, session, _), spans) in by_id {
            if *subject != Subject::Result {
                continue;
            }
            let removals = removals.get(session).unwrap_or(&none);
            if let Some(stay) = stay(spans, removals) {
                sessions.entry(*session).or_default().push(stay);
            }
        }
        for stays in sessions.values() {
            self.judge_stays(stays.iter(), (terms.session_results, usize::MAX));
        }
        if let Some(tenant) = terms.tenant {
            self.judge_stays(sessions.values().flatten(), tenant);
        }
    }

    /// Judges that never so many results, or bytes, are there at once.
    fn judge_stays<'a>(
        &mut self,
        stays: impl Iterator<Item = &'a Stay<'a>>,
        (max_results, max_bytes): (usize, usize),
    ) {
        let mut changes = Vec::new();
        for stay in stays {
            changes.push((stay.from.latest_end(), true, stay));
            changes.push((stay.to.begin, false, stay));
        }
        changes.sort_by_key(|(at, begins, _)| (*at, *begins));
        let (mut results, mut bytes) = (0, 0);
        for (_, begins, stay) in changes {
            if begins {
                (results, bytes) = (results + 1, bytes + stay.bytes);
            } else {
                (results, bytes) = (results - 1, bytes - stay.bytes);
            }
            self.most_results = self.most_results.max(results);
            self.most_bytes = self.most_bytes.max(bytes);
            if results > max_results || bytes > max_bytes {
                self.violates(Law::Limits, &[stay.from, stay.to]);
                return;
            }
        }
    }
}
