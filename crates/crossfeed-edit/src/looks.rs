//! Look-ups in raw values. What is withheld is not found; many look-ups in one large value build an index of it.

use crate::{
    IsWithheld,
    error::EditErrorKind,
    limits::{Budget, EditLimits},
};
use crossfeed_json::{Cursor, Kind, Tables};
use std::{collections::HashMap, rc::Rc};

/// Up to so many children, an index is not worth its memory.
const SMALL: usize = 32;

/// After walks over so many times its children, a value gets an index.
const WALKS: usize = 4;

/// Looks into raw values for one edit, on its budget.
pub(crate) struct Looks<'d, 'p> {
    pub(crate) budget: Budget,
    root: Cursor<'d>,
    is_withheld: Option<IsWithheld<'p>>,
    /// By the address of an object's first byte.
    keys: HashMap<usize, Index<HashMap<String, u32>>>,
    /// By the address of a list's first byte.
    lists: HashMap<usize, Index<Rc<VisibleItems>>>,
}

enum Index<I> {
    /// The children that were walked over without an index.
    Walked(usize),
    Built(I),
}

/// The items of a list that are not withheld.
struct VisibleItems {
    ordinals: Vec<u32>,
    /// The offset of the last value in the list that is withheld.
    last_withheld: Option<usize>,
}

/// A member of a raw object.
pub(crate) enum Member<'d> {
    Absent,
    /// Some occurrence of the key is withheld.
    Withheld,
    /// The last occurrence of the key.
    Found(Cursor<'d>),
}

fn address(value: Cursor<'_>) -> usize {
    value.raw().as_ptr().addr()
}

