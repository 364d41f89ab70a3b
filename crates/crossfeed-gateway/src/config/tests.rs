//! Configurations that are read, and those that are refused.

mod store;

use super::{
    Eras, Format, GatewayConfig, Grant, Prefix, QueriesConfig, Sources, TransportConfig,
    UnlistedPolicy, ViewChoice, jsonc,
};
use proptest::prelude::*;
use std::time::Duration;

fn sources() -> Sources {
    let pairs = [
        ("KEY", "s3cret-s3cret-s3cret"),
        ("GATEWAY_TOKEN", "s3cret-s3cret-gateway"),
        ("REPORTS_TOKEN", "s3cret-s3cret-reports"),
        ("HOME", "/users/ann"),
    ];
    Sources::default()
        .with_environment(pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).into())
        .with_directory("/etc/crossfeed")
}

fn toml(text: &str) -> GatewayConfig {
    GatewayConfig::parse(text, Format::Toml, &sources()).expect(text)
}

fn json(text: &str) -> GatewayConfig {
    GatewayConfig::parse(text, Format::Json, &sources()).expect(text)
}

/// A configuration that is refused, with every problem as it is said.
fn check(text: &str, expected: &[&str]) {
    let format = Format::detect(None, text);
    let error = GatewayConfig::parse(text, format, &sources()).expect_err(text);
    let said: Vec<_> = error
        .problems()
        .iter()
        .map(|problem| match &problem.advice {
            Some(advice) => format!("{problem}; {advice}"),
            None => problem.to_string(),
        })
        .collect();
    assert_eq!(said, expected, "{text}");
    let all = format!("{error} {error:?} {said:?}");
    assert!(!all.contains("s3cret"), "{all}");
}

const WHOLE: &str = r#"
profile = "anthropic"
context_window = 100_000
listen = { address = "localhost:9000", path = "/tools", hosts = ["gate.example"], origins = ["https://app.example"] }

[tokens]
ann = "${KEY}"

[limits]
message_bytes = "64 MiB"
memory_bytes = "512 MiB"
requests_per_client = 16
sessions = 8
session_idle = "10 min"
processes = 5
process_idle = "90 s"
start_timeout = 0.5
shutdown = "250 ms"
result_idle = "1 h"

[extra_tools]
list_results = false

[mcpServers.zoo]
command = "npx"
args = ["-y", "@acme/zoo", "${KEY}"]
env = { TOKEN = "${KEY}", LEVEL = "${LEVEL:-info}" }
cwd = "data"
never_chain = ["login"]
allow = ["get_*", "login"]
deny = ["get_secret"]
timeout = 30
keep = true

[mcpServers.alpha]
type = "http"
url = "https://alpha.example/mcp?key=${KEY}"
headers = { Authorization = "Bearer ${KEY}" }
insecure = true
oauth = { client_id = "abc", scopes = ["read"], directory = "tokens" }
profile = "refs-list"
projection = true
view = "program"
neverChain = true
disabled = true

[[flows]]
name = "no keys abroad"
from = "zoo/get_secret"
to = "alpha"
action = "deny"

[[flows]]
from = "*"
to = "*"
action = "allow"
"#;

#[test]
fn every_key_is_read() {
    let config = toml(WHOLE);
    assert_eq!(config.profile.as_deref(), Some("anthropic"));
    assert_eq!(config.context_window, Some(100_000));
    let listen = config.listen.as_ref().expect("it listens");
    assert_eq!(listen.address.to_string(), "127.0.0.1:9000");
    assert_eq!(listen.path, "/tools");
    assert_eq!(listen.hosts, ["gate.example"]);
    assert_eq!(listen.origins, ["https://app.example"]);
    assert_eq!(listen.tokens.len(), 1);
    assert_eq!(listen.tokens[0].name, "ann");
    assert_eq!(listen.tokens[0].token, "s3cret-s3cret-s3cret");
    assert_eq!(config.limits.message_bytes, 64 << 20);
    assert_eq!(config.limits.memory_bytes, 512 << 20);
    assert_eq!(config.limits.total_bytes, 128 << 20);
    assert_eq!(config.limits.requests_per_client, 16);
    assert_eq!(config.limits.sessions, 8);
    assert_eq!(config.limits.session_idle, Duration::from_secs(600));
    assert_eq!(config.limits.processes, 5);
    assert!(config.servers[0].keep && !config.servers[1].keep);
    assert_eq!(config.limits.process_idle, Duration::from_secs(90));
    assert_eq!(config.limits.start_timeout, Duration::from_millis(500));
    assert_eq!(config.limits.shutdown, Duration::from_millis(250));
    assert_eq!(config.limits.result_idle, Duration::from_secs(3600));
    assert!(config.extra_tools.inspect && config.extra_tools.read && !config.extra_tools.list);

    let [zoo, alpha] = &config.servers[..] else {
        panic!("two servers, in the order of the file");
    };
    assert_eq!(zoo.name, "zoo");
    let TransportConfig::Stdio {
        command,
        args,
        env,
        cwd,
    } = &zoo.transport
    else {
        panic!("a process");
    };
    assert_eq!(command, "npx");
    assert_eq!(args[2], "s3cret-s3cret-s3cret");
    assert_eq!(env["TOKEN"], "s3cret-s3cret-s3cret");
    assert_eq!(env["LEVEL"], "info");
    assert_eq!(
        cwd.as_deref(),
        Some(std::path::Path::new("/etc/crossfeed/data"))
    );
    assert_eq!(zoo.never_chain, ["login"]);
    assert_eq!(zoo.allow, ["get_*", "login"]);
    assert_eq!(zoo.deny, ["get_secret"]);
    assert_eq!(zoo.timeout, Some(Duration::from_secs(30)));
    assert!(zoo.view.is_none() && !zoo.projection && !zoo.disabled);

    let TransportConfig::Http {
        url,
        headers,
        oauth,
        from_variables,
        insecure,
    } = &alpha.transport
    else {
        panic!("an address");
    };
    assert_eq!(url, "https://alpha.example/mcp?key=s3cret-s3cret-s3cret");
    assert_eq!(headers["Authorization"], "Bearer s3cret-s3cret-s3cret");
    assert_eq!(from_variables, &["url", "headers.Authorization"]);
    assert!(*insecure);
    let oauth = oauth.as_ref().expect("oauth");
    assert_eq!(oauth.client_id.as_deref(), Some("abc"));
    assert_eq!(oauth.scopes, ["read"]);
    assert_eq!(alpha.profile.as_deref(), Some("refs-list"));
    let program = ViewChoice::Always(crossfeed_wire::View::Program);
    assert_eq!(alpha.view, Some(program));
    assert!(alpha.projection && alpha.disabled);
    assert_eq!(alpha.never_chain, ["*"]);

    let flows: Vec<_> = config
        .flows
        .iter()
        .map(|flow| (&*flow.name, &*flow.from, &*flow.to, flow.allow))
        .collect();
    assert_eq!(
        flows,
        [
            ("no keys abroad", "zoo/get_secret", "alpha/*", false),
            ("flow 2", "*/*", "*/*", true),
        ]
    );
}

