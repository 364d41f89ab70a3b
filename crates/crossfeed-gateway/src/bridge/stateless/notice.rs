//! Notifications of a server, and the clients that they are for.

use super::{Call, Intent, Sessions};
use crate::{
    bridge::{driver::ConnectionId, members},
    message::{Id, Message, Token},
    protocol::{self, LIST_CHANGES, method},
};

impl Sessions {
    pub(super) fn notice(&mut self, link: ConnectionId, message: Message, related: Option<&Id>) {
        let name = message.method().unwrap_or_default();
        if let Some((list, _, _)) = LIST_CHANGES.iter().find(|(_, changed, _)| *changed == name) {
            return self.list_changed(link, list, &message);
        }
        match name {
            method::RESOURCE_UPDATED => self.updated(link, &message),
            method::PROGRESS => self.progress(link, message),
            method::LOG_MESSAGE => self.log(link, message, related),
            method::CANCELLED => self.ask_taken_back(link, members::cancelled_id(&message)),
            // The other era has neither.
            method::ELICITED | method::TASK_STATUS => {}
            _ => {
                let client = related
                    .and_then(|id| self.call_of(link, id))
                    .and_then(|call| self.calls.get(&call)?.client.clone());
                self.desk.tell(message, client);
            }
        }
    }

    /// The call that has this id at the server.
    pub(super) fn call_of(&self, link: ConnectionId, id: &Id) -> Option<u64> {
        match self.desk.sent.get(&id.as_number()?)? {
            (at, Intent::Call(call)) if *at == link => Some(*call),
            _ => None,
        }
    }

    /// Progress goes to the client that waits for the call, under the token that it gave last.
    fn progress(&mut self, link: ConnectionId, message: Message) {
        let params = message.params().unwrap_or_default();
        let Some(token) = members::get(&params, &["progressToken"]).map(Token::new) else {
            return;
        };
        let mut calls = self.calls.values_mut();
        if let Some(call) =
            calls.find(|call| call.link == link && call.token.as_ref() == Some(&token))
        {
            call.tell_progress(params, &mut self.desk);
        }
    }

    /// The only call of a session that no other client's call may have to do with.
    fn only_call(&self, link: ConnectionId) -> Option<&Call> {
        let mut calls = self.calls.values().filter(|call| call.link == link);
        let (first, second) = (calls.next(), calls.next());
        let session = self.sessions.get(&link)?;
        first.filter(|_| second.is_none() && !session.unanswered.may_ask())
    }

    /// A log message goes to the call that it belongs to, or else to one that wants such messages; to none
    /// where none does, and where it could be another client's.
    fn log(&mut self, link: ConnectionId, message: Message, related: Option<&Id>) {
        let params = message.params().unwrap_or_default();
        let level = members::get_text(&params, &["level"]);
        let Some(level) = level.as_deref().and_then(protocol::log_level) else {
            return;
        };
        let call = match related.and_then(|id| self.call_of(link, id)) {
            Some(call) => self.calls.get(&call),
            None if self.is_shared => self.only_call(link),
            None => self
                .calls
                .values()
                .find(|call| call.link == link && call.client.is_some() && call.level.is_some()),
        };
        let wants = call.filter(|call| call.level.is_some_and(|wanted| wanted <= level));
        if let Some(client) = wants.and_then(|call| call.client.clone()) {
            self.desk.tell(message, Some(client));
        }
    }
}
