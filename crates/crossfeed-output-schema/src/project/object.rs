//! Keywords for objects: assertions about members that stay, and about their number.

use super::{
    cuts::CutId,
    make::{Maker, Outcome, Pieces},
    parts::{distinct, is_anything},
};
use crossfeed_schema::keywords;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

impl<'s> Maker<'s, '_> {
    /// Projects the keywords that assert something about members.
    pub(super) fn members(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        self.names_of_members(object, cut, pieces)?;
        self.schemas_of_members(object, cut, pieces)?;
        self.unevaluated("unevaluatedProperties", object, cut, pieces)
    }

    /// `properties`, `patternProperties` and `additionalProperties`.
    fn schemas_of_members(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        let map = |keyword| object.get(keyword).and_then(Value::as_object);
        let (declared, patterns) = (map("properties"), map("patternProperties"));
        let additional = object.get("additionalProperties");
        let other = self.cuts.other_member(cut);
        let mut properties = Map::new();
        for (name, schema) in declared.into_iter().flatten() {
            match self.cuts.member(cut, name) {
                None => pieces.exact &= is_anything(schema),
                Some(inner) => {
                    properties.insert(name.clone(), self.part(schema, inner, pieces)?);
                }
            }
        }
        let names = if patterns.is_some() || additional.is_some_and(|rest| !is_anything(rest)) {
            self.cuts.names(cut)
        } else {
            std::rc::Rc::default()
        };
        let mut left = Map::new();
        let mut withheld = false;
        for (pattern, schema) in patterns.into_iter().flatten() {
            let (mut cuts, mut goes) = (Vec::from_iter(other), other.is_none());
            let mut known: HashSet<CutId> = other.into_iter().collect();
            for &name in names.iter() {
                self.count(1)?;
                if self.patterns.matches(pattern, name) {
                    match self.cuts.member(cut, name) {
                        None => goes = true,
                        Some(inner) if !known.insert(inner) => {}
                        Some(inner) => cuts.push(inner),
                    }
                }
            }
            pieces.exact &= !goes || is_anything(schema);
            if self.cuts.mentions_withheld(pattern) {
                withheld = true;
            } else if !cuts.is_empty() {
                let schema = self.either_cut(schema, &cuts, pieces)?;
                left.insert(pattern.clone(), schema);
            }
        }
        // A name of a never-rule may be written in any case, and may be treated differently from the rest.
        let fares_otherwise = |own: &mut Self, name: &str| {
            let inner = own.cuts.member(cut, name);
            inner.is_some() && inner != other
        };
        let withheld = withheld
            || self.cuts.withholds()
                && additional.is_some_and(|rest| !is_anything(rest) && rest != &json!(false))
                && names.iter().any(|name| fares_otherwise(self, name));
        let mut rest = additional.cloned();
        if withheld {
            // What the pattern named would be judged by the rest.
            pieces.exact = false;
            rest = None;
        } else if let Some(additional) = additional.filter(|rest| !is_anything(rest)) {
            let is_nothing = *additional == Value::Bool(false);
            for &name in names.iter() {
                self.count(1)?;
                let mut patterns = patterns.into_iter().flat_map(Map::keys);
                if declared.is_some_and(|declared| declared.contains_key(name))
                    || patterns.any(|pattern| self.patterns.matches(pattern, name))
                {
                    continue;
                }
                match self.cuts.member(cut, name) {
                    None => pieces.exact = false,
                    // It is not an additional one then, and must be none.
                    Some(_) if is_nothing => {}
                    Some(inner) => {
                        let schema = self.part(additional, inner, pieces)?;
                        properties.insert(name.to_owned(), schema);
                    }
                }
            }
            rest = Some(match other {
                Some(inner) => self.part(additional, inner, pieces)?,
                None => {
                    pieces.exact = false;
                    json!(false)
                }
            });
        }
        if declared.is_some() || !properties.is_empty() {
            pieces.put("properties", Value::Object(properties));
        }
        if !left.is_empty() {
            pieces.put("patternProperties", Value::Object(left));
        }
        if let Some(rest) = rest {
            pieces.put("additionalProperties", rest);
        }
        Ok(())
    }

    /// Assertions about the names and the number of members.
    fn names_of_members(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        let losses = self.cuts.losses(cut);
        let is_cut = !losses.are_none();
        if let Some(names) = object.get("required") {
            let left = self.left_of(names, cut);
            let all = names.as_array().map_or(0, Vec::len);
            self.count(left.len())?;
            pieces.exact &= left.len() == all;
            if !left.is_empty() || all == 0 {
                pieces.put("required", Value::Array(left));
            }
        }
        if let Some(least) = object.get("minProperties") {
            pieces.exact &= !is_cut;
            let lost = u64::try_from(losses.names).unwrap_or(u64::MAX);
            let left = least.as_u64().map(|least| least.saturating_sub(lost));
            match left {
                _ if !is_cut => pieces.put("minProperties", least.clone()),
                // In how many cases a name may be written is not known.
                Some(left) if left > 0 && !losses.others && !self.cuts.withholds() => {
                    pieces.put("minProperties", json!(left))
                }
                _ => {}
            }
        }
        if let Some(most) = object.get("maxProperties") {
            pieces.exact &= !is_cut;
            pieces.put("maxProperties", most.clone());
        }
        if let Some(names) = self.asserted(object, "propertyNames") {
            pieces.exact &= !is_cut;
            if self.cuts.withholds() {
                pieces.exact = false; // it may be a list of names
            } else {
                let names = self.part(names, CutId::WHOLE, pieces)?;
                pieces.put("propertyNames", names);
            }
        }
        Ok(())
    }

    /// The names of a list whose members stay.
    pub(super) fn left_of(&mut self, names: &Value, cut: CutId) -> Vec<Value> {
        let mut names: Vec<_> = keywords::strings(Some(names)).collect();
        names.retain(|name| self.cuts.member(cut, name).is_some());
        names.into_iter().map(Value::from).collect()
    }

    /// The schema of a value that is cut in one of several ways.
    pub(super) fn either_cut(
        &mut self,
        schema: &'s Value,
        cuts: &[CutId],
        pieces: &mut Pieces,
    ) -> Outcome<Value> {
        let mut branches = Vec::with_capacity(cuts.len());
        for cut in cuts {
            branches.push(self.part(schema, *cut, pieces)?);
        }
        pieces.exact &= branches.len() == 1;
        Ok(self.either(branches))
    }

    /// One schema that admits what any of these admits.
    pub(super) fn either(&self, branches: Vec<Value>) -> Value {
        if branches.iter().any(is_anything) {
            return self.anything();
        }
        let mut branches = distinct(branches);
        match branches.len() {
            1 => branches.swap_remove(0),
            _ => json!({"anyOf": branches}),
        }
    }
}
