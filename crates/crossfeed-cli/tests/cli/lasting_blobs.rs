//! A gateway with its store on a Redis server, which the test starts, and large results in a directory.

use super::{
    Run, check_usage, file,
    lasting::{ECHO, Listening, TOKENS, directory, echo, headers},
    run,
};
use crossfeed_redis_servers::{Server, is_installed};
use serde_json::json;
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    time::Instant,
};

/// What the tool of the echoing server does with its calls, and what comes before it: a large result for who asks for it.
const ANSWERS: &str = r#"    *'"tools/call"'*)"#;
const LARGE: &str = r#"    *'"text":"large"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
      cat "$1"
      printf '"}]}}\n' ;;
"#;

const KEYS: [&str; 2] = [
    "key-one AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
    "key-two //////////////////////////////////////////8=\n",
];

/// What stands at the end of a large result.
const NEEDLE: &str = "a-needle-in-a-haystack";

/// A configuration with large results in a directory of this name, and more keys of the store.
fn configuration(name: &str, url: &str, more: &str) -> (String, PathBuf) {
    let blobs = directory(name);
    let server = ECHO.replacen(ANSWERS, &format!("{LARGE}{ANSWERS}"), 1);
    let script = file("lasting-blobs.sh", &server);
    let items = r#"{\"name\":\"hay\"},"#.repeat(20_000);
    let large = format!(r#"{{\"items\":[{items}{{\"name\":\"{NEEDLE}\"}}]}}"#);
    let large = file("lasting-blobs.json", &large);
    let place = blobs.display();
    let text = format!(
        "{TOKENS}args = ['{script}', '{large}']\n[store]\nurl = '{url}'\nblobs = 'file://{place}'\n{more}\n"
    );
    (file(&format!("{name}.toml"), &text), blobs)
}

/// The large objects.
fn objects(directory: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(objects(&path));
        } else {
            found.push(fs::read(&path).unwrap());
        }
    }
    found.retain(|object| object.len() > 256 << 10);
    found
}

fn holds(object: &[u8], text: &str) -> bool {
    object
        .windows(text.len())
        .any(|bytes| bytes == text.as_bytes())
}

