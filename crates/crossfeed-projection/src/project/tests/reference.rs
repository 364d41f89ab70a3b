//! The rules again, as slowly and as plainly as possible: paths one by one over `serde_json::Value`,
//! nothing merged, nothing remembered.

use crate::{Path, Step};
use serde_json::{Map, Value};

/// The rest of each path that holds at a place.
type Rests<'p> = Vec<&'p [Step]>;

pub(super) struct Reference {
    pub(super) include: Vec<Path>,
    pub(super) exclude: Vec<Path>,
    pub(super) always: Vec<Path>,
    pub(super) never: Vec<Path>,
}

/// Cut by these rests; `None` for whole.
type Wanted<'p> = Option<Rests<'p>>;

fn rests(paths: &[Path]) -> Rests<'_> {
    let paths = paths.iter().filter(|path| path.as_name().is_none());
    paths.map(Path::steps).collect()
}

fn names(paths: &[Path]) -> Vec<&str> {
    paths.iter().filter_map(Path::as_name).collect()
}

fn ends(rests: &Rests<'_>) -> bool {
    rests.iter().any(|rest| rest.is_empty())
}

fn at_key<'p>(rests: &Rests<'p>, key: &str) -> Rests<'p> {
    let step = |rest: &&'p [Step]| match rest.split_first() {
        Some((Step::Key(name), rest)) if name == key => Some(rest),
        Some((Step::EachKey, rest)) => Some(rest),
        _ => None,
    };
    rests.iter().filter_map(step).collect()
}

fn at_item<'p>(rests: &Rests<'p>, position: usize) -> Rests<'p> {
    let step = |rest: &&'p [Step]| match rest.split_first() {
        Some((Step::EachItem, rest)) => Some(rest),
        Some((Step::Index(at), rest)) if *at == position => Some(rest),
        Some((Step::Key(_) | Step::EachKey, _)) => Some(*rest),
        _ => None,
    };
    rests.iter().filter_map(step).collect()
}

impl Reference {
    pub(super) fn project(&self, value: &Value) -> Value {
        let include =
            (!self.include.is_empty()).then(|| self.include.iter().map(Path::steps).collect());
        let kept = self.kept(value, &include, &rests(&self.always));
        let exclude = self.exclude.iter().map(Path::steps).collect();
        let cut = self.excluded(&kept, &exclude, &rests(&self.always));
        self.shown(&cut, &rests(&self.never))
    }

    /// What is included or always kept.
    fn kept(&self, value: &Value, include: &Wanted<'_>, always: &Rests<'_>) -> Value {
        let Some(include) = include else {
            return value.clone();
        };
        let brackets =
            |rest: &&[Step]| matches!(rest.first(), Some(Step::EachItem | Step::Index(_)));
        let child = |value: &Value, include: Rests<'_>, always: Rests<'_>, named: bool| {
            if named || ends(&include) || ends(&always) {
                return Some(value.clone());
            }
            let any = !(include.is_empty() && always.is_empty());
            any.then(|| self.kept(value, &Some(include), &always))
        };
        match value {
            Value::Object(_) if include.iter().any(brackets) => value.clone(),
            Value::Object(members) => {
                let members = members.iter().filter_map(|(key, value)| {
                    let named = names(&self.always).contains(&key.as_str());
                    let child = child(value, at_key(include, key), at_key(always, key), named)?;
                    Some((key.clone(), child))
                });
                Value::Object(members.collect())
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.filter_map(|(at, item)| {
                    child(item, at_item(include, at), at_item(always, at), false)
                });
                Value::Array(items.collect())
            }
            scalar => scalar.clone(),
        }
    }

    /// What is not excluded, or always kept. Positions of always-paths would be those of the source,
    /// so they are not used together with exclude.
    fn excluded(&self, value: &Value, exclude: &Rests<'_>, always: &Rests<'_>) -> Value {
        let child = |value: &Value, exclude: Rests<'_>, always: Rests<'_>, named: bool| {
            if named || ends(&always) {
                return Some(value.clone());
            }
            if ends(&exclude) {
                let some = !always.is_empty();
                return some.then(|| self.kept(value, &Some(Vec::new()), &always));
            }
            Some(self.excluded(value, &exclude, &always))
        };
        if exclude.is_empty() {
            return value.clone();
        }
        match value {
            Value::Object(members) => {
                let members = members.iter().filter_map(|(key, value)| {
                    let named = names(&self.always).contains(&key.as_str());
                    let child = child(value, at_key(exclude, key), at_key(always, key), named)?;
                    Some((key.clone(), child))
                });
                Value::Object(members.collect())
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.filter_map(|(at, item)| {
                    child(item, at_item(exclude, at), at_item(always, at), false)
                });
                Value::Array(items.collect())
            }
            scalar => scalar.clone(),
        }
    }

    /// What may be shown, strings that hold JSON opened. Never-paths with brackets are not used on
    /// objects here.
    fn shown(&self, value: &Value, never: &Rests<'_>) -> Value {
        match value {
            Value::Object(members) => {
                let mut shown = Map::new();
                for (key, value) in members {
                    let never_here = at_key(never, key);
                    if !names(&self.never).contains(&key.as_str()) && !ends(&never_here) {
                        shown.insert(key.clone(), self.shown(value, &never_here));
                    }
                }
                Value::Object(shown)
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| (item, at_item(never, at)));
                let items = items.filter(|(_, never)| !ends(never));
                Value::Array(
                    items
                        .map(|(item, never)| self.shown(item, &never))
                        .collect(),
                )
            }
            Value::String(text) => {
                let Ok(inner) = serde_json::from_str::<Value>(text) else {
                    return value.clone();
                };
                let shown = self.shown(&inner, never);
                if shown == inner {
                    value.clone()
                } else {
                    Value::String(shown.to_string())
                }
            }
            scalar => scalar.clone(),
        }
    }
}
