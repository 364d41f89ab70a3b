//! Names of objects.

use crossfeed_store::{BlobName, Digest, ScopeTag};
use object_store::path::Path;

/// The first part of every name: the format of what is below.
pub(crate) const FORMAT: &str = "v1";

/// The name of a blob's object below `FORMAT`, in which names have the order of blob names.
pub(crate) fn encode(name: &BlobName) -> String {
    let (tenant, session) = (name.tenant(), name.session());
    let (digest, token) = (name.digest().to_hex(), name.token());
    format!("{tenant}/{session}/{digest}-{token:016x}")
}

/// The blob whose object this is, if it is one.
pub(crate) fn decode(path: &Path, base: &Path) -> Option<BlobName> {
    let mut parts = path.prefix_match(base)?;
    let tenant = ScopeTag::parse(parts.next()?.as_ref())?;
    let session = ScopeTag::parse(parts.next()?.as_ref())?;
    let last = parts.next()?;
    let (digest, token) = last.as_ref().split_once('-')?;
    let digest = Digest::from_hex(digest).ok()?;
    let name = BlobName::from_parts(
        tenant,
        session,
        digest,
        u64::from_str_radix(token, 16).ok()?,
    );
    // Other spellings of the same are not ours.
    let is_canonical = parts.next().is_none() && path.as_ref().ends_with(&encode(&name));
    is_canonical.then_some(name)
}
