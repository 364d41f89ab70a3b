//! The event that a body or attributes belong to, and the name by which a policy knows them.

use crate::Reader;
use std::borrow::Cow;

/// The attribute that named the event of a record before records had an event name.
pub(crate) const EVENT_NAME: &str = "event.name";

/// The event that a body or attributes belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event<'e> {
    /// No event is known.
    Unnamed,
    /// `is_known`: whether the policy knows its parts.
    Named { name: Cow<'e, str>, is_known: bool },
    /// Several names are given, and readers may use any of them.
    Disputed,
}

impl<'e> Event<'e> {
    /// The event of these names; empty names do not count.
    pub(crate) fn new(reader: &Reader<'_>, names: impl IntoIterator<Item = Cow<'e, str>>) -> Self {
        let mut names = names.into_iter().filter(|name| !name.is_empty());
        let Some(name) = names.next() else {
            return Self::Unnamed;
        };
        if names.any(|other| other != name) {
            return Self::Disputed;
        }
        Self::Named {
            is_known: reader.knows(&name),
            name,
        }
    }

    /// The event of a record: by its own names, else by its attributes [`EVENT_NAME`].
    pub(crate) fn from_record(
        reader: &Reader<'_>,
        own: impl IntoIterator<Item = Cow<'e, str>>,
        attributes: impl IntoIterator<Item = Cow<'e, str>>,
    ) -> Self {
        match Self::new(reader, own) {
            Self::Unnamed => Self::new(reader, attributes),
            named => named,
        }
    }

    /// The name by which a policy knows the body; `None` if the body must not leave.
    pub(crate) fn body(&self) -> Option<&str> {
        match self {
            Self::Unnamed => Some(""),
            Self::Named { name, .. } => Some(name),
            Self::Disputed => None,
        }
    }

    /// The name by which a policy knows an attribute; `None` if the attribute must not leave. A name without
    /// namespace is the event's own: the `content` of `gen_ai.tool.message`.
    pub(crate) fn attribute<'n>(&self, name: &'n str) -> Option<Cow<'n, str>> {
        match self {
            Self::Named {
                name: event,
                is_known: true,
            } if !name.contains('.') => Some(Cow::Owned(format!("{event}.{name}"))),
            Self::Disputed if !name.contains('.') => None,
            _ => Some(Cow::Borrowed(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Event;
    use crate::Policy;

    fn check(own: &[&'static str], attributes: &[&'static str], body: Option<&str>) {
        let policy = Policy::default();
        let names = |names: &[&'static str]| names.iter().map(|name| (*name).into()).collect();
        let (own, attributes): (Vec<_>, Vec<_>) = (names(own), names(attributes));
        let event = Event::from_record(&policy.reader([]), own, attributes);
        assert_eq!(event.body(), body, "{event:?}");
        let content = event.attribute("content");
        let expected = match body {
            Some("gen_ai.choice") => Some("gen_ai.choice.content"),
            Some(_) => Some("content"),
            None => None,
        };
        assert_eq!(content.as_deref(), expected, "{event:?}");
        assert_eq!(event.attribute("a.b").as_deref(), Some("a.b"));
    }

    #[test]
    fn an_event_is_known_by_its_own_name_first() {
        check(&[], &[], Some(""));
        check(&["", ""], &[""], Some(""));
        check(&["gen_ai.choice"], &["an.event"], Some("gen_ai.choice"));
        check(&["an.event", "", "an.event"], &["b"], Some("an.event"));
        check(&[""], &["gen_ai.choice"], Some("gen_ai.choice"));
        check(&["an.event", "another"], &[], None);
        check(&[], &["an.event", "gen_ai.choice"], None);
    }
}
