//! Changes some bytes of a document and keeps all others: sets and removes members and items of JSON.

use crate::{Cursor, Kind, WrittenMember, string::quoted};
use std::{borrow::Cow, cmp::Reverse, ops::Range};

/// Changes to a document. Of overlapping changes the first one counts; of those with one start, the longest.
/// Insertions at one offset keep their order, before any change there.
#[derive(Debug)]
pub struct Edits<'d> {
    raw: &'d [u8],
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

/// Offset after a value.
fn end(value: Cursor<'_>) -> usize {
    value.offset() + value.raw().len()
}

impl<'d> Edits<'d> {
    /// An empty set of changes to a document with these bytes.
    pub fn new(raw: &'d [u8]) -> Self {
        Self {
            raw,
            edits: Vec::new(),
        }
    }

    /// The original bytes.
    pub fn raw(&self) -> &'d [u8] {
        self.raw
    }

    /// Replaces the bytes of a value; the same bytes change nothing.
    pub fn replace(&mut self, value: Cursor<'_>, with: impl Into<Vec<u8>>) {
        let with = with.into();
        if with != value.raw() {
            self.edits.push((value.offset()..end(value), with));
        }
    }

    /// Removes bytes.
    pub fn remove(&mut self, range: Range<usize>) {
        self.edits.push((range, Vec::new()));
    }

    /// Removes every member of an object whose key is `unwanted`, each with one comma; returns whether
    /// members are left. Anything but an object stays as it is.
    ///
    /// ```
    /// use crossfeed_json::{Document, Edits};
    ///
    /// let document = Document::new(r#"{ "a": 1, "b": 2, "c" : 3 }"#);
    /// let mut edits = Edits::new(document.raw());
    /// edits.remove_members(document.root()?, |key| key != "b");
    /// assert_eq!(&edits.done()[..], br#"{ "b": 2 }"#);
    /// # Ok::<(), crossfeed_json::JsonError>(())
    /// ```
    pub fn remove_members(
        &mut self,
        object: Cursor<'_>,
        mut unwanted: impl FnMut(&str) -> bool,
    ) -> bool {
        let mut removals = Removals::new(object);
        for member in object.written_members() {
            removals.next(member.end, unwanted(&member.key.text()), self);
        }
        removals.has_kept
    }

    /// Removes the unwanted items of a list, each with one comma; returns whether items are left.
    pub fn remove_items<'c>(
        &mut self,
        list: Cursor<'c>,
        mut unwanted: impl FnMut(Cursor<'c>) -> bool,
    ) -> bool {
        let mut removals = Removals::new(list);
        for item in list.items().filter(|_| list.kind() == Kind::Array) {
            removals.next(end(item), unwanted(item), self);
        }
        removals.has_kept
    }

    /// Inserts bytes after a value.
    pub fn insert_behind(&mut self, value: Cursor<'_>, what: impl Into<Vec<u8>>) {
        self.edits.push((end(value)..end(value), what.into()));
    }

    /// Appends bytes to the key of a member, within its quotes.
    pub fn extend_key(&mut self, member: &WrittenMember<'_>, what: impl Into<Vec<u8>>) {
        // Both are parts of the document.
        let key = member.key.raw();
        let at = (key.as_ptr().addr() + key.len()).checked_sub(self.raw.as_ptr().addr());
        if let Some(at) = at.filter(|at| *at <= self.raw.len()) {
            self.edits.push((at..at, what.into()));
        }
    }

    /// Sets a member of an object. Where several are absent, [`Self::set_members`] sets them at once:
    /// two calls on an empty object would both replace it.
    pub fn put(&mut self, object: Cursor<'_>, key: &str, json: impl AsRef<[u8]>) {
        self.set_members(object, &[(key, json)]);
    }

    /// Sets members of an object: replaces the value of an existing key, the last one of duplicates; adds
    /// other members after the last, in the order given. Each key may be given once.
    ///
    /// ```
    /// use crossfeed_json::{Document, Edits};
    ///
    /// let document = Document::new(r#"{ "a": 1.50, "b": 2 }"#);
    /// let mut edits = Edits::new(document.raw());
    /// edits.set_members(document.root()?, &[("b", "3"), ("c", "4"), ("d", "5")]);
    /// assert_eq!(&edits.done()[..], br#"{ "a": 1.50, "b": 3,"c":4,"d":5 }"#);
    /// # Ok::<(), crossfeed_json::JsonError>(())
    /// ```
    pub fn set_members<V: AsRef<[u8]>>(&mut self, object: Cursor<'_>, members: &[(&str, V)]) {
        let mut added = Vec::new();
        for (key, json) in members {
            match object.get(key) {
                Some(value) => self.replace(value, json.as_ref()),
                None => {
                    added.push(b',');
                    write_member(key, json.as_ref(), &mut added);
                }
            }
        }
        if added.is_empty() {
            return;
        }
        match object.items().last() {
            Some(last) => self.insert_behind(last, added),
            None => self.replace(object, self::object(members)),
        }
    }

    /// The bytes with the changes: borrowed if there are none.
    pub fn done(mut self) -> Cow<'d, [u8]> {
        if self.edits.is_empty() {
            return Cow::Borrowed(self.raw);
        }
        let order = |(range, _): &(Range<usize>, Vec<u8>)| {
            (range.start, range.end != range.start, Reverse(range.end))
        };
        if !self.edits.is_sorted_by_key(order) {
            self.edits.sort_by_key(order);
        }
        let more: usize = self.edits.iter().map(|(_, with)| with.len()).sum();
        let mut out = Vec::with_capacity(self.raw.len() + more);
        let mut at = 0;
        for (range, with) in self.edits {
            if range.start < at {
                continue;
            }
            out.extend_from_slice(self.raw.get(at..range.start).unwrap_or_default());
            out.extend_from_slice(&with);
            at = range.end;
        }
        out.extend_from_slice(self.raw.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }
}

