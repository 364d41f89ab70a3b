//! Strips the attributes of resources and instrumentation scopes. Their names, versions and schema URLs are the
//! program's own.

use crate::{
    Policy,
    attributes::{hints, strip_attributes},
    event::Event,
    guard::guarded,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;

/// The stripped resource.
pub(crate) fn stripped_resource(policy: &Policy, resource: &Resource) -> Resource {
    let attributes: Vec<_> = resource
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    let Some(attributes) = stripped(policy, attributes) else {
        return resource.clone();
    };
    let builder = Resource::builder_empty();
    match resource.schema_url() {
        Some(url) => builder.with_schema_url(attributes, url.to_owned()).build(),
        None => builder.with_attributes(attributes).build(),
    }
}

/// The stripped scope; `None` if it may leave unchanged.
pub(crate) fn stripped_scope(
    policy: &Policy,
    scope: &InstrumentationScope,
) -> Option<InstrumentationScope> {
    // A fast path: most have no attributes, and every span has one.
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

/// The stripped attributes; `None` if all may leave unchanged.
fn stripped(policy: &Policy, attributes: Vec<KeyValue>) -> Option<Vec<KeyValue>> {
    let strip = || {
        let mut left = attributes.clone();
        let reader = policy.reader(hints(&attributes));
        strip_attributes(&reader, &Event::Unnamed, &mut left);
        (left != attributes).then_some(left)
    };
    guarded(strip, || Some(Vec::new()))
}
