//! Texts with values in them, as they were probably meant.

use super::reference::{ReferenceStyle, members};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value};

/// The most bytes of a text that are shown as they are meant.
pub(crate) const MAX_MEANT_BYTES: usize = 1000;

/// A piece of what was probably meant: of a text with values in it, or a value alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MeantPiece {
    Text(String),
    Value {
        id: String,
        select: Option<String>,
    },
    /// More of a text than is shown.
    Rest,
}

impl ReferenceStyle {
    /// A text with values in it, as it was meant at this place of the arguments. Without templates it is the text with the
    /// values in double braces, which are read.
    pub(super) fn meant_at(&self, at: &Pointer, meant: &[MeantPiece]) -> Option<String> {
        if meant.len() < 2 || meant.contains(&MeantPiece::Rest) {
            return None;
        }
        let is_inside = at.tokens().next().is_some();
        if self.lacks_templates || !is_inside {
            let text: String = meant.iter().map(in_braces).collect();
            return Some(Value::from(text).to_string());
        }
        let mut text = String::new();
        let mut values: Vec<(&str, Option<&str>)> = Vec::new();
        for piece in meant {
            match piece {
                MeantPiece::Rest => {}
                MeantPiece::Text(piece) => {
                    text.push_str(&piece.replace('{', "{{").replace('}', "}}"));
                }
                MeantPiece::Value { id, select } => {
                    let value = (id.as_str(), select.as_deref());
                    let known = values.iter().position(|known| *known == value);
                    let number = known.unwrap_or_else(|| {
                        values.push(value);
                        values.len() - 1
                    });
                    text.push_str(&format!("{{{}}}", name(number)));
                }
            }
        }
        let values = values.into_iter().enumerate();
        let mut tokens = at.tokens();
        Some(match (&self.map, tokens.next(), tokens.next()) {
            (Some((map, true)), Some(parameter), rest) if *parameter != **map => {
                let to = rest.map_or(parameter, |_| at.as_str().to_owned());
                let with = values.map(|(number, (id, select))| {
                    let mut entry = Map::new();
                    entry.insert("name".to_owned(), name(number).into());
                    entry.extend(members(["tool", "select"].map(str::to_owned), id, select));
                    Value::Object(entry)
                });
                let with: Vec<_> = with.collect();
                let entry = serde_json::json!({"to": to, "template": text, "with": with});
                format!("\"{map}\": [{entry}]")
            }
            (map, parameter, rest) => {
                let with = values.map(|(number, (id, select))| {
                    (name(number), Value::Object(self.object(id, select)))
                });
                let mut template = Map::new();
                template.insert(self.key("template"), text.into());
                template.insert(self.key("with"), Value::Object(with.collect()));
                let template = Value::Object(template);
                match (map, parameter, rest) {
                    (Some((map, false)), Some(parameter), None) if *parameter != **map => {
                        format!("\"{map}\": {{{}: {template}}}", Value::from(parameter))
                    }
                    _ => template.to_string(),
                }
            }
        })
    }
}

/// The name of a value in a text.
fn name(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..26) => char::from(b'a' + number).to_string(),
        _ => format!("value{number}"),
    }
}

/// A piece of a text as models write it, which is read.
pub(super) fn in_braces(piece: &MeantPiece) -> String {
    match piece {
        MeantPiece::Text(text) => text.clone(),
        MeantPiece::Rest => "…".to_owned(),
        MeantPiece::Value { id, select: None } => format!("{{{{{id}}}}}"),
        MeantPiece::Value {
            id,
            select: Some(select),
        } => {
            let joint = match select.chars().next() {
                Some('[') if !select.contains('(') => "",
                _ if select.contains('(') || select.starts_with('{') => " | ",
                _ => ".",
            };
            format!("{{{{{id}{joint}{select}}}}}")
        }
    }
}
