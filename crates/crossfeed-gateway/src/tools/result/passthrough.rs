//! Results passed through as they came, without what the client would refuse or only the gateway may say.

use super::{
    apart, foreign, program,
    whole::{CONTENT, OURS, STRUCTURED, take_claims, text_part},
};
use crate::members::{edited, may_hold};
use bytes::Bytes;
use crossfeed_json::{Document, Edits, Kind};
use crossfeed_wire::View;

/// How results are passed on.
#[derive(Clone, Copy, Debug)]
pub(in crate::tools) struct Passing {
    pub(in crate::tools) view: View,
    /// Whether the client's revision is without sessions.
    pub(in crate::tools) is_stateless: bool,
    /// Whether something of the server's results may be withheld: then the mark of it stays.
    pub(in crate::tools) withholds: bool,
}

/// A result without what another says under our keys, as the client takes it.
pub(in crate::tools) async fn on(result: Bytes, passing: Passing) -> Bytes {
    let passed = move |mut result| {
        if !passing.is_stateless {
            result = with_object(result);
        }
        match passing.view {
            View::Program => program::unclaimed(result, passing.withholds),
            _ => without_ours(marked(result), passing.withholds),
        }
    };
    apart(result.len(), move || passed(result)).await
}

/// The answer to a request that is not a call, without what another says under our keys.
pub(crate) async fn unclaimed(result: Bytes, withholds: bool) -> Option<Bytes> {
    let passed =
        move |result: Bytes| may_hold(&result, OURS).then(|| without_ours(result, withholds));
    apart(result.len(), move || passed(result)).await
}

/// Members that only the gateway may write say that the server wrote them.
fn marked(result: Bytes) -> Bytes {
    if !foreign::may_hold(&result) && !may_hold(&result, "isError") {
        return result;
    }
    edited(&result, foreign::mark).unwrap_or(result)
}

fn without_ours(result: Bytes, withholds: bool) -> Bytes {
    if !may_hold(&result, OURS) {
        return result;
    }
    let taken = edited(&result, |edits, root| {
        take_claims(edits, root, withholds, None)
    });
    // It may nest too deep to be looked through.
    taken.unwrap_or_else(|| program::unclaimed(result, withholds))
}

/// Before 2026-07-28 structured content is an object or nothing. Anything else becomes a text,
/// unless there is other content.
pub(super) fn with_object(result: Bytes) -> Bytes {
    if !may_hold(&result, STRUCTURED) {
        return result;
    }
    let document = Document::new(result.clone());
    let root = document.root().ok();
    let own = root.and_then(|root| root.get(STRUCTURED));
    let Some((root, own)) = root.zip(own.filter(|own| own.kind() != Kind::Object)) else {
        return result;
    };
    let mut edits = Edits::new(document.raw());
    edits.remove_members(root, |key| key == STRUCTURED);
    let left = edits.done().into_owned().into();
    if own.kind() == Kind::Null || root.get(CONTENT).is_some_and(|own| !own.is_empty()) {
        return left;
    }
    let text = text_part(&String::from_utf8_lossy(own.raw()));
    let content = [(CONTENT, format!("[{text}]"))];
    edited(&left, |edits, root| edits.set_members(root, &content)).unwrap_or(result)
}

#[cfg(test)]
mod tests {
    use super::{with_object, without_ours};

    #[test]
    fn keys_that_are_written_as_escapes_are_the_same() {
        let object = with_object(r#"{"content":[],"structured\u0043ontent":[1]}"#.into());
        assert_eq!(
            object,
            r#"{"content":[{"type":"text","text":"[1]"}]}"#.as_bytes()
        );
        let ours = without_ours(
            r#"{"_meta":{"a":1,"dev\u002ecrossfeed\/x":2}}"#.into(),
            false,
        );
        assert_eq!(ours, r#"{"_meta":{"a":1}}"#.as_bytes());
    }

    #[test]
    fn the_result_of_a_task_says_that_something_was_withheld() {
        let claim = r#"{"dev.crossfeed/withheld":true,"dev.crossfeed/error":1,"a":1}"#;
        let (own, plain) = (r#"{"dev.crossfeed/withheld":true,"a":1}"#, r#"{"a":1}"#);
        let told = |result: &str, other: &str| {
            let task = format!(
                r#"{{"taskId":"t","result":{{"content":[{{"_meta":{other}}}],"_meta":{result}}}}}"#
            );
            [format!(r#"{{"task":{task}}}"#), task]
        };
        let came = told(claim, claim);
        for (withholds, expected) in [(true, told(own, plain)), (false, told(plain, plain))] {
            for (came, expected) in came.iter().zip(expected) {
                let left = without_ours(came.clone().into(), withholds);
                assert_eq!(left, expected.as_bytes());
            }
        }
    }

    #[test]
    fn what_nests_deep_is_looked_at_once() {
        let (open, close) = (r#"{"a":"#.repeat(100), "}".repeat(100));
        let told = |meta: &str| format!(r#"{{"content":[{open}{meta}{close}]}}"#);
        let left = without_ours(told(r#"{"_meta":{"dev.crossfeed/x":1}}"#).into(), false);
        assert_eq!(left, told(r#"{"_meta":{}}"#).as_bytes());
    }

    #[test]
    fn no_server_says_what_the_gateway_says_in_parts() {
        let claim = r#"{"dev.crossfeed/withheld":true,"a":1}"#;
        let told = |meta: &str, own: &str| {
            format!(
                r#"{{"contents":[{{"uri":"u","_meta":{meta}}}],"messages":[{{"content":{{"_meta":{meta}}}}}],"structuredContent":{{"_meta":{claim}}},"_meta":{own}}}"#
            )
        };
        let plain = r#"{"a":1}"#;
        let left = without_ours(told(claim, claim).into(), false);
        assert_eq!(left, told(plain, plain).as_bytes());
        // The gateway states for the whole result what was withheld.
        let left = without_ours(told(claim, claim).into(), true);
        assert_eq!(left, told(plain, claim).as_bytes());
    }
}
