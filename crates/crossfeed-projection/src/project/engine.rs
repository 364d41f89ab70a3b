//! Walks over a value and its states at once, and writes the parts that stay.

use super::{
    coverage::{kind_of, met},
    known::{Action, States, text_of},
    state::{Spec, State},
};
use crate::rules::{Redacted, Suspects, WITHHELD};
use crossfeed_json::{Cursor, Document, Kind, escape_into};

/// The most levels of JSON within strings that the walk reads. Deeper strings are withheld.
const MAX_LEVELS: usize = 16;
/// The most open objects and lists over all levels: bounds the recursion. Data is nested at most 127 deep.
const MAX_NESTING: usize = 400;

pub(super) struct Engine<'p> {
    spec: Spec<'p>,
    pub(super) states: States<'p>,
    pub(super) redacted: Redacted,
    /// Where never-names could stand in the current document.
    suspects: Suspects,
    nesting: usize,
    level: usize,
}

/// How the walk treats a string that may hold JSON.
enum StringOutcome {
    AsItIs,
    Rewritten(Vec<u8>),
    Withheld,
}

impl<'p> Engine<'p> {
    pub(super) fn new(spec: Spec<'p>) -> Self {
        Self {
            spec,
            states: States::new(spec),
            redacted: Redacted::default(),
            suspects: Suspects::Nowhere,
            nesting: 0,
            level: 0,
        }
    }

    pub(super) fn run(&mut self, value: Cursor<'_>, out: &mut Vec<u8>) {
        let root = self.states.number(State::root(self.spec));
        self.suspects = self.suspects_in(value);
        self.value(value, root, out);
    }

    /// Where never-names could stand in a value.
    fn suspects_in(&self, value: Cursor<'_>) -> Suspects {
        let rules = self.spec.rules;
        if rules.has_never_names() {
            rules.scan.suspects(value.raw(), value.offset())
        } else {
            Suspects::Nowhere
        }
    }

    fn value(&mut self, value: Cursor<'_>, number: u32, out: &mut Vec<u8>) {
        let known = self.states.at(number);
        if known.copies && !self.suspects.may_stand_in(value) {
            value.write(out);
            return;
        }
        known.met |= kind_of(value);
        match value.kind() {
            Kind::Object => {
                self.nesting += 1;
                self.object(value, number, out);
                self.nesting -= 1;
            }
            Kind::Array => {
                self.nesting += 1;
                self.list(value, number, out);
                self.nesting -= 1;
            }
            Kind::String => self.string(value, number, out),
            _ => out.extend_from_slice(value.raw()),
        }
    }

    fn list(&mut self, list: Cursor<'_>, number: u32, out: &mut Vec<u8>) {
        out.push(b'[');
        let first = out.len();
        let mut kept = 0;
        for (at, item) in list.items().enumerate() {
            let action = self.states.item(number, at, &mut kept);
            let known = self.states.at(number);
            if action != Action::Hidden && !known.hides_each {
                known.met |= met::LIST;
            }
            match action {
                Action::State(child) => {
                    if out.len() > first {
                        out.push(b',');
                    }
                    self.value(item, child, out);
                }
                Action::Hidden => self.redacted.fields += 1,
                Action::Gone => {}
            }
        }
        out.push(b']');
    }

    fn object(&mut self, object: Cursor<'_>, number: u32, out: &mut Vec<u8>) {
        out.push(b'{');
        let first = out.len();
        if self.states.at(number).few.is_some() {
            let (members, count) = self.wanted(object, number);
            for &(member, action) in members.iter().flatten().take(count) {
                self.member(member, action, first, out);
            }
        } else {
            for (place, (key, member)) in object.members().enumerate() {
                let action = self.states.member(number, place, key.raw());
                self.member(member, action, first, out);
            }
        }
        out.push(b'}');
    }

    #[inline]
    fn member(&mut self, member: Cursor<'_>, action: Action, first: usize, out: &mut Vec<u8>) {
        match action {
            Action::State(child) => {
                if out.len() > first {
                    out.push(b',');
                }
                out.push(b'"');
                out.extend_from_slice(member.key().raw());
                out.extend_from_slice(b"\":");
                self.value(member, child, out);
            }
            Action::Hidden => self.redacted.fields += 1,
            Action::Gone => {}
        }
    }

