//! A server that takes tokens, the authorization server that makes them, and a browser that clicks.

use super::{
    store::{Login, Store},
    *,
};
use crate::{
    config::{Grant, OAuthConfig, ServerConfig, TransportConfig},
    message::{Id, Message},
    metrics::Metrics,
    private_file::TestDirectory,
    records::fake::LastingStore,
    upstream::{Event, Upstream, connector},
};
use async_trait::async_trait;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use crossfeed_store::ResultStore;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};
use tokio::sync::{Notify, mpsc};

/// What a test changes of how the world is.
#[derive(Clone, Default)]
struct World {
    /// Of the protected resource, over what it says.
    resource: Value,
    /// Of the authorization server, over what it says.
    issuer: Value,
    /// Beside the code, in the address the browser comes back to.
    callback: String,
    /// The token endpoint's answer, over what it says.
    token: Value,
    /// When a renewal is answered.
    refreshes: Option<Arc<Notify>>,
    /// What the server wants, of those who have a token.
    wants: &'static str,
}

struct Running {
    world: World,
    base: Mutex<String>,
    /// What came, by path, with what it said.
    seen: Mutex<Vec<(String, Value)>>,
    /// The token that is good.
    token: Mutex<u32>,
    /// A renewal was asked for.
    refreshing: Notify,
}

type Shared = State<Arc<Running>>;

impl Running {
    fn base(&self) -> String {
        self.base.lock().clone()
    }

    fn see(&self, path: &str, said: Value) {
        self.seen.lock().push((path.to_owned(), said));
    }

    fn seen(&self, path: &str) -> Vec<Value> {
        let seen = self.seen.lock();
        let of = seen.iter().filter(|(at, _)| at == path);
        of.map(|(_, said)| said.clone()).collect()
    }

    fn bearer(&self) -> String {
        format!("Bearer token-{}", self.token.lock())
    }
}

fn over(mut said: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().into_iter().flatten() {
        said[name] = value.clone();
    }
    said
}

fn json_of(said: &Value) -> Response {
    ([("content-type", "application/json")], said.to_string()).into_response()
}

