//! The plan: one walk over the arguments that finds every reference, and every malformed one.

use crate::{
    arguments::{ArgumentValue, Room, count_of, small},
    error::{LimitError, MAX_MEANT_BYTES, MeantPiece, ReferenceStyle},
};
use crossfeed_json::{Cursor, Kind, MAX_DEPTH};
use crossfeed_schema::Position;
use crossfeed_wire::{
    ArtifactId, CallId, Pointer,
    reference::{
        self, Glimpse, Malformed, NearReference, Piece, Reading, Reference, Target, Template,
    },
};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    ops::Range,
};

/// The most parts of arguments that are read as what may be meant as a reference.
const MAX_NEAR: usize = 10_000;

/// The most items of a list that may be the steps of a path behind an id.
const MAX_STEPS: usize = 12;

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
}

impl LookupKey {
    pub(crate) fn new(call_id: &CallId, artifact_id: Option<&ArtifactId>) -> Self {
        Self {
            call_id: call_id.clone(),
            artifact_id: artifact_id.cloned(),
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
    /// Its position in the order of the walk.
    order: usize,
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
enum NearKind {
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
    has_unread: bool,
}

/// A key or index on the path to the current value.
enum Part<'v> {
    Key(Cow<'v, str>),
    Index(usize),
}

/// A reference that stands alone in an object or list.
enum Wrapped {
    Exact(Reference),
    /// It counts if its id is one of a call of the session.
    Near(NearReference),
}

struct Walk<'v, 'r> {
    plan: Plan,
    path: Vec<Part<'v>>,
    room: &'r mut Room,
    notation: Notation,
    /// Parts that may still be read as what may be meant as a reference.
    near_left: usize,
}

impl Plan {
    /// Walks over the arguments. If nothing looks like a reference, it reads no more than each key and
    /// string. Plans the arguments of a call; `schema` is the tool's own, if it is known.
    pub(crate) fn new(
        arguments: &Value,
        schema: Option<&Value>,
        notation: Notation,
    ) -> Result<Self, LimitError> {
        if glance(arguments, notation, 0)?.is_some() {
            return Ok(Self::default());
        }
        Self::from_json(arguments, schema, notation, &mut Room::new(usize::MAX))
    }

    /// The same for arguments that came as bytes and may hold references. Values are built only within
    /// `room`.
    pub(crate) fn from_json<'v>(
        arguments: impl ArgumentValue<'v>,
        schema: Option<&Value>,
        notation: Notation,
        room: &mut Room,
    ) -> Result<Self, LimitError> {
        let mut walk = Walk {
            plan: Self::default(),
            path: Vec::new(),
            room,
            notation,
            near_left: MAX_NEAR,
        };
        let root = schema.map(Position::root);
        walk.value(arguments, root.as_ref())?;
        // Without the rest of the schema, a declared key could be taken for a reference.
        if root.is_some_and(|root| root.document().is_exhausted()) {
            return Err(LimitError::SchemaTooCostly);
        }
        let mut plan = walk.plan;
        plan.forget_filled();
        Ok(plan)
    }

    /// Forgets what may be meant at places that an entry of a references map fills.
    fn forget_filled(&mut self) {
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

    /// The plan with the spelling of its errors.
    pub(crate) fn spelled(mut self, spelling: ReferenceStyle) -> Self {
        self.spelling = spelling;
        self
    }

    /// Whether the tool gets the arguments unchanged.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.malformed.is_empty()
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
        let found = self.found() + usize::from(self.has_more);
        if found > limit {
            return Err(LimitError::TooManyReferences { found, limit });
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
            if id.bytes().all(reference::is_id_byte) || reference.artifact_id.is_some() {
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
                planned.reference = reference;
            }
        }
        self.wanted.clear();
        self.index.clear();
        let mut references = std::mem::take(&mut self.references);
        for planned in &mut references {
            planned.wanted = self.want(&planned.reference);
        }
        self.references = references;
    }

    /// The number of the look-up that a reference needs.
    fn want(&mut self, reference: &Reference) -> usize {
        let key = LookupKey::new(&reference.call_id, reference.artifact_id.as_ref());
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
            let reference = self.add_in(order, at.clone(), None, reference);
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

    fn put(&mut self, at: Pointer, ordinal: Option<u32>, filling: Filling) {
        self.steps.push(Step::Put {
            at,
            ordinal,
            filling,
        });
    }

    /// Adds what may be meant as a reference.
    fn put_near(
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

    fn refuse(&mut self, at: Pointer, ordinal: Option<u32>, malformed: Malformed) {
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

    fn add(&mut self, at: Pointer, ordinal: Option<u32>, reference: Reference) -> usize {
        let order = self.next_order();
        self.add_in(order, at, ordinal, reference)
    }

    fn add_in(
        &mut self,
        order: usize,
        at: Pointer,
        ordinal: Option<u32>,
        reference: Reference,
    ) -> usize {
        let wanted = self.want(&reference);
        self.references.push(PlannedReference {
            at,
            reference,
            wanted,
            ordinal,
            raw: None,
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

/// What a value shows at a glance; `None` if some key or string in it may be of a reference.
fn glance(value: &Value, notation: Notation, depth: usize) -> Result<Option<Glimpse>, LimitError> {
    let held = match value {
        Value::Object(_) | Value::Array(_) if depth >= MAX_DEPTH => {
            return Err(LimitError::ArgumentsTooDeep);
        }
        Value::Object(members) => {
            let mut looked = reference::Members::default();
            for (key, child) in members {
                if matches!(key.as_bytes().first(), Some(b'$' | b'_')) {
                    return Ok(None);
                }
                match glance(child, notation, depth + 1)? {
                    Some(held) => looked.look(key.as_bytes(), held),
                    None => return Ok(None),
                }
            }
            let mut keys = members.keys();
            let may_be_near = looked.may_be_near(keys.clone().map(String::as_str))
                || depth == 0 && keys.any(|key| reference::is_near_map(key));
            return Ok((notation == Notation::Exact || !may_be_near).then_some(Glimpse::Other));
        }
        // The first that may refer, or nests too deep, ends the walk.
        Value::Array(items) => {
            let mut looked = ListGlimpse::default();
            for item in items {
                match glance(item, notation, depth + 1)? {
                    Some(held) => looked.look(held, item.as_str().map(str::as_bytes)),
                    None => return Ok(None),
                }
            }
            let may_be_near = notation == Notation::Near && looked.may_be_near();
            return Ok((!may_be_near).then_some(Glimpse::Other));
        }
        Value::String(text) => return Ok(glance_at_text(text, notation)),
        Value::Null => Glimpse::Null,
        Value::Bool(_) | Value::Number(_) => Glimpse::Other,
    };
    Ok(Some(held))
}

/// The items of a list, looked at one by one.
#[derive(Default)]
struct ListGlimpse {
    count: usize,
    /// Items that are texts with what may be an id.
    ids: usize,
    /// Whether the first is a text with a sign for one of the grammar.
    is_signed: bool,
}

impl ListGlimpse {
    #[inline]
    fn look(&mut self, held: Glimpse, text: Option<&[u8]>) {
        self.is_signed |= self.count == 0 && matches!(text, Some([b'$' | b'_' | b'\\', ..]));
        self.count += 1;
        self.ids += usize::from(held == Glimpse::Id);
    }

    /// Whether it may be the steps of a path behind an id: `["call_1", "items", 0]`.
    fn may_be_near(&self) -> bool {
        (2..=MAX_STEPS).contains(&self.count) && (self.ids == 1 || self.is_signed)
    }
}

#[inline]
fn glance_at_text(text: &str, notation: Notation) -> Option<Glimpse> {
    if may_be_object(text) {
        return None;
    }
    match (notation, reference::glance(text)) {
        (Notation::Exact, _) => Some(Glimpse::Text),
        (Notation::Near, (held, is_near)) => (!is_near).then_some(held),
    }
}

/// Whether arguments that came as bytes may hold references, as [`glance`] tells of values. It reads members with
/// duplicate keys as well, so that it overlooks no reference. The depth is bounded by the document.
pub(crate) fn may_hold_references(arguments: Cursor<'_>, notation: Notation) -> bool {
    let mut keys = arguments.members().map(|(key, _)| key);
    glance_at_json(arguments, notation).is_none()
        || notation == Notation::Near && keys.any(|key| reference::is_near_map(&key.text()))
}

/// [`may_hold_references`], but for the keys of references maps of the arguments themselves.
fn glance_at_json(value: Cursor<'_>, notation: Notation) -> Option<Glimpse> {
    match value.kind() {
        Kind::Object if value.document_has_duplicates() => None,
        Kind::Object => {
            let mut looked = reference::Members::default();
            for (key, child) in value.members() {
                let key = key.bytes();
                if matches!(key.first(), Some(b'$' | b'_')) {
                    return None;
                }
                looked.look(&key, glance_at_json(child, notation)?);
            }
            let keys = value.members().map(|(key, _)| key.text());
            let may_be_near = notation == Notation::Near && looked.may_be_near(keys);
            (!may_be_near).then_some(Glimpse::Other)
        }
        Kind::Array => {
            let mut looked = ListGlimpse::default();
            for item in value.items() {
                let held = glance_at_json(item, notation)?;
                looked.look(held, item.raw().strip_prefix(b"\""));
            }
            let may_be_near = notation == Notation::Near && looked.may_be_near();
            (!may_be_near).then_some(Glimpse::Other)
        }
        Kind::String => {
            let written = value.raw();
            // Blanks before an object may be escaped.
            let is_plain = |first: &u8| first.is_ascii_graphic() && !matches!(first, b'{' | b'\\');
            let may_be_near = notation == Notation::Near && reference::may_hold_id(written);
            if !may_be_near && written.get(1).is_some_and(is_plain) {
                return Some(Glimpse::Text);
            }
            glance_at_text(&value.as_str()?, notation)
        }
        Kind::Null => Some(Glimpse::Null),
        Kind::Boolean | Kind::Number => Some(Glimpse::Other),
    }
}

/// Whether a text begins like a JSON object, after blanks. For most texts the first byte decides.
#[inline]
fn may_be_object(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'{') => true,
        Some(first) if first.is_ascii_graphic() => false,
        _ => text.trim_start().starts_with('{'),
    }
}

/// Whether a selector gives a list rather than a part of one: `items[*].url`.
fn projects(select: &str) -> bool {
    let has_list = ["[*]", "[]", "[?"].iter().any(|list| select.contains(list));
    let is_slice = || {
        let mut brackets = select.split('[').skip(1);
        brackets.any(|inner| inner.split(']').next().is_some_and(|it| it.contains(':')))
    };
    !select.contains(['|', '(']) && (has_list || is_slice())
}

/// The members of an object, looked at one by one.
fn looked_at<'v>(object: impl ArgumentValue<'v>) -> reference::Members {
    let mut looked = reference::Members::default();
    for (key, value) in object.members() {
        looked.look(key.as_bytes(), glimpse(value));
    }
    looked
}

/// The items of a list, looked at one by one.
fn looked_at_list<'v>(list: impl ArgumentValue<'v>) -> ListGlimpse {
    let mut looked = ListGlimpse::default();
    for item in list.children() {
        looked.look(glimpse(item), item.text().as_deref().map(str::as_bytes));
    }
    looked
}

fn glimpse<'v>(value: impl ArgumentValue<'v>) -> Glimpse {
    match value.kind() {
        Kind::Null => Glimpse::Null,
        _ => value
            .text()
            .map_or(Glimpse::Other, |text| reference::glance(&text).0),
    }
}

/// Whether a schema takes values of this type, as far as its keyword for types says.
fn takes(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => true,
    }
}

/// Whether a member or item, at any depth, is a reference of its own.
fn holds_reference(value: &Value) -> bool {
    let is_one = |value: &Value| {
        let texts = ["$tool", "_tool"].iter().filter_map(|key| value.get(*key));
        texts.into_iter().any(Value::is_string) || holds_reference(value)
    };
    match value {
        Value::Object(members) => members.values().any(is_one),
        Value::Array(items) => items.iter().any(is_one),
        _ => false,
    }
}

/// Whether the schema declares a member of this name.
fn declares(declared: Option<&Position<'_>>, key: &str) -> bool {
    declared.is_some_and(|declared| declared.declares(key))
}

impl<'v> Walk<'v, '_> {
    fn at(&self) -> Pointer {
        self.path
            .iter()
            .fold(Pointer::root(), |at, part| match part {
                Part::Key(key) => at.key(key),
                Part::Index(index) => at.index(*index),
            })
    }

    fn value(
        &mut self,
        value: impl ArgumentValue<'v>,
        declared: Option<&Position<'_>>,
    ) -> Result<(), LimitError> {
        let declared = declared.filter(|declared| !declared.is_empty());
        match self.wrapped(value, declared)? {
            Some(Wrapped::Exact(reference)) => {
                self.put(value, reference);
                return Ok(());
            }
            Some(Wrapped::Near(near)) => {
                self.put_near(value, near);
                return Ok(());
            }
            None => {}
        }
        match value.kind() {
            Kind::Object => self.object(value, declared),
            Kind::Array => {
                self.enter()?;
                if self.put_rearranged(value, declared)? {
                    return Ok(());
                }
                for (index, item) in value.children().enumerate() {
                    self.path.push(Part::Index(index));
                    self.value(item, declared.map(|list| list.item(index)).as_ref())?;
                    self.path.pop();
                }
                Ok(())
            }
            Kind::String => {
                let Some(text) = value.text() else {
                    return Ok(());
                };
                if may_be_object(&text) {
                    self.room.take_text(&text)?;
                    match reference::read_string(&text, &|key| declares(declared, key)) {
                        Ok(None) => {}
                        Ok(Some(reference::Filling::Template(template))) => {
                            self.put_template(value, template);
                            return Ok(());
                        }
                        Ok(Some(reference::Filling::Reference(reference))) => {
                            self.put(value, reference);
                            return Ok(());
                        }
                        // A literal that was written as a text is a text.
                        Ok(Some(reference::Filling::Literal(..))) => return Ok(()),
                        Err(malformed) => {
                            self.refuse(value, malformed);
                            return Ok(());
                        }
                    }
                }
                self.near_text(value, &text, declared)
            }
            _ => Ok(()),
        }
    }

    /// The only reference in an object or list where the tool takes neither: `{"$reference": {"$tool": "call_1"}}`.
    fn wrapped(
        &mut self,
        value: impl ArgumentValue<'v>,
        declared: Option<&Position<'_>>,
    ) -> Result<Option<Wrapped>, LimitError> {
        let kind = match value.kind() {
            Kind::Object => "object",
            Kind::Array => "array",
            _ => return Ok(None),
        };
        let is_taken = |schema: &Value| takes(schema, kind);
        if self.notation == Notation::Exact || self.path.is_empty() {
            return Ok(None);
        }
        let mut children = value.children();
        let (Some(child), None) = (children.next(), children.next()) else {
            return Ok(None);
        };
        let is_other = declared.is_some_and(|declared| !declared.may_fit(is_taken));
        let key = value.members().next().map(|(key, _)| key);
        let is_map = key.as_deref().is_some_and(reference::is_map);
        let is_wrapper = key.as_deref().is_some_and(reference::is_wrapper);
        if key.as_deref().is_some_and(reference::is_literal) {
            return Ok(None);
        }
        // A list of lists is not taken, and the reference gives a list.
        let is_flat = || {
            let item = declared
                .filter(|_| kind == "array")
                .map(|list| list.item(0));
            item.is_some_and(|item| !item.is_empty() && !item.may_fit(is_taken))
        };
        let is_projected = !is_other && !is_wrapper && is_flat();
        if !(is_other || is_wrapper || is_projected) {
            return Ok(None);
        }
        if child.kind() == Kind::String {
            return if is_other {
                Ok(self.wrapped_text(child))
            } else {
                self.projected_text(child)
            };
        }
        // The depth, which looks at all of the value, comes last.
        if child.kind() != Kind::Object && !is_map
            || value.is_deeper(MAX_DEPTH.saturating_sub(self.path.len()))
        {
            return Ok(None);
        }
        let nothing = |_: &str| false;
        let found = if is_map {
            let written = value.as_written(self.room)?;
            let maps = reference::read_references(&written, &nothing).unwrap_or_default();
            let mut entries = maps.into_iter().flat_map(|map| map.entries);
            match (entries.next().map(|entry| entry.reading), entries.next()) {
                (Some(Ok((_, reference::Filling::Reference(reference)))), None) => {
                    Some(Wrapped::Exact(reference.unwrapped()))
                }
                _ => None,
            }
        } else {
            let written = child.as_written(self.room)?;
            match reference::read_object(&written, &nothing) {
                Ok(Reading::Reference(reference))
                    if !is_projected || reference.select.as_deref().is_some_and(projects) =>
                {
                    Some(Wrapped::Exact(reference.unwrapped()))
                }
                Ok(Reading::Data) if self.near_left > 0 && !is_projected => {
                    reference::near_object(&written, &nothing).map(Wrapped::Near)
                }
                _ => None,
            }
        };
        Ok(found)
    }

    /// Puts what a small list or object means that holds the parts of a reference in another arrangement, if it does:
    /// `["$tool", "call_1"]`, `{"step": "call_1", "output": "items"}`.
    fn put_rearranged(
        &mut self,
        value: impl ArgumentValue<'v>,
        declared: Option<&Position<'_>>,
    ) -> Result<bool, LimitError> {
        if self.notation == Notation::Exact || self.path.is_empty() || self.near_left == 0 {
            return Ok(false);
        }
        let is_own = |key: &str| declares(declared, key);
        let Some(small) = small(value).filter(|_| !value.members().any(|(key, _)| is_own(&key)))
        else {
            return Ok(false);
        };
        let kind = reference::type_name(&small);
        let is_data =
            declared.is_none_or(|declared| declared.may_fit(|schema| takes(schema, kind)));
        let Some(near) =
            reference::near_value(&small).filter(|_| !is_data || !holds_reference(&small))
        else {
            return Ok(false);
        };
        self.room.take(count_of(&small), 0)?;
        // The whole result may be data: `{"id": "call_1"}`.
        if is_data && near.selects == [None] {
            return Ok(false);
        }
        if !near.has_sigil {
            // A glance lets the others pass.
            let may_be_near = match value.kind() {
                Kind::Array => looked_at_list(value).may_be_near(),
                _ => {
                    let mut lists = value.children().filter(|child| child.kind() == Kind::Array);
                    let keys = value.members().map(|(key, _)| key);
                    looked_at(value).may_be_near(keys)
                        || lists.any(|list| looked_at_list(list).may_be_near())
                }
            };
            if !may_be_near {
                return Ok(false);
            }
            let near = if is_data { near.doubtful() } else { near };
            self.put_near(value, near);
        } else if let Some(reference) = near.certain().into_reference() {
            self.put(value, reference);
        }
        Ok(true)
    }

    /// A serialised reference to a list in a list.
    fn projected_text(
        &mut self,
        text: impl ArgumentValue<'v>,
    ) -> Result<Option<Wrapped>, LimitError> {
        let Some(text) = text.text().filter(|text| may_be_object(text)) else {
            return Ok(None);
        };
        self.room.take_text(&text)?;
        Ok(match reference::read_string(&text, &|_| false) {
            Ok(Some(reference::Filling::Reference(reference)))
                if reference.select.as_deref().is_some_and(projects) =>
            {
                Some(Wrapped::Exact(reference.unwrapped()))
            }
            _ => None,
        })
    }

    /// A text that is a reference as a whole.
    fn wrapped_text(&self, text: impl ArgumentValue<'v>) -> Option<Wrapped> {
        let text = text.text()?;
        let near = (self.near_left > 0).then(|| reference::near_whole(&text))??;
        Some(Wrapped::Near(near))
    }

    /// Adds what an object or list may mean as a reference.
    fn put_near(&mut self, value: impl ArgumentValue<'v>, near: NearReference) {
        self.near_left = self.near_left.saturating_sub(1);
        let place = (self.at(), value.ordinal());
        let parts = vec![(0..0, near)];
        self.plan.put_near(place, NearKind::Object, parts, false);
    }

    /// Refuses a list or object that nests too deep.
    fn enter(&self) -> Result<(), LimitError> {
        if self.path.len() >= MAX_DEPTH {
            return Err(LimitError::ArgumentsTooDeep);
        }
        Ok(())
    }

    /// Refuses a value in the current object that nests too deep and is not walked over.
    fn enter_all(
        &self,
        mut values: impl Iterator<Item = impl ArgumentValue<'v>>,
    ) -> Result<(), LimitError> {
        // The current object counts, too.
        let most = MAX_DEPTH.saturating_sub(self.path.len() + 1);
        if values.any(|value| value.is_deeper(most)) {
            return Err(LimitError::ArgumentsTooDeep);
        }
        Ok(())
    }

    fn refuse(&mut self, value: impl ArgumentValue<'v>, malformed: Malformed) {
        let at = self.at();
        self.plan.refuse(at, value.ordinal(), malformed);
    }

    fn put(&mut self, value: impl ArgumentValue<'v>, reference: Reference) {
        let (at, ordinal) = (self.at(), value.ordinal());
        let filling = Filling::Reference(self.plan.add(at.clone(), ordinal, reference));
        self.plan.put(at, ordinal, filling);
    }

    fn put_template(&mut self, value: impl ArgumentValue<'v>, template: Template) {
        let (at, ordinal) = (self.at(), value.ordinal());
        let filling = self.template(Some(value), &at, template);
        self.plan.put(at, ordinal, filling);
    }

    /// Adds the references of a template that stands at this place.
    fn template(
        &mut self,
        value: Option<impl ArgumentValue<'v>>,
        at: &Pointer,
        template: Template,
    ) -> Filling {
        let mut numbers = Vec::with_capacity(template.references.len());
        let first = template.references.first();
        let with_key = first.and_then(|(within, _)| within.tokens().next());
        let with = with_key.and_then(|key| value?.member(&key));
        let is_list = with.is_some_and(|with| with.kind() == Kind::Array);
        let items: Vec<_> = with
            .filter(|_| is_list)
            .into_iter()
            .flat_map(ArgumentValue::children)
            .collect();
        let members: HashMap<_, _> = with.into_iter().flat_map(ArgumentValue::members).collect();
        for (within, reference) in template.references {
            let entry = within.tokens().nth(1).and_then(|token| {
                if is_list {
                    items.get(token.parse::<usize>().ok()?).copied()
                } else {
                    members.get(token.as_str()).copied()
                }
            });
            let ordinal = entry.and_then(ArgumentValue::ordinal);
            numbers.push(self.plan.add(at.join(&within), ordinal, reference));
        }
        self.near_template(value.and_then(ArgumentValue::ordinal), at, &template.pieces);
        let pieces = template.pieces.into_iter().map(|piece| match piece {
            Piece::Value(number) => Piece::Value(numbers[number]),
            text => text,
        });
        Filling::Text(pieces.collect())
    }

    /// Adds what is meant as a reference in the text of a template: `See {{call_1.url}}`.
    fn near_template(&mut self, ordinal: Option<u32>, at: &Pointer, pieces: &[Piece]) {
        if self.notation == Notation::Exact {
            return;
        }
        let texts = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            Piece::Value(_) => None,
        });
        let mut parts = Vec::new();
        for text in texts.filter(|text| text.contains('{')) {
            let found = reference::near_text(text, self.near_left);
            let found = found.map(|found| found.parts).unwrap_or_default();
            self.near_left = self.near_left.saturating_sub(found.len());
            parts.extend(
                found
                    .into_iter()
                    .filter(|(_, near)| near.written.starts_with('{')),
            );
        }
        if !parts.is_empty() {
            let place = (at.clone(), ordinal);
            self.plan.put_near(place, NearKind::Template, parts, false);
        }
    }

