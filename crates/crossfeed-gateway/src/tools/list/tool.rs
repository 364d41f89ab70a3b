//! One tool, as it is offered.
//!
//! What comes in: a tool of a server, rewritten. What goes out: its bytes in the list, and what must be
//! known of it when it is called.

use super::{HeaderParameter, output, root, said};
use crate::{
    Revision,
    config::ServerConfig,
    tools::{extra, members::take_out, profile::Choice},
    upstream::Header,
};
use bytes::Bytes;
use crossfeed_core::{Engine, PreparedTool};
use crossfeed_json::{Cursor, Document, Edits, quoted};
use crossfeed_projection::{Projection, RevealRules};
use crossfeed_schema::{ListedTool, OutputSchema, SchemaError, projected_schema};
use serde_json::{Value, json};
use std::sync::Arc;

/// Whether a value conforms to an output schema.
type Judge = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// An output schema without what the configuration withholds; none where that cannot be told.
fn without(schema: &Value, rules: &Arc<RevealRules>) -> Option<Value> {
    if rules.never_is_empty() {
        return Some(schema.clone());
    }
    let projection = Projection::new().with_rules(Arc::clone(rules));
    projected_schema(schema, &projection).ok()
}

/// A tool of a server, rewritten.
pub(super) struct Rewritten {
    /// As it came.
    pub(super) raw: Bytes,
    /// The same without what is no matter of ours.
    own: Value,
    /// The output schema that is listed in place of its own, if one is, without what is withheld.
    output: Option<Value>,
    /// Whether its own output schema is listed: what a page reads is left alone, and so is what nobody
    /// refers to.
    keeps_output: bool,
    pub(super) offered: Arc<Offered>,
}

/// A tool of a server that can be called.
pub(in crate::tools) struct Offered {
    /// Which server, by its place in the configuration.
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
    /// Whether large results are shown as previews.
    pub(in crate::tools) previews: bool,
    /// What of its results the configuration withholds.
    pub(in crate::tools) withheld: Arc<RevealRules>,
    /// What it says that it returns.
    pub(in crate::tools) output: Option<OutputSchema>,
    /// What is to be known to project its results, where they may be.
    pub(in crate::tools) projected: Option<crossfeed_mcp::Tool>,
    judge: Option<Judge>,
}

impl Offered {
    /// Whether an output schema is listed, so that clients ask for structured content.
    pub(in crate::tools) fn has_output(&self) -> bool {
        self.judge.is_some()
    }

    /// Whether something of its results may be withheld.
    pub(in crate::tools) fn withholds(&self) -> bool {
        !self.withheld.never_is_empty()
    }

    /// The headers that go along with these arguments.
    pub(in crate::tools) fn headers_of(&self, arguments: Cursor<'_>) -> Vec<Header> {
        let parameters = self.headers.iter();
        parameters.filter_map(|own| own.header(arguments)).collect()
    }

    /// Whether structured content conforms to what is listed.
    pub(in crate::tools) fn admits(&self, structured: &Value) -> bool {
        self.judge.as_ref().is_none_or(|judge| judge(structured))
    }
}

