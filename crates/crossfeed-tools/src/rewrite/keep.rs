//! Copies schemas that admit no references; references in them follow their targets.

use super::{inline::Rewriter, moves::Move};
use crossfeed_schema::{
    index::REFERENCES,
    keywords::{self, Step},
};
use serde_json::Value;

impl<'s> Rewriter<'s> {
    /// A schema that stays as it is, references in it following their targets.
    pub(super) fn kept(&mut self, key: &str, value: &'s Value, place: &mut Move) -> Value {
        self.inside(place, key, Step::Keyword, |rewriter, place| {
            rewriter.keep(value, place)
        })
    }

    /// Does something with a schema that a keyword holds, at its place.
    pub(super) fn inside(
        &mut self,
        place: &mut Move,
        keyword: &str,
        step: Step<'_>,
        write: impl FnOnce(&mut Self, &mut Move) -> Value,
    ) -> Value {
        let mark = self.moves.step(place, keyword, step);
        let new = write(self, place);
        self.moves.back(place, mark);
        new
    }

    /// Does something with a schema that becomes a branch of a new `anyOf`.
    pub(super) fn in_branch(
        &mut self,
        place: &mut Move,
        branch: usize,
        write: impl FnOnce(&mut Self, &mut Move) -> Value,
    ) -> Value {
        let mark = self.moves.step_new(place, "anyOf", Step::Index(branch));
        let new = write(self, place);
        self.moves.back(place, mark);
        new
    }

    pub(super) fn keep(&mut self, schema: &'s Value, place: &mut Move) -> Value {
        if !self.moves.tracks() {
            return schema.clone();
        }
        self.moves.arrive(place);
        let Value::Object(object) = schema else {
            return schema.clone();
        };
        object
            .iter()
            .map(|(key, value)| (key.clone(), self.kept_keyword(key, value, place)))
            .collect()
    }

    /// One keyword of a schema that stays as it is.
    pub(super) fn kept_keyword(
        &mut self,
        key: &'s str,
        value: &'s Value,
        place: &mut Move,
    ) -> Value {
        match keywords::subschemas(key) {
            Some((holds, _)) => {
                let keep = |step, inner| {
                    self.inside(place, key, step, |rewriter, place| {
                        rewriter.keep(inner, place)
                    })
                };
                keywords::replaced(holds, value, keep).unwrap_or_else(|| value.clone())
            }
            None if REFERENCES.contains(&key) => self
                .link(key, value, place)
                .unwrap_or_else(|| value.clone()),
            None => self.foreign(key, value, place, true),
        }
    }

    /// The value of a keyword that is not known to hold schemas, and may: something may refer there.
    pub(super) fn foreign(
        &mut self,
        key: &str,
        value: &'s Value,
        place: &mut Move,
        keeps: bool,
    ) -> Value {
        self.inside(place, key, Step::Keyword, |rewriter, place| {
            rewriter.within_foreign(value, place, keeps)
        })
    }

    fn within_foreign(&mut self, value: &'s Value, place: &mut Move, keeps: bool) -> Value {
        if !self.moves.has_target_within(&place.old) {
            return value.clone();
        }
        if self.moves.is_target(&place.old) {
            return if keeps {
                self.keep(value, place)
            } else {
                self.schema(value, place)
            };
        }
        match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), self.foreign(key, value, place, keeps)))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.foreign(&index.to_string(), item, place, keeps))
                .collect(),
            _ => value.clone(),
        }
    }

    /// A reference, leading to where its target went; `None` where it goes.
    pub(super) fn link(&mut self, key: &str, value: &Value, place: &Move) -> Option<Value> {
        let keyword = REFERENCES.into_iter().find(|known| *known == key)?;
        match value.as_str() {
            Some(text) if self.moves.tracks() => self.moves.follow(&place.old, keyword, text),
            _ => Some(value.clone()),
        }
    }
}
