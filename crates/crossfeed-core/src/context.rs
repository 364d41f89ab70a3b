//! A model's context: how large it is, how texts are counted, and what may be brought into it.
//!
//! What comes in: sizes. What goes out: whether they fit, and what is said where they do not.

use crossfeed_tokens::TokenCounter;

/// The context of the model that a session works for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContextOptions {
    /// How many tokens it holds: 200,000, which is common.
    pub window: usize,
    /// How much of it one result or artifact may take, in percent: 30, so that the conversation
    /// still has room.
    pub share: u8,
    /// What counts tokens; an estimate by default.
    pub tokens: TokenCounter,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            window: 200_000,
            share: 30,
            tokens: TokenCounter::default(),
        }
    }
}

impl ContextOptions {
    /// The options with another size of the context, in tokens.
    #[must_use]
    pub fn with_window(mut self, tokens: usize) -> Self {
        self.window = tokens;
        self
    }

    /// The options with another share for one result, in percent.
    #[must_use]
    pub fn with_share(mut self, percent: u8) -> Self {
        self.share = percent;
        self
    }

    /// The options with another counter.
    #[must_use]
    pub fn with_tokens(mut self, tokens: TokenCounter) -> Self {
        self.tokens = tokens;
        self
    }

    /// The most tokens that one result or artifact may bring into the context.
    #[must_use]
    pub fn limit(&self) -> usize {
        // As the product may be larger than a number holds, the parts are taken one by one.
        let share = usize::from(self.share.min(100));
        self.window / 100 * share + self.window % 100 * share / 100
    }
}
