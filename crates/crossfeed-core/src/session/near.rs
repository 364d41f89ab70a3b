//! Finds which of the ids in near references are those of calls of the session.

use super::{Session, job::ResolveJob};
use crate::{
    error::{KnownId, LookupError, MalformedReference, ShownEdit, misses},
    failure::{Error, Failure},
    flight::CallHandle,
    lineage::LineageEntry,
    resolve::{Notation, Plan, target_of},
};
use crossfeed_wire::CallId;
use futures_util::future::join_all;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// The most ids that the store is asked for one by one; of more, those count that it lists.
const MAX_ASKED: usize = 64;

impl Session {
    /// Makes references of what names a call of this session, and data of the rest.
    ///
    /// # Errors
    ///
    /// [`LookupError`] when the store cannot tell.
    pub(super) async fn settle(&self, plan: &mut Plan) -> Result<(), LookupError> {
        if self.notation == Notation::Near {
            self.settle_paths(plan).await;
        }
        let written = plan.near_ids();
        if written.is_empty() {
            plan.settle(&HashMap::new());
            return Ok(());
        }
        // A list has no results in it, so that none is loaded only to see whether it is there.
        let listed = self.known_calls().await;
        let listed_ids: HashSet<&str> = listed.iter().flatten().map(KnownId::id).collect();
        let parsed = |id: &String| CallId::parse(id).ok();
        let is_listed = |id: &&String| listed_ids.contains(id.as_str());
        let mut known: HashMap<String, CallId> = written
            .iter()
            .filter(is_listed)
            .filter_map(|id| Some((id.clone(), parsed(id)?)))
            .collect();
        let asked = written.iter().filter(|id| !is_listed(id));
        let asked: Vec<CallId> = asked.filter_map(parsed).take(MAX_ASKED).collect();
        let found = join_all(asked.iter().map(|id| self.is_of_session(id))).await;
        let found = asked.into_iter().zip(found).filter(|(_, found)| *found);
        known.extend(found.map(|(id, _)| (id.as_str().to_owned(), id)));
        if known.len() < written.len() {
            let listed = listed.map_err(|error| LookupError::Store(Arc::new(error)))?;
            let plain: Vec<String> = listed.iter().map(|listed| folded(listed.id())).collect();
            let mut by_folded: HashMap<&str, Option<&str>> = HashMap::new();
            for (plain, listed) in plain.iter().zip(&listed) {
                let folded = by_folded.entry(plain);
                folded
                    .and_modify(|id| *id = None)
                    .or_insert(Some(listed.id()));
            }
            for written in written {
                let meant = by_folded.get(&*folded(&written)).copied().flatten();
                let meant = meant.or_else(|| {
                    // The name of a tool that was called once.
                    let name = written.to_lowercase();
                    let mut of_tool = listed.iter().filter(|listed| listed.is_of_tool(&name));
                    let only = of_tool.next().filter(|_| of_tool.next().is_none());
                    only.map(KnownId::id)
                });
                let meant = meant.or_else(|| alike(&written, &listed, &plain));
                if let Some(Ok(id)) = meant.map(CallId::parse) {
                    known.entry(written).or_insert(id);
                }
            }
        }
        plan.settle(&known);
        Ok(())
    }

    /// Reads ids that are paths as paths, where they are not ids of calls and what they begin with is.
    async fn settle_paths(&self, plan: &mut Plan) {
        let paths = plan.paths_in_ids().into_iter().take(MAX_ASKED);
        let read = paths.filter_map(|(number, near)| {
            let written = &plan.references.get(number)?.reference.call_id;
            Some((number, written.clone(), near.into_reference()?))
        });
        let read = join_all(read.map(|(number, written, reference)| async move {
            let is_path =
                !self.is_of_session(&written).await && self.is_of_session(&reference.call_id).await;
            is_path.then_some((number, reference))
        }));
        let read: Vec<_> = read.await.into_iter().flatten().collect();
        if !read.is_empty() {
            plan.reread(read);
        }
    }

    /// Whether a call has a result, or had one, or is in flight. If the store does not answer, it counts as one: the
    /// look-up then says so.
    async fn is_of_session(&self, call_id: &CallId) -> bool {
        if self.actor.as_ref().map(CallHandle::call_id) == Some(call_id) {
            return false;
        }
        if self.inner().flights.is_running(&self.scope, call_id) {
            return true;
        }
        let found = self.find_stored(call_id, None).await;
        !matches!(found, Err(LookupError::Unknown { .. }))
    }
}

