//! Compiled selectors, kept by their text.

use crossfeed_jmespath::{Expression, ParseError};
use lru::LruCache;
use parking_lot::Mutex;
use std::{num::NonZeroUsize, sync::Arc};

/// The most recently used expressions. Agents repeat selectors, and a hit saves a parse.
#[derive(Debug)]
pub(crate) struct Selectors(Mutex<LruCache<Box<str>, Arc<Expression>>>);

impl Selectors {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self(Mutex::new(LruCache::new(capacity)))
    }

    /// The expression of a text, parsed unless it is in the cache.
    pub(crate) fn get(&self, text: &str) -> Result<Arc<Expression>, ParseError> {
        if let Some(expression) = self.0.lock().get(text) {
            return Ok(Arc::clone(expression));
        }
        // Parsed without the lock; if two threads parse one text at once, the later result stays.
        let expression = Arc::new(Expression::parse(text)?);
        self.0.lock().put(text.into(), Arc::clone(&expression));
        Ok(expression)
    }
}
