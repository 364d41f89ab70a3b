use super::Client;
use crossfeed_wire::View;
use std::collections::HashSet;

/// The first name of the row that a client has, and its view.
fn check(name: &str, version: Option<&str>, expected: Option<(&str, View)>) {
    let found = Client::find(name, version).map(|client| (client.names[0], client.view));
    assert_eq!(found, expected, "{name} {version:?}");
}

#[test]
fn names_are_compared_without_case_and_a_star_stands_for_any_end() {
    check("zed", None, Some(("Zed", View::Model)));
    check("Claude Code", None, Some(("claude-code", View::Model)));
    check(
        "Visual Studio Code - Insiders",
        None,
        Some(("Visual Studio Code*", View::Model)),
    );
    check(
        "qwen-cli-mcp-client-Notes",
        None,
        Some(("qwen-cli-mcp-client*", View::Ask)),
    );
    check("openai-mcp/1.0.0", None, Some(("openai-mcp", View::Model)));
    for unknown in ["", "*", "zed2", "openai-mcp2", "visual studio", "mcp", "é"] {
        check(unknown, None, None);
    }
}

#[test]
fn what_a_proxy_appends_to_a_name_is_ignored() {
    check(
        "claude-ai (via mcp-remote 0.1.37)",
        None,
        Some(("claude-ai", View::Model)),
    );
    check("unknown (via claude-ai)", None, None);
    check(" (via mcp-remote 0.1.37)", None, None);
}

#[test]
fn a_row_with_a_version_is_about_no_other_version() {
    check("opencode", Some("2.0.1"), Some(("opencode", View::Program)));
    for other in [
        None,
        Some("1.18.21"),
        Some("20.1"),
        Some("0.0.0-beta-19378"),
        Some(""),
    ] {
        check("opencode", other, Some(("opencode", View::Ask)));
    }
    check(
        "claude-code",
        Some("2.1.0"),
        Some(("claude-code", View::Model)),
    );
}

#[test]
fn every_row_can_be_found() {
    for client in Client::ALL {
        let version = client.version.map(|pattern| pattern.replace('*', "0"));
        for pattern in client.names {
            for name in [pattern.replace('*', ""), pattern.replace('*', "-x")] {
                let found = Client::find(&name, version.as_deref());
                assert_eq!(found, Some(client), "{name}");
            }
        }
    }
}

#[test]
fn the_keys_of_conversations_are_those_of_the_clients() {
    let keys: HashSet<_> = Client::CONVERSATION_KEYS.into();
    assert_eq!(keys.len(), Client::CONVERSATION_KEYS.len());
    let used = Client::ALL.iter().filter_map(|client| client.conversation);
    assert_eq!(used.collect::<HashSet<_>>(), keys);
}

#[test]
fn a_client_whose_program_always_reads_is_named_with_the_versions_that_do() {
    // All that such a client's model could be shown comes whole, so the row must not fit by accident.
    for client in Client::ALL
        .iter()
        .filter(|client| client.view == View::Program)
    {
        let exact = client.names.iter().all(|name| !name.ends_with('*'));
        assert!(exact && client.version.is_some(), "{:?}", client.names);
    }
}

#[test]
fn a_profile_goes_with_a_name_and_not_with_a_version() {
    for client in Client::ALL {
        for name in client.names {
            let profile = Client::find(name, None).and_then(|found| found.profile);
            assert_eq!(profile, client.profile, "{name}");
        }
    }
}
