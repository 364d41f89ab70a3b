//! The plan: every reference in arguments, every malformed one, and the steps to replace them.

use crate::{
    error::{
        LimitError, MAX_MEANT_BYTES, MalformedReference, MeantPiece, Misplaced, ReferenceStyle,
    },
    input::Form,
};
use crossfeed_wire::{
    ArtifactId, CallId, Pointer,
    reference::{self, Input, Malformed, NearReference, Piece, Reference, Target},
};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

/// The most parts of arguments that are read as what may be meant as a reference.
pub(super) const MAX_NEAR: usize = 10_000;

/// The most files and resources of one call: each is read, and held until all are.
const MAX_INPUTS: usize = 16;

/// What counts as a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// The grammar and nothing else.
    Exact,
    /// Also what names a call of the session as models do: `{{call_1.items}}`.
    Near,
}

/// The key of a look-up: a result, or an artifact of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LookupKey {
    pub(crate) call_id: CallId,
    pub(crate) artifact_id: Option<ArtifactId>,
    /// The file or resource, in place of a result, and the form in which it is passed.
    pub(crate) input: Option<(Input, Form)>,
}

impl LookupKey {
    pub(crate) fn new(call_id: &CallId, artifact_id: Option<&ArtifactId>) -> Self {
        Self {
            call_id: call_id.clone(),
            artifact_id: artifact_id.cloned(),
            input: None,
        }
    }

    fn of(reference: &Reference, form: Form) -> Self {
        let input = reference.input.clone();
        Self {
            input: input.map(|input| (input, form)),
            ..Self::new(&reference.call_id, reference.artifact_id.as_ref())
        }
    }
}

/// A reference, its place, and the look-up that it needs.
#[derive(Debug)]
pub(crate) struct PlannedReference {
    pub(crate) at: Pointer,
    pub(crate) reference: Reference,
    pub(crate) wanted: usize,
    /// Its number in the document, if the arguments are one.
    pub(crate) ordinal: Option<u32>,
    /// What was written, of a part of a text.
    pub(crate) raw: Option<Box<str>>,
    /// Where its edit is, if it has one.
    pub(crate) edit: Option<PlannedEdit>,
    /// Whether it stands in the edit of another.
    pub(crate) is_inner: bool,
    /// The form in which an input is passed.
    form: Form,
    /// Its position in the order of the walk.
    order: usize,
}

/// The edit of a reference, and what it holds.
#[derive(Clone, Debug)]
pub(crate) struct PlannedEdit {
    /// Its place in the arguments; `None` where the reference was written as a text.
    pub(crate) at: Option<Pointer>,
    /// The references that it holds.
    pub(crate) inner: Range<usize>,
    /// Whether it is to be taken as it was written: neither references nor literals are in it.
    pub(crate) is_plain: bool,
}

/// A malformed reference, and its place.
#[derive(Debug)]
pub(crate) struct MalformedAt {
    pub(crate) at: Pointer,
    pub(crate) malformed: Malformed,
    /// What it probably means, of what is meant as a reference.
    pub(crate) meant: Vec<MeantPiece>,
    /// Its number in the document, if the arguments are one.
    pub(crate) ordinal: Option<u32>,
    order: usize,
}

/// What is put at a place.
#[derive(Debug)]
pub(crate) enum Filling {
    /// The value of a reference.
    Reference(usize),
    /// A text with values of references in it.
    Text(Vec<Piece>),
    /// The content of a literal in a references map.
    Literal {
        /// The place of its entry.
        at: Pointer,
        key: &'static str,
        content: Value,
    },
}

impl Filling {
    /// The references whose values it needs.
    pub(crate) fn references(&self) -> impl Iterator<Item = usize> + '_ {
        let (one, pieces) = match self {
            Self::Reference(reference) => (Some(*reference), &[][..]),
            Self::Text(pieces) => (None, pieces.as_slice()),
            Self::Literal { .. } => (None, &[][..]),
        };
        let values = pieces.iter().filter_map(|piece| match piece {
            Piece::Value(reference) => Some(*reference),
            Piece::Text(_) => None,
        });
        one.into_iter().chain(values)
    }
}

