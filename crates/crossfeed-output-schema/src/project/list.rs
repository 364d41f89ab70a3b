//! Keywords for lists: assertions about items that stay, and about their number.

use super::{
    NoProjectedSchema,
    cuts::{CutId, ItemCuts},
    make::{Maker, Outcome, Pieces, is_known},
    parts::is_anything,
};
use crossfeed_projection::MAX_ITEM_PLACES;
use crossfeed_schema::{Dialect, keywords};
use serde_json::{Map, Value, json};

/// Positions from here on are treated alike: each costs as many look-ups as there are positions before it.
const MAX_POSITIONS: usize = 64;

/// The schemas of the items of a list, by position.
struct Items<'s> {
    /// The keyword of those that are listed, and the schemas.
    listed: Option<(&'static str, &'s [Value])>,
    /// The keyword of those behind them, and their schema.
    rest: Option<(&'static str, &'s Value)>,
}

impl<'s> Items<'s> {
    fn new(object: &'s Map<String, Value>, has_prefix: bool) -> Self {
        let schema = |keyword| Some((keyword, object.get(keyword)?));
        let list = |keyword| Some((keyword, object.get(keyword)?.as_array()?.as_slice()));
        let listed = list(if has_prefix { "prefixItems" } else { "items" });
        let is_list_form = !has_prefix && listed.is_some();
        Self {
            listed,
            rest: schema(if is_list_form {
                "additionalItems"
            } else {
                "items"
            }),
        }
    }
}

