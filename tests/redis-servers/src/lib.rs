//! Redis servers for tests: on loopback, on free ports, with their data in temporary folders. They end with the test.
//!
//! Where `redis-server` is not installed, [`is_installed`] says so aloud; with `CROSSFEED_REQUIRE_REDIS=1` that is a
//! failure. `CROSSFEED_REDIS_SERVER` names another program that speaks the same, such as `valkey-server`.

mod folder;
mod group;
mod port;
mod proxy;
mod server;
mod talk;

use std::time::{Duration, Instant};
use tokio::time::sleep;

pub use group::{Cluster, Group, Replicated};
pub use port::free_port;
pub use proxy::{Proxy, Weather};
pub use server::{Server, faketime, fill_disk, is_installed, patient};
pub use talk::{Answer, ask};

/// Why a server is not as a test needs it.
pub type Problem = String;

/// How long servers may take for what they do by themselves.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks again and again until the answer is yes.
///
/// # Errors
///
/// When that takes too long; with the last answer.
pub async fn eventually<F>(what: &str, check: impl Fn() -> F) -> Result<(), Problem>
where
    F: Future<Output = Result<bool, Problem>>,
{
    let end = Instant::now() + PATIENCE;
    loop {
        match check().await {
            Ok(true) => return Ok(()),
            answer if Instant::now() > end => {
                return Err(format!("waited too long until {what}: {answer:?}"));
            }
            _ => sleep(Duration::from_millis(25)).await,
        }
    }
}
