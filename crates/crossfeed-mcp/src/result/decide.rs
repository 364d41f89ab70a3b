//! Whether a request is followed, and why not.

use super::{Call, META, Projector, STRUCTURED, parts};
use crate::{Mode, Reply, Request};
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_projection::{Path, PathTree};

/// What is said of a result in which there is no JSON.
const NOTHING: &str = "the result has no `structuredContent`, and no single text that is JSON";

/// A request that is followed.
pub(super) struct Wanted<'a> {
    pub(super) include: Option<PathTree>,
    pub(super) exclude: Option<PathTree>,
    pub(super) source: Source<'a>,
    /// What is said once it was applied.
    pub(super) reply: Reply,
}

/// What is projected.
pub(super) enum Source<'a> {
    Structured(Cursor<'a>),
    /// The only text, which is JSON.
    Text(Document),
}

impl Projector {
    /// What is to be done, or why nothing is.
    pub(super) fn decide<'a>(
        &self,
        call: &Call<'_>,
        root: Cursor<'a>,
        request: &Request,
    ) -> Result<Wanted<'a>, String> {
        let tool = call.tool;
        if call.has_page {
            return Err("the tool has a page that reads the whole result".to_owned());
        }
        if !tool.annotation.supported {
            return Err("the tool does not support projection".to_owned());
        }
        if !self.capability.modes.contains(&request.mode) {
            return Err(format!("mode `{}` is not supported", request.mode));
        }
        // `None` is everything.
        let paths: Option<Vec<Path>> = match &request.view {
            None => Some(request.fields.clone()),
            Some(view) => match tool.annotation.views.get(view) {
                Some(paths) => paths.map(<[Path]>::to_vec),
                None => {
                    let names = tool.annotation.views.names();
                    let may_be_told = |name: &&str| !self.rules.mentions_never(name);
                    let names: Vec<_> = names.filter(may_be_told).collect();
                    return Err(if names.is_empty() {
                        "the tool has no views".to_owned()
                    } else {
                        format!("the view is none of `{}`", names.join("`, `"))
                    });
                }
            },
        };
        let most = self.capability.max_depth;
        let too_deep = paths
            .iter()
            .flatten()
            .find(|path| path.steps().len() > most);
        if let Some(path) = too_deep {
            return Err(format!("path `{path}` is deeper than {most}"));
        }
        let own = root.get(STRUCTURED).filter(|own| own.kind() != Kind::Null);
        let text = || parts::only_json(root).map(Source::Text);
        let Some(source) = own.map(Source::Structured).or_else(text) else {
            return Err(NOTHING.to_owned());
        };
        let tree = paths.map(PathTree::of);
        let fields = tree.as_ref().map(|tree| {
            let paths = tree.paths();
            paths.iter().map(ToString::to_string).collect()
        });
        let (include, exclude) = match request.mode {
            Mode::Exclude => (None, tree),
            _ => (tree, None),
        };
        Ok(Wanted {
            include,
            exclude,
            source,
            reply: Reply {
                applied: true,
                fields,
                ..about(request)
            },
        })
    }
}

/// What is said of a request, whatever becomes of it.
pub(super) fn about(request: &Request) -> Reply {
    Reply {
        mode: Some(request.mode),
        view: request.view.clone(),
        ..Reply::default()
    }
}

/// Whether the result itself names a page that shows it.
pub(super) fn names_page(root: Cursor<'_>) -> bool {
    let meta = root.get(META);
    let page = meta.and_then(|meta| meta.get("ui").or_else(|| meta.get("ui/resourceUri")));
    page.is_some_and(|page| page.kind() != Kind::Null)
}
