//! Detects objects whose keys are data, and merges what was learned of their keys.

use super::place::{Fields, Members, ObservedPlace};

/// Keys whose values all have one type, before they count as data.
const ALIKE_KEYS: usize = 64;
/// Keys before it matters that ever new ones come.
const NEW_KEYS: usize = 16;
/// Objects before it does.
const NEW_OBJECTS: u64 = 8;
/// Objects with keys of one type, of which none has a key of another.
const VANISHING_OBJECTS: u64 = 4;
/// Digits of a number that is not a position, nor a year.
const LONG_NUMBER: usize = 6;
/// Keys that look like data, before they count as it.
const DATA_KEYS: usize = 2;
/// Hexadecimal digits of an id, which a programmer's word does not have.
const LONG_ID: usize = 16;

impl Fields {
    /// Whether the keys are data.
    pub(super) fn are_data(&self, max_keys: usize) -> bool {
        let count = self.keys.len();
        if count > max_keys {
            return true;
        }
        let surely = self.keys.iter().filter(|key| is_surely_data(&key.name));
        if count > 0 && surely.count() * 2 >= count {
            return true;
        }
        if count >= DATA_KEYS && self.keys.iter().all(|key| is_data(&key.name)) {
            return true;
        }
        // None of the objects had a key of another.
        let all_vanish = || self.keys.iter().all(|key| key.count == 1);
        if self.objects >= VANISHING_OBJECTS
            && count as u64 >= self.objects
            && all_vanish()
            && self.are_alike()
        {
            return true;
        }
        if count <= NEW_KEYS || !self.are_alike() {
            return false;
        }
        let seen: u64 = self.keys.iter().map(|key| key.count).sum();
        let is_sparse = seen < self.objects.saturating_mul(count as u64) / 4;
        count > ALIKE_KEYS || (self.objects >= NEW_OBJECTS && is_sparse)
    }

    /// Whether all values have one type.
    fn are_alike(&self) -> bool {
        let mut types = self.keys.iter().map(|key| key.place.types);
        let first = types.next();
        types.all(|next| Some(next) == first)
    }

    /// Merges the places of all keys into one.
    fn united(self) -> ObservedPlace {
        let places = self.keys.into_iter().map(|key| key.place);
        let mut any = places.reduce(ObservedPlace::and).unwrap_or_default();
        any.is_loose |= self.left_aside;
        any
    }
}

impl Members {
    /// The same, keys being data.
    pub(super) fn collapsed(self) -> Self {
        match self {
            Self::Fields(fields) => Self::Data(fields.united()),
            data => data,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Fields(mut fields), Self::Fields(more)) => {
                // A key that one side left aside is not known by what the other one saw.
                if more.lacked_room {
                    let only_here = fields.keys.iter_mut();
                    for key in only_here.filter(|key| !more.by_name.contains_key(&key.name)) {
                        key.place.is_loose = true;
                    }
                }
                let lacked_room = fields.lacked_room;
                // Numbers of objects go on where the first ones end.
                fields.first = fields.first.min(more.first);
                fields.left_aside |= more.left_aside;
                fields.lacked_room |= more.lacked_room;
                for mut key in more.keys {
                    key.last = key.last.saturating_add(fields.objects);
                    match fields.by_name.get(&key.name) {
                        Some(&at) => {
                            let known = &mut fields.keys[at];
                            known.place = std::mem::take(&mut known.place).and(key.place);
                            known.count = known.count.saturating_add(key.count);
                            known.last = key.last;
                        }
                        None => {
                            key.place.is_loose |= lacked_room;
                            fields.by_name.insert(key.name.clone(), fields.keys.len());
                            fields.keys.push(key);
                        }
                    }
                }
                fields.objects = fields.objects.saturating_add(more.objects);
                Self::Fields(fields)
            }
            (one, other) => match (one.collapsed(), other.collapsed()) {
                (Self::Data(one), Self::Data(other)) => Self::Data(one.and(other)),
                (one, _) => one,
            },
        }
    }
}

impl ObservedPlace {
    /// Merges both places.
    fn and(self, other: Self) -> Self {
        // Items that one side left aside are not known by what the other one saw.
        let items = match (self.items, other.items) {
            (Some(one), Some(other)) => Some(Box::new(one.and(*other))),
            (Some(mut one), None) => {
                one.is_loose |= other.lacked_room;
                Some(one)
            }
            (None, Some(mut other)) => {
                other.is_loose |= self.lacked_room;
                Some(other)
            }
            (None, None) => None,
        };
        Self {
            first: self.first.min(other.first),
            types: self.types.or(other.types),
            is_loose: self.is_loose || other.is_loose,
            lacked_room: self.lacked_room || other.lacked_room,
            members: match (self.members, other.members) {
                (Some(one), Some(other)) => Some(Box::new(one.and(*other))),
                (one, other) => one.or(other),
            },
            items,
        }
    }
}

/// Whether a key can be nothing but data: an address of e-mail, a UUID, a long number.
fn is_surely_data(key: &str) -> bool {
    let is_mail = || {
        let parts = key.rsplit_once('@');
        parts.is_some_and(|(who, at)| !who.is_empty() && at.trim_matches('.').contains('.'))
    };
    let is_uuid = || {
        key.len() == 36
            && key.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let is_number = key.len() >= LONG_NUMBER && key.bytes().all(|b| b.is_ascii_digit());
    is_number || is_uuid() || is_mail()
}

/// Whether a key looks like data rather than a programmer's word: a number, a date, a UUID, a long hexadecimal id.
fn is_data(key: &str) -> bool {
    let bytes = key.as_bytes();
    let all = |wanted: fn(&u8) -> bool| !bytes.is_empty() && bytes.iter().all(wanted);
    let is_date = || {
        let date = bytes.get(..10).unwrap_or_default().iter().enumerate();
        let mut fits = date.map(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        bytes.len() >= 10 && fits.all(|fits| fits)
    };
    let is_id = || {
        let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
        bytes.len() >= LONG_ID
            && digits > 0
            && all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
    };
    all(u8::is_ascii_digit) || is_date() || is_id()
}