/// What is a reference if an id in it is one of a call of the session.
#[derive(Debug)]
pub(crate) struct NearPlace {
    at: Pointer,
    ordinal: Option<u32>,
    order: usize,
    kind: NearKind,
    /// What may be meant, and its place in the text.
    parts: Vec<(Range<usize>, NearReference)>,
    /// Whether there are parts that were not read.
    has_more: bool,
}

/// What holds the parts of a [`NearPlace`].
#[derive(Debug)]
pub(super) enum NearKind {
    /// An object or list, which is the one part.
    Object,
    Text(String),
    /// A template, whose text is not for such parts.
    Template,
}

/// A change of the arguments. Changes within a place come before those of the place itself.
#[derive(Debug)]
pub(crate) enum Step {
    /// Put the content of a literal at its place.
    Literal(Pointer),
    /// Put a value at a place.
    Put {
        at: Pointer,
        /// The number of the place in the document, if the arguments are one.
        ordinal: Option<u32>,
        filling: Filling,
    },
    /// Put a value at a place if it is a reference.
    Near(Box<NearPlace>),
    /// Put the values of a references map at their targets, then remove the map.
    Map {
        object: Pointer,
        key: String,
        /// The number of the map in the document, if the arguments are one.
        ordinal: Option<u32>,
        entries: Vec<(Target, Filling)>,
    },
}

/// The references in arguments, and the steps to replace them.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) references: Vec<PlannedReference>,
    pub(crate) steps: Vec<Step>,
    pub(crate) wanted: Vec<LookupKey>,
    pub(crate) malformed: Vec<MalformedAt>,
    /// How the schema that the model was shown spells references.
    pub(crate) spelling: ReferenceStyle,
    index: HashMap<LookupKey, usize>,
    /// How many places were found.
    places: usize,
    /// Whether there are more references than were read.
    has_more: bool,
    /// Whether there are more texts that may be meant as references than were read.
    pub(super) has_unread: bool,
}

impl Plan {
    /// Forgets what may be meant at places that an entry of a references map fills.
    pub(super) fn forget_filled(&mut self) {
        let mut filled = HashSet::new();
        for step in &self.steps {
            if let Step::Map {
                object, entries, ..
            } = step
            {
                let targets = entries.iter().map(|(target, _)| target.to_pointer());
                filled.extend(targets.map(|target| object.join(&target)));
            }
        }
        if !filled.is_empty() {
            let stands =
                |step: &Step| !matches!(step, Step::Near(place) if filled.contains(&place.at));
            self.steps.retain(stands);
        }
    }

    /// The error for what is malformed at a place, whatever was written there.
    pub(super) fn malformed_at(&self, malformed: Malformed, at: &Pointer) -> MalformedReference {
        let place = Misplaced {
            at,
            written: None,
            spelling: &self.spelling,
        };
        MalformedReference::new(malformed, place)
    }

    /// The plan with the spelling of its errors.
    pub(crate) fn spelled(mut self, spelling: ReferenceStyle) -> Self {
        self.spelling = spelling;
        self
    }

