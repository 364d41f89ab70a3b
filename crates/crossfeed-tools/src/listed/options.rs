//! The options of rewriting a list.

use crate::{Offers, Profile, Reflection, Shape, Spelling, Style};
use crossfeed_tokens::TokenCounter;
use derive_setters::Setters;
use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

/// Stops the work on a list: tools that come later are listed as they came. Cloning shares it.
#[derive(Clone)]
pub struct Stop(Arc<dyn Fn() -> bool + Send + Sync>);

impl Stop {
    /// Stops once `is_over` is true; it is called before each tool.
    pub fn when(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_over))
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&(self.0)()).finish()
    }
}

/// How the style of each tool is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Style(Style, Spelling),
    Profile(Profile),
}

/// How a list is rewritten. The default is the profile `mcp`, which every client takes.
///
/// ```
/// use crossfeed_tools::{ListOptions, Profile};
///
/// // For OpenAI, with schemas that grow by at most 500 tokens in all.
/// let options = ListOptions::profile(Profile::OpenAi).with_max_added_tokens(500);
/// ```
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_", strip_option)]
#[non_exhaustive]
#[must_use]
pub struct ListOptions {
    #[setters(skip)]
    pub(super) choice: Choice,
    /// Tools that admit no references, by name. None by default: marks in the `_meta` of tools do the same.
    #[setters(skip)]
    pub never: HashSet<String>,
    /// Tools whose results a model may ask for parts of, by name. None by default.
    #[setters(skip)]
    pub reflections: HashMap<String, Reflection>,
    /// Tools whose whole results a model may ask for, by name. None by default.
    #[setters(skip)]
    pub wholes: HashSet<String>,
    /// What references offer besides data of earlier results: by default references to artifacts.
    pub offers: Offers,
    /// The shape of the list that is shown; that in which it came by default.
    pub shape: Option<Shape>,
    /// How many tokens all schemas together may grow by under a profile; no limit by default,
    /// since a style's cost is bounded for each tool.
    pub max_added_tokens: Option<usize>,
    /// The counter for them; by default an estimate that needs no model's table.
    pub tokens: TokenCounter,
    /// From when on tools are listed as they came, with [`SchemaError::Unjudged`](crossfeed_schema::SchemaError);
    /// never by default.
    pub stop: Option<Stop>,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self::profile(Profile::Mcp)
    }
}

impl ListOptions {
    /// One style for every tool, in its usual spelling.
    pub fn style(style: Style) -> Self {
        Self::for_choice(Choice::Style(style, style.spelling()))
    }

    /// The styles and limits of a provider.
    pub fn profile(profile: Profile) -> Self {
        Self::for_choice(Choice::Profile(profile))
    }

    #[cfg(test)]
    pub(crate) fn profile_of(&self) -> Option<Profile> {
        match self.choice {
            Choice::Profile(profile) => Some(profile),
            Choice::Style(..) => None,
        }
    }

    fn for_choice(choice: Choice) -> Self {
        Self {
            choice,
            never: HashSet::new(),
            reflections: HashMap::new(),
            wholes: HashSet::new(),
            offers: Offers::default(),
            shape: None,
            max_added_tokens: None,
            tokens: TokenCounter::default(),
            stop: None,
        }
    }

    /// Whether [`stop`](Self::stop) says that no more tools are worked on.
    pub fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| (stop.0)())
    }

    /// Another spelling of a style chosen by name; a profile has its own.
    pub fn with_spelling(mut self, spelling: Spelling) -> Self {
        if let Choice::Style(_, spelled) = &mut self.choice {
            *spelled = spelling;
        }
        self
    }

    /// A tool that admits no references.
    pub fn with_never(mut self, tool: impl Into<String>) -> Self {
        self.never.insert(tool.into());
        self
    }

    /// A tool whose results a model may ask for parts of: `_select`, and `_fields` where the kind of
    /// resource is given. Nothing is added where no keys are known.
    pub fn with_reflection(mut self, tool: impl Into<String>, reflection: Reflection) -> Self {
        self.reflections.insert(tool.into(), reflection);
        self
    }

    /// A tool whose whole results a model may ask for by `_whole`, for clients that show it previews and whose
    /// models sometimes write scripts that read results. What it asked for is in [`TakenProjection::whole`](crate::TakenProjection).
    pub fn with_whole(mut self, tool: impl Into<String>) -> Self {
        self.wholes.insert(tool.into());
        self
    }
}
