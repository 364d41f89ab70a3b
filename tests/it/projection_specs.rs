//! The examples of `specs/projection.md` and `specs/introspection.md`, and the cases of `projection.json`
//! and `introspection.json`.

use crate::own_suite::{Group, Outcome, equal, equal_json, present, run};
use crossfeed_json::Document;
use crossfeed_output_schema::{
    InspectRequest, LearnOptions, LearnedSchema, OutputSchema, projected_schema,
};
use crossfeed_projection::{DiagnosticKind, Diagnostics, ProjectionRequest, RevealRules, Views};
use crossfeed_schema::check;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

// ---- projection.json

/// A value, and what is left of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Projections {
    #[serde(rename = "about")]
    _about: String,
    #[serde(default, deserialize_with = "present")]
    given: Option<Value>,
    /// The bytes of the value.
    raw: Option<String>,
    #[serde(default)]
    views: Value,
    rules: Option<Rules>,
    cases: Vec<ProjectionCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(default)]
    always: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectionCase {
    name: String,
    request: Value,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    /// The bytes of what is left.
    raw: Option<String>,
    /// The kind and path of each; none where it is left out.
    #[serde(default)]
    diagnostics: Vec<String>,
    /// Whether something is withheld: which of it is said is not compared.
    #[serde(default)]
    withheld: bool,
    error: Option<String>,
}

#[test]
fn projections() {
    run::<Projections>("projection.json");
}

impl Group for Projections {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        let given = match (&self.raw, &self.given) {
            (Some(raw), None) => raw.clone(),
            (None, Some(given)) => given.to_string(),
            _ => panic!("one of given, raw"),
        };
        let views = match &self.views {
            Value::Null => Views::default(),
            views => Views::parse(views).unwrap(),
        };
        let rules = self
            .rules
            .as_ref()
            .map_or_else(RevealRules::default, |rules| {
                RevealRules::parse(&rules.always, &rules.never).unwrap()
            });
        for case in &self.cases {
            let judged = case.judge(&given, &views, &Arc::new(rules.clone()));
            outcome(&case.name, judged);
        }
    }
}

/// What is left of a value, and what is said of it; or the code of the error.
fn projected(
    given: &str,
    request: &Value,
    views: &Views,
    rules: &Arc<RevealRules>,
) -> Result<(Vec<u8>, Diagnostics), &'static str> {
    let (request, mut diagnostics) = ProjectionRequest::from_value(request);
    let document = Document::new(given.to_owned());
    let mut out = Vec::new();
    let plan = request.plan(views, None, None, rules);
    let plan = plan.map_err(|error| error.code().as_str())?;
    let applied = plan.project(document.root().unwrap(), &mut out);
    let applied = applied.map_err(|error| error.code().as_str())?;
    diagnostics.extend(applied.diagnostics);
    Ok((out, diagnostics))
}

impl ProjectionCase {
    fn judge(&self, given: &str, views: &Views, rules: &Arc<RevealRules>) -> Outcome {
        let (out, diagnostics) = match (projected(given, &self.request, views, rules), &self.error)
        {
            (Ok(projected), None) => projected,
            (Ok(_), Some(code)) => return Err(format!("it is projected, and not {code}")),
            (Err(code), Some(expected)) => return equal("the code", code, expected.as_str()),
            (Err(code), None) => return Err(format!("it is {code}")),
        };
        match (&self.value, &self.raw) {
            (Some(value), None) => {
                let found: Value = serde_json::from_slice(&out).map_err(|e| e.to_string())?;
                equal_json("what is left", &found, value)?;
            }
            (None, Some(raw)) => {
                equal(
                    "the bytes",
                    String::from_utf8_lossy(&out).as_ref(),
                    raw.as_str(),
                )?;
            }
            _ => panic!("`{}`: one of value, raw, error", self.name),
        }
        let withheld = |kind| kind == DiagnosticKind::Withheld;
        let said = diagnostics.iter().filter(|said| !withheld(said.kind));
        let said: Vec<_> = said
            .map(|said| format!("{} {}", said.kind.as_str(), said.path))
            .collect();
        equal("the diagnostics", &said, &self.diagnostics)?;
        let found = diagnostics.iter().any(|said| withheld(said.kind));
        if !self.withheld || found {
            Ok(())
        } else {
            Err("nothing is said of what is withheld".to_owned())
        }
    }
}

/// ```` ```json projected ````: a schema, and what is true of projected values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Projected {
    #[serde(rename = "about")]
    _about: String,
    schema: Value,
    /// A value of the schema.
    value: Value,
    cases: Vec<ProjectedCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectedCase {
    name: String,
    request: Value,
    accepts: Vec<Value>,
    refuses: Vec<Value>,
}