    /// Adds a text that may hold what is meant as a reference.
    fn near_text(
        &mut self,
        value: impl ArgumentValue<'v>,
        text: &str,
        declared: Option<&Position<'_>>,
    ) -> Result<(), LimitError> {
        // Names that the tool itself has here are its own in a text, too.
        let mut names = ["$tool", "_tool", "tool"].iter();
        if self.notation == Notation::Exact
            || !reference::glance(text).1
            || names.any(|name| declares(declared, name))
        {
            return Ok(());
        }
        self.room.take_text(text)?;
        let Some(found) = reference::near_text(text, self.near_left) else {
            return Ok(());
        };
        self.room.take(found.parts.len() + 1, text.len())?;
        self.near_left = self.near_left.saturating_sub(found.parts.len());
        if found.parts.is_empty() {
            self.plan.has_unread |= found.has_more;
            return Ok(());
        }
        let place = (self.at(), value.ordinal());
        let kind = NearKind::Text(text.to_owned());
        self.plan.put_near(place, kind, found.parts, found.has_more);
        Ok(())
    }

    /// What an object may mean as a reference.
    fn near_object(
        &mut self,
        object: impl ArgumentValue<'v>,
        declared: Option<&Position<'_>>,
    ) -> Result<Option<NearReference>, LimitError> {
        if self.notation == Notation::Exact || self.near_left == 0 {
            return Ok(None);
        }
        if !looked_at(object).may_be_near(object.members().map(|(key, _)| key)) {
            return Ok(None);
        }
        let written = object.as_written(self.room)?;
        let declares = |key: &str| declares(declared, key);
        let near = reference::near_object(&written, &declares);
        // The arguments themselves are the parameters of the tool.
        let is_root = self.path.is_empty();
        Ok(near.filter(|near| !is_root || near.has_sigil))
    }

