//! The plan of a whole result: its own fields, by what it is.

use super::{
    parts::Surroundings,
    plan::{Body, Form, Hop, Id, Plan, Tail},
    subject::{Known, Subject, is_metadata, text_of},
    text::Chars,
};
use crate::paths::member;
use crossfeed_json::{Cursor, Kind, quoted};
use std::borrow::Cow;

/// How many members of a tool result are shown beside those that the protocol names, and how many
/// bytes their keys may have in all.
const OTHERS: usize = 16;
const OTHERS_BYTES: usize = 256;
/// How much less the content of a tool result is wanted beside structured content.
const BESIDE: u32 = 8;

/// The plan of a result, and its root.
pub(super) fn plan_of<'a, 'v>(
    subject: Subject<'a>,
    known: &'v Known<'a, 'v>,
) -> (Plan<'a, 'v>, Id) {
    let around = match subject {
        Subject::Mcp(root) => Surroundings::of(root, known),
        _ => Surroundings::none(),
    };
    let mut plan = Plan::new(known, around);
    let whole = Hop::Select(String::new());
    let root = match subject {
        Subject::Members(root) => {
            let form = Form::Object {
                mark: 1,
                tail: Tail::All,
            };
            plan.add_branch(root, form, Some(known.strip), whole, 0)
        }
        Subject::Value(root) => {
            let id = plan.add_value(root, whole, 0);
            plan.want_text(id, 0);
            plan.frame(vec![("value", id)])
        }
        Subject::Text(chars) => {
            let id = plan.text(chars);
            plan.frame(vec![("text", id)])
        }
        Subject::Opened(chars, opened) if opened.is_empty() => {
            let text = Body::Fixed(text_of(chars, opened, known.strip));
            let id = plan.add(text, None, whole);
            plan.frame(vec![("text", id)])
        }
        Subject::Opened(_, opened) => {
            let id = plan.opened(opened, whole, 0);
            plan.frame(vec![("value", id)])
        }
        Subject::Bytes(media_type, bytes) => {
            let mut fixed =
                |json: String| plan.add(Body::Fixed(json.into_bytes()), None, whole.clone());
            let members = vec![
                ("mimeType", fixed(quoted(media_type))),
                ("bytes", fixed(bytes.to_string())),
            ];
            plan.frame(members)
        }
        Subject::Mcp(root) => plan.envelope(root),
    };
    (plan, root)
}

impl<'a> Plan<'a, '_> {
    fn frame(&mut self, members: Vec<(&'static str, Id)>) -> Id {
        let members = members
            .into_iter()
            .map(|(key, id)| (Cow::Borrowed(key.as_bytes()), id));
        let body = Body::Frame(members.collect(), Tail::All);
        self.add(body, None, Hop::Select(String::new()))
    }

    fn text(&mut self, chars: Chars<'a>) -> Id {
        let id = self.add_text(chars, None, Hop::Select(String::new()));
        self.want_text(id, 0);
        id
    }

    /// Adds a value that a text holds.
    pub(super) fn opened(&mut self, opened: Cursor<'a>, hop: Hop<'a>, penalty: u32) -> Id {
        let (form, strip) = match opened.kind() {
            Kind::Object => {
                let form = Form::Object {
                    mark: 1,
                    tail: Tail::None,
                };
                (form, Some(self.known.strip))
            }
            _ => (Form::List, None),
        };
        self.add_branch(opened, form, strip, hop, penalty)
    }

    /// Adds a tool result of MCP.
    fn envelope(&mut self, root: Cursor<'a>) -> Id {
        let mut members: Vec<(Cow<'a, [u8]>, Id)> = Vec::new();
        if root.get("content").is_none() {
            let content = Body::NoParts;
            let id = self.add(content, None, Hop::Select("content".to_owned()));
            members.push((Cow::Borrowed(b"content"), id));
        }
        let (mut others, mut others_bytes, mut surplus) = (0, 0, 0);
        let mut first_of_surplus = None;
        for value in root.items() {
            let key = value.key();
            let name = key.text();
            if self.known.strip.strips(&name) {
                continue;
            }
            let hop = Hop::Select(member("", &name));
            let id = match (&*name, value.kind()) {
                ("content", Kind::Array) => self.content(value, hop),
                ("structuredContent", kind) => self.structured(value, kind),
                _ => {
                    let named = matches!(&*name, "content" | "isError" | "_meta" | "resultType");
                    if !named {
                        others += 1;
                        others_bytes += key.raw().len();
                        if others > OTHERS || others_bytes > OTHERS_BYTES {
                            surplus += 1;
                            first_of_surplus.get_or_insert(hop);
                            continue;
                        }
                    }
                    let id = self.add_value(value, hop, 2);
                    self.want_text(id, 2);
                    id
                }
            };
            members.push((Cow::Borrowed(key.raw()), id));
        }
        if let Some(hop) = first_of_surplus {
            let keys = if surplus == 1 { "key" } else { "keys" };
            let mark = quoted(&format!("{surplus} more {keys}")).into_bytes();
            let mut key = "…".to_owned();
            while root.get(&key).is_some() {
                key.push('…');
            }
            let id = self.add(Body::Mark(mark), None, hop);
            members.push((Cow::Owned(key.into_bytes()), id));
        }
        let whole = Hop::Select(String::new());
        self.add(Body::Frame(members, Tail::All), None, whole)
    }

    fn content(&mut self, content: Cursor<'a>, hop: Hop<'a>) -> Id {
        let penalty = if self.around.structured { BESIDE } else { 0 };
        let id = self.add_branch(content, Form::Parts, None, hop, penalty);
        if content
            .at(0)
            .is_some_and(|part| is_metadata(part, self.known))
        {
            self.skip_first(id);
        }
        id
    }

    fn structured(&mut self, value: Cursor<'a>, kind: Kind) -> Id {
        let whole = Hop::Select(String::new());
        if kind == Kind::Object {
            let form = Form::Object {
                mark: 1,
                tail: Tail::Id,
            };
            return self.add_branch(value, form, Some(self.known.strip), whole, 0);
        }
        let id = self.add_value(value, whole, 0);
        self.want_text(id, 0);
        id
    }
}