fn metrics(gateway: &Listening) -> String {
    let (host, _) = gateway.address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let headers = headers("ann", None);
    let request =
        format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn large(gateway: &Listening, session: &str) {
    let (status, answer) = gateway.call("ann", session, &json!("large"));
    assert!(status == 200 && answer.contains("call_"), "{answer}");
}

/// What is said of the end of a large result.
fn end(gateway: &Listening, session: &str, call: &str) -> String {
    let reference = json!({"$tool": call, "$select": "items[-1].name"});
    gateway.call("ann", session, &reference).1
}

#[tokio::test]
async fn large_results_survive_a_kill_in_the_clear() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let (config, blobs) = configuration("lasting-blobs-clear", &server.url(), "");
    tokio::task::spawn_blocking(move || {
        let checked = run(&["gateway", "--check", "--config", &config], "");
        assert_eq!(checked.status, 0, "{checked:?}");
        assert!(checked.out.contains(" ms); not encrypted\n"), "{checked:?}");
        let before = Listening::of(&["--config", &config]);
        let session = before.begin("ann");
        large(&before, &session);
        let there = objects(&blobs);
        assert!(there.len() == 1 && holds(&there[0], NEEDLE));
        let counted = metrics(&before);
        for line in [
            "\ncrossfeed_store_operation_duration_seconds_count{operation=\"put\"} 1\n",
            "\ncrossfeed_store_operation_duration_seconds_count{operation=\"put_blob\"} 1\n",
            "\ncrossfeed_store_failures_total{operation=\"put_blob\"} 0\n",
            "\ncrossfeed_store_lost_leases_total 0\n",
        ] {
            assert!(counted.contains(line), "{line}{counted}");
        }
        drop(before);
        let after = Listening::of(&["--config", &config]);
        let answer = end(&after, &session, "call_1");
        assert!(answer.contains(&format!("heard {NEEDLE}")), "{answer}");
        let counted = metrics(&after);
        for line in [
            "\ncrossfeed_store_operation_duration_seconds_count{operation=\"get_blob\"} 1\n",
            "\ncrossfeed_store_cache_lookups_total{outcome=\"miss\"} 1\n",
        ] {
            assert!(counted.contains(line), "{line}{counted}");
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn large_results_are_encrypted_with_keys_that_rotate() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let write = |text: &str| file("lasting-blobs.keys", text);
    let keys = write(KEYS[0]);
    let more = format!("blob_keys_file = '{keys}'");
    let (config, blobs) = configuration("lasting-blobs-keys", &server.url(), &more);
    tokio::task::spawn_blocking(move || {
        let start = || Listening::of(&["--config", &config]);
        let check = || run(&["gateway", "--check", "--config", &config], "");
        let checked = check();
        let says = " ms); encrypted with the key `key-one`\n";
        assert!(
            checked.status == 0 && checked.out.contains(says),
            "{checked:?}"
        );
        let first = start();
        let session = first.begin("ann");
        large(&first, &session);
        drop(first);

        write(&[KEYS[1], KEYS[0]].concat());
        let says = " ms); encrypted with the key `key-two`, read also with `key-one`\n";
        let checked = check();
        assert!(
            checked.status == 0 && checked.out.contains(says),
            "{checked:?}"
        );
        let second = start();
        let answer = end(&second, &session, "call_1");
        assert!(answer.contains(&format!("heard {NEEDLE}")), "{answer}");
        let (_, answer) = second.call("ann", &session, &json!("large"));
        let call = format!("call_{}", super::lasting::number(&answer));
        drop(second);
        let there = objects(&blobs);
        assert_eq!(there.len(), 2);
        assert!(!there.iter().any(|object| holds(object, NEEDLE)));
        let by = |id| there.iter().filter(|object| holds(object, id)).count();
        assert_eq!((by("key-one"), by("key-two")), (1, 1));

        // An earlier one that is taken away too early.
        write(KEYS[1]);
        let third = start();
        let answer = end(&third, &session, "call_1");
        assert!(answer.contains("store.unavailable"), "{answer}");
        let answer = end(&third, &session, &call);
        assert!(answer.contains(&format!("heard {NEEDLE}")), "{answer}");
        drop(third);

        let refused = |says: &str| {
            let says = format!("`store.blobKeys{says}");
            check_usage(&["gateway", "--config", &config], "", &says);
            let Run { status, out, .. } = check();
            assert_eq!(status, 1, "{out}");
            assert!(out.contains(&format!("error: store: {says}")), "{out}");
            assert!(!out.contains("s3cret"), "{out}");
        };
        write(KEYS[0]);
        refused("`: the key `key-two`, which encrypted large data last, is missing: add it");
        write("key-one s3cret\n");
        refused(&format!(
            "File`: `{keys}`: line 1 is not a key: write an id and a key"
        ));
        write("");
        refused("File`: it is empty: leave the key out for none");
        fs::remove_file(&keys).unwrap();
        refused(&format!("File`: cannot read `{keys}`: "));
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, text.replace("blob_keys_file", "# ")).unwrap();
        refused("`: the key `key-two`, which encrypted large data last, is missing: add it");
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_gateway_does_not_begin_anew_where_a_disk_is_not_mounted() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let (config, blobs) = configuration("lasting-unmounted", &server.url(), "");
    tokio::task::spawn_blocking(move || {
        drop(Listening::of(&["--config", &config]));
        drop(Listening::of(&["--config", &config]));
        // What is there when the disk is not.
        fs::remove_dir_all(&blobs).unwrap();
        fs::create_dir(&blobs).unwrap();
        let says =
            "`store.blobs`: the directory has nothing of what was kept there: mount its disk";
        for _ in 0..2 {
            check_usage(&["gateway", "--config", &config], "", says);
            let checked = run(&["gateway", "--check", "--config", &config], "");
            assert_eq!(checked.status, 1, "{checked:?}");
            assert!(
                checked.out.contains(&format!("error: store: {says}")),
                "{checked:?}"
            );
        }
        assert_eq!(fs::read_dir(&blobs).unwrap().count(), 0);
    })
    .await
    .unwrap();
}

/// A server that has no such bucket; its URL.
fn without_bucket() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body = "<Error><Code>NoSuchBucket</Code></Error>";
            let length = body.len();
            let head = format!(
                "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn a_gateway_does_not_start_without_the_place_of_large_results() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let url = server.url();
    tokio::task::spawn_blocking(move || {
        let config = |name: &str, endpoint: &str| {
            let settings = format!(
                "{{ region = 'x', access_key_id = 'x', secret_access_key = 's3cret-s3cret', endpoint = '{endpoint}', \
                 allow_http = 'true' }}"
            );
            let echo = echo();
            let text = format!(
                "{TOKENS}args = ['{echo}']\n[store]\nurl = '{url}'\nblobs = 's3://bucket/x'\nblob_settings = {settings}\n"
            );
            file(name, &text)
        };
        let missing = config("lasting-no-bucket.toml", &without_bucket());
        let away = config("lasting-no-blobs.toml", "http://127.0.0.1:1");
        for (config, says, waits) in [
            (&missing, "HTTP status 404 (NoSuchBucket): there is no such bucket", false),
            (&away, "Connection refused", true),
        ] {
            let checked = run(&["gateway", "--check", "--config", config], "");
            assert_eq!(checked.status, 1, "{checked:?}");
            let began = Instant::now();
            let started = run(&["gateway", "--config", config], "");
            assert_eq!(started.status, 2, "{started:?}");
            assert_eq!(began.elapsed().as_secs() >= 9, waits, "{started:?}");
            let waiting = started.err.contains("waiting for the place of large results");
            assert_eq!(waiting, waits, "{started:?}");
            for said in [checked.out, started.err] {
                assert!(said.contains("s3://bucket/x: the store cannot answer"), "{said}");
                assert!(said.contains(says), "{said}");
                assert!(!said.contains("s3cret"), "{said}");
            }
        }
    })
    .await
    .unwrap();
}

#[test]
fn files_that_are_not_there_are_named() {
    let check = |store: &str, says: &str| {
        let text = format!("{TOKENS}args = ['{}']\n[store]\n{store}\n", echo());
        let config = file("lasting-files.toml", &text);
        let says = format!("`store.{says}");
        check_usage(&["gateway", "--config", &config], "", &says);
        let checked = run(&["gateway", "--check", "--config", &config], "");
        assert_eq!(checked.status, 1, "{checked:?}");
        assert!(
            checked.out.contains(&format!("error: store: {says}")),
            "{checked:?}"
        );
    };
    let nothing = file("lasting-nothing.pem", "nothing");
    let key = file("lasting-key.pem", "-----BEGIN PRIVATE KEY-----\n");
    let tls = "url = 'rediss://127.0.0.1:1'";
    check(
        "url = 'redis://127.0.0.1:1'\npassword_file = '/no/such'",
        "passwordFile`: cannot read `/no/such`: No such file",
    );
    check(
        "url = 'redis+sentinel://127.0.0.1:1/main'\nsentinel_password = ''",
        "sentinelPassword`: it is empty: leave the key out for none",
    );
    check(
        &format!("{tls}\ntls_roots_file = '{nothing}'"),
        &format!("tlsRootsFile`: `{nothing}` holds no certificate in PEM"),
    );
    check(
        &format!("{tls}\ntls_certificate_file = '{key}'\ntls_key_file = '{key}'"),
        &format!("tlsCertificateFile`: `{key}` holds no certificate in PEM"),
    );
    check(
        &format!("{tls}\ntls_roots_file = '/dev/zero'"),
        "tlsRootsFile`: `/dev/zero` is larger than 1048576 bytes",
    );
}
