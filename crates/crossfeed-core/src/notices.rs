//! What a model should hear of a call that was resolved: what it wrote was read otherwise, or not at all, or selected
//! nothing.
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
use crossfeed_tokens::estimated_tokens;

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

/// The notices of a resolved call, a line each.
pub(crate) fn notices(
    lineage: &[LineageEntry],
    repairs: &[TypeRepair],
    reader: Reader,
) -> Vec<String> {
    let of_links = lineage.iter().flat_map(Slip::of);
    let slips = of_links.chain(repairs.iter().map(Slip::Converted));
    let mut lines: Vec<String> = Vec::new();
    let (mut tokens, mut more) = (0, 0);
    for slip in slips {
        if more > 0 {
            more += 1;
            continue;
        }
        let line = slip.line(reader);
        if lines.contains(&line) {
            continue;
        }
        tokens += estimated_tokens(&line);
        if tokens > MAX_TOKENS {
            more += 1;
        } else {
            lines.push(line);
        }
    }
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
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
    Empty {
        notice: &'a Notice,
        link: &'a LineageEntry,
    },
    Converted(&'a TypeRepair),
}

impl<'a> Slip<'a> {
    fn of(link: &'a LineageEntry) -> impl Iterator<Item = Self> {
        let select = link.source.select.as_deref();
        let selected = select.zip(link.source.report.as_ref());
        let repaired = selected.filter(|(written, report)| written.trim() != report.evaluated);
        let repaired = repaired.map(|(written, report)| Self::Repaired { written, report });
        let notice = selected.and_then(|(_, report)| report.notice.as_ref());
        let ignored = link.ignored.iter();
        let reference = link.repair.as_ref();
        let reference = reference.map(|repair| Self::Reference { repair, link });
        reference
            .into_iter()
            .chain(repaired)
            .chain(ignored.map(move |key| Self::Ignored { key, link }))
            .chain(notice.map(move |notice| Self::Empty { notice, link }))
    }

    fn line(&self, reader: Reader) -> String {
        match (self, reader) {
            (Self::Reference { repair, .. }, Reader::Model) => {
                let (written, read) = (short(&repair.written), short(&repair.read));
                format!("repaired: `{written}` read as `{read}`")
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
            (Self::Empty { notice, link }, Reader::Model) => {
                let why = notice.to_string();
                let kind = notice.why.kind();
                format!("{kind}: {}, {}", short(link.at.as_str()), short(&why))
            }
            (Self::Empty { notice, link }, Reader::Log) => {
                let (kind, why) = (notice.why.kind(), notice.masked());
                format!("{kind}: {}, {why}", short(link.at.as_str()))
            }
            (Self::Converted(TypeRepair { at, from, to }), _) => {
                format!("converted: {} from {from} to {to}", short(at.as_str()))
            }
        }
    }
}

/// A text on one line, and cut where it is long.
fn short(text: &str) -> String {
    let on_line = |sign: char| match sign {
        '\u{2028}' | '\u{2029}' => ' ',
        sign if sign.is_control() => ' ',
        sign => sign,
    };
    let mut signs = text.chars().map(on_line);
    let mut out: String = signs.by_ref().take(MAX_CHARS).collect();
    if signs.next().is_some() {
        out.pop();
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{MAX_TOKENS, Reader, notices};
    use crate::{Engine, EngineOptions, InputSchema, Resolved, ToolResult};
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
        assert_eq!(resolved.notices(), model);
        assert_eq!(resolved.masked_notices(), log);
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
                let lines = notices(&resolved.lineage, &[], reader);
                prop_assert_eq!(lines.is_empty(), keys.is_empty());
                prop_assert!(lines.len() <= distinct.len() + 1);
                let said = lines.iter().filter(|line| !line.starts_with("and "));
                let tokens = said.map(|line| estimated_tokens(line)).sum::<usize>();
                prop_assert!(tokens <= MAX_TOKENS, "{lines:?}");
                let is_line = |line: &String| line.chars().all(|sign| !sign.is_control() && sign != '\u{2028}');
                prop_assert!(lines.iter().all(is_line), "{lines:?}");
                let again = notices(&resolved.lineage, &[], reader);
                prop_assert_eq!(lines, again);
            }
        }
    }
}
