//! The directories of a client beneath which it lets files be read.

use super::files::path_in_uri;
use bytes::Bytes;
use crossfeed_core::InputError;
use crossfeed_json::{Cursor, Document, Kind};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Roots that are read of one answer: the rest narrows further, as if it were not there.
const MAX_ROOTS: usize = 1024;

/// The roots of a client.
#[derive(Clone, Debug)]
pub(crate) struct ClientRoots(Vec<PathBuf>);

impl ClientRoots {
    /// By what a client without a session knows the question, and the gateway the answer.
    pub(crate) const STATE: &str = "crossfeed_roots";

    /// The answer to a call of such a client that needs its roots: the call comes again with them.
    pub(in crate::tools) fn question() -> Bytes {
        let state = Self::STATE;
        let question = format!(
            r#"{{"resultType":"input_required","inputRequests":{{"{state}":{{"method":"roots/list"}}}},"requestState":"{state}"}}"#
        );
        question.into()
    }

    /// Those of a result of `roots/list`; none if it is not valid. What is no directory of a file system is left out.
    pub(crate) fn from_result(result: &Bytes) -> Option<Self> {
        let document = Document::new(result.clone());
        let roots = document.root().ok()?.get("roots")?;
        let roots = (roots.kind() == Kind::Array).then(|| roots.items())?;
        let paths = roots.take(MAX_ROOTS).filter_map(|root| {
            let uri = root.get("uri").and_then(Cursor::as_str)?;
            path_in_uri(&uri)?.map(PathBuf::from)
        });
        Some(Self(paths.collect()))
    }

    /// The same, as they are on this machine.
    pub(super) fn resolved(&self) -> Self {
        let roots = self.0.iter().map(|root| fs::canonicalize(root));
        let roots = roots.zip(&self.0);
        Self(
            roots
                .map(|(found, root)| found.unwrap_or_else(|_| root.clone()))
                .collect(),
        )
    }

    /// Whether a file is beneath one of them.
    pub(super) fn hold(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }
}

/// Why the roots of a client that has some are not known.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum RootsError {
    /// Only the answer to its call can ask it.
    #[error("it has to be asked for them")]
    InAnswer,
    /// It was asked, and does not say.
    #[error("{0}")]
    Failed(String),
}

impl From<RootsError> for InputError {
    fn from(error: RootsError) -> Self {
        Self::Unavailable {
            why: format!("the roots of the client are not known: {error}"),
            advice: "try again, or write the value in place of the reference".to_owned(),
        }
    }
}
