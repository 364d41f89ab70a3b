//! Malformed references, with the correct form where it can be inferred.

use super::{
    SelectError,
    meant::{MeantPiece, in_braces},
    shown_edit::{ShownEdit, edit_kind},
};
use crossfeed_tools::{ListedTool, Spelling, Style};
use crossfeed_wire::{
    CallId, Pointer,
    reference::{
        Input, Malformed, NearReference, is_near_edit, is_near_select, is_sentinel, near_text,
    },
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The most characters of a corrected form: a longer one does not help.
const MAX_CORRECTED_CHARS: usize = 300;

/// How the schema that the model was shown spells references.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReferenceStyle {
    /// The name of the references map, and whether it is a list.
    pub(super) map: Option<(Arc<str>, bool)>,
    /// The spelling of keys, if it is known.
    spelling: Option<Spelling>,
    /// Whether it offers no texts with values in them.
    pub(super) lacks_templates: bool,
}

impl ReferenceStyle {
    pub(crate) fn of(listed: &ListedTool) -> Self {
        let is_list = listed.style() == Some(Style::RefsList);
        let mut style = Self {
            map: listed.references().map(|name| (name.into(), is_list)),
            spelling: listed.spelling(),
            lacks_templates: true,
        };
        style.lacks_templates = !style.is_template_in(listed.shown_schema());
        style
    }

    /// Whether the schema that the model was shown has templates.
    fn is_template_in(&self, shown: &Value) -> bool {
        let has = |schema: &Value, key: &str| schema["properties"].get(key).is_some();
        let key = self.key("template");
        if let Some((map, is_list)) = &self.map {
            let map = &shown["properties"][&**map];
            return has(&map["items"], "template") && *is_list
                || has(&map["additionalProperties"], &key);
        }
        let definitions = ["$defs", "definitions"].into_iter();
        let mut definitions = definitions
            .filter_map(|keyword| shown.get(keyword)?.as_object())
            .flat_map(Map::values);
        definitions.any(|schema| {
            let branches = schema["anyOf"].as_array();
            branches.is_some_and(|branches| branches.iter().any(|branch| has(branch, &key)))
        })
    }

    /// The spelling of the schema or, without one, of what was written.
    fn or_of(&self, object: &Map<String, Value>) -> Self {
        let is_written = |sigil| object.keys().any(|key| key.starts_with(sigil));
        let written = is_written('_').then_some(Spelling::Underscore);
        Self {
            spelling: self.spelling.or(written),
            ..self.clone()
        }
    }

    /// The key of a reference that stands in place of a value.
    pub(super) fn key(&self, name: &str) -> String {
        self.spelling.unwrap_or(Spelling::Dollar).key(name)
    }

    /// The spelling of a default, where the schema has a place for it.
    pub(crate) fn default_spelling(&self) -> Option<Spelling> {
        let spelling = self.spelling.unwrap_or(Spelling::Dollar);
        (!self.is_list()).then_some(spelling)
    }

    /// Whether references are entries of a list.
    fn is_list(&self) -> bool {
        matches!(self.map, Some((_, true)))
    }

    /// The key as the schema has it: that of an entry, where references are entries of a list.
    fn shown_key(&self, name: &str) -> String {
        match self.map {
            Some((_, true)) => name.to_owned(),
            _ => self.key(name),
        }
    }

    /// A reference.
    pub(super) fn object(&self, id: &str, select: Option<&str>) -> Map<String, Value> {
        members([self.key("tool"), self.key("select")], id, select)
    }

    /// A reference without its target or name, under the keys that the schema has.
    fn example(&self, id: &str, select: Option<&str>) -> Map<String, Value> {
        members(
            ["tool", "select"].map(|name| self.shown_key(name)),
            id,
            select,
        )
    }

    /// Whether a place is within the references map.
    fn is_in_map(&self, at: &Pointer) -> bool {
        let first = at.tokens().next();
        let map = self.map.as_ref().map(|(name, _)| &**name);
        first.is_some() && first.as_deref() == map
    }

    /// The place of the value of what stands at a place: of an entry of the map, its target.
    fn target(&self, at: &Pointer) -> Pointer {
        let name = at.tokens().nth(1).filter(|_| self.is_in_map(at));
        name.map_or_else(|| at.clone(), |name| to_pointer(&name))
    }

