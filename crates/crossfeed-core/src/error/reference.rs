//! Malformed references, with the correct form where it can be inferred.

use super::SelectError;
use crossfeed_tools::{ListedTool, Spelling, Style};
use crossfeed_wire::{
    CallId, Pointer,
    reference::{Malformed, NearReference},
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The most characters of a corrected form: a longer one does not help.
const MAX_CORRECTED_CHARS: usize = 300;
/// A placeholder for a word that only the model knows.
const CALL_ID: &str = "<call id>";

/// How the schema that the model was shown spells references.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReferenceStyle {
    /// The name of the references map, and whether it is a list.
    map: Option<(Arc<str>, bool)>,
    is_underscored: bool,
    /// Whether it offers no texts with values in them.
    lacks_templates: bool,
}

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
    pub(crate) fn of(listed: &ListedTool) -> Self {
        let is_list = listed.style() == Some(Style::RefsList);
        let mut style = Self {
            map: listed.references().map(|name| (name.into(), is_list)),
            is_underscored: listed.spelling() == Some(Spelling::Underscore),
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
        let is_written = self.map.is_none() && object.keys().any(|key| key.starts_with('_'));
        Self {
            is_underscored: self.is_underscored || is_written,
            ..self.clone()
        }
    }

    fn key(&self, name: &str) -> String {
        let sigil = if self.is_underscored { '_' } else { '$' };
        format!("{sigil}{name}")
    }

    /// A reference as JSON.
    fn reference(&self, id: &str, select: Option<&str>) -> String {
        self.reference_value(id, select).to_string()
    }

    fn reference_value(&self, id: &str, select: Option<&str>) -> Value {
        let mut object = Map::new();
        object.insert(self.key("tool"), id.into());
        object.extend(select.map(|select| (self.key("select"), select.into())));
        Value::Object(object)
    }

    /// What was meant at this place of the arguments: a reference, or a text with values in it. Without templates it is
    /// the text with the values in double braces, which are read.
    fn meant_at(&self, at: &Pointer, meant: &[MeantPiece]) -> Option<String> {
        if let [MeantPiece::Value { id, select }] = meant {
            return Some(self.reference_at(at, id, select.as_deref()));
        }
        if meant.is_empty() || meant.contains(&MeantPiece::Rest) {
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
                    entry.insert("tool".to_owned(), id.into());
                    entry.extend(select.map(|select| ("select".to_owned(), select.into())));
                    Value::Object(entry)
                });
                let with: Vec<_> = with.collect();
                let entry = serde_json::json!({"to": to, "template": text, "with": with});
                format!("\"{map}\": [{entry}]")
            }
            (map, parameter, rest) => {
                let with = values
                    .map(|(number, (id, select))| (name(number), self.reference_value(id, select)));
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

    /// A reference in place of the value at this place of the arguments.
    fn reference_at(&self, at: &Pointer, id: &str, select: Option<&str>) -> String {
        let reference = self.reference(id, select);
        let mut tokens = at.tokens();
        match (&self.map, tokens.next(), tokens.next()) {
            (Some((map, false)), Some(name), None) if *name != **map => {
                format!("\"{map}\": {{{}: {reference}}}", Value::from(name))
            }
            (Some((map, true)), Some(name), rest) if *name != **map => {
                let to = rest.map_or(name, |_| at.as_str().to_owned());
                let mut entry = Map::new();
                entry.insert("to".to_owned(), to.into());
                entry.insert("tool".to_owned(), id.into());
                entry.extend(select.map(|select| ("select".to_owned(), select.into())));
                format!("\"{map}\": [{}]", Value::Object(entry))
            }
            _ => reference,
        }
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
fn in_braces(piece: &MeantPiece) -> String {
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
}

fn read_as(why: Option<&str>) -> String {
    why.map(|why| format!("; read as one, {why}"))
        .unwrap_or_default()
}

impl MalformedReference {
    /// The error for `written`.
    pub(crate) fn new(
        malformed: Malformed,
        written: Option<&Value>,
        spelling: &ReferenceStyle,
    ) -> Self {
        let corrected = written.and_then(|written| corrected(&malformed, written, spelling));
        Self::with(malformed, corrected, None, spelling)
    }

    /// The error for what was read as a reference and gives no value that fits: `why`, and selectors that do.
    pub(crate) fn misread(
        (written, at): (&str, &Pointer),
        meant: &[MeantPiece],
        why: String,
        spelling: &ReferenceStyle,
    ) -> Self {
        let written = written.to_owned();
        Self::meaning(
            Malformed::NotAReference { written },
            at,
            meant,
            spelling,
            Some(why),
        )
    }

    /// The error for what is meant as a reference in a way that is not read, and may be meant so.
    pub(crate) fn unclear(
        malformed: Malformed,
        at: &Pointer,
        meant: &[MeantPiece],
        spelling: &ReferenceStyle,
    ) -> Self {
        Self::meaning(malformed, at, meant, spelling, None)
    }

    fn meaning(
        malformed: Malformed,
        at: &Pointer,
        meant: &[MeantPiece],
        spelling: &ReferenceStyle,
        why: Option<String>,
    ) -> Self {
        let mut error = Self::with(malformed, spelling.meant_at(at, meant), why, spelling);
        if error.corrected.is_none() && meant.len() > 1 {
            let value = meant
                .iter()
                .find(|piece| matches!(piece, MeantPiece::Value { .. }));
            let value = value.map(in_braces).unwrap_or_default();
            let literal = spelling.key("literal");
            error.advice = format!(
                "in the text write {value}; to pass it as it is, wrap it: {{\"{literal}\": …}}"
            )
            .into();
        }
        error
    }

    fn with(
        malformed: Malformed,
        corrected: Option<String>,
        why: Option<String>,
        spelling: &ReferenceStyle,
    ) -> Self {
        let is_short = |text: &String| text.chars().nth(MAX_CORRECTED_CHARS).is_none();
        let corrected = corrected.filter(is_short);
        Self {
            advice: advice(&malformed, corrected.as_deref(), spelling).into(),
            corrected,
            malformed,
            why: why.map(Into::into),
        }
    }

    /// One next step.
    pub fn advice(&self) -> String {
        self.advice.as_ref().into()
    }
}

fn advice(malformed: &Malformed, corrected: Option<&str>, spelling: &ReferenceStyle) -> String {
    let literal = spelling.key("literal");
    match (corrected, malformed) {
        (Some(corrected), Malformed::NotAReference { .. }) => {
            format!("try: {corrected}; to pass it as it is, wrap it: {{\"{literal}\": …}}")
        }
        (Some(corrected), _) => format!("try: {corrected}"),
        (None, Malformed::UnreachableTarget { .. }) => {
            "put the reference at the parameter itself".to_owned()
        }
        (None, Malformed::NullInText) => format!(
            "add a `{}` to the reference, or leave it out of the text",
            spelling.key("default")
        ),
        (None, Malformed::NoMap { key, .. }) => {
            let tool = spelling.key("tool");
            format!("try: {{\"{key}\": {{\"<parameter>\": {{\"{tool}\": \"{CALL_ID}\"}}}}}}")
        }
        (None, Malformed::NoTarget) => format!(
            "try: {{\"to\": \"<parameter>\", \"tool\": \"{CALL_ID}\", \"select\": \"<JMESPath>\"}}"
        ),
        (
            None,
            Malformed::NoWith { .. }
            | Malformed::BesideTemplate { .. }
            | Malformed::UnpairedBrace
            | Malformed::NoSuchName { nearest: None, .. }
            | Malformed::UnusedName { .. },
        ) => {
            let (template, with) = (spelling.key("template"), spelling.key("with"));
            let reference = spelling.reference(CALL_ID, Some("<JMESPath>"));
            format!(
                "write it as {{\"{template}\": \"See {{a}}\", \"{with}\": {{\"a\": {reference}}}}}"
            )
        }
        (
            None,
            Malformed::NoSuchName {
                nearest: Some(name),
                ..
            },
        ) => format!("try: {{{name}}}"),
        (None, _) => {
            let (tool, select) = (spelling.key("tool"), spelling.key("select"));
            format!(
                "write a reference as {{\"{tool}\": \"{CALL_ID}\"}} or {{\"{tool}\": \"{CALL_ID}\", \
                     \"{select}\": \"<JMESPath>\"}}; wrap data that only looks like one in {{\"{literal}\": …}}"
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

fn corrected(malformed: &Malformed, written: &Value, spelling: &ReferenceStyle) -> Option<String> {
    if let Malformed::NoEntry { expected, .. } = malformed {
        // A list of one reference is in place of it.
        if let Some([Value::Object(only)]) = written.as_array().map(Vec::as_slice) {
            return text(only.iter());
        }
        // The id of a call is in place of a reference to it.
        let text = written
            .as_str()
            .filter(|_| expected.starts_with("a reference"))?;
        let near = NearReference::from_entry(text)?;
        let select = near.selects.first().cloned().flatten().or(near.guess);
        return Some(spelling.reference(&near.id, select.as_deref()));
    }
    // A reference that was written as a string is corrected to the object in it.
    let parsed = written.as_str().map(serde_json::from_str::<Value>);
    let parsed = parsed.transpose().ok()?;
    let object = parsed.as_ref().unwrap_or(written).as_object()?;
    let spelling = &spelling.or_of(object);
    let tool = || {
        ["$tool", "_tool", "tool"]
            .iter()
            .find_map(|key| object.get(*key)?.as_str())
    };
    match malformed {
        Malformed::TwoSpellings(dollar, underscore) => {
            if object.get(*dollar)? != object.get(*underscore)? {
                return None;
            }
            text(object.iter().filter(|(key, _)| key != underscore))
        }
        Malformed::NoTool => {
            // Only what belongs to a reference is kept: other keys would be refused again.
            let select = ["$select", "_select"];
            let select = select.iter().find_map(|key| object.get(*key)?.as_str());
            let artifact = ["$artifact", "_artifact"];
            let artifact = artifact.iter().find_map(|key| object.get_key_value(*key));
            let known = object
                .keys()
                .all(|key| crossfeed_wire::reference::is_sentinel(key));
            let has_default = object.keys().any(|key| key.ends_with("default"));
            match artifact {
                Some((key, id)) if known && !has_default => {
                    let tool = if key.starts_with('$') {
                        "$tool"
                    } else {
                        "_tool"
                    }
                    .to_owned();
                    let call_id = Value::from(CALL_ID);
                    let named = object
                        .iter()
                        .filter(|(key, value)| !value.is_null() && **key != tool);
                    id.is_string()
                        .then(|| text(std::iter::once((&tool, &call_id)).chain(named)))
                        .flatten()
                }
                _ if has_default => None,
                // `{"$select": "call_1.items"}`
                _ => {
                    let near = select.and_then(NearReference::from_entry);
                    let near = near.filter(NearReference::is_distinctive);
                    let (id, select) = match &near {
                        Some(near) => (near.id.as_str(), near.selects.first()?.as_deref()),
                        None => (CALL_ID, select),
                    };
                    Some(spelling.reference(id, select))
                }
            }
        }
        Malformed::NoString { key, .. } => {
            let value = object.get(key)?;
            // What a selector may be besides is read as it.
            let meant = meant(value).filter(|_| !key.ends_with("select"))?;
            let meant = Value::String(meant);
            let correct = |name, value| if name == key { &meant } else { value };
            text(
                object
                    .iter()
                    .map(|(name, value)| (name, correct(name, value))),
            )
        }
        Malformed::UnknownKey { .. } => {
            let is_own = |key: &String| {
                crossfeed_wire::reference::is_sentinel(key) || key == "tool" || key == "to"
            };
            let mut unknown = object
                .iter()
                .filter(|(key, value)| !is_own(key) && !value.is_null());
            let select = ["$select", "_select", "select"];
            let select = select.iter().find_map(|key| object.get(*key)?.as_str());
            // `limit: 1` is no selector.
            let meant = unknown.next().and_then(|(_, value)| value.as_str());
            let meant = meant.map(str::to_owned);
            let is_only = unknown.next().is_none() && select.is_none();
            let select = select.map(str::to_owned).or(meant.filter(|_| is_only));
            Some(spelling.reference(tool()?, Some(select.as_deref().unwrap_or("<JMESPath>"))))
        }
        Malformed::NotAReference { written } if template_of(object).is_some() => {
            let (key, template) = template_of(object)?;
            let near = NearReference::from_entry(written.trim_matches(['{', '}', ' ']))?;
            let with_key = if key.starts_with('_') {
                "_with"
            } else {
                "$with"
            };
            let mut with = match object.get(with_key)? {
                Value::Object(with) => with.clone(),
                _ => return None,
            };
            let mut names = (1..).map(|number| format!("value{number}"));
            let name = names.find(|name| !with.contains_key(name))?;
            let mut reference = Map::new();
            reference.insert(spelling.key("tool"), near.id.into());
            let select = near.selects.into_iter().next()?;
            reference.extend(select.map(|select| (spelling.key("select"), select.into())));
            let text = template.replace(written.as_str(), &format!("{{{name}}}"));
            if text == template {
                return None;
            }
            with.insert(name, reference.into());
            let mut object = object.clone();
            object.insert(key.clone(), text.into());
            object.insert(with_key.to_owned(), with.into());
            Some(Value::Object(object).to_string())
        }
        Malformed::NotAReference { .. } => {
            let ids = object.values().filter_map(Value::as_str);
            let mut ids = ids.filter(|id| is_like_an_id(id));
            Some(spelling.reference(ids.next()?, Some("<JMESPath>")))
        }
        Malformed::UnusedName { name } => {
            // `{{name}}` is a pair of literal braces.
            let doubled = format!("{{{{{name}}}}}");
            let (key, template) = template_of(object)?;
            let template = Some(template).filter(|text| text.contains(&doubled))?;
            let mut object = object.clone();
            let correct = template.replace("{{", "{").replace("}}", "}");
            object.insert(key.clone(), correct.into());
            Some(Value::Object(object).to_string())
        }
        Malformed::LiteralNotAlone(literal) => {
            let mut ids = ["$tool", "_tool"]
                .iter()
                .filter_map(|key| object.get(*key)?.as_str());
            let named = ids.any(|id| CallId::parse(id).is_ok());
            let reference = || object.iter().filter(|(key, _)| key != literal);
            named.then(|| text(reference())).flatten()
        }
        _ => None,
    }
}

/// The text of a template, and its key.
fn template_of(object: &Map<String, Value>) -> Option<(&String, &str)> {
    let keys = ["$template", "_template", "template"];
    let (key, text) = keys.iter().find_map(|key| object.get_key_value(*key))?;
    Some((key, text.as_str()?))
}

/// A reference as JSON; `None` if it holds data, which no message shows.
fn text<'o>(members: impl Iterator<Item = (&'o String, &'o Value)>) -> Option<String> {
    let mut object = Map::new();
    for (key, value) in members {
        let data = value.is_object() || value.is_array();
        if data || key.ends_with("literal") || key.ends_with("default") {
            return None;
        }
        object.insert(key.clone(), value.clone());
    }
    Some(Value::Object(object).to_string())
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
