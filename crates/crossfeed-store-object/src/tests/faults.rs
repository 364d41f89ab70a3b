//! Backends that are away, slow, full, or say no.

use super::{
    TestDirectory, name, open,
    proxy::{Mode, Proxy, answer, canned},
    put,
    s3::{SECRET, blobs, unused_address},
    scope,
};
use crate::{
    ObjectBlobs, ObjectOptions, OpenError,
    failure::{Request, is_absent, store_error},
};
use crossfeed_store::{BlobStore, StoreError, with_causes};
use std::{
    fs, io,
    time::{Duration, Instant},
};

fn options() -> ObjectOptions {
    ObjectOptions::default().with_timeout(Duration::from_secs(1))
}

/// What each request came to.
async fn outcomes(blobs: &ObjectBlobs) -> [Result<(), StoreError>; 4] {
    let (name, scope) = (name(b"x"), scope());
    [
        blobs.put(&scope, &name, "x".into()).await,
        blobs.get(&scope, &name).await.map(drop),
        blobs.list_old(Duration::ZERO, None, 1).await.map(drop),
        blobs.remove(&[name]).await,
    ]
}

/// The errors of a server that gives the same answer to everything.
async fn refusals(status: &'static str, body: &'static str) -> Vec<StoreError> {
    let (address, server) = canned(move |_| answer(status, body)).await;
    let blobs = blobs(address, "bucket", options().with_retries(1));
    let outcomes = outcomes(&blobs).await;
    server.abort();
    let errors = outcomes.map(Result::unwrap_err);
    for error in &errors {
        let told = format!("{} {error:?}", with_causes(error));
        assert!(
            !told.contains("private") && !told.contains(SECRET),
            "{told}"
        );
    }
    errors.into()
}

#[tokio::test]
async fn answers_of_servers_are_understood() {
    for (status, body, retry, told) in [
        (
            "403 Forbidden",
            "<Error><Code>AccessDenied</Code><Message>private</Message></Error>",
            false,
            "HTTP status 403 (AccessDenied): the credentials must permit to read,",
        ),
        (
            "403 Forbidden",
            "<Error><Code>RequestTimeTooSkewed</Code></Error>",
            false,
            "(RequestTimeTooSkewed): set this machine's clock",
        ),
        (
            "401 Unauthorized",
            "private",
            false,
            "HTTP status 401: the credentials must",
        ),
        (
            "404 Not Found",
            "<Error><Code>NoSuchBucket</Code></Error>",
            false,
            "HTTP status 404 (NoSuchBucket): there is no such bucket",
        ),
        (
            "404 Not Found",
            "<html>private</html>",
            false,
            "HTTP status 404",
        ),
        ("400 Bad Request", "private", false, "HTTP status 400"),
        (
            "301 Moved Permanently",
            "private",
            false,
            "check the settings `region` and `endpoint`",
        ),
        ("429 Too Many Requests", "private", true, "HTTP status 429"),
        (
            "500 Internal Server Error",
            "private",
            true,
            "HTTP status 500",
        ),
        (
            "503 Slow Down",
            "<Error><Code>SlowDown</Code></Error>",
            true,
            "HTTP status 503 (SlowDown)",
        ),
    ] {
        for error in refusals(status, body).await {
            let text = with_causes(&error);
            assert!(text.contains(told), "{text}");
            let is_expected =
                matches!(error, StoreError::Unavailable { retry: r, .. } if r == retry);
            assert!(is_expected, "{status}: {error:?}");
        }
    }
    for (status, body) in [
        (
            "507 Insufficient Storage",
            "<Error><Code>XMinioStorageFull</Code></Error>",
        ),
        ("403 Forbidden", "<Error><Code>QuotaExceeded</Code></Error>"),
    ] {
        for error in refusals(status, body).await {
            assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
        }
    }
    for body in ["", "private", "<ListBucketResult><private"] {
        let (address, server) = canned(move |_| answer("200 OK", body)).await;
        let [_, get, list, remove] = outcomes(&blobs(address, "bucket", options())).await;
        server.abort();
        for outcome in [get, list, remove] {
            let error = outcome.unwrap_err();
            assert!(
                !format!("{} {error:?}", with_causes(&error)).contains("private"),
                "{error:?}"
            );
        }
    }
}

