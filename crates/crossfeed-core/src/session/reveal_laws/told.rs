//! Everything that a model may ask a session for, and what it is told.

use super::{HIDDEN, SECRET, call};
use crate::{
    HintDetail, InputSchema, NewArtifact, ParameterSchema, ProjectOptions, RenderOptions,
    Retrieved, Session, ShownHints,
};
use crossfeed_projection::ProjectionRequest;
use crossfeed_wire::ArtifactId;
use serde_json::json;

/// What a model was told, each time with what it said itself.
pub(super) struct Told(pub(super) Vec<(String, String)>);

impl Told {
    pub(super) fn add(&mut self, asked: &str, told: impl std::fmt::Display) {
        self.0.push((asked.to_owned(), told.to_string()));
    }

    fn bytes(&mut self, asked: &str, told: &[u8]) {
        self.add(asked, String::from_utf8_lossy(told));
    }

    fn error(&mut self, asked: &str, error: &crate::Failure) {
        self.add(asked, error);
        self.add(asked, serde_json::to_string(&error.body()).unwrap());
        self.add(asked, format!("{:?}", error.error));
    }

    /// Judges that nothing of it is what is never revealed.
    pub(super) fn check(&self, of: &str) {
        for (asked, told) in &self.0 {
            assert!(!told.contains(SECRET), "{asked} told {told}\nof {of}");
            if !asked.contains("hushnam") && !asked.contains("mail") {
                assert!(!told.contains(HIDDEN), "{asked} told {told}\nof {of}");
            }
        }
    }
}

pub(super) async fn select_and_retrieve(session: &Session, asked: &str, told: &mut Told) {
    let call = call();
    match session.select(&call, asked).await {
        Ok(selected) => {
            told.bytes(asked, &selected.json);
            told.add(asked, format!("{:?}", selected.report));
        }
        Err(error) => told.error(asked, &error),
    }
    for select in [Some(asked), None] {
        match session.retrieve(&call, select).await {
            Ok(retrieved) => {
                told.add(asked, format!("{retrieved:?}"));
                if let Some(body) = retrieved.error_body() {
                    told.add(asked, serde_json::to_string(&body).unwrap());
                }
                if let Retrieved::Data { json, .. } = retrieved {
                    told.bytes(asked, &json);
                }
            }
            Err(error) => told.error(asked, &error),
        }
    }
    let reference = json!({"x": {"$tool": "c", "$select": asked}});
    for schema in [json!({}), json!({"properties": {"x": {"type": "integer"}}})] {
        let schema = InputSchema::compile(schema).unwrap();
        match session.resolve(reference.clone(), Some(&schema)).await {
            Ok(resolved) => {
                told.add(asked, &resolved.arguments);
                told.add(asked, format!("{:?}", resolved.lineage));
            }
            Err(error) => {
                told.add(asked, &error);
                told.add(asked, format!("{error:?}"));
            }
        }
    }
}

pub(super) async fn show(session: &Session, told: &mut Told) {
    let call = call();
    for detail in [HintDetail::Full, HintDetail::Compact] {
        match session.hints(&call, detail).await {
            Ok(hints) => told.add("hints", hints.to_value()),
            Err(error) => told.error("hints", &error),
        }
    }
    for budget in [60, 300, 100_000] {
        let options = RenderOptions::default()
            .with_budget(budget)
            .with_hints(ShownHints::Always);
        match session.render(&call, &options).await {
            Ok(rendered) => told.add("render", rendered.json),
            Err(error) => told.error("render", &error),
        }
    }
    match session.shape(&call).await {
        Ok(shape) => told.add("shape", shape),
        Err(error) => told.error("shape", &error),
    }
    for schema in [
        json!({"type": "string"}),
        json!({"type": ["array", "object"]}),
        json!({}),
    ] {
        let schema = ParameterSchema::new(&schema).unwrap();
        match session.suggest(&call, &schema, 20).await {
            Ok(offered) => told.add("suggest", format!("{offered:?}")),
            Err(error) => told.error("suggest", &error),
        }
    }
}

