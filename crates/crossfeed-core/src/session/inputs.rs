//! Reads the files and resources that references name.

use super::{
    Session,
    offload::{SMALL_BYTES, run_or_spawn},
};
use crate::{
    canonical::StoredItem,
    error::{InputError, LookupError},
    input::{Form, formed},
    resolve::LookupResult,
};
use crossfeed_wire::reference::Input;
use std::sync::Arc;

impl Session {
    /// An input as the host reads it, in the form that its parameter takes.
    pub(super) async fn read_input(&self, input: &Input, form: Form) -> LookupResult {
        let refused = |error| LookupError::Input {
            input: input.clone(),
            error,
        };
        let Some(inputs) = &self.inputs else {
            return Err(refused(InputError::SwitchedOff { setting: None }));
        };
        let read = inputs.0.read(input).await.map_err(refused)?;
        let read = read.into_stored();
        let is_small = read.document().raw().len() <= SMALL_BYTES;
        let name = input.name().to_owned();
        let formed = run_or_spawn(is_small, move || formed(read, &name, form)).await;
        Ok(StoredItem::Result(Arc::new(formed.map_err(refused)?)).into())
    }
}
