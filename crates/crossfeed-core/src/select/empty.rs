//! Answers that may be none: an empty list, or nulls throughout, where what the selector reads is nowhere there.
//!
//! The rules are normative in `specs/select.md#empty-answers`.

use super::{Selector, rewrite};
use crate::error::cut;
use crossfeed_jmespath::{Doubt, Expression, Kind, Misread, View, doubts, places};

/// The most characters of a text that a reason quotes.
const MAX_QUOTED_CHARS: usize = 60;

impl<'a> Selector<'a, '_> {
    /// What makes it doubtful that what an expression gives is an answer, on half of the steps that are left.
    pub(super) fn doubts(&self, expression: &'a Expression, view: &View<'a>) -> Vec<Doubt<'a>> {
        let budget = self.budget;
        let mut found = budget.spare(|| doubts(expression, view, self.arena, budget));
        if let Some(declared) = &self.declared {
            found.retain(|doubt| {
                let field = doubt.path.rsplit('.').next().unwrap_or_default();
                let has = |object: &View<'_>| declared.has(object, field);
                doubt.misread != Misread::NoField || !doubt.around.iter().any(has)
            });
        }
        found
    }

    /// Why an expression gave nothing, for a model.
    pub(super) fn reason(&self, text: &str, doubt: &Doubt<'a>) -> String {
        let place = doubt
            .place
            .and_then(|place| places(text).get(place).copied());
        let written = place.and_then(|place| text.get(place.start..place.end));
        let path = short(&doubt.path);
        let is_one = doubt.values == 1;
        match &doubt.misread {
            Misread::NoField => {
                let name = rewrite::unquoted(written.unwrap_or(&path));
                let near = rewrite::near(&doubt.around, &name, self.arena, self.budget);
                let near = near.into_iter().next();
                let near =
                    near.map_or(String::new(), |near| format!("; `{}` exists", short(&near)));
                let around = doubt.around.first().map(View::kind);
                match around {
                    Some(Kind::Array) => {
                        format!(
                            "`{}` is looked for in a list; its items are reached by `[*]`",
                            short(&name)
                        )
                    }
                    Some(Kind::Object) if is_one => format!("there is no `{}`{near}", short(&name)),
                    Some(Kind::Object) => format!("no item has `{}`{near}", short(&name)),
                    Some(kind) => format!("`{}` is read from {}", short(&name), a(kind)),
                    None => format!("there is no `{}`{near}", short(&name)),
                }
            }
            Misread::NoList => match written {
                Some(index) => format!(
                    "`{index}` is read from something that is not a list, after a projection from each item"
                ),
                None => "an index is read from something that is not a list".to_owned(),
            },
            Misread::NoItems => match path.as_str() {
                "" => "the value has no items to project".to_owned(),
                path => format!("`{path}` has no items to project"),
            },
            Misread::Constant => {
                "the condition compares two literals, and reads no field".to_owned()
            }
            Misread::NoSlice { .. } => "the slice takes no item of any list".to_owned(),
            Misread::Types { found, wanted } => {
                let (found, wanted) = (a(*found), wanted.as_str());
                let literal = written.map_or(String::new(), |text| format!(" {}", short(text)));
                format!(
                    "{} is {found} and is compared with the {wanted}{literal}",
                    named(&path)
                )
            }
            Misread::Turned { items } => {
                let written = short(written.unwrap_or("the text"));
                let plural = if *items == 1 { "" } else { "s" };
                format!(
                    "{path} is searched for in {written}; it has {written} in {items} item{plural}",
                    path = named(&path)
                )
            }
            Misread::Spelling { found, items } => {
                let found = short(found);
                let written = short(written.unwrap_or("that"));
                let plural = if *items == 1 { "" } else { "s" };
                format!(
                    "{} is never {written}; it is '{found}' in {items} item{plural}",
                    named(&path)
                )
            }
            _ => "it reads what is not there".to_owned(),
        }
    }
}

/// A type with its article.
fn a(kind: Kind) -> String {
    let article = match kind {
        Kind::Array | Kind::Object => "an",
        _ => "a",
    };
    format!("{article} {}", kind.as_str())
}

/// A path in a sentence.
fn named(path: &str) -> String {
    match path {
        "" => "the item".to_owned(),
        path => format!("`{path}`"),
    }
}

/// The beginning of a text, without control characters.
fn short(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    cut(&plain, MAX_QUOTED_CHARS).into_owned()
}
