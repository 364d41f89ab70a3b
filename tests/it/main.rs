//! The integration tests of the workspace, in one binary: a module per theme.

mod architecture;
