//! What an object holds: a header, then the bytes as they are or encrypted.
//!
//! | offset | length | |
//! |---|---|---|
//! | 0 | 8 | `MAGIC` |
//! | 8 | 1 | the format, 1 |
//! | 9 | 1 | 0: as they are; 1: encrypted |
//! | 10 | 2 | length of the header |
//! | 12 | 8 | length of the bytes that were recorded |
//! | 20 | 19 | if encrypted: the nonce, but for its last five bytes |
//! | 39 | 1 | if encrypted: length of the key's id, which follows |
//!
//! Numbers have their lowest byte first. What follows in the header is ignored. Encrypted bytes are chunks of 1 MiB,
//! the last one shorter or empty, each sealed by XChaCha20-Poly1305 with 16 bytes more (the STREAM construction: the
//! nonce ends in the number of the chunk, highest byte first, and in 1 for the last one, else 0). The header and the
//! object's name are associated data, so that neither can be exchanged.

use crate::{TenantKey, TenantKeys, keys::is_key_id};
use bytes::Bytes;
use chacha20poly1305::{
    AeadInOut, KeyInit, Tag, XChaCha20Poly1305, XNonce,
    aead::{Error as SealError, inout::InOutBuf},
};
use crossfeed_store::{Digest, StoreError};
use sha2::{Digest as _, Sha256};
use std::ops::Range;

const MAGIC: [u8; 8] = *b"\x89XFBLOB\n";
const FORMAT: u8 = 1;
const PLAIN: u8 = 0;
const SEALED: u8 = 1;
const FIXED: usize = 20;
const NONCE: usize = 19;
const TAG: usize = 16;
/// Length of a chunk of encrypted bytes before it is sealed.
pub(crate) const CHUNK: usize = 1 << 20;

/// The number of chunks of encrypted bytes.
fn chunks(length: u64) -> u64 {
    length.div_ceil(CHUNK as u64).max(1)
}

/// Encrypts and decrypts the chunks of one object.
struct Sealer {
    cipher: XChaCha20Poly1305,
    nonce: [u8; NONCE],
    associated: Vec<u8>,
    next: u32,
    last: u32,
}

impl Sealer {
    /// For an object of this name and header, whose bytes have this length. `None` if they are too long.
    fn new(
        key: &TenantKey,
        nonce: [u8; NONCE],
        header: &[u8],
        name: &str,
        length: u64,
    ) -> Option<Self> {
        Some(Self {
            cipher: XChaCha20Poly1305::new(key.bytes().into()),
            nonce,
            associated: [header, name.as_bytes()].concat(),
            next: 0,
            last: u32::try_from(chunks(length) - 1).ok()?,
        })
    }

    fn is_done(&self) -> bool {
        self.next > self.last
    }

    fn nonce(&mut self) -> XNonce {
        let mut nonce = [0; NONCE + 5];
        nonce[..NONCE].copy_from_slice(&self.nonce);
        nonce[NONCE..NONCE + 4].copy_from_slice(&self.next.to_be_bytes());
        nonce[NONCE + 4] = u8::from(self.next == self.last);
        self.next += 1;
        nonce.into()
    }

    fn seal(&mut self, chunk: &[u8]) -> Result<Bytes, SealError> {
        let nonce = self.nonce();
        let mut sealed = Vec::with_capacity(chunk.len() + TAG);
        sealed.extend_from_slice(chunk);
        let buffer = InOutBuf::from(&mut sealed[..]);
        let tag = self
            .cipher
            .encrypt_inout_detached(&nonce, &self.associated, buffer)?;
        sealed.extend_from_slice(&tag);
        Ok(sealed.into())
    }

    /// Decrypts in place. If the tag is not the one of these bytes, they are of no use.
    fn open(&mut self, chunk: &mut [u8], tag: &[u8]) -> Result<(), SealError> {
        let nonce = self.nonce();
        let tag = Tag::try_from(tag).map_err(|_| SealError)?;
        self.cipher
            .decrypt_inout_detached(&nonce, &self.associated, chunk.into(), &tag)
    }
}

/// Writes an object, block by block.
pub(crate) struct Encoder {
    header: Option<Bytes>,
    rest: Bytes,
    sealer: Option<Sealer>,
}