    fn object<V: ArgumentValue<'v>>(
        &mut self,
        object: V,
        declared: Option<&Position<'_>>,
    ) -> Result<(), LimitError> {
        self.enter()?;
        let mut maps = Vec::new();
        let is_near = self.notation == Notation::Near;
        let may_have_map = self.path.is_empty() && is_near;
        if object.members().any(|(key, _)| {
            reference::is_sentinel(&key)
                || is_near && reference::is_unsigned(&key)
                || may_have_map && reference::is_near_map(&key)
        }) {
            let declares = |key: &str| declares(declared, key);
            // Reading copies these members.
            let copied = object
                .members()
                .filter(|(key, _)| reference::is_copied(key));
            self.enter_all(copied.map(|(_, value)| value))?;
            let written = object.as_written(self.room)?;
            match reference::read_object(&written, &declares) {
                Ok(Reading::Data) => {}
                other => {
                    self.enter_all(object.children())?;
                    match other {
                        Ok(Reading::Reference(reference)) => self.put(object, reference),
                        Ok(Reading::Template(template)) => self.put_template(object, template),
                        Ok(_) => self.plan.steps.push(Step::Literal(self.at())),
                        Err(malformed) => {
                            let is_shape =
                                matches!(malformed, Malformed::NoTool | Malformed::NoString { .. });
                            if !is_shape || !self.put_rearranged(object, declared)? {
                                self.refuse(object, malformed);
                            }
                        }
                    }
                    return Ok(());
                }
            }
            let texts = written.iter().filter(|(key, _)| reference::is_copied(key));
            for text in texts.filter_map(|(_, value)| value.as_str()) {
                self.room.take_json(text)?;
            }
            match reference::read_references(&written, &declares) {
                Ok(found) => maps = found,
                Err((within, malformed)) => {
                    self.enter_all(object.children())?;
                    let map = within.tokens().next().and_then(|key| object.member(&key));
                    let at = self.at().join(&within);
                    let ordinal = map.and_then(ArgumentValue::ordinal);
                    self.plan.refuse(at, ordinal, malformed);
                    return Ok(());
                }
            }
        }
        let near = if maps.is_empty() {
            self.near_object(object, declared)?
        } else {
            None
        };
        if near.is_none() && maps.is_empty() && self.put_rearranged(object, declared)? {
            return Ok(());
        }
        for (key, value) in object.members() {
            if maps.iter().any(|map| map.key == key) {
                continue;
            }
            let inner = declared.map(|object| object.member(&key));
            self.path.push(Part::Key(key));
            self.value(value, inner.as_ref())?;
            self.path.pop();
        }
        for map in maps {
            let at_object = self.at();
            let written = object.member(&map.key);
            let mut places = written.into_iter().flat_map(ArgumentValue::children);
            let mut entries = Vec::with_capacity(map.entries.len());
            for entry in map.entries {
                let at = at_object.join(&entry.at);
                let place = places.next();
                let ordinal = place.and_then(ArgumentValue::ordinal);
                let (target, filling) = match entry.reading {
                    Ok(read) => read,
                    Err(malformed) => {
                        self.plan.refuse(at, ordinal, malformed);
                        continue;
                    }
                };
                let filling = match filling {
                    reference::Filling::Reference(reference) => {
                        Filling::Reference(self.plan.add(at, ordinal, reference))
                    }
                    reference::Filling::Template(template) => self.template(place, &at, template),
                    reference::Filling::Literal(key, content) => {
                        Filling::Literal { at, key, content }
                    }
                };
                entries.push((target, filling));
            }
            self.plan.steps.push(Step::Map {
                object: at_object,
                key: map.key,
                ordinal: written.and_then(ArgumentValue::ordinal),
                entries,
            });
        }
        if let Some(near) = near {
            self.put_near(object, near);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Notation, Plan, Room, glance, may_hold_references};
    use crossfeed_json::Document;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(
                &[
                    "tool",
                    "toool",
                    "tol",
                    "_tool",
                    "tool_",
                    "call_id",
                    "toolCallId",
                    "ref",
                    "id",
                    "source",
                    "select",
                    "slect",
                    "path",
                    "key",
                    "x-path",
                    "refs",
                    "references",
                    "to",
                    "call_1",
                    "call-7",
                    "title",
                    "note"
                ][..]
            )
            .prop_map(str::to_owned),
            "[a-z_]{1,9}",
        ]
    }

    fn text() -> impl Strategy<Value = Value> {
        let texts = [
            "call_1",
            "call_1.items[0]",
            "{{call_1.a}}",
            "see ${call_1.a}",
            "search_issues",
            "items[0]",
            "url of call_1",
            "#/call_1/a",
            "https://a.example/2",
            "a word",
            "{\"tool\": \"call_1\"}",
            "tool: call_1, select: a",
        ];
        prop::sample::select(texts.map(Value::from).to_vec())
    }

    fn arguments() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![4 => text(), 1 => Just(json!(null)), 1 => Just(json!(1))];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                3 => prop::collection::vec((key(), inner.clone()), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
                1 => prop::collection::vec(inner, 0..3).prop_map(Value::Array),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// A glance that finds nothing overlooks nothing, and is the same at values and at bytes.
        #[test]
        fn what_a_glance_lets_pass_is_no_reference(value in arguments(), is_exact: bool) {
            let notation = if is_exact { Notation::Exact } else { Notation::Near };
            let found = glance(&value, notation, 0).unwrap().is_none();
            let document = Document::new(value.to_string());
            prop_assert_eq!(found, may_hold_references(document.root().unwrap(), notation));
            if !found {
                let plan = Plan::from_json(&value, None, notation, &mut Room::new(usize::MAX)).unwrap();
                prop_assert!(plan.is_empty(), "{value}");
            }
        }
    }
}
