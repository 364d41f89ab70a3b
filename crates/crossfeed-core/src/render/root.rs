//! The plan of a result that is cut: what is shown of it, by what it is.

use super::{
    parts::{EnvelopeInfo, description, said},
    plan::{Body, Form, Id, PathStep, Plan},
    subject::{RenderContext, Subject, is_metadata},
    text::Chars,
};
use crate::{context::name, paths::member};
use crossfeed_json::{Cursor, Kind, quoted};
use std::borrow::Cow;

/// How much less the content of a tool result is wanted beside structured content.
const BESIDE: u32 = 8;
/// How many names of what is not shown beside the data are said, and how many characters they have.
const NAMES: usize = 8;
const NAMES_CHARS: usize = 100;
/// The most bytes of members that say how a call went, and are not worth a name.
const OUTCOME_BYTES: usize = 64;

/// The plan of a result, and its root.
pub(super) fn plan_of<'a, 'v>(
    subject: Subject<'a>,
    known: &'v RenderContext<'a, 'v>,
) -> (Plan<'a, 'v>, Id) {
    let around = match subject {
        Subject::Mcp(root) => EnvelopeInfo::of(root, known),
        _ => EnvelopeInfo::default(),
    };
    let mut plan = Plan::new(known, around);
    let whole = PathStep::Select(String::new());
    let root = match subject {
        Subject::Members(root) => plan.object(root, whole, 0),
        Subject::Value(root) => plan.add_wanted(root, whole, 0),
        Subject::Text(chars) => plan.add_raw(chars, None, whole),
        Subject::Opened(_, opened) => plan.opened(opened, whole, 0),
        Subject::Bytes(media_type, bytes) => {
            let text = format!("{bytes} bytes of {}, not shown", quoted(media_type));
            plan.add(Body::Described(text), None, whole)
        }
        Subject::Mcp(root) => plan.envelope(root),
    };
    (plan, root)
}

