//! Removes internal fields from a text, wherever they stand, and from the result of a tool top-level keys
//! that begin with `_`. A text that is not valid JSON is left alone.

use super::{
    nested_json::{Level, NestedString, apply, could_be_json, edits},
    prefilter::is_suspect,
};
use crossfeed_json::{Prune, RawString, cuts};
use crossfeed_wire::internal::is_internal;
use std::collections::HashSet;

/// The text without internal fields; `None` if it stays as it is. `kept` are keys of results.
pub(crate) fn strip(text: &str, is_result: bool, kept: &HashSet<Box<str>>) -> Option<String> {
    let read = |text: &str, is_result| {
        let mut one = OneLevel {
            kept,
            is_result,
            nested: Vec::new(),
        };
        Ok(Level {
            cuts: cuts(text, &mut one)?,
            nested: one.nested,
            withheld: Vec::new(),
        })
    };
    let edits = edits(text, is_result, &read, &|_| false).ok()?;
    apply(text, &edits)
}

struct OneLevel<'k> {
    kept: &'k HashSet<Box<str>>,
    /// Whether an object at the root is the result of a tool.
    is_result: bool,
    nested: Vec<NestedString<bool>>,
}

impl Prune for OneLevel<'_> {
    #[inline(always)]
    fn member(&mut self, key: RawString<'_>, depth: usize) -> bool {
        // The first byte decides for most keys.
        let first = key.raw().as_bytes().first();
        if first.is_none_or(u8::is_ascii_alphanumeric) {
            return false;
        }
        if matches!(first, Some(b'_' | b'\\')) {
            let key = key.text();
            let top = depth == 1 && self.is_result;
            if is_internal(&key) || top && key.starts_with('_') && !self.kept.contains(&*key) {
                return true;
            }
        }
        // A key may hold JSON as well.
        self.open_later(key, false);
        false
    }

    #[inline(always)]
    fn string(&mut self, string: RawString<'_>, depth: usize) {
        // A result may be encoded twice.
        self.open_later(string, self.is_result && depth == 0);
    }
}

impl OneLevel<'_> {
    #[inline(always)]
    fn open_later(&mut self, string: RawString<'_>, is_result: bool) {
        if could_be_json(string) && is_suspect(string.raw()) {
            let start = string.start();
            self.nested.push(NestedString {
                range: start..start + string.raw().len(),
                carry: is_result,
            });
        }
    }
}