pub(super) async fn project(session: &Session, asked: &str, told: &mut Told) {
    let schema = json!({"type": "object", "properties": {HIDDEN: {"const": SECRET}, "id": {}}});
    let requests = [
        ProjectionRequest::new(),
        ProjectionRequest::new().with_include([asked]),
        ProjectionRequest::new().with_exclude(["a", "b"]),
        ProjectionRequest::new().with_select(["hushname", "items", "owner"]),
        ProjectionRequest::new().with_fields(asked),
        ProjectionRequest::new().with_preset("no such preset"),
    ];
    for request in requests {
        let named = format!("{request:?}");
        let options = ProjectOptions::default()
            .with_request(request)
            .with_output_schema(schema.clone());
        for options in [options.clone(), options.with_select(asked)] {
            let said = format!("{named} {:?}", options.select);
            let response = session.response(&call()).await.unwrap();
            let cut = response.cut(&options).await;
            for projected in [session.project(&call(), &options).await, cut] {
                match projected {
                    Ok(projected) => {
                        told.bytes(&said, &projected.json);
                        told.add(&said, projected.diagnostics.to_value());
                        told.add(&said, format!("{projected:?}"));
                        if let Some(schema) = projected.schema {
                            told.add(&said, schema);
                        }
                    }
                    Err(error) => told.error(&said, &error),
                }
            }
        }
    }
    let response = session.response(&call()).await.unwrap();
    told.add("response", format!("{response:?}"));
    let wire = response.cut_with(|shown, _| shown.document().raw().clone());
    told.bytes("wire", &wire.await.unwrap());
    session.learn(&call()).await.unwrap();
    let learned = session
        .learned("search")
        .and_then(|learned| learned.schema());
    told.add("learned", format!("{learned:?}"));
}

pub(super) async fn misfit(session: &Session, told: &mut Told) {
    let schemas = [
        json!({"properties": {"x": {"type": "integer"}}}),
        json!({"properties": {"x": {"additionalProperties": false}}}),
        json!({"properties": {"x": {"additionalProperties": {"type": "boolean"}}}}),
        json!({"properties": {"x": {"additionalProperties": {"additionalProperties": false}}}}),
        json!({"properties": {"x": {"items": {"additionalProperties": {"type": "null"}}}}}),
        json!({"maxProperties": 0}),
        json!({"properties": {"x": {"propertyNames": {"maxLength": 1}}}}),
        json!({"properties": {"x": {"unevaluatedProperties": false, "type": "object"}}}),
    ];
    for schema in schemas {
        let schema = InputSchema::compile(schema).unwrap();
        let arguments = json!({"x": {"$tool": "c"}, "y": [{"$tool": "c"}]});
        if let Err(error) = session.resolve(arguments, Some(&schema)).await {
            told.add("a bare reference", &error);
            told.add("a bare reference", format!("{error:?}"));
        }
    }
}

pub(super) async fn artifacts(session: &Session, asked: &str, told: &mut Told) {
    let id = |id: &str| ArtifactId::parse(id).unwrap();
    let new = |name: &str| NewArtifact::new(id(name), call());
    let wanted = [
        new("bare"),
        new("base").with_base(asked),
        new("details")
            .with_detail("d", asked)
            .with_detail("all", "@"),
        new("both").with_base("@").with_detail("d", asked),
    ];
    for wanted in wanted {
        let name = wanted.artifact_id.clone();
        match session.create_artifact(wanted).await {
            Ok(created) => {
                told.add(asked, format!("{created:?}"));
                if let Some(summary) = created.artifact.summary() {
                    told.bytes(asked, summary.raw());
                }
            }
            Err(error) => {
                told.error(asked, &error);
                continue;
            }
        }
        for select in [None, Some(asked), Some("@")] {
            match session.retrieve_artifact(&name, &call(), select).await {
                Ok(Retrieved::Data { json, .. }) => told.bytes(asked, &json),
                Ok(other) => told.add(asked, format!("{other:?} {:?}", other.error_body())),
                Err(error) => told.error(asked, &error),
            }
        }
        let reference = json!({"$artifact": name.as_str(), "$tool": "c", "$select": "@"});
        match session.resolve(json!([reference]), None).await {
            Ok(resolved) => told.add(asked, resolved.arguments),
            Err(error) => told.add(asked, error),
        }
        let schema = ParameterSchema::new(&json!({})).unwrap();
        let offered = session
            .suggest_from_artifact(&name, &call(), &schema, 20)
            .await;
        told.add(asked, format!("{offered:?}"));
    }
    for listed in session.artifacts().await.unwrap() {
        told.bytes(asked, &listed.summary.unwrap_or_default());
    }
}