    /// A reference in place of what stands at a place of the arguments: there, or as an entry of the references map.
    /// `to` is the target of what is an entry of a list.
    pub(crate) fn reference_at(
        &self,
        place: (&Pointer, Option<&str>),
        id: &str,
        select: Option<&str>,
        edit: Option<&ShownEdit>,
    ) -> String {
        let entry = members(["tool", "select"].map(str::to_owned), id, select);
        let entry = with_edit(entry, edit.map(|edit| (edit.kind.as_str(), edit)));
        let reference = self.edited(self.object(id, select), edit);
        self.placed(place, &entry, &reference)
    }

    /// A reference to an input.
    pub(crate) fn input_reference(
        &self,
        input: &Input,
        select: Option<&str>,
        edit: Option<&ShownEdit>,
    ) -> String {
        let keys = [self.key(input.kind().as_str()), self.key("select")];
        let members = members(keys, input.name(), select);
        format!("{{{}}}", self.edited(members, edit))
    }

    /// A reference amid a text.
    pub(crate) fn reference_within(
        &self,
        id: &str,
        select: Option<&str>,
        edit: Option<&ShownEdit>,
    ) -> String {
        format!("{{{}}}", self.edited(self.object(id, select), edit))
    }

    /// The members of a reference and its edit.
    fn edited(&self, members: Map<String, Value>, edit: Option<&ShownEdit>) -> String {
        let key = edit.map(|edit| self.key(edit.kind.as_str()));
        with_edit(members, key.as_deref().zip(edit))
    }

    /// A literal in place of what stands there.
    fn literal_at(&self, place: (&Pointer, Option<&str>)) -> String {
        let literal = format!("\"{}\": …", self.key("literal"));
        self.placed(place, "\"literal\": …", &literal)
    }

    /// What stands at a place, by the members of an entry of a list, and of an object elsewhere.
    fn placed(&self, (at, to): (&Pointer, Option<&str>), entry: &str, object: &str) -> String {
        let entry = |to: Option<&str>| {
            let to = to.map(|to| format!("\"to\":{},", Value::from(to)));
            format!("{{{}{entry}}}", to.unwrap_or_default())
        };
        let mut tokens = at.tokens();
        match (&self.map, tokens.next()) {
            (Some((_, true)), _) if self.is_in_map(at) => entry(to),
            (Some((map, is_list)), Some(name)) if !self.is_in_map(at) => {
                let is_deep = tokens.next().is_some();
                let to = if is_deep { at.as_str() } else { &name };
                if *is_list {
                    format!("\"{map}\": [{}]", entry(Some(to)))
                } else {
                    format!("\"{map}\": {{{}: {{{object}}}}}", Value::from(to))
                }
            }
            _ => format!("{{{object}}}"),
        }
    }

    /// Keys of the grammar as the schema spells them.
    fn respelled(&self, key: &str) -> String {
        match key.strip_prefix(['$', '_']) {
            Some(name) if is_sentinel(key) && self.spelling.is_some() => self.key(name),
            _ => key.to_owned(),
        }
    }
}

/// The members of a reference, under these keys.
pub(super) fn members(keys: [String; 2], id: &str, select: Option<&str>) -> Map<String, Value> {
    let [tool, key] = keys;
    let mut members = Map::new();
    members.insert(tool, id.into());
    members.extend(select.map(|select| (key, select.into())));
    members
}

/// The place that the target of an entry names.
fn to_pointer(to: &str) -> Pointer {
    let pointer = Some(to).filter(|to| to.starts_with('/'));
    let pointer = pointer.and_then(Pointer::parse);
    pointer.unwrap_or_else(|| Pointer::root().key(to))
}

/// An entry of a list of references.
fn entry(to: Option<&str>, id: &str, select: Option<&str>, edit: Option<&ShownEdit>) -> String {
    let mut entry = Map::new();
    entry.extend(to.map(|to| ("to".to_owned(), to.into())));
    entry.extend(members(["tool", "select"].map(str::to_owned), id, select));
    let edit = edit.map(|edit| (edit.kind.as_str(), edit));
    format!("{{{}}}", with_edit(entry, edit))
}

