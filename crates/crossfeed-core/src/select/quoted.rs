//! A selector that is only a quoted text, or stands in `${…}`: what is inside is read as the selector.

use super::{OFFERED, Selection, Selector, strip_prefix};
use crate::error::SelectError;
use crossfeed_jmespath::{
    Node, View,
    repair::{Repair, Rule},
};

impl<'a> Selector<'a, '_> {
    /// What the text within the quotes selects, if the whole selector is one literal and the text selects something.
    /// It is an error where the text is nearly a path of the value, because nobody passes on a path as a text.
    pub(super) fn unquoted(
        &self,
        written: &str,
        text: &'a str,
    ) -> Result<Option<Selection<'a>>, SelectError> {
        let template = in_template(text);
        let Some(inside) = template.or_else(|| self.inside_quotes(text)) else {
            return Ok(None);
        };
        let inside = inside.trim();
        let stripped = strip_prefix(inside);
        let is_admitted = |text: &str| !text.is_empty() && self.options.admits(text);
        // A text in quotes within would be read again and again.
        let is_again = template.is_none() && inside.starts_with(QUOTES);
        if !is_admitted(stripped.unwrap_or(inside)) || is_again {
            return Ok(None);
        }
        if text.starts_with('"') {
            // A quoted name is a path: it comes first.
            let whole = self.everywhere(written, text, None, false)?;
            if whole.is_ok() {
                return Ok(whole.ok());
            }
        }
        let found = self.everywhere(written, inside, stripped, true);
        match found {
            Ok(Ok(mut selection)) => {
                let rule = if template.is_some() {
                    Rule::Wrapping
                } else {
                    Rule::QuotedSelector
                };
                let repair = Repair::new(rule, text.to_owned(), inside.to_owned());
                selection.report.repairs.insert(0, repair);
                Ok(Some(selection))
            }
            Ok(Err(miss))
                if template.is_some()
                    || inside.contains(['.', '[', '(']) && !self.is_json(text) =>
            {
                let root: View<'a> = self.views.offered(self.arena, self.budget);
                let nearest = match self.understood(inside) {
                    Some(understood) => self.corrections(understood.text(), &root, OFFERED),
                    None => Vec::new(),
                };
                if nearest.is_empty() {
                    return Ok(None);
                }
                Err(self.explained(written, inside, miss))
            }
            Err(error @ SelectError::NoMemory { .. }) => Err(error),
            _ => Ok(None),
        }
    }

    /// Whether a text is a literal of JSON other than a text, such as an empty list.
    fn is_json(&self, text: &str) -> bool {
        let expression = self.compiled.get(text);
        expression.is_ok_and(|expression| matches!(expression.root(), Node::Literal(_)))
    }

    /// The text of a selector that is one literal, valid or not, or one quoted name.
    fn inside_quotes(&self, text: &'a str) -> Option<&'a str> {
        if !text.starts_with(QUOTES) {
            return None;
        }
        if let Ok(expression) = self.compiled.get(text)
            && let Node::Text(inside) = self.arena.keep(expression).root()
        {
            return Some(inside);
        }
        let quote = text.chars().next()?;
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        let is_one = quote != '\'' && !inside.contains([quote, '\\']);
        is_one.then_some(inside)
    }
}

/// The selector in `${…}` round the whole, which no template engine expands any more.
pub(super) fn in_template(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    (!inside.contains("${")).then_some(inside)
}

pub(super) const QUOTES: [char; 3] = ['\'', '`', '"'];