#[tokio::test]
async fn no_object_is_no_error() {
    let body = "<Error><Code>NoSuchKey</Code></Error>";
    let (address, server) = canned(move |_| answer("404 Not Found", body)).await;
    let found = blobs(address, "bucket", options())
        .get(&scope(), &name(b"x"))
        .await;
    assert_eq!(found.unwrap(), None);
    server.abort();
}

#[tokio::test]
async fn a_removal_that_fails_in_part_is_an_error() {
    let kept = format!("v1/{}", crate::name::encode(&name(b"kept")));
    let body = format!(
        "<DeleteResult><Error><Key>{kept}</Key><Code>AccessDenied</Code><Message>private</Message></Error></DeleteResult>"
    );
    let (address, server) = canned(move |_| answer("200 OK", &body)).await;
    let blobs = blobs(address, "bucket", options());
    let error = blobs
        .remove(&[name(b"gone"), name(b"kept")])
        .await
        .unwrap_err();
    server.abort();
    let told = with_causes(&error);
    assert!(
        told.contains("removing objects (1 of 2 have gone) failed: AccessDenied"),
        "{told}"
    );
    assert!(!told.contains("private") && !error.may_retry(), "{told}");
}

#[tokio::test]
async fn a_server_that_is_away_is_an_error_that_may_pass() {
    let blobs = blobs(unused_address(), "bucket", options());
    for outcome in outcomes(&blobs).await {
        let error = outcome.unwrap_err();
        assert!(error.may_retry(), "{error:?}");
        assert!(
            with_causes(&error).contains("Connection refused"),
            "{}",
            with_causes(&error)
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let (address, server) = canned(|_| answer("200 OK", &"x".repeat(3000))).await;
    for mode in [Mode::Stall, Mode::Drip] {
        let proxy = Proxy::to(address).await;
        proxy.set(mode);
        let blobs = blobs(proxy.address, "bucket", options());
        let began = Instant::now();
        let error = blobs.get(&scope(), &name(b"x")).await.unwrap_err();
        assert!(
            began.elapsed() < Duration::from_secs(3),
            "{:?}",
            began.elapsed()
        );
        assert!(matches!(mode, Mode::Drip) || error.may_retry(), "{error:?}");
    }
    server.abort();
}

#[tokio::test]
async fn a_directory_that_is_gone_is_an_error() {
    let directory = TestDirectory::new();
    let blobs = open(&directory.url());
    put(&blobs, &"x".into()).await;
    fs::remove_dir_all(directory.0.join("v1")).unwrap();
    for outcome in outcomes(&blobs).await {
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert!(with_causes(&error).contains("the directory is not there any more"));
    }
    assert!(
        !directory.0.join("v1").exists(),
        "nothing is made where a disk is not mounted"
    );
}

#[tokio::test]
async fn a_directory_that_was_used_is_not_made_again() {
    let directory = TestDirectory::new();
    let open = || ObjectBlobs::from_url(&directory.url(), options().with_must_exist(true));
    assert!(matches!(open().unwrap_err(), OpenError::Absent));
    assert!(!directory.0.join("v1").exists());
    put(&super::open(&directory.url()), &"x".into()).await;
    open().unwrap();
}

#[test]
fn errors_of_disks_are_understood() {
    let of = |request, kind: io::ErrorKind| {
        let error = object_store::Error::Generic {
            store: "test",
            source: Box::new(io::Error::from(kind)),
        };
        assert!(!is_absent(&error));
        store_error(request, &error)
    };
    use io::ErrorKind as Kind;
    for kind in [Kind::StorageFull, Kind::QuotaExceeded] {
        assert!(matches!(
            of(Request::Write, kind),
            StoreError::NoSpace { .. }
        ));
    }
    for kind in [Kind::PermissionDenied, Kind::ReadOnlyFilesystem] {
        assert!(matches!(
            of(Request::Write, kind),
            StoreError::ReadOnly { .. }
        ));
    }
    let denied = of(Request::Read, Kind::PermissionDenied);
    assert!(matches!(
        denied,
        StoreError::Unavailable { retry: false, .. }
    ));
    let gone = of(Request::Write, Kind::NotFound);
    assert!(matches!(gone, StoreError::Unavailable { retry: true, .. }));
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let directory = TestDirectory::new();
    fs::write(directory.0.join("file"), "").unwrap();
    let url = format!("{}/file/x", directory.url());
    let opened = ObjectBlobs::from_url(&url, ObjectOptions::default());
    assert!(matches!(opened, Err(OpenError::Directory(_))));
}
