//! Several gateways over one store, and an authorization server whose refresh tokens work once.

use super::{
    shared::LEASE,
    store::{Login, Store, unix_time_in},
};
use crate::{
    config::{Grant, OAuthConfig, ServerConfig, TransportConfig},
    message::{Id, Message},
    metrics::Metrics,
    private_file::TestDirectory,
    records::fake::LastingStore,
    upstream::{Connector, Event, connector},
};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use crossfeed_store::ResultStore;
use futures_util::future::join_all;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::mpsc;

/// What the authorization server knows: one family of tokens.
#[derive(Default)]
struct Family {
    /// The number of the refresh token that works, and of the access token that came with it.
    number: u32,
    /// The access token is over.
    is_over: bool,
    /// A refresh token was used twice: none works any more.
    is_revoked: bool,
    refreshes: u32,
    /// The server asks no one who they are.
    is_open: bool,
    /// The store that goes away as soon as a token is issued.
    takes_away: Option<Arc<LastingStore>>,
}

/// Renewals are further apart than here, and each token lives for longer than the one before.
fn lifetime(number: u32) -> u32 {
    3600 + 10 * number
}

type Shared = State<Arc<Mutex<Family>>>;

async fn mcp(State(family): Shared, headers: HeaderMap, body: Bytes) -> Response {
    let is_good = {
        let family = family.lock();
        let good = format!("Bearer access-{}", family.number);
        let sent = headers.get("authorization");
        let is_known =
            !family.is_over && sent.is_some_and(|sent| sent.as_bytes() == good.as_bytes());
        is_known || family.is_open
    };
    if !is_good {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {}});
    let kind = [("content-type", "application/json")];
    (kind, answer.to_string()).into_response()
}

async fn token(State(family): Shared, body: Bytes) -> Response {
    let said = String::from_utf8(body.to_vec()).unwrap();
    let answer = {
        let mut family = family.lock();
        family.refreshes += 1;
        family.is_revoked |= !said.contains(&format!("refresh-{}&", family.number))
            && !said.ends_with(&format!("refresh-{}", family.number));
        if family.is_revoked {
            None
        } else {
            family.number += 1;
            family.is_over = false;
            if let Some(store) = &family.takes_away {
                store.is_away.store(true, Ordering::Relaxed);
            }
            Some(family.number)
        }
    };
    tokio::time::sleep(Duration::from_millis(3)).await;
    let kind = [("content-type", "application/json")];
    match answer {
        Some(number) => {
            let answer = json!({
                "access_token": format!("access-{number}"),
                "token_type": "Bearer",
                "refresh_token": format!("refresh-{number}"),
                "expires_in": lifetime(number),
            });
            (kind, answer.to_string()).into_response()
        }
        None => {
            let refused = json!({"error": "invalid_grant"}).to_string();
            (StatusCode::BAD_REQUEST, kind, refused).into_response()
        }
    }
}

struct Scene {
    family: Arc<Mutex<Family>>,
    url: String,
    base: String,
    store: Arc<LastingStore>,
}

/// A gateway with files of its own.
struct Gateway {
    directory: TestDirectory,
    connector: Arc<dyn Connector>,
}

async fn scene() -> Scene {
    let family: Arc<Mutex<Family>> = Arc::default();
    let router = Router::new()
        .route("/mcp", post(mcp))
        .route("/token", post(token))
        .with_state(Arc::clone(&family));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Scene {
        family,
        url: format!("{base}/mcp"),
        base,
        store: LastingStore::new(),
    }
}

impl Scene {
    fn gateway(&self) -> Gateway {
        self.gateway_with(OAuthConfig::default())
    }

    fn gateway_with(&self, oauth: OAuthConfig) -> Gateway {
        let directory = TestDirectory::new();
        let connector = self.connector(&directory.0, oauth);
        Gateway {
            directory,
            connector,
        }
    }

    fn connector(&self, directory: &Path, oauth: OAuthConfig) -> Arc<dyn Connector> {
        self.connector_over(directory, oauth, true)
    }

    fn connector_over(
        &self,
        directory: &Path,
        oauth: OAuthConfig,
        has_store: bool,
    ) -> Arc<dyn Connector> {
        let transport = TransportConfig::Http {
            url: self.url.clone(),
            from_variables: Vec::new(),
            insecure: false,
            headers: BTreeMap::new(),
            oauth: Some(OAuthConfig {
                directory: Some(directory.to_owned()),
                ..oauth
            }),
        };
        let server = ServerConfig::new("zoo", transport);
        let store = Arc::clone(&self.store) as Arc<dyn ResultStore>;
        let metrics = Metrics::new();
        let limits = Default::default();
        let store = Some(&store).filter(|_| has_store);
        connector(&server, &limits, &BTreeMap::new(), &metrics, store).unwrap()
    }

