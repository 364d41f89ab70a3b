//! Projects results to what was requested.

use super::{Session, offload::is_plain_path, work::Work};
use crate::{
    error::{LimitError, SelectError},
    failure::{Error, Failure},
    project::{ProjectOptions, Projected, ProjectionContext, announced},
    resolve::LookupKey,
    reveal::UnredactedItem,
    telemetry::{number, stage},
    trace::staged,
};
use bytes::Bytes;
use crossfeed_jmespath::{Arena, Budget, View};
use crossfeed_json::{Cursor, Document};
use crossfeed_output_schema::LearnedSchema;
use crossfeed_projection::{Diagnostic, DiagnosticKind};
use crossfeed_wire::{CallId, Scope};
use std::sync::Arc;

/// The diagnostic for a redacted result, which does not say what is withheld.
const WITHHELD: &str = "some of the result is withheld by a rule of the host; no request shows it";

impl Session {
    /// A recorded result's canonical value, or what a selector picks of it, cut to what is requested and without what
    /// is never revealed.
    ///
    /// It comes with a schema if the tool's output has one, declared or learned, and the projected value is valid by
    /// the projected schema.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no such result, its call failed or it cannot be read, the selector picks nothing or is
    /// refused, or the request is invalid: `projection.invalid`.
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, ProjectOptions, ToolResult};
    /// use crossfeed_projection::ProjectionRequest;
    /// use crossfeed_wire::{CallId, Scope};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let engine = Engine::in_memory(EngineOptions::default());
    /// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    /// let call = CallId::parse("call_1")?;
    /// let found = r#"{"items": [{"id": 1, "body": "a"}, {"id": 2, "body": "b"}], "next": null}"#;
    /// session.record(&call, ToolResult::json(found)).await?;
    ///
    /// let request = ProjectionRequest::new().with_include(["items.id"]);
    /// let options = ProjectOptions::default().with_request(request);
    /// let projected = session.project(&call, &options).await?;
    /// assert_eq!(projected.json, br#"{"items":[{"id":1},{"id":2}]}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn project(
        &self,
        call_id: &CallId,
        options: &ProjectOptions,
    ) -> Result<Projected, Failure> {
        let projecting = async {
            let stored = self.found(&LookupKey::new(call_id, None)).await?;
            self.cut(call_id, stored, options, false).await
        };
        projecting
            .await
            .inspect_err(|failure| self.note_told(failure))
    }

    /// Cuts the result of a call. `failures`: the error of a failed call is passed on unchanged.
    pub(super) async fn cut(
        &self,
        call_id: &CallId,
        stored: UnredactedItem,
        options: &ProjectOptions,
        failures: bool,
    ) -> Result<Projected, Failure> {
        let span = stage!(
            "crossfeed::project",
            "crossfeed.project",
            "gen_ai.tool.call.id" = call_id.as_str(),
            "crossfeed.bytes.in" = number(stored.as_stored().document().raw().len()),
            "crossfeed.bytes.out" = tracing::field::Empty,
            "crossfeed.tokens" = tracing::field::Empty,
            "crossfeed.diagnostics" = tracing::field::Empty,
        );
        let key = LookupKey::new(call_id, None);
        let (scope, wanted) = (self.scope.clone(), options.clone());
        let small = options.select.as_deref().is_none_or(is_plain_path);
        let cutting = self.show(&key, stored, small, move |on| {
            let mut projected = match on.succeeded() {
                Err(_) if failures => failed(on)?,
                Err(error) if !wanted.failures => return Err(error.into()),
                _ => projected(on, &scope, &wanted)?,
            };
            if on.is_withheld() {
                let withheld = Diagnostic::new(DiagnosticKind::Withheld, "", WITHHELD);
                projected.diagnostics.push(withheld);
            }
            let showing = on.showing(projected.tokens, false);
            Ok((projected, Some(showing)))
        });
        let projected = staged(span, cutting, |span, projected| {
            span.record("crossfeed.bytes.out", number(projected.json.len()));
            span.record("crossfeed.tokens", number(projected.tokens));
            let diagnostics = projected.diagnostics.iter().count();
            span.record("crossfeed.diagnostics", number(diagnostics));
        });
        projected.await.map_err(|failure| match failure.error {
            Error::Select(_) => failure.with_expression(options.select.as_deref()),
            _ => failure,
        })
    }

    /// Learns the schema of a tool's output from a recorded result, redacted, for this tenant and project only. Ignores
    /// errors of failed calls and results of unknown tools; returns whether it learned.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no such result, or it cannot be read.
    pub async fn learn(&self, call_id: &CallId) -> Result<bool, Failure> {
        let key = LookupKey::new(call_id, None);
        let scope = self.scope.clone();
        let learning = self.work_on_found(&key, true, move |on| {
            let Some(tool) = on.shown.tool().filter(|_| on.shown.failure().is_none()) else {
                return Ok(false);
            };
            let (views, budget) = on.views()?;
            on_root(&views.canonical, None, &on.arena, &budget, |root| {
                on.inner.learned.observe(&scope, tool, root);
            })?;
            Ok(true)
        });
        learning.await
    }

    /// The schema learned of a tool's output in this tenant and project.
    pub fn learned(&self, tool: &str) -> Option<LearnedSchema> {
        self.inner().learned.get(&self.scope, tool)
    }
}