/// The values in this one, at any depth, in their order: those of shadowed duplicates of keys as well.
pub(crate) fn descendants(value: Cursor<'_>) -> impl DoubleEndedIterator<Item = Cursor<'_>> {
    let first = value.ordinal() + 1;
    let behind = value.ordinal() + value.value_count() as u32;
    (first..behind).filter_map(move |ordinal| value.by_ordinal(ordinal))
}

impl<'d, 'p> Looks<'d, 'p> {
    pub(crate) fn new(
        root: Cursor<'d>,
        is_withheld: Option<IsWithheld<'p>>,
        limits: &EditLimits,
    ) -> Self {
        Self {
            budget: Budget::new(limits),
            root,
            is_withheld,
            keys: HashMap::new(),
            lists: HashMap::new(),
        }
    }

    /// The predicate, if `value` is of the document that is edited: what an edit brings in is not withheld.
    fn judge(&self, value: Cursor<'_>) -> Option<IsWithheld<'p>> {
        let original = self.root.raw().as_ptr_range();
        self.is_withheld
            .filter(|_| original.contains(&value.raw().as_ptr()))
    }

    /// Whether this member or item may not be seen.
    fn is_withheld(&self, value: Cursor<'_>) -> bool {
        self.judge(value).is_some_and(|judge| judge(value))
    }

    /// The last value in this one, at any depth, that is withheld.
    pub(crate) fn last_withheld_in(
        &mut self,
        value: Cursor<'d>,
    ) -> Result<Option<usize>, EditErrorKind> {
        let Some(judge) = self.judge(value) else {
            return Ok(None);
        };
        for inner in descendants(value).rev() {
            self.budget.spend(1)?;
            if judge(inner) {
                return Ok(Some(inner.offset()));
            }
        }
        Ok(None)
    }

    /// The offsets of all values in this one that are withheld; none if nothing can be.
    pub(crate) fn withheld_in(&mut self, value: Cursor<'d>) -> Result<Vec<usize>, EditErrorKind> {
        let Some(judge) = self.judge(value) else {
            return Ok(Vec::new());
        };
        self.budget.spend(value.value_count())?;
        let withheld = descendants(value).filter(|inner| judge(*inner));
        Ok(withheld.map(Cursor::offset).collect())
    }

    /// The member `key` of a raw object.
    pub(crate) fn member(
        &mut self,
        object: Cursor<'d>,
        key: &str,
    ) -> Result<Member<'d>, EditErrorKind> {
        self.budget.spend(1)?;
        let Some(found) = self.last_occurrence(object, key)? else {
            return Ok(Member::Absent);
        };
        let withheld = self.judge(object).is_some()
            && self
                .occurrences(object, found, key)?
                .iter()
                .any(|occurrence| self.is_withheld(*occurrence));
        Ok(if withheld {
            Member::Withheld
        } else {
            Member::Found(found)
        })
    }

    /// All occurrences of `key` in an object, of which the last one is known.
    pub(crate) fn occurrences(
        &mut self,
        object: Cursor<'d>,
        last: Cursor<'d>,
        key: &str,
    ) -> Result<Vec<Cursor<'d>>, EditErrorKind> {
        if !object.document_has_duplicates() {
            return Ok(vec![last]);
        }
        self.budget.spend(object.len().unwrap_or_default())?;
        let members = object.written_members().map(|member| member.value);
        Ok(members.filter(|member| member.has_key(key)).collect())
    }

    fn last_occurrence(
        &mut self,
        object: Cursor<'d>,
        key: &str,
    ) -> Result<Option<Cursor<'d>>, EditErrorKind> {
        let count = object.len().unwrap_or_default();
        if count <= SMALL {
            self.budget.spend(count)?;
            return Ok(object.get(key));
        }
        let index = self.keys.entry(address(object)).or_insert(Index::Walked(0));
        match index {
            Index::Built(keys) => {
                let ordinal = keys.get(key).copied();
                return Ok(ordinal.and_then(|ordinal| object.by_ordinal(ordinal)));
            }
            Index::Walked(walked) if *walked < WALKS * count => {
                *walked += count;
                self.budget.spend(count)?;
                return Ok(object.get(key));
            }
            Index::Walked(_) => {}
        }
        self.budget.spend(WALKS * count)?;
        let members = object.members();
        let keys: HashMap<_, _> = members
            .map(|(key, value)| (key.text().into_owned(), value.ordinal()))
            .collect();
        let found = keys
            .get(key)
            .and_then(|ordinal| object.by_ordinal(*ordinal));
        *index = Index::Built(keys);
        Ok(found)
    }

    /// The visible items of a raw list, if they must be counted: otherwise all items are visible.
    fn visible(
        &mut self,
        list: Cursor<'d>,
        walk: usize,
    ) -> Result<Option<Rc<VisibleItems>>, EditErrorKind> {
        let count = list.len().unwrap_or_default();
        let judge = self.judge(list);
        let index = self.lists.entry(address(list)).or_insert(Index::Walked(0));
        match index {
            Index::Built(items) => return Ok(Some(Rc::clone(items))),
            Index::Walked(walked)
                if judge.is_none() && *walked + walk <= WALKS * count.max(SMALL) =>
            {
                *walked += walk;
                self.budget.spend(walk)?;
                return Ok(None);
            }
            Index::Walked(_) => {}
        }
        self.budget.spend(count)?;
        let visible = list
            .items()
            .filter(|item| !judge.is_some_and(|judge| judge(*item)));
        let ordinals = visible.map(Cursor::ordinal).collect();
        let items = Rc::new(VisibleItems {
            ordinals,
            last_withheld: self.last_withheld_in(list)?,
        });
        self.lists
            .insert(address(list), Index::Built(Rc::clone(&items)));
        Ok(Some(items))
    }

    /// The number of visible items of a raw list.
    pub(crate) fn item_count(&mut self, list: Cursor<'d>) -> Result<usize, EditErrorKind> {
        let visible = self.visible(list, 0)?;
        let all = || list.len().unwrap_or_default();
        Ok(visible.map_or_else(all, |items| items.ordinals.len()))
    }

    /// The visible item `index` of a raw list.
    pub(crate) fn item(
        &mut self,
        list: Cursor<'d>,
        index: usize,
    ) -> Result<Option<Cursor<'d>>, EditErrorKind> {
        let count = list.len().unwrap_or_default();
        if index >= count {
            return Ok(None);
        }
        let walk = if index + 1 == count { 1 } else { index + 1 };
        match self.visible(list, walk)? {
            Some(items) => {
                let ordinal = items.ordinals.get(index);
                Ok(ordinal.and_then(|ordinal| list.by_ordinal(*ordinal)))
            }
            // The table is made by a walk over the whole list, where this look may walk over a good part of it.
            None if index + 1 < count && index >= count / 4 => {
                Ok(list.items_from(index, Tables::WherePaying, || true).next())
            }
            None => Ok(list.at(index)),
        }
    }

    /// The offset of the last value in a raw list that is withheld.
    pub(crate) fn last_withheld(
        &mut self,
        list: Cursor<'d>,
    ) -> Result<Option<usize>, EditErrorKind> {
        Ok(self.visible(list, 0)?.and_then(|items| items.last_withheld))
    }

    /// The visible children of a raw list or object, each key once.
    pub(crate) fn children(&mut self, value: Cursor<'d>) -> Result<Vec<Cursor<'d>>, EditErrorKind> {
        self.budget.spend(value.len().unwrap_or_default())?;
        let mut children = Vec::with_capacity(value.len().unwrap_or_default());
        for child in value.items() {
            let visible = match value.kind() {
                // Any occurrence of the key may be withheld.
                Kind::Object if value.document_has_duplicates() && self.judge(value).is_some() => {
                    matches!(self.member(value, &child.key().text())?, Member::Found(_))
                }
                _ => !self.is_withheld(child),
            };
            if visible {
                children.push(child);
            }
        }
        Ok(children)
    }

    /// Whether a raw value nests deeper than `limit`, shadowed duplicates of keys included.
    pub(crate) fn is_deeper(
        &mut self,
        value: Cursor<'d>,
        limit: usize,
    ) -> Result<bool, EditErrorKind> {
        if value.document_depth() - value.depth() <= limit || value.len().is_none() {
            return Ok(false);
        }
        self.budget.spend(value.value_count() / 8 + 1)?;
        let is_deep = |inner: Cursor<'_>| {
            let open = inner.depth() - value.depth() + usize::from(inner.len().is_some());
            open > limit
        };
        Ok(is_deep(value) || descendants(value).any(is_deep))
    }
}
