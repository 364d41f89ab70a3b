//! The plan of a cut result, by its kind.

use super::{
    parts::{BESIDE_PENALTY, EnvelopeInfo, description, said},
    plan::{Body, Form, Id, PathStep, Plan},
    subject::{RenderContext, Subject, is_metadata},
    text::Chars,
};
use crate::{context::name, paths::member};
use crossfeed_json::{Cursor, Kind, quoted};
use std::borrow::Cow;

/// How many hidden members beside the data are named, and with how many characters.
const MAX_NAMES: usize = 8;
const MAX_NAMES_CHARS: usize = 100;
/// The most bytes of status members that are not worth naming.
const MAX_OUTCOME_BYTES: usize = 64;

/// The plan of a result.
pub(super) fn plan_of<'a, 'v>(
    subject: Subject<'a>,
    known: &'v RenderContext<'a, 'v>,
) -> Plan<'a, 'v> {
    let around = match subject {
        Subject::Mcp(root) => EnvelopeInfo::new(root, known),
        _ => EnvelopeInfo::default(),
    };
    let mut plan = Plan::new(known, around);
    let whole = PathStep::whole();
    plan.root = match subject {
        Subject::Value(root) => plan.whole_value(root),
        Subject::Text(chars) => plan.add_raw(chars),
        Subject::Opened(_, opened) => plan.add_opened(opened, whole, 0),
        Subject::Bytes(media_type, bytes) => {
            let text = format!("{bytes} bytes of {}, not shown", quoted(media_type));
            plan.add(Body::Described(text), None, whole)
        }
        Subject::Mcp(root) => plan.envelope(root),
    };
    plan
}

impl<'a> Plan<'a, '_> {
    /// Adds a value that is shown alone, or in place of the whole result.
    fn whole_value(&mut self, value: Cursor<'a>) -> Id {
        if value.kind() != Kind::Object {
            return self.add_wanted(value, PathStep::whole(), 0);
        }
        let form = Form::Object { is_root: true };
        self.add_branch(value, form, Some(self.known.strip), PathStep::whole(), 0)
    }

    /// Adds a tool result of MCP: its canonical value, and notes on its other members.
    fn envelope(&mut self, root: Cursor<'a>) -> Id {
        let content = root.get("content");
        let is_list = content.is_some_and(|content| content.kind() == Kind::Array);
        let parts = content.filter(|content| is_list && !content.is_empty());
        self.structured = root.get("structuredContent");
        let (label, id) = match (self.structured, content, parts) {
            // A line of its own is distinct from the data as a whole.
            (Some(structured), _, Some(_)) => ("structuredContent ", self.whole_value(structured)),
            (Some(structured), _, None) => ("", self.whole_value(structured)),
            (None, _, Some(parts)) => match parts.at(0).filter(|_| self.around.single) {
                Some(part) => ("", self.single(part)),
                None => ("", self.content(parts, 0)),
            },
            (None, Some(content), None) if !is_list => {
                let hop = PathStep::Select("content".to_owned());
                ("content ", self.add_wanted(content, hop, 0))
            }
            _ => {
                let empty = Body::Fixed(b"[]".to_vec());
                ("", self.add(empty, None, PathStep::whole()))
            }
        };
        let mut row = vec![(label.to_owned(), id)];
        if let Some(parts) = parts.filter(|_| self.structured.is_some()) {
            let id = self.content(parts, BESIDE_PENALTY);
            row.push(("\n".to_owned(), id));
        }
        let last = row.last().map(|(_, id)| &self.node(*id).body);
        let ends_in_line = match last {
            Some(Body::Text(text)) => text.is_raw,
            Some(Body::Branch(branch)) => branch.form == Form::Parts,
            _ => false,
        };
        if let Some(id) = self.beside(root) {
            let before = if ends_in_line { "\n" } else { "" };
            row.push((before.to_owned(), id));
        }
        self.add(Body::Row(row), None, PathStep::whole())
    }

    /// Adds the parts of a result, each in a line of its own.
    fn content(&mut self, content: Cursor<'a>, penalty: u32) -> Id {
        let hop = PathStep::Select("content".to_owned());
        let id = self.add_branch(content, Form::Parts, None, hop, penalty);
        if content
            .at(0)
            .is_some_and(|part| is_metadata(part, self.known))
        {
            self.skip_first(id);
        }
        id
    }

    /// Adds the only part of a result, in place of all of it.
    fn single(&mut self, part: Cursor<'a>) -> Id {
        let whole = PathStep::whole();
        if let Some(description) = description(part, 0, self.around, self.known) {
            return self.add(Body::Described(description), None, whole);
        }
        match said(part) {
            None => self.add_whole_part(part, whole, 0),
            Some((text, _)) if text.kind() != Kind::String => self.add_wanted(text, whole, 0),
            Some((text, _)) => match (self.known.open)(text) {
                Some(opened) => self.add_opened(opened, whole, 0),
                None => self.add_raw(Chars::from_string(text.raw())),
            },
        }
    }

    /// Adds notes on the members of a result, and of its only part, that are not shown.
    fn beside(&mut self, root: Cursor<'a>) -> Option<Id> {
        let known = self.known;
        let is_shown = |member: &Cursor<'a>| match &*member.key().text() {
            "content" | "structuredContent" => true,
            "isError" | "resultType" => member.raw().len() <= MAX_OUTCOME_BYTES,
            key => known.strip.strips(key),
        };
        let members = root.items().filter(|member| !is_shown(member));
        let members = members.map(|member| (member.key().text(), ""));
        let only = root
            .get("content")
            .filter(|_| self.around.single && !self.around.structured);
        let only = only.and_then(|content| content.at(0));
        let of_part = only.into_iter().flat_map(unsaid_of);
        let mut hop = None;
        let mut names: Vec<String> = Vec::new();
        let mut chars = 0;
        for (key, around) in members.chain(of_part) {
            let dot = if around.is_empty() { "" } else { "." };
            let name = format!("{around}{dot}{}", name(&key));
            hop.get_or_insert_with(|| PathStep::Select(member(around, &key)));
            chars += name.chars().count();
            if names.len() == MAX_NAMES || (chars > MAX_NAMES_CHARS && !names.is_empty()) {
                names.push("…".to_owned());
                break;
            }
            names.push(name);
        }
        let aside = format!("… (not shown: {})", names.join(", "));
        Some(self.add(Body::Aside(aside), None, hop?))
    }
}

/// The members of a part, and of its resource, that are shown or not worth naming.
const OF_PART: [&str; 5] = ["type", "text", "data", "mimeType", "resource"];
const OF_RESOURCE: [&str; 3] = ["text", "blob", "mimeType"];

/// The members of a part beside its value, and their paths.
fn unsaid_of<'a>(part: Cursor<'a>) -> impl Iterator<Item = (Cow<'a, str>, &'static str)> {
    let of = |object: Option<Cursor<'a>>, shown: &'static [&'static str], around: &'static str| {
        let members = object.into_iter().flat_map(Cursor::items);
        let keys = members.map(|member| member.key().text());
        keys.filter(move |key| !shown.contains(&&**key))
            .map(move |key| (key, around))
    };
    let part = said(part).map(|_| part);
    let resource = part.and_then(|part| part.get("resource"));
    of(part, &OF_PART, "content[0]").chain(of(resource, &OF_RESOURCE, "content[0].resource"))
}