    /// The gateway's process ends, and another begins with its files.
    fn restart(&self, gateway: &mut Gateway) {
        gateway.connector = self.connector(&gateway.directory.0, OAuthConfig::default());
    }

    /// Another gateway without a store that has the files of this one.
    fn beside(&self, gateway: &Gateway) -> Arc<dyn Connector> {
        self.connector_over(&gateway.directory.0, OAuthConfig::default(), false)
    }

    /// A gateway of a version that knows no `logged_in_at` and `renewals` renews the token, or a person logs in there.
    fn renew_as_before(&self, gateway: &Gateway, is_login: bool) {
        let number = {
            let mut family = self.family.lock();
            if let Some(login) = self.file(gateway).read().unwrap().filter(|_| !is_login) {
                let good = format!("refresh-{}", family.number);
                family.is_revoked |= login.refresh_token != Some(good);
            }
            family.number += 1;
            family.is_over = false;
            family.number
        };
        let login = self.login(number, None);
        self.file(gateway).write(&login).unwrap();
    }

    /// A person logs in at this gateway.
    fn log_in(&self, gateway: &Gateway, at: u64) {
        let number = {
            let mut family = self.family.lock();
            family.number += 1;
            family.is_revoked = false;
            family.number
        };
        let login = self.login(number, Some(at));
        self.file(gateway).write(&login).unwrap();
    }

    fn login(&self, number: u32, at: Option<u64>) -> Login {
        Login {
            resource: self.url.clone(),
            issuer: self.base.clone(),
            token_endpoint: format!("{}/token", self.base),
            client_id: "client".to_owned(),
            access_token: Some(format!("access-{number}")),
            refresh_token: Some(format!("refresh-{number}")),
            expires_at: Some(unix_time_in(Duration::from_secs(lifetime(number).into()))),
            logged_in_at: at,
            ..Login::default()
        }
    }

    fn file(&self, gateway: &Gateway) -> Store {
        Store::new(&gateway.directory.0, "zoo", &self.url)
    }
}

impl Gateway {
    async fn call(&self) -> Result<(), String> {
        call(&self.connector).await
    }
}

async fn call(connector: &Arc<dyn Connector>) -> Result<(), String> {
    let (sender, mut events) = mpsc::channel(4);
    let upstream = connector.connect(sender).await.unwrap();
    let message = Message::request(&Id::number(1), "m", None);
    upstream.send(message, &[]).await.unwrap();
    match events.recv().await.unwrap() {
        Event::Message { .. } => Ok(()),
        Event::Failed { error, .. } => Err(error.to_string()),
        other => Err(format!("{other:?}")),
    }
}

#[tokio::test]
async fn of_three_gateways_one_renews_each_time_and_all_go_on() {
    let scene = scene().await;
    let gateways = [(); 3].map(|()| scene.gateway());
    scene.log_in(&gateways[0], 1);
    gateways[0].call().await.unwrap();
    // The others have no file: they find the login in the store.
    for round in 1..=100 {
        scene.family.lock().is_over = true;
        let calls = gateways
            .iter()
            .flat_map(|gateway| [gateway.call(), gateway.call()]);
        for answer in join_all(calls).await {
            assert_eq!(answer, Ok(()), "round {round}");
        }
        let family = scene.family.lock();
        assert_eq!((family.refreshes, family.is_revoked), (round, false));
    }
    let keys = scene.store.keys("tokens");
    assert_eq!(keys.len(), 1);
    assert!(!keys[0].contains("zoo"));
}

#[tokio::test]
async fn a_later_login_at_one_gateway_reaches_the_others() {
    let scene = scene().await;
    let (one, other) = (scene.gateway(), scene.gateway());
    scene.log_in(&one, 1);
    one.call().await.unwrap();
    other.call().await.unwrap();
    // The family is lost, and a person logs in again, at the other.
    scene.family.lock().is_revoked = true;
    scene.family.lock().is_over = true;
    let refused = one.call().await.unwrap_err();
    assert!(refused.contains("--login zoo"), "{refused}");
    scene.log_in(&other, 2);
    scene.family.lock().is_over = false;
    other.call().await.unwrap();
    one.call().await.unwrap();
    // The store loses everything: what the files have is the latest.
    scene.store.lose_records();
    scene.family.lock().is_over = true;
    one.call().await.unwrap();
    other.call().await.unwrap();
    assert!(!scene.family.lock().is_revoked);
}

