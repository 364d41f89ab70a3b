//! Where results are kept.

use super::{check, toml};
use crate::config::{Durability, Secret, StoreConfig, StoreLocation};
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
    assert_eq!(redis.prefix, None);
    let prefixed = store("url = 'redis://a'\nprefix = 'team-a:x_1.0'");
    assert_eq!(prefixed.prefix.as_deref(), Some("team-a:x_1.0"));
    assert_eq!(redis.username.as_deref(), Some("ann"));
    let secret = || Some(Secret::Text("s3cret-s3cret-s3cret".to_owned()));
    assert_eq!(redis.password, secret());
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
    let path = |name: &str| PathBuf::from(format!("/etc/crossfeed/{name}"));
    assert_eq!(file.password, Some(Secret::File(path("secrets/redis"))));
    let guarded = store(
        "url = 'rediss+sentinel://a/main'\nsentinel_password = '${KEY}'\ntls_roots_file = 'ca.pem'\n\
         tls_certificate_file = 'me.pem'\ntls_key_file = '/me.key'\nblobs = 's3://bucket'\nblob_keys = '${KEY}'",
    );
    assert_eq!(guarded.sentinel_password, secret());
    assert_eq!(guarded.blob_keys, secret());
    assert_eq!(guarded.tls_roots, Some(path("ca.pem")));
    let identity = [path("me.pem"), PathBuf::from("/me.key")];
    assert_eq!(guarded.tls_identity, Some(identity));
    let shown = format!("{guarded:?} {:?}", guarded.blob_keys);
    assert!(!shown.contains("s3cret"), "{shown}");
    let files = store(
        "url = 'redis+sentinel://a/main'\nsentinel_password_file = 'x'\nblobs = 'file:///y'\nblob_keys_file = 'z'",
    );
    assert_eq!(files.sentinel_password, Some(Secret::File(path("x"))));
    assert_eq!(files.blob_keys, Some(Secret::File(path("z"))));
    let flushed = store("url = 'sqlite:x'\ndurability = 'flushed'").durability;
    assert_eq!(flushed, Some(Durability::Flushed));
}

#[test]
fn keys_of_ids_depend_on_no_store() {
    assert_eq!(toml(SERVERS).id_keys, None);
    let config = toml(&format!("id_keys = '${{KEY}}'\n{SERVERS}"));
    let secret = Secret::Text("s3cret-s3cret-s3cret".to_owned());
    assert_eq!(config.id_keys, Some(secret));
    assert!(!format!("{config:?}").contains("s3cret"));
    let config = toml(&format!("idKeysFile = 'ids.keys'\n{SERVERS}"));
    let path = PathBuf::from("/etc/crossfeed/ids.keys");
    assert_eq!(config.id_keys, Some(Secret::File(path)));
    let refused = |text: &str, expected: &[&str]| check(&format!("{text}\n{SERVERS}"), expected);
    refused(
        "idKeys = 's3cret'\nid_keys_file = 'x'",
        &["line 2, `idKeysFile`: `idKeys` is set, too: remove one of them"],
    );
    refused(
        "idKeysFile = ''",
        &["line 1, `idKeysFile`: the path is empty"],
    );
    refused(
        "idKey = 's3cret'",
        &["line 1, `idKey`: unknown key; did you mean `idKeys`?"],
    );
}

#[test]
fn a_prefix_is_a_part_of_keys() {
    let long = "x".repeat(65);
    for prefix in ["", "a b", "{a}", "é", &long] {
        let text = format!("url = 'redis://a'\nprefix = '{prefix}'");
        refused(
            &text,
            &["line 3, `store.prefix`: a prefix is 1 to 64 letters, digits and signs of `.:_-`"],
        );
    }
    refused(
        "url = 'sqlite:x'\nprefix = 'a'",
        &["line 3, `store.prefix`: only for a store on Redis"],
    );
}

#[test]
fn a_limit_that_redis_does_not_apply_is_refused() {
    let limits = "[limits]\nmemory_bytes = '64 MiB'\nsession_bytes = '16 MiB'\n";
    let text = |url: &str, more: &str| format!("[store]\nurl = '{url}'\n{SERVERS}{limits}{more}");
    check(
        &text("redis://a", "total_bytes = '32 MiB'"),
        &[
            "line 8, `limits.totalBytes`: a store on Redis does not apply it; leave it out, and write `tenantBytes` in `store`",
        ],
    );
    toml(&text("sqlite:x", "total_bytes = '32 MiB'"));
    // No part of one that is not there.
    let text = text("redis://a", "").replace("'16 MiB'", "'1 GiB'");
    assert_eq!(toml(&text).limits.session_bytes, 1 << 30);
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
            "line 4, `store.passwordFile`: `password` is set, too: remove one of them",
            "line 5, `store.blobSettings`: only for `blobs`, which are not there",
        ],
    );
    refused(
        "url = 'sqlite:x'\nsentinel_password = 's3cret'\ntls_roots_file = 'x'\nblob_keys = 's3cret'\nblob_settings = {}",
        &[
            "line 3, `store.sentinelPassword`: only for a store on Redis",
            "line 4, `store.tlsRootsFile`: only for a store on Redis",
            "line 5, `store.blobKeys`: only for a store on Redis",
            "line 6, `store.blobSettings`: only for a store on Redis",
        ],
    );
    refused(
        "url = 'redis://a'\nsentinel_password_file = 'x'\ntls_key_file = 'x'\nblob_keys_file = 'x'",
        &[
            "line 3, `store.sentinelPasswordFile`: only for a store behind sentinels, whose URL begins with \
             `redis+sentinel:`",
            "line 4, `store.tlsKeyFile`: only for a store over TLS, whose URL begins with `rediss`",
            "line 5, `store.blobKeysFile`: only for `blobs`, which are not there",
        ],
    );
    refused(
        "url = 'rediss://a'\ntls_key_file = 'x'",
        &["line 1, `store`: `tlsCertificateFile` is missing: a client's certificate has a key"],
    );
    refused(
        "url = 'redis://a'\nblobs = 's3://a'\nblob_keys = 's3cret'\nblob_keys_file = 'x'",
        &["line 5, `store.blobKeysFile`: `blobKeys` is set, too: remove one of them"],
    );
    refused(
        "url = 'redis://a'\ndurability = { replicas = 1, within = '61 s' }",
        &["line 3, `store.durability.within`: every write may wait for so long: at most `1 min`"],
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
