//! A server of the S3 protocol: `moto_server`, of the Python package `moto[server]`. Without it, its tests are left out,
//! and say so; where `CROSSFEED_REQUIRE_S3` is set, they fail instead.

use super::{
    conform, name,
    proxy::{Mode, Proxy},
    put, scope, sealed,
};
use crate::{ObjectBlobs, ObjectOptions};
use bytes::Bytes;
use crossfeed_store::{BlobName, BlobStore, Digest, StoreError, with_causes};
use futures_util::future::join_all;
use object_store::ObjectStoreExt;
use std::{
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

const PROGRAM: &str = "moto_server";
const BUCKET: &str = "bucket";

/// A server of one test.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts a server and makes a bucket; `None` if there is no such program.
    #[expect(
        clippy::disallowed_methods,
        reason = "the test starts the server, and whoever runs the tests says whether it has to be there"
    )]
    async fn start() -> Option<Self> {
        let address = unused_address();
        let child = Command::new(PROGRAM)
            .args(["-H", "127.0.0.1", "-p", &address.port().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            let is_required = std::env::var_os("CROSSFEED_REQUIRE_S3").is_some();
            assert!(
                !is_required,
                "CROSSFEED_REQUIRE_S3 is set, but there is no `{PROGRAM}`"
            );
            let note = format!("SKIPPED: no `{PROGRAM}`: pip install 'moto[server]'\n");
            std::io::stderr().write_all(note.as_bytes()).unwrap();
            return None;
        };
        let server = Self { child, address };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "`{PROGRAM}` does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        server.request(reqwest::Method::PUT, BUCKET).await;
        Some(server)
    }

    async fn request(&self, method: reqwest::Method, path: &str) -> String {
        let url = format!("http://{}/{path}", self.address);
        let request = client().request(method, url).body("");
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success());
        answer.text().await.unwrap()
    }

    fn blobs(&self, options: ObjectOptions) -> ObjectBlobs {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        blobs(self.address, &format!("{BUCKET}/prefix/{number}"), options)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client without TLS.
fn client() -> reqwest::Client {
    let tls = rustls::ClientConfig::builder_with_provider(
        rustls::crypto::ring::default_provider().into(),
    )
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_root_certificates(rustls::RootCertStore::empty())
    .with_no_client_auth();
    let builder = reqwest::Client::builder().no_proxy();
    builder.tls_backend_preconfigured(tls).build().unwrap()
}

/// An address on which nobody listens.
pub(super) fn unused_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

pub(super) const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// A bucket at this address.
pub(super) fn blobs(address: SocketAddr, place: &str, options: ObjectOptions) -> ObjectBlobs {
    let endpoint = format!("http://{address}");
    let settings = [
        ("access_key_id", "AKIAIOSFODNN7EXAMPLE"),
        ("secret_access_key", SECRET),
        ("region", "us-east-1"),
        ("allow_http", "true"),
        ("endpoint", &endpoint),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = options.with_settings(settings.into());
    ObjectBlobs::from_url(&format!("s3://{place}"), options).unwrap()
}

fn large() -> Bytes {
    (0..(9 << 20) + 5).map(|at| (at >> 4) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_conforms() {
    let Some(server) = Server::start().await else {
        return;
    };
    conform(|| server.blobs(ObjectOptions::default())).await;
    let report = server
        .blobs(ObjectOptions::default())
        .probe()
        .await
        .unwrap();
    assert!(report.place.starts_with("s3://bucket/prefix/"));

    let blobs = server.blobs(sealed(ObjectOptions::default()));
    let name = put(&blobs, &large()).await;
    assert!(blobs.get(&scope(), &name).await.unwrap() == Some(large()));
    blobs.probe().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_was_cut_is_damaged() {
    let Some(server) = Server::start().await else {
        return;
    };
    let blobs = server.blobs(ObjectOptions::default());
    let bytes = large();
    let name = BlobName::new(&scope(), Digest::of(&bytes), 1);
    blobs.put(&scope(), &name, bytes.clone()).await.unwrap();
    let path = blobs.path(&crate::name::encode(&name));
    let whole = blobs.store().get(&path).await.unwrap();
    let whole = whole.bytes().await.unwrap();
    // Read in one request, in one near the end, and in two.
    let end = bytes.len();
    let first = vec![0..5, 100_000..100_005];
    let last = vec![end - 200_000..end - 199_995, end - 5..end];
    let all = [&first[..], &last[..]].concat();
    for ranges in [first, last, all] {
        let needed = ranges.last().map_or(0, |range| range.end);
        for left in [0, 7, 100, needed / 2, needed - 1] {
            let cut = whole.slice(..left).into();
            blobs.store().put(&path, cut).await.unwrap();
            let read = blobs
                .get_ranges(&scope(), &name, bytes.len(), &ranges)
                .await;
            let is_damaged = matches!(read, Err(StoreError::DamagedBlob));
            assert!(is_damaged, "{left} bytes: {read:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_removes_in_bulk() {
    let Some(server) = Server::start().await else {
        return;
    };
    let blobs = server.blobs(ObjectOptions::default());
    let bytes = Bytes::from_static(b"x");
    let names: Vec<_> = (0..1200)
        .map(|token| BlobName::new(&scope(), Digest::of(&bytes), token))
        .collect();
    for name in names.iter().step_by(10) {
        blobs.put(&scope(), name, bytes.clone()).await.unwrap();
    }
    let listed = blobs.list_old(Duration::ZERO, None, 1000).await.unwrap();
    assert_eq!(listed.len(), 120);
    blobs.remove(&names).await.unwrap();
    assert_eq!(blobs.list_old(Duration::ZERO, None, 10).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_was_dropped_is_given_up() {
    let Some(server) = Server::start().await else {
        return;
    };
    let blobs = server.blobs(ObjectOptions::default());
    let uploads = || async {
        let listed = server.request(reqwest::Method::GET, "bucket?uploads").await;
        listed.matches("<Upload>").count()
    };
    let (name, scope) = (name(&large()), scope());
    let mut begun = 0;
    for millis in [5, 10, 20, 40, 80] {
        let write = blobs.put(&scope, &name, large());
        let _ = tokio::time::timeout(Duration::from_millis(millis), write).await;
        begun += uploads().await;
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while uploads().await > 0 {
        assert!(Instant::now() < deadline, "of {begun} uploads one stays");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(begun > 0, "no upload was seen under way");
    let found = blobs.get(&scope, &name).await.unwrap();
    assert!(found.is_none_or(|found| found == large()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_is_not_there_is_an_error() {
    let Some(server) = Server::start().await else {
        return;
    };
    let blobs = blobs(server.address, "no-such-bucket", ObjectOptions::default());
    let (name, scope) = (name(b"x"), scope());
    let large_name = self::name(&large());
    for outcome in [
        blobs.get(&scope, &name).await.map(drop),
        blobs.put(&scope, &name, "x".into()).await,
        blobs.put(&scope, &large_name, large()).await,
        blobs.remove(&[name]).await,
        blobs.list_old(Duration::ZERO, None, 1).await.map(drop),
        blobs.probe().await.map(drop),
    ] {
        let error = outcome.unwrap_err();
        let told = with_causes(&error);
        assert!(
            told.contains("there is no such bucket or container"),
            "{told}"
        );
        assert!(
            matches!(error, StoreError::Unavailable { retry: false, .. }),
            "{told}"
        );
    }
}

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// What a writer has written, and whether that was acknowledged.
type Written = Vec<(BlobName, Bytes, bool)>;

/// Writes and reads blobs whose tokens begin with a number of its own. What is read meanwhile must be right, and every
/// request ends in time.
async fn write_and_read(blobs: &ObjectBlobs, writer: u64, timeout: Duration) -> Written {
    let (mut dice, scope) = (Dice(writer + 24), scope());
    let mut all = Vec::new();
    for token in (0..20).map(|number| writer << 32 | number) {
        let length = [10, 1000, 100_000, 1 << 20][dice.throw(4)];
        let seed = token as u8 ^ writer as u8;
        let bytes: Bytes = (0..length).map(|at| (at >> 2) as u8 ^ seed).collect();
        let name = BlobName::new(&scope, Digest::of(&bytes), token);
        let began = Instant::now();
        let written = blobs.put(&scope, &name, bytes.clone()).await;
        let found = blobs.get(&scope, &name).await;
        let took = began.elapsed();
        let most = 4 * timeout + Duration::from_secs(4);
        assert!(took < most, "two requests took {took:?}");
        match &found {
            Ok(Some(found)) => assert!(*found == bytes, "other bytes were read"),
            Ok(None) => assert!(written.is_err(), "an acknowledged blob is missing"),
            Err(error) => assert!(error.may_retry(), "{}", with_causes(error)),
        }
        if let Err(error) = &written {
            assert!(error.may_retry(), "{}", with_causes(error));
        }
        all.push((name, bytes, written.is_ok()));
    }
    all
}

/// What was acknowledged is whole, and what was not is whole or not there, whatever happens to connections.
#[tokio::test(flavor = "multi_thread")]
async fn no_fault_of_the_network_loses_or_changes_a_blob() {
    let Some(server) = Server::start().await else {
        return;
    };
    let proxy = Proxy::to(server.address).await;
    let timeout = Duration::from_millis(600);
    let place = format!("{BUCKET}/faults");
    let options = ObjectOptions::default;
    let harmed = blobs(proxy.address, &place, options().with_timeout(timeout));
    let mut dice = Dice(1);
    let mut faults = 0;
    let harm = async {
        loop {
            let at = dice.throw(120_000);
            proxy.set(match dice.throw(8) {
                0 => Mode::Stall,
                1 | 2 => Mode::CutAnswers(at),
                3 | 4 => Mode::CutRequests(at),
                5 => Mode::Drip,
                _ => Mode::Pass,
            });
            faults += 1;
            tokio::time::sleep(Duration::from_millis(dice.throw(300) as u64)).await;
        }
    };
    let writers = join_all((0..4).map(|writer| write_and_read(&harmed, writer, timeout)));
    let written = tokio::select! {
        written = writers => written.concat(),
        () = harm => Vec::new(),
    };
    let direct = blobs(server.address, &place, options());
    let mut acknowledged = 0;
    for (name, bytes, was_acknowledged) in &written {
        acknowledged += usize::from(*was_acknowledged);
        match direct.get(&scope(), name).await.unwrap() {
            Some(found) => assert!(found == *bytes, "other bytes are kept"),
            None => assert!(!was_acknowledged, "an acknowledged blob was lost"),
        }
    }
    let all = written.len();
    let counts =
        format!("{faults} changes of the network, {all} writes, {acknowledged} acknowledged\n");
    std::io::stderr().write_all(counts.as_bytes()).unwrap();
    assert!(acknowledged > 10 && acknowledged < all, "{counts}");
}