    /// The wanted members of an object, in the source's order. Tries the positions of the last object
    /// first; if one fails, reads member by member until all are found.
    fn wanted<'a>(
        &mut self,
        object: Cursor<'a>,
        number: u32,
    ) -> ([Option<(Cursor<'a>, Action)>; 8], usize) {
        let mut found = [None; 8];
        let mut count = 0;
        let Some(mut few) = self.states.at(number).few.take() else {
            return (found, count);
        };
        for wanted in &few {
            match object.get_at(&wanted.name, wanted.prediction) {
                Some(member) => {
                    found[count] = Some((member, wanted.action.unwrap_or(Action::Gone)));
                    count += 1;
                }
                None => break,
            }
        }
        if count == few.len() {
            found[..count].sort_unstable_by_key(|found| found.map(|(member, _)| member.ordinal()));
        } else {
            count = 0;
            for (key, member) in object.members() {
                let raw = key.raw();
                let plain = memchr::memchr(b'\\', raw).is_none();
                let is_it = |name: &str| {
                    if plain {
                        name.as_bytes() == raw
                    } else {
                        *name == *text_of(raw)
                    }
                };
                let Some(wanted) = few.iter_mut().find(|wanted| is_it(&wanted.name)) else {
                    continue;
                };
                let action = match wanted.action {
                    Some(action) => action,
                    None => self.states.named(number, &wanted.name),
                };
                wanted.action = Some(action);
                wanted.prediction = object.prediction(member);
                found[count] = Some((member, action));
                count += 1;
                if count == few.len() {
                    break;
                }
            }
        }
        self.states.at(number).few = Some(few);
        (found, count)
    }

    fn string(&mut self, string: Cursor<'_>, number: u32, out: &mut Vec<u8>) {
        let paths = !self.states.at(number).state.never.is_empty();
        let suspect = self.suspects.may_stand_in(string);
        if !paths && !suspect {
            out.extend_from_slice(string.raw());
            return;
        }
        let text = string.as_str().unwrap_or_default();
        match self.open(&text, number, suspect) {
            StringOutcome::AsItIs => out.extend_from_slice(string.raw()),
            StringOutcome::Rewritten(json) => {
                out.push(b'"');
                escape_into(out, &String::from_utf8_lossy(&json));
                out.push(b'"');
            }
            StringOutcome::Withheld => {
                self.redacted.strings += 1;
                out.push(b'"');
                out.extend_from_slice(WITHHELD.as_bytes());
                out.push(b'"');
            }
        }
    }

    /// Looks into a string. JSON is redacted like the value it stands for; any other text stays whole or
    /// is withheld.
    fn open(&mut self, text: &str, number: u32, suspect: bool) -> StringOutcome {
        let rules = self.spec.rules;
        let state = self.states.at(number).state.revealed();
        let paths = !state.never.is_empty();
        let json = text.trim_start_matches(['\u{feff}', ' ', '\t', '\n', '\r']);
        if json.starts_with(['{', '[', '"']) {
            if self.level == MAX_LEVELS || self.nesting >= MAX_NESTING {
                return StringOutcome::Withheld;
            }
            let document = Document::new(text.to_owned());
            match document.root() {
                Ok(root) => return self.reopened(root, state),
                Err(error) if error.is_limit() => return StringOutcome::Withheld,
                Err(_) => {}
            }
        }
        // Unreadable text stays only if it does not look like it holds hidden fields.
        let next_steps = &self.states.at(number).next_steps;
        let broken = paths && (json.starts_with(['{', '[']) || next_steps.may_be_in(text));
        let is_meant = |key: &str| next_steps.has(key) || suspect && rules.is_never_name(key);
        if broken || rules.holds_key(text, is_meant) {
            StringOutcome::Withheld
        } else {
            StringOutcome::AsItIs
        }
    }

    fn reopened(&mut self, root: Cursor<'_>, state: State) -> StringOutcome {
        let before = self.redacted;
        let number = self.states.number(state);
        let suspects = self.suspects_in(root);
        let around = std::mem::replace(&mut self.suspects, suspects);
        let mut out = Vec::new();
        self.level += 1;
        self.value(root, number, &mut out);
        self.level -= 1;
        self.suspects = around;
        if root.document_has_duplicates() {
            // Earlier values of a duplicate key stand in the text only, so it is rewritten.
            self.redacted.fields += 1;
        }
        if self.redacted == before {
            StringOutcome::AsItIs
        } else {
            StringOutcome::Rewritten(out)
        }
    }
}
