//! Names that a command was given and that match nothing: most are misspelt, and what they were to hide is shown.

use crate::report::Stop;
use crossfeed::{
    ErrorBody, ErrorCode,
    json::{Cursor, Document, Kind},
    projection::{Path, Step, nearest},
};
use std::{collections::BTreeSet, io::Write};

/// How many values are looked at for names that may have been meant.
const NEAREST_VALUES: usize = 100_000;

/// A name or path that matches nothing.
pub(crate) struct Unmatched {
    /// The option that it was given to, such as `--never`.
    pub(crate) option: &'static str,
    pub(crate) name: String,
    /// Whether it may match nothing: it holds a `*`.
    pub(crate) is_pattern: bool,
    /// Names that may have been meant.
    pub(crate) nearest: Vec<String>,
}

impl Unmatched {
    pub(crate) fn path(option: &'static str, path: &Path, document: Option<&Document>) -> Self {
        let document = document.filter(|_| last_key(path).is_some());
        Self {
            option,
            name: path.to_string(),
            is_pattern: path.steps().contains(&Step::EachKey),
            nearest: match (last_key(path), document) {
                (Some(name), Some(document)) => near(name, document),
                _ => Vec::new(),
            },
        }
    }
}

/// The last name of a path.
pub(crate) fn last_key(path: &Path) -> Option<&str> {
    path.steps().iter().rev().find_map(|step| match step {
        Step::Key(name) => Some(&**name),
        _ => None,
    })
}

/// Reports what matches nothing: an exact name as an error, a pattern as a notice.
///
/// # Errors
///
/// When an exact name matches nothing, unless that is allowed.
pub(crate) fn report(
    unmatched: Vec<Unmatched>,
    is_allowed: bool,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    let mut bodies = Vec::new();
    for Unmatched {
        option,
        name,
        is_pattern,
        nearest,
    } in unmatched
    {
        let message = format!("`{option} {name}` matches nothing");
        if is_allowed || is_pattern {
            // A notice that cannot be written does not keep the answer back.
            let _ = writeln!(err, "notice: {message}");
            continue;
        }
        let allow = "`--allow-unmatched` if it may be absent";
        let mut body = ErrorBody::new(ErrorCode::ProjectionInvalid, message);
        body.advice = Some(match nearest.as_slice() {
            [] => format!("try: {allow}"),
            names => format!("try: {}; or {allow}", names.join(", ")),
        });
        bodies.push(body);
    }
    match bodies.is_empty() {
        true => Ok(()),
        false => Err(Stop::Answer(bodies)),
    }
}

/// The names in a document that are most like this one.
fn near(name: &str, document: &Document) -> Vec<String> {
    let mut names = BTreeSet::new();
    let mut open: Vec<Cursor<'_>> = document.root().into_iter().collect();
    let mut left = NEAREST_VALUES;
    while let Some(value) = open.pop() {
        let Some(rest) = left.checked_sub(1) else {
            break;
        };
        left = rest;
        match value.kind() {
            Kind::Object => {
                for (key, value) in value.members().take(left) {
                    names.insert(key.text().into_owned());
                    open.push(value);
                }
            }
            Kind::Array => open.extend(value.items().take(left)),
            _ => {}
        }
    }
    nearest(name, names.iter().map(String::as_str))
}
