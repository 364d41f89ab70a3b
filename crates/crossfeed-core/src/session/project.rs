//! What leaves a session of its results, cut to what was asked for.

use super::{Session, offload::is_plain_path, work::Work};
use crate::{
    canonical::Stored,
    engine::Inner,
    error::{LimitError, SelectError},
    failure::{Error, Failure},
    project::{ProjectOptions, Projected, ProjectionContext, announced},
    resolve::LookupKey,
    reveal::Unredacted,
    telemetry::{number, stage},
    trace::staged,
};
use bytes::Bytes;
use crossfeed_jmespath::{Arena, Budget, View};
use crossfeed_json::{Cursor, Document};
use crossfeed_output_schema::LearnedSchema;
use crossfeed_projection::{Diagnostic, DiagnosticKind};
use crossfeed_wire::{CallId, Scope};
use serde_json::Value;
use std::sync::Arc;

/// What is said where something is withheld: not what it is.
const WITHHELD: &str = "some of the result is withheld by a rule of the host; no request shows it";

impl Session {
    /// A recorded result's canonical value, or what a selector picks of it, cut to what is asked for:
    /// always without what may never be revealed.
    ///
    /// A schema comes with it where the tool's output has one, declared or learned, and the projected
    /// value was found to be valid by what becomes of it.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, it is of a failed call or cannot be read, the
    /// selector picks nothing or is refused, or the request names what there is not to name:
    /// `projection.invalid`.
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
        let projected = match self.found(&LookupKey::new(call_id, None)).await {
            Ok(stored) => self.cut(call_id, stored, options, false).await,
            Err(failure) => Err(failure),
        };
        projected.inspect_err(|failure| self.note_told(failure))
    }

    /// Cuts what is stored of a call. `failures`, if what a call failed with is passed on as it is.
    pub(super) async fn cut(
        &self,
        call_id: &CallId,
        stored: Unredacted,
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
        let cutting = self.try_cut(call_id, stored, options, failures);
        let cut = staged(span, cutting, |span, projected| {
            span.record("crossfeed.bytes.out", number(projected.json.len()));
            span.record("crossfeed.tokens", number(projected.tokens));
            let diagnostics = projected.diagnostics.iter().count();
            span.record("crossfeed.diagnostics", number(diagnostics));
        });
        cut.await
    }

    async fn try_cut(
        &self,
        call_id: &CallId,
        stored: Unredacted,
        options: &ProjectOptions,
        failures: bool,
    ) -> Result<Projected, Failure> {
        let key = LookupKey::new(call_id, None);
        let (scope, wanted) = (self.scope.clone(), options.clone());
        let small = options.select.as_deref().is_none_or(is_plain_path);
        let cutting = self.show(&key, stored, small, move |on| {
            let mut projected = if failures && on.shown.failure().is_some() {
                failed(on)?
            } else {
                if !wanted.failures {
                    on.succeeded()?;
                }
                projected(on, &scope, &wanted)?
            };
            if on.is_withheld() {
                let withheld = Diagnostic::new(DiagnosticKind::Withheld, "", WITHHELD);
                projected.diagnostics.push(withheld);
            }
            let showing = on.showing(projected.tokens, false);
            Ok((projected, Some(showing)))
        });
        cutting.await.map_err(|failure| match failure.error {
            Error::Select(_) => failure.with_expression(options.select.as_deref()),
            _ => failure,
        })
    }

    /// Learns the schema of a tool's output from a recorded result: of what may be revealed of it, for
    /// this tenant and project only. What a call failed with, and a result whose tool is not known,
    /// teach nothing; the answer is whether it did.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, or it cannot be read.
    pub async fn learn(&self, call_id: &CallId) -> Result<bool, Failure> {
        let key = LookupKey::new(call_id, None);
        let scope = self.scope.clone();
        let learning = self.work_on_found(&key, true, move |on| {
            let tool = on.shown.tool().filter(|_| on.shown.failure().is_none());
            let Some(tool) = tool else {
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

    /// What was learned of a tool's output in this tenant and project.
    #[must_use]
    pub fn learned(&self, tool: &str) -> Option<LearnedSchema> {
        self.inner().learned.of(&self.scope, tool)
    }
}

fn projected(
    on: &Work<'_>,
    scope: &Scope,
    options: &ProjectOptions,
) -> Result<Projected, Box<Failure>> {
    let Work {
        inner,
        arena,
        shown,
        ..
    } = on;
    let (views, budget) = on.views()?;
    let (view, selected) = match options.select.as_deref() {
        None => (views.canonical.clone(), None),
        Some(text) => {
            let selection = inner.select_in(&views, arena, &budget, text)?;
            (selection.view, Some(selection.report))
        }
    };
    let rules = inner.options.reveal.rules(shown.tool());
    let request = &options.request;
    let resource = options.resource.as_deref();
    let mut json = Vec::new();
    let applied = on_root(&view, options.select.as_deref(), arena, &budget, |root| {
        let plan = request.plan(&options.views, resource, options.operation, rules)?;
        plan.project(root, &mut json)
    })?;
    let applied = applied.map_err(|error| rules.scrubbed_error(error))?;
    let mut diagnostics = rules.scrubbed_diagnostics(applied.diagnostics, request);
    let (json, mut schema) = (Bytes::from(json), None);
    if let Some(output) = output_schema(inner, scope, shown, options) {
        let asked = ProjectionContext {
            selected: selected.as_ref(),
            projection: &applied.projection,
            rules,
        };
        let value = Document::new(json.clone());
        match announced(&output, &asked, &value, &inner.schemas) {
            Ok(told) => schema = Some(told),
            Err(why) => diagnostics.push(why),
        }
    }
    Ok(Projected {
        tokens: on.count(&json),
        json: json.into(),
        schema,
        diagnostics,
        failed: false,
    })
}

/// What a call failed with, as it may be shown.
fn failed(on: &Work<'_>) -> Result<Projected, Box<Failure>> {
    let (views, budget) = on.views()?;
    let json = written(&views.canonical, None, &on.arena, &budget)?;
    Ok(Projected {
        tokens: on.count(&json),
        json,
        schema: None,
        diagnostics: Default::default(),
        failed: true,
    })
}

/// The schema of a tool's output: as it is declared, else as it was learned.
fn output_schema(
    inner: &Inner,
    scope: &Scope,
    stored: &Stored,
    options: &ProjectOptions,
) -> Option<Arc<Value>> {
    if let Some(declared) = &options.output_schema {
        return Some(Arc::clone(declared));
    }
    let learned = inner.learned.of(scope, stored.tool()?)?;
    learned.schema().map(Arc::new)
}

/// Works on a value as a place of a document: of one of its own, where an expression built it.
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

/// A value as JSON; `select` is what gave it.
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
