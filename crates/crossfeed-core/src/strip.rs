//! Stripping: a result without the fields that the engine added to it.

use crossfeed_json::{Document, Kind};
use crossfeed_wire::internal::is_internal;

/// Which top-level keys are stripped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StripPolicy {
    /// The named internal fields. Every other key is domain data.
    #[default]
    Internal,
    /// Every key that begins with `_`: for places where law and order outweigh completeness.
    AllUnderscore,
}

impl StripPolicy {
    fn strips(self, key: &str) -> bool {
        match self {
            Self::Internal => is_internal(key),
            Self::AllUnderscore => key.starts_with('_'),
        }
    }
}

/// The bytes of `result` without the top-level members that the policy strips; every other byte as
/// it was. `None` when there is nothing to strip, or the result is no JSON object.
///
/// ```
/// use crossfeed_core::{StripPolicy, strip};
/// use crossfeed_json::Document;
///
/// let result = Document::new(r#"{ "_toolCallId": "c1", "_id": 7 }"#);
/// assert_eq!(strip(&result, StripPolicy::Internal).as_deref(), Some(&br#"{ "_id": 7 }"#[..]));
/// assert_eq!(strip(&Document::new("[1]"), StripPolicy::Internal), None);
/// ```
#[must_use]
pub fn strip(result: &Document, policy: StripPolicy) -> Option<Vec<u8>> {
    let root = result.root().ok().filter(|r| r.kind() == Kind::Object)?;
    let raw = result.raw();
    // Every occurrence of a key goes, so members are taken as they stand, duplicates included.
    let members: Vec<_> = root.written_members().collect();
    if !members.iter().any(|m| policy.strips(&m.key.text())) {
        return None;
    }
    let mut out = Vec::with_capacity(raw.len());
    let open = root.offset() + 1;
    out.extend_from_slice(&raw[..open]);
    let mut kept = 0;
    let mut from = open;
    for member in &members {
        // From behind the bracket or comma before the member to the end of its value.
        let until = member.end;
        if !policy.strips(&member.key.text()) {
            if kept > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&raw[from..until]);
            kept += 1;
        }
        from = raw[until..]
            .iter()
            .position(|&byte| byte == b',' || byte == b'}')
            .map_or(until, |at| until + at + 1);
    }
    let end = members.last().map_or(open, |member| member.end);
    out.extend_from_slice(&raw[end..]);
    Some(out)
}
