//! The search for what to show: whole if it is small, else the most generous preview that fits.
//!
//! What comes in: a result and a budget. What goes out: one text, counted. A preview is a plan and a
//! number of steps; the number is found by bisection, each trial being written and counted.

use super::{
    RenderError, RenderOptions, Rendered, ShownHints,
    ours::{Frame, Note, Ours},
    parts::Surroundings,
    plan::{Id, Plan},
    reach::{Hidden, first_hidden},
    root::plan_of,
    subject::{Known, Subject, whole_tokens},
    whole::whole,
    write::write,
};
use crate::{
    canonical::{Stored, ViewError},
    context::ContextOptions,
};
use crossfeed_tokens::TokenCounter;

/// The most bytes of a token, on average over what is shown: an estimate of four characters, of four
/// bytes each. What is longer is not shown, whatever counts it, so that what is written is bounded.
const TOKEN_BYTES: usize = 16;
/// The bytes of a token in most texts.
const USUAL_TOKEN_BYTES: usize = 4;
/// Bytes that are tried with any budget.
const LEAST_BYTES: usize = 1024;
/// How many times as many bytes a result has at most that may fit without its blanks.
const MOSTLY_BLANK: usize = 8;
/// How much of a preview's budget hints may take, in percent: where they are a help, and where they
/// were asked for.
const HINTS_SHARE: usize = 40;
const ASKED_HINTS_SHARE: usize = 80;

/// Why nothing is shown.
#[derive(Debug)]
pub(crate) enum Trouble {
    View(ViewError),
    Render(RenderError),
}

/// Hints as JSON, the most telling first.
type Hints<'h> = dyn Fn() -> Vec<String> + 'h;

/// Shows a result. `hints` are asked for when they are to be shown.
pub(crate) fn show<'a>(
    stored: &'a Stored,
    known: &Known<'a, '_>,
    options: &RenderOptions,
    context: &ContextOptions,
    hints: &Hints<'_>,
) -> Result<Rendered, Trouble> {
    let subject = Subject::of(stored, known).map_err(Trouble::View)?;
    let parts = match subject {
        Subject::Mcp(root) => Surroundings::of(root, known).legend(known),
        _ => None,
    };
    let tokens = &context.tokens;
    let search = Search {
        subject,
        known,
        options,
        tokens,
        parts,
        context_limit: context.limit(),
        bytes: stored.document().raw().len(),
        whole_tokens: whole_tokens(stored, tokens),
    };
    search.show(hints).map_err(Trouble::Render)
}

/// The most bytes that so many tokens may have.
fn bytes_of(tokens: usize) -> usize {
    let bytes = tokens.saturating_mul(TOKEN_BYTES);
    bytes.saturating_add(LEAST_BYTES)
}

/// So much of a budget, in percent.
fn share_of(budget: usize, percent: usize) -> usize {
    budget.saturating_mul(percent) / 100
}

/// A text and what it takes.
struct Counted {
    json: String,
    tokens: usize,
}

struct Search<'a, 'v> {
    subject: Subject<'a>,
    known: &'v Known<'a, 'v>,
    options: &'v RenderOptions,
    tokens: &'v TokenCounter,
    /// How the parts of a tool result are called.
    parts: Option<String>,
    context_limit: usize,
    bytes: usize,
    whole_tokens: usize,
}

