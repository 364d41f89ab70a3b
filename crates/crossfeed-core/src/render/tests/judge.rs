//! A judge of what is shown: it knows the data and the marks, and nothing of how they are made.

use serde_json::{Map, Value};

/// A preview, taken apart: its first line, what stands between, and its last line.
pub(super) fn taken_apart(text: &str) -> (&str, &str, &str) {
    let (begin, rest) = text.split_once('\n').unwrap();
    let (body, end) = rest.rsplit_once('\n').unwrap();
    (begin, body, end)
}

/// Whether a line ends here for some reader.
fn ends_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Law 13: nothing of a preview can be read as JSON, but for lines of a text that was no JSON; and
/// nothing within it reads like its first or last line.
pub(super) fn passes_for_nothing(text: &str, id: &str, of_text: bool) -> Result<(), String> {
    let (begin, body, end) = taken_apart(text);
    if !begin.starts_with(&format!("[crossfeed preview of {id}: cut, not the data"))
        || !begin.ends_with(']')
        || end != format!("[end of crossfeed preview of {id}]")
    {
        return Err(format!("{begin} … {end}"));
    }
    let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
    if is_json(text) || is_json(body) {
        return Err(format!("read as JSON: {text}"));
    }
    for line in text.split(ends_line) {
        let value = serde_json::from_str::<Value>(line);
        if !of_text && value.is_ok_and(|value| value.is_object() || value.is_array()) {
            return Err(format!("a line is read as JSON: {line}"));
        }
    }
    for line in body.split(ends_line) {
        let line = line.trim();
        let is_like_ours =
            line.starts_with("[crossfeed preview of") || line.starts_with("[end of crossfeed");
        let is_marked = line.starts_with("[end of crossfeed preview (written by the server)");
        if is_like_ours && !is_marked {
            return Err(format!("reads like ours: {line} in {text}"));
        }
    }
    Ok(())
}

/// How many marks a body has, if it is a true view of `data`.
pub(super) fn marks(body: &str, data: &Value) -> Result<usize, String> {
    let mut reader = Reader(body);
    let marks = reader.value(data).and_then(|marks| match reader.0 {
        "" => Ok(marks),
        rest => Err(format!("{rest} stands behind it")),
    });
    marks.map_err(|why| format!("{why}\n{body}"))
}

/// How many marks a body has, if it is a true view of a text without JSON.
pub(super) fn marks_of_text(body: &str, data: &str) -> Result<usize, String> {
    let total = data.chars().count();
    let end = format!("… ({total} character{})", s(total));
    let begin = body.strip_suffix(&end);
    let begin = begin.and_then(|begin| match begin {
        "" => Some(""),
        _ => begin.strip_suffix('\n'),
    });
    // What reads like ours is marked.
    let begin = begin.map(|begin| begin.replace(" (written by the server)", ""));
    match begin {
        Some(begin) if data.starts_with(&begin) && begin.len() < data.len() => Ok(1),
        _ => Err(format!("{body} is not a view of {data}")),
    }
}

pub(super) fn s(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

struct Reader<'t>(&'t str);

impl<'t> Reader<'t> {
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.takes(text) {
            Ok(())
        } else {
            Err(format!("no {text} before {}", self.0))
        }
    }

    fn value(&mut self, data: &Value) -> Result<usize, String> {
        match data {
            Value::Array(items) if self.takes(&folded("array", items.len(), "item")) => Ok(1),
            Value::Object(members) if self.takes(&folded("object", members.len(), "key")) => Ok(1),
            Value::Array(items) => self.list(items),
            Value::Object(members) => self.object(members),
            Value::String(text) => {
                let shown = self.string()?;
                let total = text.chars().count();
                if self.takes(&format!("… ({total} character{})", s(total))) {
                    let is_cut = text.starts_with(&shown) && shown.len() < text.len();
                    return is_cut.then_some(1).ok_or(format!("{shown} of {text}"));
                }
                (shown == *text)
                    .then_some(0)
                    .ok_or(format!("{shown} for {text}"))
            }
            scalar => {
                let end = self.0.find([',', ']', '}', '…']).unwrap_or(self.0.len());
                let (shown, rest) = self.0.split_at(end);
                self.0 = rest;
                let value: Value = serde_json::from_str(shown).map_err(|e| e.to_string())?;
                (value == *scalar)
                    .then_some(0)
                    .ok_or(format!("{shown} for {scalar}"))
            }
        }
    }

    /// A JSON string.
    fn string(&mut self) -> Result<String, String> {
        let mut strings = serde_json::Deserializer::from_str(self.0).into_iter::<String>();
        let text = strings.next().ok_or("no string")?;
        let end = strings.byte_offset();
        let text = text.map_err(|error| format!("{error}: {}", self.0))?;
        self.0 = &self.0[end..];
        Ok(text)
    }

    fn list(&mut self, all: &[Value]) -> Result<usize, String> {
        self.expect("[")?;
        let mut sum = 0;
        for (at, data) in all.iter().enumerate() {
            if at > 0 {
                self.expect(",")?;
                let hidden = all.len() - at;
                if self.takes(&format!("… {hidden} more item{}]", s(hidden))) {
                    return Ok(sum + 1);
                }
            }
            sum += self.value(data)?;
        }
        self.expect("]")?;
        Ok(sum)
    }

    fn object(&mut self, all: &Map<String, Value>) -> Result<usize, String> {
        self.expect("{")?;
        let mut sum = 0;
        for (at, (key, data)) in all.iter().enumerate() {
            if at > 0 {
                self.expect(",")?;
            }
            let hidden = all.len() - at;
            let more = if at > 0 { "more " } else { "" };
            if self.takes(&format!("… {hidden} {more}key{}", s(hidden))) {
                self.names(&mut all.keys().skip(at))?;
                self.expect("}")?;
                return Ok(sum + 1);
            }
            let shown = self.string()?;
            if shown != *key {
                return Err(format!("{shown} for {key}"));
            }
            self.expect(":")?;
            sum += self.value(data)?;
        }
        self.expect("}")?;
        Ok(sum)
    }

    /// The names of the keys that are hidden first, as far as they are named.
    fn names(&mut self, keys: &mut dyn Iterator<Item = &String>) -> Result<(), String> {
        if !self.takes(": ") {
            return Ok(());
        }
        for key in keys {
            let name = if self.0.starts_with('"') {
                self.string()?
            } else {
                let end = self.0.find([',', '}', '…']).unwrap_or_default();
                let (name, rest) = self.0.split_at(end);
                self.0 = rest;
                name.to_owned()
            };
            let is_cut = self.takes("…");
            if !(name == *key || is_cut && key.starts_with(&name)) {
                return Err(format!("{name} names {key}"));
            }
            if !self.takes(", ") || self.takes("…") {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn folded(kind: &str, n: usize, each: &str) -> String {
    format!("… {kind}, {n} {each}{}", s(n))
}
