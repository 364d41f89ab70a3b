//! Decides which work is small enough for the async thread, and runs the rest on blocking threads
//! (`specs/sessions.md#threads`).

use crate::{
    PreparedTool,
    resolve::{LookupResult, Plan},
    telemetry::carried,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// The most bytes of results, each counted once per reference, with which work stays on the async thread: even if each is
/// indexed and passed on whole, that takes well below a millisecond.
pub(super) const SMALL_BYTES: usize = 64 << 10;
/// The same if a tokenizer, which reads some ten megabytes a second, counts the tokens.
const SMALL_COUNTED_BYTES: usize = 8 << 10;
/// The most bytes of a call that a tokenizer reads anywhere.
const COUNTED_BYTES: usize = 1 << 20;
/// The most references with which work stays on the async thread.
const SMALL_REFERENCES: usize = 16;
/// The most bytes of a selector with which work stays on the async thread.
const SMALL_SELECTOR_BYTES: usize = 200;

/// How many bytes of a call a tokenizer counts exactly; the rest is estimated.
pub(super) fn counted_bytes(small: bool) -> usize {
    if small {
        SMALL_COUNTED_BYTES
    } else {
        COUNTED_BYTES
    }
}

/// Whether filling the plan is certainly cheap; `counted`, if a tokenizer reads each value.
pub(super) fn is_small(plan: &Plan, looked: &[LookupResult], counted: bool) -> bool {
    let size = |wanted: usize| match looked.get(wanted) {
        Some(Ok(stored)) => stored.as_stored().document().raw().len(),
        _ => 0,
    };
    let limit = if counted {
        SMALL_COUNTED_BYTES
    } else {
        SMALL_BYTES
    };
    // Selectors read a result once; bare references, and a tokenizer, read it each time.
    let mut read = vec![false; looked.len()];
    let mut is_read_already = |wanted: usize| {
        let read = read.get_mut(wanted);
        read.is_some_and(|read| std::mem::replace(read, true))
    };
    let mut references = plan.references.iter();
    let left = references.try_fold(limit, |left, planned| {
        match planned.reference.select.as_deref() {
            Some(selector) if !is_plain_path(selector) => None,
            Some(_) if !counted && is_read_already(planned.wanted) => Some(left),
            _ => left.checked_sub(size(planned.wanted)),
        }
    });
    let mut references = plan.references.iter();
    let has_edits = references.any(|planned| planned.edit.is_some());
    !has_edits && plan.references.len() <= SMALL_REFERENCES && left.is_some()
}

/// Whether a selector is short and has only keys and indexes: `items[0]."a-b".url`. It takes at most a look at each key
/// of a result.
pub(super) fn is_plain_path(selector: &str) -> bool {
    let mut bytes = selector.bytes().peekable();
    let mut plain = selector.len() <= SMALL_SELECTOR_BYTES;
    while let Some(byte) = bytes.next().filter(|_| plain) {
        plain = match byte {
            b'[' => {
                bytes.next_if_eq(&b'-');
                let mut digits = 0;
                while bytes.next_if(u8::is_ascii_digit).is_some() {
                    digits += 1;
                }
                digits > 0 && bytes.next() == Some(b']')
            }
            b'_' | b'-' | b'.' | b'"' | b'\'' => true,
            other => other.is_ascii_alphanumeric(),
        };
    }
    plain
}

/// Runs work that does not wait: here if it is small, else on a blocking thread.
pub(super) async fn run_or_spawn<T: Send + 'static>(
    small: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if small {
        return work();
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return work();
    };
    let work = carried(work);
    // Kept here as well, because a runtime that has shut down drops its tasks.
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().take();
    let shared = Arc::clone(&work);
    let running = runtime.spawn_blocking(move || take(&shared).map(|work| work()));
    match running.await {
        Ok(Some(output)) => output,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Ok(None) | Err(_) => match take(&work) {
            Some(work) => work(),
            // It has begun, and cannot begin twice.
            None => std::future::pending().await,
        },
    }
}

/// Compiles a tool's own schema, if it is not compiled yet: that can take long.
pub(super) async fn compile(tool: &PreparedTool) {
    if !tool.is_compiled() {
        let tool = tool.clone();
        // The call reports why a schema is invalid.
        let _ = run_or_spawn(false, move || tool.input_schema().is_ok()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{is_plain_path, is_small, run_or_spawn};
    use crate::{
        ToolResult,
        canonical::StoredItem,
        resolve::{LookupResult, Notation, Plan},
    };
    use serde_json::{Value, json};
    use std::sync::Arc;

    #[test]
    fn plain_paths_have_keys_and_indexes_only() {
        for plain in [
            "a",
            "a_1.b",
            "items[0].url",
            "[-1].x",
            "a.\"b-c\"[12]",
            "'x'",
        ] {
            assert!(is_plain_path(plain), "{plain}");
        }
        let long = "a.".repeat(101);
        for other in [
            "a[]",
            "[*]",
            "a[",
            "a[-]",
            "a[0",
            "a[0:2]",
            "a | b",
            "length(a)",
            "*",
            &long,
        ] {
            assert!(!is_plain_path(other), "{other}");
        }
    }

    #[test]
    fn work_is_small_only_if_references_selectors_and_results_are() {
        let judged = |arguments: Value, bytes: usize, counted: bool| {
            let plan = Plan::new(&arguments, None, Notation::Exact).unwrap();
            let result = ToolResult::json(format!("\"{}\"", "x".repeat(bytes - 2)));
            let stored = StoredItem::Result(Arc::new(result.into_stored()));
            let wanted = plan.wanted.iter();
            let looked: Vec<LookupResult> = wanted.map(|_| Ok(stored.clone().into())).collect();
            is_small(&plan, &looked, counted)
        };
        let small = |arguments: Value, bytes: usize| judged(arguments, bytes, false);
        let counted = |arguments: Value, bytes: usize| judged(arguments, bytes, true);
        let bare = json!({"$tool": "c"});
        assert!(small(bare.clone(), 64 << 10));
        assert!(!small(bare.clone(), (64 << 10) + 1));
        // A result that two references name is passed on twice.
        assert!(!small(json!([bare, bare]), 40 << 10));
        assert!(small(json!(vec![&bare; 16]), 100));
        assert!(!small(json!(vec![&bare; 17]), 100));
        let selected = |select: &str| json!({"$tool": "c", "$select": select});
        assert!(small(selected("a[0].b"), 100));
        // However many selectors read a result, it is read once.
        assert!(small(json!(vec![selected("a"); 16]), 40 << 10));
        assert!(!small(selected("a[?b]"), 100));
        // A tokenizer reads what each of them gives.
        assert!(counted(bare.clone(), 8 << 10));
        assert!(!counted(bare, (8 << 10) + 1));
        assert!(counted(json!(vec![selected("a"); 16]), 512));
        assert!(!counted(json!(vec![selected("a"); 16]), 513));
    }

    #[test]
    fn work_is_done_where_the_runtime_has_shut_down() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        let done = std::pin::pin!(run_or_spawn(false, || 7));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let done = Future::poll(done, &mut context);
        assert_eq!(done, std::task::Poll::Ready(7));
    }
}
