//! A gateway with its store on a Redis server, which the test starts.

use super::{
    file,
    lasting::{Listening, TOKENS, echo, local, number, say},
    run, start,
};
use crossfeed_redis_servers::{Replicated, Server, is_installed};
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Instant,
};

/// A configuration with a store at this URL.
fn configuration(name: &str, store: &str) -> String {
    let echo = echo();
    let servers = format!("[mcpServers.one]\ncommand = 'sh'\nargs = ['{echo}']\n");
    file(name, &format!("[store]\n{store}\n{servers}"))
}

#[tokio::test]
async fn a_session_goes_on_with_results_on_redis() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let set = ["CONFIG", "SET", "requirepass", "s3cret-s3cret"];
    server.ask(&set).await.unwrap();
    let password = file("lasting-redis.password", "s3cret-s3cret\n");
    let store = format!("url = '{}'\npassword_file = '{password}'", server.url());
    let config = configuration("lasting-redis.toml", &store);
    tokio::task::spawn_blocking(move || {
        let checked = run(&["gateway", "--check", "--config", &config], "");
        assert_eq!(checked.status, 0, "{checked:?}");
        assert!(checked.out.contains("\nstore: Redis "), "{checked:?}");
        let args = ["--config", &config, "--session", "work"];
        let mut before = local(&args, &[]);
        assert!(say(&mut before, &json!("one")).contains("heard one"));
        drop(before);
        let mut after = local(&args, &[]);
        let answer = say(&mut after, &json!({"$tool": "call_1"}));
        assert!(answer.contains("heard heard one"), "{answer}");
        assert!(number(&answer) > 1, "{answer}");
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn stores_of_two_prefixes_know_nothing_of_each_other() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let url = server.url();
    tokio::task::spawn_blocking(move || {
        for (name, prefix) in [
            ("default", ""),
            ("a", "prefix = 'a'"),
            ("b", "prefix = 'b'"),
        ] {
            let store = format!("url = '{url}'\n{prefix}");
            let config = configuration(&format!("lasting-prefix-{name}.toml"), &store);
            let mut gateway = local(&["--config", &config, "--session", "work"], &[]);
            let answer = say(&mut gateway, &json!("one"));
            assert_eq!(number(&answer), 1, "{name}: {answer}");
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_check_fails_where_a_start_does() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let config = configuration("lasting-newer.toml", &format!("url = '{}'", server.url()));
    let started = config.clone();
    let start = move || run(&["gateway", "--config", &started], "");
    let started = tokio::task::spawn_blocking(start.clone()).await.unwrap();
    assert_eq!(started.status, 0, "{started:?}");
    // The key of ids, as a later version writes it: a length that it keeps.
    let edit = "local key = redis.call('KEYS', '*gateway/key/*')[1] \
         local text, n = string.gsub(redis.call('GET', key), '\"format\":1', '\"format\":2') \
         redis.call('SET', key, text, 'KEEPTTL') return n";
    let edited = server.ask(&["EVAL", edit, "0"]).await.unwrap();
    assert!(format!("{edited:?}").contains('1'), "{edited:?}");
    let check = move || run(&["gateway", "--check", "--config", &config], "");
    let checked = tokio::task::spawn_blocking(check).await.unwrap();
    let started = tokio::task::spawn_blocking(start).await.unwrap();
    for (run, status) in [(checked, 1), (started, 2)] {
        assert_eq!(run.status, status, "{run:?}");
        let said = format!("{}{}", run.out, run.err);
        assert!(said.contains("the store has format 2"), "{run:?}");
    }
}

#[tokio::test]
async fn sentinels_are_asked_with_their_password() {
    if !is_installed() {
        return;
    }
    let servers = Replicated::start(1, &[]).await.unwrap();
    let url = servers.url();
    let (_, sentinel) = url.split_once("://").unwrap();
    let (sentinel, _) = sentinel.split_once('/').unwrap();
    let mut stream = TcpStream::connect(sentinel).unwrap();
    let guard = b"ACL SETUSER default resetpass >s3cret-s3cret\r\n";
    stream.write_all(guard).unwrap();
    let mut answer = [0; 3];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+OK");
    let check = |name: &str, more: &str| {
        let config = configuration(name, &format!("url = '{url}'\n{more}"));
        run(&["gateway", "--check", "--config", &config], "")
    };
    let refused = check("lasting-sentinel-none.toml", "");
    assert_eq!(refused.status, 1, "{refused:?}");
    let reached = check(
        "lasting-sentinel.toml",
        "sentinel_password = 's3cret-s3cret'",
    );
    assert_eq!(reached.status, 0, "{reached:?}");
    assert!(reached.out.contains("\nstore: Redis "), "{reached:?}");
    for run in [refused, reached] {
        assert!(!format!("{run:?}").contains("s3cret"), "{run:?}");
    }
}

#[tokio::test]
async fn the_log_says_why_a_store_does_not_answer() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start(&[]).await.unwrap();
    let set = ["CONFIG", "SET", "requirepass", "s3cret-s3cret"];
    server.ask(&set).await.unwrap();
    let url = server.url().replace("://", "://:s3cret-s3cret@");
    let text = format!("{TOKENS}args = ['{}']\n[store]\nurl = '{url}'\n", echo());
    let config = file("lasting-logged.toml", &text);
    tokio::task::spawn_blocking(move || {
        let gateway = Listening::of(&["--config", &config]);
        let session = gateway.begin("ann");
        let (_, answer) = gateway.call("ann", &session, &json!("one"));
        assert!(answer.contains("heard one"), "{answer}");
        server.kill();
        gateway.call("ann", &session, &json!("two"));
        let (_, answer) = gateway.call("ann", &session, &json!({"$tool": "call_1"}));
        assert!(!answer.contains("refused"), "{answer}");
        let log = gateway.kill();
        let said: Vec<_> = log.lines().filter(|line| line.contains("cannot")).collect();
        assert!(said.len() > 1, "{log}");
        for line in said {
            assert!(line.contains("Connection refused"), "{line}");
        }
        assert!(!log.contains("s3cret"), "{log}");
    })
    .await
    .unwrap();
}

#[test]
fn a_server_that_is_away_is_waited_for_and_then_said() {
    let config = configuration(
        "lasting-away.toml",
        "url = 'redis://ann:s3cret@127.0.0.1:1'",
    );
    let checked = run(&["gateway", "--check", "--config", &config], "");
    assert_eq!(checked.status, 1, "{checked:?}");
    let says = "error: store: the store on Redis: the store cannot answer";
    assert!(checked.out.contains(says), "{checked:?}");
    assert!(!checked.out.contains("s3cret"), "{checked:?}");
    let began = Instant::now();
    let mut gateway = start(&["gateway", "--config", &config]);
    assert_eq!(gateway.wait().unwrap().code(), Some(2));
    assert!(began.elapsed().as_secs() >= 9);
    let mut err = String::new();
    gateway
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    let waiting = err
        .lines()
        .find(|line| line.contains("waiting for the store"));
    assert!(waiting.unwrap().contains("Connection refused"), "{err}");
    assert!(
        err.contains("the store on Redis: the store cannot answer"),
        "{err}"
    );
    assert!(!err.contains("s3cret"), "{err}");
}