    /// Whether the tool gets the arguments unchanged.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.malformed.is_empty()
    }

    /// The steps that are not a part of the edit of a reference.
    pub(crate) fn outer_steps(&self) -> impl Iterator<Item = &Step> {
        let edits = self.references.iter().filter_map(|planned| {
            let edit = planned.edit.as_ref()?;
            edit.at.as_ref().map(Pointer::as_str)
        });
        let edits: HashSet<&str> = edits.collect();
        let is_outer = move |at: &Pointer| {
            edits.is_empty() || !at.and_around().any(|around| edits.contains(around))
        };
        self.steps.iter().filter(move |step| match step {
            Step::Literal(at) | Step::Put { at, .. } | Step::Map { object: at, .. } => is_outer(at),
            Step::Near(place) => is_outer(&place.at),
        })
    }

    /// The places of all references, malformed ones included, and their positions in the order of the walk.
    pub(crate) fn order(&self) -> HashMap<&Pointer, usize> {
        let references = self.references.iter().map(|found| (&found.at, found.order));
        let malformed = self.malformed.iter().map(|found| (&found.at, found.order));
        references.chain(malformed).collect()
    }

    fn found(&self) -> usize {
        self.references.len() + self.malformed.len()
    }

    /// Refuses more references than the limit allows, malformed ones included.
    pub(crate) fn check(&self, limit: usize) -> Result<(), LimitError> {
        let least = if self.has_more {
            limit.saturating_add(1)
        } else {
            0
        };
        let found = self.found().max(least);
        if found > limit {
            return Err(LimitError::TooManyReferences { found, limit });
        }
        let inputs = self.wanted.iter().filter(|wanted| wanted.input.is_some());
        let found = inputs.count();
        if found > MAX_INPUTS {
            let limit = MAX_INPUTS;
            return Err(LimitError::TooManyInputs { found, limit });
        }
        Ok(())
    }

    fn near(&self) -> impl Iterator<Item = &NearPlace> {
        self.steps.iter().filter_map(|step| match step {
            Step::Near(place) => Some(&**place),
            _ => None,
        })
    }

    /// The places of what may be meant as a reference.
    pub(crate) fn near_places(&self) -> impl Iterator<Item = &Pointer> {
        self.near().map(|place| &place.at)
    }

    /// The ids in what may be meant as a reference, each once.
    pub(crate) fn near_ids(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let parts = self.near().flat_map(|place| &place.parts);
        let ids = parts.map(|(_, near)| &near.id);
        ids.filter(|id| seen.insert(*id)).cloned().collect()
    }

    /// References whose id is a path into a result as well: `{"$tool": "call_1.items[0].url"}`.
    pub(crate) fn paths_in_ids(&self) -> Vec<(usize, NearReference)> {
        let references = self.references.iter().enumerate();
        let found = references.filter_map(|(number, planned)| {
            let reference = &planned.reference;
            let id = reference.call_id.as_str();
            let is_other = reference.artifact_id.is_some() || reference.input.is_some();
            if id.bytes().all(reference::is_id_byte) || is_other {
                return None;
            }
            let mut near = NearReference::from_entry(id)?.certain();
            match (&reference.select, near.selects.as_slice()) {
                (None, [_, ..]) => {}
                (select, [None]) => near.selects = vec![select.clone()],
                // The path in both, or its beginning in the id.
                (Some(select), paths) if paths.iter().flatten().any(|path| path == select) => {
                    near.selects = vec![Some(select.clone())];
                }
                (Some(select), [Some(path), ..]) => {
                    let joined = format!("{path} | {}", select.trim_start_matches('.'));
                    near.selects = vec![Some(joined), Some(select.clone())];
                }
                _ => return None,
            }
            near.default = reference.default.clone();
            Some((number, near))
        });
        found.take(MAX_NEAR).collect()
    }

    /// What is meant where a reference stands, with another selector for it: the reference, or the text that it is in.
    pub(crate) fn meant(&self, number: usize, select: Option<String>) -> Vec<MeantPiece> {
        let value = |at: usize| {
            let reference = &self.references.get(at)?.reference;
            let select = if at == number {
                select.clone()
            } else {
                reference.select.clone()
            };
            let id = reference.call_id.as_str().to_owned();
            Some(MeantPiece::Value { id, select })
        };
        let place = self.references.get(number).map(|planned| &planned.at);
        let text = self.steps.iter().find_map(|step| match step {
            Step::Put {
                at,
                filling: Filling::Text(pieces),
                ..
            } if Some(at) == place => Some(pieces),
            _ => None,
        });
        let Some(pieces) = text else {
            return value(number).into_iter().collect();
        };
        let mut length = 0;
        let is_long = pieces.iter().any(|piece| {
            length += match piece {
                Piece::Text(text) => text.len(),
                Piece::Value(_) => 8,
            };
            length > MAX_MEANT_BYTES
        });
        if is_long {
            return value(number)
                .into_iter()
                .chain([MeantPiece::Rest])
                .collect();
        }
        let pieces = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(MeantPiece::Text(text.clone())),
            Piece::Value(at) => value(*at),
        });
        pieces.collect()
    }

    /// Reads references anew.
    pub(crate) fn reread(&mut self, references: impl IntoIterator<Item = (usize, Reference)>) {
        for (number, reference) in references {
            if let Some(planned) = self.references.get_mut(number) {
                let own = std::mem::replace(&mut planned.reference, reference);
                (planned.reference.edit, planned.reference.digest) = (own.edit, own.digest);
            }
        }
        self.wanted.clear();
        self.index.clear();
        let mut references = std::mem::take(&mut self.references);
        for planned in &mut references {
            planned.wanted = self.want(&planned.reference, planned.form);
        }
        self.references = references;
    }

    /// The number of the look-up that a reference needs.
    fn want(&mut self, reference: &Reference, form: Form) -> usize {
        let key = LookupKey::of(reference, form);
        *self.index.entry(key).or_insert_with_key(|key| {
            self.wanted.push(key.clone());
            self.wanted.len() - 1
        })
    }

    /// Makes references of what names one of these calls, by the ids as they were written, and data of the rest.
    pub(crate) fn settle(&mut self, known: &HashMap<String, CallId>) {
        for step in std::mem::take(&mut self.steps) {
            match step {
                Step::Near(place) => self.settle_place(*place, known),
                step => self.steps.push(step),
            }
        }
    }

    fn settle_place(&mut self, place: NearPlace, known: &HashMap<String, CallId>) {
        let NearPlace {
            at,
            ordinal,
            order,
            kind,
            mut parts,
            has_more,
        } = place;
        parts.retain(|(_, near)| known.contains_key(&near.id));
        let Some((first, near)) = parts.first() else {
            return;
        };
        let text = match kind {
            NearKind::Template => {
                let written = format!("{{{}}}", near.written);
                let malformed = Malformed::NotAReference { written };
                self.refuse_in(order, at, ordinal, (malformed, Vec::new()));
                return;
            }
            NearKind::Text(text) if first.len() < text.trim().len() => Some(text),
            NearKind::Text(_) | NearKind::Object => None,
        };
        self.has_more |= has_more || self.has_unread;
        for (_, near) in &mut parts {
            if let Some(call_id) = known.get(&near.id) {
                near.id = call_id.as_str().to_owned();
            }
        }
        let unclear = parts.iter().find(|(_, near)| near.selects.is_empty());
        if let Some((_, unclear)) = unclear {
            let written = unclear.written.clone();
            let malformed = Malformed::NotAReference { written };
            let meant = meant_pieces(text.as_deref(), &parts);
            self.refuse_in(order, at, ordinal, (malformed, meant));
            return;
        }
        let mut pieces = Vec::new();
        let mut end = 0;
        let text_piece = |text: Option<&str>| {
            let text = text.filter(|text| !text.is_empty());
            text.map(|text| Piece::Text(text.to_owned()))
        };
        for (part, near) in parts {
            let written = near.written.clone();
            let Some(reference) = near.into_reference() else {
                let malformed = Malformed::NotAReference { written };
                self.refuse_in(order, at, ordinal, (malformed, Vec::new()));
                return;
            };
            let reference = self.add_in(order, (at.clone(), None), (reference, Form::Any), None);
            let Some(text) = &text else {
                self.put(at, ordinal, Filling::Reference(reference));
                return;
            };
            self.references[reference].raw = text.get(part.clone()).map(Into::into);
            pieces.extend(text_piece(text.get(end..part.start)));
            pieces.push(Piece::Value(reference));
            end = part.end;
        }
        pieces.extend(text_piece(text.as_deref().and_then(|text| text.get(end..))));
        self.put(at, ordinal, Filling::Text(pieces));
    }

    pub(super) fn put(&mut self, at: Pointer, ordinal: Option<u32>, filling: Filling) {
        self.steps.push(Step::Put {
            at,
            ordinal,
            filling,
        });
    }

    /// Adds what may be meant as a reference.
    pub(super) fn put_near(
        &mut self,
        (at, ordinal): (Pointer, Option<u32>),
        kind: NearKind,
        parts: Vec<(Range<usize>, NearReference)>,
        has_more: bool,
    ) {
        let order = self.next_order();
        self.steps.push(Step::Near(Box::new(NearPlace {
            at,
            ordinal,
            order,
            kind,
            parts,
            has_more,
        })));
    }

    /// The position of the next place in the order of the walk.
    fn next_order(&mut self) -> usize {
        self.places += 1;
        self.places
    }

    pub(super) fn refuse(&mut self, at: Pointer, ordinal: Option<u32>, malformed: Malformed) {
        let order = self.next_order();
        self.refuse_in(order, at, ordinal, (malformed, Vec::new()));
    }

    fn refuse_in(
        &mut self,
        order: usize,
        at: Pointer,
        ordinal: Option<u32>,
        (malformed, meant): (Malformed, Vec<MeantPiece>),
    ) {
        self.malformed.push(MalformedAt {
            at,
            malformed,
            meant,
            ordinal,
            order,
        });
    }

    /// Adds a reference at a place, which has a number in the document if the arguments are one.
    pub(super) fn add(
        &mut self,
        place: (Pointer, Option<u32>),
        (reference, form): (Reference, Form),
        edit: Option<PlannedEdit>,
    ) -> usize {
        let order = self.next_order();
        self.add_in(order, place, (reference, form), edit)
    }

    fn add_in(
        &mut self,
        order: usize,
        (at, ordinal): (Pointer, Option<u32>),
        (reference, form): (Reference, Form),
        edit: Option<PlannedEdit>,
    ) -> usize {
        let wanted = self.want(&reference, form);
        self.references.push(PlannedReference {
            at,
            reference,
            wanted,
            ordinal,
            raw: None,
            edit,
            is_inner: false,
            form,
            order,
        });
        self.references.len() - 1
    }
}

/// The pieces of a text, or of a reference alone, as they are probably meant.
fn meant_pieces(text: Option<&str>, parts: &[(Range<usize>, NearReference)]) -> Vec<MeantPiece> {
    let value = |near: &NearReference| MeantPiece::Value {
        id: near.id.clone(),
        select: near
            .selects
            .first()
            .cloned()
            .flatten()
            .or(near.guess.clone()),
    };
    let Some(text) = text else {
        return parts.iter().take(1).map(|(_, near)| value(near)).collect();
    };
    if text.len() > MAX_MEANT_BYTES {
        let unclear = parts.iter().find(|(_, near)| near.selects.is_empty());
        let unclear = unclear.map(|(_, near)| value(near));
        return unclear.into_iter().chain([MeantPiece::Rest]).collect();
    }
    let mut pieces = Vec::with_capacity(2 * parts.len() + 1);
    let mut end = 0;
    for (part, near) in parts {
        let before = text.get(end..part.start).unwrap_or_default();
        pieces.push(MeantPiece::Text(before.to_owned()));
        pieces.push(value(near));
        end = part.end;
    }
    pieces.push(MeantPiece::Text(
        text.get(end..).unwrap_or_default().to_owned(),
    ));
    pieces
}
