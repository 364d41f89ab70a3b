//! Cursors: one value of an indexed document, borrowed.

use crate::{
    index::Tape,
    string,
    word::{Word, kind},
};
use bytes::Bytes;
use std::borrow::Cow;

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "JSON has these six types")]
pub enum Kind {
    /// `null`
    Null,
    /// `true`, `false`
    Boolean,
    /// A number of any size.
    Number,
    /// A string.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The name of the type in JSON Schema.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A search in a list beside the index, in looks at keys near their values.
const LISTED: usize = 16;

/// Where a key was found in the object before, as a guess for the next object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prediction {
    /// Distance of the member's slot from the object's; 0 for "no guess".
    distance: u32,
}

/// One value of a document.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    pub(crate) tape: &'a Tape,
    slot: u32,
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cursor({})", String::from_utf8_lossy(self.raw()))
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn root(tape: &'a Tape) -> Self {
        Self { tape, slot: 0 }
    }

    #[inline]
    fn word(self) -> Word {
        self.tape.word(self.slot)
    }

    /// The type of the value.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.word().kind() {
            kind::NULL => Kind::Null,
            kind::FALSE | kind::TRUE => Kind::Boolean,
            kind::NUMBER => Kind::Number,
            kind::STRING => Kind::String,
            kind::ARRAY => Kind::Array,
            _ => Kind::Object,
        }
    }

    /// The bytes of the value as they came, duplicate keys included.
    #[inline]
    pub fn raw(self) -> &'a [u8] {
        &self.tape.raw[self.word().start()..self.tape.end(self.slot)]
    }

    /// The bytes of [`Self::raw`] without a copy. They keep those of the whole document alive.
    pub fn shared(self) -> Bytes {
        self.tape.raw.slice_ref(self.raw())
    }

    /// Offset of the value's first byte in the document.
    pub fn offset(self) -> usize {
        self.word().start()
    }

    /// The number of this value in document order.
    pub fn ordinal(self) -> u32 {
        self.slot
    }

    /// The value of the same document with this number; `None` if there are fewer.
    pub fn by_ordinal(self, ordinal: u32) -> Option<Self> {
        ((ordinal as usize) < self.tape.words.len()).then(|| self.with(ordinal))
    }

    /// The number of values in this one, itself included: the cost of a walk over it.
    pub fn value_count(self) -> usize {
        (self.tape.next(self.slot) - self.slot) as usize
    }

    /// Whether some object of the document holds a key twice.
    pub fn document_has_duplicates(self) -> bool {
        !self.tape.duplicates.is_empty()
    }

    /// The most lists and objects of the whole document that are open at once: 0 for a scalar, 1
    /// for `[]`. It is an upper bound for every value in it.
    pub fn document_depth(self) -> usize {
        usize::from(self.tape.depth)
    }

    /// Whether the whole document is ASCII and no string or key in it holds an escape, so that the text of
    /// every string is the bytes between its quotes, one for each character.
    pub fn document_is_plain(self) -> bool {
        self.tape.plain
    }

    /// Number of lists and objects around this value.
    pub fn depth(self) -> usize {
        usize::from(self.word().depth())
    }

    /// Whether lists and objects nest deeper than `limit` within each other here. The depth of the document
    /// mostly decides without a walk.
    pub fn is_deeper(self, limit: usize) -> bool {
        if self.len().is_none() || self.document_depth() - self.depth() <= limit {
            return false;
        }
        let inner = limit.checked_sub(1);
        inner.is_none_or(|limit| self.items().any(|item| item.is_deeper(limit)))
    }

    /// The members of an object with duplicate keys.
    #[inline]
    fn deduplicated(self) -> Option<&'a [u32]> {
        let word = self.word();
        if word.kind() != kind::OBJECT || !word.flag() {
            return None;
        }
        self.tape.distinct_members(self.slot)
    }

    /// The value of a boolean.
    pub fn as_bool(self) -> Option<bool> {
        match self.word().kind() {
            kind::FALSE => Some(false),
            kind::TRUE => Some(true),
            _ => None,
        }
    }

    /// The digits of a number as they came.
    pub fn as_number(self) -> Option<&'a str> {
        (self.kind() == Kind::Number).then(|| std::str::from_utf8(self.raw()).unwrap_or_default())
    }

    /// The text of a string; a lone surrogate, which no Rust string can hold, reads as U+FFFD.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        self.string_bytes().map(string::to_text)
    }

    /// The text of a string in UTF-8, a lone surrogate as its three bytes of WTF-8. Byte order is
    /// the order of code points.
    #[inline]
    pub fn string_bytes(self) -> Option<Cow<'a, [u8]>> {
        let word = self.word();
        if word.kind() != kind::STRING {
            return None;
        }
        let end = self.tape.scalar_end(self.slot, word);
        let inside = &self.tape.raw[word.start() + 1..end - 1];
        Some(string::decode(inside, word.flag()))
    }

    /// Number of items of a list or of distinct keys of an object; `None` for scalars.
    #[inline]
    pub fn len(self) -> Option<usize> {
        match self.deduplicated() {
            Some(members) => Some(members.len()),
            None => {
                let count = || self.tape.count(self.slot) as usize;
                self.word().is_container().then(count)
            }
        }
    }

    /// Whether the value is a list or object without children.
    pub fn is_empty(self) -> bool {
        self.len() == Some(0)
    }

    /// The member `key` of an object.
    pub fn get(self, key: &str) -> Option<Self> {
        self.get_predicted(key, &mut Prediction::default())
    }

    /// The member `key` of an object, looked for first where `prediction` found it in the object
    /// before.
    #[inline]
    pub fn get_predicted(self, key: &str, prediction: &mut Prediction) -> Option<Self> {
        self.get_counted(key, prediction, &mut 0)
    }

    /// [`Self::get_predicted`], and adds its cost, in looks at members, to `work`.
    #[inline]
    pub(crate) fn get_counted(
        self,
        key: &str,
        prediction: &mut Prediction,
        work: &mut usize,
    ) -> Option<Self> {
        let own = self.word();
        *work += 1;
        if own.kind() != kind::OBJECT {
            return None;
        }
        if own.flag() {
            let members = self.deduplicated()?;
            *work += LISTED;
            return members
                .iter()
                .map(|&slot| self.with(slot))
                .inspect(|member| *work += member.key_work())
                .find(|m| m.has_key(key));
        }
        let next = self.tape.behind(self.slot, own);
        let guess = self.guess(own, next, *prediction);
        if let Some(member) = guess.filter(|m| m.has_key(key)) {
            return Some(member);
        }
        let mut slot = self.slot + 1;
        while slot < next {
            let member = self.with(slot);
            *work += member.key_work();
            if member.has_key(key) {
                prediction.distance = slot - self.slot;
                return Some(member);
            }
            slot = self.tape.next(slot);
        }
        None
    }

    /// The cost of a look at the key of this value, in looks at keys near their values.
    #[inline]
    pub(crate) fn key_work(self) -> usize {
        if self.word().key_listed() { LISTED } else { 1 }
    }

    /// The member at the place where `prediction` found its key before, whatever its key is here.
    #[inline]
    fn guess(self, own: Word, next: u32, prediction: Prediction) -> Option<Self> {
        let guess = self.slot + prediction.distance;
        let is_member = prediction.distance != 0
            && guess < next
            && self.tape.word(guess).depth() == own.depth() + 1;
        is_member.then(|| self.with(guess))
    }

    /// The member `key` of an object, if it is where `prediction` found it before. The cost does not depend
    /// on the object and its keys; `None` says nothing about other places.
    #[inline]
    pub fn get_at(self, key: &str, prediction: Prediction) -> Option<Self> {
        let own = self.word();
        if own.kind() != kind::OBJECT || own.flag() {
            return None;
        }
        let member = self.guess(own, self.tape.behind(self.slot, own), prediction)?;
        let near = !member.word().key_listed();
        (near && member.has_key(key)).then_some(member)
    }

    /// Whether some key of an object may begin with `_`; false is certain. For a whole document it is
    /// computed once, from each key's first byte.
    pub fn may_have_underscored_key(self) -> bool {
        if self.kind() != Kind::Object {
            return false;
        }
        let look = || {
            let begins = |member: Cursor<'_>| member.key().raw().first().copied();
            self.items()
                .any(|member| matches!(begins(member), Some(b'_' | b'\\')))
        };
        match self.slot {
            0 => *self.tape.root_underscored.get_or_init(look),
            _ => look(),
        }
    }

    /// The position of `member` in this object, as a guess for the next object.
    pub fn prediction(self, member: Self) -> Prediction {
        Prediction {
            distance: member.slot.saturating_sub(self.slot),
        }
    }

    /// Whether this value is the member `key` of an object. The cost depends on `key`, not on the length of
    /// the value's own key; a key with escapes, or far from its value, is searched among all such keys of the
    /// document.
    #[inline]
    pub fn has_key(self, key: &str) -> bool {
        self.tape.has_key(self.slot, key.as_bytes())
    }

    /// Another value of the document.
    #[inline]
    pub(crate) fn with(self, slot: u32) -> Self {
        Self {
            tape: self.tape,
            slot,
        }
    }

    /// The item `index` of a list. The first and the last are found at once, others by a walk over
    /// their siblings.
    pub fn at(self, index: usize) -> Option<Self> {
        if self.kind() != Kind::Array {
            return None;
        }
        let count = self.tape.count(self.slot) as usize;
        if index >= count {
            return None;
        }
        if index + 1 == count {
            return Some(self.with(self.tape.last(self.slot)));
        }
        self.items().nth(index)
    }

    /// The last child of a list or an object as it is written, found without a walk over the others; `None` if
    /// there is none.
    pub fn last_child(self) -> Option<Self> {
        (self.tape.count(self.slot) > 0).then(|| self.with(self.tape.last(self.slot)))
    }

    /// The items of a list, or the values of an object; none for scalars.
    #[inline]
    pub fn items(self) -> Items<'a> {
        if let Some(members) = self.deduplicated() {
            return Items(Walk::Listed {
                tape: self.tape,
                members: members.iter(),
            });
        }
        self.children()
    }

    /// The children as they are written; none of scalars.
    #[inline]
    fn children(self) -> Items<'a> {
        self.siblings(self.slot + 1, self.tape.count(self.slot))
    }

    /// The value at `slot`, a child of this one, and those after it, `left` in all.
    #[inline]
    pub(crate) fn siblings(self, slot: u32, left: u32) -> Items<'a> {
        Items(Walk::Siblings {
            tape: self.tape,
            slot,
            left,
        })
    }

    /// The members of an object in the source's order; none for anything else.
    pub fn members(self) -> impl ExactSizeIterator<Item = (Key<'a>, Self)> + Clone {
        let items = match self.kind() {
            Kind::Object => self.items(),
            _ => self.siblings(0, 0),
        };
        items.map(|member| (member.key(), member))
    }

    /// The members of an object as they are written, each occurrence of a key on its own; none for
    /// anything else.
    pub fn written_members(self) -> impl Iterator<Item = WrittenMember<'a>> {
        let is_object = self.kind() == Kind::Object;
        let siblings = is_object.then(|| self.children()).into_iter().flatten();
        siblings.map(|member| WrittenMember {
            key: member.key(),
            value: member,
            end: member.offset() + member.raw().len(),
        })
    }

    /// The key of this value; empty outside objects.
    #[inline]
    pub fn key(self) -> Key<'a> {
        let word = self.word();
        Key {
            raw: self.tape.raw_key(self.slot, word),
            escaped: word.key_listed(),
        }
    }
}

