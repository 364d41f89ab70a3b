//! Ports that are free.

use crate::Problem;
use std::{
    net::TcpListener,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// The ports to choose from, and those of a cluster's nodes among each other, which are 10,000 higher. All are below
/// those that a system gives to connections, so that none takes the port of a server that a test has ended for a while.
const PORTS: std::ops::Range<u32> = 11_000..22_000;
const BUS: u32 = 10_000;
/// How far apart processes begin to look.
const APART: u32 = 101;

/// A port of loopback that was free a moment ago, other than all that this process has been given before.
///
/// # Errors
///
/// When there is none.
pub fn free_port() -> Result<u16, Problem> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let count = PORTS.end - PORTS.start;
    let first = process::id() % count * APART;
    for _ in PORTS {
        let offset = first + NEXT.fetch_add(1, Ordering::Relaxed) % count;
        let port = PORTS.start + offset % count;
        if is_free(port) && is_free(port + BUS) {
            return u16::try_from(port).map_err(|error| error.to_string());
        }
    }
    Err("there is no free port".to_owned())
}

fn is_free(port: u32) -> bool {
    u16::try_from(port).is_ok_and(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
}
