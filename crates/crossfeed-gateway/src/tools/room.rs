//! Room in the budget for what calls build: arguments as they are read, what references bring in, results as
//! they are shown.
//!
//! What comes in: bytes, before something is built of them. What goes out: a charge, or why the call is not
//! made. Deliberately not here: building.

use super::{client::Shared, refusal};
use crate::{
    apart::{LARGE, apart},
    budget::{Charge, Purpose, UNCHARGED},
};
use bytes::Bytes;
use crossfeed_core::arguments_cost;
use crossfeed_json::{Quoted, TokenVisitor, indexing_bytes, read_tokens};
use crossfeed_wire::{CallId, ErrorBody, ErrorCode};

/// The index takes a word for each value.
const WORD: usize = 8;

/// Room for the index of the `params` of a call; nothing where they are short.
pub(super) async fn to_index(shared: &Shared, params: &Bytes) -> Result<Charge, Box<ErrorBody>> {
    if params.len() <= UNCHARGED {
        return Ok(shared.account.nothing());
    }
    let counted = params.clone();
    let values = apart(params.len(), move || values(&counted)).await;
    let charge = shared.account.charge(WORD * values, Purpose::Arguments);
    charge.ok_or_else(no_room)
}

/// Room to read arguments, for as long as that takes; nothing where they are short.
pub(super) async fn to_read(shared: &Shared, arguments: &Bytes) -> Result<Charge, Box<ErrorBody>> {
    if arguments.len() <= UNCHARGED {
        return Ok(shared.account.nothing());
    }
    let limit = shared.tools.config.limits.argument_bytes;
    let counted = arguments.clone();
    let needed = apart(arguments.len(), move || arguments_cost(&counted, limit)).await;
    let charge = shared.account.charge(needed, Purpose::Arguments);
    charge.ok_or_else(no_room)
}

/// Room to write arguments with what references bring in.
pub(super) fn to_write(shared: &Shared, bytes: usize) -> Result<Charge, Box<ErrorBody>> {
    if bytes <= UNCHARGED {
        return Ok(shared.account.nothing());
    }
    let charge = shared.account.charge(bytes, Purpose::Resolved);
    charge.ok_or_else(no_room)
}

/// Whether resolved arguments can be sent at all: what is beyond a message is not written first.
pub(super) fn fits_message(shared: &Shared, bytes: usize) -> Result<(), Box<ErrorBody>> {
    let limit = shared.tools.config.limits.message_bytes;
    if bytes <= limit {
        return Ok(());
    }
    let message = format!(
        "the arguments take {bytes} bytes with what references bring in, and a message may have {limit}"
    );
    let mut body = ErrorBody::new(ErrorCode::LimitExceeded, message);
    body.advice = Some("select less of the results".to_owned());
    Err(Box::new(body))
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
    let mut body = ErrorBody::new(ErrorCode::LimitExceeded, message);
    body.advice = Some(refusal::NOT_AGAIN.to_owned());
    refusal::of_bodies(vec![body], shared.privacy())
}

/// Room to show a result.
pub(super) fn to_show(shared: &Shared, bytes: usize) -> Option<Charge> {
    if bytes <= UNCHARGED {
        return Some(shared.account.nothing());
    }
    shared.account.charge(bytes, Purpose::Shown)
}

/// What is shown of a result for which there is no room: that the call has run, and what its result is called.
pub(super) fn unshown(shared: &Shared, call_id: &CallId) -> Bytes {
    let message = "the call has run, and the gateway has no memory to show its result now";
    let mut body = ErrorBody::new(ErrorCode::LimitExceeded, message);
    body.advice = Some(refusal::kept_as(call_id));
    refusal::of_bodies(vec![body], shared.privacy())
}

fn no_room() -> Box<ErrorBody> {
    let message = "the gateway holds as much as it may: the call was not made";
    let mut body = ErrorBody::new(ErrorCode::LimitExceeded, message);
    let advice = "call again when other calls have returned; where none run, write fewer values, or refer to large data";
    body.advice = Some(advice.to_owned());
    Box::new(body)
}

/// How many values some JSON is.
fn values(json: &[u8]) -> usize {
    #[derive(Default)]
    struct Count(usize);
    impl TokenVisitor for Count {
        fn key(&mut self, _: Quoted<'_>) {}

        fn value_end(&mut self, _: usize) {
            self.0 += 1;
        }
    }
    let mut count = Count::default();
    if let Ok(text) = std::str::from_utf8(json) {
        let _ = read_tokens(text, &mut count);
    }
    count.0
}
