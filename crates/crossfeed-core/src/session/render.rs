//! Shows results to a model: renderings and hints.

use super::{Session, work::Work};
use crate::{
    account::ShownItem,
    canonical::{StoredItem, Views, shown_digest},
    error::LimitError,
    failure::Failure,
    hint::{HintDetail, StructureHints},
    render::{RenderContext, RenderOptions, Rendered, show},
    resolve::LookupKey,
    strip::StripPolicy,
    telemetry::{number, stage},
    trace::staged,
};
use crossfeed_jmespath::{Kind, View};
use crossfeed_json::Cursor;
use crossfeed_store::ResultKind;
use crossfeed_wire::{CallId, View as Reader};
use serde_json::json;
use std::borrow::Cow;

/// The most tokens of a rendering with which work stays on the async thread.
const SMALL_TOKENS: usize = 4000;
/// The member of hints with selectors whose values fit a parameter.
const FITTING: &str = "fittingSelectors";

impl Session {
    /// Shows a result to a model: whole if it is small, else a preview within its budget, which says that it is one and
    /// how to reach the rest. A preview cannot be parsed as JSON, so that it is not mistaken for the data. A failed call
    /// is shown like any other.
    ///
    /// For a program ([`View::Program`](crossfeed_wire::View)) it is what was recorded, byte for byte and of any size,
    /// without the engine's fields, and does not count as shown.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no such result, it nests too deep to be read, or the budget cannot hold even the call id
    /// ([`RenderError`](crate::RenderError)).
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
        let rendering = async {
            let key = LookupKey::new(call_id, None);
            let stored = self.found(&key).await?;
            if options.view == Reader::Program {
                return self.work_on(&key, stored, true, for_program).await;
            }
            let small = options.preview_tokens <= SMALL_TOKENS;
            let options = options.clone();
            let rendering = self.show(&key, stored, small, move |on| {
                let rendered = rendered(on, &options)?;
                let showing = ShownItem {
                    tokens: rendered.tokens,
                    whole: rendered.whole_tokens,
                    is_whole: rendered.complete,
                };
                Ok((rendered, Some(showing)))
            });
            rendering.await
        };
        let rendered = staged(span, rendering, |span, rendered| {
            span.record("crossfeed.bytes.out", number(rendered.json.len()));
            span.record("crossfeed.tokens", number(rendered.tokens));
            span.record("crossfeed.whole", rendered.whole);
        });
        let rendered = rendered.await;
        rendered.inspect_err(|failure| self.note_told(failure))
    }

    /// Describes a result's structure to a model, by selectors that work on it.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no such result, the call failed, or it cannot be read.
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
        let key = LookupKey::new(call_id, None);
        let hints = async {
            let stored = self.found(&key).await?;
            let hinting = self.show(&key, stored, true, move |on| {
                on.succeeded()?;
                let (views, budget) = on.views()?;
                let select = &on.inner.options.select;
                let within = views.within(&on.arena, &budget);
                let root = within.unwrap_or(views.canonical);
                let hints = StructureHints::new(&root, detail, select, &on.arena, &budget);
                let tokens = on.count(hints.to_value().to_string().as_bytes());
                Ok((hints, Some(on.showing(tokens, false))))
            });
            hinting.await
        };
        hints.await.inspect_err(|failure| self.note_told(failure))
    }
}

/// The stored bytes, unread; binary data in the form in which a reference passes it.
fn for_program(on: &Work<'_>) -> Result<Rendered, Box<Failure>> {
    let stored = &on.shown;
    let raw = stored.document().raw();
    let is_bytes = matches!(stored, StoredItem::Result(found) if found.kind() == ResultKind::Bytes);
    let json = if let Some(text) = std::str::from_utf8(raw).ok().filter(|_| !is_bytes) {
        text.to_owned()
    } else {
        let (views, _) = on.views()?;
        let mut json = Vec::new();
        let limit = usize::MAX;
        let written = views.bare.write(&mut json, limit);
        written.map_err(|_| LimitError::TooLarge { limit })?;
        // JSON is UTF-8.
        String::from_utf8(json).unwrap_or_default()
    };
    Ok(Rendered::for_program(json, on.is_withheld()))
}

