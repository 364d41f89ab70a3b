//! The scripted turns of the model: the only invented part of the demo, its mistakes included, which are typical of models.

use crate::report::{CommandError, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The task of the user, and the turns of the model.
#[derive(Deserialize)]
pub(super) struct Script {
    pub(super) task: &'static str,
    pub(super) turns: Vec<Turn>,
}

/// One turn of the model.
#[derive(Deserialize)]
pub(super) struct Turn {
    /// How many hours pass before it.
    pub(super) hours_later: u32,
    /// What it says besides its calls.
    pub(super) says: &'static str,
    pub(super) calls: Vec<Call>,
}

/// One call, as the model wrote it.
#[derive(Deserialize)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    #[serde(borrow)]
    arguments: &'static RawValue,
}

impl Call {
    pub(super) fn arguments(&self) -> &'static str {
        self.arguments.get()
    }
}

impl Script {
    pub(super) fn load() -> Result<Self> {
        serde_json::from_str(include_str!("../../data/demo-script.json"))
            .map_err(|error| CommandError::usage(format!("the bundled script is damaged: {error}")))
    }
}
