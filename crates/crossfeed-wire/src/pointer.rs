//! JSON Pointers (RFC 6901): typed locations in arguments and schemas.

use crate::fragment;
use std::fmt;

/// A location in a JSON document, in the notation of RFC 6901.
///
/// ```
/// use crossfeed_wire::Pointer;
///
/// let at = Pointer::root().key("filters").index(0).key("a/b");
/// assert_eq!(at.as_str(), "/filters/0/a~1b");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(String);

impl Pointer {
    /// The whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads a pointer; `None` unless `text` is empty or begins with `/` and every `~` is
    /// followed by `0` or `1`.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.is_empty() && !text.starts_with('/') {
            return None;
        }
        let mut rest = text;
        while let Some(at) = rest.find('~') {
            rest = &rest[at + 1..];
            if !rest.starts_with(['0', '1']) {
                return None;
            }
        }
        Some(Self(text.to_owned()))
    }

    /// Reads a pointer as the fragment of a URI spells it (RFC 6901, section 6), with or without the `#` in
    /// front: with its percent-encoding decoded.
    ///
    /// ```
    /// use crossfeed_wire::Pointer;
    ///
    /// let at = Pointer::from_fragment("#/properties/page%20size/a%2Fb").unwrap();
    /// assert_eq!(at.as_str(), "/properties/page size/a/b");
    /// assert_eq!(Pointer::from_fragment("#anchor"), None);
    /// ```
    pub fn from_fragment(text: &str) -> Option<Self> {
        let fragment = text.strip_prefix('#').unwrap_or(text);
        Self::parse(&fragment::decoded(fragment)?)
    }

    /// The member `key` of the object that this pointer names.
    pub fn key(&self, key: &str) -> Self {
        let mut out = self.0.clone();
        Self::push_token(&mut out, key);
        Self(out)
    }

    /// The item `index` of the list that this pointer names.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    /// This pointer followed by `other`.
    pub fn join(&self, other: &Self) -> Self {
        Self(format!("{}{}", self.0, other.0))
    }

    /// The decoded reference tokens, in order.
    pub fn tokens(&self) -> impl Iterator<Item = String> + '_ {
        self.0.split('/').skip(1).map(Self::unescaped)
    }

    /// Appends one token to the text of a pointer, escaped.
    ///
    /// ```
    /// use crossfeed_wire::Pointer;
    ///
    /// let mut text = String::from("/a");
    /// Pointer::push_token(&mut text, "b/c");
    /// assert_eq!(text, "/a/b~1c");
    /// ```
    pub fn push_token(text: &mut String, token: &str) {
        text.push('/');
        for c in token.chars() {
            match c {
                '~' => text.push_str("~0"),
                '/' => text.push_str("~1"),
                c => text.push(c),
            }
        }
    }

    /// The text of an escaped token.
    pub fn unescaped(token: &str) -> String {
        token.replace("~1", "/").replace("~0", "~")
    }

    /// Whether `self` names the same place as `other` or a place inside it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0
            .strip_prefix(&other.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// This place and those around it, from the inside out, as texts.
    ///
    /// ```
    /// use crossfeed_wire::Pointer;
    ///
    /// let at = Pointer::root().key("a").index(0);
    /// assert_eq!(at.and_around().collect::<Vec<_>>(), ["/a/0", "/a", ""]);
    /// ```
    pub fn and_around(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.as_str()), |at| {
            at.rfind('/').map(|end| &at[..end])
        })
    }

    /// The text of the pointer.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Pointer;

    fn check(text: &str, tokens: Option<&[&str]>) {
        let parsed = Pointer::parse(text).map(|p| p.tokens().collect::<Vec<_>>());
        assert_eq!(
            parsed,
            tokens.map(|t| t.iter().map(ToString::to_string).collect()),
            "{text:?}"
        );
    }

    #[test]
    fn parses_rfc_6901() {
        check("", Some(&[]));
        check("/", Some(&[""]));
        check("/a~1b/m~0n/0", Some(&["a/b", "m~n", "0"]));
        check("/~01", Some(&["~1"]));
        check("a", None);
        check("/~", None);
        check("/~2", None);
    }

    #[test]
    fn fragments_are_decoded_before_they_are_read() {
        for (text, expected) in [
            ("", Some("")),
            ("#", Some("")),
            ("#/a", Some("/a")),
            ("/a%20b", Some("/a b")),
            ("#/a%2Fb%7E0", Some("/a/b~0")),
            ("#/a%7e1b", Some("/a~1b")),
            ("/%c3%a9", Some("/é")),
            ("/50%", Some("/50%")),
            ("/%zz%2", Some("/%zz%2")),
            ("%2Fa", Some("/a")),
            ("##/a", None),
            ("a", None),
            ("/a%7E", None),
            ("/%ff", None),
        ] {
            let found = Pointer::from_fragment(text);
            assert_eq!(found.as_ref().map(Pointer::as_str), expected, "{text}");
        }
    }

    #[test]
    fn a_place_is_within_itself_and_its_parents_only() {
        let at = Pointer::root().key("a").key("b");
        assert!(at.is_within(&at));
        assert!(at.is_within(&Pointer::root()));
        assert!(at.is_within(&Pointer::root().key("a")));
        assert!(!at.is_within(&Pointer::root().key("a").key("bc")));
        assert!(
            !Pointer::root()
                .key("ab")
                .is_within(&Pointer::root().key("a"))
        );
    }
}
