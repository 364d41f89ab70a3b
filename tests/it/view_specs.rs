//! The examples of `specs/views.md` and `specs/artifacts.md`, and the cases of `views.json` and `artifacts.json`.

use crate::{
    own_suite::{Group, Options, Outcome, Record, equal, equal_json, fresh, present, run},
    support::{artifact, block_on, call},
};
use crossfeed_core::{
    Component, HintDetail, NewArtifact, ParameterSchema, RenderOptions, Retrieved, Session,
    ShownHints, StripPolicy,
};
use serde::Deserialize;
use serde_json::{Map, Value};

// ---- views.json

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Views {
    #[serde(rename = "about")]
    _about: String,
    cases: Vec<ViewCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewCase {
    name: String,
    record: Record,
    /// Whole up to so many tokens, else a preview of at most so many.
    budget: Option<usize>,
    /// `never`, `when_cut`, `always`.
    hints: Option<String>,
    #[serde(default)]
    all_underscore: bool,
    /// The rendering, byte for byte but for blanks.
    shown: Option<Value>,
    /// The hints alone.
    compact: Option<Value>,
    full: Option<Value>,
    /// The schema of a parameter, and the selectors that are offered for it.
    parameter: Option<Value>,
    fitting: Option<Vec<String>>,
    /// The code of the error.
    error: Option<String>,
}

#[test]
fn views() {
    run::<Views>("views.json");
}

impl Group for Views {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        block_on(async {
            for case in &self.cases {
                let session = fresh(&Options::default(), std::slice::from_ref(&case.record)).await;
                outcome(&case.name, case.judge(&session).await);
            }
        });
    }
}

impl ViewCase {
    fn options(&self) -> RenderOptions {
        let mut options = RenderOptions::default();
        if let Some(budget) = self.budget {
            options = options.with_budget(budget);
        }
        if self.all_underscore {
            options = options.with_strip(StripPolicy::AllUnderscore);
        }
        match self.hints.as_deref() {
            None => options,
            Some("never") => options.with_hints(ShownHints::Never),
            Some("when_cut") => options.with_hints(ShownHints::WhenCut),
            Some("always") => options.with_hints(ShownHints::Always),
            Some(other) => panic!("hints `{other}`"),
        }
    }

    async fn judge(&self, session: &Session) -> Outcome {
        let id = call(&self.record.call_id);
        let mut judged = 0;
        if self.shown.is_some() || self.error.is_some() {
            judged += 1;
            match (session.render(&id, &self.options()).await, &self.shown) {
                (Ok(rendered), Some(shown)) => {
                    let found: Value =
                        serde_json::from_str(&rendered.json).map_err(|e| e.to_string())?;
                    equal_json("the rendering", &found, shown)?;
                }
                (Ok(rendered), None) => return Err(format!("shown as {}", rendered.json)),
                (Err(failure), None) => {
                    let code = failure.body().code;
                    equal("the code", Some(code), self.error.as_deref())?;
                }
                (Err(failure), Some(_)) => return Err(failure.to_string()),
            }
        }
        for (detail, expected) in [
            (HintDetail::Compact, &self.compact),
            (HintDetail::Full, &self.full),
        ] {
            let Some(expected) = expected else { continue };
            judged += 1;
            let hints = session.hints(&id, detail).await;
            let hints = hints.map_err(|failure| failure.to_string())?;
            equal_json("the hints", &hints.to_value(), expected)?;
        }
        if let (Some(schema), Some(expected)) = (&self.parameter, &self.fitting) {
            judged += 1;
            let parameter = ParameterSchema::new(schema).map_err(|error| error.to_string())?;
            let found = session
                .suggest(&id, &parameter, expected.len().max(3))
                .await;
            let found = found.map_err(|failure| failure.to_string())?;
            let found: Vec<_> = found.into_iter().map(|found| found.selector).collect();
            equal("the fitting selectors", &found, expected)?;
        }
        assert!(judged > 0, "`{}` expects nothing", self.name);
        Ok(())
    }
}

// ---- artifacts.json

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifacts {
    #[serde(rename = "about")]
    _about: String,
    record: Record,
    cases: Vec<ArtifactCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArtifactCase {
    name: String,
    base: Option<String>,
    #[serde(default)]
    details: Map<String, Value>,
    component: Option<Value>,
    /// The full data.
    #[serde(default, deserialize_with = "present")]
    data: Option<Value>,
    /// None where it is left out.
    summary: Option<Value>,
    error: Option<String>,
    /// What bringing it, or a part of it, into the context gives: a status.
    select: Option<String>,
    status: Option<String>,
}

#[test]
fn artifacts() {
    run::<Artifacts>("artifacts.json");
}

impl Group for Artifacts {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        block_on(async {
            for case in &self.cases {
                let session = fresh(&Options::default(), std::slice::from_ref(&self.record)).await;
                let judged = case.judge(&session, &self.record.call_id).await;
                outcome(&case.name, judged);
            }
        });
    }
}

impl ArtifactCase {
    async fn judge(&self, session: &Session, call_id: &str) -> Outcome {
        let (artifact_id, call_id) = (artifact("kept"), call(call_id));
        let mut wanted = NewArtifact::new(artifact_id.clone(), call_id.clone());
        if let Some(base) = &self.base {
            wanted = wanted.with_base(base);
        }
        for (name, selector) in &self.details {
            wanted = wanted.with_detail(name, selector.as_str().unwrap());
        }
        if let Some(schema) = &self.component {
            let component = Component::parse(schema).map_err(|error| error.to_string())?;
            wanted = wanted.with_component(component);
        }
        let created = match (session.create_artifact(wanted).await, &self.error) {
            (Ok(created), None) => created,
            (Ok(_), Some(code)) => return Err(format!("it is made, and not {code}")),
            (Err(failure), Some(code)) => {
                return equal("the code", failure.body().code, code.as_str());
            }
            (Err(failure), None) => return Err(failure.to_string()),
        };
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let data = json(created.artifact.document().raw());
        if let Some(expected) = &self.data {
            equal_json("the full data", &data, expected)?;
        }
        let summary = created
            .artifact
            .summary()
            .map(|summary| json(summary.raw()));
        equal("the summary", &summary, &self.summary)?;
        let reference =
            serde_json::json!({"$artifact": artifact_id.as_str(), "$tool": call_id.as_str()});
        let passed = session.resolve(reference, None).await;
        let passed = passed.map_err(|error| error.to_string())?;
        equal_json("what a reference passes", &passed.arguments, &data)?;
        if let Some(status) = &self.status {
            let select = self.select.as_deref();
            let brought = session
                .retrieve_artifact(&artifact_id, &call_id, select)
                .await;
            let brought = brought.map_err(|failure| failure.to_string())?;
            equal("the status", brought.status(), status.as_str())?;
            if let (Retrieved::Data { json: bytes, .. }, None) = (&brought, select) {
                equal_json("what is brought into the context", &json(bytes), &data)?;
            }
        }
        Ok(())
    }
}
