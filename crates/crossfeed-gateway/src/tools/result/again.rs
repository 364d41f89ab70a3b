//! A result that is shown once more, or in place of one that was.
//!
//! What comes in: the bytes of a result whose call has ended. What goes out: the same as the client is
//! to see it. Nothing is recorded here.

use super::{Answer, Asked, Kept, Show, apart, asks, shown, unrecorded};
use crate::tools::{client::Shared, list::Offered};
use bytes::Bytes;
use crossfeed_json::{Document, Kind};
use crossfeed_projection::ProjectionRequest;
use crossfeed_wire::CallId;
use std::sync::Arc;

/// By what the result of a call is shown.
#[derive(Clone)]
pub(in crate::tools) struct Again {
    offered: Arc<Offered>,
    call_id: CallId,
    projection: Option<ProjectionRequest>,
    /// The `params` of the call, or what of them asks for parts of its result.
    params: Bytes,
}

impl Kept {
    /// By what its result is shown once it has ended.
    pub(in crate::tools) fn again(&self) -> Again {
        Again {
            offered: Arc::clone(&self.offered),
            call_id: self.in_flight.call_id().clone(),
            projection: self.projection.clone(),
            params: self.params.clone(),
        }
    }

    /// The same for a call that may take long: without what its result is not shown by.
    pub(in crate::tools) fn without_arguments(mut self) -> Self {
        self.arguments = None;
        let params = Document::new(self.params.clone());
        let meta = params.root().ok().and_then(|root| root.get("_meta"));
        let meta = meta.filter(|_| asks(&self.offered, &self.params));
        self.params = match meta {
            Some(meta) => format!("{{\"_meta\":{}}}", String::from_utf8_lossy(meta.raw())).into(),
            None => Bytes::from_static(b"{}"),
        };
        self
    }
}

impl Again {
    /// The result as the client is to see it; `is_same` if it is the one that was taken.
    pub(in crate::tools) async fn show(
        self,
        shared: &Shared,
        result: Bytes,
        is_same: bool,
    ) -> Bytes {
        let document = Document::new(result.clone());
        let answer = apart(result.len(), move || match document.root() {
            Ok(root) if root.kind() == Kind::Object => Some(Answer::of(root)),
            _ => None,
        });
        let Some(Answer::Result { is_large }) = answer.await else {
            return result;
        };
        let show = |call_id: Option<String>| Show {
            offered: Arc::clone(&self.offered),
            call_id,
            note: None,
            is_stateless: shared.is_stateless(),
        };
        if is_same && shared.session().response(&self.call_id).await.is_ok() {
            let asked = Asked {
                projection: self.projection.clone(),
                params: self.params.clone(),
                is_large,
            };
            let show = show(Some(self.call_id.to_string()));
            if let Some(shown) = shown(shared, &self.call_id, show, asked).await {
                return shown;
            }
        }
        let mut show = show(None);
        let why = "it is not what was recorded of its task";
        show.note = Some(format!("this result cannot be referred to: {why}"));
        unrecorded(result, show).await
    }
}