impl Encoder {
    /// An object of this name and these bytes, encrypted if there is a key.
    pub(crate) fn new(
        name: &str,
        bytes: Bytes,
        key: Option<&TenantKey>,
    ) -> Result<Self, StoreError> {
        let mut header = MAGIC.to_vec();
        header.extend([FORMAT, if key.is_some() { SEALED } else { PLAIN }]);
        let id = key.map_or("", TenantKey::id);
        let length = FIXED + key.map_or(0, |_| NONCE + 1 + id.len());
        header.extend((length as u16).to_le_bytes());
        header.extend((bytes.len() as u64).to_le_bytes());
        let mut sealer = None;
        if let Some(key) = key {
            let mut nonce = [0; NONCE];
            getrandom::fill(&mut nonce).map_err(no_randomness)?;
            header.extend(nonce);
            header.push(id.len() as u8);
            header.extend(id.as_bytes());
            let made = Sealer::new(key, nonce, &header, name, bytes.len() as u64);
            sealer = Some(made.ok_or(TOO_LONG)?);
        }
        Ok(Self {
            header: Some(header.into()),
            rest: bytes,
            sealer,
        })
    }
}

const TOO_LONG: StoreError = StoreError::TooLarge {
    bytes: usize::MAX,
    limit: CHUNK * u32::MAX as usize,
};

fn too_large(bytes: u64, limit: usize) -> StoreError {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    StoreError::TooLarge { bytes, limit }
}

fn no_randomness(error: getrandom::Error) -> StoreError {
    StoreError::Unavailable {
        source: error.to_string().into(),
        retry: true,
    }
}

impl Iterator for Encoder {
    type Item = Result<Bytes, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(header) = self.header.take() {
            return Some(Ok(header));
        }
        let Some(sealer) = &mut self.sealer else {
            let rest = std::mem::take(&mut self.rest);
            return (!rest.is_empty()).then_some(Ok(rest));
        };
        if sealer.is_done() {
            return None;
        }
        let chunk = self.rest.split_to(self.rest.len().min(CHUNK));
        Some(sealer.seal(&chunk).map_err(|_| TOO_LONG))
    }
}

/// What an object is read for.
pub(crate) struct Wanted<'w> {
    /// The object's name.
    pub(crate) name: &'w str,
    /// The digest of the bytes that were recorded.
    pub(crate) digest: &'w Digest,
    /// Whose it is.
    pub(crate) tenant: &'w str,
    /// The keys, if there are any. Where the tenant has one, the object has to be encrypted.
    pub(crate) keys: Option<&'w dyn TenantKeys>,
    /// The longest that may be read.
    pub(crate) max_bytes: usize,
}

impl Wanted<'_> {
    fn key(&self, id: &str) -> Option<TenantKey> {
        self.keys?.by_id(self.tenant, id)
    }

    fn has_to_be_sealed(&self) -> bool {
        self.keys
            .is_some_and(|keys| keys.current(self.tenant).is_some())
    }
}

/// Reads an object, piece by piece, and checks it.
pub(crate) struct Decoder<'w> {
    wanted: Wanted<'w>,
    /// Length of the object, where it is known.
    length: Option<u64>,
    /// What has been read and is not yet a header or a chunk.
    pending: Vec<u8>,
    header: Option<Header>,
    bytes: Vec<u8>,
    hasher: Sha256,
}

struct Header {
    /// Its own length.
    length: usize,
    /// Length of the bytes that were recorded.
    bytes: usize,
    sealer: Option<Sealer>,
}

impl<'w> Decoder<'w> {
    /// For an object of this length, unless it is longer than any of the bytes that may be read.
    pub(crate) fn new(wanted: Wanted<'w>, length: u64) -> Result<Self, StoreError> {
        let max = wanted.max_bytes as u64;
        let most = max.saturating_add(u64::from(u16::MAX) + chunks(max) * TAG as u64);
        if length > most {
            return Err(too_large(length, wanted.max_bytes));
        }
        Ok(Self {
            wanted,
            length: Some(length),
            pending: Vec::new(),
            header: None,
            bytes: Vec::new(),
            hasher: Sha256::new(),
        })
    }