fn projected(
    on: &Work<'_>,
    scope: &Scope,
    options: &ProjectOptions,
) -> Result<Projected, Box<Failure>> {
    let Work { inner, arena, .. } = on;
    let (views, budget) = on.views()?;
    let select = options.select.as_deref();
    let (view, selected) = match select {
        None => (views.canonical.clone(), None),
        Some(text) => {
            let selection = inner.select_in(&views, arena, &budget, text)?;
            (selection.view, Some(selection.report))
        }
    };
    let rules = inner.options.reveal.rules(on.shown.tool());
    let (request, resource) = (&options.request, options.resource.as_deref());
    let mut json = Vec::new();
    let applied = on_root(&view, select, arena, &budget, |root| {
        let plan = request.plan(&options.views, resource, options.operation, rules)?;
        plan.project(root, &mut json)
    })?;
    let applied = applied.map_err(|error| rules.scrubbed_error(error))?;
    let mut diagnostics = rules.scrubbed_diagnostics(applied.diagnostics, request);
    let (json, mut schema) = (Bytes::from(json), None);
    // The declared schema, else the learned one.
    let learned = || {
        inner
            .learned
            .get(scope, on.shown.tool()?)?
            .schema()
            .map(Arc::new)
    };
    if let Some(output) = options.output_schema.clone().or_else(learned) {
        let context = ProjectionContext {
            selected: selected.as_ref(),
            projection: &applied.projection,
            rules,
        };
        let value = Document::new(json.clone());
        match announced(&output, &context, &value, &inner.schemas) {
            Ok(announced) => schema = Some(announced),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    Ok(Projected {
        tokens: on.count(&json),
        json: json.into(),
        schema,
        diagnostics,
        report: selected,
        failed: false,
    })
}

/// The redacted error of a failed call.
fn failed(on: &Work<'_>) -> Result<Projected, Box<Failure>> {
    let (views, budget) = on.views()?;
    let json = written(&views.canonical, None, &on.arena, &budget)?;
    Ok(Projected {
        tokens: on.count(&json),
        json,
        schema: None,
        diagnostics: Default::default(),
        report: None,
        failed: true,
    })
}

/// Works on a value as a cursor: into a document of its own, if an expression built it.
pub(super) fn on_root<T>(
    view: &View<'_>,
    select: Option<&str>,
    arena: &Arena,
    budget: &Budget,
    work: impl FnOnce(Cursor<'_>) -> T,
) -> Result<T, Error> {
    if let Some(root) = view.as_cursor() {
        return Ok(work(root));
    }
    let built = Document::new(written(view, select, arena, budget)?);
    let root = built.root().map_err(LimitError::Unreadable)?;
    Ok(work(root))
}

/// A value as JSON; `select` is the selector that picked it.
pub(super) fn written(
    view: &View<'_>,
    select: Option<&str>,
    arena: &Arena,
    budget: &Budget,
) -> Result<Vec<u8>, Error> {
    let limit = budget.output_bytes();
    let bytes = view.written_len(limit).unwrap_or(limit);
    let mut json = Vec::new();
    let reserved = arena.reservation().grow_by(&mut json, bytes);
    reserved.map_err(LimitError::from)?;
    match (view.write(&mut json, limit), select) {
        (Ok(()), _) => Ok(json),
        (Err(why), Some(text)) => Err(SelectError::TooCostly {
            expression: text.to_owned(),
            why: why.to_string(),
        }
        .into()),
        (Err(_), None) => Err(LimitError::TooLarge { limit }.into()),
    }
}
