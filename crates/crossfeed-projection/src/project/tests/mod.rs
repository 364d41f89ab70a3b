mod examples;
mod laws;
mod notes;
mod reference;

use super::{Diagnostics, Projection};
use crate::{Path, PathTree, RevealRules};
use crossfeed_json::Document;

pub(crate) fn paths(list: &str) -> Vec<Path> {
    Path::parse_list(list).unwrap()
}

pub(crate) fn tree(list: &str) -> PathTree {
    PathTree::new(paths(list))
}

pub(crate) fn rules(always: &str, never: &str) -> RevealRules {
    RevealRules::new(paths(always), paths(never))
}

pub(crate) fn run(projection: &Projection, json: &str) -> (String, Diagnostics) {
    let document = Document::new(json.to_owned());
    let mut out = Vec::new();
    let notes = projection.write(document.root().unwrap(), &mut out);
    (String::from_utf8(out).unwrap(), notes)
}