fn rendered(on: &Work<'_>, options: &RenderOptions) -> Result<Rendered, Box<Failure>> {
    let Work { inner, arena, .. } = on;
    let (budget, views) = on.try_views();
    let views = match views {
        Ok(views) => Some(views),
        Err(error @ LimitError::Unreadable(_)) => return Err(error.into()),
        // It is shown nevertheless, without anything that needs evaluation.
        Err(_) => None,
    };
    let open = |cursor| arena.open(cursor, &budget).ok().flatten();
    let reaches = |select: &str, place: Option<Cursor<'_>>| {
        views.as_ref().is_some_and(|views| {
            inner
                .try_in(views, arena, &budget, select)
                .is_ok_and(|found| found.report.repairs.is_empty() && is_at(&found.view, place))
        })
    };
    let referable = on.shown.failure().is_none();
    let known = RenderContext {
        call_id: &on.key.call_id,
        digest: inner
            .options
            .edits
            .filter(|_| referable)
            .map(|_| shown_digest(on.shown.document().raw())),
        referable,
        withheld: on.is_withheld(),
        spelling: options.spelling,
        style: options.style,
        strip: options.strip,
        open: &open,
        reaches: &reaches,
    };
    let hints = || {
        let Some(views) = &views else {
            return Vec::new();
        };
        let within = views.within(arena, &budget);
        let shown = stripped(
            views,
            options.strip,
            &within.unwrap_or_else(|| views.canonical.clone()),
        );
        let details = match options.detail {
            HintDetail::Full => &[HintDetail::Full, HintDetail::Compact][..],
            HintDetail::Compact => &[HintDetail::Compact],
        };
        let fitting = options.fitting.as_ref().map(|all| {
            let works = |select: &&String| reaches(select, None);
            all.iter().filter(works).cloned().collect::<Vec<_>>()
        });
        let select = &inner.options.select;
        let all = details.iter().map(|detail| {
            let hints = StructureHints::new(&shown, *detail, select, arena, &budget);
            let mut hints = hints.to_value();
            if let Some(fitting) = &fitting {
                hints[FITTING] = json!(fitting);
            }
            hints.to_string()
        });
        // Requested selectors are dropped last.
        let alone = fitting.as_ref().filter(|fitting| !fitting.is_empty());
        let alone = alone.map(|fitting| json!({FITTING: fitting}).to_string());
        all.chain(alone).collect()
    };
    let context = &inner.options.context;
    let options = RenderOptions {
        whole_tokens: options.whole_tokens.min(context.limit()),
        preview_tokens: options.preview_tokens.min(context.limit()),
        ..options.clone()
    };
    Ok(show(&on.shown, &known, &options, context, &hints)?)
}

/// The value that hints describe, which paths are offered on, without stripped keys.
fn stripped<'a>(views: &Views<'a>, policy: StripPolicy, root: &View<'a>) -> View<'a> {
    let canonical = root.clone();
    if policy == StripPolicy::Internal {
        return canonical;
    }
    let strip = |view: View<'a>| {
        let is_object = view.kind() == Kind::Object;
        if !(is_object && view.members().any(|(key, _)| policy.strips(&key))) {
            return view;
        }
        let shown = view.members().filter(|(key, _)| !policy.strips(key));
        let shown = shown.map(|(key, value)| (Cow::Owned(key.into_owned()), value));
        View::object(shown.collect())
    };
    // The parts of a tool result are shown one by one.
    let is_built = views.envelope.is_some() && canonical.as_cursor().is_none();
    if is_built && canonical.kind() == Kind::Array {
        let parts = 0..canonical.len().unwrap_or_default();
        return View::list(parts.filter_map(|at| canonical.at(at)).map(strip).collect());
    }
    strip(canonical)
}

/// Whether a view is a place in a document, or an object that holds the binary data there.
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
