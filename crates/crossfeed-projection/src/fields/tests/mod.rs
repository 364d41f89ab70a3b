//! Examples, and how each is asked and checked.

mod kinds;
mod requests;

use crate::{Operation, ProjectionError, ProjectionRequest, ResourceType, RevealRules, Views};
use crossfeed_json::Document;
use serde_json::{Value, json};
use std::sync::Arc;

/// An issue with presets and known fields.
fn issue() -> ResourceType {
    ResourceType::new("issue")
        .with_preset("minimal", ["id", "title"])
        .and_then(|kind| kind.with_preset("standard", ["id", "title", "owner.name"]))
        .and_then(|kind| kind.with_fields(["id", "title", "body", "owner.name", "owner.mail"]))
        .unwrap()
        .with_everything("all")
}

struct Asked {
    request: Value,
    resource: Option<ResourceType>,
    operation: Option<Operation>,
    views: Value,
    rules: RevealRules,
}

fn ask(request: Value) -> Asked {
    Asked {
        request,
        resource: None,
        operation: None,
        views: json!({}),
        rules: RevealRules::default(),
    }
}

impl Asked {
    fn of(mut self, resource: ResourceType) -> Self {
        self.resource = Some(resource);
        self
    }

    fn when(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    fn answer(&self, value: &str) -> Result<(String, Vec<String>), ProjectionError> {
        let (request, ignored) = ProjectionRequest::from_value(&self.request);
        let views = Views::parse(&self.views)?;
        let rules = Arc::new(self.rules.clone());
        let plan = request.plan(&views, self.resource.as_ref(), self.operation, &rules)?;
        let document = Document::new(value.to_owned());
        let mut out = Vec::new();
        let applied = plan.project(document.root().unwrap(), &mut out)?;
        let told = ignored.iter().chain(applied.diagnostics.iter());
        let told = told.map(|noted| format!("{} {}", noted.kind.as_str(), noted.path));
        Ok((String::from_utf8(out).unwrap(), told.collect()))
    }
}

/// Asked of `value`, the answer is `expected`, and exactly that is told.
fn check(asked: &Asked, value: &str, expected: &str, told: &[&str]) {
    let answer = asked.answer(value);
    let (projected, diagnostics) = answer.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(projected, expected, "{} of {value}", asked.request);
    assert_eq!(diagnostics, told, "{} of {value}", asked.request);
}

/// Asked of `value`, the answer is an error that says `expected`, with that advice.
fn fails(asked: &Asked, value: &str, expected: &str, advice: &str) {
    let error = asked.answer(value).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.advice(), advice);
    assert!(!error.to_string().contains('\n'));
}

const ISSUE: &str = r#"{"id":1,"title":"a","body":"b","owner":{"name":"n","mail":"m"}}"#;

fn page() -> String {
    format!(r#"{{"total": 2.50, "items": [{ISSUE}, {{"id":2}}, null, 7], "next": {{"title": 1}}}}"#)
}
