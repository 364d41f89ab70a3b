//! Reads what references may do besides passing results on.

use super::{fields::Field, store::path};
use crate::config::{FilesConfig, ReferencesConfig, is_within};
use std::path::{Path, PathBuf};

/// Reads them; `refuses` says why files beneath a directory must not be read.
pub(super) fn references(
    field: Field<'_>,
    refuses: &dyn Fn(&Path) -> Option<&'static str>,
) -> Option<ReferencesConfig> {
    let mut fields = field.fields()?;
    let references = ReferencesConfig {
        edits: fields.get("edits").unwrap_or_default(),
        files: fields.take("files").and_then(|field| files(field, refuses)),
        resources: fields.get("resources").unwrap_or_default(),
    };
    fields.finish();
    Some(references)
}

/// One root as a text, or several with a limit.
fn files(field: Field<'_>, refuses: &dyn Fn(&Path) -> Option<&'static str>) -> Option<FilesConfig> {
    let root = |field: &Field<'_>, text: &str| {
        let root = path(field, text)?;
        if let Some(why) = refuses(&root) {
            field.problem(why);
        }
        Some(root)
    };
    if let Some(text) = field.node.text().and_then(|_| field.text()) {
        return Some(FilesConfig::new(vec![root(&field, &text)?]));
    }
    let mut fields = field.fields()?;
    let roots = fields.require("roots", ": the directories beneath which files are read");
    let roots = roots.map_or_else(Vec::new, |field| {
        let items = field.some_items("no directory: no file could be read");
        let roots = items.iter().filter_map(|item| root(item, &item.text()?));
        let roots: Vec<_> = roots.collect();
        if is_nested(&roots) {
            field.problem(
                "one is within another: flow rules could not tell its files from those of the other",
            );
        }
        roots
    });
    let mut files = FilesConfig::new(roots);
    if let Some(bytes) = fields.take("maxBytes").and_then(|field| field.bytes()) {
        files.max_bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    }
    fields.finish();
    Some(files)
}

/// Whether a directory is within another, as they are written.
fn is_nested(roots: &[PathBuf]) -> bool {
    let mut pairs = roots.iter().enumerate().flat_map(|(at, root)| {
        let others = roots
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != at);
        others.map(move |(_, around)| (root, around))
    });
    pairs.any(|(root, around)| is_within(root, around))
}
