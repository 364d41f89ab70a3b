//! The projection that a client requests.

use crate::{BARE_KEY, KEY, Mode};
use crossfeed_projection::{MAX_PATHS, Path, PathError};
use serde_json::{Value, json};

/// A projection request in the `_meta` of a `tools/call`.
///
/// ```
/// use crossfeed_mcp::{Mode, Request};
/// use serde_json::json;
///
/// let params = json!({
///     "name": "list_issues",
///     "_meta": {"dev.crossfeed/projection": {"mode": "include", "fields": ["items[*].id"]}}
/// });
/// let request = Request::read(&params)?.expect("a request");
/// assert_eq!(request.mode, Mode::Include);
/// assert_eq!(request.fields[0].to_string(), "items[].id");
/// # Ok::<(), crossfeed_mcp::RequestError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// How the fields are named.
    pub mode: Mode,
    /// The paths, for [`Mode::Include`] and [`Mode::Exclude`]; an empty list filters nothing.
    pub fields: Vec<Path>,
    /// The name, for [`Mode::View`].
    pub view: Option<String>,
}

/// Why a request is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The request is not an object: `"projection": 7`.
    #[error("the request is not an object")]
    NotAnObject,
    /// `mode` is missing or unknown.
    #[error("`mode` is not one of `include`, `exclude` and `view`")]
    Mode,
    /// `fields` is missing, or not a list of strings.
    #[error("`fields` is not a list of strings")]
    Fields,
    /// A field is not a path: `a..b`.
    #[error("{0}; {advice}", advice = .0.advice())]
    Path(PathError),
    /// More than [`MAX_PATHS`] fields.
    #[error("`fields` has {count} paths, the limit is {MAX_PATHS}")]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// `view` is missing, or not a string.
    #[error("`view` is not a string")]
    View,
}

impl Request {
    /// Reads the request in the `params` of a call; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`RequestError`] if the request is invalid.
    pub fn read(params: &Value) -> Result<Option<Self>, RequestError> {
        let meta = params.get("_meta");
        let under = |key| meta?.get(key).filter(|request| !request.is_null());
        let request = match under(KEY).or_else(|| under(BARE_KEY)) {
            None => return Ok(None),
            Some(Value::Object(request)) => request,
            Some(_) => return Err(RequestError::NotAnObject),
        };
        let mode = request.get("mode").and_then(Value::as_str);
        let mode = mode.and_then(Mode::from_word).ok_or(RequestError::Mode)?;
        if mode == Mode::View {
            let view = request.get("view").and_then(Value::as_str);
            return Ok(Some(Self {
                mode,
                fields: Vec::new(),
                view: Some(view.ok_or(RequestError::View)?.to_owned()),
            }));
        }
        let fields = request.get("fields").and_then(Value::as_array);
        let fields = fields.ok_or(RequestError::Fields)?;
        if fields.len() > MAX_PATHS {
            let count = fields.len();
            return Err(RequestError::TooMany { count });
        }
        let paths = fields.iter().map(|field| {
            let text = field.as_str().ok_or(RequestError::Fields)?;
            Path::parse(text).map_err(RequestError::Path)
        });
        Ok(Some(Self {
            mode,
            fields: paths.collect::<Result<_, _>>()?,
            view: None,
        }))
    }

    /// The request in its JSON form.
    pub fn to_value(&self) -> Value {
        match &self.view {
            Some(view) => json!({"mode": self.mode.as_str(), "view": view}),
            None => {
                let fields: Vec<String> = self.fields.iter().map(ToString::to_string).collect();
                json!({"mode": self.mode.as_str(), "fields": fields})
            }
        }
    }
}
