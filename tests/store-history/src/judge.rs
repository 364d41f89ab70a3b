//! Judges a history: what each process did to a store, and what it was told.

use crate::event::{Action, Event, Moment, Operation, Outcome};
use std::{collections::BTreeMap, fmt};

mod held;
mod records;

/// A law of stores that a history may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Law {
    Whole,
    One,
    Kept,
    Truthful,
    Gone,
    Removed,
    Limits,
    Refusals,
    Owners,
    Lapse,
    Ends,
    Errors,
    Updates,
    Latest,
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "what is found is what somebody put there, byte for byte",
            Self::One => "an id names one record",
            Self::Kept => "what was acknowledged or seen is found from then on",
            Self::Truthful => "`unchanged` is said of the same record, `duplicate` of another",
            Self::Gone => "what has gone does not come back by itself",
            Self::Removed => "what was removed with its session does not come back",
            Self::Limits => "limits hold at every moment",
            Self::Refusals => "nothing is refused where something can make room",
            Self::Owners => "a call in flight has one owner",
            Self::Lapse => "a lease ends with its time",
            Self::Ends => "every operation ends within its time",
            Self::Errors => "a store that cannot answer says that it is unavailable",
            Self::Updates => "no update of a record of the host is lost, and each replaces the one that it expected",
            Self::Latest => "a record of the host is never an earlier one than before",
        })
    }
}

/// A law, and where it was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) law: Law,
    pub(crate) text: String,
}

/// What the run promises, by which it is judged.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// Whether everything acknowledged must be kept; else what is lost is only counted.
    pub(crate) keeps: bool,
    /// Whether results are evicted to make room.
    pub(crate) evicts: bool,
    /// How many results that have gone a session remembers.
    pub(crate) tombstones: usize,
    /// Results of one session, at most.
    pub(crate) session_results: usize,
    /// Results and bytes of the tenant, at most, where it has limits.
    pub(crate) tenant: Option<(usize, usize)>,
    /// How long a lease lasts, and how much later its end may be noticed, in nanoseconds.
    pub(crate) lease: u64,
    pub(crate) slack: u64,
    /// The longest that an operation may take.
    pub(crate) longest: u64,
    /// When workers were stopped: worker, from, to.
    pub(crate) pauses: Vec<(u32, u64, u64)>,
}

/// What came of judging.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) violations: Vec<Violation>,
    /// Ids whose record was acknowledged or seen and then lost, where that is allowed.
    pub(crate) lost: usize,
    /// The most results, and bytes, of one session or tenant that were there at once for sure.
    pub(crate) most_results: usize,
    pub(crate) most_bytes: usize,
    /// Operations by what came of them.
    pub(crate) counts: BTreeMap<String, usize>,
}

/// An operation from its begin to its end; `None` where its process ended first.
#[derive(Clone, Debug)]
struct Span {
    worker: u32,
    begin: u64,
    end: Option<u64>,
    operation: Operation,
    outcome: Option<Outcome>,
}

impl Span {
    fn is_before(&self, other: &Self) -> bool {
        self.end.is_some_and(|end| end < other.begin)
    }

    fn put(&self) -> Option<u64> {
        match self.operation.action {
            Action::Put(number) | Action::PutArtifact(number) => Some(number),
            _ => None,
        }
    }

    /// The content that this operation has shown to be there.
    fn shows(&self) -> Option<u64> {
        match (&self.outcome, self.put()) {
            (Some(Outcome::Found(number)), _) => Some(*number),
            (Some(Outcome::New | Outcome::Unchanged), put) => put,
            _ => None,
        }
    }

    fn latest_end(&self) -> u64 {
        self.end.unwrap_or(u64::MAX)
    }

    /// Whether it may have been done as late as ever: nobody was told that it was.
    fn is_open(&self) -> bool {
        matches!(self.outcome, None | Some(Outcome::Failed(..)))
    }

    fn is_gone(&self) -> bool {
        matches!(
            self.outcome,
            Some(Outcome::Unknown | Outcome::Expired | Outcome::Evicted)
        )
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation {
            action,
            session,
            id,
        } = &self.operation;
        write!(
            f,
            "process {} from {} to {:?}: {action:?} of {session}/{id} -> {:?}",
            self.worker, self.begin, self.end, self.outcome
        )
    }
}

/// What operations are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Result,
    Artifact,
    Record,
}