/// Removes some items of a list, or members of an object, during a walk that makes other edits as well;
/// [`Edits::remove_members`] and [`Edits::remove_items`] are for other cases. Each goes with one comma: the
/// one before it if something before stays, else the one after.
#[derive(Debug)]
pub struct Removals {
    /// The offset after the opening bracket or the previous value.
    before: usize,
    /// The offset after the opening bracket or the last comma.
    from: usize,
    has_kept: bool,
}

impl Removals {
    /// A walk that begins after the opening bracket of an object or a list.
    pub fn new(container: Cursor<'_>) -> Self {
        let open = container.offset() + 1;
        Self {
            before: open,
            from: open,
            has_kept: false,
        }
    }

    /// Continues after the next one, which ends at `end` and goes or stays.
    pub fn next(&mut self, end: usize, goes: bool, edits: &mut Edits<'_>) {
        let rest = edits.raw().get(end..).unwrap_or_default();
        let next = rest.iter().position(|byte| !byte.is_ascii_whitespace());
        let comma = next.filter(|at| rest[*at] == b',');
        let behind = comma.map_or(end, |at| end + at + 1);
        if goes {
            edits.remove(if self.has_kept {
                self.before..end
            } else {
                self.from..behind
            });
        }
        self.has_kept |= !goes;
        (self.before, self.from) = (end, behind);
    }
}

/// An object of these members.
pub fn object<V: AsRef<[u8]>>(members: &[(&str, V)]) -> Vec<u8> {
    let mut json = vec![b'{'];
    for (key, value) in members {
        if json.len() > 1 {
            json.push(b',');
        }
        write_member(key, value.as_ref(), &mut json);
    }
    json.push(b'}');
    json
}

