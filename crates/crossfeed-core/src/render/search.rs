//! Searches the output of a rendering: the whole result if it is small, else the largest preview that fits.
//!
//! A preview is a plan and a number of steps. Bisection finds the number; each trial is written and counted.

use super::{
    first_hidden::first_hidden,
    internal_fields::{InternalFields, beside_preview},
    notice::{self, Note},
    parts::EnvelopeInfo,
    plan::Plan,
    preview::Preview,
    root::plan_of,
    subject::{RenderContext, Subject, whole_tokens},
    whole::{Blanks, whole},
    write::write,
    {RenderOptions, Rendered, ShownHints},
};
use crate::{
    canonical::StoredItem, context::ContextOptions, error::RenderError, failure::Error,
    paths::in_part,
};

/// The most bytes of a token, on average over an output: an estimate of four characters, of four bytes each.
/// Longer output is not tried, whatever the counter, so that trials are bounded.
const TOKEN_BYTES: usize = 16;
/// The bytes of a token in most texts.
const USUAL_TOKEN_BYTES: usize = 4;
/// Bytes that are tried with any budget.
const LEAST_BYTES: usize = 1024;
/// A result may have this many times the bytes of its limit if it might fit without its blanks.
const MOSTLY_BLANK: usize = 8;
/// The share of a preview's budget that automatic hints may take, and the share that they leave to the data,
/// in percent.
const HINTS_SHARE: usize = 40;
const DATA_SHARE: usize = 25;
/// The share that requested hints may take of the budget after a preview's first and last lines, in percent.
const ASKED_HINTS_SHARE: usize = 80;

/// Hints as JSON, the most detailed first.
type Hints<'h> = dyn Fn() -> Vec<String> + 'h;

/// Shows a result. `hints` is called only if hints are to be shown.
pub(crate) fn show<'a>(
    stored: &'a StoredItem,
    known: &RenderContext<'a, '_>,
    options: &RenderOptions,
    context: &ContextOptions,
    hints: &Hints<'_>,
) -> Result<Rendered, Error> {
    let subject = Subject::new(stored, known)?;
    let parts = match subject {
        Subject::Mcp(root) => EnvelopeInfo::new(root, known).legend(known),
        _ => None,
    };
    let search = Search {
        subject,
        known,
        options,
        context,
        parts,
        bytes: stored.document().raw().len(),
        whole_tokens: whole_tokens(stored, &context.tokens),
    };
    Ok(search.show(hints)?)
}

/// The most bytes that this many tokens may have.
fn bytes_of(tokens: usize) -> usize {
    let bytes = tokens.saturating_mul(TOKEN_BYTES);
    bytes.saturating_add(LEAST_BYTES)
}

/// A share of a budget, in percent.
fn share_of(budget: usize, percent: usize) -> usize {
    budget.saturating_mul(percent) / 100
}

/// The lines around a preview's data.
#[derive(Clone, Copy, Debug)]
struct Frame<'h> {
    /// Hints as JSON.
    hints: Option<&'h str>,
    note: Note,
}

impl Frame<'_> {
    /// A frame without hints.
    fn bare(note: Note) -> Self {
        Self { hints: None, note }
    }
}

struct Search<'a, 'v> {
    subject: Subject<'a>,
    known: &'v RenderContext<'a, 'v>,
    options: &'v RenderOptions,
    context: &'v ContextOptions,
    /// The note on the selectors of a tool result's parts.
    parts: Option<String>,
    bytes: usize,
    whole_tokens: usize,
}

