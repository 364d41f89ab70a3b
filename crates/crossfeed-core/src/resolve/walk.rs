//! The walk over arguments that finds every reference, and every malformed one.

use super::{
    edit::opens_text,
    glance::{glance, looked_at, looked_at_list, may_be_object},
    plan::{Filling, MAX_NEAR, NearKind, Notation, Plan, PlannedEdit, Step},
};
use crate::{
    arguments::{Argument, ArgumentValue, RemovedMembers, Room, count_of, small},
    error::LimitError,
    input::Form,
};
use crossfeed_json::{Document, Kind, MAX_DEPTH};
use crossfeed_schema::Position;
use crossfeed_wire::{
    Pointer,
    reference::{self, Malformed, NearReference, Piece, Reading, Reference, Template, WrittenEdit},
};
use serde_json::Value;
use std::{borrow::Cow, collections::HashMap};

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
                let form = Form::of_reference(&reference, declared);
                return self.put(value, reference, form);
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
                            return self.put_template(value, template);
                        }
                        Ok(Some(reference::Filling::Reference(reference))) => {
                            let form = Form::of_reference(&reference, declared);
                            return self.put(value, reference, form);
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
                (Some(Ok((_, reference::Filling::Reference(reference)))), None)
                    if reference.edit.is_none() =>
                {
                    Some(Wrapped::Exact(reference.unwrapped(false)))
                }
                _ => None,
            }
        } else {
            let written = child.as_written(self.room)?;
            match reference::read_object(&written, &nothing) {
                Ok(Reading::Reference(reference))
                    if reference.edit.is_none()
                        && (!is_projected || reference.select.as_deref().is_some_and(projects)) =>
                {
                    Some(Wrapped::Exact(reference.unwrapped(kind == "array")))
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
        if self.notation == Notation::Exact || self.path.is_empty() || self.reads_no_more() {
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
            self.put(value, reference, Form::Any)?;
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
                Some(Wrapped::Exact(reference.unwrapped(true)))
            }
            _ => None,
        })
    }

    /// A text that is a reference as a whole.
    fn wrapped_text(&mut self, text: impl ArgumentValue<'v>) -> Option<Wrapped> {
        let text = text.text()?;
        let near = reference::near_whole(&text)?;
        if self.reads_no_more() {
            return None;
        }
        Some(Wrapped::Near(near))
    }

    /// Whether as many parts were read as may be; then there is one that was not.
    fn reads_no_more(&mut self) -> bool {
        self.plan.has_unread |= self.near_left == 0;
        self.near_left == 0
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

    fn put(
        &mut self,
        value: impl ArgumentValue<'v>,
        reference: Reference,
        form: Form,
    ) -> Result<(), LimitError> {
        let (at, ordinal) = (self.at(), value.ordinal());
        let filling = Filling::Reference(self.add(&at, Some(value), (reference, form))?);
        self.plan.put(at, ordinal, filling);
        Ok(())
    }

    fn put_template(
        &mut self,
        value: impl ArgumentValue<'v>,
        template: Template,
    ) -> Result<(), LimitError> {
        let (at, ordinal) = (self.at(), value.ordinal());
        let filling = self.template(Some(value), &at, template)?;
        self.plan.put(at, ordinal, filling);
        Ok(())
    }

    /// Adds a reference, after those that its edit holds. What is written in the place of a text is not known.
    fn add(
        &mut self,
        at: &Pointer,
        written: Option<impl ArgumentValue<'v>>,
        (reference, form): (Reference, Form),
    ) -> Result<usize, LimitError> {
        let edit = reference.edit.as_deref();
        let edit = edit.map(|edit| self.edit(at, written, edit)).transpose()?;
        let ordinal = written.and_then(ArgumentValue::ordinal);
        Ok(self
            .plan
            .add((at.clone(), ordinal), (reference, form), edit))
    }

    /// Adds the references in an edit. They are exact: the operations of a patch look like what is near one.
    fn edit(
        &mut self,
        at: &Pointer,
        written: Option<impl ArgumentValue<'v>>,
        edit: &WrittenEdit,
    ) -> Result<PlannedEdit, LimitError> {
        let first = self.plan.references.len();
        let content = written.and_then(|written| {
            let mut spellings = [&*edit.key].into_iter().chain(edit.kind.spellings());
            spellings.find_map(|key| Some((key, written.member(key)?)))
        });
        let text = edit.content.as_str().filter(|_| opens_text(edit));
        if let Some(text) = text {
            self.room.take_json(text)?;
        }
        let held = text.map(|text| Document::new(text.to_owned()));
        let held = held.as_ref().and_then(|held| held.root().ok());
        let (Some((key, content)), None) = (content, held) else {
            let removed = RemovedMembers::default();
            let plan = match held {
                Some(held) => {
                    let held = Argument::new(held, &removed);
                    Plan::from_json(held, None, Notation::Exact, self.room)?
                }
                None => Plan::from_json(&edit.content, None, Notation::Exact, self.room)?,
            };
            return Ok(PlannedEdit {
                at: None,
                inner: first..first,
                is_plain: plan.is_empty(),
            });
        };
        let steps = self.plan.steps.len() + self.plan.malformed.len();
        let at = at.key(key);
        let path = at.tokens().map(|token| Part::Key(Cow::Owned(token)));
        let path = std::mem::replace(&mut self.path, path.collect());
        let notation = std::mem::replace(&mut self.notation, Notation::Exact);
        let walked = self.value(content, None);
        (self.path, self.notation) = (path, notation);
        walked?;
        for inner in self.plan.references.iter_mut().skip(first) {
            inner.is_inner = true;
        }
        Ok(PlannedEdit {
            at: Some(at),
            inner: first..self.plan.references.len(),
            is_plain: steps == self.plan.steps.len() + self.plan.malformed.len(),
        })
    }

    /// Adds the references of a template that stands at this place.
    fn template(
        &mut self,
        value: Option<impl ArgumentValue<'v>>,
        at: &Pointer,
        template: Template,
    ) -> Result<Filling, LimitError> {
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
            let form = Form::in_text(&reference);
            numbers.push(self.add(&at.join(&within), entry, (reference, form))?);
        }
        self.near_template(value.and_then(ArgumentValue::ordinal), at, &template.pieces);
        let pieces = template.pieces.into_iter().map(|piece| match piece {
            Piece::Value(number) => Piece::Value(numbers[number]),
            text => text,
        });
        Ok(Filling::Text(pieces.collect()))
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
        if self.notation == Notation::Exact
            || !looked_at(object).may_be_near(object.members().map(|(key, _)| key))
            || self.reads_no_more()
        {
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
                        Ok(Reading::Reference(reference)) => {
                            let form = Form::of_reference(&reference, declared);
                            self.put(object, reference, form)?;
                        }
                        Ok(Reading::Template(template)) => self.put_template(object, template)?,
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
                        let declared = declared.map(|declared| {
                            let to = target.to_pointer();
                            let tokens = to.tokens();
                            tokens.fold(declared.clone(), |place, token| place.child(&token))
                        });
                        let form = Form::of_reference(&reference, declared.as_ref());
                        Filling::Reference(self.add(&at, place, (reference, form))?)
                    }
                    reference::Filling::Template(template) => {
                        self.template(place, &at, template)?
                    }
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