impl Subject {
    fn of(action: Action) -> Self {
        match action {
            Action::PutArtifact(_) | Action::GetArtifact => Self::Artifact,
            Action::Read | Action::Write(..) => Self::Record,
            _ => Self::Result,
        }
    }
}

/// The removals of a session.
#[derive(Clone, Debug, Default)]
struct Removals(Vec<Span>);

impl Removals {
    /// Whether the session may have been removed after the one and before the other, or meanwhile.
    fn may_part(&self, first: &Span, second: &Span) -> bool {
        let begin = first.begin.min(second.begin);
        let end = first.latest_end().max(second.latest_end());
        self.0
            .iter()
            .any(|it| it.begin < end && (it.is_open() || it.latest_end() > begin))
    }
}

/// Judges a history by the terms of its run.
pub(crate) fn judge(events: &[Event], terms: &Terms) -> Verdict {
    let mut verdict = Verdict::default();
    let mut by_id: BTreeMap<(Subject, u64, u64), Vec<Span>> = BTreeMap::new();
    let mut removals: BTreeMap<u64, Removals> = BTreeMap::new();
    for span in spans(events) {
        verdict.count(&span);
        verdict.judge_alone(&span, terms);
        let Operation {
            action,
            session,
            id,
        } = span.operation;
        if action == Action::Remove {
            removals.entry(session).or_default().0.push(span);
        } else {
            let key = (Subject::of(action), session, id);
            by_id.entry(key).or_default().push(span);
        }
    }
    for spans in by_id.values_mut() {
        spans.sort_by_key(|span| span.begin);
    }
    let mut uses: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    let mut records: BTreeMap<u64, usize> = BTreeMap::new();
    for ((subject, session, _), spans) in &by_id {
        for span in spans.iter().filter(|_| *subject == Subject::Result) {
            let uses = uses.entry(*session).or_default();
            uses.push((span.begin, span.latest_end()));
            *records.entry(*session).or_default() += usize::from(span.put().is_some());
        }
    }
    verdict.judge_held(&by_id, &removals, terms);
    let none = Removals::default();
    for ((subject, session, _), spans) in by_id {
        if subject == Subject::Record {
            verdict.judge_host(&spans, terms);
            continue;
        }
        let removals = removals.get(&session).unwrap_or(&none);
        let own = Terms {
            evicts: terms.evicts && subject == Subject::Result,
            ..terms.clone()
        };
        if own.evicts {
            let uses = uses.get(&session).map_or(&[][..], |uses| uses);
            let records = records.get(&session).copied().unwrap_or_default();
            verdict.judge_evicted(&spans, removals, uses, records, &own);
        }
        verdict.judge_records(&spans, removals, &own);
        verdict.judge_removed(&spans, removals);
        verdict.judge_leases(&spans, removals, &own);
    }
    verdict
}

fn spans(events: &[Event]) -> Vec<Span> {
    let mut spans: BTreeMap<(u32, u64), Span> = BTreeMap::new();
    for event in events {
        let key = (event.worker, event.number);
        match &event.moment {
            Moment::Begin(operation) => {
                let span = Span {
                    worker: event.worker,
                    begin: event.at,
                    end: None,
                    operation: operation.clone(),
                    outcome: None,
                };
                spans.insert(key, span);
            }
            Moment::End(outcome) => {
                if let Some(span) = spans.get_mut(&key) {
                    span.end = Some(event.at);
                    span.outcome = Some(outcome.clone());
                }
            }
        }
    }
    spans.into_values().collect()
}

impl Verdict {
    fn violates(&mut self, law: Law, spans: &[&Span]) {
        let text: Vec<_> = spans.iter().map(ToString::to_string).collect();
        let text = text.join("\n    ");
        self.violations.push(Violation { law, text });
    }

