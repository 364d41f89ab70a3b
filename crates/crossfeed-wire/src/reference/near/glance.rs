//! What most texts and objects show at a glance: that no call is named in them.

use super::{
    MAX_ID_BYTES,
    id::{is_compound, is_date, is_distinctive, is_id_byte},
    keys::{MAX_MEMBERS, is_call_key, meaning_of},
    mention::mention,
    near_text, near_whole,
    signs::{LANE, Signs, any_sign, signs_in},
};
use crate::reference::KeyMeaning;
use std::ops::Deref;

/// What a value shows at a glance, for the object around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a text with an id or without, nothing, or anything else"
)]
pub enum Glimpse {
    /// A text with a word that may be the id of a call.
    Id,
    /// Another text.
    Text,
    /// `null`.
    Null,
    /// Another value.
    Other,
}

/// What a text shows at a glance: [`Glimpse::Id`] or [`Glimpse::Text`], and whether [`near_text`] finds a part of it.
///
/// ```
/// use crossfeed_wire::reference::{Glimpse, glance};
///
/// assert_eq!(glance("See call_1.items[0].url."), (Glimpse::Id, true));
/// assert_eq!(glance("call_1"), (Glimpse::Id, false));
/// assert_eq!(glance("https://www.example.com/articles/2025/3f2a9b1c"), (Glimpse::Text, false));
/// ```
#[inline]
#[must_use]
pub fn glance(text: &str) -> (Glimpse, bool) {
    if may_hold_id(text.as_bytes()) {
        look(text)
    } else {
        (Glimpse::Text, false)
    }
}

fn look(text: &str) -> (Glimpse, bool) {
    if is_time(text) {
        return (Glimpse::Text, false);
    }
    let signs = Signs::new(text.as_bytes());
    if signs.has_brace {
        (Glimpse::Id, near_text(text, 1).is_some())
    } else if signs.has_path || signs.has_word && (signs.has_angle || !is_address(text)) {
        look_at_words(text)
    } else {
        (Glimpse::Text, false)
    }
}

fn look_at_words(text: &str) -> (Glimpse, bool) {
    let bytes = text.as_bytes();
    let is_near = || (Glimpse::Id, near_text(text, 1).is_some());
    let (mut has_id, mut has_mention) = (false, false);
    let mut at = 0;
    while let Some(sign) = bytes[at..].iter().position(|byte| is_sign(*byte)) {
        let sign = at + sign;
        let is_id = |byte: &&u8| is_id_byte(**byte);
        let before = bytes[..sign].iter().rev().take(MAX_ID_BYTES);
        let start = sign - before.take_while(is_id).count();
        let behind = bytes[sign..].iter().take_while(is_id).count();
        at = sign + behind.max(1);
        let word = text.get(start..at).unwrap_or_default();
        // `_tool: search`
        if word.starts_with('_') {
            return is_near();
        }
        // `call_1->items`
        let is_compound = || is_compound(word.strip_suffix('-').unwrap_or(word));
        if word.len() < 3 || !is_distinctive(word) && !is_compound() {
            continue;
        }
        if matches!(bytes.get(at), Some(b'.' | b'[')) || bytes[at..].starts_with(b"](") {
            return is_near();
        }
        has_id = true;
        has_mention = has_mention || mention(text, start..at).is_some();
    }
    if has_mention {
        return is_near();
    }
    if !has_id {
        return (Glimpse::Text, false);
    }
    if memchr::memchr(b'<', bytes).is_some() {
        return is_near();
    }
    if is_address(text) {
        return (Glimpse::Text, false);
    }
    (Glimpse::Id, near_whole(text).is_some())
}

/// Whether a text is a date, maybe with a time.
#[inline]
fn is_time(text: &str) -> bool {
    // Punctuation and digits from `+` to `:`.
    let is_other = |byte: u8| !(b'+'..=b':').contains(&byte) & !matches!(byte, b' ' | b'T' | b'Z');
    let has_other = || text.bytes().fold(false, |any, byte| any | is_other(byte));
    text.len() <= MAX_ID_BYTES && is_date(text) && !has_other()
}

