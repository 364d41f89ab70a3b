//! Validates resolved arguments against the tool's own schema.
//!
//! Messages show shapes and the schema's own words, never data.

mod cost;
mod describe;
mod footprint;
mod repair;
mod schema;
mod skeleton;
#[cfg(test)]
mod tests;

pub(crate) use cost::Steps;
pub use repair::{RepairScope, TypeRepair};
pub(crate) use repair::{keeps_numbers, lossless};
pub use schema::InputSchema;
pub(crate) use schema::Schemas;
pub(crate) use skeleton::built_bytes;

use crate::{error::ArgumentError, failure::Failure, lineage::LineageEntry, shape::Shape};
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::collections::HashMap;

/// The most places that are reported: more would not fit a model's context.
const MAX_REPORTED: usize = 20;

/// One thing that the validator found.
pub(crate) struct Finding {
    pub(crate) at: Pointer,
    pub(crate) expected: String,
    /// Whether another JSON type could fit.
    pub(crate) is_type: bool,
}

/// Validates the arguments; repairs the types of values that references brought in, if that loses nothing.
pub(crate) fn validate(
    arguments: &mut Value,
    schema: &InputSchema,
    lineage: &[LineageEntry],
    scope: RepairScope,
) -> Result<Vec<TypeRepair>, Vec<Failure>> {
    let too_costly = |cost| vec![Failure::new(Pointer::root(), cost)];
    let mut steps = schema.steps(arguments);
    if schema.accepts(arguments, &mut steps).map_err(too_costly)? {
        return Ok(Vec::new());
    }
    let links = LineageIndex::new(lineage);
    let repairs =
        repair::repair(arguments, schema, &links, scope, &mut steps).map_err(too_costly)?;
    let findings = schema.findings(arguments, &mut steps).map_err(too_costly)?;
    let findings = findings.take(MAX_REPORTED);
    let failures = findings.map(|finding| failure(finding, arguments, &links));
    let failures: Vec<_> = failures.collect();
    if failures.is_empty() {
        Ok(repairs)
    } else {
        Err(failures)
    }
}

fn failure(finding: Finding, arguments: &Value, links: &LineageIndex<'_>) -> Failure {
    let value = arguments.pointer(finding.at.as_str());
    let link = links.link(&finding.at);
    let error = ArgumentError {
        expected: finding.expected,
        found: Shape::from_value(value.unwrap_or(&Value::Null)),
        brought_by: link.map(|link| link.source.call_id.clone()),
        fitting: Vec::new(),
        looked: false,
        alike: 0,
        is_advised: false,
    };
    let mut failure = Failure::new(finding.at, error);
    if let Some(link) = link {
        let source = &link.source;
        failure.input = source.input.clone();
        failure.call_id = source.input.is_none().then(|| source.call_id.clone());
        failure.artifact_id = link.source.artifact_id.clone();
        failure.expression = link.source.select.clone();
    }
    failure
}

/// The lineage by place: of several entries for one place the last counts.
pub(crate) struct LineageIndex<'l>(HashMap<&'l str, &'l LineageEntry>);

impl<'l> LineageIndex<'l> {
    pub(crate) fn new(lineage: &'l [LineageEntry]) -> Self {
        let links = lineage.iter().map(|link| (link.at.as_str(), link));
        Self(links.collect())
    }

    /// The innermost reference that brought in the value at a place.
    pub(crate) fn link(&self, at: &Pointer) -> Option<&'l LineageEntry> {
        at.and_around().find_map(|place| self.0.get(place).copied())
    }
}
