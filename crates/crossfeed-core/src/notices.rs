//! What a model should hear of a call: what it wrote was read otherwise, or not at all, or selected nothing.
//!
//! # What holds
//!
//! - The same slip has the same words each time, so that the right form is learnt from them.
//! - Each notice is one short line. All of one call take at most [`MAX_TOKENS`]; the rest is counted.
//! - Where all was taken as it was written, there is none.

use crate::{
    lineage::{LineageEntry, ReferenceRepair},
    select::{Notice, SelectReport, masked_selector},
    validate::TypeRepair,
};
use crossfeed_projection::{Diagnostic, DiagnosticKind, Diagnostics};
use crossfeed_tokens::estimated_tokens;
use crossfeed_wire::{printable, reference::Input};

/// The most tokens of the notices of one call.
const MAX_TOKENS: usize = 100;
/// The most characters of one text in a notice.
const MAX_CHARS: usize = 80;

/// Who reads a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The model that wrote the call.
    Model,
    /// A log, which holds no payload: without literals, keys and suggestions.
    Log,
}

/// Short lines about one call, each once, within a budget of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Notices {
    lines: Vec<String>,
    tokens: usize,
    /// How many are only counted.
    more: usize,
}

impl Notices {
    /// Of what a call was resolved to.
    pub(crate) fn of_call(
        lineage: &[LineageEntry],
        repairs: &[TypeRepair],
        diagnostics: &Diagnostics,
        reader: Reader,
    ) -> Self {
        let of_links = lineage.iter().flat_map(Slip::of_link);
        let slips = of_links.chain(repairs.iter().map(Slip::Converted));
        let notices: Self = slips.map(|slip| slip.line(reader)).collect();
        notices.with_diagnostics(diagnostics, reader)
    }

    /// Of a selection by the selector as it was written.
    pub(crate) fn of_selection(written: &str, report: &SelectReport) -> Self {
        let slips = Slip::of_selection(written, report, None);
        slips.map(|slip| slip.line(Reader::Model)).collect()
    }

    /// The same with what is to be said of a projection.
    pub(crate) fn with_diagnostics(mut self, diagnostics: &Diagnostics, reader: Reader) -> Self {
        let slips = diagnostics.iter().filter(|noted| is_slip(noted));
        for slip in slips.map(Slip::Field) {
            self.push(slip.line(reader));
        }
        self.more += diagnostics.more();
        self
    }

    /// Adds those of another step of the call.
    pub fn extend(&mut self, others: Self) {
        for line in others.lines {
            self.push(line);
        }
        self.more += others.more;
    }

    fn push(&mut self, line: String) {
        if self.lines.contains(&line) {
            return;
        }
        let tokens = self.tokens + estimated_tokens(&line);
        if self.more > 0 || tokens > MAX_TOKENS {
            self.more += 1;
        } else {
            self.tokens = tokens;
            self.lines.push(line);
        }
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.more == 0
    }

    /// The lines; the last one counts those beyond the budget.
    pub fn to_lines(&self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        self.lines.iter().cloned().chain(more).collect()
    }
}

/// Lines in one line each.
impl FromIterator<String> for Notices {
    fn from_iter<I: IntoIterator<Item = String>>(lines: I) -> Self {
        let mut notices = Self::default();
        for line in lines {
            notices.push(line);
        }
        notices
    }
}

/// Whether a model should hear of it: it asked for something that it did not get.
fn is_slip(noted: &Diagnostic) -> bool {
    matches!(
        noted.kind,
        DiagnosticKind::UnknownField
            | DiagnosticKind::UnknownName
            | DiagnosticKind::MetScalar
            | DiagnosticKind::NotAList
            | DiagnosticKind::AlwaysKept
            | DiagnosticKind::Ignored
    )
}

