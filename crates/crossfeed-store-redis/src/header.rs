//! Headers, tombstones and leases as the server keeps them: see `lua/session.lua` and `lua/artifact.lua`.
//!
//! The first line is for the scripts, the second says the rest as JSON, of which unknown members are ignored; bytes
//! that need not be JSON follow.

use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_store::{
    BlobName, Digest, Listed, ListedArtifact, ResultKind, ScopeTag, StoreError, StoredArtifact,
    StoredResult, Tombstone,
};
use crossfeed_wire::{ArtifactId, CallId, Scope, TraceContext};
use serde::{Deserialize, Serialize};

/// The format that this version writes, and the latest that it reads.
pub(crate) const FORMAT: i64 = 1;

/// Why a value of the server cannot be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    Newer(i64),
    Damaged,
}

impl Unreadable {
    /// The error for a value whose damage is this.
    pub(crate) fn into_error(self, damage: crossfeed_store::Damage) -> StoreError {
        match self {
            Self::Newer(found) => StoreError::Newer {
                found,
                known: FORMAT,
            },
            Self::Damaged => StoreError::Damaged {
                damage,
                source: Some("its header cannot be read".into()),
            },
        }
    }
}

type Result<T> = std::result::Result<T, Unreadable>;

/// Where the data of a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Under a key of the server.
    Key,
    /// In the store of blobs.
    Blob,
}

impl Place {
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Self::Key => "k",
            Self::Blob => "o",
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Key => Self::Blob,
            Self::Blob => Self::Key,
        }
    }

    pub(crate) fn parse(letter: &str) -> Option<Self> {
        match letter {
            "k" => Some(Self::Key),
            "o" => Some(Self::Blob),
            _ => None,
        }
    }
}

/// What is said of a call beside what scripts need.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Facts {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracestate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<(String, String)>,
    /// Where the data of a result came from, in the host's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<String>,
    /// Whether the call of an artifact may be made again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeatable: bool,
}

impl Facts {
    /// As JSON in one line, and `rest` in the next.
    fn lines(&self, rest: Option<&[u8]>) -> Vec<u8> {
        // Texts and pairs of texts can always be written.
        let mut lines = serde_json::to_vec(self).unwrap_or_default();
        if let Some(rest) = rest {
            lines.push(b'\n');
            lines.extend_from_slice(rest);
        }
        lines
    }

    fn trace(&self) -> Option<TraceContext> {
        let parent = self.traceparent.as_deref()?;
        TraceContext::parse(parent, self.tracestate.as_deref()).ok()
    }

    fn with_trace(self, trace: Option<&TraceContext>) -> Self {
        Self {
            traceparent: trace.map(TraceContext::traceparent),
            tracestate: trace.and_then(|trace| trace.tracestate().map(str::to_owned)),
            ..self
        }
    }
}

/// A value, taken apart.
struct Parts<'v> {
    words: Vec<&'v str>,
    facts: Facts,
    rest: Option<&'v [u8]>,
}

fn split(value: &[u8]) -> Result<Parts<'_>> {
    let (line, tail) = split_line(value);
    let line = str::from_utf8(line).map_err(|_| Unreadable::Damaged)?;
    let words: Vec<&str> = line.split(' ').collect();
    let format = words.first().and_then(|word| word.parse().ok());
    let format: i64 = format.ok_or(Unreadable::Damaged)?;
    if format > FORMAT {
        return Err(Unreadable::Newer(format));
    }
    let (facts, rest) = split_line(tail.ok_or(Unreadable::Damaged)?);
    let facts = serde_json::from_slice(facts).map_err(|_| Unreadable::Damaged)?;
    Ok(Parts { words, facts, rest })
}

fn split_line(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    }
}

impl Parts<'_> {
    fn word<T>(&self, at: usize, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        let word = self.words.get(at).copied();
        word.and_then(parse).ok_or(Unreadable::Damaged)
    }

    fn tombstone(self, repeatable: bool) -> Tombstone {
        Tombstone::new(self.facts.tool.map(Into::into), self.rest).with_repeatable(repeatable)
    }
}

fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}

/// A token as its 16 digits.
pub(crate) fn token_text(token: u64) -> String {
    format!("{token:016x}")
}

pub(crate) fn parse_token(word: &str) -> Option<u64> {
    u64::from_str_radix(word, 16).ok()
}

fn kind_letter(kind: ResultKind) -> char {
    match kind {
        ResultKind::Undeclared => 'u',
        ResultKind::Json => 'j',
        ResultKind::Mcp => 'm',
        ResultKind::Text => 't',
        ResultKind::Bytes => 'b',
    }
}

/// What makes an artifact the same record as another of its name. Its digest wherever it lies: should the server have
/// dropped its data, the same again repairs it.
pub(crate) fn artifact_identity(artifact: &StoredArtifact, digest: &Digest) -> String {
    let blocked = u8::from(artifact.retrieval_blocked());
    let summary = artifact.summary().map(|summary| &summary.raw()[..]);
    let summary = Digest::of_parts([summary]);
    format!("a{blocked}{}.{}", digest.to_hex(), summary.to_hex())
}

/// The digest of a record's data, from what makes it the same.
pub(crate) fn digest_of(identity: &str) -> Option<Digest> {
    Digest::from_hex(identity.get(2..2 + 2 * Digest::BYTES)?).ok()
}

/// The blob of a record.
pub(crate) fn blob_name(
    tenant: ScopeTag,
    session: ScopeTag,
    identity: &str,
    token: u64,
) -> Option<BlobName> {
    Some(BlobName::from_parts(
        tenant,
        session,
        digest_of(identity)?,
        token,
    ))
}

/// The results among which one of a server goes first or last, in a word.
pub(crate) fn class(result: &StoredResult) -> String {
    if result.repeatable() {
        return "r".to_owned();
    }
    match result.server() {
        None => "s-".to_owned(),
        Some(server) => format!("s{}", &Digest::of(server.as_bytes()).to_hex()[..16]),
    }
}

/// What of a result's header the scripts do not make. It begins with what makes a result the same record as another, with
/// the digest of data that lies in a blob. Scripts compare data that lies under a key.
pub(crate) fn result_tail(result: &StoredResult, digest: Option<&Digest>, place: Place) -> Vec<u8> {
    let facts = Facts {
        tool: result.tool().map(Into::into),
        server: result.server().map(|server| server.to_string()),
        media_type: result.media_type().map(Into::into),
        sources: result.sources().map(|sources| sources.to_string()),
        ..Facts::default()
    };
    let (kind, failed) = (kind_letter(result.kind()), u8::from(result.failed()));
    let digest = digest.map(Digest::to_hex).unwrap_or_default();
    let (place, length) = (place.letter(), result.document().raw().len());
    let line = format!("{kind}{failed}{digest} {place} {length}\n");
    let arguments = result.arguments().map(|arguments| &arguments[..]);
    let lines = facts.with_trace(result.trace()).lines(arguments);
    [line.into_bytes(), lines].concat()
}

/// What of an artifact's header the scripts do not make.
pub(crate) fn artifact_tail(artifact: &StoredArtifact) -> Vec<u8> {
    let facts = Facts {
        tool: artifact.tool().map(Into::into),
        base: artifact.base().map(Into::into),
        details: artifact.details().to_vec(),
        repeatable: artifact.repeatable(),
        ..Facts::default()
    };
    let summary = artifact.summary().map(|summary| &summary.raw()[..]);
    facts.with_trace(artifact.trace()).lines(summary)
}

/// A lease but for what the scripts make of it.
pub(crate) fn lease_tail(about: &Tombstone) -> Vec<u8> {
    let facts = Facts {
        tool: about.tool().map(Into::into),
        ..Facts::default()
    };
    let mut tail = vec![b'0' + u8::from(about.repeatable()), b'\n'];
    tail.extend(facts.lines(about.arguments().map(|arguments| &arguments[..])));
    tail
}

