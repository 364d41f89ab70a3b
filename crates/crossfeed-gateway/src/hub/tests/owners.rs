//! Names belong to the server that they came from, whoever is away and whatever others list.

use super::fake::{ConnectionSet, Server, World};
use crate::{
    config::Prefix,
    message::Message,
    upstream::{Event, UpstreamError},
};
use std::{sync::atomic::Ordering, time::Duration};

const ALL: &str = r#"{"tools":{"listChanged":true},"prompts":{}}"#;

/// A bank, a weather service, and a client of both; names are prefixed where they collide.
struct Both {
    world: World,
    client: ConnectionSet,
    servers: Vec<Option<Server>>,
}

impl Both {
    async fn new() -> Self {
        let world = World::with(&["bank", "weather"], |config| {
            config.prefix = Prefix::Collisions;
        });
        let (client, servers) = world.begun(ALL).await;
        Self {
            world,
            client,
            servers: servers.into_iter().map(Some).collect(),
        }
    }

    fn weather(&mut self) -> &mut Server {
        self.servers[1].as_mut().unwrap()
    }

    async fn call(&self, name: &str) {
        let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
        self.client.request("tools/call", &params).await;
    }

    /// Answers what asks for the lists of those servers that are there.
    async fn lists(&mut self, kind: &str, names: [&[&str]; 2]) {
        for (server, names) in self.servers.iter_mut().zip(names) {
            if let Some(server) = server {
                let request = server.expect(&format!("{kind}/list")).await;
                server.answer(&request, &page(kind, names)).await;
            }
        }
    }

    async fn weather_changed(&mut self, kind: &str) {
        let method = format!("notifications/{kind}/list_changed");
        let changed = Message::notification(&method, None);
        self.weather().say(changed).await;
        // By then it is known.
        assert!(self.client.next().await.contains(&method));
    }

    /// The bank ends, and does not come back.
    async fn end_bank(&mut self) {
        self.world.fakes[0].is_down.store(true, Ordering::Relaxed);
        let bank = self.servers[0].take().unwrap();
        let over = UpstreamError::Ended("crashed".to_owned());
        bank.events.send(Event::Closed(over)).await.unwrap();
        bank.events.closed().await;
    }

    /// The bank is back.
    async fn bank_is_back(&mut self) {
        self.world.fakes[0].is_down.store(false, Ordering::Relaxed);
        let mut bank = self.world.server(0).await;
        bank.begin(ALL).await;
        bank.expect("notifications/initialized").await;
        self.servers[0] = Some(bank);
    }
}