fn write_member(key: &str, value: &[u8], json: &mut Vec<u8>) {
    json.extend_from_slice(quoted(key).as_bytes());
    json.push(b':');
    json.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::{Edits, object};
    use crate::{Cursor, Document};
    use proptest::prelude::*;
    use serde_json::Value;

    /// What changes make of a list of lists.
    fn check(edit: impl Fn(&mut Edits<'_>, Cursor<'_>, Cursor<'_>), expected: &str) {
        let document = Document::new("[1, [2, 3], 4]");
        let root = document.root().unwrap();
        let mut edits = Edits::new(document.raw());
        edit(&mut edits, root, root.at(1).unwrap());
        assert_eq!(String::from_utf8_lossy(&edits.done()), expected);
    }

    #[test]
    fn what_overlaps_is_not_done_twice() {
        check(|_, _, _| (), "[1, [2, 3], 4]");
        check(
            |edits, _, list| edits.replace(list, "[2, 3]"),
            "[1, [2, 3], 4]",
        );
        check(
            |edits, root, list| {
                edits.replace(list.at(0).unwrap(), "9");
                edits.remove_items(root, |item| item.offset() == list.offset());
                edits.replace(list, "9");
                edits.replace(root.at(2).unwrap(), "9");
            },
            "[1, 9]",
        );
        check(
            |edits, root, list| {
                edits.replace(root, "[]");
                edits.replace(list, "9");
            },
            "[]",
        );
    }

    #[test]
    fn keys_are_extended() {
        let document = Document::new(r#"{"a\u0062" : {"c":1}, "":2}"#);
        let mut edits = Edits::new(document.raw());
        for member in document.root().unwrap().written_members() {
            edits.extend_key(&member, "!");
        }
        assert_eq!(
            String::from_utf8_lossy(&edits.done()),
            r#"{"a\u0062!" : {"c":1}, "!":2}"#
        );
    }

    #[test]
    fn what_is_put_at_a_place_stands_in_order_before_what_is_changed_there() {
        check(
            |edits, root, list| {
                edits.remove(list.offset() - 2..list.offset() + 6);
                edits.insert_behind(root.at(0).unwrap(), ", 5");
                edits.insert_behind(root.at(0).unwrap(), ", 6");
            },
            "[1, 5, 6, 4]",
        );
    }

    /// What is left of an object without the members whose keys begin with an `x`.
    fn without_x(json: &str) -> String {
        let document = Document::new(json.to_owned());
        let mut edits = Edits::new(document.raw());
        edits.remove_members(document.root().unwrap(), |key| key.starts_with('x'));
        String::from_utf8(edits.done().into_owned()).unwrap()
    }

    #[test]
    fn members_go_and_all_other_bytes_stay() {
        for (json, expected) in [
            ("{}", "{}"),
            ("[1]", "[1]"),
            (r#"{ "a" : 1 }"#, r#"{ "a" : 1 }"#),
            (r#"{ "x" : 1 }"#, "{ }"),
            (r#"{"x":1,"y":2}"#, r#"{"y":2}"#),
            (r#"{"y":2 , "x":1}"#, r#"{"y":2}"#),
            (
                r#"{"x":",","x2":2, "a":3,"x":4, "x3":5 ,"b":6}"#,
                r#"{ "a":3 ,"b":6}"#,
            ),
            (r#"{"x":1,"x2":[{}]}"#, "{}"),
            (r#"{"\u0078":1,"a":{"x":1}}"#, r#"{"a":{"x":1}}"#),
        ] {
            assert_eq!(without_x(json), expected, "{json}");
        }
    }

    #[test]
    fn members_are_set_in_what_has_some_and_in_what_has_none() {
        for (json, expected) in [
            ("{ }", r#"{"b":3,"c":4}"#),
            (r#"{ "a": 1, "b": 2 }"#, r#"{ "a": 1, "b": 3,"c":4 }"#),
            (r#"{"b":1,"\u0062":2}"#, r#"{"b":1,"\u0062":3,"c":4}"#),
        ] {
            let document = Document::new(json);
            let mut edits = Edits::new(document.raw());
            edits.set_members(document.root().unwrap(), &[("b", "3"), ("c", "4")]);
            assert_eq!(String::from_utf8_lossy(&edits.done()), expected);
        }
    }

    proptest! {
        /// Removing and setting do to the bytes what they do to the value.
        #[test]
        fn edits_are_those_of_the_value(
            keys in prop::collection::vec("[abx]{1,2}", 0..6),
            set in prop::collection::btree_map("[abc]{1,2}", 10..20_u8, 0..4),
        ) {
            let members: Vec<_> = keys.iter().enumerate().map(|(n, key)| format!(" \"{key}\": {n}")).collect();
            let json = format!("{{{}}}", members.join(" ,"));
            let value = |json: &str| serde_json::from_str::<Value>(json).unwrap();
            let mut expected = value(&json);
            expected.as_object_mut().unwrap().retain(|key, _| !key.starts_with('x'));
            prop_assert_eq!(value(&without_x(&json)), expected);

            let mut expected = value(&json);
            let set: Vec<_> = set.iter().map(|(key, n)| (key.as_str(), n.to_string())).collect();
            expected.as_object_mut().unwrap().extend(set.iter().map(|(key, json)| ((*key).to_owned(), value(json))));
            let document = Document::new(json);
            let mut edits = Edits::new(document.raw());
            edits.set_members(document.root().unwrap(), &set);
            prop_assert_eq!(value(std::str::from_utf8(&edits.done()).unwrap()), expected);
            let alone = object(&set);
            prop_assert_eq!(value(std::str::from_utf8(&alone).unwrap()).as_object().unwrap().len(), set.len());

            let list = Document::new(format!("[{}]", keys.iter().map(|key| format!("\"{key}\" ")).collect::<Vec<_>>().join(", ")));
            let mut edits = Edits::new(list.raw());
            edits.remove_items(list.root().unwrap(), |item| item.as_str().unwrap().starts_with('x'));
            let kept: Vec<_> = keys.iter().filter(|key| !key.starts_with('x')).collect();
            prop_assert_eq!(serde_json::from_slice::<Value>(&edits.done()).unwrap(), serde_json::json!(kept));
        }
    }
}