/// How to repeat a call in flight.
pub(crate) fn parse_lease(value: &[u8]) -> Result<Tombstone> {
    let parts = split(value)?;
    let repeatable = parts.word(4, |word| Some(word == "1"))?;
    Ok(parts.tombstone(repeatable))
}

/// Why a result has gone: whether it was evicted, else it has expired; and how to repeat its call.
pub(crate) fn parse_tombstone(value: &[u8]) -> Result<(bool, Tombstone)> {
    let parts = split(value)?;
    let evicted = parts.word(1, |word| match word {
        "e" => Some(true),
        "x" => Some(false),
        _ => None,
    })?;
    let repeatable = parts.word(2, |word| Some(word == "1"))?;
    Ok((evicted, parts.tombstone(repeatable)))
}

/// How to repeat the call of an artifact that has expired.
pub(crate) fn parse_artifact_tombstone(value: &[u8]) -> Result<Tombstone> {
    let parts = split(value)?;
    let repeatable = parts.facts.repeatable;
    Ok(Tombstone::new(parts.facts.tool.map(Into::into), None).with_repeatable(repeatable))
}

/// A result's header.
pub(crate) struct ResultHeader {
    pub(crate) token: u64,
    pub(crate) place: Place,
    pub(crate) length: usize,
    /// Of data that lies in a blob.
    digest: Option<Digest>,
    kind: ResultKind,
    failed: bool,
    repeatable: bool,
    facts: Facts,
    arguments: Option<Bytes>,
}

impl ResultHeader {
    pub(crate) fn parse(value: &[u8]) -> Result<Self> {
        let parts = split(value)?;
        let identity = parts.word(5, |word| Some(word.to_owned()))?;
        let kind = match identity.chars().next() {
            Some('u') => ResultKind::Undeclared,
            Some('j') => ResultKind::Json,
            Some('m') => ResultKind::Mcp,
            Some('t') => ResultKind::Text,
            Some('b') => ResultKind::Bytes,
            _ => return Err(Unreadable::Damaged),
        };
        Ok(Self {
            token: parts.word(1, parse_token)?,
            place: parts.word(6, Place::parse)?,
            length: parts.word(7, number)?,
            digest: digest_of(&identity),
            kind,
            failed: identity.as_bytes().get(1) == Some(&b'1'),
            repeatable: parts.word(4, |word| Some(word == "r"))?,
            arguments: parts.rest.map(Bytes::copy_from_slice),
            facts: parts.facts,
        })
    }

    pub(crate) fn blob_name(&self, scope: &Scope) -> Result<BlobName> {
        let digest = self.digest.ok_or(Unreadable::Damaged)?;
        Ok(BlobName::new(scope, digest, self.token))
    }

    /// How the call can be repeated.
    pub(crate) fn tombstone(&self) -> Tombstone {
        let tool = self.facts.tool.as_deref().map(Into::into);
        Tombstone::new(tool, self.arguments.as_deref()).with_repeatable(self.repeatable)
    }

    /// The result, with an excerpt of its data.
    pub(crate) fn part(self, excerpt: Bytes) -> StoredResult {
        let length = self.length;
        self.result(excerpt).with_excerpt_of(length)
    }

    /// The result, with its data.
    pub(crate) fn result(self, data: Bytes) -> StoredResult {
        let mut result = StoredResult::new(Document::new(data), self.kind)
            .with_failed(self.failed)
            .with_repeatable(self.repeatable);
        if let Some(trace) = self.facts.trace() {
            result = result.with_trace(trace);
        }
        if let Some(media_type) = self.facts.media_type {
            result = result.with_media_type(media_type);
        }
        if let Some(sources) = self.facts.sources {
            result = result.with_sources(sources);
        }
        let [tool, server] = [self.facts.tool, self.facts.server].map(|text| text.map(Into::into));
        result.with_unsaid(tool, server, self.arguments)
    }

