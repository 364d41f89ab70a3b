//! Applies a request, or says why it cannot be applied.

use super::{Call, META, Projector, STRUCTURED, parts, schema};
use crate::{Mode, Reply, Request};
use crossfeed_json::{Cursor, Edits, Kind};
use crossfeed_projection::{Path, PathTree, Projection};

/// The reason for a result without JSON.
const NO_JSON: &str = "the result has no `structuredContent`, and no single text that is JSON";

impl Projector {
    /// Projects the result as requested, or says why not.
    pub(super) fn apply(
        &self,
        call: &Call<'_>,
        root: Cursor<'_>,
        request: &Request,
        edits: &mut Edits<'_>,
    ) -> Result<Reply, String> {
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
                    let may_be_shown = |name: &&str| !self.rules.mentions_never(name);
                    let names: Vec<_> = names.filter(may_be_shown).collect();
                    return Err(if names.is_empty() {
                        "the tool has no views".to_owned()
                    } else {
                        format!("the view is not one of `{}`", names.join("`, `"))
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
        let text = own.is_none().then(|| parts::only_json(root)).flatten();
        let text = text.as_ref().and_then(|text| text.root().ok());
        let Some(source) = own.or(text) else {
            return Err(NO_JSON.to_owned());
        };
        let mut reply = Reply {
            applied: true,
            ..about(request)
        };
        let mut projection = Projection::new().with_rules(self.rules.clone());
        if let Some(tree) = paths.map(PathTree::new) {
            reply.fields = Some(tree.paths().iter().map(ToString::to_string).collect());
            projection = match request.mode {
                Mode::Exclude => projection.with_exclude(tree),
                _ => projection.with_include(tree),
            };
        }
        let mut json = Vec::new();
        reply.diagnostics = projection.write(source, &mut json);
        if let Some(own) = own {
            edits.replace(own, json.clone());
            if let Some(schema) = &tool.output_schema {
                match schema::announced(schema, &projection, &json) {
                    Ok(schema) => reply.projected_schema = Some(schema),
                    Err(note) => reply.diagnostics.push(note),
                }
            }
        }
        parts::regenerate(root, &json, edits);
        Ok(reply)
    }
}

/// The part of a reply that describes the request.
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
