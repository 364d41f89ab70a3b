//! The gateway as a whole, over real connections on this machine.

mod pairs;
mod world;