    fn count(&mut self, span: &Span) {
        let action = match span.operation.action {
            Action::Put(_) => "put",
            Action::Get => "get",
            Action::PutArtifact(_) => "put artifact",
            Action::GetArtifact => "get artifact",
            Action::List => "list",
            Action::Acquire => "acquire",
            Action::Renew => "renew",
            Action::Release => "release",
            Action::Remove => "remove session",
            Action::Read => "read record",
            Action::Write(..) => "write record",
        };
        let outcome = match &span.outcome {
            None => "never ended",
            Some(Outcome::New) => "new",
            Some(Outcome::Unchanged) => "unchanged",
            Some(Outcome::Duplicate) => "duplicate",
            Some(Outcome::Found(_)) => "found",
            Some(Outcome::Garbled) => "garbled",
            Some(Outcome::Unknown) => "unknown",
            Some(Outcome::Expired) => "expired",
            Some(Outcome::Evicted) => "evicted",
            Some(Outcome::InFlight) => "in flight",
            Some(Outcome::Recorded) => "recorded",
            Some(Outcome::Listed(..)) => "listed",
            Some(Outcome::Kept(true)) => "kept",
            Some(Outcome::Kept(false)) => "lost",
            Some(Outcome::Done) => "done",
            Some(Outcome::Record(Some(_))) => "found",
            Some(Outcome::Record(None)) => "nothing",
            Some(Outcome::Written(Some(_))) => "written",
            Some(Outcome::Written(None)) => "something else was there",
            Some(Outcome::Failed(..)) => "failed",
        };
        *self
            .counts
            .entry(format!("{action}: {outcome}"))
            .or_default() += 1;
    }

    fn judge_alone(&mut self, span: &Span, terms: &Terms) {
        if let Some(end) = span.end {
            let paused = terms
                .pauses
                .iter()
                .filter(|(worker, ..)| *worker == span.worker);
            let paused =
                paused.map(|(_, from, to)| (*to).min(end).saturating_sub((*from).max(span.begin)));
            let took = (end - span.begin).saturating_sub(paused.sum());
            if took > terms.longest {
                self.violates(Law::Ends, &[span]);
            }
        }
        match &span.outcome {
            Some(Outcome::Garbled) => self.violates(Law::Whole, &[span]),
            Some(Outcome::Failed(code, ..)) if code == "full" => {
                self.violates(Law::Refusals, &[span]);
            }
            Some(Outcome::Failed(code, ..)) if code != "store.unavailable" => {
                self.violates(Law::Errors, &[span]);
            }
            Some(Outcome::Listed(results, _)) if *results > terms.session_results => {
                self.violates(Law::Limits, &[span]);
            }
            _ => {}
        }
    }

    /// Judges what was said of one id of results or artifacts.
    fn judge_records(&mut self, spans: &[Span], removals: &Removals, terms: &Terms) {
        for span in spans {
            let Some(Outcome::Found(number)) = span.outcome else {
                continue;
            };
            let end = span.end.unwrap_or(u64::MAX);
            let is_given = |put: &&Span| put.put() == Some(number) && put.begin < end;
            if spans.iter().find(is_given).is_none() {
                self.violates(Law::Whole, &[span]);
            }
        }
        // Which records the id has had is known where nothing is evicted and nothing may be lost.
        if terms.keeps && !terms.evicts {
            let shown = || spans.iter().filter_map(|span| Some((span, span.shows()?)));
            let mut pairs = shown().zip(shown().skip(1));
            let differ = |pair: &((&Span, u64), (&Span, u64))| {
                let ((first, number), (other, another)) = pair;
                number != another && !removals.may_part(first, other)
            };
            if let Some(((first, _), (other, _))) = pairs.find(differ) {
                self.violates(Law::One, &[first, other]);
            }
            for span in spans {
                let is_record = shown().next().map(|(_, number)| Some(number) == span.put());
                if span.outcome == Some(Outcome::Duplicate)
                    && is_record == Some(true)
                    && removals.0.is_empty()
                {
                    self.violates(Law::Truthful, &[span]);
                }
            }
        }
        let mut is_lost = false;
        for (place, span) in spans.iter().enumerate() {
            if !span.is_gone() {
                continue;
            }
            let before = spans[..place].iter().filter(|other| other.is_before(span));
            let seen = |other: &&Span| {
                other.shows().is_some() || other.outcome == Some(Outcome::Duplicate)
            };
            let seen = before.filter(seen).max_by_key(|other| other.end);
            if let Some(seen) = seen
                && !terms.evicts
                && !removals.may_part(seen, span)
            {
                if terms.keeps {
                    self.violates(Law::Kept, &[seen, span]);
                } else {
                    is_lost = true;
                }
            }
            if terms.keeps && span.outcome != Some(Outcome::Unknown) {
                let back = spans[place..].iter().find(|other| {
                    span.is_before(other) && matches!(other.outcome, Some(Outcome::Found(_)))
                });
                let is_put_again = |back: &Span| {
                    let puts = spans.iter().filter(|put| put.put().is_some());
                    let mut puts = puts.filter(|put| put.begin < back.begin);
                    puts.any(|put| put.end.is_none_or(|end| end > span.begin))
                };
                if let Some(back) = back
                    && !is_put_again(back)
                {
                    self.violates(Law::Gone, &[span, back]);
                }
            }
        }
        self.lost += usize::from(is_lost);
    }

