//! The manifests in `deploy/`: the configuration in them is valid, and addresses, ports and paths agree.

use crossfeed_gateway::config::{
    ConfigError, Format, GatewayConfig, Secret, Sources, StoreLocation,
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    fs::read_to_string(path.join(name)).unwrap()
}

/// The text below a line that ends with `|`, without its indentation.
fn block<'t>(text: &'t str, key: &str) -> String {
    let start = format!("{key}: |");
    let mut lines = text.lines().skip_while(|line| line.trim() != start);
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(lines.next().unwrap());
    let lines: Vec<&'t str> = lines
        .take_while(|line| line.is_empty() || depth(line) > own)
        .collect();
    let indent = depth(lines[0]);
    let lines = lines
        .iter()
        .map(|line| line.get(indent..).unwrap_or_default());
    lines.map(|line| format!("{line}\n")).collect()
}

/// The value behind a key that stands once, wherever.
fn value<'t>(text: &'t str, key: &str) -> &'t str {
    let start = format!("{key}: ");
    let mut found = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("- ").unwrap_or(line).strip_prefix(&start)
    });
    let value = found.next().unwrap();
    assert!(found.next().is_none(), "{key} stands there once");
    value
}

fn parsed(variables: &[(&str, &str)]) -> Result<GatewayConfig, ConfigError> {
    let pairs = variables.iter();
    let environment = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let sources = Sources::default()
        .with_environment(environment.collect::<BTreeMap<_, _>>())
        .with_directory("/etc/crossfeed");
    GatewayConfig::parse(&file("gateway.toml"), Format::Toml, &sources)
}

const FILLED_IN: [(&str, &str); 5] = [
    ("POD_IP", "10.0.0.1"),
    ("AGENTS_TOKEN", "s3cret-s3cret-of-agents"),
    ("REDIS_PASSWORD", "s3cret"),
    ("S3_SECRET_KEY", "s3cret"),
    ("MCP_SERVER_URL", "https://mcp.example/mcp"),
];

#[test]
fn the_configuration_is_valid_and_the_same_everywhere() {
    let config = parsed(&FILLED_IN).unwrap();
    assert!(matches!(config.store.location, StoreLocation::Redis(_)));
    let key = |name: &str| {
        Some(Secret::File(PathBuf::from(format!(
            "/run/crossfeed/{name}"
        ))))
    };
    assert_eq!(config.id_keys, key("id-keys"));
    assert_eq!(config.store.blob_keys, key("blob-keys"));
    let manifest = file("kubernetes/gateway.yaml");
    assert_eq!(block(&manifest, "gateway.toml"), file("gateway.toml"));
}

#[test]
fn every_variable_is_set_and_every_file_is_there() {
    let config = file("gateway.toml");
    let variables = config.split("${").skip(1);
    let variables = variables.map(|rest| rest.split_once('}').unwrap().0);
    let mut variables: Vec<_> = variables.collect();
    let mut known = FILLED_IN.map(|(name, _)| name);
    variables.sort_unstable();
    known.sort_unstable();
    assert_eq!(variables, known);
    let (compose, gateway) = (file("compose.yaml"), file("kubernetes/gateway.yaml"));
    let secret = file("kubernetes/secret.yaml");
    for name in known {
        assert!(
            compose.contains(&format!("\n  {name}: ")) || name == "POD_IP",
            "{name}"
        );
        assert!(gateway.contains(&format!("- name: {name}\n")), "{name}");
    }
    assert_eq!(compose.matches("POD_IP: gateway-").count(), 2);
    let keys = gateway.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("- ")
            .unwrap_or(line)
            .strip_prefix("key: ")
    });
    let keys: Vec<_> = keys.collect();
    assert_eq!(keys.len(), 5);
    for key in keys {
        assert!(secret.contains(&format!("\n  {key}: ")), "{key}");
    }
    for name in ["id-keys", "blob-keys"] {
        assert!(config.contains(&format!("\"/run/crossfeed/{name}\"")));
        assert!(gateway.contains(&format!("path: {name}\n")), "{name}");
        assert!(compose.contains(&format!("> keys/{name}\n")), "{name}");
    }
    assert!(compose.contains("./keys:/run/crossfeed:ro"));
    assert!(gateway.contains("mountPath: /run/crossfeed\n"));
    for text in [&compose, &gateway] {
        assert!(text.contains("[gateway, --config, /etc/crossfeed/gateway.toml]"));
    }
}

