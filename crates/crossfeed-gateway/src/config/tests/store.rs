//! Where results are kept.

use super::{check, toml};
use crate::config::{Durability, StoreConfig, StoreLocation};
use std::{path::PathBuf, time::Duration};

const SERVERS: &str = "[mcpServers.a]\ncommand = 'x'\n";

fn store(text: &str) -> StoreConfig {
    toml(&format!("[store]\n{text}\n{SERVERS}")).store
}

fn refused(text: &str, expected: &[&str]) {
    check(&format!("[store]\n{text}\n{SERVERS}"), expected);
}

#[test]
fn a_store_is_read() {
    assert_eq!(toml(SERVERS).store.location, StoreLocation::Memory);
    let sqlite = |path: &str| StoreLocation::Sqlite(PathBuf::from(path));
    for (written, location) in [
        ("memory:", StoreLocation::Memory),
        ("sqlite:state", sqlite("/etc/crossfeed/state")),
        ("sqlite:/var/lib/x", sqlite("/var/lib/x")),
        ("sqlite:///var/lib/x", sqlite("/var/lib/x")),
        ("sqlite:${HOME}/x", sqlite("/users/ann/x")),
        (
            "rediss+cluster://${KEY}@a:1,b:2",
            StoreLocation::Redis("rediss+cluster://s3cret-s3cret-s3cret@a:1,b:2".to_owned()),
        ),
    ] {
        assert_eq!(store(&format!("url = '{written}'")).location, location);
    }
    let redis = store(
        "url = 'redis://a'\nusername = 'ann'\npassword = '${KEY}'\ntenant_bytes = '1 GiB'\ntenant_results = 10\n\
         blobs = 's3://bucket/x'\nblob_settings = { secret_access_key = '${KEY}' }\n\
         durability = { replicas = 2, within = '500 ms' }",
    );
    assert_eq!(redis.username.as_deref(), Some("ann"));
    assert_eq!(redis.password.as_deref(), Some("s3cret-s3cret-s3cret"));
    assert_eq!(redis.blobs.as_deref(), Some("s3://bucket/x"));
    let settings = redis.blob_settings.iter();
    let settings: Vec<_> = settings.map(|(k, v)| (&**k, &**v)).collect();
    assert_eq!(settings, [("secret_access_key", "s3cret-s3cret-s3cret")]);
    assert_eq!(
        (redis.tenant_bytes, redis.tenant_results),
        (Some(1 << 30), Some(10))
    );
    let Some(Durability::Replicas { number, within }) = redis.durability else {
        panic!("{redis:?}")
    };
    assert_eq!((number.get(), within), (2, Duration::from_millis(500)));
    assert!(!format!("{redis:?}").contains("s3cret"));
    let file = store("url = 'redis://a'\npassword_file = 'secrets/redis'");
    let path = PathBuf::from("/etc/crossfeed/secrets/redis");
    assert_eq!(file.password_file, Some(path));
    let flushed = store("url = 'sqlite:x'\ndurability = 'flushed'").durability;
    assert_eq!(flushed, Some(Durability::Flushed));
}

#[test]
fn what_is_no_store_is_refused() {
    refused(
        "",
        &["line 1, `store`: `url` is missing: where results are kept, like `sqlite:state`"],
    );
    refused(
        "url = 'sqlite'",
        &["line 2, `store.url`: not a URL: write `sqlite:DIR`, `redis://HOST` or `memory:`"],
    );
    refused(
        "url = 'redi://ann:s3cret@host'",
        &["line 2, `store.url`: unknown kind of store; did you mean `redis:`?"],
    );
    refused(
        "url = 'mongodb://s3cret@host'",
        &[
            "line 2, `store.url`: unknown kind of store; known are memory, sqlite, redis, rediss, redis+cluster, \
             rediss+cluster, redis+sentinel, rediss+sentinel",
        ],
    );
    refused(
        "url = 'sqlite:'",
        &["line 2, `store.url`: the path is empty"],
    );
    refused(
        "url = 'memory:x'",
        &["line 2, `store.url`: `memory:` has nothing behind it"],
    );
    refused(
        "url = 'sqlite:x'\npassword = 's3cret'\nblobs = 's3://x'\ndurability = 'primary'",
        &[
            "line 3, `store.password`: only for a store on Redis",
            "line 4, `store.blobs`: only for a store on Redis",
            "line 5, `store.durability`: expected \"process\" or \"flushed\"",
        ],
    );
    refused(
        "url = 'redis://a'\npassword = 's3cret'\npassword_file = 'x'\nblob_settings = { a = 'b' }",
        &[
            "line 4, `store.passwordFile`: there is a `password`, too: remove one of them",
            "line 5, `store.blobSettings`: there are no `blobs` that it is for",
        ],
    );
    refused(
        "url = 'redis://a'\nblobs = 's3cret'\ndurability = { replica = 1 }",
        &[
            "line 3, `store.blobs`: not a URL: write one like `s3://bucket/prefix`",
            "line 4, `store.durability`: `replicas` is missing",
            "line 4, `store.durability.replica`: unknown key; did you mean `replicas`?",
        ],
    );
    refused(
        "url = 'memory:'\ndurability = 'process'",
        &["line 3, `store.durability`: only for a store that outlives the process"],
    );
    refused(
        "url = 'memory:'\nurls = 1",
        &["line 3, `store.urls`: unknown key; did you mean `url`?"],
    );
}