/// Members, and an edit under its key behind them, without braces.
fn with_edit(members: Map<String, Value>, edit: Option<(&str, &ShownEdit)>) -> String {
    let mut object = without_braces(members);
    if let Some((key, edit)) = edit {
        if !object.is_empty() {
            object.push(',');
        }
        object.push_str(&edit.member(key));
    }
    object
}

/// The members of an object as JSON.
fn without_braces(members: Map<String, Value>) -> String {
    let object = Value::Object(members).to_string();
    object[1..object.len() - 1].to_owned()
}

/// Something that looks like a reference and is not valid: `{"$tool": 7}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed reference: {malformed}{}", read_as(why.as_deref()))]
#[non_exhaustive]
pub struct MalformedReference {
    /// The fault.
    pub malformed: Malformed,
    /// The correct form as JSON, where it can be inferred: `{"$tool":"7"}`.
    pub corrected: Option<String>,
    /// Why it cannot be read as what it seems to mean.
    pub(crate) why: Option<Box<str>>,
    /// One next step, spelled as the model has to write it.
    pub(crate) advice: Box<str>,
    /// What a correction lacks that the session may know.
    pub(crate) draft: Option<Box<Draft>>,
}

/// A correction that the session may complete: by the id of a call, a selector that works, or a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    /// The call, if it was named.
    pub(crate) call_id: Option<CallId>,
    /// The selector, if it was written.
    pub(crate) select: Option<String>,
    /// The edit, if one was written.
    edit: Option<ShownEdit>,
    /// The target of an entry of a list.
    to: Option<String>,
    at: Pointer,
    /// Whether it is an entry of a list of references.
    is_entry: bool,
    /// The part of a text that is replaced, if not all of what stands at the place.
    part: Option<String>,
    spelling: ReferenceStyle,
}

impl Draft {
    /// Whether an entry of a list lacks its target.
    pub(crate) fn lacks_target(&self) -> bool {
        self.is_entry && self.to.is_none()
    }

    /// The same with a target.
    pub(crate) fn with_target(mut self, to: &str) -> Self {
        self.to = Some(to.to_owned());
        self
    }

    /// The place of the value; none for a part of a text, which may be anything.
    pub(crate) fn target(&self) -> Option<Pointer> {
        let target = match &self.to {
            Some(to) if self.is_entry => to_pointer(to),
            _ => self.spelling.target(&self.at),
        };
        self.part.is_none().then_some(target)
    }

    fn place(&self) -> (&Pointer, Option<&str>) {
        (&self.at, self.to.as_deref())
    }

    /// What is written instead.
    fn written(&self, id: &str, select: Option<&str>) -> String {
        let select = select.filter(|select| *select != "@");
        let with = |edit: Option<&ShownEdit>| match (&self.part, select) {
            (Some(_), select) => in_braces(&MeantPiece::Value {
                id: id.to_owned(),
                select: select.map(str::to_owned),
            }),
            (None, select) if self.is_entry => entry(self.to.as_deref(), id, select, edit),
            (None, select) => self.spelling.reference_at(self.place(), id, select, edit),
        };
        let whole = with(self.edit.as_ref());
        match &self.edit {
            Some(edit) if !is_short(&whole) => with(Some(&edit.without_content())),
            _ => whole,
        }
    }
}

/// The place of what is malformed, what stands there, and how a correction is spelled.
#[derive(Clone, Copy)]
pub(crate) struct Misplaced<'a> {
    pub(crate) at: &'a Pointer,
    pub(crate) written: Option<&'a Value>,
    pub(crate) spelling: &'a ReferenceStyle,
}

/// A correction of what is malformed.
enum Correction {
    /// All of it.
    Whole(String),
    /// A reference, to a call and with a selector where they are known.
    Reference(Option<String>, Option<String>),
}

fn read_as(why: Option<&str>) -> String {
    why.map(|why| format!("; read as one, {why}"))
        .unwrap_or_default()
}

