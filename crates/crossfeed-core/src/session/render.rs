//! What a session shows a model of its results: renderings and hints.

use super::{Session, is_small_result, succeeded};
use crate::{
    account::{Coverage, Fingerprint, SessionUsage, ShownItem},
    canonical::{Stored, ViewError, Views},
    engine::Inner,
    error::{LimitError, SelectError},
    failure::{Error, Failure},
    hint::{HintDetail, StructureHints},
    paths::Outline,
    render::{RenderContext, RenderOptions, Rendered, ShowError, show, whole_tokens},
    reveal::Unredacted,
    select::{Selection, Selector},
    strip::StripPolicy,
    telemetry::{number, stage},
    trace::staged,
};
use crossfeed_jmespath::{Arena, Budget, Kind, View};
use crossfeed_json::Cursor;
use crossfeed_store::ResultKind;
use crossfeed_wire::{CallId, View as Reader};
use serde_json::{Value, json};
use std::{borrow::Cow, cell::Cell, sync::Arc};

/// The most tokens of a rendering with which the work stays on the async thread.
const SMALL_TOKENS: usize = 4000;
/// The member of hints for selectors whose values fit a parameter.
const FITTING: &str = "fittingSelectors";

impl Session {
    /// What the model is shown of a result: whole if it is small, else a preview that is never longer
    /// than its budget, says that it is one, and how to reach the rest. A preview is a text that cannot
    /// be read as JSON, so that nobody takes it for the data. A call that failed is shown like any
    /// other.
    ///
    /// For a program ([`View::Program`](crossfeed_wire::View)) it is what was recorded, byte for byte and of
    /// any size, without fields of the engine's, and not counted as shown.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, it nests too deep to be read, or the budget does not
    /// hold even the call id ([`RenderError`](crate::RenderError)).
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, RenderOptions, ShownHints, ToolResult};
    /// use crossfeed_wire::{CallId, Scope};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let engine = Engine::in_memory(EngineOptions::default());
    /// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    /// let call = CallId::parse("call_1")?;
    /// session.record(&call, ToolResult::json(r#"{"total": 2, "items": ["a", "b"]}"#)).await?;
    ///
    /// let shown = session.render(&call, &RenderOptions::default()).await?;
    /// assert_eq!(shown.json, r#"{"total":2,"items":["a", "b"],"_toolCallId":"call_1"}"#);
    /// assert!(shown.whole);
    ///
    /// // What is larger is cut, and says so.
    /// let pages = format!(r#"{{"pages": [{}1]}}"#, "2, ".repeat(9999));
    /// let call = CallId::parse("call_2")?;
    /// session.record(&call, ToolResult::json(pages)).await?;
    /// let options = RenderOptions::default().with_budget(80).with_hints(ShownHints::Never);
    /// let shown = session.render(&call, &options).await?;
    /// assert!(shown.json.starts_with(r#"{"preview":"[crossfeed preview of call_2: cut, not the data; "#));
    /// assert!(!shown.whole && shown.tokens <= 80);
    /// // The same for a model that is shown text alone.
    /// let text = shown.preview_text().unwrap_or_default();
    /// assert!(text.lines().any(|line| line.starts_with(r#"{"pages":[2,2,2,"#)));
    /// assert_eq!(text.lines().last(), Some("[end of crossfeed preview of call_2]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn render(
        &self,
        call_id: &CallId,
        options: &RenderOptions,
    ) -> Result<Rendered, Failure> {
        let span = stage!(
            "crossfeed::render",
            "crossfeed.render",
            "gen_ai.tool.call.id" = call_id.as_str(),
            "crossfeed.bytes.out" = tracing::field::Empty,
            "crossfeed.tokens" = tracing::field::Empty,
            "crossfeed.whole" = tracing::field::Empty,
        );
        let rendering = self.try_render(call_id, options);
        let rendered = staged(span, rendering, |span, rendered| {
            span.record("crossfeed.bytes.out", number(rendered.json.len()));
            span.record("crossfeed.tokens", number(rendered.tokens));
            span.record("crossfeed.whole", rendered.whole);
        });
        let rendered = rendered.await;
        rendered.inspect_err(|failure| self.note_told(failure))
    }

    async fn try_render(
        &self,
        call_id: &CallId,
        options: &RenderOptions,
    ) -> Result<Rendered, Failure> {
        let stored = self.found(call_id).await?;
        if options.view == Reader::Program {
            let small = is_small_result(&stored);
            let inner = Arc::clone(self.inner());
            let work = move |whole: &Unredacted, arena: &Arena| {
                let stored = &whole.redacted(&inner.options.reveal)?;
                inner.for_program((stored, arena), whole.hides_from(stored))
            };
            let rendered = self.work_on_whole(call_id, stored, small, work).await;
            return rendered.map_err(|error: Error| Failure::of_call(call_id, error));
        }
        let small = is_small_result(&stored) && options.preview_tokens <= SMALL_TOKENS;
        let account = self.account();
        let (inner, books) = (Arc::clone(self.inner()), Arc::clone(&account));
        let (wanted, options) = (call_id.clone(), options.clone());
        let work = move |whole: &Unredacted, arena: &Arena| {
            let stored = &whole.redacted(&inner.options.reveal)?;
            let withheld = whole.hides_from(stored);
            let rendered = inner.show(&wanted, (stored, arena), withheld, &options)?;
            Ok((rendered, books.mark(stored)))
        };
        let shown = self.work_on_whole(call_id, stored, small, work).await;
        let (rendered, mark) = shown.map_err(|error: Error| Failure::of_call(call_id, error))?;
        let extent = if rendered.complete {
            Coverage::Whole
        } else {
            Coverage::Part
        };
        let what = ShownItem::Result(call_id.clone());
        let whole = rendered.whole_tokens;
        account.show(what, mark, extent, rendered.tokens, whole);
        Ok(rendered)
    }

    /// What a model is told of a result's structure: selectors that work on it.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, the call failed, or it cannot be read.
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, HintDetail, ToolResult};
    /// use crossfeed_wire::{CallId, Scope};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let engine = Engine::in_memory(EngineOptions::default());
    /// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    /// let call = CallId::parse("call_1")?;
    /// let result = r#"{"items": [{"title": "A", "url": "https://a.example"}, {"title": "B"}]}"#;
    /// session.record(&call, ToolResult::json(result)).await?;
    ///
    /// let hints = session.hints(&call, HintDetail::Compact).await;
    /// let hints = hints.map_err(|failure| failure.to_string())?;
    /// assert_eq!(hints.to_value()["arrayPaths"][0], "items[array-2-items]");
    /// // Each of them works.
    /// assert!(hints.selectors().any(|selector| selector == "items[?title=='A'] | [0]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn hints(
        &self,
        call_id: &CallId,
        detail: HintDetail,
    ) -> Result<StructureHints, Failure> {
        let hints = self.try_hints(call_id, detail).await;
        hints.inspect_err(|failure| self.note_told(failure))
    }

    async fn try_hints(
        &self,
        call_id: &CallId,
        detail: HintDetail,
    ) -> Result<StructureHints, Failure> {
        let account = self.account();
        let (books, wanted) = (Arc::clone(&account), call_id.clone());
        let hinting = self.work_on_result(call_id, true, move |inner, stored, arena| {
            inner.hints(&wanted, (stored, arena), detail, &books)
        });
        let what = ShownItem::Result(call_id.clone());
        let HintsWithCost {
            hints,
            tokens,
            whole,
            mark,
        } = hinting.await?;
        account.show(what, mark, Coverage::Part, tokens, whole);
        Ok(hints)
    }
}