impl<'a> Search<'a, '_> {
    fn show(&self, hints: &Hints<'_>) -> Result<Rendered, RenderError> {
        let budget = self.options.preview_tokens;
        // A larger budget for previews applies to whole results as well.
        let limit = self.options.whole_tokens.max(budget);
        let mut needed = usize::MAX;
        for blanks in [Blanks::Kept, Blanks::LeftOut] {
            let Some(all) = self.whole(blanks, None, limit) else {
                continue;
            };
            needed = needed.min(all.tokens);
            if all.tokens <= limit {
                return Ok(self.best_hinted(all, blanks, limit, hints));
            }
        }
        let mut plan = plan_of(self.subject, self.known);
        let mut all_hints = Vec::new();
        if self.wants_hints(false) {
            let hints = hints();
            all_hints.extend(hints.iter().map(|hints| notice::one_line(hints)));
        }
        for frame in self.frames(&plan, &all_hints) {
            if let Some(rendered) = self.most(&mut plan, &frame) {
                return Ok(rendered);
            }
        }
        let least = self.trial(&plan, 0, &Frame::bare(Note::Short), None);
        Err(RenderError::BudgetTooSmall {
            budget,
            needed: needed.min(least.map_or(usize::MAX, |least| least.tokens)),
            limit: self.context.limit(),
        })
    }

    /// A whole result with the most detailed hints that fit, if they are wanted; without hints rather than
    /// cut.
    fn best_hinted(
        &self,
        all: Rendered,
        blanks: Blanks,
        limit: usize,
        hints: &Hints<'_>,
    ) -> Rendered {
        if !self.wants_hints(true) {
            return all;
        }
        let fitting = |hints: &String| {
            let all = self.whole(blanks, Some(hints), limit)?;
            (all.tokens <= limit).then_some(all)
        };
        hints().iter().find_map(fitting).unwrap_or(all)
    }

    /// Whether hints are shown beside a result; `small`, if it is shown whole.
    fn wants_hints(&self, small: bool) -> bool {
        let wanted = match self.options.hints {
            ShownHints::Never => false,
            ShownHints::WhenCut => !small,
            ShownHints::Always => true,
        };
        wanted && self.known.referable
    }

    fn shown(&self, json: String, complete: bool, preview: Option<Preview>) -> Rendered {
        Rendered {
            tokens: self.context.tokens.count(&json),
            json,
            whole: preview.is_none(),
            complete,
            withheld: self.known.withheld,
            whole_tokens: self.whole_tokens,
            preview,
        }
    }

    /// The frames to try, the best first: hints only if they leave room for data.
    fn frames<'h>(&self, plan: &Plan<'a, '_>, hints: &'h [String]) -> Vec<Frame<'h>> {
        let budget = self.options.preview_tokens;
        let asked = self.options.hints == ShownHints::Always || self.options.fitting.is_some();
        let plain = Frame::bare(Note::Full);
        let mut frames = Vec::new();
        let tokens_of = |frame: &Frame<'_>| {
            let trial = self.trial(plan, 0, frame, None);
            trial.map_or(usize::MAX, |counted| counted.tokens)
        };
        if !hints.is_empty() {
            let without = tokens_of(&plain);
            let with_hints = hints.iter().map(|hints| Frame {
                hints: Some(hints),
                ..plain
            });
            let has_room = |frame: &Frame<'_>| {
                let with = tokens_of(frame);
                let taken = with.saturating_sub(without);
                if asked {
                    let left = budget.saturating_sub(without);
                    return taken <= share_of(left, ASKED_HINTS_SHARE);
                }
                let left = budget.saturating_sub(with);
                taken <= share_of(budget, HINTS_SHARE) && left >= share_of(budget, DATA_SHARE)
            };
            frames.extend(with_hints.filter(has_room));
        }
        frames.push(plain);
        if self.known.referable {
            frames.push(Frame::bare(Note::Unselected));
        }
        frames.push(Frame::bare(Note::Short));
        frames
    }

    /// The whole result, in at most the bytes that this many tokens may have, and whether nothing is
    /// described or left out.
    fn whole(&self, blanks: Blanks, hints: Option<&str>, limit: usize) -> Option<Rendered> {
        let most = bytes_of(limit);
        // Skipping blanks must end, too.
        if blanks == Blanks::LeftOut && self.bytes > most.saturating_mul(MOSTLY_BLANK) {
            return None;
        }
        let ours = InternalFields::new(self.known, self.parts.as_deref(), hints);
        let (json, complete) = whole(self.subject, self.known, &ours, blanks, most)?;
        Some(self.shown(json, complete, None))
    }

    /// The preview after `steps` steps; `None` if it hides nothing and so would look like the whole. `reach`
    /// is the selector of the first hidden value, if it is known.
    fn trial(
        &self,
        plan: &Plan<'a, '_>,
        steps: usize,
        frame: &Frame<'_>,
        reach: Option<&str>,
    ) -> Option<Rendered> {
        let hidden = first_hidden(plan, steps)?;
        let first = || hidden.selectors(plan).next().map(|(select, _)| select);
        let select = reach.map(str::to_owned).or_else(first);
        let size = (self.bytes, self.whole_tokens);
        let begin = frame.note.line(self.known, select.as_deref(), size);
        let (body, end) = (write(plan, steps), notice::end(self.known));
        let text = format!("{begin}\n{body}\n{end}");
        let json = beside_preview(self.known, &text, frame.hints);
        let preview = Preview::new(text, end.len(), frame.hints);
        Some(self.shown(json, false, Some(preview)))
    }

    /// The preview that shows most within the budget; `None` if not even the frame fits.
    fn most(&self, plan: &mut Plan<'a, '_>, frame: &Frame<'_>) -> Option<Rendered> {
        let budget = self.options.preview_tokens;
        let fits = |counted: &Rendered| counted.tokens <= budget;
        let mut best = self.trial(plan, 0, frame, None).filter(fits)?;
        let most = bytes_of(budget);
        let mut room = budget.saturating_mul(USUAL_TOKEN_BYTES).max(LEAST_BYTES);
        let (mut fit, mut misfit) = (0, usize::MAX);
        while misfit - fit > 1 {
            let steps = if misfit == usize::MAX {
                // The number of steps that fit is not known yet.
                let has_more = plan.grow(room);
                let steps = plan.steps;
                if steps == fit && (!has_more || room >= most) {
                    break;
                }
                room = room.saturating_mul(2).min(most);
                steps
            } else {
                fit + (misfit - fit) / 2
            };
            match self.trial(plan, steps, frame, None).filter(fits) {
                Some(counted) => (best, fit) = (counted, steps),
                None => misfit = steps,
            }
        }
        if frame.note == Note::Full && self.known.referable {
            return self.reached(plan, fit, frame, best);
        }
        Some(best)
    }

    /// The preview with a selector that was evaluated.
    fn reached(
        &self,
        plan: &Plan<'a, '_>,
        mut steps: usize,
        frame: &Frame<'_>,
        best: Rendered,
    ) -> Option<Rendered> {
        let hidden = first_hidden(plan, steps)?;
        let reaches = |(select, place): &(String, _)| {
            select.is_empty() || (self.known.reaches)(select, *place)
        };
        let shorter = hidden.selectors(plan).next().and_then(|(select, place)| {
            let shorter = (in_part(&select)?.to_owned(), place);
            reaches(&shorter).then_some(shorter)
        });
        let mut selectors = hidden.selectors(plan);
        let first = selectors.next();
        if shorter.is_none() && first.as_ref().is_some_and(&reaches) {
            return Some(best);
        }
        let found = shorter.or_else(|| selectors.find(&reaches));
        // Shorter than the counted preview, so it fits under any sane counter.
        let select = found.map_or_else(String::new, |(select, _)| select);
        let fits = |counted: &Rendered| counted.tokens <= self.options.preview_tokens;
        loop {
            let counted = self.trial(plan, steps, frame, Some(&select));
            if let Some(counted) = counted.filter(fits) {
                return Some(counted);
            }
            steps = steps.checked_sub(1)? / 2;
        }
    }
}
