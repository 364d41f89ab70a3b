//! Servers over TLS, with an authority of their own.

use crate::faults::{call, holds, scope, text};
use crossfeed_redis_servers::{Server, free_port, is_installed};
use crossfeed_store::{ResultStore as _, StoreError};
use crossfeed_store_redis::{RedisOptions, RedisStore, TlsIdentity};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A directory with an authority and a server's certificate, made by `openssl`; nothing where that is not installed.
struct Certificates(PathBuf);

impl Certificates {
    #[expect(clippy::disallowed_methods, reason = "tests make certificates")]
    fn make(of: &str) -> Option<Self> {
        let name = format!("crossfeed-redis-tls-{}-{of}", std::process::id());
        let made = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&made.0).unwrap();
        std::fs::write(
            made.0.join("names"),
            "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n",
        )
        .unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        for arguments in [
            format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"),
            format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"),
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile names".to_owned(),
            format!("req {key} -keyout client.key -out client.csr -subj /CN=client"),
            "x509 -req -in client.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out client.pem -days 2 -extfile names".to_owned(),
        ] {
            let mut command = Command::new("openssl");
            command.args(arguments.split(' ')).current_dir(&made.0).stdout(Stdio::null()).stderr(Stdio::null());
            if !command.status().is_ok_and(|status| status.success()) {
                return None;
            }
        }
        Some(made)
    }

    fn path(&self, name: &str) -> String {
        Path::join(&self.0, name).to_str().unwrap().to_owned()
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server over TLS, its port, and what it shows; nothing where it cannot be made.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
async fn server(authenticates: &str) -> Option<(Server, u16, Certificates)> {
    if !is_installed() {
        return None;
    }
    let Some(certificates) = Certificates::make(authenticates) else {
        eprintln!("skip: openssl is not installed");
        return None;
    };
    let port = free_port().unwrap();
    let [key, certificate, authority] =
        ["server.key", "server.pem", "ca.pem"].map(|name| certificates.path(name));
    let server = Server::start(&[
        "--tls-port",
        &port.to_string(),
        "--tls-key-file",
        &key,
        "--tls-cert-file",
        &certificate,
        "--tls-ca-cert-file",
        &authority,
        "--tls-auth-clients",
        authenticates,
    ])
    .await
    .unwrap();
    Some((server, port, certificates))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_shows_its_certificate() {
    let Some((_server, port, certificates)) = server("yes").await else {
        return;
    };
    let read = |name| std::fs::read(certificates.path(name)).unwrap();
    let options = RedisOptions::from_url(&format!("rediss://localhost:{port}")).unwrap();
    let options = options.with_tls_roots(read("ca.pem"));
    let refused = RedisStore::connect(options.clone()).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable { .. })),
        "{refused:?}"
    );
    let identity = TlsIdentity::new(read("client.pem"), read("client.key"));
    let options = options.with_tls_identity(identity);
    let shown = format!("{options:?} {:?}", options.tls_identity);
    assert!(!shown.contains("PRIVATE"), "{shown}");
    let store = RedisStore::connect(options.clone().with_cache_bytes(0)).await;
    let store = store.unwrap();
    store.put(&scope(), &call("c1"), text("one")).await.unwrap();
    holds(&store, "c1", "one").await;

    let nonsense = TlsIdentity::new(read("client.pem"), "s3cret");
    let nonsense = RedisStore::connect(options.with_tls_identity(nonsense)).await;
    let error = format!("{:?}", nonsense.unwrap_err());
    assert!(!error.contains("s3cret"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_trusted_only_by_its_authority() {
    let Some((_server, port, certificates)) = server("no").await else {
        return;
    };
    let authority = certificates.path("ca.pem");
    let options = RedisOptions::from_url(&format!("rediss://localhost:{port}")).unwrap();
    let refused = RedisStore::connect(options.clone()).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable { .. })),
        "{refused:?}"
    );
    let trusted = options
        .with_tls_roots(std::fs::read(&authority).unwrap())
        .with_cache_bytes(0);
    let store = RedisStore::connect(trusted).await.unwrap();
    let large = "x".repeat(300_000);
    store
        .put(&scope(), &call("c1"), text(large.clone()))
        .await
        .unwrap();
    holds(&store, "c1", &large).await;

    let options = RedisOptions::from_url(&format!("rediss://localhost:{port}")).unwrap();
    let nonsense = RedisStore::connect(options.with_tls_roots("-----BEGIN CERTIFICATE-----")).await;
    assert!(nonsense.is_err(), "{nonsense:?}");
}