async fn mcp(State(running): Shared, headers: HeaderMap, body: Bytes) -> Response {
    let token = headers
        .get("authorization")
        .map(|value| value.to_str().unwrap().to_owned());
    running.see("mcp", json!(token));
    let base = running.base();
    let challenge = |rest: String| {
        let metadata = format!(r#"resource_metadata="{base}/metadata""#);
        [("www-authenticate", format!("Bearer {metadata}{rest}"))]
    };
    if token.as_deref() != Some(&running.bearer()) {
        return (
            StatusCode::UNAUTHORIZED,
            challenge(r#", scope="read""#.into()),
        )
            .into_response();
    }
    if !running.world.wants.is_empty() {
        let rest = format!(
            r#", error="insufficient_scope", scope="{}""#,
            running.world.wants
        );
        return (StatusCode::FORBIDDEN, challenge(rest)).into_response();
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    json_of(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {}}))
}

async fn metadata(State(running): Shared) -> Response {
    let base = running.base();
    let said =
        json!({"resource": format!("{base}/mcp"), "authorization_servers": [format!("{base}/as")]});
    json_of(&over(said, &running.world.resource))
}

async fn issuer(State(running): Shared) -> Response {
    let base = running.base();
    let said = json!({
        "issuer": format!("{base}/as"),
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "code_challenge_methods_supported": ["S256"],
    });
    json_of(&over(said, &running.world.issuer))
}

async fn register(State(running): Shared, body: Bytes) -> Response {
    running.see("register", serde_json::from_slice(&body).unwrap());
    json_of(&json!({"client_id": "client-1"}))
}

async fn token(State(running): Shared, headers: HeaderMap, body: Bytes) -> Response {
    let pairs = oauth2::url::form_urlencoded::parse(&body).into_owned();
    let mut said: HashMap<String, String> = pairs.collect();
    if let Some(header) = headers.get("authorization") {
        said.insert(
            "authorization".to_owned(),
            header.to_str().unwrap().to_owned(),
        );
    }
    running.see("token", json!(said));
    let number = {
        let mut number = running.token.lock();
        *number += 1;
        *number
    };
    if said["grant_type"] == "refresh_token" {
        running.refreshing.notify_one();
        if let Some(refreshes) = &running.world.refreshes {
            refreshes.notified().await;
        }
    }
    let answer = json!({
        "access_token": format!("token-{number}"),
        "token_type": "Bearer",
        "refresh_token": format!("refresh-{number}"),
        "expires_in": 3600,
    });
    let answer = over(answer, &running.world.token);
    let status = if answer.get("error").is_some() {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    };
    (status, json_of(&answer)).into_response()
}

/// The person clicks: the browser goes where it is sent, and comes back.
struct Person(Arc<Running>);

#[async_trait]
impl Browser for Person {
    async fn open(&self, address: &str) -> io::Result<()> {
        let url = reqwest::Url::parse(address).unwrap();
        let said: HashMap<_, _> = url.query_pairs().into_owned().collect();
        self.0.see("authorize", json!(said));
        let mut back = reqwest::Url::parse(&said["redirect_uri"]).unwrap();
        let callback = self.0.world.callback.replace("BASE", &self.0.base());
        let client = crate::upstream::http::wire::client(false).unwrap();
        tokio::spawn(async move {
            // Somebody else comes first, who knows no state.
            back.set_query(Some("code=stolen&state=guessed"));
            assert_eq!(client.get(back.clone()).send().await.unwrap().status(), 400);
            back.set_query(Some(&format!("{callback}&state={}", said["state"])));
            assert_eq!(client.get(back).send().await.unwrap().status(), 200);
        });
        Ok(())
    }
}

struct Scene {
    running: Arc<Running>,
    server: ServerConfig,
    directory: TestDirectory,
    url: String,
}

async fn scene(world: World, oauth: OAuthConfig) -> Scene {
    let mut world = world;
    if world.callback.is_empty() {
        world.callback = "code=c".to_owned();
    }
    let running = Arc::new(Running {
        world,
        base: Mutex::default(),
        seen: Mutex::default(),
        token: Mutex::default(),
        refreshing: Notify::new(),
    });
    let router = Router::new()
        .route("/mcp", post(mcp))
        .route("/metadata", get(metadata))
        .route("/.well-known/oauth-authorization-server/as", get(issuer))
        .route("/register", post(register))
        .route("/token", post(token))
        .with_state(Arc::clone(&running));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    running.base.lock().clone_from(&base);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let directory = TestDirectory::new();
    let url = format!("{base}/mcp");
    let transport = TransportConfig::Http {
        url: url.clone(),
        from_variables: Vec::new(),
        insecure: false,
        headers: BTreeMap::new(),
        oauth: Some(OAuthConfig {
            directory: Some(directory.0.clone()),
            ..oauth
        }),
    };
    Scene {
        running,
        server: ServerConfig::new("zoo", transport),
        directory,
        url,
    }
}

impl Scene {
    async fn login(&self) -> Result<(), LoginError> {
        self.login_over(None).await
    }

    async fn login_over(&self, store: Option<&Arc<LastingStore>>) -> Result<(), LoginError> {
        let store = store.map(|store| Arc::clone(store) as Arc<dyn ResultStore>);
        let person = Person(Arc::clone(&self.running));
        login(&self.server, &person, Ok(store.as_ref())).await
    }

    fn store(&self) -> Store {
        Store::new(&self.directory.0, "zoo", &self.url)
    }

    fn kept(&self) -> Login {
        self.store().read().unwrap().unwrap()
    }

    async fn call(&self) -> String {
        self.call_over(&self.directory, None).await
    }

    /// Calls from a gateway with these files and this store.
    async fn call_over(&self, files: &TestDirectory, store: Option<&Arc<LastingStore>>) -> String {
        let mut server = self.server.clone();
        if let TransportConfig::Http {
            oauth: Some(oauth), ..
        } = &mut server.transport
        {
            oauth.directory = Some(files.0.clone());
        }
        let store = store.map(|store| Arc::clone(store) as Arc<dyn ResultStore>);
        let connector = connector(
            &server,
            &Default::default(),
            &BTreeMap::new(),
            &Metrics::new(),
            store.as_ref(),
        )
        .unwrap();
        let (sender, mut events) = mpsc::channel(4);
        let upstream: Arc<dyn Upstream> = connector.connect(sender).await.unwrap();
        let message = Message::request(&Id::number(1), "m", None);
        upstream.send(message, &[]).await.unwrap();
        match events.recv().await.unwrap() {
            Event::Message { message, .. } => String::from_utf8_lossy(&message.to_bytes()).into(),
            Event::Failed { error, .. } => error.to_string(),
            Event::Returned { .. } => "it came back".to_owned(),
            Event::Closed(error) => panic!("{error}"),
        }
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

const ANSWER: &str = r#"{"id":1,"jsonrpc":"2.0","result":{}}"#;

fn is_answer(said: &str) -> bool {
    serde_json::from_str::<Value>(said).ok() == serde_json::from_str(ANSWER).ok()
}

#[test]
fn who_has_logged_in_is_let_in() {
    run(async {
        let scene = scene(World::default(), OAuthConfig::default()).await;
        let said = scene.call().await;
        assert_eq!(
            said,
            "the server refuses: HTTP 401: it wants to know who asks: run `crossfeed gateway --login zoo` with the same `--config` or `--url`"
        );
        scene.login().await.unwrap();
        let said = scene.call().await;
        assert!(is_answer(&said), "{said}");

        let [registered] = &scene.running.seen("register")[..] else {
            panic!()
        };
        assert_eq!(registered["token_endpoint_auth_method"], "none");
        let [asked] = &scene.running.seen("authorize")[..] else {
            panic!()
        };
        assert_eq!(registered["redirect_uris"], json!([asked["redirect_uri"]]));
        assert_eq!(asked["scope"], "read");
        assert_eq!(asked["resource"], json!(scene.url));
        assert_eq!(asked["code_challenge_method"], "S256");
        let [token] = &scene.running.seen("token")[..] else {
            panic!()
        };
        assert_eq!(token["code"], "c");
        assert_eq!(token["client_id"], "client-1");
        assert_eq!(token["resource"], json!(scene.url));
        let verifier = token["code_verifier"].as_str().unwrap();
        let challenge = oauth2::PkceCodeChallenge::from_code_verifier_sha256(
            &oauth2::PkceCodeVerifier::new(verifier.to_owned()),
        );
        assert_eq!(asked["code_challenge"], challenge.as_str());
    });
}

#[cfg(unix)]
#[test]
fn tokens_are_for_nobody_else() {
    use std::os::unix::fs::PermissionsExt;
    run(async {
        let scene = scene(World::default(), OAuthConfig::default()).await;
        scene.login().await.unwrap();
        let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&scene.directory.0), 0o700);
        let files: Vec<_> = fs::read_dir(&scene.directory.0).unwrap().collect();
        let [Ok(file)] = &files[..] else {
            panic!("{files:?}")
        };
        assert_eq!(mode(&file.path()), 0o600);
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        let said = scene.call().await;
        assert!(said.contains("others may read it"), "{said}");
        let unread = scene.login().await.unwrap_err().to_string();
        assert!(unread.contains("others may read it"), "{unread}");
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&scene.directory.0, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(matches!(scene.login().await, Err(LoginError::Store(_))));
    });
}

#[test]
fn a_token_that_is_over_is_renewed_once_and_kept() {
    run(async {
        let scene = scene(World::default(), OAuthConfig::default()).await;
        scene.login().await.unwrap();
        // Over by its time.
        let mut kept = scene.kept();
        kept.expires_at = Some(1);
        scene.store().write(&kept).unwrap();
        assert!(is_answer(&scene.call().await));
        assert_eq!(scene.kept().access_token.as_deref(), Some("token-2"));
        // Over because the server says so.
        *scene.running.token.lock() = 7;
        assert!(is_answer(&scene.call().await));
        let kept = scene.kept();
        assert_eq!(kept.access_token.as_deref(), Some("token-8"));
        assert_eq!(kept.refresh_token.as_deref(), Some("refresh-8"));
        let tokens = scene.running.seen("token");
        let refreshed: Vec<_> = tokens[1..]
            .iter()
            .map(|token| &token["refresh_token"])
            .collect();
        assert_eq!(refreshed, ["refresh-1", "refresh-2"]);
        assert!(
            tokens
                .iter()
                .all(|token| token["resource"] == json!(scene.url))
        );
    });
}

#[test]
fn what_cannot_be_renewed_takes_a_login() {
    run(async {
        let world = World {
            token: json!({"refresh_token": null, "access_token": "other"}),
            ..World::default()
        };
        let scene = scene(world, OAuthConfig::default()).await;
        scene.login().await.unwrap();
        let said = scene.call().await;
        assert_eq!(
            said,
            "the server refuses: its token is over: run `crossfeed gateway --login zoo` with the same `--config` or `--url`"
        );
        let mut kept = scene.kept();
        kept.refresh_token = Some("r".to_owned());
        scene.store().write(&kept).unwrap();
        let said = scene.call().await;
        assert_eq!(
            said,
            "the server refuses: HTTP 401: a new token did not help"
        );
    });
}

#[test]
fn more_scopes_are_asked_for_by_the_next_login() {
    for (configured, expected) in [(&[][..], "read write"), (&["own".to_owned()], "own write")] {
        run(async {
            let world = World {
                wants: "write",
                ..World::default()
            };
            let oauth = OAuthConfig {
                scopes: configured.to_vec(),
                ..OAuthConfig::default()
            };
            let scene = scene(world, oauth).await;
            scene.login().await.unwrap();
            let said = scene.call().await;
            assert_eq!(
                said,
                "the server refuses: HTTP 403: it wants the scopes `write`: run `crossfeed gateway --login zoo` with the same `--config` or `--url`"
            );
            scene.login().await.unwrap();
            assert_eq!(scene.running.seen("authorize")[1]["scope"], expected);
        });
    }
}

#[test]
fn a_client_that_is_registered_says_who_it_is() {
    for (methods, by_header) in [
        (json!(["client_secret_basic", "client_secret_post"]), true),
        (json!(["client_secret_post"]), false),
    ] {
        run(async {
            let world = World {
                issuer: json!({
                    "registration_endpoint": null,
                    "token_endpoint_auth_methods_supported": methods,
                    "scopes_supported": ["offline_access"],
                }),
                ..World::default()
            };
            let oauth = OAuthConfig {
                client_id: Some("mine".to_owned()),
                client_secret: Some("secret".to_owned()),
                scopes: vec!["all".to_owned()],
                ..OAuthConfig::default()
            };
            let scene = scene(world, oauth).await;
            scene.login().await.unwrap();
            assert_eq!(
                scene.running.seen("authorize")[0]["scope"],
                "all offline_access"
            );
            let token = &scene.running.seen("token")[0];
            assert_eq!(token.get("authorization").is_some(), by_header);
            assert_eq!(token.get("client_secret").is_some(), !by_header);
        });
    }
}

#[test]
fn who_is_let_in_as_itself_needs_no_browser() {
    run(async {
        let world = World {
            // No person logs in there.
            issuer: json!({
                "authorization_endpoint": null,
                "code_challenge_methods_supported": [],
                "scopes_supported": ["offline_access"],
            }),
            token: json!({"refresh_token": null}),
            ..World::default()
        };
        let oauth = OAuthConfig {
            grant: Grant::ClientCredentials,
            client_id: Some("mine".to_owned()),
            client_secret: Some("secret".to_owned()),
            ..OAuthConfig::default()
        };
        let mut scene = scene(world, oauth).await;
        scene.login().await.unwrap();
        assert!(is_answer(&scene.call().await));
        // Over by its time, and then because the server says so.
        let mut kept = scene.kept();
        kept.expires_at = Some(1);
        scene.store().write(&kept).unwrap();
        assert!(is_answer(&scene.call().await));
        *scene.running.token.lock() = 7;
        assert!(is_answer(&scene.call().await));
        assert_eq!(scene.kept().access_token.as_deref(), Some("token-8"));
        let tokens = scene.running.seen("token");
        assert_eq!(tokens.len(), 3);
        for token in tokens {
            assert_eq!(token["grant_type"], "client_credentials");
            assert_eq!(token["authorization"], "Basic bWluZTpzZWNyZXQ=");
            assert_eq!(token["scope"], "read");
            assert_eq!(token["resource"], json!(scene.url));
        }
        assert!(scene.running.seen("authorize").is_empty());
        assert!(scene.running.seen("register").is_empty());
        // It is not used where a person is meant to log in.
        let transport = TransportConfig::Http {
            url: scene.url.clone(),
            from_variables: Vec::new(),
            insecure: false,
            headers: BTreeMap::new(),
            oauth: Some(OAuthConfig {
                directory: Some(scene.directory.0.clone()),
                ..OAuthConfig::default()
            }),
        };
        scene.server = ServerConfig::new("zoo", transport);
        let said = scene.call().await;
        assert!(said.contains("of another `grant`"), "{said}");
        assert_eq!(scene.running.seen("token").len(), 3);
    });
}

#[track_caller]
fn check(world: World, expected: &str) {
    let error = run(async {
        let scene = scene(world, OAuthConfig::default()).await;
        let error = scene.login().await.unwrap_err().to_string();
        assert!(scene.store().read().unwrap().is_none());
        error.replace(&scene.running.base(), "BASE")
    });
    assert_eq!(error, expected);
}

#[test]
fn what_is_not_sound_is_no_login() {
    let other = World {
        resource: json!({"resource": "https://example.com/mcp"}),
        ..World::default()
    };
    check(
        other,
        "the server's protected-resource metadata names `https://example.com/mcp`, which is another server",
    );
    let other = World {
        issuer: json!({"issuer": "https://example.com"}),
        ..World::default()
    };
    check(
        other,
        "the authorization server's metadata names `https://example.com`, which is another issuer",
    );
    let none = World {
        issuer: json!({"code_challenge_methods_supported": ["plain"]}),
        ..World::default()
    };
    check(
        none,
        "the authorization server does not take PKCE with S256, and nothing less is safe",
    );
    let open = World {
        issuer: json!({"token_endpoint": "http://example.com/token"}),
        ..World::default()
    };
    check(
        open,
        "the authorization server's endpoint cannot be used: its address is neither https nor on this computer",
    );
    let closed = World {
        issuer: json!({"registration_endpoint": null}),
        ..World::default()
    };
    check(
        closed,
        "the authorization server does not register clients: register one there, and put its `clientId` into the configuration's `oauth`",
    );
    let refused = World {
        callback: "error=access_denied".to_owned(),
        ..World::default()
    };
    check(refused, "the login was refused: `access_denied`");
    let denied = World {
        token: json!({"error": "invalid_grant", "error_description": "secret"}),
        ..World::default()
    };
    check(
        denied,
        "no token: the authorization server answered with `invalid_grant`",
    );
    let open = World {
        issuer: json!({"authorization_endpoint": "http://example.com/authorize"}),
        ..World::default()
    };
    check(
        open,
        "the authorization server's endpoint cannot be used: its address is neither https nor on this computer",
    );
    let nowhere = World {
        issuer: json!({"authorization_endpoint": null}),
        ..World::default()
    };
    check(
        nowhere,
        "cannot fetch the authorization server's metadata: it has no readable text",
    );
    // As if it was not there: the other places are asked, which know nothing.
    let long = World {
        issuer: json!({"more": "x".repeat(2 << 20)}),
        ..World::default()
    };
    check(
        long,
        "cannot fetch the authorization server's metadata: HTTP 404",
    );
    for callback in ["code=c&iss=https://example.com", "code=c&iss=BASE/as/"] {
        let wrong = World {
            callback: callback.to_owned(),
            ..World::default()
        };
        check(
            wrong,
            "the answer does not come from the authorization server that was asked",
        );
    }
    let missing = World {
        issuer: json!({"authorization_response_iss_parameter_supported": true}),
        ..World::default()
    };
    check(
        missing,
        "the answer does not come from the authorization server that was asked",
    );
}

#[test]
fn an_issuer_that_says_who_it_is_is_believed() {
    run(async {
        let world = World {
            issuer: json!({"authorization_response_iss_parameter_supported": true}),
            callback: "code=c&iss=BASE/as".to_owned(),
            ..World::default()
        };
        let scene = scene(world, OAuthConfig::default()).await;
        scene.login().await.unwrap();
        assert_eq!(scene.kept().issuer, format!("{}/as", scene.running.base()));
    });
}

#[test]
fn a_child_process_has_no_login() {
    let transport = TransportConfig::Stdio {
        command: "x".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    let error = run(async {
        let nobody = scene(World::default(), OAuthConfig::default())
            .await
            .running;
        login(
            &ServerConfig::new("s", transport),
            &Person(nobody),
            Ok(None),
        )
        .await
    });
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "`s` has no login: it is a child process");
}

#[test]
fn who_gives_up_does_not_lose_the_login() {
    run(async {
        let refreshes = Arc::new(Notify::new());
        let world = World {
            refreshes: Some(Arc::clone(&refreshes)),
            ..World::default()
        };
        let scene = scene(world, OAuthConfig::default()).await;
        scene.login().await.unwrap();
        let mut kept = scene.kept();
        kept.expires_at = Some(1);
        scene.store().write(&kept).unwrap();
        let connector = connector(
            &scene.server,
            &Default::default(),
            &BTreeMap::new(),
            &Metrics::new(),
            None,
        )
        .unwrap();
        let (sender, mut events) = mpsc::channel(4);
        let upstream: Arc<dyn Upstream> = connector.connect(sender).await.unwrap();
        let request = |id| Message::request(&Id::number(id), "m", None);
        upstream.send(request(1), &[]).await.unwrap();
        scene.running.refreshing.notified().await;
        upstream.abandon(&Id::number(1)).await;
        // The next one comes behind the renewal.
        upstream.send(request(2), &[]).await.unwrap();
        refreshes.notify_one();
        let answer = events.recv().await.unwrap();
        assert!(matches!(answer, Event::Message { .. }), "{answer:?}");
        assert_eq!(scene.kept().refresh_token.as_deref(), Some("refresh-2"));
        assert_eq!(scene.running.seen("token").len(), 2);
    });
}

#[test]
fn another_authorization_server_is_not_trusted() {
    run(async {
        let pinned = OAuthConfig {
            issuer: Some("https://login.example".to_owned()),
            client_id: Some("mine".to_owned()),
            client_secret: Some("secret".to_owned()),
            ..OAuthConfig::default()
        };
        let pinned = scene(World::default(), pinned).await;
        let error = pinned.login().await.unwrap_err();
        assert!(matches!(error, LoginError::NewIssuer { .. }), "{error}");
        assert!(pinned.running.seen("token").is_empty());

        let scene = scene(World::default(), OAuthConfig::default()).await;
        scene.login().await.unwrap();
        scene.login().await.unwrap();
        let mut kept = scene.kept();
        kept.issuer = "https://login.example".to_owned();
        scene.store().write(&kept).unwrap();
        let error = scene.login().await.unwrap_err();
        assert!(matches!(error, LoginError::NewIssuer { .. }), "{error}");
        assert_eq!(scene.running.seen("token").len(), 2);
    });
}

#[test]
fn a_login_reaches_gateways_that_do_not_have_its_file() {
    run(async {
        let scene = scene(World::default(), OAuthConfig::default()).await;
        let (store, elsewhere) = (LastingStore::new(), TestDirectory::new());
        scene.login_over(Some(&store)).await.unwrap();
        let said = scene.call_over(&elsewhere, Some(&store)).await;
        assert!(is_answer(&said), "{said}");
        // The next one, too, though the clock of the machine before was ahead.
        let mut before = scene.kept();
        before.logged_in_at = before.logged_in_at.map(|at| at + 1_000);
        scene.store().write(&before).unwrap();
        let said = scene.call_over(&scene.directory, Some(&store)).await;
        assert!(is_answer(&said), "{said}");
        fs::remove_dir_all(&scene.directory.0).unwrap();
        scene.login_over(Some(&store)).await.unwrap();
        for directory in [&TestDirectory::new(), &elsewhere] {
            let said = scene.call_over(directory, Some(&store)).await;
            assert!(is_answer(&said), "{said}");
        }
        assert_eq!(scene.running.seen("token").len(), 2, "none was renewed");
        // The store does not answer: the file has the login at least, and a gateway takes it from there.
        store.is_away.store(true, Ordering::Relaxed);
        let error = scene.login_over(Some(&store)).await.unwrap_err();
        assert!(matches!(error, LoginError::NotShared(_)), "{error}");
        store.is_away.store(false, Ordering::Relaxed);
        for directory in [&scene.directory, &elsewhere] {
            let said = scene.call_over(directory, Some(&store)).await;
            assert!(is_answer(&said), "{said}");
        }
        assert_eq!(scene.running.seen("token").len(), 3, "none was renewed");
    });
}

#[test]
fn the_authorization_server_of_the_login_in_the_store_is_the_one() {
    run(async {
        let scene = scene(World::default(), OAuthConfig::default()).await;
        let store = LastingStore::new();
        let mut before = Login {
            issuer: "https://login.example".to_owned(),
            logged_in_at: Some(1),
            ..Login::default()
        };
        before.access_token = Some("access".to_owned());
        scene.store().write(&before).unwrap();
        scene.call_over(&scene.directory, Some(&store)).await;
        fs::remove_dir_all(&scene.directory.0).unwrap();
        let error = scene.login_over(Some(&store)).await.unwrap_err();
        assert!(matches!(error, LoginError::NewIssuer { .. }), "{error}");
        // While it cannot be read, no other is trusted, either.
        store.is_away.store(true, Ordering::Relaxed);
        let unread = scene.login_over(Some(&store)).await.unwrap_err();
        let person = Person(Arc::clone(&scene.running));
        let unreached = login(&scene.server, &person, Err("away".to_owned())).await;
        for error in [unread, unreached.unwrap_err()] {
            assert!(matches!(error, LoginError::UnknownIssuer { .. }), "{error}");
        }
        let asked = ["register", "authorize", "token"].map(|path| scene.running.seen(path));
        assert!(asked.concat().is_empty(), "{asked:?}");
    });
}

#[test]
fn a_login_that_cannot_be_read_may_have_been_at_another_authorization_server() {
    run(async {
        let scene = scene(World::default(), OAuthConfig::default()).await;
        let file = scene.store().path().to_owned();
        scene.store().write(&Login::default()).unwrap();
        fs::write(&file, "{").unwrap();
        for store in [None, Some(LastingStore::new())] {
            let error = scene.login_over(store.as_ref()).await.unwrap_err();
            assert!(
                matches!(error, LoginError::UnreadableLogin { .. }),
                "{error}"
            );
        }
        let asked = ["register", "authorize", "token"].map(|path| scene.running.seen(path));
        assert!(asked.concat().is_empty(), "{asked:?}");
        // The way out that the message names.
        fs::remove_file(&file).unwrap();
        scene.login_over(None).await.unwrap();
    });
}

#[test]
fn tokens_go_where_nobody_reads_them_on_the_way() {
    async fn check(url: &str, expected: bool) {
        let transport = TransportConfig::Http {
            url: url.to_owned(),
            from_variables: Vec::new(),
            insecure: false,
            headers: BTreeMap::from([("authorization".to_owned(), "Bearer x".to_owned())]),
            oauth: None,
        };
        let server = ServerConfig::new("zoo", transport);
        let connector = connector(
            &server,
            &Default::default(),
            &BTreeMap::new(),
            &Metrics::new(),
            None,
        )
        .unwrap();
        let (events, _) = mpsc::channel(1);
        let opened = connector.connect(events).await;
        assert_eq!(opened.is_ok(), expected, "{url}");
    }
    run(async {
        check("https://tools.example/mcp", true).await;
        check("http://127.0.0.1:1/mcp", true).await;
        check("http://localhost/mcp", true).await;
        check("http://tools.example/mcp", false).await;
        check("http://10.0.0.1/mcp", false).await;
        let mut scene = scene(World::default(), OAuthConfig::default()).await;
        if let TransportConfig::Http { url, .. } = &mut scene.server.transport {
            "http://tools.example/mcp".clone_into(url);
        }
        let error = scene.login().await.unwrap_err().to_string();
        assert_eq!(
            error,
            "`zoo` has no login: its `url` is neither https nor on this computer"
        );
    });
}

#[test]
fn two_processes_renew_once() {
    run(async {
        let refreshes = Arc::new(Notify::new());
        let world = World {
            refreshes: Some(Arc::clone(&refreshes)),
            ..World::default()
        };
        let scene = scene(world, OAuthConfig::default()).await;
        scene.login().await.unwrap();
        let mut kept = scene.kept();
        kept.expires_at = Some(1);
        scene.store().write(&kept).unwrap();
        let both = async { tokio::join!(scene.call(), scene.call()) };
        let release = async {
            // Of two renewals, both are answered.
            loop {
                scene.running.refreshing.notified().await;
                refreshes.notify_one();
            }
        };
        let (one, other) = tokio::select! {
            both = both => both,
            never = release => never,
        };
        assert!(is_answer(&one) && is_answer(&other), "{one} {other}");
        assert_eq!(scene.running.seen("token").len(), 2);
    });
}