#[test]
fn the_examples_are_valid() {
    let config = toml(include_str!("../../examples/gateway.toml"));
    assert_eq!(config.servers.len(), 3);
    // What is commented out is the default.
    let all = include_str!("../../examples/gateway.toml");
    let stated = all
        .replace("\n# profile", "\nprofile")
        .replace("\n# ", "\n");
    let lines = stated
        .lines()
        .filter(|line| line.contains(" = ") || line.starts_with('['));
    let stated = toml(&lines.collect::<Vec<_>>().join("\n"));
    assert_eq!(
        format!("{:?}", stated.limits),
        format!("{:?}", config.limits)
    );
    assert_eq!(stated.servers[0].allow, ["read_*"]);
    assert_eq!(
        json(include_str!("../../examples/gateway.json"))
            .servers
            .len(),
        2
    );
}

#[test]
fn files_are_read_beside_the_store_and_the_configuration() {
    let server = "[mcpServers.a]\ncommand = 'x'\n";
    let store = "[store]\nurl = 'sqlite:state'\n";
    for (files, why) in [
        ("'.'", "this file is in it"),
        ("'..'", "this file is in it"),
        ("'/'", "this file is in it"),
        ("{ roots = ['notes', '/etc'] }", "this file is in it"),
        (
            "{ roots = ['notes', 'x/../notes/a'] }",
            "one is within another",
        ),
        ("'state'", "the store is in it, around it or the same"),
        ("'state/blobs'", "the store is in it, around it or the same"),
    ] {
        let text = format!("references.files = {files}\n{server}{store}");
        let error = GatewayConfig::parse(&text, Format::Toml, &sources()).unwrap_err();
        assert!(error.to_string().contains(why), "{files}: {error}");
    }
    let config = toml(&format!("references.files = 'notes'\n{server}{store}"));
    assert!(config.references.files.is_some());
}

#[test]
fn results_leave_the_gateway_only_where_it_is_said() {
    let server = "[mcpServers.a]\ncommand = 'x'\n";
    let config = toml(server);
    assert!(!config.result_resources && config.save_directory.is_none());
    let rule = "[[flows]]\nfrom = 'a'\nto = 'crossfeed'\naction = 'deny'\n";
    let both = "result_resources = true\nsaveDirectory = 'saved'\n";
    let config = toml(&format!("{both}{server}{rule}"));
    assert!(config.result_resources);
    let directory = config.save_directory.as_deref();
    assert_eq!(directory, Some("/etc/crossfeed/saved".as_ref()));
    assert_eq!(config.flows[0].to, "crossfeed/*");
    // Data could go by another server.
    let other = "[mcpServers.b]\ncommand = 'x'\n";
    let config = toml(&format!("{both}{server}{other}{rule}"));
    let found = config.flows[0].ways_around(&config);
    assert_eq!(found, ["b"]);
    // Without a directory the rule would never apply, and nothing comes from there.
    let unknown = "no server matches the pattern: the rule would never apply";
    let at = |line, key| format!("line {line}, `flows[0].{key}`: {unknown}");
    check(&format!("{server}{rule}"), &[&at(5, "to")]);
    let rule = "[[flows]]\nfrom = 'crossfeed'\nto = 'a'\naction = 'deny'\n";
    check(&format!("{both}{server}{rule}"), &[&at(6, "from")]);
    check(
        &format!("saveDirectory = ''\n{server}"),
        &["line 1, `saveDirectory`: the path is empty"],
    );
}

#[test]
fn queries_are_on_where_it_is_said() {
    let server = "[mcpServers.a]\ncommand = 'x'\n";
    let read = |queries: &str| toml(&format!("queries = {queries}\n{server}")).queries;
    assert_eq!(toml(server).queries, None);
    assert_eq!(read("false"), None);
    assert_eq!(read("true"), Some(QueriesConfig::default()));
    let expected = QueriesConfig {
        time: Duration::from_millis(1500),
        memory_bytes: 1 << 28,
        rows: 7,
        ..QueriesConfig::default()
    };
    let limits = "{ time = '1.5 s', memoryBytes = '256 MiB', rows = 7 }";
    assert_eq!(read(limits), Some(expected));
    for (queries, why) in [
        ("{ tim = 1 }", "`queries.tim`: unknown key"),
        ("{ rows = 0 }", "a whole number from 1"),
        ("7", "`queries`: "),
    ] {
        let text = format!("queries = {queries}\n{server}");
        let error = GatewayConfig::parse(&text, Format::Toml, &sources()).unwrap_err();
        assert!(error.to_string().contains(why), "{queries}: {error}");
    }
    // Rules decide what statements may read.
    let rule = "[[flows]]\nfrom = 'a'\nto = 'crossfeed/query_results'\naction = 'deny'\n";
    let config = toml(&format!("queries = true\n{server}{rule}"));
    assert_eq!(config.flows[0].to, "crossfeed/query_results");
}

#[test]
fn no_secret_is_shown() {
    let shown = format!("{:?} {:?}", toml(WHOLE), sources());
    assert!(!shown.contains("s3cret"), "{shown}");
    // Nor how a server is reached.
    assert!(!shown.contains("npx") && !shown.contains("alpha.example"));
}

#[test]
fn the_shape_that_clients_have_is_read() {
    let config = json(
        r#"{
          // A comment, and commas behind the last items.
          "mcpServers": {
            "files": {"command": "npx", "args": ["-y", "files", "/tmp",]},
            "web": {"type": "http", "url": "http://127.0.0.1:3000/mcp",}, /* more */
          },
        }"#,
    );
    let names: Vec<_> = config.servers.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["files", "web"]);
    assert!(config.listen.is_none());
}

