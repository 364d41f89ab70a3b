//! The annotation of a tool's definition about projection.

use crate::{KEY, capability::member};
use crossfeed_projection::Views;
use derive_setters::Setters;
use serde_json::{Map, Value, json};

/// Whether a tool's results may be projected, and which views the tool recommends.
///
/// ```
/// use crossfeed_mcp::Annotation;
/// use serde_json::json;
///
/// let tool = json!({
///     "name": "list_issues",
///     "_meta": {"dev.crossfeed/projection": {
///         "supported": true,
///         "recommendedViews": {"brief": ["items[].id", "items[].title"], "all": null}
///     }}
/// });
/// let annotation = Annotation::read(&tool).expect("an annotation");
/// assert!(annotation.supported);
/// assert_eq!(annotation.views.names().collect::<Vec<_>>(), ["brief", "all"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Annotation {
    /// Whether results may be projected.
    pub supported: bool,
    /// The recommended views, by name.
    pub views: Views,
}

/// Supported, without views: the default of a tool without an annotation.
impl Default for Annotation {
    fn default() -> Self {
        Self {
            supported: true,
            views: Views::new(),
        }
    }
}

impl Annotation {
    /// The annotation in its JSON form.
    pub fn to_value(&self) -> Value {
        let mut views = Map::new();
        for name in self.views.names() {
            let paths = self.views.get(name).flatten();
            let texts =
                paths.map(|paths| paths.iter().map(ToString::to_string).collect::<Vec<_>>());
            views.insert(name.to_owned(), json!(texts));
        }
        json!({"supported": self.supported, "recommendedViews": views})
    }

    /// Adds the annotation to a tool's definition, under `_meta`.
    pub fn annotate(&self, tool: &mut Value) {
        *member(member(tool, "_meta"), KEY) = self.to_value();
    }

    /// Reads the annotation from a tool's definition, under `_meta` or as `annotations.projectionHint`; `None` if absent.
    /// An invalid view is left out.
    pub fn read(tool: &Value) -> Option<Self> {
        let own = tool.get("_meta").and_then(|meta| meta.get(KEY));
        let hint = || {
            tool.get("annotations")
                .and_then(|a| a.get("projectionHint"))
        };
        let annotation = own.or_else(hint)?.as_object()?;
        let supported = annotation.get("supported") == Some(&true.into());
        let mut this = Self::default().with_supported(supported);
        let views = annotation
            .get("recommendedViews")
            .and_then(Value::as_object);
        for (name, paths) in views.into_iter().flatten() {
            let one = json!({name: paths});
            let Ok(view) = Views::parse(&one) else {
                continue;
            };
            this.views = match view.get(name).flatten() {
                Some(paths) => {
                    let paths = paths.iter().map(ToString::to_string);
                    this.views.clone().with(name, paths).unwrap_or(this.views)
                }
                None => this.views.with_everything(name),
            };
        }
        Some(this)
    }
}