/// Hints, what they take, and what their result would.
struct HintsWithCost {
    hints: StructureHints,
    tokens: usize,
    whole: usize,
    mark: Fingerprint,
}

impl Inner {
    /// What is stored, byte for byte. It is not read, unless it is not text: that has the form in which
    /// a reference passes it.
    fn for_program(
        &self,
        (stored, arena): (&Stored, &Arena),
        withheld: bool,
    ) -> Result<Rendered, Error> {
        let raw = stored.document().raw();
        let is_bytes =
            matches!(stored, Stored::Result(result) if result.kind() == ResultKind::Bytes);
        let text = std::str::from_utf8(raw).ok().filter(|_| !is_bytes);
        let json = match text {
            Some(text) => text.to_owned(),
            None => {
                let (views, _) = self.views(stored, arena)?;
                let mut json = Vec::new();
                let limit = usize::MAX;
                let written = views.bare.write(&mut json, limit);
                written.map_err(|_| LimitError::TooLarge { limit })?;
                // JSON is UTF-8.
                String::from_utf8(json).unwrap_or_default()
            }
        };
        Ok(Rendered::for_program(json, withheld))
    }

    fn show(
        &self,
        call_id: &CallId,
        (stored, arena): (&Stored, &Arena),
        withheld: bool,
        options: &RenderOptions,
    ) -> Result<Rendered, Error> {
        let budget = self.fill_limits().budget(stored, arena);
        let views = match stored.views(arena, &budget) {
            Ok(views) => Some(views),
            Err(error @ ViewError::Limit(_)) => return Err(LimitError::from(error).into()),
            // It is shown all the same, but nothing that would have to be evaluated.
            Err(ViewError::Cost(_)) => None,
        };
        let open = |cursor| arena.open(cursor, &budget).ok().flatten();
        let reaches = |select: &str, place: Option<Cursor<'_>>| {
            views.as_ref().is_some_and(|views| {
                self.select_in(views, arena, &budget, select)
                    .is_ok_and(|found| found.report.repairs.is_empty() && is_at(&found.view, place))
            })
        };
        let known = RenderContext {
            call_id,
            referable: stored.failure().is_none(),
            withheld,
            spelling: options.spelling,
            strip: options.strip,
            open: &open,
            reaches: &reaches,
        };
        let hints = || {
            let Some(views) = &views else {
                return Vec::new();
            };
            let shown = shown_of(views, options.strip);
            let details = match options.detail {
                HintDetail::Full => &[HintDetail::Full, HintDetail::Compact][..],
                HintDetail::Compact => &[HintDetail::Compact],
            };
            let given = options.fitting.as_ref();
            let fitting = given.map(|all| {
                let works = |select: &&String| reaches(select, None);
                Value::from(all.iter().filter(works).cloned().collect::<Vec<_>>())
            });
            let select = &self.options.select;
            let all = details.iter().map(|detail| {
                let hints = StructureHints::of(&shown, *detail, select, arena, &budget);
                let mut hints = hints.to_value();
                if let Some(fitting) = &fitting {
                    hints[FITTING] = fitting.clone();
                }
                hints.to_string()
            });
            // What was asked for is the last to go.
            let has_some = |fitting: &&Value| fitting.as_array().is_some_and(|all| !all.is_empty());
            let alone = fitting.as_ref().filter(has_some);
            let alone = alone.map(|fitting| json!({FITTING: fitting}).to_string());
            all.chain(alone).collect()
        };
        let context = &self.options.context;
        let options = RenderOptions {
            whole_tokens: options.whole_tokens.min(context.limit()),
            preview_tokens: options.preview_tokens.min(context.limit()),
            ..options.clone()
        };
        show(stored, &known, &options, context, &hints).map_err(|trouble| match trouble {
            ShowError::View(error) => LimitError::from(error).into(),
            ShowError::Render(error) => error.into(),
        })
    }

    fn hints(
        &self,
        call_id: &CallId,
        (stored, arena): (&Stored, &Arena),
        detail: HintDetail,
        account: &SessionUsage,
    ) -> Result<HintsWithCost, Error> {
        succeeded(call_id, stored)?;
        let (views, budget) = self.views(stored, arena)?;
        let select = &self.options.select;
        let hints = StructureHints::of(&views.canonical, detail, select, arena, &budget);
        let counter = &self.options.context.tokens;
        Ok(HintsWithCost {
            tokens: counter.count(&hints.to_value().to_string()),
            whole: whole_tokens(stored, counter),
            mark: account.mark(stored),
            hints,
        })
    }

    pub(super) fn select_in<'a>(
        &self,
        views: &Views<'a>,
        arena: &'a Arena,
        budget: &Budget,
        select: &'a str,
    ) -> Result<Selection<'a>, SelectError> {
        let selector = Selector {
            options: &self.options.select,
            compiled: &self.selectors,
            views,
            outline: &Outline::default(),
            arena,
            budget,
            explanations: &Cell::new(1),
            telemetry: self.telemetry(),
        };
        selector.select(select)
    }
}