    /// Takes what was read next.
    pub(crate) fn feed(&mut self, block: &[u8]) -> Result<(), StoreError> {
        for piece in block.chunks(CHUNK) {
            self.pending.extend_from_slice(piece);
            if self.header.is_none() {
                self.header = self.read_header()?;
                let bytes = self.header.as_ref().map_or(0, |header| header.bytes);
                self.bytes.reserve_exact(bytes);
            }
            self.read_chunks()?;
        }
        Ok(())
    }

    fn read_chunks(&mut self) -> Result<(), StoreError> {
        let Some(header) = &mut self.header else {
            return Ok(());
        };
        loop {
            let start = self.bytes.len();
            let left = header.bytes - start;
            match &mut header.sealer {
                None if self.pending.len() > left => return Err(StoreError::DamagedBlob),
                None => self.bytes.append(&mut self.pending),
                Some(sealer) if sealer.is_done() => return Ok(()),
                Some(sealer) => {
                    let chunk = left.min(CHUNK);
                    if self.pending.len() < chunk + TAG {
                        return Ok(());
                    }
                    self.bytes.extend(self.pending.drain(..chunk));
                    let opened = sealer.open(&mut self.bytes[start..], &self.pending[..TAG]);
                    opened.map_err(|_| StoreError::DamagedBlob)?;
                    self.pending.drain(..TAG);
                }
            }
            self.hasher.update(&self.bytes[start..]);
            if header.sealer.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads the header, once all of it is there.
    fn read_header(&mut self) -> Result<Option<Header>, StoreError> {
        let Some((fixed, rest)) = self.pending.split_first_chunk::<FIXED>() else {
            return Ok(None);
        };
        if fixed[..8] != MAGIC {
            return Err(StoreError::DamagedBlob);
        }
        if fixed[8] > FORMAT {
            return Err(StoreError::Newer {
                found: fixed[8].into(),
                known: FORMAT.into(),
            });
        }
        let length = usize::from(u16::from_le_bytes([fixed[10], fixed[11]]));
        let Some(own) = length.checked_sub(FIXED) else {
            return Err(StoreError::DamagedBlob);
        };
        let Some(fields) = rest.get(..own) else {
            return Ok(None);
        };
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&fixed[12..]);
        let bytes = u64::from_le_bytes(bytes);
        let sealed = match (fixed[8], fixed[9]) {
            (FORMAT, PLAIN) if !self.wanted.has_to_be_sealed() => false,
            (FORMAT, SEALED) => true,
            _ => return Err(StoreError::DamagedBlob),
        };
        let tags = if sealed {
            chunks(bytes) * TAG as u64
        } else {
            0
        };
        let expected = bytes.checked_add(tags + length as u64);
        if expected.is_none() || self.length.is_some_and(|length| expected != Some(length)) {
            return Err(StoreError::DamagedBlob);
        }
        let limit = self.wanted.max_bytes;
        let admitted = usize::try_from(bytes).ok().filter(|bytes| *bytes <= limit);
        let bytes = admitted.ok_or_else(|| too_large(bytes, limit))?;
        let mut sealer = None;
        if sealed {
            sealer = Some(self.sealer(fields, length, bytes)?);
        }
        self.pending.drain(..length);
        Ok(Some(Header {
            length,
            bytes,
            sealer,
        }))
    }

    /// What decrypts the object, by the fields of its header, which has this length.
    fn sealer(&self, fields: &[u8], length: usize, bytes: usize) -> Result<Sealer, StoreError> {
        let id_and_nonce = || {
            let (nonce, rest) = fields.split_first_chunk::<NONCE>()?;
            let (id_length, rest) = rest.split_first()?;
            let id = std::str::from_utf8(rest.get(..usize::from(*id_length))?).ok()?;
            is_key_id(id).then_some((id, *nonce))
        };
        let (id, nonce) = id_and_nonce().ok_or(StoreError::DamagedBlob)?;
        let key = self.wanted.key(id).ok_or_else(|| StoreError::Unavailable {
            source: Box::new(MissingKey { id: id.to_owned() }),
            retry: false,
        })?;
        let header = &self.pending[..length];
        Sealer::new(&key, nonce, header, self.wanted.name, bytes as u64)
            .ok_or(StoreError::DamagedBlob)
    }

    /// The bytes that were recorded, if what was read is all of them.
    pub(crate) fn finish(self) -> Result<Bytes, StoreError> {
        let is_whole = self.header.is_some_and(|header| {
            header.bytes == self.bytes.len() && header.sealer.is_none_or(|sealer| sealer.is_done())
        });
        let digest: [u8; Digest::BYTES] = self.hasher.finalize().into();
        if is_whole && self.pending.is_empty() && digest == *self.wanted.digest.as_bytes() {
            Ok(self.bytes.into())
        } else {
            Err(StoreError::DamagedBlob)
        }
    }
}

/// Where the bytes of an object lie in it, as one is written now.
pub(crate) struct Layout {
    header: usize,
    is_sealed: bool,
    /// Length of the bytes that were recorded.
    bytes: usize,
}

impl Layout {
    /// Of an object of so many bytes, encrypted if there is a key.
    pub(crate) fn new(bytes: usize, key: Option<&TenantKey>) -> Self {
        Self {
            header: FIXED + key.map_or(0, |key| NONCE + 1 + key.id().len()),
            is_sealed: key.is_some(),
            bytes,
        }
    }

