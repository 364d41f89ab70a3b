//! Malformed references, with the correct form where it can be inferred.

use crossfeed_wire::{CallId, reference::Malformed};
use serde_json::{Map, Value};

/// The most characters of a corrected form: a longer one does not help.
const MAX_CORRECTED_CHARS: usize = 300;
/// A placeholder for a word that only the model knows.
const CALL_ID: &str = "<call id>";

/// Something that looks like a reference and is not valid: `{"$tool": 7}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed reference: {malformed}")]
#[non_exhaustive]
pub struct MalformedReference {
    /// The fault.
    pub malformed: Malformed,
    /// The correct form as JSON, where it can be inferred: `{"$tool":"7"}`.
    pub corrected: Option<String>,
}

impl MalformedReference {
    /// The error for `written`.
    pub(crate) fn new(malformed: Malformed, written: Option<&Value>) -> Self {
        let corrected = written.and_then(|written| corrected(&malformed, written));
        let is_short = |text: &String| text.chars().nth(MAX_CORRECTED_CHARS).is_none();
        Self {
            corrected: corrected.filter(is_short),
            malformed,
        }
    }

    /// One next step.
    pub fn advice(&self) -> String {
        match (&self.corrected, &self.malformed) {
            (Some(corrected), _) => format!("try: {corrected}"),
            (None, Malformed::UnreachableTarget { .. }) => {
                "put the reference at the parameter itself".to_owned()
            }
            (None, Malformed::NoMap { key, .. }) => {
                format!("try: {{\"{key}\": {{\"<parameter>\": {{\"$tool\": \"{CALL_ID}\"}}}}}}")
            }
            (None, Malformed::NoTarget) => format!(
                "try: {{\"to\": \"<parameter>\", \"tool\": \"{CALL_ID}\", \"select\": \"<JMESPath>\"}}"
            ),
            (None, _) => format!(
                "write a reference as {{\"$tool\": \"{CALL_ID}\"}} or {{\"$tool\": \"{CALL_ID}\", \
                 \"$select\": \"<JMESPath>\"}}; wrap data that only looks like one in {{\"$literal\": …}}"
            ),
        }
    }
}

fn corrected(malformed: &Malformed, written: &Value) -> Option<String> {
    if let Malformed::NoEntry { expected, .. } = malformed {
        // The id of a call is in place of a reference to it.
        let call_id = written.as_str().filter(|id| is_like_an_id(id))?;
        let is_reference = expected.starts_with("a reference");
        return is_reference.then(|| format!("{{\"$tool\":{}}}", Value::from(call_id)));
    }
    // A reference that was written as a string is corrected to the object in it.
    let parsed = written.as_str().map(serde_json::from_str::<Value>);
    let parsed = parsed.transpose().ok()?;
    let object = parsed.as_ref().unwrap_or(written).as_object()?;
    match malformed {
        Malformed::TwoSpellings(dollar, underscore) => {
            if object.get(*dollar)? != object.get(*underscore)? {
                return None;
            }
            text(object.iter().filter(|(key, _)| key != underscore))
        }
        Malformed::NoTool => {
            let underscore = object.keys().any(|key| key.starts_with('_'));
            let tool = if underscore { "_tool" } else { "$tool" };
            let call_id = Value::String(CALL_ID.to_owned());
            let named = object.iter().filter(|(_, value)| !value.is_null());
            let named = named.filter(|(key, _)| key.as_str() != tool);
            text(std::iter::once((&tool.to_owned(), &call_id)).chain(named))
        }
        Malformed::NoString { key, .. } => {
            let meant = Value::String(meant(object.get(key)?)?);
            let correct = |name, value| if name == key { &meant } else { value };
            text(
                object
                    .iter()
                    .map(|(name, value)| (name, correct(name, value))),
            )
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
