//! What stands beside every span and record: the resource and the instrumentation scope.
//!
//! Only their attributes are stripped. Names, versions and addresses of schemas are the program's own.

use crate::{
    Policy,
    attributes::{hints, strip_attributes},
    event::Event,
    guard::guarded,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;

/// The resource as it may leave.
pub(crate) fn stripped_resource(policy: &Policy, resource: &Resource) -> Resource {
    let attributes: Vec<_> = resource
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    match stripped(policy, attributes) {
        Some(attributes) => {
            let builder = Resource::builder_empty();
            match resource.schema_url() {
                Some(url) => builder.with_schema_url(attributes, url.to_owned()).build(),
                None => builder.with_attributes(attributes).build(),
            }
        }
        None => resource.clone(),
    }
}

/// The scope as it may leave; `None` where it may leave as it is.
pub(crate) fn stripped_scope(
    policy: &Policy,
    scope: &InstrumentationScope,
) -> Option<InstrumentationScope> {
    // Most have no attributes, and are met once a span.
    scope.attributes().next()?;
    let attributes = stripped(policy, scope.attributes().cloned().collect())?;
    let mut builder =
        InstrumentationScope::builder(scope.name().to_owned()).with_attributes(attributes);
    if let Some(version) = scope.version() {
        builder = builder.with_version(version.to_owned());
    }
    if let Some(url) = scope.schema_url() {
        builder = builder.with_schema_url(url.to_owned());
    }
    Some(builder.build())
}

/// The attributes as they may leave; `None` where all may as they are.
fn stripped(policy: &Policy, attributes: Vec<KeyValue>) -> Option<Vec<KeyValue>> {
    let strip = || {
        let mut left = attributes.clone();
        strip_attributes(
            &policy.reader(hints(&attributes)),
            &Event::Unnamed,
            &mut left,
        );
        (left != attributes).then_some(left)
    };
    guarded(strip, || Some(Vec::new()))
}