impl MalformedReference {
    /// The error for what stands at a place.
    pub(crate) fn new(malformed: Malformed, place: Misplaced<'_>) -> Self {
        let object = place.written.and_then(Value::as_object);
        let spelling = place.spelling;
        let spelling = object.map_or_else(|| spelling.clone(), |object| spelling.or_of(object));
        let correction = place
            .written
            .and_then(|written| corrected(&malformed, written, &spelling));
        let (call_id, select, whole) = match correction {
            Some(Correction::Whole(text)) => (None, None, Some(text)),
            Some(Correction::Reference(id, select)) => (id, select, None),
            None if takes_example(&malformed) => (None, None, None),
            None => (None, None, Some(String::new())),
        };
        let to = object.and_then(|object| string_of(object, ["to", "_to", "$to"]));
        let is_list = spelling.is_list() && spelling.is_in_map(place.at);
        let draft = Draft {
            call_id: call_id.and_then(|id| CallId::parse(&id).ok()),
            select,
            edit: place.written.and_then(|written| {
                let parsed = written
                    .as_str()
                    .and_then(|text| serde_json::from_str(text).ok());
                ShownEdit::in_object(parsed.as_ref().unwrap_or(written).as_object()?)
            }),
            is_entry: is_list || to.is_some() || malformed == Malformed::NoTarget,
            to: to.map(str::to_owned),
            at: place.at.clone(),
            part: None,
            spelling,
        };
        Self::with(malformed, whole, None, draft)
    }

    /// The error for what was read as a reference and gives no value that fits: `why`, and selectors that do. `to` is
    /// the place of its value; it has none as a part of a text, of which `meant` are the pieces.
    pub(crate) fn misread(
        (written, at, to): (&str, &Pointer, Option<String>),
        (call_id, edit): (&CallId, Option<ShownEdit>),
        (why, fitting): (String, &[String]),
        meant: &[MeantPiece],
        spelling: &ReferenceStyle,
    ) -> Self {
        let malformed = Malformed::NotAReference {
            written: written.to_owned(),
        };
        let draft = Draft {
            call_id: Some(call_id.clone()),
            select: fitting.first().cloned(),
            edit,
            part: to.is_none().then(|| written.to_owned()),
            is_entry: spelling.is_list() && spelling.is_in_map(at),
            to,
            at: at.clone(),
            spelling: spelling.clone(),
        };
        Self::meaning(malformed, meant, Some(why), draft)
    }

    /// The error for what is meant as a reference in a way that is not read, and may be meant so.
    pub(crate) fn unclear(
        malformed: Malformed,
        at: &Pointer,
        (meant, edit): (&[MeantPiece], Option<ShownEdit>),
        spelling: &ReferenceStyle,
    ) -> Self {
        let value = meant.iter().find_map(|piece| match piece {
            MeantPiece::Value { id, select } => Some((id, select)),
            _ => None,
        });
        let part = match &malformed {
            Malformed::NotAReference { written } => Some(written.clone()),
            _ => None,
        };
        let draft = Draft {
            call_id: value.and_then(|(id, _)| CallId::parse(id).ok()),
            select: value.and_then(|(_, select)| select.clone()),
            edit,
            part: part.filter(|_| meant.len() > 1),
            is_entry: spelling.is_list() && spelling.is_in_map(at),
            to: None,
            at: at.clone(),
            spelling: spelling.clone(),
        };
        Self::meaning(malformed, meant, None, draft)
    }

    /// Where the selector is known, the whole of a short text is shown as it was meant.
    fn meaning(
        malformed: Malformed,
        meant: &[MeantPiece],
        why: Option<String>,
        mut draft: Draft,
    ) -> Self {
        let is_complete = draft.select.is_some();
        let whole = draft.spelling.meant_at(&draft.at, meant);
        let whole = whole.filter(|whole| is_complete && is_short(whole));
        draft.part.take_if(|_| whole.is_some());
        let mut error = Self::with(malformed, whole, why, draft);
        error.draft.take_if(|_| is_complete);
        error
    }

    /// `whole` is all of the correction, empty if there is none; without it the draft is one, complete or not.
    fn with(
        malformed: Malformed,
        whole: Option<String>,
        why: Option<String>,
        draft: Draft,
    ) -> Self {
        let is_draft = whole.is_none();
        let complete = draft.call_id.as_ref().zip(draft.select.as_deref());
        let complete = complete.filter(|_| !draft.lacks_target());
        let written = complete.map(|(id, select)| draft.written(id.as_str(), Some(select)));
        let corrected = whole.or(written).filter(|text| !text.is_empty());
        let mut error = Self {
            advice: Box::default(),
            corrected: None,
            malformed,
            why: why.map(Into::into),
            draft: None,
        };
        error.correct(corrected, None, &draft);
        error.draft = is_draft.then(|| Box::new(draft));
        error
    }

