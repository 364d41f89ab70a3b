//! One tool as it is offered: its bytes in the list, and what its calls need to know.

use super::{HeaderParameter, Terms, description, root};
use crate::{Revision, config::ServerConfig, members::edited, message::Header};
use bytes::Bytes;
use crossfeed_core::{Engine, PreparedTool};
use crossfeed_json::{Change, Cursor, quoted};
use crossfeed_output_schema::{OutputSchema, projected_schema};
use crossfeed_projection::{Projection, RevealRules};
use crossfeed_schema::SchemaError;
use crossfeed_tools::ListedTool;
use crossfeed_wire::View;
use serde_json::Value;
use std::sync::Arc;

/// An output schema without what the configuration withholds; none where that cannot be told.
fn without(schema: &Value, rules: &Arc<RevealRules>) -> Option<Value> {
    if rules.never_is_empty() {
        return Some(schema.clone());
    }
    let projection = Projection::new().with_rules(Arc::clone(rules));
    projected_schema(schema, &projection).ok()
}

/// Who a tool is listed to.
#[derive(Clone, Copy)]
pub(super) struct Audience {
    pub(super) terms: Terms,
    pub(super) revision: Revision,
    /// Whether the gateway's own tool that looks into output schemas is listed, too.
    pub(super) has_inspector: bool,
}

const OUTPUT: &str = "outputSchema";

/// The place of the gateway's own tools among those of servers: none is there.
const OWN_SERVER: usize = usize::MAX;

/// A tool of a server, rewritten.
pub(super) struct RewrittenTool {
    /// As it came.
    pub(super) raw: Bytes,
    /// What the gateway reads of it.
    own: Value,
    /// Whether its results are never cut: what a page reads is left alone, and so is what nothing refers to.
    is_whole: bool,
    pub(super) offered: Arc<Offered>,
}

/// A tool of a server that can be called.
pub(in crate::tools) struct Offered {
    /// Which server, by its place in the configuration; no place of one for a tool of the gateway.
    pub(in crate::tools) server: usize,
    /// `server/tool`, by which flow rules and stored results name it.
    pub(in crate::tools) source: Arc<str>,
    /// The way back, and the tool's own schema.
    pub(in crate::tools) prepared: PreparedTool,
    /// What goes along as headers.
    pub(in crate::tools) headers: Vec<HeaderParameter>,
    /// Whether it takes references and its results are kept.
    pub(in crate::tools) is_chained: bool,
    /// Whether a page of its own reads its results.
    pub(in crate::tools) has_page: bool,
    /// What of its results the configuration withholds.
    pub(in crate::tools) withheld: Arc<RevealRules>,
    /// What it says that it returns.
    pub(in crate::tools) output: Option<OutputSchema>,
    /// What is to be known to project its results, where they may be.
    pub(in crate::tools) projected: Option<crossfeed_mcp::Tool>,
}

impl Offered {
    /// A tool of the gateway, whose results are recorded.
    #[cfg(feature = "sql")]
    pub(in crate::tools) fn own(engine: &Engine, source: String, listed: ListedTool) -> Self {
        Self {
            server: OWN_SERVER,
            source: source.into(),
            prepared: engine.prepare(listed),
            headers: Vec::new(),
            is_chained: true,
            has_page: false,
            withheld: Arc::default(),
            output: None,
            projected: None,
        }
    }

    /// What its results hold besides what its arguments do; the gateway's own tools have nothing of their own.
    pub(in crate::tools) fn own_source(&self) -> Option<&str> {
        (self.server != OWN_SERVER).then_some(&*self.source)
    }

    /// Whether something of its results may be withheld.
    pub(in crate::tools) fn withholds(&self) -> bool {
        !self.withheld.never_is_empty()
    }

    /// Whether its parameters are shown by their own names and as they are.
    pub(in crate::tools) fn keeps_parameters(&self) -> bool {
        let listed = self.prepared.listed();
        listed.names().is_empty() && listed.folded() == 0
    }

    /// The headers that go along with these arguments.
    pub(in crate::tools) fn headers_of(&self, arguments: Cursor<'_>) -> Vec<Header> {
        let parameters = self.headers.iter();
        parameters.filter_map(|own| own.header(arguments)).collect()
    }
}