impl<'a> Search<'a, '_> {
    fn show(&self, hints: &Hints<'_>) -> Result<Rendered, RenderError> {
        let budget = self.options.preview_tokens;
        // What hides nothing is no preview: a larger budget for previews holds for the whole, too.
        let limit = self.options.whole_tokens.max(budget);
        let found = self.whole(None, limit);
        let needed = found.as_ref().map_or(usize::MAX, |(all, _)| all.tokens);
        let complete = found.as_ref().is_some_and(|(_, complete)| *complete);
        if let Some((all, complete)) = found.filter(|(all, _)| all.tokens <= limit) {
            let hinted = |hints: &String| Some(self.whole(Some(hints), limit)?.0);
            let all = self.best_hinted(all, limit, hints, hinted);
            return Ok(self.shown(all, true, complete));
        }
        let (mut plan, root) = plan_of(self.subject, self.known);
        let found = self.whole_of_plan(limit, hints);
        let needed = needed.min(found.as_ref().map_or(usize::MAX, |all| all.tokens));
        if let Some(all) = found.filter(|all| all.tokens <= limit) {
            return Ok(self.shown(all, true, complete));
        }
        let hints = if self.wants_hints(false) {
            hints()
        } else {
            Vec::new()
        };
        for frame in self.frames(&plan, root, &hints) {
            if let Some((counted, cut)) = self.most(&mut plan, root, &frame) {
                return Ok(self.shown(counted, !cut, complete && !cut));
            }
        }
        let least = self.trial(&plan, root, 0, &Frame::bare(), None).tokens;
        Err(RenderError::BudgetTooSmall {
            budget,
            needed: needed.min(least),
            limit: self.context_limit,
        })
    }

    /// Something whole with the most telling hints that fit, if they are wanted: without them rather
    /// than cut.
    fn best_hinted(
        &self,
        all: Counted,
        limit: usize,
        hints: &Hints<'_>,
        hinted: impl Fn(&String) -> Option<Counted>,
    ) -> Counted {
        if !self.wants_hints(true) {
            return all;
        }
        let fits = |all: &Counted| all.tokens <= limit;
        let fitting = |hints: &String| hinted(hints).filter(fits);
        hints().iter().find_map(fitting).unwrap_or(all)
    }

    /// The result as a preview that hides nothing: it may be shorter than what came, for it has no
    /// blanks. A search for the best preview may miss it. It is not held against the limit.
    fn whole_of_plan(&self, limit: usize, hints: &Hints<'_>) -> Option<Counted> {
        let most = bytes_of(limit);
        // Blanks are not counted in a plan, but reading on for their sake has to end.
        if self.bytes > most.saturating_mul(MOSTLY_BLANK) {
            return None;
        }
        let (mut plan, root) = plan_of(self.subject, self.known);
        plan.grow(most);
        let steps = plan.steps();
        if first_hidden(&plan, root, steps).is_some() {
            return None;
        }
        let hinted = |hints: Option<&str>| {
            let mut frame = Frame::of(hints, Note::Full);
            frame.hints_everywhere = true;
            self.trial(&plan, root, steps, &frame, None)
        };
        let all = hinted(None);
        if all.tokens > limit {
            return Some(all);
        }
        Some(self.best_hinted(all, limit, hints, |hints| Some(hinted(Some(hints)))))
    }

    /// Whether hints are shown beside a result, which is small or is not.
    fn wants_hints(&self, small: bool) -> bool {
        let wanted = match self.options.hints {
            ShownHints::Never => false,
            ShownHints::WhenCut => !small,
            ShownHints::Always => true,
        };
        wanted && self.known.referable
    }

    fn is_enveloped(&self) -> bool {
        matches!(self.subject, Subject::Mcp(_))
    }

    fn shown(&self, counted: Counted, whole: bool, complete: bool) -> Rendered {
        Rendered {
            json: counted.json,
            tokens: counted.tokens,
            whole,
            complete,
            withheld: self.known.withheld,
            whole_tokens: self.whole_tokens,
        }
    }

    /// What comes beside the result, the best first: hints only where they leave room.
    fn frames<'h>(&self, plan: &Plan<'a, '_>, root: Id, hints: &'h [String]) -> Vec<Frame<'h>> {
        let budget = self.options.preview_tokens;
        let asked = self.options.hints == ShownHints::Always || self.options.fitting.is_some();
        let share = if asked {
            ASKED_HINTS_SHARE
        } else {
            HINTS_SHARE
        };
        let tokens_of = |frame: &Frame<'_>| self.trial(plan, root, 0, frame, None).tokens;
        let plain = Frame::of(None, Note::Full);
        let mut frames = Vec::new();
        if !hints.is_empty() {
            let without = tokens_of(&plain);
            let with_hints = hints.iter().flat_map(|hints| {
                let once = Frame::of(Some(hints), Note::Full);
                let mut twice = once;
                twice.hints_everywhere = true;
                [twice, once]
            });
            let has_room = |frame: &Frame<'_>| {
                tokens_of(frame).saturating_sub(without) <= share_of(budget, share)
            };
            frames.extend(with_hints.filter(has_room));
        }
        frames.push(plain);
        if self.known.referable {
            frames.push(Frame::of(None, Note::Unselected));
        }
        frames.push(Frame::bare());
        frames
    }

    /// The result as a whole in at most as many bytes as so many tokens may have.
    fn whole(&self, hints: Option<&str>, limit: usize) -> Option<(Counted, bool)> {
        let mut frame = Frame::of(hints, Note::Full);
        frame.hints_everywhere = true;
        let ours = self.ours(&frame, None);
        let whole = whole(self.subject, self.known, &ours, bytes_of(limit))?;
        Some((self.counted(whole.json)?, whole.complete))
    }

    fn ours(&self, frame: &Frame<'_>, note: Option<&str>) -> Ours {
        let parts = self.parts.as_deref();
        Ours::of(self.known, self.is_enveloped(), parts, frame, note)
    }

    fn counted(&self, json: Vec<u8>) -> Option<Counted> {
        let json = String::from_utf8(json).ok()?;
        let tokens = self.tokens.count(&json);
        Some(Counted { json, tokens })
    }

    /// The preview after `steps` steps. `reach` is the selector of what is hidden first, where it was
    /// found already.
    fn trial(
        &self,
        plan: &Plan<'a, '_>,
        root: Id,
        steps: usize,
        frame: &Frame<'_>,
        reach: Option<&str>,
    ) -> Counted {
        let hidden = first_hidden(plan, root, steps);
        let note = hidden.map(|hidden| {
            let first = || hidden.selectors(plan).next().map(|(select, _)| select);
            let select = reach.map(str::to_owned).or_else(first);
            frame.note(self.known, select.as_deref(), self.bytes, self.whole_tokens)
        });
        let mut frame = *frame;
        if note.is_none() && self.options.hints != ShownHints::Always {
            frame.hints = None;
        }
        let ours = self.ours(&frame, note.as_deref());
        // All that is written is UTF-8.
        let json = String::from_utf8(write(plan, root, steps, &ours)).unwrap_or_default();
        let tokens = self.tokens.count(&json);
        Counted { json, tokens }
    }

    /// The preview that shows most within the budget, and whether it hides anything; `None` where
    /// not even the frame fits.
    fn most(
        &self,
        plan: &mut Plan<'a, '_>,
        root: Id,
        frame: &Frame<'_>,
    ) -> Option<(Counted, bool)> {
        let budget = self.options.preview_tokens;
        let fits = |counted: &Counted| counted.tokens <= budget;
        let mut best = Some(self.trial(plan, root, 0, frame, None)).filter(fits)?;
        let most = bytes_of(budget);
        let mut room = budget.saturating_mul(USUAL_TOKEN_BYTES).max(LEAST_BYTES);
        let (mut fit, mut misfit) = (0, usize::MAX);
        while misfit - fit > 1 {
            let steps = if misfit == usize::MAX {
                // How far the budget goes is not known yet.
                let has_more = plan.grow(room);
                let steps = plan.steps();
                if steps == fit && (!has_more || room >= most) {
                    break;
                }
                room = room.saturating_mul(2).min(most);
                steps
            } else {
                fit + (misfit - fit) / 2
            };
            let counted = self.trial(plan, root, steps, frame, None);
            if fits(&counted) {
                (best, fit) = (counted, steps);
            } else {
                misfit = steps;
            }
        }
        let Some(hidden) = first_hidden(plan, root, fit) else {
            return Some((best, false));
        };
        if frame.note == Note::Full && self.known.referable {
            best = self.reached(plan, root, fit, frame, best, &hidden)?;
        }
        Some((best, true))
    }

    /// The preview with a selector that was tried.
    fn reached(
        &self,
        plan: &Plan<'a, '_>,
        root: Id,
        steps: usize,
        frame: &Frame<'_>,
        best: Counted,
        hidden: &Hidden<'a>,
    ) -> Option<Counted> {
        let mut selectors = hidden.selectors(plan);
        let first = selectors.next();
        let reaches = |(select, place): &(String, _)| {
            select.is_empty() || (self.known.reaches)(select, *place)
        };
        if first.as_ref().is_some_and(&reaches) {
            return Some(best);
        }
        let found = selectors.find(&reaches);
        // Shorter than what was counted, in any sane way of counting.
        let select = found.map_or_else(String::new, |(select, _)| select);
        let fits = |counted: &Counted| counted.tokens <= self.options.preview_tokens;
        let mut steps = steps;
        loop {
            let counted = self.trial(plan, root, steps, frame, Some(&select));
            if fits(&counted) {
                return Some(counted);
            }
            steps = steps.checked_sub(1)? / 2;
        }
    }
}
