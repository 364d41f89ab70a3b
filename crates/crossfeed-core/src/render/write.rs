//! Writes a preview: the tree of a plan after some of its steps. Every cut is marked in its place, outside of
//! strings, so that nothing cut can be parsed as JSON.

use super::{
    notice::{before_cut_claim, put_json, put_line, put_text},
    plan::{Body, Branch, Form, Id, Node, Plan},
    text::Text,
};

/// How many hidden keys a mark names.
const NAMES: usize = 8;
/// The same in objects like one shown before.
const NAMES_AGAIN: usize = 0;
/// The most characters of all names in a mark.
const NAMES_CHARS: usize = 100;

/// Appends a comma between members.
pub(super) fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b'{' | b'[')) {
        out.push(b',');
    }
}

/// The text of a preview after `steps` steps.
pub(super) fn write(plan: &Plan<'_, '_>, steps: usize) -> String {
    let mut writer = Writer {
        plan,
        steps,
        out: Vec::new(),
    };
    writer.node(plan.root);
    // All that is written is UTF-8.
    String::from_utf8(writer.out).unwrap_or_default()
}

struct Writer<'a, 'v> {
    plan: &'v Plan<'a, 'v>,
    steps: usize,
    out: Vec<u8>,
}

impl<'a> Writer<'a, '_> {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn put_json(&mut self, json: &[u8]) {
        put_json(json, &mut self.out);
    }

    /// Where a text is cut: before an imitation of our lines rather than within it, where it would not be marked.
    fn end(&self, text: &Text<'_>) -> usize {
        let end = text.end(self.steps);
        if end == text.chars.len() {
            return end;
        }
        let begin = text.chars.begin(end);
        let whole = before_cut_claim(&begin);
        if whole.len() == begin.len() {
            return end;
        }
        text.chars.advance(0, whole.chars().count())
    }

    /// Recursion is bounded by the nesting of data, and the few levels around it.
    fn node(&mut self, id: Id) {
        let node = self.plan.node(id);
        match &node.body {
            Body::Fixed(json) => self.put_json(json),
            Body::Described(text) => put_line(text, &mut self.out),
            Body::Aside(mark) => self.put(mark),
            Body::Text(text) => {
                let end = self.end(text);
                if text.is_raw {
                    put_text(&text.chars.begin(end), &mut self.out);
                } else {
                    let mut json = Vec::new();
                    text.chars.write_begin(end, &mut json);
                    self.put_json(&json);
                }
                if end < text.chars.len() {
                    let before = if text.is_raw && end > 0 { "\n" } else { "" };
                    let (count, s) = (text.count, s(text.count));
                    self.put(&format!("{before}… ({count} character{s})"));
                }
            }
            Body::Row(row) => {
                for (before, id) in row {
                    self.put_json(before.as_bytes());
                    self.node(*id);
                }
            }
            Body::Branch(branch) => self.branch(node, branch),
        }
    }

    fn branch(&mut self, node: &Node<'a>, branch: &Branch<'a>) {
        let visible = branch.visible(self.steps);
        let hidden = branch.len - visible;
        let children = branch.children.iter().take(visible);
        let more = if visible == 0 { "" } else { "more " };
        let mark = |noun: &str| format!("… {hidden} {more}{noun}{}", s(hidden));
        match branch.form {
            Form::List if visible == 0 && hidden > 0 => {
                self.put(&format!("… array, {hidden} item{}", s(hidden)));
            }
            Form::Object { is_root: false } if visible == 0 && hidden > 0 => {
                self.put(&format!("… object, {hidden} key{}", s(hidden)));
            }
            Form::List => {
                self.put("[");
                for child in children {
                    separate(&mut self.out);
                    self.node(child.id);
                }
                if hidden > 0 {
                    self.put(",");
                    self.put(&mark("item"));
                }
                self.put("]");
            }
            Form::Parts => {
                for (place, child) in children.enumerate() {
                    self.put(&self.plan.part_label(branch, place));
                    self.put(" ");
                    self.node(child.id);
                    if place + 1 < branch.len {
                        self.put("\n");
                    }
                }
                if hidden > 0 {
                    self.put(&mark("part"));
                }
            }
            Form::Object { .. } => {
                self.put("{");
                for child in children {
                    separate(&mut self.out);
                    self.put("\"");
                    self.put_json(child.cursor.key().raw());
                    self.put("\":");
                    self.node(child.id);
                }
                if hidden > 0 {
                    separate(&mut self.out);
                    self.put(&mark("key"));
                    self.put_json(names(node, branch, visible).as_bytes());
                }
                self.put("}");
            }
        }
    }
}

/// The names of the first hidden keys of an object, as a mark lists them.
fn names(node: &Node<'_>, branch: &Branch<'_>, visible: usize) -> String {
    let most = if node.repeated { NAMES_AGAIN } else { NAMES };
    let mut names = String::new();
    let mut room = NAMES_CHARS;
    let mut named = 0;
    for member in branch.hidden(visible).take(most) {
        let name = crate::context::name(&member.key().text());
        let chars = name.chars().count();
        if chars > room {
            break;
        }
        room -= chars;
        names.push_str(if named == 0 { ": " } else { ", " });
        names.push_str(&name);
        named += 1;
    }
    if named > 0 && named < branch.len - visible {
        names.push_str(", …");
    }
    names
}

fn s(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}