impl RewrittenTool {
    /// A tool of the server at this place, as it came, what is read of it, and as it is listed.
    pub(super) fn new(
        engine: &Engine,
        (index, server): (usize, &ServerConfig),
        (raw, own, listed): (Bytes, Value, ListedTool),
        is_chained: bool,
    ) -> Self {
        let described = crossfeed_mcp::Tool::read(&own);
        let is_whole = described.has_page || !is_chained;
        let source = format!("{}/{}", server.name, listed.name());
        let offered = Offered {
            server: index,
            source: source.into(),
            headers: HeaderParameter::from_schema(listed.input_schema()),
            is_chained,
            has_page: described.has_page,
            withheld: Arc::clone(&server.withheld),
            output: own
                .get(OUTPUT)
                .map(|own| OutputSchema::new(own.clone()).without(&server.withheld)),
            projected: server.projection.then_some(described),
            prepared: engine.prepare(listed),
        };
        Self {
            raw,
            own,
            is_whole,
            offered: Arc::new(offered),
        }
    }

    pub(super) fn listed(&self) -> &ListedTool {
        self.offered.prepared.listed()
    }

    /// Whether it is listed as it came because the list took too much.
    pub(super) fn is_unjudged(&self) -> bool {
        matches!(self.listed().error(), Some(SchemaError::Unjudged))
    }

    /// Its bytes in the list, under a name.
    pub(super) fn written_as(&self, name: &str, to: Audience) -> Bytes {
        let written = edited(&self.raw, |edits, root| {
            if self.own["name"] != name {
                edits.put(root, "name", quoted(name));
            }
            if let Some(description) = self.description(name, to) {
                edits.put(root, "description", quoted(&description));
            }
            let shown = self.listed().shown_schema();
            let is_rewritten = self.own.get("inputSchema") != Some(shown) && !self.stays(to);
            if self.listed().error().is_none() && is_rewritten {
                // Older clients refuse a whole list for a root without a type; no other is known to be refused.
                let keeps_root = self.takes_root(to) && to.terms.choice.keeps_roots();
                let combined = self.combined_root().filter(|_| keeps_root);
                let shown = combined.as_ref().unwrap_or(shown);
                edits.put(root, "inputSchema", shown.to_string());
            }
            match self.output(root, to) {
                Change::Keep => {}
                Change::Replace(schema) => edits.put(root, OUTPUT, schema),
                Change::Remove => {
                    edits.remove_members(root, |key| key == OUTPUT);
                }
            }
        });
        written.unwrap_or_else(|| self.raw.clone())
    }

    /// Whether the client takes any root; older ones take one that says that it is an object.
    fn takes_root(&self, to: Audience) -> bool {
        to.revision.is_stateless() || self.own["inputSchema"]["type"] == "object"
    }

    /// Whether the input schema of a tool that is never chained is listed as it came: where no provider is known
    /// that refuses it, and its parameters keep their names.
    fn stays(&self, to: Audience) -> bool {
        !self.offered.is_chained
            && self.offered.keeps_parameters()
            && self.takes_root(to)
            && to.terms.choice.leaves_schemas()
    }

    /// The description with the fields of the output schema, where that is not listed.
    fn description(&self, name: &str, to: Audience) -> Option<String> {
        if !self.offered.is_chained || to.terms.view == View::Program {
            return None;
        }
        let own = self.own["description"].as_str();
        let output = self.offered.output.as_ref()?;
        let longest = to.terms.choice.description();
        description::with_output_fields(own, output, name, to.has_inspector, longest)
    }

    /// What is listed as the output schema. Where results may be cut there is none: clients refuse a result
    /// that does not conform to one, and a preview does not.
    fn output(&self, tool: Cursor<'_>, to: Audience) -> Change {
        let Some(own) = tool.get(OUTPUT) else {
            return Change::Keep;
        };
        if !self.is_whole && to.terms.view != View::Program {
            return Change::Remove;
        }
        // Before 2026-07-28 a client refuses the whole list for any other root.
        let kind = own.get("type").and_then(Cursor::as_str);
        if !to.revision.is_stateless() && kind.as_deref() != Some("object") {
            return Change::Remove;
        }
        if !self.offered.withholds() {
            return Change::Keep;
        }
        let shown = self.own.get(OUTPUT);
        let shown = shown.and_then(|own| without(own, &self.offered.withheld));
        shown.map_or(Change::Remove, |own| {
            Change::Replace(own.to_string().into())
        })
    }

    /// The shown schema with what the tool's own root combines, where its parameters are shown by
    /// their own names and beside references.
    fn combined_root(&self) -> Option<Value> {
        let listed = self.listed();
        listed
            .references()
            .filter(|_| self.offered.keeps_parameters())?;
        root::combined(self.own.get("inputSchema")?, listed.shown_schema())
    }
}
