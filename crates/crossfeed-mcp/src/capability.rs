//! The capability that a server declares.

use crate::{BARE_KEY, KEY, Mode};
use crossfeed_projection::MAX_PATH_STEPS;
use derive_setters::Setters;
use serde_json::{Map, Value, json};

/// The projection capability that a server declares when a client initialises.
///
/// ```
/// use crossfeed_mcp::{Capability, Mode};
/// use serde_json::json;
///
/// let mut capabilities = json!({"tools": {}});
/// let capability = Capability::default().with_modes([Mode::Include]).with_max_depth(4);
/// capability.declare(&mut capabilities);
/// assert_eq!(
///     capabilities["experimental"]["dev.crossfeed/projection"],
///     json!({"supported": true, "modes": ["include"], "maxDepth": 4})
/// );
/// assert_eq!(Capability::read(&capabilities), Some(capability));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
#[must_use]
pub struct Capability {
    /// The supported modes, each once.
    #[setters(skip)]
    pub modes: Vec<Mode>,
    /// How many steps a path may have: names, `*` and brackets.
    pub max_depth: usize,
}

/// The default limit of steps in a path.
const MAX_DEPTH: usize = 10;

/// All modes, and paths of up to 10 steps.
impl Default for Capability {
    fn default() -> Self {
        Self {
            modes: Mode::ALL.to_vec(),
            max_depth: MAX_DEPTH,
        }
    }
}

impl Capability {
    /// Sets the modes.
    pub fn with_modes(mut self, modes: impl IntoIterator<Item = Mode>) -> Self {
        self.modes = Vec::new();
        for mode in modes {
            if !self.modes.contains(&mode) {
                self.modes.push(mode);
            }
        }
        self
    }

    /// The capability in its JSON form.
    pub fn to_value(&self) -> Value {
        let modes: Vec<&str> = self.modes.iter().map(|mode| mode.as_str()).collect();
        json!({"supported": true, "modes": modes, "maxDepth": self.max_depth})
    }

    /// Adds the capability to a server's `capabilities`, under `experimental`.
    pub fn declare(&self, capabilities: &mut Value) {
        *member(member(capabilities, "experimental"), KEY) = self.to_value();
    }

    /// Reads the capability from a server's `capabilities`, under `experimental` or as `tools.projection`; `None` if it
    /// is absent or not supported. Unknown modes are left out; without `maxDepth` the limit is that of all paths.
    pub fn read(capabilities: &Value) -> Option<Self> {
        let own = capabilities.get("experimental").and_then(|e| e.get(KEY));
        let bare = || capabilities.get("tools").and_then(|t| t.get(BARE_KEY));
        let declared = own.or_else(bare)?.as_object()?;
        if declared.get("supported") != Some(&Value::Bool(true)) {
            return None;
        }
        let modes = declared.get("modes").and_then(Value::as_array);
        let modes = modes.into_iter().flatten().filter_map(Value::as_str);
        let depth = declared.get("maxDepth").and_then(Value::as_u64);
        let depth = depth.and_then(|depth| usize::try_from(depth).ok());
        let this = Self::default().with_modes(modes.filter_map(Mode::from_word));
        Some(this.with_max_depth(depth.unwrap_or(MAX_PATH_STEPS)))
    }
}

/// The member of an object, inserted if missing; another value is replaced by an object.
pub(crate) fn member<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    &mut value[key]
}
