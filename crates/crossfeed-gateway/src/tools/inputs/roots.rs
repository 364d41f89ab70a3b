//! The directories of a client beneath which it lets files be read.
//!
//! They are compared with paths as they are written, and looked for nowhere: a client of another machine learns nothing
//! of this one.

use super::files::path_in_uri;
use bytes::Bytes;
use crossfeed_core::InputError;
use crossfeed_json::{Document, Kind};
use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// Roots that are read of one answer, at most, and the bytes of each address: others are ignored.
const MAX_ROOTS: usize = 256;
const MAX_URI_BYTES: usize = 4096;

/// The roots of a client.
#[derive(Clone, Debug)]
pub(crate) struct ClientRoots(Arc<[PathBuf]>);

impl ClientRoots {
    /// Whether a client says that it has roots, by what it says of that capability.
    pub(crate) fn are_declared(capability: Option<&Bytes>) -> bool {
        capability.is_some_and(|said| !matches!(&said[..], b"null" | b"false"))
    }

    /// The answer to a call of a client without a session that has to be asked: the call comes again with this state and
    /// the roots under the same name.
    pub(in crate::tools) fn question(state: &str) -> Bytes {
        let question = format!(
            r#"{{"resultType":"input_required","inputRequests":{{"{state}":{{"method":"roots/list"}}}},"requestState":"{state}"}}"#
        );
        question.into()
    }

    /// Those of a result of `roots/list`. Addresses of other schemes, and those with `..`, are ignored.
    ///
    /// # Errors
    ///
    /// [`RootsError::Invalid`]: it has no list of roots.
    pub(crate) fn from_result(result: &Bytes) -> Result<Self, RootsError> {
        let document = Document::new(result.clone());
        let roots = document.root().ok().and_then(|root| root.get("roots"));
        let roots = roots.filter(|roots| roots.kind() == Kind::Array);
        let roots = roots.ok_or(RootsError::Invalid)?.items().take(MAX_ROOTS);
        let uris = roots.filter_map(|root| {
            let uri = root.get("uri")?;
            (uri.raw().len() <= MAX_URI_BYTES).then(|| uri.as_str())?
        });
        let paths = uris.filter_map(|uri| path_in_uri(&uri)?.map(PathBuf::from));
        Ok(Self(paths.filter(|path| is_plain(path)).collect()))
    }

    /// Whether a path without `..` is beneath one of them.
    pub(super) fn hold(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }
}

/// Whether the names of a path are the directories that lead there.
pub(super) fn is_plain(path: &Path) -> bool {
    let mut names = path.components();
    !names.any(|name| name == Component::ParentDir)
}

/// Why the roots of a client that has some are not known.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum RootsError {
    /// Only the answer to its call can ask it.
    #[error("it has to be asked for them")]
    InAnswer,
    /// It was asked, and answered with something else.
    #[error("its answer is not valid")]
    Invalid,
    /// It was asked, and answered with an error.
    #[error("it answered with an error")]
    Refused,
    /// It was asked, and did not answer in time.
    #[error("it did not answer in time")]
    TimedOut,
    /// It cannot be asked.
    #[error("it is gone")]
    Gone,
}

impl From<RootsError> for InputError {
    fn from(error: RootsError) -> Self {
        Self::Unavailable {
            why: format!("the roots of the client are not known: {error}"),
            advice: "try again, or write the value in place of the reference".to_owned(),
        }
    }
}
