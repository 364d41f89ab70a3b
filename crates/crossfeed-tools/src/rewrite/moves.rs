//! Tracks where the parts of a schema move, so that references to them can follow.
//!
//! Only what something refers to is tracked; a schema without references pays nothing. A schema with
//! references is rewritten twice: the first time to learn where its parts go, the second time with
//! every reference leading there.

use crossfeed_schema::{
    SchemaError,
    index::{Index, Target},
    keywords::{Step, push_step},
};
use crossfeed_wire::{Pointer, fragment::encoded};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// The place of a schema before and after.
#[derive(Clone, Debug, Default)]
pub(super) struct Move {
    pub(super) old: String,
    pub(super) new: String,
}

/// A place to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize, usize);

/// The moves of one schema's parts.
#[derive(Debug)]
pub(super) struct Moves<'i> {
    index: &'i Index,
    /// The places that something refers to.
    targets: BTreeSet<String>,
    /// Where they go, as far as this run knows.
    found: HashMap<String, String>,
    /// Where they go, from the first run.
    known: HashMap<String, String>,
    /// Where references to the root go, if not to the root.
    root: Option<String>,
    /// Whether anything is tracked.
    tracks: bool,
    /// The first reference that cannot follow.
    lost: Option<SchemaError>,
}

impl<'i> Moves<'i> {
    pub(super) fn new(index: &'i Index) -> Self {
        let targets: BTreeSet<_> = index
            .links()
            .filter_map(|(_, _, target)| match target {
                Target::Here { at, .. } => Some(at.clone()),
                Target::Published => None,
            })
            .chain(index.resources.iter().map(|resource| resource.at.clone()))
            .collect();
        Self {
            index,
            tracks: !index.is_empty(),
            targets,
            found: HashMap::new(),
            known: HashMap::new(),
            root: None,
            lost: None,
        }
    }

    /// Whether a second run is needed.
    pub(super) fn tracks(&self) -> bool {
        self.tracks
    }

    /// Begins the second run.
    pub(super) fn again(&mut self) {
        self.known = std::mem::take(&mut self.found);
    }

    /// The first reference that could not follow its target in the second run.
    pub(super) fn lost(&mut self) -> Option<SchemaError> {
        self.lost.take()
    }

