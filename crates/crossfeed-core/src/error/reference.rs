//! What a malformed reference should have been, where it can be told from what was written.

use crossfeed_wire::{CallId, reference::Malformed};
use serde_json::{Map, Value};

/// The most characters of a corrected form: a longer one is no help.
const CORRECTED_CHARS: usize = 300;
/// What stands where only the model knows what belongs there.
const CALL_ID: &str = "<call id>";

/// Something that looks like a reference and is none: `{"$tool": 7}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed reference: {malformed}")]
#[non_exhaustive]
pub struct MalformedReference {
    /// What is wrong with it.
    pub malformed: Malformed,
    /// What it should have been, as JSON, where that can be told: `{"$tool":"7"}`.
    pub corrected: Option<String>,
}

impl MalformedReference {
    /// What is wrong with `written`.
    pub(crate) fn new(malformed: Malformed, written: Option<&Value>) -> Self {
        let corrected = written.and_then(|written| corrected(&malformed, written));
        let short = |text: &String| text.chars().nth(CORRECTED_CHARS).is_none();
        Self {
            corrected: corrected.filter(short),
            malformed,
        }
    }

    /// One next step.
    #[must_use]
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
    // A reference that was written as a string is corrected as the object that it is.
    let parsed: Value;
    let written = match (malformed, written) {
        (Malformed::NoEntry { .. }, _) => written,
        (_, Value::String(text)) => {
            parsed = serde_json::from_str(text).ok()?;
            &parsed
        }
        _ => written,
    };
    match malformed {
        Malformed::TwoSpellings(dollar, underscore) => {
            let object = written.as_object()?;
            let same = object.get(*dollar)? == object.get(*underscore)?;
            let once = || object.iter().filter(|(key, _)| key != underscore);
            same.then(|| text(once())).flatten()
        }
        Malformed::NoTool => {
            let object = written.as_object()?;
            let underscore = object.keys().any(|key| key.starts_with('_'));
            let tool = if underscore { "_tool" } else { "$tool" };
            let call_id = Value::String(CALL_ID.to_owned());
            let named = object.iter().filter(|(_, value)| !value.is_null());
            let named = named.filter(|(key, _)| key.as_str() != tool);
            text(std::iter::once((&tool.to_owned(), &call_id)).chain(named))
        }
        Malformed::NoString { key, .. } => {
            let object = written.as_object()?;
            let meant = Value::String(meant(object.get(key)?)?);
            let corrected = object
                .iter()
                .map(|(name, value)| (name, if name == key { &meant } else { value }));
            text(corrected)
        }
        Malformed::LiteralNotAlone(literal) => {
            let object = written.as_object()?;
            let named = ["$tool", "_tool"].iter().any(|key| {
                let id = object.get(*key).and_then(Value::as_str);
                id.is_some_and(|id| CallId::parse(id).is_ok())
            });
            let reference = || object.iter().filter(|(key, _)| key != literal);
            named.then(|| text(reference())).flatten()
        }
        // The id of a call stands where a reference to it should.
        Malformed::NoEntry { expected, .. } if expected.starts_with("a reference") => {
            let call_id = written.as_str().filter(|id| is_like_an_id(id))?;
            Some(format!("{{\"$tool\":{}}}", Value::from(call_id)))
        }
        _ => None,
    }
}

/// An object of the grammar as JSON; `None` where it holds data, which no message shows.
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

/// The text that a value of another type stands for.
fn meant(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => match items.as_slice() {
            [Value::String(text)] => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn is_like_an_id(text: &str) -> bool {
    CallId::parse(text).is_ok() && !text.contains(char::is_whitespace) && !text.starts_with('{')
}