    /// Whether the id of any call makes its advice better.
    pub(crate) fn takes_example(&self) -> bool {
        takes_example(&self.malformed)
    }

    /// Completes the correction by what the session knows: a call, and a selector that works on its result.
    pub(crate) fn complete(&mut self, draft: &Draft, call_id: &CallId, select: Option<&str>) {
        let id = call_id.as_str();
        let select = select.filter(|select| *select != "@");
        if self.takes_example() {
            let example = draft.spelling.example(id, select);
            self.correct(None, Some(example), draft);
        } else {
            self.correct(Some(draft.written(id, select)), None, draft);
        }
        self.draft = None;
    }

    /// Sets the correction, or else an example of a reference, and the advice.
    fn correct(
        &mut self,
        corrected: Option<String>,
        example: Option<Map<String, Value>>,
        draft: &Draft,
    ) {
        self.corrected = corrected.filter(|text| is_short(text));
        let corrected = self.corrected.as_deref();
        self.advice = advice(&self.malformed, corrected, example, draft).into();
    }

    /// One next step.
    pub fn advice(&self) -> String {
        self.advice.as_ref().into()
    }
}

fn is_short(text: &str) -> bool {
    text.chars().nth(MAX_CORRECTED_CHARS).is_none()
}

/// Whether advice about it shows how a reference is written.
fn takes_example(malformed: &Malformed) -> bool {
    matches!(
        malformed,
        Malformed::NoMap { .. }
            | Malformed::NoWith { .. }
            | Malformed::BesideTemplate { .. }
            | Malformed::UnpairedBrace
            | Malformed::NoSuchName { nearest: None, .. }
            | Malformed::UnusedName { .. }
    )
}

fn advice(
    malformed: &Malformed,
    corrected: Option<&str>,
    example: Option<Map<String, Value>>,
    draft: &Draft,
) -> String {
    let spelling = &draft.spelling;
    let is_list = spelling.is_list();
    let key = |name: &str| spelling.shown_key(name);
    let such_as = |example: Option<String>| {
        let example = example.map(|example| format!(", such as {example}"));
        example.unwrap_or_default()
    };
    match (corrected, malformed) {
        (Some(corrected), Malformed::NotAReference { .. }) => {
            let literal = spelling.literal_at(draft.place());
            match &draft.part {
                Some(part) => format!(
                    "try: `{corrected}` in place of `{part}`; to pass the text as it is: {literal}"
                ),
                None => format!("try: {corrected}; to pass it as it is: {literal}"),
            }
        }
        (Some(corrected), _) => format!("try: {corrected}"),
        (None, Malformed::UnreachableTarget { .. }) => {
            "put the reference at the parameter itself".to_owned()
        }
        (None, Malformed::NullInText) => match spelling.default_spelling() {
            Some(spelling) => {
                let default = spelling.key("default");
                format!("add a `{default}` to the reference, or leave it out of the text")
            }
            None => "leave it out of the text".to_owned(),
        },
        (None, Malformed::NoMap { .. }) if is_list => {
            "write it as a list of references, each with its parameter as `to`".to_owned()
        }
        (None, Malformed::NoMap { .. }) => {
            let example = example.map(|example| Value::Object(example).to_string());
            let such_as = such_as(example);
            format!("write it as an object: each key a parameter, each value a reference{such_as}")
        }
        (None, Malformed::NoTarget) => {
            "add `to`: the name of a parameter, or a JSON Pointer to a place in one".to_owned()
        }
        (
            None,
            Malformed::NoSuchName {
                name,
                nearest: Some(_),
            },
        ) => {
            let with = key("with");
            format!(
                "add a reference named `{name}` to `{with}`, or write `{{{{{name}}}}}` for a text in braces"
            )
        }
        (
            None,
            Malformed::NoWith { .. }
            | Malformed::BesideTemplate { .. }
            | Malformed::UnpairedBrace
            | Malformed::NoSuchName { .. }
            | Malformed::UnusedName { .. },
        ) => {
            let (template, with) = (key("template"), key("with"));
            let member = example.map(|example| {
                let example = without_braces(example);
                if is_list {
                    format!("{{\"name\":\"a\",{example}}}")
                } else {
                    format!("\"a\": {{{example}}}")
                }
            });
            format!(
                "write `{{a}}` in `{template}` where a value goes, and a reference named `a` in `{with}`{}",
                such_as(member)
            )
        }
        (None, Malformed::SwitchedOff(_)) => format!(
            "write the value itself, or ask for the host to switch it on: `EngineOptions::edits` in a program, \
             `references.edits` in the configuration of a gateway; to pass data that only looks like an edit: {}",
            spelling.literal_at(draft.place())
        ),
        (None, Malformed::EditAlone(edit)) => format!(
            "write `{}` beside `{edit}`; to pass data that only looks like an edit: {}",
            key("tool"),
            spelling.literal_at(draft.place())
        ),
        (None, Malformed::EditInText(_)) => {
            "write the reference and its edit as objects, not as text".to_owned()
        }
        (None, Malformed::TwoEdits(..)) => "leave one of them out".to_owned(),
        (None, Malformed::TwoSources(..)) => "keep one of them".to_owned(),
        (None, Malformed::NoName { .. }) => "give a path, or the URI of a resource".to_owned(),
        (None, Malformed::UnknownKey { key: unknown, .. }) if is_near_edit(unknown) => {
            let (edit, patch, merge) = (key("edit"), key("patch"), key("merge"));
            format!(
                "write a change of a text as `{edit}: [{{\"old\": …, \"new\": …}}]`, one of JSON as `{patch}` or \
                 `{merge}`, or leave the key out to pass the value unchanged"
            )
        }
        (None, Malformed::UnknownKey { .. }) => {
            let select = key("select");
            format!(
                "write the selector as `{select}`, or leave the key out to pass the whole result"
            )
        }
        (None, _) => {
            let tool = key("tool");
            let literal = spelling.literal_at(draft.place());
            format!(
                "give as `{tool}` the `_toolCallId` of a result, exactly as it was shown; to pass data that only \
                 looks like a reference: {literal}"
            )
        }
    }
}