impl Group for Projected {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        for case in &self.cases {
            outcome(&case.name, case.judge(&self.schema, &self.value));
        }
    }
}

impl ProjectedCase {
    fn judge(&self, schema: &Value, value: &Value) -> Outcome {
        let (request, _) = ProjectionRequest::from_value(&self.request);
        let plan = request.plan(&Views::default(), None, None, &Arc::default());
        let plan = plan.map_err(|error| error.to_string())?;
        let document = Document::new(value.to_string());
        let root = document.root().unwrap();
        let mut out = Vec::new();
        let applied = plan.project(root, &mut out).map_err(|e| e.to_string())?;
        let left: Value = serde_json::from_slice(&out).map_err(|e| e.to_string())?;
        let announced = projected_schema(schema, &applied.projection);
        let announced = announced.map_err(|error| error.to_string())?;
        check(&announced).map_err(|error| error.to_string())?;
        let validator = jsonschema::validator_for(&announced).map_err(|e| e.to_string())?;
        for accepted in self.accepts.iter().chain([&left]) {
            if !validator.is_valid(accepted) {
                return Err(format!("{announced} refuses {accepted}"));
            }
        }
        for refused in &self.refuses {
            if validator.is_valid(refused) {
                return Err(format!("{announced} accepts {refused}"));
            }
        }
        Ok(())
    }
}

// ---- introspection.json

/// Output schemas, and their summaries.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Summaries {
    #[serde(rename = "about")]
    _about: String,
    tool_id: String,
    cases: Vec<SummaryCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SummaryCase {
    name: String,
    schema: Value,
    output_fields: Vec<String>,
    has_hidden_fields: bool,
}

#[test]
fn summaries() {
    run::<Summaries>("introspection.json");
}

impl Group for Summaries {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        for case in &self.cases {
            let summary = OutputSchema::new(case.schema.clone()).summary(&self.tool_id);
            let judged = equal("the lines", &summary.output_fields, &case.output_fields);
            let hidden = equal(
                "whether something is hidden",
                summary.has_hidden_fields,
                case.has_hidden_fields,
            );
            outcome(&case.name, judged.and(hidden));
        }
    }
}

/// ```` ```json inspections ````: places of a schema.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inspections {
    #[serde(rename = "about")]
    _about: String,
    schema: Value,
    cases: Vec<InspectionCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InspectionCase {
    name: String,
    field_path: String,
    answer: Option<Value>,
    /// What the error quotes.
    error: Option<String>,
}

impl Group for Inspections {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        let schema = OutputSchema::new(self.schema.clone());
        for case in &self.cases {
            let request = InspectRequest::default().with_field_path(&case.field_path);
            let judged = match (schema.inspect(&request), &case.answer, &case.error) {
                (Ok(found), Some(answer), None) => {
                    equal_json("the answer", &found.to_value(), answer)
                }
                (Err(error), None, Some(quoted)) => {
                    if error.to_string().contains(quoted) {
                        Ok(())
                    } else {
                        Err(format!("the error is: {error}"))
                    }
                }
                (Ok(found), ..) => Err(format!("the answer is {}", found.to_value())),
                (Err(error), ..) => Err(error.to_string()),
            };
            outcome(&case.name, judged);
        }
    }
}

/// ```` ```json learned ````: results, and what is learned of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Learned {
    #[serde(rename = "about")]
    _about: String,
    cases: Vec<LearnedCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LearnedCase {
    name: String,
    observed: Vec<Value>,
    accepts: Vec<Value>,
    refuses: Vec<Value>,
    /// The paths at which something changed.
    drift: Vec<String>,
}

impl Group for Learned {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        for case in &self.cases {
            outcome(&case.name, case.judge());
        }
    }
}

impl LearnedCase {
    fn judge(&self) -> Outcome {
        let mut learned = LearnedSchema::new(LearnOptions::default());
        for result in &self.observed {
            learned.observe(Document::new(result.to_string()).root().unwrap());
        }
        let schema = learned.schema().ok_or("nothing is learned")?;
        let validator = jsonschema::validator_for(&schema).map_err(|e| e.to_string())?;
        for accepted in self.observed.iter().chain(&self.accepts) {
            if !validator.is_valid(accepted) {
                return Err(format!("{schema} refuses {accepted}"));
            }
        }
        for refused in &self.refuses {
            if validator.is_valid(refused) {
                return Err(format!("{schema} accepts {refused}"));
            }
        }
        let drift: Vec<_> = learned
            .drift()
            .iter()
            .map(|drift| drift.path.clone())
            .collect();
        equal("the drift", &drift, &self.drift)
    }
}