/// Something that was not taken as it was written.
enum Slip<'a> {
    Reference {
        repair: &'a ReferenceRepair,
        link: &'a LineageEntry,
    },
    Repaired {
        written: &'a str,
        report: &'a SelectReport,
    },
    Ignored {
        key: &'a str,
        link: &'a LineageEntry,
    },
    /// The change of a result that a later call has replaced.
    Superseded {
        by: &'a str,
        link: &'a LineageEntry,
    },
    Encoded {
        input: &'a Input,
        link: &'a LineageEntry,
    },
    Empty {
        notice: &'a Notice,
        link: Option<&'a LineageEntry>,
    },
    Converted(&'a TypeRepair),
    Field(&'a Diagnostic),
}

impl<'a> Slip<'a> {
    fn of_link(link: &'a LineageEntry) -> impl Iterator<Item = Self> {
        let select = link.source.select.as_deref();
        let selected = select.zip(link.source.report.as_ref());
        let selection =
            selected.map(|(written, report)| Self::of_selection(written, report, Some(link)));
        let ignored = link.ignored.iter();
        let reference = link.repair.as_ref();
        let reference = reference.map(|repair| Self::Reference { repair, link });
        let edit = link.source.edit.as_ref();
        let by = edit.and_then(|edit| edit.superseded_by.as_ref());
        let superseded = by.map(|by| Self::Superseded {
            by: by.as_str(),
            link,
        });
        let input = link.source.input.as_ref().filter(|_| link.source.encoded);
        let encoded = input.map(|input| Self::Encoded { input, link });
        reference
            .into_iter()
            .chain(superseded)
            .chain(encoded)
            .chain(ignored.map(move |key| Self::Ignored { key, link }))
            .chain(selection.into_iter().flatten())
    }

    fn of_selection(
        written: &'a str,
        report: &'a SelectReport,
        link: Option<&'a LineageEntry>,
    ) -> impl Iterator<Item = Self> {
        let is_repaired = written.trim() != report.evaluated;
        let repaired = is_repaired.then_some(Self::Repaired { written, report });
        let empty = report.notice.as_ref();
        let empty = empty.map(|notice| Self::Empty { notice, link });
        repaired.into_iter().chain(empty)
    }

    fn line(&self, reader: Reader) -> String {
        match (self, reader) {
            (Self::Reference { repair, link }, Reader::Model) => {
                let (written, read) = (short(&repair.written), short(&repair.read));
                let within = if link.text.is_some() {
                    ", within the text"
                } else {
                    ""
                };
                format!("repaired: `{written}` read as `{read}`{within}")
            }
            (Self::Reference { link, .. }, Reader::Log) => {
                format!("repaired: the reference at {}", short(link.at.as_str()))
            }
            (Self::Repaired { written, report }, Reader::Model) => {
                let (written, read) = (short(written.trim()), short(&report.evaluated));
                format!("repaired: `{written}` read as `{read}`")
            }
            (Self::Repaired { written, report }, Reader::Log) => {
                let read = masked_selector(written, Some(report));
                format!("repaired: read as `{}`", read.as_deref().unwrap_or("…"))
            }
            (Self::Ignored { key, link }, Reader::Model) => {
                let (key, at) = (short(key), short(link.at.as_str()));
                format!("ignored: `{key}` in the reference at {at}")
            }
            (Self::Ignored { link, .. }, Reader::Log) => {
                format!(
                    "ignored: a key in the reference at {}",
                    short(link.at.as_str())
                )
            }
            (Self::Superseded { by, link }, _) => {
                let (id, by) = (short(link.source.call_id.as_str()), short(by));
                let at = short(link.at.as_str());
                format!("superseded: {at} changes `{id}`, and `{by}` is the same call made later")
            }
            (Self::Encoded { input, link }, reader) => {
                let at = short(link.at.as_str());
                match reader {
                    Reader::Model => {
                        let input = short(&input.to_string());
                        format!(
                            "encoded: {at}, {input} is not UTF-8 text, and was passed as base64"
                        )
                    }
                    Reader::Log => {
                        let kind = input.kind().as_str();
                        format!(
                            "encoded: {at}, a {kind} is not UTF-8 text, and was passed as base64"
                        )
                    }
                }
            }
            (Self::Empty { notice, link }, reader) => {
                let at = link.map(|link| format!("{}, ", short(link.at.as_str())));
                let (kind, at) = (notice.why.kind(), at.unwrap_or_default());
                let why = match reader {
                    Reader::Model => short(&notice.to_string()),
                    Reader::Log => notice.masked().to_string(),
                };
                format!("{kind}: {at}{why}")
            }
            (Self::Converted(TypeRepair { at, from, to }), _) => {
                format!("converted: {} from {from} to {to}", short(at.as_str()))
            }
            (Self::Field(noted), Reader::Model) => {
                let mut line = format!("fields: {}", short(&noted.message));
                if !noted.nearest.is_empty() {
                    line.push_str(&format!("; try: {}", short(&noted.nearest.join(", "))));
                }
                line
            }
            (Self::Field(noted), Reader::Log) => format!("fields: {}", noted.kind.as_str()),
        }
    }
}

/// A text on one line, and cut where it is long.
fn short(text: &str) -> String {
    let line = printable(text);
    match line.char_indices().nth(MAX_CHARS) {
        Some(_) => line.chars().take(MAX_CHARS - 1).chain(['…']).collect(),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_TOKENS, Notices, Reader};
    use crate::{Engine, EngineOptions, InputSchema, Resolved, ToolResult};
    use crossfeed_projection::Diagnostics;
    use crossfeed_tokens::estimated_tokens;
    use crossfeed_wire::{CallId, Scope};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    async fn resolved(arguments: Value, schema: Option<Value>) -> Resolved {
        let engine = Engine::in_memory(EngineOptions::default());
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        let items: Vec<_> = (0..4)
            .map(|id| json!({"id": id, "city": format!("Rome {id}")}))
            .collect();
        let result = ToolResult::json(json!({"items": items}).to_string());
        let call_id = CallId::parse("call_1").unwrap();
        session.record(&call_id, result).await.unwrap();
        let schema = schema.map(|schema| InputSchema::compile(schema).unwrap());
        session.resolve(arguments, schema.as_ref()).await.unwrap()
    }

    fn reference(select: &str) -> Value {
        json!({"$tool": "call_1", "$select": select})
    }

    async fn check(arguments: Value, model: &[&str], log: &[&str]) {
        let schema = json!({"type": "object", "properties": {"n": {"type": "string"}}});
        let resolved = resolved(arguments, Some(schema)).await;
        assert_eq!(resolved.notices().to_lines(), model);
        assert_eq!(resolved.masked_notices().to_lines(), log);
    }

    #[tokio::test]
    async fn what_was_read_otherwise_is_said() {
        check(
            json!({"a": reference("items[0].id[number]")}),
            &["repaired: `items[0].id[number]` read as `items[0].id`"],
            &["repaired: read as `items[0].id`"],
        )
        .await;
        // The same slip is said once, and its literals are for no log.
        let slip = reference("$.items[?city=='Rome 1'] | [0].id");
        check(
            json!({"a": [slip, slip]}),
            &["repaired: `$.items[?city=='Rome 1'] | [0].id` read as `items[?city=='Rome 1'] | [0].id`"],
            &["repaired: read as `items[?city=='…'] | [0].id`"],
        )
        .await;
        check(
            json!({"n": reference("items[3].id")}),
            &["converted: /n from number to string"],
            &["converted: /n from number to string"],
        )
        .await;
        check(
            json!({"a": "{{call_1.items[0].city}}"}),
            &[r#"repaired: `{{call_1.items[0].city}}` read as `{"$tool":"call_1","$select":"items[0].city"}`"#],
            &["repaired: the reference at /a"],
        )
        .await;
        check(
            json!({"a": "In {{call_1.items[0].city}}."}),
            &[r#"repaired: `{{call_1.items[0].city}}` read as `{"$tool":"call_1","$select":"items[0].city"}`, within the text"#],
            &["repaired: the reference at /a"],
        )
        .await;
        check(
            json!({"_refs": r#"{"a": {"$tool": "call_1", "$select": "items[0].city"}}"#}),
            &[r#"repaired: `{"a": {"$tool": "call_1", "$select": "items[0].city"}}` read as `{"$tool":"call_1","$select":"items[0].city"}`"#],
            &["repaired: the reference at /a"],
        )
        .await;
        let mut noted = reference("items[0].id");
        noted["why we pass it"] = json!("secret");
        check(
            json!({"a": noted}),
            &["ignored: `why we pass it` in the reference at /a"],
            &["ignored: a key in the reference at /a"],
        )
        .await;
    }

    #[tokio::test]
    async fn what_was_taken_as_written_has_no_notice() {
        for arguments in [
            json!({}),
            json!({"a": "$.items"}),
            json!({"a": {"$tool": "call_1"}}),
            json!({"a": reference(" items[0].id "), "b": {"$literal": reference("x")}}),
        ] {
            check(arguments, &[], &[]).await;
        }
    }

    proptest! {
        #[test]
        fn they_are_few_short_lines(keys in prop::collection::vec("\\PC{0,200}|[a-z\n\u{2028}]{1,9}", 0..40)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut resolved = runtime.block_on(resolved(json!({"a": reference("items")}), None));
            let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
            resolved.lineage[0].ignored.clone_from(&keys);
            for reader in [Reader::Model, Reader::Log] {
                let said = || {
                    let diagnostics = Diagnostics::default();
                    Notices::of_call(&resolved.lineage, &[], &diagnostics, reader).to_lines()
                };
                let lines = said();
                prop_assert_eq!(lines.is_empty(), keys.is_empty());
                prop_assert!(lines.len() <= distinct.len() + 1);
                let counted = lines.iter().filter(|line| !line.starts_with("and "));
                let tokens = counted.map(|line| estimated_tokens(line)).sum::<usize>();
                prop_assert!(tokens <= MAX_TOKENS, "{lines:?}");
                let is_line = |line: &String| line.chars().all(|sign| !sign.is_control() && sign != '\u{2028}');
                prop_assert!(lines.iter().all(is_line), "{lines:?}");
                prop_assert_eq!(lines, said());
            }
        }
    }
}
