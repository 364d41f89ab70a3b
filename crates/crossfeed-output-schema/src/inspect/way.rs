//! Walks from the root to the place that a path names.

use super::InspectError;
use crate::read::{ENVELOPED, Fields, Node, Reader, path_text};
use crossfeed_projection::{Path, Step, nearest};

/// Names that an error lists.
const MAX_KNOWN: usize = 10;
/// Characters of a name that an error repeats.
const MAX_NAME_CHARS: usize = 120;

/// The place that a path names.
pub(super) fn reach<'s>(reader: &Reader<'s>, text: &str) -> Result<Node<'s>, InspectError> {
    let (mut node, is_enveloped) = reader.start();
    let text = text.trim();
    if text.is_empty() {
        return Ok(node);
    }
    let path = Path::parse(text)?;
    for (at, step) in path.steps().iter().enumerate() {
        let way = path.steps().get(..at).unwrap_or_default();
        let next = match step {
            Step::EachItem => reader.items(&node, None),
            Step::Index(position) => reader.items(&node, Some(*position)),
            Step::EachKey => {
                let fields = reader.fields(&node);
                reader.any_field(fields)
            }
            Step::Key(name) => {
                let fields = reader.fields(&node);
                let mut named = fields.named.iter();
                let field = named.find(|field| field.name == name && !field.is_rest());
                let inner = field.map(|field| reader.field(field));
                if inner.is_none() && at == 0 && is_enveloped && name == ENVELOPED {
                    return Err(InspectError::Envelope {
                        path: text.to_owned(),
                        key: ENVELOPED,
                        instead: path_text(path.steps().get(1..).unwrap_or_default()),
                    });
                }
                if inner.is_none() {
                    return Err(unknown(text, way, &node, name, &fields));
                }
                inner
            }
        };
        let Some(next) = next else {
            return Err(match step {
                Step::EachItem | Step::Index(_) => InspectError::NotAList {
                    path: text.to_owned(),
                    at: described(&node, way),
                    instead: path_text(way),
                },
                _ => unknown(text, way, &node, "*", &Fields::default()),
            });
        };
        if reader.is_tired() {
            return Err(InspectError::TooMuch {
                path: text.to_owned(),
            });
        }
        node = next;
    }
    Ok(node)
}

fn unknown(
    text: &str,
    way: &[Step],
    node: &Node<'_>,
    name: &str,
    fields: &Fields<'_>,
) -> InspectError {
    let named = fields.named.iter();
    let nearest = nearest(name, named.clone().filter(|f| !f.is_rest()).map(|f| f.name));
    let nearest = nearest.into_iter().map(|known| {
        let step = Step::Key(known);
        path_text(&[way, std::slice::from_ref(&step)].concat())
    });
    let known = named.take(MAX_KNOWN);
    InspectError::UnknownField {
        path: text.to_owned(),
        at: described(node, way),
        name: excerpt(name),
        nearest: nearest.filter(|path| !path.is_empty()).collect(),
        known: known.map(|field| excerpt(field.name)).collect(),
    }
}

/// ``the object `users[]` ``, `the object at the root`.
fn described(node: &Node<'_>, way: &[Step]) -> String {
    let word = match node.word() {
        "unknown" => "value",
        word => word,
    };
    match way {
        [] => format!("the {word} at the root"),
        way => format!("the {word} `{}`", path_text(way)),
    }
}

fn excerpt(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}
