//! A server of the S3 protocol: `moto_server`, of the Python package `moto[server]`.

use crate::open::Blobs;
use crossfeed_redis_servers::{Proxy, eventually, free_port};
use std::{
    io::Write as _,
    process::{Child, Command, Stdio},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const PROGRAM: &str = "moto_server";
const BUCKET: &str = "bucket";

/// Whether the program is installed. Where it is not, says that this store is skipped.
///
/// # Errors
///
/// Where it is not, and `CROSSFEED_REQUIRE_S3` is set.
#[expect(
    clippy::disallowed_methods,
    reason = "how strict a run is, its environment says"
)]
pub(crate) fn is_installed() -> Result<bool, String> {
    let version = Command::new(PROGRAM)
        .arg("--help")
        .stdout(Stdio::null())
        .status();
    let installed = version.is_ok_and(|status| status.success());
    if !installed {
        if std::env::var_os("CROSSFEED_REQUIRE_S3").is_some() {
            return Err(format!("{PROGRAM} is not installed"));
        }
        let _ = writeln!(std::io::stderr(), "skip: {PROGRAM} is not installed");
    }
    Ok(installed)
}

/// A server with a bucket, behind a proxy. It ends with this.
#[derive(Debug)]
pub(crate) struct S3 {
    child: Child,
    pub(crate) proxy: Proxy,
}

impl S3 {
    #[expect(clippy::disallowed_methods, reason = "tests start servers")]
    pub(crate) async fn start() -> Result<Self, String> {
        let port = free_port()?;
        let proxy = Proxy::start(port).await?;
        let child = Command::new(PROGRAM)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{PROGRAM}: {error}"))?;
        let server = Self { child, proxy };
        eventually("there is a bucket", || async {
            make_bucket(port).await.map_err(|error| error.to_string())
        })
        .await?;
        Ok(server)
    }

    /// Where processes find the bucket.
    pub(crate) fn blobs(&self) -> Blobs {
        let endpoint = format!("http://127.0.0.1:{}", self.proxy.port());
        let settings = [
            ("access_key_id", "AKIAIOSFODNN7EXAMPLE"),
            (
                "secret_access_key",
                "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            ),
            ("region", "us-east-1"),
            ("allow_http", "true"),
            ("endpoint", &endpoint),
        ];
        Blobs {
            url: format!("s3://{BUCKET}/history"),
            settings: settings
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        }
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        // A process that has ended is not an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn make_bucket(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!(
        "PUT /{BUCKET} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}