    /// Judges what was said of one id of results where some are evicted: by all uses of results of the session, and how
    /// many records it may have had.
    fn judge_evicted(
        &mut self,
        spans: &[Span],
        removals: &Removals,
        uses: &[(u64, u64)],
        records: usize,
        terms: &Terms,
    ) {
        let shown = || spans.iter().filter(|span| span.shows().is_some());
        for (first, second) in shown().zip(shown().skip(1)) {
            if first.shows() == second.shows() || removals.may_part(first, second) {
                continue;
            }
            // What was used last goes when all others were used after it. Where both happened at once, either may have been
            // the first.
            let end = first.latest_end().max(second.latest_end());
            let between = |(from, to): &&(u64, u64)| *to >= first.begin && *from <= end;
            if terms.tenant.is_none() && uses.iter().filter(between).count() < terms.session_results
            {
                self.violates(Law::One, &[first, second]);
            }
        }
        if records > terms.tombstones {
            return;
        }
        for (place, span) in spans.iter().enumerate() {
            let mut before = spans[..place].iter();
            let seen = before.find(|seen| seen.is_before(span) && seen.shows().is_some());
            if let Some(seen) = seen
                && span.outcome == Some(Outcome::Unknown)
                && !removals.may_part(seen, span)
            {
                self.violates(Law::Kept, &[seen, span]);
            }
        }
    }

    /// Judges what is found after the session was removed.
    fn judge_removed(&mut self, spans: &[Span], removals: &Removals) {
        for span in spans {
            let Some(Outcome::Found(number)) = span.outcome else {
                continue;
            };
            let before = removals
                .0
                .iter()
                .filter(|it| it.outcome == Some(Outcome::Done) && it.is_before(span));
            let Some(removal) = before.max_by_key(|it| it.begin) else {
                continue;
            };
            let is_put_again = spans.iter().any(|put| {
                put.put() == Some(number)
                    && put.begin < span.latest_end()
                    && (put.is_open() || put.latest_end() > removal.begin)
            });
            if !is_put_again {
                self.violates(Law::Removed, &[removal, span]);
            }
        }
    }

    /// Judges what was said of calls in flight.
    fn judge_leases(&mut self, spans: &[Span], removals: &Removals, terms: &Terms) {
        let begun = |span: &&Span| {
            span.operation.action == Action::Acquire && span.outcome == Some(Outcome::New)
        };
        let begun: Vec<&Span> = spans.iter().filter(begun).collect();
        // How long the lease of a worker may have lasted at most, if nothing ended it.
        let lasts = |lease: &Span, until: u64| {
            let renewals = spans.iter().filter(|span| {
                span.worker == lease.worker
                    && span.operation.action == Action::Renew
                    && span.outcome == Some(Outcome::Kept(true))
                    && span.begin < until
            });
            let latest = renewals.map(|span| span.begin).max();
            latest.unwrap_or(lease.begin).max(lease.begin) + terms.lease
        };
        for pair in begun.windows(2) {
            let [first, second] = pair else { continue };
            if !first.is_before(second) || !terms.keeps || removals.may_part(first, second) {
                continue;
            }
            let end = second.end.unwrap_or(u64::MAX);
            let may_end = spans.iter().any(|span| {
                let ends = match span.operation.action {
                    Action::Release => span.worker == first.worker,
                    Action::Put(_) => true,
                    _ => false,
                };
                ends && span.begin < end && span.end.is_none_or(|end| end > first.begin)
            });
            // The clock of the store may differ a little in its pace.
            if !may_end && lasts(first, second.begin) > end + terms.slack {
                self.violates(Law::Owners, &[first, second]);
            }
        }
        for span in spans {
            if span.outcome != Some(Outcome::InFlight) {
                continue;
            }
            let acquired = spans.iter().filter(|other| {
                let may_last = match other.operation.action {
                    Action::Acquire => other.is_open() || other.outcome == Some(Outcome::New),
                    Action::Renew => other.is_open() || other.outcome == Some(Outcome::Kept(true)),
                    _ => false,
                };
                may_last && other.begin < span.latest_end()
            });
            let latest = acquired
                .filter_map(|other| other.end.or(Some(other.begin + terms.longest)))
                .max();
            if latest.is_none_or(|latest| latest + terms.lease + terms.slack < span.begin) {
                self.violates(Law::Lapse, &[span]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