/// What hints are made of: the canonical value without the keys that are not shown.
fn shown_of<'a>(views: &Views<'a>, policy: StripPolicy) -> View<'a> {
    let own = |view: View<'a>| {
        let has_hidden = policy != StripPolicy::Internal
            && view.kind() == Kind::Object
            && view.members().any(|(key, _)| policy.strips(&key));
        if !has_hidden {
            return view;
        }
        let shown = view.members().filter(|(key, _)| !policy.strips(key));
        let shown = shown.map(|(key, value)| (Cow::Owned(key.into_owned()), value));
        View::object(shown.collect())
    };
    let canonical = views.canonical.clone();
    // The parts of a tool result are shown one by one.
    if views.envelope.is_some()
        && canonical.as_cursor().is_none()
        && policy != StripPolicy::Internal
        && canonical.kind() == Kind::Array
    {
        let parts = 0..canonical.len().unwrap_or_default();
        return View::list(parts.filter_map(|at| canonical.at(at)).map(own).collect());
    }
    own(canonical)
}

/// Whether a view is a place in a document, or, in place of binary data, an object that holds it.
fn is_at(view: &View<'_>, place: Option<Cursor<'_>>) -> bool {
    let Some(place) = place else {
        return true;
    };
    let is_same = |view: &View<'_>| {
        view.as_cursor()
            .is_some_and(|cursor| std::ptr::eq(cursor.raw(), place.raw()))
    };
    let blob = || view.get("resource")?.get("blob");
    is_same(view)
        || view.get("data").is_some_and(|data| is_same(&data))
        || blob().is_some_and(|blob| is_same(&blob))
}
