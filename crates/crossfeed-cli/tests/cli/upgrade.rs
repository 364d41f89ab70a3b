//! Gateways of this version that go on where one of an earlier version ended, over the same store.
//!
//! `data/upgrade.json` is what the version of the commit in it had left on Redis when it had ended: a session of `ann` with a
//! log level, a subscription and two calls, and a call of hers without a session. A time is `<now+MICROSECONDS>`.

use super::{
    file,
    id_keys::{self, call, call_tool, id_of},
    lasting::{Listening, TOKENS, directory, number},
};
use crossfeed_redis_servers::{Server, free_port, is_installed};
use serde_json::{Value, json};
use std::fs;

/// A text with its times moved to now.
fn moved(text: &Value, now: i64) -> String {
    let text = text.as_str().unwrap();
    let mut parts = text.split("<now");
    let mut moved = parts.next().unwrap().to_owned();
    for part in parts {
        let (offset, rest) = part.split_once('>').unwrap();
        let time = now + offset.parse::<i64>().unwrap();
        moved.push_str(&format!("{time}{rest}"));
    }
    moved
}

/// Puts on a server what the earlier version had left there.
async fn load(server: &Server, keys: &Value) {
    let time = server.ask(&["TIME"]).await.unwrap().texts();
    let now = time[0].parse::<i64>().unwrap() * 1_000_000 + time[1].parse::<i64>().unwrap();
    for entry in keys.as_array().unwrap() {
        let (key, value) = (entry["key"].as_str().unwrap(), &entry["value"]);
        let pairs = value.as_array().into_iter().flatten();
        let pairs = pairs.map(|pair| [moved(&pair[0], now), moved(&pair[1], now)]);
        let (command, words): (_, Vec<String>) = match entry["type"].as_str().unwrap() {
            "string" => ("SET", vec![moved(value, now)]),
            "hash" => ("HSET", pairs.flatten().collect()),
            "zset" => {
                let turned = pairs.map(|[member, score]| [score, member]);
                ("ZADD", turned.flatten().collect())
            }
            other => (other, Vec::new()),
        };
        let words: Vec<&str> = [command, key]
            .into_iter()
            .chain(words.iter().map(String::as_str))
            .collect();
        server.ask(&words).await.unwrap();
        let left = entry["milliseconds"].to_string();
        server.ask(&["PEXPIRE", key, &left]).await.unwrap();
    }
}

/// A replica over the store at a URL, and the file of what its server was sent.
fn replica(name: &str, url: &str, more: &str) -> (Listening, String) {
    let echo = id_keys::server();
    let capabilities = r#"{"tools":{},"logging":{},"resources":{"subscribe":true}}"#;
    let echo = echo.replacen(r#"{"tools":{}}"#, capabilities, 1);
    let each = "read -r line; do\n";
    let kept = format!("{each}  printf '%s\\n' \"$line\" >>\"$1\"\n");
    let echo = file("upgrade-server.sh", &echo.replacen(each, &kept, 1));
    let log = directory(&format!("{name}.log"));
    let log = log.to_str().unwrap();
    let _ = fs::remove_file(log);
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let config = format!(
        "listen = {{advertise = 'http://{address}'}}\nstore = {{url = '{url}'}}\n\
         {TOKENS}args = ['{echo}', '{log}']\n{more}"
    );
    let config = file(&format!("{name}.toml"), &config);
    let gateway = Listening::at(&address, &["--config", &config]);
    (gateway, log.to_owned())
}

#[tokio::test]
async fn sessions_results_and_ids_of_the_version_before_go_on() {
    if !is_installed() {
        return;
    }
    let before: Value = serde_json::from_str(include_str!("../data/upgrade.json")).unwrap();
    let redis = Server::start(&[]).await.unwrap();
    load(&redis, &before["keys"]).await;
    let url = redis.url();
    let asked = tokio::task::spawn_blocking(move || {
        let [(a, a_log), (b, b_log)] =
            ["upgrade-a", "upgrade-b"].map(|name| replica(name, &url, ""));
        let session = before["session"].as_str().unwrap();
        let reference = |id: &str| json!({"$tool": id});

        // The session, with what its client once asked for.
        let (status, answer) = a.call("ann", session, &reference("call_2"));
        assert!(
            status == 200 && answer.contains("heard heard heard one"),
            "{answer}"
        );
        let third = number(&answer);
        assert!(third > 2, "{answer}");
        let sent = fs::read_to_string(&a_log).unwrap();
        for expected in [
            r#""name":"test""#,
            "notifications/initialized",
            r#""level":"warning""#,
            r#""uri":"test://one""#,
        ] {
            assert!(sent.contains(expected), "{expected}: {sent}");
        }
        // The other replica sends its requests on.
        let (status, answer) = b.call("ann", session, &reference("call_1"));
        assert!(
            status == 200 && answer.contains("heard heard one"),
            "{answer}"
        );
        assert!(number(&answer) > third, "{answer}");
        assert!(
            !fs::read_to_string(&b_log)
                .unwrap_or_default()
                .contains("tools/call")
        );
        assert_eq!(a.call("bob", session, &json!("x")).0, 404);

        // An id that the key of the store signed.
        let id = before["id"].as_str().unwrap();
        let answer = call_tool(&b, "read_result", &json!({"call_id": id}));
        assert!(answer.contains("heard alone"), "{answer}");
        let answer = call(&a, &reference(id));
        assert!(answer.contains("heard heard alone"), "{answer}");
        let answer = call(&b, &reference(id_of(&answer)));
        assert!(answer.contains("heard heard heard alone"), "{answer}");

        // Whose data its results hold the version before did not say.
        let rule = "[[flows]]\nname = 'any'\nfrom = 'one/*'\nto = 'one/*'\naction = 'allow'\n";
        let (c, _) = replica("upgrade-c", &url, rule);
        let answer = call(&c, &reference(id));
        assert!(answer.contains("flow.refused"), "{answer}");
        let answer = call(&c, &json!("new"));
        let answer = call(&c, &reference(id_of(&answer)));
        assert!(answer.contains("heard heard new"), "{answer}");
    });
    asked.await.unwrap();
}
