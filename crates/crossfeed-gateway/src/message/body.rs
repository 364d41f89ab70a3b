//! A body in the place of the one that came.

use crate::budget::Charge;
use bytes::Bytes;
use std::ops::Range;

/// What stands instead of places of a body: in their order, none over another.
pub(crate) type Edits = Vec<(Range<usize>, Bytes)>;

/// What a message gets as its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Other(Bytes),
    /// The one that came, with changes within its outermost object: what stays is shared.
    Edited(Edits),
}

impl Body {
    /// The bytes that are not those that came.
    pub(crate) fn own_bytes(&self) -> usize {
        match self {
            Self::Other(json) => json.len(),
            Self::Edited(edits) => edits.iter().map(|(_, with)| with.len()).sum(),
        }
    }

    /// The body, whose own bytes hold a charge.
    pub(crate) fn holding(self, mut charge: Charge) -> Self {
        charge.keep(self.own_bytes());
        match self {
            Self::Other(json) => Self::Other(charge.hold(json)),
            Self::Edited(mut edits) => {
                let longest = edits.iter_mut().max_by_key(|(_, with)| with.len());
                if let Some((_, with)) = longest {
                    *with = charge.hold(std::mem::take(with));
                }
                Self::Edited(edits)
            }
        }
    }

    /// The body in one piece, where another came.
    pub(crate) fn over(self, came: &Bytes) -> Bytes {
        match self {
            Self::Other(json) => json,
            Self::Edited(edits) => over(came, &edits),
        }
    }
}

impl From<Bytes> for Body {
    fn from(json: Bytes) -> Self {
        Self::Other(json)
    }
}

/// What came, with changes.
pub(crate) fn over(came: &Bytes, edits: &Edits) -> Bytes {
    if edits.is_empty() {
        return came.clone();
    }
    let length = edits.iter().fold(came.len(), |length, (range, with)| {
        length + with.len() - range.len()
    });
    let mut whole = Vec::with_capacity(length);
    let mut from = 0;
    for (range, with) in edits {
        whole.extend_from_slice(&came[from..range.start]);
        whole.extend_from_slice(with);
        from = range.end;
    }
    whole.extend_from_slice(&came[from..]);
    whole.into()
}