#[tokio::test]
async fn nothing_is_renewed_where_the_store_does_not_answer() {
    let scene = scene().await;
    let gateway = scene.gateway();
    scene.log_in(&gateway, 1);
    gateway.call().await.unwrap();
    scene.store.is_away.store(true, Ordering::Relaxed);
    gateway.call().await.unwrap();
    scene.family.lock().is_over = true;
    let refused = gateway.call().await.unwrap_err();
    assert!(refused.contains("its tokens are in the store"), "{refused}");
    assert_eq!(scene.family.lock().refreshes, 0);
    scene.store.is_away.store(false, Ordering::Relaxed);
    gateway.call().await.unwrap();
}

#[tokio::test]
async fn a_renewed_token_that_could_not_be_shared_is_used_and_shared_later() {
    for is_restarted in [false, true] {
        let scene = scene().await;
        let (mut one, other) = (scene.gateway(), scene.gateway());
        scene.log_in(&one, 1);
        one.call().await.unwrap();
        other.call().await.unwrap();
        let before = scene.file(&one).read().unwrap().unwrap();
        scene.family.lock().is_over = true;
        scene.family.lock().takes_away = Some(Arc::clone(&scene.store));
        one.call().await.unwrap();
        scene.family.lock().takes_away = None;
        scene.store.is_away.store(false, Ordering::Relaxed);
        tokio::time::pause();
        tokio::time::advance(LEASE).await;
        tokio::time::resume();
        if is_restarted {
            // Only its file has the token.
            scene.restart(&mut one);
        } else {
            // Only its memory has the token.
            scene.file(&one).write(&before).unwrap();
        }
        scene.family.lock().is_over = true;
        assert_eq!(one.call().await, Ok(()), "{is_restarted}");
        assert_eq!(other.call().await, Ok(()), "{is_restarted}");
        assert!(!scene.family.lock().is_revoked);
    }
}

#[tokio::test]
async fn an_old_file_does_not_replace_a_renewed_token() {
    let scene = scene().await;
    let (one, mut other) = (scene.gateway(), scene.gateway());
    scene.log_in(&one, 1);
    one.call().await.unwrap();
    other.call().await.unwrap();
    for _ in 0..2 {
        scene.family.lock().is_over = true;
        one.call().await.unwrap();
    }
    // The store loses everything, and the file that is two renewals old comes first.
    scene.store.lose_records();
    scene.restart(&mut other);
    scene.family.lock().is_open = true;
    other.call().await.unwrap();
    scene.family.lock().is_open = false;
    scene.family.lock().is_over = true;
    assert_eq!(one.call().await, Ok(()));
    assert_eq!(other.call().await, Ok(()));
    let family = scene.family.lock();
    assert_eq!((family.refreshes, family.is_revoked), (3, false));
}

