//! Schemas that admit references, held to their laws over the official suite, real tools and bad input.

pub(crate) mod corpus;
mod generate;
mod hostile;
mod laws;
mod lists;
mod oracle;
mod random;
pub(crate) mod suite;