    /// What is to be read of the object: its header, and of each range what that needs.
    pub(crate) fn places(&self, ranges: &[Range<usize>]) -> Vec<Range<u64>> {
        let place = |range: &Range<usize>| {
            let own = self.chunks_of(range);
            let tags = |chunks: usize| if self.is_sealed { chunks * TAG } else { 0 };
            let (first, behind) = (own.start / CHUNK, own.end.div_ceil(CHUNK));
            let (start, end) = (own.start + tags(first), own.end + tags(behind));
            (self.header + start) as u64..(self.header + end) as u64
        };
        let header = 0..self.header as u64;
        std::iter::once(header)
            .chain(ranges.iter().map(place))
            .collect()
    }

    /// The bytes that have to be read for a range: whole chunks, if they are encrypted.
    fn chunks_of(&self, range: &Range<usize>) -> Range<usize> {
        if !self.is_sealed || range.is_empty() {
            return range.clone();
        }
        let end = range.end.next_multiple_of(CHUNK);
        range.start / CHUNK * CHUNK..end.min(self.bytes)
    }

    /// The bytes of each range, from what was read of its places. Bytes that are not encrypted are not checked.
    pub(crate) fn open(
        &self,
        wanted: Wanted<'_>,
        ranges: &[Range<usize>],
        read: &[Bytes],
    ) -> Result<Vec<Bytes>, StoreError> {
        let (head, parts) = read.split_first().ok_or(StoreError::DamagedBlob)?;
        let mut decoder = Decoder {
            wanted,
            length: None,
            pending: head.to_vec(),
            header: None,
            bytes: Vec::new(),
            hasher: Sha256::new(),
        };
        let header = decoder.read_header()?.ok_or(StoreError::DamagedBlob)?;
        let is_as_expected = header.length == self.header
            && header.sealer.is_some() == self.is_sealed
            && header.bytes == self.bytes
            && parts.len() == ranges.len();
        if !is_as_expected {
            return Err(StoreError::DamagedBlob);
        }
        let mut sealer = header.sealer;
        let open = |(range, part): (&Range<usize>, &Bytes)| {
            let own = self.chunks_of(range);
            let Some(sealer) = &mut sealer else {
                return (part.len() == own.len()).then(|| part.clone());
            };
            let mut opened = Vec::with_capacity(own.len());
            sealer.next = u32::try_from(own.start / CHUNK).ok()?;
            for sealed in part.chunks(CHUNK + TAG) {
                let (chunk, tag) = sealed.split_at(sealed.len().checked_sub(TAG)?);
                let start = opened.len();
                opened.extend_from_slice(chunk);
                sealer.open(&mut opened[start..], tag).ok()?;
            }
            let within = range.start - own.start..range.end - own.start;
            (opened.len() == own.len()).then(|| Bytes::from(opened).slice(within))
        };
        let opened: Option<Vec<Bytes>> = ranges.iter().zip(parts).map(open).collect();
        opened.ok_or(StoreError::DamagedBlob)
    }
}

/// The key of an object is not there.
#[derive(Debug, thiserror::Error)]
#[error(
    "the object is encrypted with the key `{id}` of its tenant, which is missing: configure that key again"
)]
struct MissingKey {
    id: String,
}