fn page(kind: &str, names: &[&str]) -> String {
    let items: Vec<_> = names
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
        .collect();
    format!(r#"{{"{kind}":[{}]}}"#, items.join(","))
}

fn assert_bank_is_away(answer: &str) {
    let says = |part| answer.contains(part);
    assert!(says("upstream.unavailable") && says("bank"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_tool_stays_with_its_server_while_that_is_away() {
    let mut both = Both::new().await;
    both.client.request("tools/list", "{}").await;
    both.lists("tools", [&["transfer"], &["forecast"]]).await;
    both.client.answer().await;
    both.end_bank().await;
    both.weather_changed("tools").await;
    both.call("transfer").await;
    both.lists("tools", [&[], &["forecast", "transfer"]]).await;
    assert_bank_is_away(&both.client.answer().await);
    assert!(both.weather().is_quiet());
    // What comes second gets the prefix, and keeps it.
    both.client.request("tools/list", "{}").await;
    both.lists("tools", [&[], &["forecast", "transfer"]]).await;
    let list = both.client.answer().await;
    assert!(
        list.contains(r#""name":"weather__transfer""#) && !list.contains(r#""name":"transfer""#),
        "{list}"
    );
    both.bank_is_back().await;
    both.call("transfer").await;
    both.lists("tools", [&["transfer"], &["forecast", "transfer"]])
        .await;
    both.servers[0].as_mut().unwrap().expect("tools/call").await;
    assert!(both.weather().is_quiet());
}

#[tokio::test]
async fn a_name_that_was_not_listed_to_the_client_is_unknown() {
    let mut both = Both::new().await;
    both.client.request("tools/list", "{}").await;
    both.lists("tools", [&[], &["forecast"]]).await;
    both.client.answer().await;
    both.weather_changed("tools").await;
    both.call("transfer").await;
    both.lists("tools", [&[], &["forecast", "transfer"]]).await;
    let refused = both.client.answer().await;
    assert!(
        refused.contains("tool.unknown") && refused.contains("list the tools again"),
        "{refused}"
    );
    assert!(both.weather().is_quiet());
    both.client.request("tools/list", "{}").await;
    both.lists("tools", [&[], &["forecast", "transfer"]]).await;
    both.client.answer().await;
    both.call("transfer").await;
    both.weather().expect("tools/call").await;
}

#[tokio::test(start_paused = true)]
async fn names_of_a_client_that_never_lists_stay_as_well() {
    let mut both = Both::new().await;
    both.call("transfer").await;
    both.lists("tools", [&["transfer"], &[]]).await;
    both.servers[0].as_mut().unwrap().expect("tools/call").await;
    both.end_bank().await;
    // The bank had taken the call.
    let answer = both.client.answer().await;
    assert!(answer.contains("upstream.outcome_unknown"), "{answer}");
    both.weather_changed("tools").await;
    both.call("transfer").await;
    both.lists("tools", [&[], &["transfer", "new"]]).await;
    assert_bank_is_away(&both.client.answer().await);
    // It asks for no list, so it knows what was fetched for it.
    both.call("new").await;
    both.weather().expect("tools/call").await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_takes_no_tool_away() {
    let mut both = Both::new().await;
    both.client.request("tools/list", "{}").await;
    both.lists("tools", [&["transfer"], &["forecast"]]).await;
    both.client.answer().await;
    both.weather_changed("tools").await;
    both.call("transfer").await;
    let weather = both.weather();
    let list = weather.expect("tools/list").await;
    weather.answer(&list, &page("tools", &["transfer"])).await;
    let bank = both.servers[0].as_mut().unwrap();
    bank.expect("tools/list").await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    bank.expect("tools/call").await;
    assert!(both.weather().is_quiet());
}

#[tokio::test(start_paused = true)]
async fn a_prompt_stays_with_its_server_while_that_is_away() {
    let mut both = Both::new().await;
    both.client.request("prompts/list", "{}").await;
    both.lists("prompts", [&["review"], &["bank__review", "own"]])
        .await;
    let list = both.client.answer().await;
    assert!(list.contains(r#""name":"weather__bank__review""#), "{list}");
    both.end_bank().await;
    both.weather_changed("prompts").await;
    both.client
        .request("prompts/get", r#"{"name":"review"}"#)
        .await;
    assert_bank_is_away(&both.client.answer().await);
    both.client.request("prompts/list", "{}").await;
    both.lists("prompts", [&[], &["review", "bank__review", "own"]])
        .await;
    let list = both.client.answer().await;
    assert!(
        list.contains(r#""name":"weather__review""#)
            && list.contains(r#""name":"weather__bank__review""#),
        "{list}"
    );
    // One that nobody lists is shown to nobody.
    for method in ["prompts/get", "completion/complete"] {
        let params = r#"{"name":"secret","ref":{"type":"ref/prompt","name":"secret"}}"#;
        both.client.request(method, params).await;
        let refused = both.client.answer().await;
        assert!(refused.contains("-32602"), "{refused}");
    }
    assert!(both.weather().is_quiet());
}

#[tokio::test]
async fn every_name_carries_its_server_unless_it_is_chosen_otherwise() {
    let world = World::new(&["bank", "weather"]);
    let (client, mut servers) = world.begun(ALL).await;
    for kind in ["tools", "prompts"] {
        client.request(&format!("{kind}/list"), "{}").await;
        for (server, names) in servers.iter_mut().zip([&["transfer"][..], &["forecast"]]) {
            let request = server.expect(&format!("{kind}/list")).await;
            server.answer(&request, &page(kind, names)).await;
        }
        let list = client.answer().await;
        assert!(
            list.contains(r#""name":"bank__transfer""#)
                && list.contains(r#""name":"weather__forecast""#),
            "{list}"
        );
    }
    let params = r#"{"name":"bank__transfer"}"#;
    client.request("prompts/get", params).await;
    let get = servers[0].expect("prompts/get").await;
    assert_eq!(get.params().unwrap(), &br#"{"name":"transfer"}"#[..]);
    client.request("tools/call", params).await;
    let call = servers[0].expect("tools/call").await;
    assert_eq!(call.params().unwrap(), &br#"{"name":"transfer"}"#[..]);
    servers[0].answer(&call, r#"{"content":[]}"#).await;
    client.answer().await;
    client.request("tools/call", r#"{"name":"transfer"}"#).await;
    let refused = client.answer().await;
    assert!(
        refused.contains("tool.unknown") && refused.contains("did you mean `bank__transfer`?"),
        "{refused}"
    );
}