impl<'a> Plan<'a, '_> {
    /// Adds an object that is all of what is shown, or stands where all of it does.
    fn object(&mut self, object: Cursor<'a>, hop: PathStep<'a>, penalty: u32) -> Id {
        let form = Form::Object { is_root: true };
        self.add_branch(object, form, Some(self.known.strip), hop, penalty)
    }

    /// Adds a value that a text holds.
    pub(super) fn opened(&mut self, opened: Cursor<'a>, hop: PathStep<'a>, penalty: u32) -> Id {
        match opened.kind() {
            Kind::Object => {
                let form = Form::Object { is_root: false };
                self.add_branch(opened, form, Some(self.known.strip), hop, penalty)
            }
            _ => self.add_branch(opened, Form::List, None, hop, penalty),
        }
    }

    /// Adds a tool result of MCP: its canonical value, and what stands beside it.
    fn envelope(&mut self, root: Cursor<'a>) -> Id {
        let content = root.get("content");
        let parts = content.filter(|content| content.kind() == Kind::Array);
        let structured = root.get("structuredContent");
        self.structured = structured;
        let whole = PathStep::Select(String::new());
        let mut row = Vec::new();
        let mut aside = "";
        if let Some(structured) = structured {
            let id = self.structured(structured, whole.clone());
            let parts = parts.filter(|parts| !parts.is_empty());
            // What stands in a line of its own is told from the data as a whole.
            let label = if parts.is_some() {
                "structuredContent "
            } else {
                ""
            };
            row.push((label.to_owned(), id));
            if let Some(parts) = parts {
                let id = self.content(parts, BESIDE);
                row.push(("\n".to_owned(), id));
                aside = "\n";
            }
        } else {
            match (parts, content) {
                (Some(parts), _) if self.around.single => {
                    if let Some(part) = parts.at(0) {
                        let id = self.single(part);
                        let is_raw =
                            matches!(self.node(id).map(|node| &node.body), Some(Body::Raw(_)));
                        aside = if is_raw { "\n" } else { "" };
                        row.push((String::new(), id));
                    }
                }
                (Some(parts), _) if !parts.is_empty() => {
                    let id = self.content(parts, 0);
                    row.push((String::new(), id));
                    aside = "\n";
                }
                (None, Some(content)) => {
                    let id = self.add_wanted(content, PathStep::Select("content".to_owned()), 0);
                    row.push(("content ".to_owned(), id));
                }
                _ => {
                    let id = self.add(Body::Fixed(b"[]".to_vec()), None, whole.clone());
                    row.push((String::new(), id));
                }
            }
        }
        if let Some(id) = self.beside(root) {
            row.push((aside.to_owned(), id));
        }
        self.add(Body::Row(row), None, whole)
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

    /// Adds the only part of a result, which stands for all of it.
    fn single(&mut self, part: Cursor<'a>) -> Id {
        let whole = PathStep::Select(String::new());
        if let Some(description) = description(part, 0, self.around, self.known) {
            return self.add(Body::Described(description), None, whole);
        }
        match said(part) {
            None => self.add_whole_part(part, whole, 0),
            Some((text, _)) if text.kind() != Kind::String => self.add_wanted(text, whole, 0),
            Some((text, _)) => match (self.known.open)(text) {
                Some(opened) => self.opened(opened, whole, 0),
                None => self.add_raw(Chars::of_string(text.raw()), None, whole),
            },
        }
    }

    fn structured(&mut self, value: Cursor<'a>, hop: PathStep<'a>) -> Id {
        if value.kind() == Kind::Object {
            self.object(value, hop, 0)
        } else {
            self.add_wanted(value, hop, 0)
        }
    }

    /// Adds what says which members of a result, and of its only part, are not shown.
    fn beside(&mut self, root: Cursor<'a>) -> Option<Id> {
        let known = self.known;
        let is_shown = |own: &Cursor<'a>| {
            let is_outcome = own.raw().len() <= OUTCOME_BYTES;
            match &*own.key().text() {
                "content" | "structuredContent" => true,
                "isError" | "resultType" => is_outcome,
                key => known.strip.strips(key),
            }
        };
        let members = root.items().filter(|own| !is_shown(own));
        let members = members.map(|own| (own.key().text(), String::new()));
        let only = root
            .get("content")
            .filter(|_| self.around.single && !self.around.structured);
        let only = only.and_then(|content| content.at(0));
        let of_part = only.into_iter().flat_map(unsaid_of);
        let mut hop = None;
        let mut names: Vec<String> = Vec::new();
        let mut chars = 0;
        for (key, around) in members.chain(of_part) {
            let name = format!(
                "{around}{}{}",
                if around.is_empty() { "" } else { "." },
                name(&key)
            );
            hop.get_or_insert_with(|| PathStep::Select(member(&around, &key)));
            chars += name.chars().count();
            if names.len() == NAMES || (chars > NAMES_CHARS && !names.is_empty()) {
                names.push("…".to_owned());
                break;
            }
            names.push(name);
        }
        let aside = format!("… (not shown: {})", names.join(", "));
        Some(self.add(Body::Aside(aside), None, hop?))
    }
}

/// The members of a part, and of the resource in it, that are shown or need not be.
const OF_PART: [&str; 5] = ["type", "text", "data", "mimeType", "resource"];
const OF_RESOURCE: [&str; 3] = ["text", "blob", "mimeType"];

/// The members of a part beside what it says, and where they stand.
fn unsaid_of<'a>(part: Cursor<'a>) -> impl Iterator<Item = (Cow<'a, str>, String)> {
    let of = |object: Option<Cursor<'a>>, shown: &'static [&'static str], around: &'static str| {
        let members = object.into_iter().flat_map(Cursor::items);
        let keys = members.map(|member| member.key().text());
        keys.filter(move |key| !shown.contains(&&**key))
            .map(move |key| (key, around.to_owned()))
    };
    let part = said(part).map(|_| part);
    let resource = part.and_then(|part| part.get("resource"));
    of(part, &OF_PART, "content[0]").chain(of(resource, &OF_RESOURCE, "content[0].resource"))
}