impl<'s> Maker<'s, '_> {
    /// Projects the keywords that assert something about items.
    pub(super) fn items(
        &mut self,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        let is_of_lists = |keyword: &String| keywords::asserted_type(keyword) == Some("array");
        let is_list = keywords::says_type(object.get("type"), "array");
        if !is_list && !object.keys().any(is_of_lists) {
            return Ok(());
        }
        let all = self.cuts.items(cut);
        let all = all.ok_or(NoProjectedSchema::TooManyWays {
            limit: MAX_ITEM_PLACES,
        })?;
        let items = Items::new(object, is_known("prefixItems", self.dialect));
        if all.goes {
            self.closed_up(object, &items, cut, &all, pieces)?;
        } else {
            self.in_place(object, &items, cut, &all, pieces)?;
        }
        self.unevaluated("unevaluatedItems", object, cut, pieces)
    }

    /// Items that all stay, each at its position.
    fn in_place(
        &mut self,
        object: &'s Map<String, Value>,
        items: &Items<'s>,
        cut: CutId,
        all: &ItemCuts,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        if let Some((keyword, listed)) = items.listed {
            let mut made = Vec::with_capacity(listed.len());
            for (at, schema) in listed.iter().enumerate() {
                let own = self.cuts_at(cut, at, all);
                made.push(self.either_cut(schema, &own, pieces)?);
            }
            pieces.put(keyword, Value::Array(made));
        }
        if let Some((keyword, rest)) = items.rest {
            let made = self.either_cut(rest, &all.cuts, pieces)?;
            pieces.put(keyword, made);
        }
        for keyword in ["minItems", "maxItems"] {
            if let Some(bound) = object.get(keyword) {
                pieces.put(keyword, bound.clone());
            }
        }
        self.unique(object, items, all, pieces);
        if let Some(wanted) = self.asserted(object, "contains") {
            let mut inner = Pieces::new();
            let made = self.either_cut(wanted, &all.cuts, &mut inner)?;
            pieces.put("contains", made);
            if let Some(least) = self.asserted(object, "minContains") {
                pieces.put("minContains", least.clone());
            }
            // More items than before may match `contains`.
            let most = self.asserted(object, "maxContains");
            if let Some(most) = most.filter(|_| inner.exact) {
                pieces.put("maxContains", most.clone());
            }
            pieces.exact &= inner.exact;
        }
        Ok(())
    }

    /// Projects a list that loses items, so that the others move up.
    fn closed_up(
        &mut self,
        object: &'s Map<String, Value>,
        items: &Items<'s>,
        cut: CutId,
        all: &ItemCuts,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        let mut about_lists = object
            .keys()
            .filter(|keyword| keywords::asserted_type(keyword) == Some("array"));
        pieces.exact &= about_lists.all(|keyword| keyword == "unevaluatedItems");
        if all.cuts.is_empty() {
            pieces.put("maxItems", json!(0));
            return Ok(());
        }
        let listed = items.listed.map_or(&[] as &[Value], |(_, listed)| listed);
        let mut branches = Vec::new();
        for (at, schema) in listed.iter().enumerate() {
            for own in self.cuts_at(cut, at, all) {
                branches.push(self.schema(schema, own)?.schema);
            }
        }
        match items.rest {
            Some((_, rest)) if *rest == Value::Bool(false) => {}
            Some((_, rest)) => {
                for own in &all.cuts {
                    branches.push(self.schema(rest, *own)?.schema);
                }
            }
            None => branches.push(self.anything()),
        }
        if branches.is_empty() {
            pieces.put("maxItems", json!(0))
        } else {
            let either = self.either(branches);
            if !is_anything(&either) {
                pieces.put("items", either);
            }
            self.bounds_of_left(object, cut, all, pieces);
        }
        self.unique(object, items, all, pieces);
        Ok(())
    }

    /// How many items are left of a list that has so many.
    fn bounds_of_left(
        &mut self,
        object: &Map<String, Value>,
        cut: CutId,
        all: &ItemCuts,
        pieces: &mut Pieces,
    ) {
        let bound = |keyword| usize::try_from(object.get(keyword)?.as_u64()?).ok();
        if let Some(least) = bound("minItems") {
            let near = 0..least.min(MAX_POSITIONS);
            let left = near.filter(|at| !self.cuts.item(cut, *at).goes).count();
            if left > 0 {
                pieces.put("minItems", json!(left));
            }
        }
        match bound("maxItems") {
            Some(most) => {
                let near = 0..most.min(MAX_POSITIONS);
                let left = near.filter(|at| !self.cuts_at(cut, *at, all).is_empty());
                let left = left.count() + most.saturating_sub(MAX_POSITIONS);
                pieces.put("maxItems", json!(left));
            }
            None => {
                if let Some(most) = object.get("maxItems") {
                    pieces.put("maxItems", most.clone());
                }
            }
        }
    }

    /// Items differ as long as nothing within them is cut.
    fn unique(
        &mut self,
        object: &'s Map<String, Value>,
        items: &Items<'s>,
        all: &ItemCuts,
        pieces: &mut Pieces,
    ) {
        let Some(unique) = object.get("uniqueItems") else {
            return;
        };
        let is_whole = all.cuts.iter().all(|cut| *cut == CutId::WHOLE);
        let rewrites = all.cuts.iter().any(|cut| self.cuts.rewrites_strings(*cut));
        let are_scalars = !rewrites
            && items.listed.is_none()
            && items
                .rest
                .is_some_and(|(_, rest)| is_scalar(rest, self.dialect));
        if is_whole || are_scalars || *unique != Value::Bool(true) {
            pieces.put("uniqueItems", unique.clone());
        } else {
            pieces.exact = false;
        }
    }

    /// The ways in which the item at a position may be cut; from `MAX_POSITIONS` on, all ways.
    fn cuts_at(&mut self, cut: CutId, at: usize, all: &ItemCuts) -> Vec<CutId> {
        match all.cuts.len() + usize::from(all.goes) {
            1 => all.cuts.clone(),
            _ if at < MAX_POSITIONS => self.cuts.item(cut, at).cuts,
            _ => all.cuts.clone(),
        }
    }
}

/// Whether a schema admits neither lists nor objects, as far as its type tells.
fn is_scalar(schema: &Value, dialect: Dialect) -> bool {
    if dialect <= Dialect::Draft7 && schema.get("$ref").is_some() {
        return false; // beside it no type counts
    }
    let scalar = |word: &Value| {
        word.as_str()
            .is_some_and(|word| !matches!(word, "object" | "array"))
    };
    match schema.get("type") {
        Some(Value::Array(words)) => words.iter().all(scalar),
        Some(word) => scalar(word),
        None => false,
    }
}
