//! What went wrong in a backend, without what it says of its configuration.

use crossfeed_store::StoreError;
use object_store::{Error as BackendError, client::HttpError};
use std::{error::Error, io, time::Duration};

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub(crate) enum Request {
    #[strum(to_string = "writing an object")]
    Write,
    #[strum(to_string = "reading an object")]
    Read,
    #[strum(to_string = "removing objects")]
    Remove,
    /// The same, when it is known how many have gone.
    #[strum(to_string = "removing objects ({gone} of {of} have gone)")]
    RemoveAll { gone: usize, of: usize },
    #[strum(to_string = "listing objects")]
    List,
}

/// Why a request failed, for an operator. It never holds a response or a URL: those name credentials, and are long.
#[derive(Debug, thiserror::Error)]
#[error("{request} failed: {reason}")]
pub(crate) struct Failure {
    request: Request,
    reason: String,
}

const MAX_REASON: usize = 200;
const NON_SUCCESS: &str = "Server returned non-2xx status code: ";
const ERROR_BODY: &str = "Server returned error response: ";
const BARE_REDIRECT: &str = "Received redirect without LOCATION";
const UNDELETED: &str = "DeleteObjects request failed for key ";

/// Codes with which S3, Google and Azure say that it is the object that is not there.
const NO_OBJECT: [&str; 2] = ["NoSuchKey", "BlobNotFound"];
const NO_BUCKET: [&str; 2] = ["NoSuchBucket", "ContainerNotFound"];
const NO_SPACE: [&str; 3] = ["XMinioStorageFull", "QuotaExceeded", "InsufficientStorage"];
const WRONG_PLACE: [&str; 3] = [
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
];
/// Statuses of requests that may succeed later. 416 is the end of a read that was resumed behind the last byte.
const PASSING: [u16; 5] = [408, 409, 416, 425, 429];

/// What a chain of errors tells.
#[derive(Default)]
struct Symptoms {
    status: Option<u16>,
    code: Option<String>,
    /// A redirect that leads nowhere.
    is_redirect: bool,
    /// The error came from the network, so that no kind of input and output error is one of a disk.
    is_network: bool,
    kind: Option<io::ErrorKind>,
    /// What the innermost error says, and what the one around it says of it.
    innermost: String,
    around: String,
}