    /// The line of a list.
    pub(crate) fn line(self, call_id: CallId) -> Listed {
        Listed::new(call_id, self.kind, self.length)
            .with_tool(self.facts.tool.map(Into::into))
            .with_failed(self.failed)
    }
}

/// An artifact's header.
pub(crate) struct ArtifactHeader {
    pub(crate) token: u64,
    pub(crate) place: Place,
    digest: Digest,
    /// When it was recorded; no two of a session have the same.
    pub(crate) born: u64,
    length: usize,
    blocked: bool,
    facts: Facts,
    summary: Option<Bytes>,
}

impl ArtifactHeader {
    pub(crate) fn parse(value: &[u8]) -> Result<Self> {
        let parts = split(value)?;
        let identity = parts.word(5, |word| Some(word.to_owned()))?;
        Ok(Self {
            token: parts.word(1, parse_token)?,
            place: parts.word(6, Place::parse)?,
            length: parts.word(7, number)?,
            digest: digest_of(&identity).ok_or(Unreadable::Damaged)?,
            born: parts.word(3, number)?,
            blocked: identity.as_bytes().get(1) == Some(&b'1'),
            summary: parts.rest.map(Bytes::copy_from_slice),
            facts: parts.facts,
        })
    }

    pub(crate) fn blob_name(&self, scope: &Scope) -> BlobName {
        BlobName::new(scope, self.digest, self.token)
    }

    /// The artifact, with its data.
    pub(crate) fn artifact(
        self,
        id: ArtifactId,
        call: CallId,
        data: Bytes,
    ) -> Result<StoredArtifact> {
        if data.len() != self.length {
            return Err(Unreadable::Damaged);
        }
        let mut artifact = StoredArtifact::new(id, call, Document::new(data))
            .with_retrieval_blocked(self.blocked)
            .with_repeatable(self.facts.repeatable);
        if let Some(trace) = self.facts.trace() {
            artifact = artifact.with_trace(trace);
        }
        if let Some(summary) = self.summary {
            artifact = artifact.with_summary(Document::new(summary));
        }
        if let Some(tool) = self.facts.tool {
            artifact = artifact.with_tool(tool);
        }
        if let Some(base) = self.facts.base {
            artifact = artifact.with_base(base);
        }
        for (name, selector) in self.facts.details {
            artifact = artifact.with_detail(name, selector);
        }
        Ok(artifact)
    }