#[tokio::test]
async fn servers_that_need_no_login_need_no_store() {
    let scene = scene().await;
    let (one, other) = (scene.gateway(), scene.gateway());
    scene.family.lock().is_open = true;
    scene.store.is_away.store(true, Ordering::Relaxed);
    assert_eq!(other.call().await, Ok(()));
    scene.store.is_away.store(false, Ordering::Relaxed);
    let before = scene.store.reads.load(Ordering::Relaxed);
    for answer in join_all((0..20).map(|_| one.call())).await {
        assert_eq!(answer, Ok(()));
    }
    assert_eq!(scene.store.reads.load(Ordering::Relaxed), before + 1);
    // Where the server wants to know who asks, it is looked up at once.
    scene.family.lock().is_open = false;
    scene.store.is_away.store(true, Ordering::Relaxed);
    let refused = other.call().await.unwrap_err();
    assert!(refused.contains("its tokens are in the store"), "{refused}");
    scene.store.is_away.store(false, Ordering::Relaxed);
    scene.log_in(&one, 1);
    assert_eq!(one.call().await, Ok(()));
    scene.family.lock().is_over = true;
    assert_eq!(other.call().await, Ok(()));
    assert_eq!(scene.family.lock().refreshes, 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_gateway_that_cannot_read_its_file_keeps_no_other_from_renewing() {
    use std::{fs, os::unix::fs::PermissionsExt};
    let scene = scene().await;
    let (one, other) = (scene.gateway(), scene.gateway());
    scene.log_in(&one, 1);
    one.call().await.unwrap();
    other.call().await.unwrap();
    for entry in fs::read_dir(&one.directory.0).unwrap() {
        let path = entry.unwrap().path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    scene.family.lock().is_over = true;
    let refused = one.call().await.unwrap_err();
    assert!(refused.contains("its tokens cannot be read"), "{refused}");
    let called = tokio::time::timeout(Duration::from_secs(10), other.call());
    assert_eq!(called.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn gateways_that_log_in_otherwise_share_no_login() {
    let scene = scene().await;
    let base = OAuthConfig::default();
    let one = scene.gateway_with(base.clone());
    scene.log_in(&one, 1);
    one.call().await.unwrap();
    for oauth in [
        OAuthConfig {
            issuer: Some("https://as.example".to_owned()),
            ..base.clone()
        },
        OAuthConfig {
            client_id: Some("https://as.example".to_owned()),
            ..base.clone()
        },
        OAuthConfig {
            grant: Grant::ClientCredentials,
            ..base.clone()
        },
    ] {
        let refused = scene.gateway_with(oauth).call().await.unwrap_err();
        assert!(refused.contains("wants to know who asks"), "{refused}");
    }
    assert_eq!(scene.gateway_with(base).call().await, Ok(()));
}

/// What happens during an upgrade.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A gateway of the version before, which has the files of the first, renews the token.
    RenewAsBefore,
    LogInAsBefore,
    LogIn,
    TokenIsOver,
    Restart,
    Call,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn gateways_of_the_version_before_renew_the_same_login(
        is_old in any::<bool>(),
        steps in prop::collection::vec(
            prop::sample::select(vec![
                Step::RenewAsBefore,
                Step::LogInAsBefore,
                Step::LogIn,
                Step::TokenIsOver,
                Step::Restart,
                Step::Call,
            ]),
            1..16,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(upgrade(is_old, &steps));
    }
}

async fn upgrade(is_old: bool, steps: &[Step]) {
    let scene = scene().await;
    let (one, mut other) = (scene.gateway(), scene.gateway());
    if is_old {
        scene.renew_as_before(&one, true);
    } else {
        scene.log_in(&one, 1);
    }
    for (at, step) in (2..).zip(steps) {
        // The file is as it was written last before the old gateway reads it.
        assert_eq!(one.call().await, Ok(()), "{step:?}");
        match step {
            Step::RenewAsBefore => scene.renew_as_before(&one, false),
            Step::LogInAsBefore => scene.renew_as_before(&one, true),
            Step::LogIn => scene.log_in(&one, at),
            Step::TokenIsOver => scene.family.lock().is_over = true,
            Step::Restart => scene.restart(&mut other),
            Step::Call => assert_eq!(other.call().await, Ok(())),
        }
        assert!(!scene.family.lock().is_revoked, "{step:?}");
    }
    assert_eq!(one.call().await, Ok(()));
    assert_eq!(other.call().await, Ok(()));
}

/// Whatever the lives of their tokens.
#[tokio::test]
async fn a_file_of_a_version_before_replaces_no_login_that_was_made_since() {
    for is_since in [true, false] {
        let scene = scene().await;
        let (one, other) = (scene.gateway(), scene.gateway());
        let mut old = scene.login(0, None);
        old.expires_at = Some(unix_time_in(Duration::from_secs(12 * 3600)));
        scene.file(&one).write(&old).unwrap();
        let minute = Duration::from_secs(60);
        let at = unix_time_in(minute) - if is_since { 0 } else { 120 };
        scene.log_in(&other, at);
        other.call().await.unwrap();
        let said = one.call().await;
        let kept = scene.file(&one).read().unwrap().unwrap();
        assert_eq!(kept.logged_in_at == Some(at), is_since, "{said:?}");
    }
}

#[tokio::test]
async fn a_gateway_without_a_store_renews_the_same_file() {
    let scene = scene().await;
    let one = scene.gateway();
    let beside = scene.beside(&one);
    scene.log_in(&one, 1);
    one.call().await.unwrap();
    call(&beside).await.unwrap();
    for round in 1..=40 {
        scene.family.lock().is_over = true;
        let (here, there) = tokio::join!(one.call(), call(&beside));
        assert_eq!((here, there), (Ok(()), Ok(())), "round {round}");
        let family = scene.family.lock();
        assert_eq!((family.refreshes, family.is_revoked), (round, false));
    }
}
