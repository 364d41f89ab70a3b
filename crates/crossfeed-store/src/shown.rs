//! Caches the redacted form of a stored value beside it.
//!
//! Readers under the same rules share it. The cache does not know the rules.

use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

/// The rules that redact a value: compared by address only.
type Rules = Arc<dyn Any + Send + Sync>;

/// A redacted value, made once for the first rules. Readers under other rules make it anew each time: a process
/// has one set of rules for a tool.
pub(crate) struct ShownCache<T>(OnceLock<(Rules, Option<Arc<T>>)>);

impl<T> ShownCache<T> {
    pub(crate) fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The redacted form of `whole`; `make` gives `None` for all of it.
    pub(crate) fn get_or_make<E>(
        &self,
        whole: &Arc<T>,
        rules: &Rules,
        make: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Result<Arc<T>, E> {
        // The cache holds the rules, so no others can get their address.
        let known = || {
            let (known, shown) = self.0.get()?;
            std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(rules)).then_some(shown)
        };
        let shown = |shown: &Option<Arc<T>>| Arc::clone(shown.as_ref().unwrap_or(whole));
        if let Some(known) = known() {
            return Ok(shown(known));
        }
        let made = make()?.map(Arc::new);
        let _ = self.0.set((Arc::clone(rules), made.clone()));
        // Of several that made it at once, one is kept and shared.
        Ok(shown(known().unwrap_or(&made)))
    }

    /// The redacted value, unless it is the whole.
    pub(crate) fn kept(&self) -> Option<&T> {
        self.0.get()?.1.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::{Rules, ShownCache};
    use std::{convert::Infallible, sync::Arc};

    /// What is shown, and whether it was made now.
    fn check(shown: &ShownCache<u8>, rules: &Rules, made: Option<u8>) -> (u8, bool) {
        let mut is_new = false;
        let found = shown.get_or_make(&Arc::new(7), rules, || {
            is_new = true;
            Ok::<_, Infallible>(made)
        });
        (*found.unwrap(), is_new)
    }

    #[test]
    fn it_is_made_once_for_the_rules_that_came_first() {
        // No zero-sized rules, which may all lie at one place.
        let (one, other): (Rules, Rules) = (Arc::new(1_u8), Arc::new(1_u8));
        let shown = ShownCache::new();
        assert_eq!(check(&shown, &one, Some(1)), (1, true));
        assert_eq!(check(&shown, &one, Some(2)), (1, false));
        assert_eq!(check(&shown, &other, Some(3)), (3, true));
        assert_eq!(check(&shown, &other, None), (7, true));
        assert_eq!(shown.kept(), Some(&1));
        let all = ShownCache::new();
        assert_eq!(check(&all, &one, None), (7, true));
        assert_eq!(check(&all, &one, Some(1)), (7, false));
        assert_eq!(all.kept(), None);
        assert!(
            ShownCache::<u8>::new()
                .get_or_make(&Arc::new(7), &one, || Err(()))
                .is_err()
        );
    }
}
