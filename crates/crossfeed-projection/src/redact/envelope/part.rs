//! Redacts one part of `content`.

use super::{
    Envelope, compact, root,
    text::{is_media, string, withheld},
};
use crossfeed_json::{Change, Cursor, Document, Kind};

impl Envelope<'_> {
    /// The part as it may be shown; `None` for all of it.
    pub(super) fn part(&mut self, at: usize, part: Cursor<'_>) -> Option<Vec<u8>> {
        if part.kind() != Kind::Object {
            return self.held(at, part);
        }
        let kind = part.get("type").and_then(Cursor::as_str);
        let kind = kind.as_deref().unwrap_or_default();
        let media_type = part.get("mimeType").and_then(Cursor::as_str);
        let media_type = media_type.as_deref();
        let shown = part.with_members(|key, value| match (kind, key) {
            ("text", "text") => {
                let shown = self.held(at, value);
                self.repeated |= self.beside.structured && shown == Some(withheld());
                shown.into()
            }
            ("image" | "audio", "data") => self.media(at, value, media_type).into(),
            ("resource", "resource") if value.kind() == Kind::Object => {
                self.resource(at, value).into()
            }
            ("resource_link", "uri" | "name") => self.needed(at, key, value),
            (_, "type") => self.needed(at, key, value),
            _ => self.said(key, value),
        });
        if stands_for_a_member(part, kind) {
            return shown;
        }
        // It stands for itself.
        let shown = self.by_paths(at, part, shown)?;
        let is_part = Document::new(shown.clone())
            .root()
            .is_ok_and(|left| left.get("type").is_some() || part.get("type").is_none());
        Some(if is_part {
            shown
        } else {
            [br#"{"type":"text","text":"#, withheld().as_slice(), b"}"].concat()
        })
    }

    /// The value that a part stands for.
    pub(super) fn held(&mut self, at: usize, value: Cursor<'_>) -> Option<Vec<u8>> {
        match value.as_str() {
            Some(text) => self.text(at, &text).map(|text| string(&text)),
            None => {
                let shown = self.whole(value);
                self.as_item(at, value, shown)
            }
        }
    }

    fn resource(&mut self, at: usize, resource: Cursor<'_>) -> Option<Vec<u8>> {
        let media_type = resource.get("mimeType").and_then(Cursor::as_str);
        let shown = resource.with_members(|key, value| match key {
            "text" => self.held(at, value).into(),
            "blob" => match value.as_str() {
                Some(encoded) => self.bytes(at, &encoded, media_type.as_deref()).into(),
                None => self.held(at, value).into(),
            },
            "uri" => self.needed(at, key, value),
            _ => self.said(key, value),
        });
        if has_text(resource) {
            shown
        } else {
            self.by_paths(at, resource, shown)
        }
    }

    /// Bytes of a picture or sound: read only if their media type says that they are something else.
    fn media(&mut self, at: usize, value: Cursor<'_>, media_type: Option<&str>) -> Option<Vec<u8>> {
        match value.as_str() {
            Some(_) if media_type.is_none() || is_media(media_type) => None,
            Some(encoded) => self.bytes(at, &encoded, media_type),
            None => self.held(at, value),
        }
    }

    /// A member that a part must have; its value may be withheld.
    fn needed(&mut self, at: usize, key: &str, value: Cursor<'_>) -> Change {
        match value.kind() {
            Kind::String if key == "name" => self.prose(value).into(),
            Kind::String => {
                let shown = self.cut(&self.by_place.names, value);
                match value.as_str() {
                    Some(address) if key == "uri" && shown.is_none() => {
                        self.address(at, &address).into()
                    }
                    _ => shown.into(),
                }
            }
            _ => self.member(key, value),
        }
    }

    /// Any other member.
    fn said(&mut self, key: &str, value: Cursor<'_>) -> Change {
        let is_prose = matches!(key, "name" | "title" | "description");
        let fate = self.member(key, value);
        match fate {
            Change::Keep if is_prose && value.kind() == Kind::String => self.prose(value).into(),
            fate => fate,
        }
    }

    /// Applies the rules that are paths to a value whose redacted form so far is `shown`.
    fn by_paths(
        &mut self,
        at: usize,
        value: Cursor<'_>,
        shown: Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        if self.by_place.paths.never_is_empty() {
            return shown;
        }
        let named = shown.map(Document::new);
        let Ok(seen) = root(&named, value) else {
            return Some(withheld());
        };
        let cut = self.cut(&self.by_place.paths, seen);
        let is_same = named.is_none() && cut.is_none();
        let left = cut.unwrap_or_else(|| compact(seen));
        let left = Document::new(left);
        let item = match left.root() {
            Ok(root) => self.as_item(at, root, None),
            Err(_) => Some(withheld()),
        };
        item.or_else(|| (!is_same).then(|| left.raw().to_vec()))
    }
}

/// Whether a part stands for one of its members.
fn stands_for_a_member(part: Cursor<'_>, kind: &str) -> bool {
    match kind {
        "text" => part.get("text").is_some(),
        "image" | "audio" => part.get("data").is_some(),
        "resource" => part.get("resource").is_some_and(has_text),
        _ => false,
    }
}

fn has_text(resource: Cursor<'_>) -> bool {
    resource.get("text").is_some() || resource.get("blob").is_some()
}
