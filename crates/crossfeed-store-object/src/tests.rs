//! Tests of the whole crate: on memory, on a directory, and on a server of the S3 protocol.

mod crash;
mod damage;
mod faults;
mod proxy;
mod s3;
mod settings;

use crate::{KeyRing, ObjectBlobs, ObjectOptions, TenantKey};
use bytes::Bytes;
use crossfeed_store::{BlobName, BlobStore, Digest, StoreError, conformance};
use crossfeed_wire::Scope;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A directory that goes with the test.
struct TestDirectory(PathBuf);

impl TestDirectory {
    fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("crossfeed-object-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn url(&self) -> String {
        url_of(&self.0)
    }

    /// All files, hidden ones included.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut directories = vec![self.0.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    files.push(path);
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn url_of(path: &Path) -> String {
    reqwest::Url::from_file_path(path).unwrap().to_string()
}

fn open(url: &str) -> ObjectBlobs {
    ObjectBlobs::from_url(url, ObjectOptions::default()).unwrap()
}

fn scope() -> Scope {
    Scope::parse("tenant", "project", "session").unwrap()
}

fn key(id: &str, byte: u8) -> TenantKey {
    TenantKey::new(id, [byte; TenantKey::BYTES]).unwrap()
}

/// Keys for every tenant that tests have.
fn keys() -> Arc<KeyRing> {
    let tenants = ["tenant", "other", "t", "u"];
    let ring = tenants.iter().zip(1..);
    Arc::new(ring.fold(KeyRing::default(), |ring, (tenant, byte)| {
        ring.with_key(*tenant, key("k1", byte))
    }))
}

fn sealed(options: ObjectOptions) -> ObjectOptions {
    options.with_keys(keys())
}

fn name(bytes: &[u8]) -> BlobName {
    BlobName::new(&scope(), Digest::of(bytes), 1)
}

async fn put(blobs: &dyn BlobStore, bytes: &Bytes) -> BlobName {
    let name = name(bytes);
    blobs.put(&scope(), &name, bytes.clone()).await.unwrap();
    name
}

fn is_damaged<T>(outcome: &Result<Option<T>, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::DamagedBlob))
}

async fn conform(make: impl Fn() -> ObjectBlobs) {
    conformance::run_blobs(async || Arc::new(make()) as Arc<dyn BlobStore>).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_conforms() {
    conform(|| open("memory:")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_store_of_the_callers_conforms() {
    conform(|| {
        let store = Arc::new(object_store::memory::InMemory::new());
        ObjectBlobs::new(store, "some prefix/100%".into(), ObjectOptions::default())
    })
    .await;
}

/// What does not write large blobs several times: encryption that is not optimised is slow.
#[tokio::test(flavor = "multi_thread")]
async fn encrypted_blobs_conform() {
    let blobs = || ObjectBlobs::from_url("memory:", sealed(ObjectOptions::default())).unwrap();
    conformance::a_blob_is_found_as_it_was(&blobs()).await;
    conformance::the_same_blob_again_changes_nothing(&blobs()).await;
    conformance::blobs_of_the_same_bytes_are_apart(&blobs()).await;
    conformance::no_scope_reaches_another_ones_blob(&blobs()).await;
    conformance::blobs_are_listed_in_order_by_pages(&blobs()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_conforms() {
    let directories: Vec<_> = (0..20).map(|_| TestDirectory::new()).collect();
    let next = AtomicUsize::new(0);
    conform(|| open(&directories[next.fetch_add(1, Ordering::Relaxed)].url())).await;
    for directory in &directories {
        for file in directory.files() {
            let is_temporary = file.to_string_lossy().contains('#');
            assert!(!is_temporary, "{file:?} was left by a dropped `put`");
        }
    }
}

#[tokio::test]
async fn what_a_probe_finds_is_told() {
    let directory = TestDirectory::new();
    let report = open(&directory.url()).probe().await.unwrap();
    let told = report.to_string();
    assert!(
        told.starts_with(&format!("{}: an object was written (", directory.url())),
        "{told}"
    );
    assert_eq!(directory.files(), [] as [PathBuf; 0]);
}

/// The first object of all versions: nothing that is written from now on may look otherwise to them.
#[tokio::test]
async fn objects_lie_where_they_are_expected() {
    let directory = TestDirectory::new();
    let blobs = open(&directory.url());
    let name = put(&blobs, &"abc".into()).await;
    let expected = format!(
        "v1/{}/{}/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad-0000000000000001",
        name.tenant(),
        name.session()
    );
    let path = directory.0.join(expected);
    assert_eq!(
        fs::read(&path).unwrap(),
        b"\x89XFBLOB\n\x01\0\x14\0\x03\0\0\0\0\0\0\0abc"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(directory.0.join("v1"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "only the owner may enter");
    }
}
