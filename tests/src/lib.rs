//! Fixtures and helpers for the integration tests: where the repository's files are, and which cases of a suite are known to fail.
//!
//! Comes in: paths below the repository. Goes out: texts and [`ExpectedFailures`]. Not here: the tests themselves (`it/`), and the
//! suites (`suites/`).

mod failures;

use std::path::{Path, PathBuf};

pub use failures::{ExpectedFailures, ListError, Run};

/// The root of the repository.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The folder of a vendored compliance suite, `tests/suites/NAME`.
#[must_use]
pub fn suite(name: &str) -> PathBuf {
    workspace_root().join("tests/suites").join(name)
}