#[test]
fn a_grant_is_read() {
    for (said, expected) in [
        ("", Grant::AuthorizationCode),
        (
            r#", "grant": "authorization_code""#,
            Grant::AuthorizationCode,
        ),
        (
            r#", "grant": "client_credentials""#,
            Grant::ClientCredentials,
        ),
    ] {
        let config = json(&format!(
            r#"{{"mcpServers": {{"a": {{"url": "https://x", "oauth": {{"clientId": "i", "clientSecret": "${{KEY}}"{said}}}}}}}}}"#
        ));
        let TransportConfig::Http { oauth, .. } = &config.servers[0].transport else {
            panic!("an address");
        };
        assert_eq!(oauth.as_ref().map(|oauth| oauth.grant), Some(expected));
    }
}

#[test]
fn the_same_in_both_languages() {
    let one = toml("listen = '8080'\n[mcpServers.a]\ncommand = 'x'\nenv = {A = '1'}\n");
    let other =
        json(r#"{"listen": ":8080", "mcpServers": {"a": {"command": "x", "env": {"A": "1"}}}}"#);
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn the_language_is_found_out() {
    let of = |path: &str, text| Format::detect((!path.is_empty()).then_some(path.as_ref()), text);
    assert_eq!(of("a.toml", "{}"), Format::Toml);
    assert_eq!(of("a.json", ""), Format::Json);
    assert_eq!(of("", " \n{}"), Format::Json);
    assert_eq!(of("", "\u{feff}// c\n{}"), Format::Json);
    assert_eq!(of("", "[mcpServers.a]"), Format::Toml);
    assert_eq!(of(".mcp", "a = 1"), Format::Toml);
}

#[test]
fn a_command_is_a_configuration() {
    let config = GatewayConfig::from_command("/usr/bin/mcp-time.sh", vec!["--utc".to_owned()]);
    assert_eq!(config.servers.len(), 1);
    assert_eq!(config.servers[0].name, "mcp-time");
    let config = config.with_listen(([127, 0, 0, 1], 0).into());
    assert_eq!(config.listen.map(|l| l.address.port()), Some(0));
}

#[test]
fn an_address_keeps_the_tokens() {
    let text = "tokens = {ann = '${KEY}'}\n[mcpServers.a]\ncommand = 'x'\n";
    let config = toml(text).with_listen(([127, 0, 0, 1], 7).into());
    assert_eq!(config.listen.expect("it listens").tokens.len(), 1);
}

#[test]
fn anonymous_is_said_or_there_are_tokens() {
    let listens = |text: &str| toml(text).with_listen(([127, 0, 0, 1], 7).into()).listen;
    let text = "anonymous = true\n[mcpServers.a]\ncommand = 'x'\n";
    assert!(toml(text).anonymous && listens(text).expect("it listens").anonymous);
    let text = "listen = '7'\nanonymous = true\n[mcpServers.a]\ncommand = 'x'\n";
    assert!(toml(text).listen.expect("it listens").anonymous);
    let text = "[mcpServers.a]\ncommand = 'x'\n";
    assert!(!listens(text).expect("it listens").anonymous);
    let config = toml("listen = '7'\n[mcpServers.a]\ncommand = 'x'\n").with_anonymous();
    assert!(config.listen.expect("it listens").anonymous);

    check(
        "anonymous = true\ntokens = {ann = '${KEY}'}\n[mcpServers.a]\ncommand = 'x'\n",
        &[
            "line 1, `anonymous`: `anonymous` lets clients in without a token, but there are `tokens`: remove one of them",
        ],
    );
    check(
        "anonymous = 'yes'\n[mcpServers.a]\ncommand = 'x'\n",
        &["line 1, `anonymous`: expected true or false"],
    );
}

#[test]
fn what_several_servers_share_is_chosen() {
    let config = json(r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    assert_eq!(
        (config.prefix, config.unlisted),
        (Prefix::Always, UnlistedPolicy::Refuse)
    );
    let config = json(
        r#"{"mcpServers": {"a": {"command": "x"}}, "prefix": "collisions", "unlisted": "ask-all"}"#,
    );
    assert_eq!(
        (config.prefix, config.unlisted),
        (Prefix::Collisions, UnlistedPolicy::AskAll)
    );
    check(
        r#"{"mcpServers": {"a": {"command": "x"}}, "prefix": "never", "unlisted": true}"#,
        &[
            "line 1, `prefix`: expected \"always\" or \"collisions\"",
            "line 1, `unlisted`: expected \"refuse\" or \"ask-all\", found a boolean",
        ],
    );
}

#[test]
fn eras_are_those_of_the_servers_unless_all_are_wanted() {
    let servers = r#"{"mcpServers": {"a": {"command": "x"}}"#;
    assert_eq!(json(&format!("{servers}}}")).eras, Eras::Servers);
    let all = json(&format!(r#"{servers}, "eras": "all"}}"#));
    assert_eq!(all.eras, Eras::All);
    check(
        &format!(r#"{servers}, "eras": "both"}}"#),
        &["line 1, `eras`: expected \"servers\" or \"all\""],
    );
}

#[test]
fn references_name_files_and_resources_where_they_may() {
    let servers = "[mcpServers.a]\ncommand = \"x\"\n";
    let none = toml(servers).references;
    assert!(none.files.is_none() && !none.resources);
    let one = toml(&format!("{servers}[references]\nfiles = \"notes\"\n")).references;
    let files = one.files.unwrap();
    assert_eq!((files.roots.len(), files.max_bytes), (1, 16 << 20));
    assert!(files.roots[0].ends_with("notes") && !one.resources);
    let both =
        "[references]\nresources = true\nfiles = {roots = [\"a\", \"/b\"], maxBytes = \"1 KiB\"}\n";
    let both = toml(&format!(
        "{servers}{both}[[flows]]\nfrom = \"$file/*\"\nto = \"a\"\naction = \"deny\"\n"
    ));
    let files = both.references.files.unwrap();
    assert_eq!(
        (files.roots[1].to_str(), files.max_bytes),
        (Some("/b"), 1024)
    );
    assert!(both.references.resources && both.flows[0].from == "$file/*");
    check(
        "[references.files]\nroots = []\nmaxBytes = 0\n[mcpServers.a]\ncommand = 'x'\n",
        &[
            "line 2, `references.files.roots`: no directory: no file could be read",
            "line 3, `references.files.maxBytes`: expected a size like 1048576 or \"64 MiB\", in B, KiB, MiB, GiB, kB, MB or GB",
        ],
    );
    check(
        "[[flows]]\nfrom = '$file/*'\nto = 'a'\naction = 'deny'\n[mcpServers.a]\ncommand = 'x'\n",
        &["line 2, `flows[0].from`: no server matches the pattern: the rule would never apply"],
    );
}

#[test]
fn directories_of_files_are_apart_from_each_other_and_from_what_is_saved() {
    let server = "[mcpServers.a]\ncommand = 'x'\n";
    let nested =
        "one is within another: flow rules could not tell its files from those of the other";
    check(
        &format!("[references.files]\nroots = ['/d', '/d/private']\n{server}"),
        &[&format!("line 2, `references.files.roots`: {nested}")],
    );
    for (saves, files) in [
        ("/d", "/d/notes"),
        ("/d/notes/out", "/d/notes"),
        ("/d", "/d"),
    ] {
        let written =
            format!("saveDirectory = '{saves}'\n[references]\nfiles = '{files}'\n{server}");
        let told = "line 1, `saveDirectory`: within a directory of `references.files`, or around one: what is saved could be passed on as a file, whatever the flow rules say of it";
        check(&written, &[told]);
    }
    let apart = format!("saveDirectory = '/d/out'\n[references]\nfiles = '/d/in'\n{server}");
    assert!(toml(&apart).save_directory.is_some());
}

#[test]
fn what_is_saved_is_apart_from_the_store_and_the_configuration() {
    let server = "[mcpServers.a]\ncommand = 'x'\n";
    let in_store = "the store is in it, around it or the same: `save_result` could write among its files; set a directory of its own, such as `saved`";
    for (saves, store) in [
        ("/d", "/d/state"),
        ("/d/state/out", "/d/state"),
        ("/d/state", "/d/state"),
        ("/d/./x/../state/out", "/d/state/"),
        ("state", "/etc/crossfeed/state"),
        ("state", "../crossfeed/state"),
    ] {
        let mut stores = vec![format!("url = 'sqlite:{store}'")];
        if store.starts_with('/') {
            stores.push(format!("url = 'redis://h', blobs = 'file://{store}'"));
        }
        for store in stores {
            let written = format!("saveDirectory = '{saves}'\nstore = {{ {store} }}\n{server}");
            check(&written, &[&format!("line 1, `saveDirectory`: {in_store}")]);
        }
    }
    let around = "this file is in it: `save_result` could replace what configures the gateway; set a directory of its own, such as `saved`";
    for saves in [".", "/etc", "/etc/crossfeed", "/", "saved/.."] {
        let written = format!("saveDirectory = '{saves}'\n{server}");
        check(&written, &[&format!("line 1, `saveDirectory`: {around}")]);
    }
    for saves in ["saved", "/etc/crossfeed-saved", "../saved"] {
        let written =
            format!("saveDirectory = '{saves}'\nstore = {{ url = 'sqlite:state' }}\n{server}");
        assert!(toml(&written).save_directory.is_some(), "{saves}");
    }
}

#[test]
fn templates_and_edits_are_offered_where_they_are_wanted() {
    let servers = r#"{"mcpServers": {"a": {"command": "x"}}"#;
    assert!(!json(&format!("{servers}}}")).templates);
    assert!(json(&format!(r#"{servers}, "templates": true}}"#)).templates);
    assert!(!json(&format!("{servers}}}")).references.edits);
    let switched_on = json(&format!(r#"{servers}, "references": {{"edits": true}}}}"#));
    assert!(switched_on.references.edits);
}

#[test]
fn notices_are_given_unless_they_are_switched_off() {
    let servers = r#"{"mcpServers": {"a": {"command": "x"}}"#;
    for (written, mutes) in [
        ("", false),
        (r#", "notices": true"#, false),
        (r#", "notices": false"#, true),
    ] {
        assert_eq!(
            json(&format!("{servers}{written}}}")).mutes_notices,
            mutes,
            "{written}"
        );
    }
}

#[test]
fn a_token_says_what_its_holder_may_do() {
    let text = "[tokens]\nann = '${KEY}'\n\
                [tokens.bob]\ntoken = 'token-of-bob-1234'\nservers = ['files']\ntools = ['files/read_*', '*']\nrate = '60/min'\n\
                [mcpServers.files]\ncommand = 'x'\n[mcpServers.bank]\ncommand = 'x'\n";
    let config = toml(text);
    let [ann, bob] = &config.tokens[..] else {
        panic!("two tokens");
    };
    assert!(ann.servers.is_empty() && ann.tools.is_empty() && ann.rate.is_none());
    assert_eq!(bob.token, "token-of-bob-1234");
    assert_eq!(bob.servers, ["files"]);
    assert_eq!(bob.tools, ["files/read_*", "*/*"]);
    let rate = bob.rate.expect("a rate");
    assert_eq!(
        (rate.requests.get(), rate.per),
        (60, Duration::from_secs(60))
    );
    for (rate, per) in [("1/s", 1), ("5 / h", 3600), ("9/d", 86_400), ("7/m", 60)] {
        let config = toml(&text.replace("60/min", rate));
        assert_eq!(config.tokens[1].rate.expect(rate).per.as_secs(), per);
    }
    for rate in ["60", "0/s", "-1/s", "1/week", "x/s", "1000001/s", ""] {
        check(
            &text.replace("60/min", rate),
            &[
                "line 7, `tokens.bob.rate`: expected a number of requests and a time like \"60/min\" (s, min, h, d)",
            ],
        );
    }
}

#[test]
fn what_a_holder_cannot_have_is_refused() {
    check(
        "[tokens.bob]\ntoken = 'token-of-bob-1234'\nservers = ['file']\ntools = ['bank/*', '/x']\nrat = '1/s'\n\
         [mcpServers.files]\ncommand = 'x'\n[mcpServers.bank]\ncommand = 'x'\n",
        &[
            "line 3, `tokens.bob.servers[0]`: unknown server; did you mean `files`?",
            "line 4, `tokens.bob.tools[0]`: no server that this holder may use matches the pattern",
            "line 4, `tokens.bob.tools[1]`: not a valid pattern: write one like `server/tool`, `server/*` or `*`",
            "line 5, `tokens.bob.rat`: unknown key; did you mean `rate`?",
        ],
    );
    check(
        "tokens = {bob = {servers = [], tools = []}}\n[mcpServers.a]\ncommand = 'x'\n",
        &[
            "line 1, `tokens.bob`: `token` is missing",
            "line 1, `tokens.bob.servers`: allows no server: leave it out to allow all, or leave the token out",
            "line 1, `tokens.bob.tools`: allows no tool: leave it out to allow all, or leave the token out",
        ],
    );
}

#[test]
fn origins_are_written_as_browsers_send_them() {
    for origin in [
        "https://app.example",
        "http://localhost:3000",
        "vscode-webview://abc",
    ] {
        let text = format!("listen = {{origins = ['{origin}']}}\n[mcpServers.a]\ncommand = 'x'\n");
        assert_eq!(toml(&text).listen.expect("it listens").origins, [origin]);
    }
    for origin in [
        "*",
        "null",
        "app.example",
        "https://app.example/",
        "https://*.example",
    ] {
        check(
            &format!("listen = {{origins = ['{origin}']}}\n[mcpServers.a]\ncommand = 'x'\n"),
            &[
                "line 1, `listen.origins`: not a valid origin: write each as browsers do, like \
                 `https://app.example` or `http://localhost:3000`",
            ],
        );
    }
}

#[test]
fn unknown_keys_name_the_nearest() {
    check(
        "[mcpServers.a]\ncomand = 'x'\nnever_chian = true\n[limit]\n",
        &[
            "line 1, `mcpServers.a`: `command` or `url` is missing: how the server is reached",
            "line 2, `mcpServers.a.comand`: unknown key; did you mean `command`?",
            "line 3, `mcpServers.a.never_chian`: unknown key; did you mean `never_chain`?",
            "line 4, `limit`: unknown key; did you mean `limits`?",
        ],
    );
    check(
        r#"{"servers": {"a": {"command": "x"}}}"#,
        &[
            "line 1: `mcpServers` is missing: the servers, each by its name",
            "line 1, `servers`: unknown key; did you mean `mcpServers`?",
        ],
    );
    check(
        "extra_tools = {shell = true}\nprofile = 'antropic'\n[mcpServers.a]\ncommand = 'x'\ntimeout = 1\n'time out' = 2\n",
        &[
            "line 1, `extraTools.shell`: unknown key; known keys: inspectToolOutput, readResult, listResults",
            "line 2, `profile`: unknown profile; did you mean `anthropic`?",
            "line 6, `mcpServers.a.\"time out\"`: unknown key; did you mean `timeout`?",
        ],
    );
    check(
        "[mcpServers.a]\ncommand = 'x'\nneverChain = true\nnever_chain = true\n",
        &["line 4, `mcpServers.a.never_chain`: duplicate key, in two spellings"],
    );
}

/// A rule under a key that means nothing would not hold, and nobody would notice.
#[test]
fn a_misspelled_key_of_a_rule_refuses_the_configuration() {
    let places = [
        (
            "",
            ["never", "flows", "tokens", "unlisted", "prefix"].as_slice(),
        ),
        (
            "mcpServers.a",
            &["allow", "deny", "neverChain", "never", "view"],
        ),
        ("tokens.ada", &["servers", "tools", "rate"]),
        ("listen", &["hosts", "origins"]),
    ];
    for (place, keys) in places {
        for key in keys {
            let (first, rest) = key.split_at(1);
            let misspelled = [
                key.to_uppercase(),
                first.to_uppercase() + rest,
                format!("{key}s"),
                format!("{first}{key}"),
                format!("{first}{}", &rest[1..]),
                format!("{key} "),
            ];
            for wrong in misspelled {
                let mut text = format!("'{wrong}' = ['x']\n");
                if !place.is_empty() {
                    text = format!("[{place}]\n{text}");
                }
                if place != "mcpServers.a" {
                    text.push_str("[mcpServers.a]\n");
                }
                text.push_str("command = 'x'\n");
                if place == "tokens.ada" {
                    text = text.replace(
                        "[tokens.ada]\n",
                        "[tokens.ada]\ntoken = '0123456789abcdef'\n",
                    );
                }
                let error = GatewayConfig::parse(&text, Format::Toml, &sources()).expect_err(&text);
                let problem = &error.problems()[0];
                assert_eq!(problem.what, "unknown key", "{text}");
                let advice = problem.advice.as_deref().unwrap_or_default();
                assert!(advice.contains("did you mean"), "{text}: {advice}");
            }
        }
    }
}

#[test]
fn servers_are_one_thing_or_the_other() {
    check(
        "mcpServers = {}",
        &["line 1, `mcpServers`: the configuration has no server"],
    );
    check(
        "[mcpServers.a]\ncommand = 'x'\nurl = 'http://a'\n[mcpServers.b]\nurl = 'http://a'\nargs = []\n",
        &[
            "line 3, `mcpServers.a.url`: a server has either `command` or `url`",
            "line 6, `mcpServers.b.args`: this belongs to servers with `command`",
        ],
    );
    check(
        "[mcpServers.a]\ntype = 'sse'\nurl = 'http://a'\n[mcpServers.b]\ntype = 'stdio'\nurl = 'http://a'\n",
        &[
            "line 2, `mcpServers.a.type`: the transport `sse` of 2024-11-05 is not supported; most servers that have it also have `http`",
            "line 5, `mcpServers.b.type`: `type` does not fit `url`",
        ],
    );
    check(
        "[mcpServers.'a/b']\ncommand = ''\nargs = 'x'\nallow = []\n",
        &[
            "line 1, `mcpServers.\"a/b\"`: the name of the server has a character that patterns need: `/`, `*`, or a control character",
            "line 2, `mcpServers.\"a/b\".command`: the command is empty",
            "line 3, `mcpServers.\"a/b\".args`: expected a list of texts",
            "line 4, `mcpServers.\"a/b\".allow`: allows no tool: leave it out to allow all, or write `disabled`",
        ],
    );
}

#[test]
fn what_others_cannot_reach_is_not_advertised() {
    let no_url = "line 1, `listen.advertise`: not the URL of a replica: write a scheme and a host, like `http://10.0.0.5:8807`";
    let nowhere = "line 1, `listen.advertise`: every machine's own address, at which others do not reach this one: write a host that they reach";
    for (address, problem) in [
        ("10.0.0.5:8807", no_url),
        ("http://a/mcp", no_url),
        ("ftp://a", no_url),
        ("http://0.0.0.0:8807", nowhere),
        ("https://[::]", nowhere),
    ] {
        check(
            &format!(
                "listen = {{advertise = '{address}'}}\nstore = {{url = 'redis://a'}}\n[mcpServers.a]\ncommand = 'x'\n"
            ),
            &[problem],
        );
    }
    check(
        "listen = {advertise = 'http://a:1'}\n[mcpServers.a]\ncommand = 'x'\n",
        &[
            "line 1, `listen.advertise`: replicas find each other in a store that they share: add `store`, such as `redis://…`",
        ],
    );
}

#[test]
fn values_are_judged() {
    check(
        "listen = 'somewhere'\ncontext_window = 0\n[limits]\nmessage_bytes = '1 XB'\nshutdown = -1\nsessions = 'many'\n[mcpServers.a]\ncommand = 'x'\ndisabled = 'no'\n",
        &[
            "line 1, `listen`: not a valid address with a port: write one like `127.0.0.1:8807`",
            "line 2, `contextWindow`: expected a whole number from 1",
            "line 4, `limits.messageBytes`: expected a size like 1048576 or \"64 MiB\", in B, KiB, MiB, GiB, kB, MB or GB",
            "line 5, `limits.shutdown`: expected a time of 1 ms to 365 days like 30 (seconds), \"500 ms\" or \"5 min\"",
            "line 6, `limits.sessions`: expected a whole number from 1",
            "line 9, `mcpServers.a.disabled`: expected true or false",
        ],
    );
    let memory = "less than four times `messageBytes`, or less than twice `totalBytes`; lower these, or leave them out: they follow from it";
    let sizes = "[mcpServers.a]\ncommand = 'x'\n[limits]\nmemoryBytes = '64 MiB'\n";
    check(
        &format!("{sizes}totalBytes = '33 MiB'\n"),
        &[&format!("line 4, `limits.memoryBytes`: {memory}")],
    );
    check(
        &format!("{sizes}messageBytes = '17 MiB'\nargumentBytes = 65535\n"),
        &[
            &format!("line 4, `limits.memoryBytes`: {memory}"),
            "line 6, `limits.argumentBytes`: less than 64 KiB: ordinary lists of tools and calls would be refused",
        ],
    );
    toml(&format!(
        "{sizes}messageBytes = '16 MiB'\ntotalBytes = '32 MiB'\nargumentBytes = '64 KiB'\n"
    ));
    let least = "line 4, `limits.memoryBytes`: less than 512 KiB, of which one message may take an eighth; write at least \"512 KiB\"";
    for size in [
        "1",
        "'10 KiB'",
        "524287",
        "'256 KiB'\nmessageBytes = '64 KiB'",
    ] {
        check(
            &format!("[mcpServers.a]\ncommand = 'x'\n[limits]\nmemoryBytes = {size}\n"),
            &[least],
        );
    }
    let least = toml("[mcpServers.a]\ncommand = 'x'\n[limits]\nmemoryBytes = '512 KiB'\n");
    assert_eq!(least.limits.message_bytes, 64 << 10);
    let session = "more than `totalBytes`, which all sessions share; lower it, or leave it out: it follows from `totalBytes`";
    for total in ["", "totalBytes = '8 MiB'\n"] {
        let line = if total.is_empty() { 5 } else { 6 };
        check(
            &format!("{sizes}{total}sessionBytes = '17 MiB'\n"),
            &[&format!("line {line}, `limits.sessionBytes`: {session}")],
        );
    }
    // What is left out follows from what is written.
    let of = |more: &str| toml(&format!("{sizes}{more}")).limits.session_bytes;
    assert_eq!(of("totalBytes = '2 MiB'\n"), 512 << 10);
    assert_eq!(
        of("totalBytes = '2 MiB'\nsessionBytes = '2 MiB'\n"),
        2 << 20
    );
    check(
        "[mcpServers.a]\nurl = 'http://x'\nkeep = true\n",
        &[
            "line 1, `mcpServers.a`: `keep` is for a `command`: a server over HTTP has no process here",
        ],
    );
    check(
        "[mcpServers.a]\nurl = 'ftp://x'\nheaders = {'a b' = '1', Host = 'x', X = \"1\\n2\"}\n[mcpServers.b]\nurl = 'https://ann:s3cret@x/'\n",
        &[
            "line 2, `mcpServers.a.url`: not a valid URL: write one like `https://example.com/mcp`",
            "line 3, `mcpServers.a.headers.\"a b\"`: not a valid name of a header",
            "line 3, `mcpServers.a.headers.Host`: the gateway sets this header itself",
            "line 3, `mcpServers.a.headers.X`: the value has characters that a header cannot carry",
            "line 5, `mcpServers.b.url`: the URL has a name or a password: write them as a header",
        ],
    );
    check(
        "[mcpServers.a]\nurl = 'https://x'\noauth = {grant = 'client_credentials', clientId = 'i'}\n[mcpServers.b]\nurl = 'https://x'\noauth = {grant = 'password'}\n",
        &[
            "line 3, `mcpServers.a.oauth.grant`: needs `clientId` and `clientSecret`, which the gateway logs in with",
            "line 6, `mcpServers.b.oauth.grant`: expected \"authorization_code\" or \"client_credentials\"",
        ],
    );
    check(
        "tokens = {}\n[mcpServers.a]\ncommand = 'x'\n",
        &[
            "line 1, `tokens`: no client would have a token: leave `tokens` out to have one generated, or write \
             `anonymous = true`",
        ],
    );
    check(
        "tokens = {ann = 'short', bob = '${KEY}', eve = '${KEY}', kim = '${OTHER}'}\n[mcpServers.a]\ncommand = 'x'\n",
        &[
            "line 1, `tokens.ann`: the token is shorter than 16 characters: it could be guessed",
            "line 1, `tokens.eve`: another holder has the same token",
            "line 1, `tokens.kim`: the variable `OTHER` is not set",
        ],
    );
}

#[test]
fn flow_rules_that_mean_nothing_are_refused() {
    check(
        "[[flows]]\nfrom = 'filse/*'\nto = 'a'\naction = 'deny'\n[[flows]]\nname = 'flow 1'\nfrom = 'f*s/x'\nto = '/x'\naction = 'forbid'\n[[flows]]\nfrom = '*'\n[mcpServers.files]\ncommand = 'x'\n[mcpServers.a]\ncommand = 'x'\n",
        &[
            "line 2, `flows[0].from`: no server matches the pattern: the rule would never apply; did you mean `files`?",
            "line 5, `flows[1]`: another rule has the same `name`: a refusal could mean either",
            "line 8, `flows[1].to`: not a valid pattern: write one like `server/tool`, `server/*` or `*`",
            "line 9, `flows[1].action`: expected \"allow\" or \"deny\"",
            "line 10, `flows[2]`: `to` is missing: a pattern like `server/tool`, `server/*` or `*`",
            "line 10, `flows[2]`: `action` is missing: \"allow\" or \"deny\"",
        ],
    );
}

#[test]
fn what_is_no_document_is_said_without_quoting_it() {
    check(
        "a = s3cret\n",
        &["line 1: not valid TOML: string values must be quoted, expected literal string"],
    );
    check(
        "{\"a\": 1,\n \"b\" 2}",
        &["line 2: not valid JSON: unexpected character"],
    );
    check(
        "{\"a\": 1, \"a\": 2}",
        &["line 1: not valid JSON: duplicate key"],
    );
    check(
        &"{\"a\":".repeat(300),
        &["line 1: not valid JSON: nested deeper than 127"],
    );
}

#[test]
fn problems_are_bounded() {
    let mut text = "[mcpServers.a]\ncommand = 'x'\n".to_owned();
    for n in 0..500 {
        text.push_str(&format!("zzzzzz{n} = 1\n"));
    }
    let error = GatewayConfig::parse(&text, Format::Toml, &sources()).expect_err("unknown keys");
    assert_eq!(error.problems().len(), 50);
    assert_eq!(error.bodies().len(), 51);
}

proptest! {
    /// Any text is read or refused; a JSON document that serde_json reads is read alike.
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*", odd in "[\\[\\]{}\",:/*a1 \n=.$-]{0,60}") {
        for text in [&text, &odd] {
            for format in [Format::Toml, Format::Json] {
                let _ = GatewayConfig::parse(text, format, &sources());
            }
            if serde_json::from_str::<serde_json::Value>(text).is_ok() {
                // Keys that are there twice are the one thing that is stricter here.
                let read = jsonc::parse(text).map_err(|error| error.why);
                prop_assert!(read.is_ok() || text.matches(':').count() > 1, "{}", text);
            }
        }
    }

    /// Every part of a document knows its bytes: a text's are those of the text.
    #[test]
    fn spans_are_those_of_the_values(keys in proptest::collection::btree_map("\\PC{0,8}", "\\PC{0,12}", 0..6)) {
        let text = serde_json::to_string_pretty(&keys).expect("it can be written");
        let node = jsonc::parse(&text).expect("it can be read");
        let entries = node.entries().expect("a table");
        prop_assert_eq!(entries.len(), keys.len());
        for entry in entries {
            let key: String = serde_json::from_str(&text[entry.key_span.clone()]).expect("a text");
            let value: String = serde_json::from_str(&text[entry.node.span.clone()]).expect("a text");
            prop_assert_eq!(&keys[&entry.key], &value);
            prop_assert_eq!(&key, &entry.key);
        }
    }
}

#[test]
fn servers_that_lead_around_a_rule_are_found() {
    let config = |rules: &str| {
        let text = format!(
            r#"{{"mcpServers": {{"files": {{"command": "x"}}, "notes": {{"command": "x"}}, "web": {{"command": "x"}},
                "off": {{"command": "x", "disabled": true}}}}, "flows": [{rules}]}}"#
        );
        json(&text)
    };
    for (rules, expected) in [
        (
            r#"{"from": "files", "to": "web", "action": "deny"}"#,
            &["notes"][..],
        ),
        (
            r#"{"from": "files/read", "to": "web/put_*", "action": "deny"}"#,
            &["files", "notes", "web"],
        ),
        // By other tools of a server that the rule names.
        (
            r#"{"from": "files/read", "to": "web", "action": "deny"}, {"from": "*", "to": "notes", "action": "deny"}"#,
            &["files"],
        ),
        // What another rule says of exactly these tools.
        (
            r#"{"from": "files/read", "to": "web", "action": "deny"}, {"from": "files/read", "to": "notes", "action": "deny"},
               {"from": "files", "to": "files", "action": "deny"}"#,
            &[],
        ),
        (r#"{"from": "files", "to": "web", "action": "allow"}"#, &[]),
        // What may not go in, or not out.
        (
            r#"{"from": "files", "to": "web", "action": "deny"}, {"from": "files", "to": "notes", "action": "deny"}"#,
            &[],
        ),
        (
            r#"{"from": "files", "to": "web", "action": "deny"}, {"from": "notes", "to": "web", "action": "deny"}"#,
            &[],
        ),
        // A part may.
        (
            r#"{"from": "files", "to": "web", "action": "deny"}, {"from": "notes/a*", "to": "web", "action": "deny"}"#,
            &["notes"],
        ),
        (r#"{"from": "files", "to": "*", "action": "deny"}"#, &[]),
    ] {
        let config = config(rules);
        let found = config.flows[0].ways_around(&config);
        assert_eq!(found, expected, "{rules}");
    }
}

#[test]
fn files_and_what_is_saved_lead_around_a_rule_too() {
    let config = |files: bool, saves: bool, rules: &str| {
        let files = if files {
            r#""references": {"files": "/d/in"},"#
        } else {
            ""
        };
        let saves = if saves {
            r#""saveDirectory": "/d/out","#
        } else {
            ""
        };
        json(&format!(
            r#"{{{files} {saves} "mcpServers": {{"notes": {{"command": "x"}}, "web": {{"command": "x"}}}}, "flows": [{rules}]}}"#
        ))
    };
    let to_web = r#"{"from": "$file/private/*", "to": "web", "action": "deny"}"#;
    let from_notes = r#"{"from": "notes", "to": "web", "action": "deny"}"#;
    let with = |rule: &str, more: &str| format!("{rule}, {more}");
    let not_saved = r#"{"from": "*", "to": "crossfeed", "action": "deny"}"#;
    let no_files = r#"{"from": "$file", "to": "web", "action": "deny"}"#;
    for (files, saves, rules, expected) in [
        // A file goes to a server, and from there on; or the server writes it among the files that may go.
        (true, false, to_web.to_owned(), &["notes", "$file"][..]),
        (true, false, with(to_web, no_files), &["notes"]),
        (true, false, no_files.to_owned(), &["notes"]),
        (true, false, with(no_files, from_notes), &[]),
        // What is saved is read by a server, which may be the one that must not get it.
        (false, true, from_notes.to_owned(), &["crossfeed"]),
        (false, true, with(from_notes, not_saved), &[]),
        (false, false, from_notes.to_owned(), &[]),
        (true, false, from_notes.to_owned(), &["$file"]),
        (
            true,
            true,
            to_web.to_owned(),
            &["notes", "$file", "crossfeed"],
        ),
        (
            true,
            true,
            r#"{"from": "*", "to": "*", "action": "deny"}"#.to_owned(),
            &[],
        ),
        (
            true,
            true,
            r#"{"from": "*", "to": "web", "action": "allow"}"#.to_owned(),
            &[],
        ),
    ] {
        let config = config(files, saves, &rules);
        let found = config.flows[0].ways_around(&config);
        assert_eq!(found, expected, "{files} {saves} {rules}");
    }
}

/// A value that cannot be read is neither missing nor empty.
#[test]
fn one_mistake_is_said_once() {
    let server = "[mcpServers.a]\ncommand = 'x'\n";
    check(
        &format!("{server}[tokens.f]\ntoken = 7\n[tokens.h]\ntoken = '${{NOPE}}'\n"),
        &[
            "line 4, `tokens.f.token`: expected a text",
            "line 6, `tokens.h.token`: the variable `NOPE` is not set",
        ],
    );
    check(
        &format!("{server}allow = 'x'\n"),
        &["line 3, `mcpServers.a.allow`: expected a list of texts"],
    );
    check(
        &format!("{server}allow = [7]\n"),
        &["line 3, `mcpServers.a.allow[0]`: expected a text"],
    );
    check(
        &format!("{server}[tokens.f]\ntoken = '0123456789abcdef'\nservers = 'a'\ntools = 'a/*'\n"),
        &[
            "line 5, `tokens.f.servers`: expected a list of texts",
            "line 6, `tokens.f.tools`: expected a list of texts",
        ],
    );
}

#[test]
fn rules_that_never_hold_are_found() {
    let config = json(
        r#"{"mcpServers": {"files": {"command": "x"}, "web": {"command": "x"}}, "flows": [
            {"name": "reads", "from": "files/read", "to": "web/*", "action": "allow"},
            {"name": "part", "from": "files/read_*", "to": "web", "action": "deny"},
            {"name": "first", "from": "files/read", "to": "web/put", "action": "deny"},
            {"name": "all", "from": "*", "to": "*", "action": "allow"},
            {"name": "second", "from": "files", "to": "web", "action": "deny"},
            {"name": "same", "from": "files", "to": "web", "action": "allow"}]}"#,
    );
    let found = config.flows.iter().filter_map(|rule| {
        let by = rule.overruled_by(&config.flows)?;
        Some((rule.name.as_str(), by.name.as_str()))
    });
    let found: Vec<_> = found.collect();
    let expected = [("first", "reads"), ("second", "all"), ("same", "all")];
    assert_eq!(found, expected);
}

#[test]
fn what_is_withheld_is_read() {
    let config = toml(
        "never = ['password', 'owner.mail']\n[mcpServers.a]\ncommand = 'x'\nnever = ['items[].token']\n\
         [mcpServers.b]\ncommand = 'x'\n",
    );
    let paths = |server: usize| -> Vec<String> {
        let never = config.servers[server].withheld.never();
        never.iter().map(ToString::to_string).collect()
    };
    assert_eq!(paths(0), ["password", "owner.mail", "items[].token"]);
    assert_eq!(paths(1), ["password", "owner.mail"]);
    check(
        "never = ['a..b', 7]\n[mcpServers.a]\ncommand = 'x'\nnever = 'password'\n",
        &[
            "line 1, `never[0]`: the path has an empty segment; write a name between dots; a field whose name is empty is `\"\"`",
            "line 1, `never[1]`: expected a text",
            "line 4, `mcpServers.a.never`: expected a list of paths",
        ],
    );
    let advice = "a path begins at the root: write `user.email` for `$.user.email` and `/user/email`, and quote a name that begins so: `\"/user\"`";
    let why = "the path begins with a sign for the root";
    let refused: Vec<_> = (0..4)
        .map(|at| format!("line 1, `never[{at}]`: {why}; {advice}"))
        .collect();
    check(
        "never = ['$.user.email', '/user/email', ' $[0]', '$', '$ref', '\"/a\"', '\"$\".x', 'result.x']\n[mcpServers.a]\ncommand = 'x'\n",
        &refused.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
fn the_nearest_word_is_looked_for_among_few() {
    let check = |word: &str, known: &[&str], expected: Option<&str>| {
        assert_eq!(super::nearest(word, known.iter().copied()), expected);
    };
    check("wirte", &["read", "write"], Some("write"));
    let (longest, longer) = ("a".repeat(200), "a".repeat(201));
    check(&longest, &[&longest], Some(&longest));
    check(&longest, &[&longer], None);
    check(&longer, &[&longest], None);
    let other = "b".repeat(200);
    let mut many = vec![&*other; 1000];
    many.push(&longest);
    check(&longest, &many, None);
}

#[test]
fn views_are_chosen_by_client_and_by_server() {
    let read = |rest: &str| {
        let text = format!("view = \"ask\"\n[mcpServers.a]\ncommand = \"x\"\n{rest}");
        GatewayConfig::parse(&text, Format::Toml, &Sources::default())
    };
    let config = read(
        "view = \"auto\"\n[clients.\"My Bot\"]\nversion = \"1.*\"\nview = \"program\"\nreferences = false",
    )
    .unwrap();
    assert_eq!(config.view, ViewChoice::Always(crossfeed_wire::View::Ask));
    assert_eq!(config.servers[0].view, Some(ViewChoice::Auto));
    let bot = &config.clients[0];
    assert_eq!(
        (bot.name.as_str(), bot.version.as_deref()),
        ("My Bot", Some("1.*"))
    );
    assert!(!bot.references);
    for (wrong, says) in [
        (
            "previews = false",
            "`view = \"program\"` in place of `previews = false`",
        ),
        (
            "view = \"whole\"",
            "\"auto\" or \"model\" or \"program\" or \"ask\"",
        ),
        (
            "[clients.a]\nview = \"ask\"\n[clients.A]\nview = \"ask\"",
            "without regard to case",
        ),
        ("[clients.a]\nviews = \"ask\"", "unknown key"),
        (
            "[clients.\"\"]\nview = \"ask\"",
            "the name of the client is empty",
        ),
    ] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains(says), "{wrong}: {error}");
    }
}
