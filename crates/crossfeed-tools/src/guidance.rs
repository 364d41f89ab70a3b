//! Guidance about references that a model reads once, in the system prompt or in a server's instructions: at
//! most 250 tokens (o200k), and what templates (50) and edits (150) take besides.

use crate::{Offers, Spelling, Style};

/// The text for a style in a spelling. `folds` says whether some parameters take JSON text.
///
/// ```
/// use crossfeed_tools::{Spelling, Style, guidance};
///
/// let text = guidance(Style::Refs, Spelling::Underscore, false);
/// assert!(text.contains("`_refs`"));
/// ```
pub fn guidance(style: Style, spelling: Spelling, folds: bool) -> String {
    guidance_with(style, spelling, folds, Offers::default())
}

/// [`guidance`] with what references offer besides.
///
/// ```
/// use crossfeed_tools::{Offers, Spelling, Style, guidance_with};
///
/// let offers = Offers::default().with_artifacts(false);
/// let text = guidance_with(Style::Refs, Spelling::Underscore, false, offers);
/// assert!(!text.contains("artifact"));
/// ```
pub fn guidance_with(style: Style, spelling: Spelling, folds: bool, offers: Offers) -> String {
    let key = |word: &str| match style {
        Style::RefsList => word.to_owned(),
        _ => spelling.key(word),
    };
    let (tool, select, literal) = (key("tool"), key("select"), key("literal"));
    let refs = spelling.key("refs");
    let how = match style {
        Style::Inline => format!(
            "To pass data from an earlier tool result on to a tool, write a reference where the value \
             goes, e.g. {{\"urls\": {{\"{tool}\": \"call_1\", \"{select}\": \"items[?score > `0.8`].url\"}}}}. \
             A reference may stand for any value, also inside lists and objects."
        ),
        Style::Refs => format!(
            "To pass data from an earlier tool result on to a tool, set the parameter to null and name \
             it in `{refs}`, e.g. {{\"urls\": null, \"{refs}\": {{\"urls\": {{\"{tool}\": \"call_1\", \
             \"{select}\": \"items[?score > `0.8`].url\"}}}}}}. Null alone means that the parameter is left out."
        ),
        Style::RefsList => format!(
            "To pass data from an earlier tool result on to a tool, set the parameter to null and add \
             an entry to `{refs}`, e.g. {{\"urls\": null, \"{refs}\": [{{\"to\": \"urls\", \"{tool}\": \"call_1\", \
             \"{select}\": \"items[?score > `0.8`].url\"}}]}}. `to` is the parameter, or a JSON Pointer \
             such as \"/filter/ids\" to a place in it. Null alone means that the parameter is left out."
        ),
    };
    let mut text = format!(
        "{how} `{tool}` is the `_toolCallId` shown with that result. `{select}` is a JMESPath \
         expression on it: \"items[0].url\", \"items[*].{{id: id, name: name}}\"; without it the whole result is \
         passed on. The tool receives the full data, even where you were shown a part: use references rather than \
         copying values."
    );
    if offers.artifacts {
        let artifact = key("artifact");
        text.push_str(&format!(
            " Add `{artifact}` with its id to refer to an artifact instead."
        ));
    }
    let a_literal = match style {
        Style::RefsList => format!("{{\"to\": \"urls\", \"{literal}\": \"…\"}}"),
        _ => format!("{{\"{literal}\": \"…\"}}"),
    };
    text.push_str(&format!(
        " Pass text that only looks like a reference as {a_literal}."
    ));
    if offers.templates {
        let (template, with) = (key("template"), key("with"));
        let a_with = match style {
            Style::RefsList => format!("[{{\"name\": \"a\", \"{tool}\": \"call_1\"}}]"),
            _ => format!("{{\"a\": {{\"{tool}\": \"call_1\"}}}}"),
        };
        text.push_str(&format!(
            " A text with values in it is {{\"{template}\": \"See {{a}}\", \"{with}\": {a_with}}}."
        ));
    }
    if offers.edits {
        let (patch, merge, edit) = (key("patch"), key("merge"), key("edit"));
        let as_text = match style {
            Style::RefsList => ", as JSON text",
            _ => "",
        };
        text.push_str(&format!(
            " To send a result back with changes, add one edit beside `{select}` instead of writing it out: \
             \"{edit}\": [{{\"old\": \"teh\", \"new\": \"the\"}}] in a text, where `old` must occur exactly once (or \
             add \"all\": true), `{merge}` (RFC 7396{as_text}) or `{patch}` (RFC 6902{as_text}) in JSON. \
             Add `{digest}`, as it was shown, to be sure that it is the result you mean.",
            digest = key("digest"),
        ));
    }
    for (word, is_offered, what) in [
        (
            "file",
            offers.files,
            "the path of a file that is not in any result",
        ),
        (
            "resource",
            offers.resources,
            "the URI of a resource that a result or a server's list shows",
        ),
    ] {
        if is_offered {
            let key = key(word);
            text.push_str(&format!(" `{key}` in place of `{tool}` is {what}."));
        }
    }
    if folds {
        text.push_str(
            " A parameter described as `the value as JSON text` takes its value as a string of JSON, e.g. \"{\\\"a\\\": 1}\".",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{guidance, guidance_with};
    use crate::{Offers, Spelling, Style, rewrite};
    use crossfeed_tokens::TokenCounter;
    use crossfeed_wire::reference::{Filling, Reading, read_object, read_references};
    use serde_json::{Value, json};

    /// The first JSON object of a text.
    fn example(text: &str) -> Value {
        let from = &text[text.find("{\"urls\"").unwrap()..];
        let mut values = serde_json::Deserializer::from_str(from).into_iter::<Value>();
        values.next().unwrap().unwrap()
    }

    fn check(style: Style, spelling: Spelling) {
        let counter = TokenCounter::o200k();
        for (folds, offers) in [false, true]
            .into_iter()
            .flat_map(|folds| Offers::all().map(move |offers| (folds, offers)))
        {
            let text = guidance_with(style, spelling, folds, offers);
            let inputs = offers.inputs().count();
            let most = 250
                + 50 * usize::from(offers.templates)
                + 150 * usize::from(offers.edits)
                + 30 * inputs;
            let tokens = counter.count(&text);
            assert!(tokens <= most, "{tokens} tokens: {text}");
            assert_eq!(text.contains("artifact"), offers.artifacts, "{text}");
            assert_eq!(text.contains("RFC 6902"), offers.edits, "{text}");
            assert_eq!(text.contains("file`"), offers.files, "{text}");
            assert_eq!(text.contains("resource`"), offers.resources, "{text}");
        }
        let example = example(&guidance(style, spelling, false));
        let schema = json!({"type": "object", "required": ["urls"], "additionalProperties": false,
            "properties": {"urls": {"type": "array", "items": {"type": "string"}}}});
        let shown = rewrite(&schema, style, spelling).unwrap().schema;
        assert!(jsonschema::is_valid(&shown, &example), "{style}: {example}");
        let object = example.as_object().unwrap();
        let reference = match style {
            Style::Inline => match read_object(object["urls"].as_object().unwrap(), &|_| false) {
                Ok(Reading::Reference(reference)) => reference,
                other => panic!("{other:?}"),
            },
            _ => {
                let maps = read_references(object, &|_| false).unwrap();
                let (to, filling) = maps[0].entries[0].reading.clone().unwrap();
                assert_eq!(to.to_pointer().as_str(), "/urls");
                match filling {
                    Filling::Reference(reference) => reference,
                    other => panic!("{other:?}"),
                }
            }
        };
        assert_eq!(reference.call_id.as_str(), "call_1");
        assert_eq!(
            reference.select.as_deref(),
            Some("items[?score > `0.8`].url")
        );
    }

    #[test]
    fn the_example_is_what_the_schema_admits() {
        for style in Style::ALL {
            for spelling in [Spelling::Dollar, Spelling::Underscore] {
                check(style, spelling);
            }
        }
    }

    #[test]
    fn folds_are_told_of_where_there_are_any() {
        assert!(!guidance(Style::RefsList, Spelling::Underscore, false).contains("JSON text"));
        assert!(
            guidance(Style::RefsList, Spelling::Underscore, true)
                .contains("`the value as JSON text`")
        );
    }
}
