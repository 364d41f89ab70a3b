//! Objects and lists with some of their values removed or replaced.

use crate::cursor::{Cursor, Key};

/// A change of one value in an object or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a value stays, goes or is another: there is nothing else"
)]
pub enum Change {
    /// It stays as it is.
    Keep,
    /// It goes.
    Remove,
    /// This JSON replaces it.
    Replace(Vec<u8>),
}

impl From<Option<Vec<u8>>> for Change {
    /// Replaces a value if there is JSON, else keeps it.
    fn from(json: Option<Vec<u8>>) -> Self {
        json.map_or(Self::Keep, Self::Replace)
    }
}

impl<'d> Cursor<'d> {
    /// An object with `change` applied to each member, in order; `None` if all stay, or for any other value.
    ///
    /// ```
    /// use crossfeed_json::{Change, Document};
    ///
    /// let document = Document::new(r#"{"a": 1, "b": 2, "c": 3}"#);
    /// let changed = document.root()?.with_members(|key, _| match key {
    ///     "a" => Change::Keep,
    ///     "b" => Change::Remove,
    ///     _ => Change::Replace(b"null".to_vec()),
    /// });
    /// assert_eq!(changed.as_deref(), Some(&br#"{"a":1,"c":null}"#[..]));
    /// # Ok::<(), crossfeed_json::JsonError>(())
    /// ```
    pub fn with_members<C: Into<Change>>(
        self,
        mut change: impl FnMut(&str, Cursor<'d>) -> C,
    ) -> Option<Vec<u8>> {
        let changes = self.members().map(|(key, value)| {
            let change = change(&key.text(), value).into();
            (Some(key), value, change)
        });
        rewritten(changes.collect(), [b'{', b'}'])
    }

    /// A list with `change` applied to each item, in order; `None` if all stay, or for any other value.
    pub fn with_items<C: Into<Change>>(
        self,
        mut change: impl FnMut(Cursor<'d>) -> C,
    ) -> Option<Vec<u8>> {
        let changes = self.items().map(|item| (None, item, change(item).into()));
        rewritten(changes.collect(), [b'[', b']'])
    }
}

/// A container with changes applied to its values; `None` if all stay.
fn rewritten(
    changes: Vec<(Option<Key<'_>>, Cursor<'_>, Change)>,
    [open, close]: [u8; 2],
) -> Option<Vec<u8>> {
    if changes.iter().all(|(.., change)| *change == Change::Keep) {
        return None;
    }
    let mut json = vec![open];
    for (key, value, change) in changes {
        if change == Change::Remove {
            continue;
        }
        if json.len() > 1 {
            json.push(b',');
        }
        if let Some(key) = key {
            json.push(b'"');
            json.extend_from_slice(key.raw());
            json.extend_from_slice(b"\":");
        }
        match change {
            Change::Replace(changed) => json.extend_from_slice(&changed),
            _ => value.write(&mut json),
        }
    }
    json.push(close);
    Some(json)
}

#[cfg(test)]
mod tests {
    use super::Change;
    use crate::Document;

    #[test]
    fn what_stays_is_written_as_it_came() {
        let document = Document::new(r#"[ {"a" : 1.50}, 2, [ ], 3 ]"#);
        let root = document.root().unwrap();
        assert_eq!(root.with_items(|_| Change::Keep), None);
        assert_eq!(root.with_members(|_, _| Change::Remove), None);
        let mut at = 0;
        let changed = root.with_items(|_| {
            at += 1;
            match at {
                2 => Change::Remove,
                4 => Change::Replace(b"{}".to_vec()),
                _ => Change::Keep,
            }
        });
        assert_eq!(changed.unwrap(), br#"[{"a" : 1.50},[ ],{}]"#);
        let empty = root.with_items(|_| Change::Remove);
        assert_eq!(empty.unwrap(), b"[]");
    }

    #[test]
    fn keys_that_stand_twice_are_written_once() {
        let document = Document::new(r#"{"a":1,"\u0061":[{"b":1,"b":2}],"c":3}"#);
        let root = document.root().unwrap();
        let changed = root.with_members(|key, _| match key {
            "c" => Change::Remove,
            _ => Change::Keep,
        });
        assert_eq!(changed.unwrap(), br#"{"\u0061":[{"b":2}]}"#);
    }
}