    /// The line of a list.
    pub(crate) fn line(self, id: ArtifactId, call: CallId, is_whole: bool) -> ListedArtifact {
        ListedArtifact::new(id, call, self.length)
            .with_tool(self.facts.tool.map(Into::into))
            .with_retrieval_blocked(self.blocked)
            .with_summary(self.summary)
            .with_damaged(!is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ArtifactHeader, Place, ResultHeader, Unreadable, artifact_identity, artifact_tail, class,
        lease_tail, parse_artifact_tombstone, parse_lease, parse_tombstone, result_tail,
        token_text,
    };
    use bytes::Bytes;
    use crossfeed_json::Document;
    use crossfeed_store::{BlobName, Digest, ResultKind, StoredArtifact, StoredResult, Tombstone};
    use crossfeed_wire::{ArtifactId, CallId, Scope};
    use proptest::prelude::*;

    fn results() -> impl Strategy<Value = StoredResult> {
        let kinds = prop::sample::select(vec![
            ResultKind::Undeclared,
            ResultKind::Json,
            ResultKind::Mcp,
            ResultKind::Text,
            ResultKind::Bytes,
        ]);
        let bytes = || prop::collection::vec(any::<u8>(), 0..40);
        let texts = || prop::option::of("[ -~é\n\\x00]{0,12}");
        (
            bytes(),
            kinds,
            any::<[bool; 2]>(),
            texts(),
            texts(),
            "[ -~é\n\\x00]{0,12}",
            prop::option::of(bytes()),
        )
            .prop_map(
                |(data, kind, [failed, repeatable], tool, server, sources, arguments)| {
                    StoredResult::new(Document::new(data), kind)
                        .with_failed(failed)
                        .with_repeatable(repeatable)
                        .with_media_type("text/plain")
                        .with_sources(sources)
                        .with_unsaid(
                            tool.map(Into::into),
                            server.map(Into::into),
                            arguments.map(Bytes::from),
                        )
                },
            )
    }

    proptest! {
        #[test]
        fn a_result_comes_back_from_its_header(result in results(), token: u64, in_blob: bool) {
            let data = result.document().raw().clone();
            let digest = in_blob.then(|| Digest::of(&data));
            let place = if in_blob { Place::Blob } else { Place::Key };
            let line = format!("1 {} 7 5 {} ", token_text(token), class(&result));
            let written = [line.as_bytes(), &result_tail(&result, digest.as_ref(), place)].concat();
            let header = ResultHeader::parse(&written).unwrap();
            prop_assert!(header.token == token && header.place == place);
            let scope = Scope::parse("t", "p", "s").unwrap();
            let blob = in_blob.then(|| BlobName::new(&scope, Digest::of(&data), token));
            prop_assert_eq!(header.blob_name(&scope).ok(), blob);
            prop_assert_eq!(header.tombstone(), Tombstone::from_result(&result));
            let found = header.result(data);
            prop_assert!(found.is_same_record(&result));
            prop_assert_eq!(found.repeatable(), result.repeatable());
            prop_assert_eq!((found.tool(), found.server()), (result.tool(), result.server()));
            prop_assert_eq!(found.sources(), result.sources());
            prop_assert_eq!((found.arguments(), found.media_type()), (result.arguments(), result.media_type()));
        }

        #[test]
        fn a_lease_comes_back(tool in prop::option::of("[ -~\n]{0,9}"), arguments: Option<Vec<u8>>, repeatable: bool) {
            let about = Tombstone::new(tool.as_deref().map(Into::into), arguments.as_deref())
                .with_repeatable(repeatable);
            let written = [b"1 00 00 5 ".as_slice(), &lease_tail(&about)].concat();
            prop_assert_eq!(parse_lease(&written).unwrap(), about);
        }

        #[test]
        fn nothing_from_outside_makes_it_fail(value: Vec<u8>, text in "([0-9]{1,2} ?([0-9a-f]{16} |[a-z0-9]{1,3} ){0,8}\n?(\\{\\})?){0,2}") {
            for value in [&value[..], text.as_bytes()] {
                let _ = (ResultHeader::parse(value), ArtifactHeader::parse(value));
                let _ = (parse_lease(value), parse_tombstone(value), parse_artifact_tombstone(value));
            }
        }
    }

    #[test]
    fn an_artifact_comes_back_from_its_header() {
        let (id, call) = (
            ArtifactId::parse("a1").unwrap(),
            CallId::parse("c1").unwrap(),
        );
        let artifact = StoredArtifact::new(id.clone(), call.clone(), Document::new("[1]"))
            .with_retrieval_blocked(true)
            .with_repeatable(true)
            .with_summary(Document::new("{\n}"))
            .with_tool("search")
            .with_base("items")
            .with_detail("a", "b");
        let identity = artifact_identity(&artifact, &Digest::of(b"[1]"));
        let line = format!("1 {} 7 5 0 {identity} o 3", token_text(7));
        let written = [line.as_bytes(), b"\n", &artifact_tail(&artifact)].concat();
        let header = ArtifactHeader::parse(&written).unwrap();
        assert!(header.place == Place::Blob && header.born == 5);
        let found = header.artifact(id, call, Bytes::from("[1]")).unwrap();
        assert!(found.is_same_record(&artifact) && found.repeatable());
        assert_eq!(
            (found.tool(), found.base()),
            (Some("search"), Some("items"))
        );
        assert_eq!(found.details(), artifact.details());
    }

    #[test]
    fn a_later_format_is_known_as_such() {
        let newer = ResultHeader::parse(b"2 what ever").err();
        assert!(matches!(newer, Some(Unreadable::Newer(2))), "{newer:?}");
    }
}
