//! The ways in which a tool may be shown under a profile: its [`Rung`]s, the richest first.

use super::budget::Presentation;
use crate::{Offers, Profile, Spelling, Style, narrow, reflect::Parameters, rewrite_with};
use crossfeed_schema::SchemaError;
use serde_json::{Value, json};
use std::{borrow::Cow, sync::OnceLock};

/// One way to show a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rung {
    pub(super) style: Option<(Style, Spelling)>,
    pub(super) strict: bool,
    /// Whether the model may ask for parts of the result.
    pub(super) reflects: bool,
}

/// What the references of a rung look like once they are in the provider's subset: by this a tool
/// is known that was rewritten before.
pub(super) struct Form {
    pub(super) rung: Rung,
    pub(super) key: String,
    pub(super) schema: Value,
}

/// The ways of a profile to show a tool, the richest first: its own styles; where it is strict, the
/// styles of one that is not, but for the one at every value, which would be told beside the list;
/// and last no references at all.
pub(super) fn ladder(profile: Profile) -> Vec<Rung> {
    let rung = |style: Option<(Style, Spelling)>, strict| Rung {
        style,
        strict,
        reflects: false,
    };
    let own = profile.facts().styles.iter();
    let mut rungs: Vec<_> = own
        .map(|style| rung(Some(*style), profile.is_strict()))
        .collect();
    if profile.is_strict() {
        let plain = profile.plain().facts().styles.iter();
        let outside = plain.filter(|(style, _)| *style != Style::Inline);
        rungs.extend(outside.map(|style| rung(Some(*style), false)));
        rungs.push(rung(None, true));
    }
    rungs.push(rung(None, false));
    rungs
}

/// The forms that differ from what the rewriter knows again by itself; made once for each profile, since what references
/// may offer makes many.
pub(super) fn forms(profile: Profile) -> &'static [Form] {
    static FORMS: [OnceLock<Vec<Form>>; Profile::ALL.len()] =
        [const { OnceLock::new() }; Profile::ALL.len()];
    let mut all = Profile::ALL.into_iter().zip(&FORMS);
    let own = all.find(|(own, _)| *own == profile);
    own.map_or(&[], |(_, forms)| forms.get_or_init(|| forms_of(profile)))
}

fn forms_of(profile: Profile) -> Vec<Form> {
    let any = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let form = |(rung, offers): (Rung, Offers)| {
        let (style, spelling) = rung.style?;
        let judged = if rung.strict {
            profile
        } else {
            profile.plain()
        };
        let rewritten = rewrite_with(&any, style, spelling, offers).ok()?;
        let narrowed = narrow(&rewritten.schema, judged);
        let key = rewritten.references?;
        let property = |schema: &Value| schema.get("properties")?.get(&key).cloned();
        let schema = property(&narrowed.schema)?;
        (property(&rewritten.schema)? != schema).then_some(Form { rung, key, schema })
    };
    let rungs = ladder(profile).into_iter();
    let offered = rungs.flat_map(|rung| Offers::all().map(move |offers| (rung, offers)));
    offered.filter_map(form).collect()
}

/// A tool on a rung of a profile.
pub(super) fn shown(
    schema: &Value,
    rung: Rung,
    profile: Profile,
    (injected, offers): (&Parameters, Offers),
) -> Result<Presentation, SchemaError> {
    let mut shown = Presentation {
        style: rung.style,
        ..Presentation::default()
    };
    let mut schema = Cow::Borrowed(schema);
    if let Some((style, spelling)) = rung.style {
        let rewritten = rewrite_with(&schema, style, spelling, offers)?;
        shown.references = rewritten.references;
        shown.notices = rewritten.notices;
        schema = Cow::Owned(rewritten.schema);
    }
    if rung.reflects {
        shown.reflected = injected.put(schema.to_mut());
    }
    let mut narrowed = narrow(&schema, profile);
    if rung.reflects && shown.reflected.is_empty() {
        // What refused them may have no words in the provider's subset.
        let mut admitting = narrowed.schema.clone();
        shown.reflected = injected.put(&mut admitting);
        if !shown.reflected.is_empty() {
            let again = narrow(&admitting, profile);
            (narrowed.schema, narrowed.folded) = (again.schema, again.folded);
        }
    }
    shown.schema = Some(narrowed.schema);
    shown.folded = narrowed.folded;
    shown.dropped = narrowed.dropped;
    Ok(shown)
}

/// A rung in words.
pub(super) fn name(rung: Rung, profile: Profile) -> String {
    let style = rung
        .style
        .map_or("no references", |(style, _)| style.as_str());
    let with = if rung.reflects {
        " with a choice of fields"
    } else {
        ""
    };
    match (profile.is_strict(), rung.strict) {
        (true, true) => format!("{style} (strict){with}"),
        (true, false) => format!("{style} (not strict){with}"),
        (false, _) => format!("{style}{with}"),
    }
}