/// Whether a text is an address of the web.
pub(super) fn is_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Whether a text with these bytes, or one that JSON writes like this, may hold the id of a call, a key with a sign or an
/// object: it has a digit, `_`, `-`, `{` or `$`. Some others may count as well.
#[inline]
#[must_use]
pub fn may_hold_id(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk::<LANE>() {
        let lanes = bytes.as_chunks().0.iter();
        return any_sign(lanes.fold(signs_in(last), |any, lane| any | signs_in(lane)));
    }
    let mut lane = [0; LANE];
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            lane[..8].copy_from_slice(first);
            lane[8..].copy_from_slice(last);
        }
        _ => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                lane[..4].copy_from_slice(first);
                lane[4..8].copy_from_slice(last);
            }
            _ => return bytes.iter().any(|byte| is_sign(*byte)),
        },
    }
    any_sign(signs_in(&lane))
}

#[inline]
fn is_sign(byte: u8) -> bool {
    byte.is_ascii_digit() | (byte == b'_') | (byte == b'-') | (byte == b'{') | (byte == b'$')
}

/// Of each byte.
static IS_PUNCTUATION: [bool; 256] = {
    let mut is = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        is[byte as usize] = byte.is_ascii_punctuation();
        byte += 1;
    }
    is
};

/// The members of an object, looked at one by one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Members {
    count: usize,
    filled: usize,
    has_id: bool,
    has_signs: bool,
    has_text: bool,
}

impl Members {
    /// Looks at a member.
    #[inline]
    pub fn look(&mut self, key: &[u8], held: Glimpse) {
        self.count += 1;
        self.filled += usize::from(held != Glimpse::Null);
        self.has_id |= held == Glimpse::Id;
        self.has_text |= matches!(held, Glimpse::Id | Glimpse::Text);
        if let (Some(first), Some(last)) = (key.first(), key.last()) {
            self.has_signs |=
                IS_PUNCTUATION[usize::from(*first)] | IS_PUNCTUATION[usize::from(*last)];
        }
    }

    /// Whether the object may be meant as a reference: either a text in it may be the id of a call, or a key has a sign.
    /// `keys` gives its keys anew.
    ///
    /// ```
    /// use crossfeed_wire::reference::{Glimpse, Members};
    ///
    /// let may_be_near = |members: &[(&'static str, Glimpse)]| {
    ///     let mut looked = Members::default();
    ///     for (key, held) in members {
    ///         looked.look(key.as_bytes(), *held);
    ///     }
    ///     looked.may_be_near(members.iter().map(|(key, _)| *key))
    /// };
    /// assert!(may_be_near(&[("id", Glimpse::Id), ("path", Glimpse::Text)]));
    /// assert!(!may_be_near(&[("id", Glimpse::Text), ("path", Glimpse::Text)]));
    /// assert!(!may_be_near(&[("id", Glimpse::Id), ("title", Glimpse::Text)]));
    /// ```
    #[inline]
    pub fn may_be_near<K: Deref<Target = str>>(self, keys: impl Iterator<Item = K>) -> bool {
        self.count <= MAX_MEMBERS
            && self.has_text
            && (self.has_signs || self.has_id || self.filled == 1)
            && self.reads_near(keys)
    }

    fn reads_near<K: Deref<Target = str>>(self, keys: impl Iterator<Item = K>) -> bool {
        let (mut has_call, mut has_select, mut is_keyed) = (false, false, false);
        for key in keys {
            has_call |= is_call_key(&key, true);
            has_select |= meaning_of(&key) == KeyMeaning::Select;
            is_keyed |= is_distinctive(&key);
        }
        self.has_signs
            || has_call && self.has_id && (has_select || self.count == 1)
            || is_keyed && self.filled == 1
    }
}