/// Why a selector of what was read as a reference gives nothing, and selectors that give something; `None` if that
/// says nothing of the reference, as with a limit.
pub(crate) fn misses(error: &mut SelectError) -> Option<(String, Vec<String>)> {
    let fitting = error.nearest_mut().map(std::mem::take)?;
    Some((error.to_string(), fitting))
}

/// The string under one of these keys.
fn string_of<'o>(object: &'o Map<String, Value>, keys: [&str; 3]) -> Option<&'o str> {
    keys.iter().find_map(|key| object.get(*key)?.as_str())
}

const TOOL_KEYS: [&str; 3] = ["$tool", "_tool", "tool"];
const SELECT_KEYS: [&str; 3] = ["$select", "_select", "select"];

fn corrected(
    malformed: &Malformed,
    written: &Value,
    spelling: &ReferenceStyle,
) -> Option<Correction> {
    let whole = |text: Option<String>| text.map(Correction::Whole);
    match (malformed, written) {
        // A list of one reference is in place of it.
        (Malformed::NoEntry { .. }, Value::Array(items)) => match items.as_slice() {
            [Value::Object(only)] => return whole(text(only.iter(), spelling)),
            _ => return None,
        },
        // The id of a call is in place of a reference to it; of any other value nothing is known.
        (Malformed::NoEntry { .. }, Value::String(text)) => {
            let near = NearReference::from_entry(text)?;
            let whole = || "@".to_owned();
            let select = near.selects.into_iter().next().flatten().or(near.guess);
            let select = select.unwrap_or_else(whole);
            return Some(Correction::Reference(Some(near.id), Some(select)));
        }
        (Malformed::NoEntry { .. }, _) => return Some(Correction::Reference(None, None)),
        (Malformed::NotAReference { .. }, Value::String(text)) => {
            let near = near_text(text, 1)?.parts.into_iter().next();
            return near.map(|(_, near)| Correction::Reference(Some(near.id), None));
        }
        _ => {}
    }
    // A reference that was written as a string is corrected to the object in it.
    let parsed = written.as_str().map(serde_json::from_str::<Value>);
    let parsed = parsed.transpose().ok()?;
    let object = parsed.as_ref().unwrap_or(written).as_object()?;
    let id = string_of(object, TOOL_KEYS);
    let select = string_of(object, SELECT_KEYS);
    let reference = |id: Option<&str>, select: Option<String>| {
        Some(Correction::Reference(id.map(str::to_owned), select))
    };
    let has = |name: &str| object.keys().any(|key| key.ends_with(name));
    match malformed {
        Malformed::TwoSpellings(dollar, underscore) => {
            if object.get(*dollar)? != object.get(*underscore)? {
                return None;
            }
            let one = object.iter().filter(|(key, _)| key != underscore);
            whole(text(one, spelling))
        }
        // Only what belongs to a reference is kept: other keys would be refused again.
        Malformed::NoTool | Malformed::NoTarget if has("default") || has("artifact") => None,
        Malformed::NoTool => {
            // `{"$select": "call_1.items"}`
            let near = select.and_then(NearReference::from_entry);
            match near.filter(NearReference::is_distinctive) {
                Some(near) => reference(Some(&near.id), near.selects.into_iter().next()?),
                None => reference(None, select.map(str::to_owned)),
            }
        }
        Malformed::NoTarget => reference(id, select.map(str::to_owned)),
        Malformed::NoId { key, .. } if !key.ends_with("artifact") => {
            reference(None, select.map(str::to_owned))
        }
        Malformed::NoString { key, .. } => {
            let is_select = key.ends_with("select");
            let value = object.get(key).filter(|value| !value.is_null());
            // What a selector may be besides is read as it.
            let meant = value.and_then(meant).filter(|_| !is_select);
            let Some(meant) = meant.map(Value::String) else {
                let is_plain = !has("default") && !has("artifact");
                let id = id.filter(|_| is_select);
                let select = select.map(str::to_owned);
                return is_plain.then(|| reference(id, select))?;
            };
            let correct = |name, value| if name == key { &meant } else { value };
            let members = object.iter();
            let members = members.map(|(name, value)| (name, correct(name, value)));
            whole(text(members, spelling))
        }
        Malformed::UnknownKey { .. } => {
            let is_own = |key: &String| {
                is_sentinel(key) || matches!(&**key, "tool" | "to" | "literal" | "default")
            };
            let unknown = object
                .iter()
                .filter(|(key, value)| !is_own(key) && !value.is_null());
            let unknown: Vec<_> = unknown.collect();
            // Without an edit that is not understood the value would be passed on unchanged.
            let is_lost = |(key, value): (&String, &Value)| {
                !value.is_null() && is_near_edit(key) && edit_kind(key, value).is_none()
            };
            if object.iter().any(is_lost) {
                return None;
            }
            let mut selectors = unknown.iter().filter(|(key, _)| is_near_select(key));
            // `limit: 1` is no selector.
            let meant = selectors.next().or(match unknown.as_slice() {
                [only] => Some(only),
                _ => None,
            });
            let meant = meant.and_then(|(_, value)| value.as_str());
            reference(Some(id?), select.or(meant).map(str::to_owned))
        }
        Malformed::NotAReference { written } if template_of(object).is_some() => {
            let (key, template) = template_of(object)?;
            let near = NearReference::from_entry(written.trim_matches(['{', '}', ' ']))?;
            let select = near.selects.into_iter().next()?;
            let is_taken = |name: &String| template.contains(&format!("{{{name}}}"));
            let mut names = (1..).map(|number| format!("value{number}"));
            let name = names.find(|name| !is_taken(name))?;
            let text = template.replace(written.as_str(), &format!("{{{name}}}"));
            if text == template {
                return None;
            }
            let with_key = key.replace("template", "with");
            let mut object = object.clone();
            // Long ones were left out.
            let has_more = text.replace(&format!("{{{name}}}"), "").contains('{');
            match object.get_mut(&with_key)? {
                Value::Object(with) if with.is_empty() && has_more => return None,
                Value::Object(with) => {
                    with.insert(name, spelling.object(&near.id, select.as_deref()).into());
                }
                Value::Array(with) => {
                    let keys = ["tool", "select"].map(str::to_owned);
                    let mut entry = members(keys, &near.id, select.as_deref());
                    entry.insert("name".to_owned(), name.into());
                    with.push(entry.into());
                }
                _ => return None,
            }
            object.insert(key.clone(), text.into());
            whole(Some(Value::Object(object).to_string()))
        }
        Malformed::NotAReference { .. } => {
            let ids = object.values().filter_map(Value::as_str);
            let id = ids.into_iter().find(|id| is_like_an_id(id))?;
            reference(Some(id), None)
        }
        Malformed::NoSuchName {
            name,
            nearest: Some(nearest),
        } => {
            let (key, template) = template_of(object).filter(|_| has_values(object))?;
            // What has its place already is not meant by another name.
            if template.contains(&format!("{{{nearest}}}")) {
                return None;
            }
            let meant = template.replace(&format!("{{{name}}}"), &format!("{{{nearest}}}"));
            let mut object = object.clone();
            object.insert(key.clone(), meant.into());
            whole(Some(Value::Object(object).to_string()))
        }
        Malformed::UnusedName { name } => {
            // `{{name}}` is a pair of literal braces.
            let doubled = format!("{{{{{name}}}}}");
            let (key, template) = template_of(object).filter(|_| has_values(object))?;
            let template = Some(template).filter(|text| text.contains(&doubled))?;
            let mut object = object.clone();
            let correct = template.replace("{{", "{").replace("}}", "}");
            object.insert(key.clone(), correct.into());
            whole(Some(Value::Object(object).to_string()))
        }
        Malformed::LiteralNotAlone(literal) => {
            let members = object.iter().filter(|(key, _)| key != literal);
            let is_id = CallId::parse(id?).is_ok();
            whole(is_id.then(|| text(members, spelling)).flatten())
        }
        _ => None,
    }
}