impl Symptoms {
    fn of(error: &BackendError) -> Self {
        let mut symptoms = Self::default();
        let mut next: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            if let Some(error) = error.downcast_ref::<io::Error>() {
                symptoms.kind = Some(error.kind());
            }
            symptoms.is_network |= error.is::<HttpError>();
            symptoms.is_redirect |= text.starts_with(BARE_REDIRECT);
            if let Some(response) = text.strip_prefix(NON_SUCCESS) {
                symptoms.status = response.get(..3).and_then(|status| status.parse().ok());
                symptoms.code = between(response, "<Code>", "</Code>");
            } else if let Some(response) = text.strip_prefix(ERROR_BODY) {
                // It begins with success, and then says one of these two.
                let code = between(response, "<Code>", "</Code>");
                symptoms.code = code.or_else(|| Some("InternalError".to_owned()));
            } else if text.starts_with(UNDELETED) {
                symptoms.code = between(&text, "(code: ", ")");
            }
            if let Some(around) = symptoms.innermost.strip_suffix(&text) {
                symptoms.around = around.trim_end_matches(": ").to_owned();
            }
            symptoms.innermost = text;
            next = error.source();
        }
        symptoms
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.code
            .as_ref()
            .is_some_and(|code| codes.contains(&&**code))
    }

    fn is_from_server(&self) -> bool {
        self.status.is_some() || self.code.is_some()
    }

    /// The kind of a disk's error.
    fn disk(&self) -> Option<io::ErrorKind> {
        self.kind.filter(|_| !self.is_network)
    }

    fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        self.has_code(&NO_SPACE)
            || self.status == Some(507)
            || matches!(self.disk(), Some(StorageFull | QuotaExceeded))
    }

    fn is_denied(&self, error: &BackendError) -> bool {
        use BackendError::{PermissionDenied, Unauthenticated};
        matches!(error, PermissionDenied { .. } | Unauthenticated { .. })
            || matches!(self.status, Some(401 | 403))
            || self.has_code(&["AccessDenied"])
            || self.disk() == Some(io::ErrorKind::PermissionDenied)
    }

    /// Whether the same request fails again.
    fn is_lasting(&self, error: &BackendError) -> bool {
        use BackendError::{
            InvalidPath, NotFound, NotImplemented, NotSupported, UnknownConfigurationKey,
        };
        let by_status = self
            .status
            .is_some_and(|status| (300..500).contains(&status) && !PASSING.contains(&status));
        by_status
            || self.is_redirect
            || self.is_denied(error)
            || matches!(
                error,
                InvalidPath { .. }
                    | NotImplemented { .. }
                    | NotSupported { .. }
                    | UnknownConfigurationKey { .. }
            )
            || (self.is_from_server() && matches!(error, NotFound { .. }))
    }

    fn reason(&self, error: &BackendError) -> String {
        let mut reason = match (self.status, &self.code) {
            (Some(status), Some(code)) => format!("HTTP status {status} ({code})"),
            (Some(status), None) => format!("HTTP status {status}"),
            (None, Some(code)) => code.clone(),
            (None, None) if self.is_redirect => "a redirect that leads nowhere".to_owned(),
            (None, None) => {
                // What cannot read an answer quotes it.
                let is_own = self.is_network || self.kind.is_some();
                let text = if is_own {
                    &self.innermost
                } else {
                    &self.around
                };
                let printable = |char: &char| !char.is_control();
                text.chars().filter(printable).take(MAX_REASON).collect()
            }
        };
        reason.push_str(if self.has_code(&NO_BUCKET) {
            ": there is no such bucket or container"
        } else if self.has_code(&["RequestTimeTooSkewed"]) {
            ": set this machine's clock"
        } else if self.is_redirect || self.has_code(&WRONG_PLACE) {
            ": check the settings `region` and `endpoint`"
        } else if self.is_from_server() && self.is_denied(error) {
            ": the credentials must permit to read, write, remove and list objects under the prefix"
        } else {
            ""
        });
        reason
    }
}

/// A code between two marks, if it looks like one.
fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    let (code, _) = rest.split_once(after)?;
    let is_code = (1..=64).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_alphanumeric());
    is_code.then(|| code.to_owned())
}

/// Whether there is no object of a name. A bucket that is not there, and any other "not found" of a server, is an
/// error.
pub(crate) fn is_absent(error: &BackendError) -> bool {
    let symptoms = Symptoms::of(error);
    matches!(error, BackendError::NotFound { .. })
        && (!symptoms.is_from_server() || symptoms.has_code(&NO_OBJECT))
}

/// The error of a store for one of a backend.
pub(crate) fn store_error(request: Request, error: &BackendError) -> StoreError {
    let symptoms = Symptoms::of(error);
    let writes = !matches!(request, Request::Read | Request::List);
    let source = Box::new(Failure {
        request,
        reason: symptoms.reason(error),
    });
    match symptoms.disk() {
        _ if symptoms.is_full() => StoreError::NoSpace { source },
        Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) if writes => {
            StoreError::ReadOnly {
                source: Some(source),
            }
        }
        _ => StoreError::Unavailable {
            source,
            retry: !symptoms.is_lasting(error),
        },
    }
}

/// The error for a backend that has not answered for so long.
pub(crate) fn too_slow(request: Request, waited: Duration) -> StoreError {
    unavailable(request, format!("no answer within {waited:?}"), true)
}

/// An error with a reason of our own.
pub(crate) fn unavailable(request: Request, reason: String, retry: bool) -> StoreError {
    let source = Box::new(Failure { request, reason });
    StoreError::Unavailable { source, retry }
}
