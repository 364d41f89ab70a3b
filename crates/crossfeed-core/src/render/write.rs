//! Writing a preview: the tree of a plan after some of its steps, every cut marked where it is made.

use super::{
    ours::Ours,
    plan::{Body, Branch, Form, Id, Node, Plan, Tail},
};
use crossfeed_json::{escape_into, quoted};

/// How many names of hidden keys a mark says.
const NAMES: usize = 8;
/// The same in objects whose like was shown before.
const NAMES_AGAIN: usize = 0;
/// The most characters of all names in a mark.
const NAMES_CHARS: usize = 100;

/// Appends a comma between members.
pub(super) fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b'{' | b'[')) {
        out.push(b',');
    }
}

/// A preview of `root` after `steps` steps.
pub(super) fn write(plan: &Plan<'_, '_>, root: Id, steps: usize, ours: &Ours) -> Vec<u8> {
    let mut writer = Writer {
        plan,
        steps,
        ours,
        out: Vec::new(),
    };
    writer.node(root);
    writer.out
}

struct Writer<'a, 'v> {
    plan: &'v Plan<'a, 'v>,
    steps: usize,
    ours: &'v Ours,
    out: Vec<u8>,
}

impl<'a> Writer<'a, '_> {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Recursion is bounded by the nesting of data, and the few levels around it.
    fn node(&mut self, id: Id) {
        let Some(node) = self.plan.node(id) else {
            return;
        };
        match &node.body {
            Body::NoParts => {
                self.put("[");
                self.put(&self.ours.part);
                self.put("]");
            }
            Body::Fixed(json) | Body::Mark(json) => self.out.extend_from_slice(json),
            Body::Text(text) => {
                let end = text.end(self.steps);
                if end == text.chars.len() {
                    return text.chars.write(&mut self.out);
                }
                self.put("\"");
                text.chars.write_until(end, &mut self.out);
                self.put(&format!("… ({} character{})\"", text.count, s(text.count)));
            }
            Body::JsonText(inner) => {
                let outside = std::mem::take(&mut self.out);
                self.node(*inner);
                let inside = std::mem::replace(&mut self.out, outside);
                self.put("\"");
                // What was written is UTF-8.
                escape_into(
                    &mut self.out,
                    &String::from_utf8(inside).unwrap_or_default(),
                );
                self.put("\"");
            }
            Body::Frame(members, tail) => {
                self.put("{");
                for (key, id) in members {
                    self.key(key);
                    self.node(*id);
                }
                self.tail(*tail);
                self.put("}");
            }
            Body::Branch(branch) => self.branch(node, branch),
        }
    }

    fn key(&mut self, raw: &[u8]) {
        separate(&mut self.out);
        self.put("\"");
        self.out.extend_from_slice(raw);
        self.put("\":");
    }

    fn tail(&mut self, tail: Tail) {
        let fields = match tail {
            Tail::None => return,
            Tail::Id => &self.ours.id,
            Tail::All => &self.ours.all,
        };
        separate(&mut self.out);
        self.put(fields);
    }

    fn branch(&mut self, node: &Node<'a>, branch: &Branch<'a>) {
        let visible = branch.visible(self.steps);
        let hidden = branch.len - visible;
        let count = branch.len;
        match branch.form {
            Form::List if visible == 0 && hidden > 0 => {
                self.put(&format!("\"… array, {count} item{}\"", s(count)));
            }
            Form::Object {
                tail: Tail::None, ..
            } if visible == 0 && hidden > 0 => {
                self.put(&format!("\"… object, {count} key{}\"", s(count)));
            }
            Form::List | Form::Parts => {
                self.put("[");
                if branch.form == Form::Parts {
                    self.put(&self.ours.part);
                }
                for child in branch.children.iter().take(visible) {
                    separate(&mut self.out);
                    self.node(child.id);
                }
                match (hidden, branch.form) {
                    (0, _) => {}
                    (n, Form::Parts) => {
                        separate(&mut self.out);
                        let text = format!("… {n} more part{}", s(n));
                        self.put(&format!("{{\"type\":\"text\",\"text\":\"{text}\"}}"));
                    }
                    (n, _) => {
                        separate(&mut self.out);
                        self.put(&format!("\"… {n} more item{}\"", s(n)));
                    }
                }
                self.put("]");
            }
            Form::Object { mark, tail } => {
                self.put("{");
                for child in branch.children.iter().take(visible) {
                    self.key(child.cursor.key().raw());
                    self.node(child.id);
                }
                if hidden > 0 {
                    self.key("…".repeat(mark).as_bytes());
                    let names = names(node, branch, visible);
                    let text = format!("{hidden} more key{}{names}", s(hidden));
                    self.put(&quoted(&text));
                }
                self.tail(tail);
                self.put("}");
            }
        }
    }
}

/// The names of the first hidden keys of an object, as a mark says them.
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
