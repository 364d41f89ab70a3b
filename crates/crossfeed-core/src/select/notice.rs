//! What is odd about an answer, and why an expression that reads what is there gave nothing.

use super::{
    Notice, Oddity, Outcome, Selector,
    miss::{self, OFFERED},
    readings::Reading,
    rewrite,
};
use crossfeed_jmespath::{
    Doubt, Emptiness, Expression, View, WhyEmpty, equal,
    repair::{Candidate, Repair, Rule},
    why_empty,
};

impl<'a> Selector<'a, '_> {
    /// The notice on a value that is empty, or has nulls throughout, and is an answer all the same.
    pub(super) fn odd(
        &self,
        expression: &'a Expression,
        emptiness: Emptiness,
        doubts: &[Doubt<'a>],
        view: &View<'a>,
    ) -> Option<Notice> {
        if emptiness == Emptiness::List {
            return self.empty(expression, view);
        }
        let doubt = doubts.first()?;
        let nearest = if self.explains() {
            self.corrections(expression.text(), view, OFFERED)
        } else {
            Vec::new()
        };
        Some(Notice {
            why: Oddity::Null(self.reason(expression.text(), doubt)),
            nearest,
        })
    }

    /// Why a reading gave null, where every field that it reads is there: a filter that refused all, or a slice.
    pub(super) fn refused(
        &self,
        text: &str,
        nulls: &[(&'a Expression, View<'a>)],
    ) -> Option<String> {
        let budget = self.budget;
        nulls.iter().find_map(|(expression, view)| {
            let why = budget.spare(|| why_empty(expression, view, self.arena, budget));
            let why = why.ok()??;
            let is_doubted = matches!(why, WhyEmpty::NoItemHasField { .. })
                || !self.doubts(expression, view).is_empty();
            let read = expression.text();
            (!is_doubted).then(|| match Oddity::Empty(why) {
                why if read == text => why.to_string(),
                why => format!("it is read as `{read}`; {why}"),
            })
        })
    }

    /// The notice on an empty list; `None` if explaining it would cost too much.
    fn empty(&self, expression: &'a Expression, view: &View<'a>) -> Option<Notice> {
        let budget = self.budget;
        let why = budget.spare(|| why_empty(expression, view, self.arena, budget));
        let why = why.ok()??;
        let nearest = if self.explains() {
            // A projection of a field that is null everywhere would be empty again.
            let has_field = !matches!(why, WhyEmpty::NoItemHasField { .. });
            let projects = has_field && miss::projects(expression);
            self.nearest(&miss::names(expression), view, projects)
        } else {
            Vec::new()
        };
        Some(Notice {
            why: Oddity::Empty(why),
            nearest,
        })
    }

    /// The notice on a comparison that may mean another.
    pub(super) fn doubtful(&self, reading: &Reading<'a, '_>, view: &View<'a>) -> Option<Notice> {
        let field = self.field_for_text(reading, view);
        field.or_else(|| self.text_order(reading, view))
    }

    /// The notice on texts of numbers that are compared by size, where numbers would give something else.
    pub(super) fn text_order(&self, reading: &Reading<'a, '_>, view: &View<'a>) -> Option<Notice> {
        let other = rewrite::as_numbers(reading.text).filter(|text| self.options.admits(text))?;
        let is_other = match self.budget.spare(|| self.read("", reading, &other)) {
            Ok(Outcome::Selected(found) | Outcome::Emptied(found, ..)) => {
                self.differs(view, &found.view)
            }
            _ => false,
        };
        is_other.then(|| Notice {
            why: Oddity::TextOrder,
            nearest: vec![other],
        })
    }

    /// The notice on a comparison with a field that no item has, where the name as a literal would give something else:
    /// `[?status == "active"]` is true where an item has neither field, and `[?done == true]` where it is not done.
    pub(super) fn field_for_text(
        &self,
        reading: &Reading<'a, '_>,
        view: &View<'a>,
    ) -> Option<Notice> {
        let expression = self.compiled.get(reading.text).ok()?;
        if !expression.compares_fields() {
            return None;
        }
        let is_literal =
            |repair: &Repair| matches!(repair.rule, Rule::ComparedWord | Rule::BareConstant);
        let admitted = |candidate: &Candidate| {
            !candidate.is_doubtful
                && self.options.admits(&candidate.expression)
                && candidate.repairs.iter().all(is_literal)
        };
        let other = self.candidates(reading.text).into_iter().find(admitted)?;
        let other = other.expression;
        let found = self.budget.spare(|| self.read("", reading, &other));
        let is_other =
            matches!(found, Ok(Outcome::Selected(found)) if self.differs(view, &found.view));
        is_other.then(|| Notice {
            why: Oddity::FieldForText,
            nearest: vec![other],
        })
    }

    /// Whether two values are known to differ.
    fn differs(&self, one: &View<'a>, other: &View<'a>) -> bool {
        !equal(one, other, self.budget).unwrap_or(true)
    }
}
