//! Keeps large results and artifacts in object storage.