/// Whether the references of a template were read: long ones were left out.
fn has_values(object: &Map<String, Value>) -> bool {
    let with = ["$with", "_with", "with"].iter();
    with.filter_map(|key| object.get(*key))
        .any(|with| match with {
            Value::Object(with) => !with.is_empty(),
            Value::Array(with) => !with.is_empty(),
            _ => false,
        })
}

/// The text of a template, and its key.
fn template_of(object: &Map<String, Value>) -> Option<(&String, &str)> {
    let keys = ["$template", "_template", "template"];
    let (key, text) = keys.iter().find_map(|key| object.get_key_value(*key))?;
    Some((key, text.as_str()?))
}

/// A reference as JSON, spelled as in the schema; `None` if it holds data, which no message shows, beside its edit.
fn text<'o>(
    members: impl Iterator<Item = (&'o String, &'o Value)>,
    spelling: &ReferenceStyle,
) -> Option<String> {
    let mut object = Map::new();
    let mut edits = Vec::new();
    let mut is_signed = false;
    for (key, value) in members {
        is_signed |= is_sentinel(key);
        if let Some(kind) = edit_kind(key, value) {
            edits.push((spelling.respelled(key), ShownEdit::of(kind, value)));
            continue;
        }
        let data = value.is_object() || value.is_array();
        if data || key.ends_with("literal") || key.ends_with("default") {
            return None;
        }
        object.insert(spelling.respelled(key), value.clone());
    }
    let (key, edit) = match edits.pop() {
        _ if !edits.is_empty() => return None,
        None => return Some(Value::Object(object).to_string()),
        // Beside keys with a sign, one without would be refused.
        Some((_, edit)) if is_signed => (spelling.key(edit.kind.as_str()), edit),
        Some(edit) => edit,
    };
    let with = |edit: &ShownEdit| format!("{{{}}}", with_edit(object.clone(), Some((&key, edit))));
    let whole = with(&edit);
    Some(if is_short(&whole) {
        whole
    } else {
        with(&edit.without_content())
    })
}

/// The text of a value of another type.
fn meant(value: &Value) -> Option<String> {
    match (value, value.as_array().map(Vec::as_slice)) {
        (Value::Number(number), _) => Some(number.to_string()),
        (_, Some([Value::String(text)])) => Some(text.clone()),
        _ => None,
    }
}

fn is_like_an_id(text: &str) -> bool {
    CallId::parse(text).is_ok() && !text.contains(char::is_whitespace) && !text.starts_with('{')
}
