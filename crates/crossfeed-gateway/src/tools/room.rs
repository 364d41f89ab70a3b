//! Charges to the budget for what calls build, before it is built: arguments as they are read, the data of
//! references, results as they are shown.

use super::{
    client::Shared,
    refusal::{self, ErrorBodies},
};
use crate::{
    apart::{LARGE, apart},
    budget::{Charge, Purpose, UNCHARGED},
};
use bytes::Bytes;
use crossfeed_core::arguments_cost;
use crossfeed_json::{TokenVisitor, indexing_bytes, read_tokens};
use crossfeed_wire::{CallId, ErrorCode};

/// The index takes a word for each value.
const WORD_BYTES: usize = 8;

/// Room for the index of the `params` of a call; nothing where they are short.
pub(super) async fn to_index(shared: &Shared, params: &Bytes) -> Result<Charge, ErrorBodies> {
    to_hold(shared, params, |json| WORD_BYTES * values(json)).await
}

/// How many values JSON holds, as far as it is JSON.
fn values(json: &[u8]) -> usize {
    struct Values(usize);
    impl TokenVisitor for Values {
        fn value_end(&mut self, _: usize) {
            self.0 += 1;
        }
    }
    let mut values = Values(0);
    let text = std::str::from_utf8(json);
    let _ = text.map(|text| read_tokens(text, &mut values));
    values.0
}

/// Room to read arguments, for as long as that takes; nothing where they are short.
pub(super) async fn to_read(shared: &Shared, arguments: &Bytes) -> Result<Charge, ErrorBodies> {
    let limit = shared.tools.config.limits.argument_bytes;
    to_hold(shared, arguments, move |json| arguments_cost(json, limit)).await
}

async fn to_hold(
    shared: &Shared,
    json: &Bytes,
    cost: impl FnOnce(&[u8]) -> usize + Send + 'static,
) -> Result<Charge, ErrorBodies> {
    if json.len() <= UNCHARGED {
        return Ok(shared.account.nothing());
    }
    let counted = json.clone();
    let needed = apart(json.len(), move || cost(&counted)).await;
    let charge = shared.account.charge(needed, Purpose::Arguments);
    charge.ok_or_else(no_room)
}

/// Room to write arguments with what references bring in.
pub(super) fn to_write(shared: &Shared, bytes: usize) -> Result<Charge, ErrorBodies> {
    charged(shared, bytes, Purpose::Resolved).ok_or_else(no_room)
}

fn charged(shared: &Shared, bytes: usize, purpose: Purpose) -> Option<Charge> {
    if bytes <= UNCHARGED {
        return Some(shared.account.nothing());
    }
    shared.account.charge(bytes, purpose)
}

/// Whether resolved arguments can be sent at all: what is beyond a message is not written first.
pub(super) fn fits_message(shared: &Shared, bytes: usize) -> Result<(), ErrorBodies> {
    let limit = shared.tools.config.limits.message_bytes;
    if bytes <= limit {
        return Ok(());
    }
    let message = format!(
        "the arguments take {bytes} bytes with the data of their references; the limit of a message is {limit}"
    );
    let advice = "select less of the results";
    Err(refusal::body(ErrorCode::LimitExceeded, message, advice))
}

/// Room for the index of a result while it is read; waits for it, but not for long.
pub(super) async fn to_read_result(shared: &Shared, result: &Bytes) -> Option<Charge> {
    let mut charge = shared.account.nothing();
    if result.len() <= LARGE {
        return Some(charge);
    }
    let json = result.clone();
    let needed = apart(result.len(), move || indexing_bytes(&json)).await;
    let has_room = charge.more_in_time(needed, Purpose::Answer).await;
    has_room.then_some(charge)
}

/// The answer to a call whose result there is no room to read.
pub(super) fn unread(shared: &Shared) -> Bytes {
    let message = "the call has run, and the gateway has no memory to read its result now";
    let code = ErrorCode::LimitExceeded;
    shared.refused(refusal::body(code, message, refusal::NOT_AGAIN))
}

/// Room to show a result.
pub(super) fn to_show(shared: &Shared, bytes: usize) -> Option<Charge> {
    charged(shared, bytes, Purpose::Shown)
}

/// What is shown of a result for which there is no room: that the call has run, and what its result is called.
pub(super) fn unshown(shared: &Shared, call_id: &CallId) -> Bytes {
    let message = "the call has run, and the gateway has no memory to show its result now";
    let advice = refusal::kept_as(call_id);
    shared.refused(refusal::body(ErrorCode::LimitExceeded, message, advice))
}

fn no_room() -> ErrorBodies {
    let message = "the gateway's memory limit is reached: the call was not made";
    let advice = "call again when other calls have returned; if none are running, write fewer values, or refer to large data";
    refusal::body(ErrorCode::LimitExceeded, message, advice)
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn texts_count_as_one_value() {
        for (json, expected) in [
            ("[1,2,{}]", 4),
            (r#"{"a":"1,2,[3]:{4}","b":null}"#, 3),
            (r#"{"a""#, 0),
        ] {
            assert_eq!(values(json.as_bytes()), expected, "{json}");
        }
    }
}