impl Rewritten {
    /// A tool of the server at this place, as it came, what is read of it, and as it is listed.
    pub(super) fn new(
        engine: &Engine,
        (index, server): (usize, &ServerConfig),
        (raw, own, listed): (Bytes, Value, ListedTool),
        is_chained: bool,
    ) -> Self {
        let described = crossfeed_mcp::Tool::read(&own);
        let keeps_output = described.has_page || !is_chained;
        let own_output = own.get("outputSchema");
        let shown_output = own_output.and_then(|own| without(own, &server.withheld));
        let judge = shown_output.as_ref().filter(|_| !keeps_output);
        let output = judge.and_then(output::safe);
        let judge = output.as_ref();
        let judge = judge.and_then(|schema| crossfeed_schema::compile(schema).ok());
        let source = format!("{}/{}", server.name, listed.name());
        let offered = Offered {
            server: index,
            source: source.into(),
            headers: HeaderParameter::of(listed.input_schema()),
            is_chained,
            has_page: described.has_page,
            previews: server.previews,
            withheld: Arc::clone(&server.withheld),
            output: own_output
                .cloned()
                .map(|own| OutputSchema::new(own).without(&server.withheld)),
            projected: server.projection.then_some(described),
            judge: judge.map(|judge| -> Judge { Box::new(move |value| judge.is_valid(value)) }),
            prepared: engine.prepare(listed),
        };
        let output = if keeps_output {
            shown_output.filter(|_| offered.withholds())
        } else {
            output
        };
        Self {
            raw,
            own,
            output,
            keeps_output,
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

    /// What becomes of the output schema, where it is not listed as it came.
    pub(super) fn output_notice(&self) -> Option<&'static str> {
        let own = self.own.get("outputSchema")?;
        if self.keeps_output {
            return None;
        }
        match &self.output {
            None => Some("its output schema is not listed: clients would refuse it"),
            Some(safe) if safe != own => Some("its output schema is listed wider"),
            Some(_) => None,
        }
    }

    /// Its bytes in the list, under a name.
    pub(super) fn written_as(
        &self,
        name: &str,
        choice: Choice,
        (extra, revision): (&[&str], Revision),
    ) -> Bytes {
        let own_output = self.own.get("outputSchema");
        let listed_output = if self.keeps_output {
            let own = own_output.filter(|_| !self.offered.withholds());
            // Before 2026-07-28 a client refuses the whole list for any other root.
            self.output
                .as_ref()
                .or(own)
                .filter(|own| revision.is_stateless() || own.get("type") == Some(&json!("object")))
        } else {
            self.output.as_ref()
        };
        let says = self.offered.output.as_ref();
        let says = says.filter(|_| self.offered.is_chained);
        let description = says.and_then(|output| {
            let own = self.own.get("description").and_then(Value::as_str);
            let has_inspector = extra.contains(&extra::INSPECT);
            said::description(own, output, name, has_inspector, choice.description())
        });
        self.written(
            name,
            description.as_deref(),
            own_output,
            listed_output,
            revision.is_stateless() && choice.keeps_roots(),
        )
    }

    /// The shown schema with what the tool's own root combines, where its parameters are shown by
    /// their own names and beside references.
    fn combined_root(&self) -> Option<Value> {
        let listed = self.listed();
        let is_plain = listed.names().is_empty() && listed.folded() == 0;
        listed.references().filter(|_| is_plain)?;
        root::combined(self.own.get("inputSchema")?, listed.shown_schema())
    }

    fn written(
        &self,
        name: &str,
        description: Option<&str>,
        own_output: Option<&Value>,
        listed_output: Option<&Value>,
        keeps_root: bool,
    ) -> Bytes {
        let document = Document::new(self.raw.clone());
        let Ok(root) = document.root() else {
            return self.raw.clone();
        };
        let mut edits = Edits::new(document.raw());
        if self.own.get("name").and_then(Value::as_str) != Some(name) {
            edits.put(root, "name", quoted(name));
        }
        if let Some(description) = description {
            edits.put(root, "description", quoted(description));
        }
        let shown = self.listed().shown_schema();
        let is_rewritten = self.own.get("inputSchema") != Some(shown);
        if self.listed().error().is_none() && is_rewritten {
            let combined = self.combined_root().filter(|_| keeps_root);
            let shown = combined.as_ref().unwrap_or(shown);
            edits.put(root, "inputSchema", shown.to_string());
        }
        match listed_output {
            Some(schema) if own_output != Some(schema) => {
                edits.put(root, "outputSchema", schema.to_string());
            }
            Some(_) => {}
            None => take_out(&mut edits, root, |key| key == "outputSchema"),
        }
        match edits.done() {
            std::borrow::Cow::Borrowed(_) => self.raw.clone(),
            std::borrow::Cow::Owned(bytes) => bytes.into(),
        }
    }
}