impl ResolveJob {
    /// Says of what was read as a reference and selects nothing that it is none, and how one is written.
    pub(super) fn explain_misreadings(&self, failures: &mut [Failure]) {
        let targets = self.targets();
        let mut numbers = HashMap::with_capacity(self.plan.references.len());
        for (number, planned) in self.plan.references.iter().enumerate() {
            let reference = &planned.reference;
            let key = (&planned.at, &reference.call_id, reference.select.as_deref());
            numbers.entry(key).or_insert(number);
        }
        for failure in failures {
            let number = failure.call_id.as_ref().and_then(|call_id| {
                let key = (&failure.at, call_id, failure.expression.as_deref());
                numbers.get(&key).copied()
            });
            let repair = number.and_then(|number| {
                let reference = &self.plan.references.get(number)?.reference;
                let edit = reference.edit.as_deref().map(ShownEdit::new);
                let named = (&reference.call_id, edit);
                Some((number, named, reference.repair.as_ref()?))
            });
            let (Some((number, named, repair)), Error::Select(error)) =
                (repair, &mut failure.error)
            else {
                continue;
            };
            let Some((why, fitting)) = misses(error) else {
                continue;
            };
            // A part of a text has no place of its own.
            let to = targets.get(&failure.at).map(target_of);
            let select = fitting.first().cloned().or_else(|| repair.guess.clone());
            failure.error = MalformedReference::misread(
                (&repair.written, &failure.at, to),
                named,
                (why, select.as_slice()),
                &self.plan.meant(number, select.clone()),
                &self.plan.spelling,
            )
            .into();
        }
    }

    /// The same of what was read as a reference whose value does not fit the tool's schema.
    pub(super) fn explain_misfits(&self, failures: &mut [Failure], lineage: &[LineageEntry]) {
        for failure in failures {
            let mut links = lineage.iter().filter(|link| !link.is_inner);
            let link = links.find(|link| failure.at.is_within(&link.at));
            let repair = link.and_then(|link| Some((link, link.repair.as_ref()?)));
            let (Some((link, repair)), Error::Arguments(error)) = (repair, &failure.error) else {
                continue;
            };
            let source = &link.source;
            failure.error = MalformedReference::misread(
                (&repair.written, &link.at, Some(target_of(&link.at))),
                (&source.call_id, repair.edit.clone()),
                (error.to_string(), &error.fitting),
                &[],
                &self.plan.spelling,
            )
            .into();
        }
    }
}

/// The only call whose id a text must mean that is cut or has a word beside it: `toolu_01A9fKq2`, `tool_call_1`,
/// `call_1_result`.
fn alike<'l>(written: &str, listed: &'l [KnownId], folded_ids: &[String]) -> Option<&'l str> {
    /// Letters that no two ids begin with by chance.
    const MIN_COMMON_CHARS: usize = 9;
    const MIN_ID_BYTES: usize = 16;
    /// Words behind an id for what the call returned.
    const RESULTS: [&str; 6] = ["result", "results", "output", "outputs", "response", "data"];
    let plain = folded(written);
    let is_alike = |(known, folded): &(&KnownId, &String)| {
        let id = known.id();
        let before = written.strip_suffix(id);
        if before.is_some_and(|before| before.ends_with(['_', '-'])) && id.len() > 3 {
            return true;
        }
        // `call_1_result`
        let behind = written.strip_prefix(id).filter(|_| id.len() > 3);
        let behind = behind.and_then(|behind| behind.strip_prefix(['_', '-']));
        if behind.is_some_and(|word| RESULTS.contains(&word)) {
            return true;
        }
        id.len() >= MIN_ID_BYTES && plain.len() >= MIN_COMMON_CHARS && folded.starts_with(&plain)
    };
    let mut alike = listed.iter().zip(folded_ids).filter(is_alike);
    let only = alike.next().filter(|_| alike.next().is_none());
    only.map(|(known, _)| known.id())
}

/// An id without what models change in it: case, and the kind of separator.
fn folded(id: &str) -> String {
    id.to_lowercase().replace(['-', '_'], "")
}
