//! What is asked of a list.

use crate::{Profile, Shape, Spelling, Style};
use std::{collections::HashSet, fmt, sync::Arc};

/// Counts the tokens of a text.
#[derive(Clone)]
pub struct TokenCounter(Arc<dyn Fn(&str) -> usize + Send + Sync>);

impl TokenCounter {
    /// A counter of the host's own.
    pub fn new(count: impl Fn(&str) -> usize + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    pub(super) fn count(&self, text: &str) -> usize {
        (self.0)(text)
    }
}

impl Default for TokenCounter {
    fn default() -> Self {
        Self::new(estimated_tokens)
    }
}

impl fmt::Debug for TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCounter")
    }
}

/// The tokens of a text where nothing counts them exactly: a quarter of its characters, rounded up.
#[must_use]
pub fn estimated_tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// What decides the style of each tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Style(Style, Spelling),
    Profile(Profile),
}

/// How a list is rewritten. The default is the profile `mcp`, which every client takes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListOptions {
    pub(super) choice: Choice,
    /// Tools that admit no references, by name. None by default: who marks tools in their `_meta`
    /// needs no list.
    pub never: HashSet<String>,
    /// The shape of the list that is shown; that in which it came by default.
    pub shape: Option<Shape>,
    /// How many tokens all schemas together may grow by under a profile; no limit by default,
    /// since a style's cost is bounded for each tool.
    pub max_added_tokens: Option<usize>,
    /// What counts them; an estimate by default, which needs no table of a model's.
    pub tokens: TokenCounter,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self::profile(Profile::Mcp)
    }
}

impl ListOptions {
    /// One style for every tool, in its usual spelling.
    #[must_use]
    pub fn style(style: Style) -> Self {
        Self::of(Choice::Style(style, style.spelling()))
    }

    /// What a provider takes.
    #[must_use]
    pub fn profile(profile: Profile) -> Self {
        Self::of(Choice::Profile(profile))
    }

    fn of(choice: Choice) -> Self {
        Self {
            choice,
            never: HashSet::new(),
            shape: None,
            max_added_tokens: None,
            tokens: TokenCounter::default(),
        }
    }

    /// Another spelling of a style that was asked for by name; a profile has its own.
    #[must_use]
    pub fn with_spelling(mut self, spelling: Spelling) -> Self {
        if let Choice::Style(_, spelled) = &mut self.choice {
            *spelled = spelling;
        }
        self
    }

    /// A tool that admits no references.
    #[must_use]
    pub fn with_never(mut self, tool: impl Into<String>) -> Self {
        self.never.insert(tool.into());
        self
    }

    /// The shape of the list that is shown.
    #[must_use]
    pub fn with_shape(mut self, shape: Shape) -> Self {
        self.shape = Some(shape);
        self
    }

    /// How many tokens all schemas together may grow by.
    #[must_use]
    pub fn with_max_added_tokens(mut self, tokens: usize) -> Self {
        self.max_added_tokens = Some(tokens);
        self
    }

    /// What counts tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: TokenCounter) -> Self {
        self.tokens = tokens;
        self
    }
}