/// One occurrence of a member in the bytes of a document.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WrittenMember<'a> {
    /// The key.
    pub key: Key<'a>,
    /// The value.
    pub value: Cursor<'a>,
    /// Offset after the value's last byte.
    pub end: usize,
}

/// The key of a member.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    raw: &'a [u8],
    /// Whether the key may hold escapes.
    escaped: bool,
}

impl<'a> Key<'a> {
    /// The text of the key; a lone surrogate reads as U+FFFD, and keys that read as the same text are
    /// one key.
    pub fn text(self) -> Cow<'a, str> {
        string::to_text(string::decode(self.raw, self.escaped))
    }

    /// The key as it is written, without its quotes.
    pub fn raw(self) -> &'a [u8] {
        self.raw
    }

    /// The text of the key in UTF-8.
    pub fn bytes(self) -> Cow<'a, [u8]> {
        string::decode_key(self.raw, self.escaped)
    }
}

#[derive(Clone)]
enum Walk<'a> {
    Siblings {
        tape: &'a Tape,
        slot: u32,
        left: u32,
    },
    Listed {
        tape: &'a Tape,
        members: std::slice::Iter<'a, u32>,
    },
}

/// The children of a list or object.
#[derive(Clone)]
pub struct Items<'a>(Walk<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = Cursor<'a>;

    #[inline]
    fn next(&mut self) -> Option<Cursor<'a>> {
        match &mut self.0 {
            Walk::Siblings { tape, slot, left } => {
                *left = left.checked_sub(1)?;
                let here = *slot;
                // The slot after the last child belongs to another value, so it is not read.
                *slot = tape.next(here);
                Some(Cursor { tape, slot: here })
            }
            Walk::Listed { tape, members } => members.next().map(|&slot| Cursor { tape, slot }),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.0 {
            Walk::Siblings { left, .. } => *left as usize,
            Walk::Listed { members, .. } => members.len(),
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for Items<'_> {}