    pub(super) fn index(&self) -> &'i Index {
        self.index
    }

    /// Sends references to the root elsewhere, because the shown root no longer has the same meaning.
    pub(super) fn redirect_root(&mut self, place: &Move) {
        self.root = Some(place.new.clone());
    }

    /// Whether something refers to the root.
    pub(super) fn root_is_target(&self) -> bool {
        self.index
            .links()
            .any(|(_, _, target)| matches!(target, Target::Here { at, .. } if at.is_empty()))
    }

    /// Whether something refers to a place.
    pub(super) fn is_target(&self, old: &str) -> bool {
        self.tracks && self.targets.contains(old)
    }

    /// Whether something refers to a place or into it.
    pub(super) fn has_target_within(&self, old: &str) -> bool {
        let is_within = |at: &String| {
            at.strip_prefix(old)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut from = self.targets.range(old.to_owned()..);
        self.tracks
            && from
                .find(|at| !at.starts_with(old) || is_within(at))
                .is_some_and(is_within)
    }

    /// Notes that the current schema is written here.
    pub(super) fn arrive(&mut self, place: &Move) {
        if self.is_target(&place.old) && !self.found.contains_key(&place.old) {
            self.found.insert(place.old.clone(), place.new.clone());
        }
    }

    /// The first target that was written nowhere so far, outer ones before inner ones; none before
    /// `after` is.
    pub(super) fn missing(&self, after: &str) -> Option<String> {
        if !self.tracks {
            return None;
        }
        let missing = |at: &&String| !self.found.contains_key(*at);
        self.targets
            .range(after.to_owned()..)
            .find(missing)
            .cloned()
    }

    /// A part of a schema with an identity of its own cannot leave it: references in it would lead
    /// elsewhere.
    pub(super) fn refuse_from_within(&mut self, at: &str) {
        let index = self.index;
        let within = |own: &str| {
            !own.is_empty()
                && Pointer::parse(own).is_some_and(|own| {
                    Pointer::parse(at).is_some_and(|at| at != own && at.is_within(&own))
                })
        };
        if index.resources.iter().any(|resource| within(&resource.at))
            && let Some((link, keyword, _)) = index
                .links()
                .filter(|(_, _, target)| matches!(target, Target::Here { at: to, .. } if to == at))
                .min_by_key(|(link, keyword, _)| (*link, *keyword))
        {
            self.lose(link, keyword, at);
        }
    }

    /// Steps from a schema into one that it holds, on both sides alike.
    pub(super) fn step(&self, place: &mut Move, keyword: &str, step: Step<'_>) -> Mark {
        let mark = self.step_old(place, keyword, step);
        self.step_new(place, keyword, step);
        mark
    }

    /// Steps on the old side only.
    pub(super) fn step_old(&self, place: &mut Move, keyword: &str, step: Step<'_>) -> Mark {
        let mark = self.mark(place);
        if self.tracks {
            push_step(&mut place.old, keyword, step);
        }
        mark
    }

    /// Steps on the new side only.
    pub(super) fn step_new(&self, place: &mut Move, keyword: &str, step: Step<'_>) -> Mark {
        let mark = self.mark(place);
        if self.tracks {
            push_step(&mut place.new, keyword, step);
        }
        mark
    }

    /// The place at hand, to go back to.
    pub(super) fn mark(&self, place: &Move) -> Mark {
        Mark(place.old.len(), place.new.len())
    }

    pub(super) fn back(&self, place: &mut Move, mark: Mark) {
        place.old.truncate(mark.0);
        place.new.truncate(mark.1);
    }

    /// A reference's text, leading to where its target went. `None` for one to a published schema,
    /// which admits no references and so asserts nothing here.
    pub(super) fn follow(&mut self, old: &str, keyword: &'static str, text: &str) -> Option<Value> {
        let kept = || Some(Value::String(text.to_owned()));
        let (at, &resource, &by_pointer) = match self.index.target(old, keyword) {
            Some(Target::Here {
                at,
                resource,
                by_pointer,
            }) => (at, resource, by_pointer),
            Some(Target::Published) => return None,
            None => return kept(),
        };
        let redirected = self.root.as_deref().filter(|_| at.is_empty());
        let Some(new) = redirected.or_else(|| self.known.get(at).map(String::as_str)) else {
            return kept(); // the first run does not know yet
        };
        if !by_pointer && redirected.is_none() {
            return kept(); // an anchor goes with its schema
        }
        let begin = self.index.resources.get(resource).map_or("", |own| &own.at);
        let moved = self.known.get(begin).map_or(begin, String::as_str);
        if moved == begin && new == at {
            return kept();
        }
        let Some(within) = new.strip_prefix(moved) else {
            self.lose(old, keyword, text);
            return kept();
        };
        let address = text.split_once('#').map_or(text, |(address, _)| address);
        if within.is_empty() && address == text {
            return kept();
        }
        Some(Value::String(format!("{address}#{}", encoded(within))))
    }

    /// Notes a reference that cannot follow its target.
    fn lose(&mut self, old: &str, keyword: &str, text: &str) {
        self.lost.get_or_insert_with(|| SchemaError::Unmovable {
            at: Pointer::parse(old).unwrap_or_default().key(keyword),
            reference: text.to_owned(),
        });
    }
}

/// The place of a schema before (`old`) and under a new name among the root's `definitions`.
pub(super) fn in_definitions(old: &str, definitions: &str, name: &str) -> Move {
    let mut new = format!("/{definitions}");
    Pointer::push_token(&mut new, name);
    Move {
        old: old.to_owned(),
        new,
    }
}