#[test]
fn what_was_not_filled_in_does_not_start() {
    let secret = file("kubernetes/secret.yaml");
    let token = value(&secret, "agents-token");
    let filled_in = FILLED_IN.map(|(name, value)| match name {
        "AGENTS_TOKEN" => (name, token),
        _ => (name, value),
    });
    let error = parsed(&filled_in).unwrap_err();
    let at: Vec<_> = error
        .problems()
        .iter()
        .map(|problem| &*problem.at)
        .collect();
    assert_eq!(at, ["tokens.agents"]);
    for key in ["id-keys", "blob-keys"] {
        let keys = block(&secret, key);
        assert_eq!(keys, "2026-01 REPLACE_ME\n");
    }
}

#[test]
fn ports_and_paths_agree() {
    let listen = parsed(&FILLED_IN).unwrap().listen.unwrap();
    let port = listen.address.port();
    assert!(listen.address.ip().is_unspecified());
    let (compose, nginx) = (file("compose.yaml"), file("nginx.conf"));
    for replica in ["gateway-1", "gateway-2"] {
        assert!(compose.contains(&format!("\n  {replica}:\n")));
        assert!(nginx.contains(&format!("server {replica}:{port} ")));
        assert!(listen.hosts.iter().any(|host| host == replica));
    }
    assert!(nginx.contains(&format!("listen {port};")));
    assert!(compose.contains(&format!("\"127.0.0.1:{port}:{port}\"")));
    assert!(compose.contains(&format!("http://localhost:{port}{}", listen.path)));
    let gateway = file("kubernetes/gateway.yaml");
    assert_eq!(value(&gateway, "containerPort"), port.to_string());
    // That of the Service, beside those of probes, which name it.
    assert!(gateway.contains(&format!("      port: {port}\n      targetPort: http\n")));
    assert_eq!(gateway.matches("              port: http\n").count(), 3);
    assert!(gateway.contains(&format!("http://crossfeed:{port}{}", listen.path)));
    assert!(listen.hosts.iter().any(|host| host == "crossfeed"));
    let config = file("gateway.toml");
    for (service, port) in [("redis", 6379), ("s3", 8333)] {
        assert!(
            config.contains(&format!("://{service}:{port}\"")),
            "{service}"
        );
        assert!(compose.contains(&format!("\n  {service}:\n")), "{service}");
        let manifest = file(&format!("kubernetes/{service}.yaml"));
        assert_eq!(value(&manifest, "containerPort"), port.to_string());
        assert!(manifest.contains(&format!(
            "      port: {port}\n      targetPort: {service}\n"
        )));
    }
    assert!(config.contains("blobs = \"s3://crossfeed/"));
    for manifest in [&compose, &file("kubernetes/s3.yaml")] {
        assert!(manifest.contains("-bucket=crossfeed]"));
    }
}

#[test]
fn the_proxy_finds_replicas_and_closes_idle_connections_first() {
    let nginx = file("nginx.conf");
    for replica in ["gateway-1", "gateway-2"] {
        assert!(nginx.contains(&format!("server {replica}:8807 resolve ")));
    }
    assert!(nginx.contains("zone gateways 64k;"));
    assert!(nginx.contains("resolver 127.0.0.11 valid=5s;"));
    // `resolve` in an `upstream` needs 1.27.3, and that image is of a later version.
    assert!(file("compose.yaml").contains("image: nginx:1.28-"));
    // A gateway closes them after 30 s.
    assert!(nginx.contains("keepalive_timeout 20s;"));
    // Headers of 64 KiB (specs/gateway-transports.md).
    assert!(nginx.contains("large_client_header_buffers 4 64k;"));
    assert!(nginx.contains("proxy_buffer_size 64k;"));
}

#[test]
fn a_replica_has_time_to_end() {
    let config = parsed(&FILLED_IN).unwrap();
    assert!(config.listen.unwrap().advertise.is_some());
    let limits = config.limits;
    let seconds = |text: &str| text.trim_end_matches('s').parse::<u64>().unwrap();
    // Serving on (5 s with `listen.advertise`); `shutdown` for requests of clients, for their connections, and for calls
    // without a session; 10 s for sessions, and 15 s for connections to servers.
    let drain = limits.drain.map_or(5, |drain| drain.as_secs());
    let least = drain + 3 * limits.shutdown.as_secs() + 10 + 15;
    let compose = file("compose.yaml");
    assert!(seconds(value(&compose, "stop_grace_period")) > least);
    let gateway = file("kubernetes/gateway.yaml");
    let before = seconds(value(&gateway, "seconds"));
    assert!(seconds(value(&gateway, "terminationGracePeriodSeconds")) > before + least);
}
