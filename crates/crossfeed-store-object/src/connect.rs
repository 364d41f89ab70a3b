//! Backends by their URLs and settings.

use crate::{ObjectOptions, directory::Directory};
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    client::{HttpClient, HttpConnector},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    memory::InMemory,
    path::Path,
};
use reqwest::Url;
use std::{error::Error, io, str::FromStr, sync::Arc, time::Duration};

const SCHEMES: &str = "`s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`, `file:///directory`, or `memory:`";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

const S3_SETTINGS: &[&str] = &[
    "access_key_id",
    "secret_access_key",
    "token",
    "region",
    "endpoint",
    "virtual_hosted_style_request",
    "unsigned_payload",
    "checksum_algorithm",
    "disable_bulk_delete",
    "request_payer",
    "s3_express",
    "server_side_encryption",
    "sse_kms_key_id",
    "sse_bucket_key_enabled",
    "sse_customer_key_base64",
    "web_identity_token_file",
    "role_arn",
    "role_session_name",
    "endpoint_url_sts",
    "container_credentials_relative_uri",
    "container_credentials_full_uri",
    "container_authorization_token_file",
    "metadata_endpoint",
    "imdsv1_fallback",
    "skip_signature",
    "allow_http",
    "proxy_url",
    "proxy_excludes",
];
const GOOGLE_SETTINGS: &[&str] = &[
    "service_account",
    "service_account_key",
    "application_credentials",
    "bearer_token",
    "base_url",
    "skip_signature",
    "allow_http",
    "proxy_url",
    "proxy_excludes",
];
const AZURE_SETTINGS: &[&str] = &[
    "account_name",
    "access_key",
    "sas_key",
    "bearer_token",
    "client_id",
    "client_secret",
    "tenant_id",
    "authority_host",
    "msi_endpoint",
    "object_id",
    "msi_resource_id",
    "federated_token_file",
    "endpoint",
    "use_emulator",
    "use_fabric_endpoint",
    "skip_signature",
    "allow_http",
    "proxy_url",
    "proxy_excludes",
];

/// Why a place for objects could not be opened. No message holds the value of a setting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The text is not a URL of a place for objects: `ftp://host`. It is not shown, since it may hold a password.
    #[error("the URL is not one of {SCHEMES}")]
    Url,
    /// The URL holds more than a place: `s3://key:secret@bucket`, `s3://bucket?region=x`.
    #[error(
        "the URL may have only a bucket and a prefix: give credentials and the like as settings"
    )]
    Extras,
    /// The backend has no such setting: `regoin`.
    #[error("unknown setting `{}`: known are {}", name.escape_debug(), known.join(", "))]
    UnknownSetting {
        /// The name as it was given.
        name: String,
        /// The names that there are.
        known: &'static [&'static str],
    },
    /// The endpoint is one without TLS, and that was not allowed.
    #[error(
        "the setting `{setting}` begins with `http://`: use `https://`, or set `allow_http` to `true`"
    )]
    Insecure {
        /// The setting that holds the URL.
        setting: String,
    },
    /// The backend refuses its settings: a key id without a secret.
    #[error("the settings cannot be used: {reason}")]
    Settings {
        /// What the backend says, unless it shows a secret.
        reason: String,
    },
    /// The directory was to be [there already](ObjectOptions::must_exist), and is missing or has nothing that was kept: its disk
    /// is not mounted.
    #[error(
        "the directory has nothing of what was kept there: mount its disk, or name another directory"
    )]
    Absent,
    /// The directory cannot be made, or not be written: `/proc/x`.
    #[error("the directory cannot be used")]
    Directory(#[source] io::Error),
}

/// A backend that was opened.
pub(crate) struct Backend {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// What stands before all names.
    pub(crate) prefix: Path,
    /// The URL, for people.
    pub(crate) label: String,
    /// Whether objects are listed in the order of their names.
    pub(crate) is_ordered: bool,
    pub(crate) directory: Option<Directory>,
}

/// Builds a backend from its settings. The builders have the same methods and no trait that says so.
macro_rules! build {
    ($builder:ident, $name:ident($bucket:ident), $settings:ident, $options:ident) => {{
        let mut builder = $builder::new()
            .with_client_options($settings.client()?)
            .with_retry(retries($options))
            .with_http_connector(Connector::of($options));
        for (key, value) in $settings.known() {
            builder = builder.with_config(key, value);
        }
        Arc::new($settings.built(builder.$name($bucket).build())?)
    }};
}

/// Opens what a URL names.
pub(crate) fn open(url: &str, options: &ObjectOptions) -> Result<Backend, OpenError> {
    let parsed = Url::parse(url).map_err(|_| OpenError::Url)?;
    let has_user = !parsed.username().is_empty() || parsed.password().is_some();
    if has_user
        || parsed.port().is_some()
        || parsed.query().is_some()
        || parsed.fragment().is_some()
    {
        return Err(OpenError::Extras);
    }
    let bucket = parsed.host_str().unwrap_or_default().to_owned();
    let mut is_ordered = true;
    let mut directory = None;
    let store: Arc<dyn ObjectStore> = match (parsed.scheme(), bucket.is_empty()) {
        ("s3", false) => {
            let settings = Settings::<AmazonS3ConfigKey>::of(options, S3_SETTINGS)?;
            // Its directories list in no order.
            is_ordered = !settings.is_true(&AmazonS3ConfigKey::S3Express);
            build!(AmazonS3Builder, with_bucket_name(bucket), settings, options)
        }
        ("gs", false) => {
            let settings = Settings::<GoogleConfigKey>::of(options, GOOGLE_SETTINGS)?;
            build!(
                GoogleCloudStorageBuilder,
                with_bucket_name(bucket),
                settings,
                options
            )
        }
        ("az", false) => {
            let settings = Settings::<AzureConfigKey>::of(options, AZURE_SETTINGS)?;
            build!(
                MicrosoftAzureBuilder,
                with_container_name(bucket),
                settings,
                options
            )
        }
        ("file", true) => {
            no_settings(options)?;
            let path = parsed.to_file_path().map_err(|()| OpenError::Url)?;
            if options.must_exist && !Directory::at(&path).is_there() {
                return Err(OpenError::Absent);
            }
            let (opened, files) = Directory::open(&path).map_err(OpenError::Directory)?;
            is_ordered = false;
            directory = Some(opened);
            Arc::new(files)
        }
        ("memory", true) => {
            no_settings(options)?;
            Arc::new(InMemory::new())
        }
        _ => return Err(OpenError::Url),
    };
    let prefix = match &directory {
        Some(_) => Path::default(),
        None => Path::from_url_path(parsed.path()).map_err(|_| OpenError::Url)?,
    };
    Ok(Backend {
        store,
        prefix,
        label: parsed.to_string(),
        is_ordered,
        directory,
    })
}

fn no_settings(options: &ObjectOptions) -> Result<(), OpenError> {
    match options.settings.keys().next() {
        None => Ok(()),
        Some(name) => Err(unknown(name, &[])),
    }
}

fn unknown(name: &str, known: &'static [&'static str]) -> OpenError {
    let name = name.to_owned();
    OpenError::UnknownSetting { name, known }
}

fn retries(options: &ObjectOptions) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: options.retries,
        retry_timeout: options.timeout,
    }
}

/// The settings of one backend.
struct Settings<'o, K> {
    given: Vec<(K, &'o str, &'o str)>,
}

impl<'o, K: FromStr + PartialEq + Clone> Settings<'o, K> {
    /// Reads settings, each of which must be one that is known.
    fn of(options: &'o ObjectOptions, known: &'static [&'static str]) -> Result<Self, OpenError> {
        let mut given = Vec::new();
        for (name, value) in &options.settings {
            let key = name.parse::<K>().ok().filter(|key| {
                let mut known = known.iter().flat_map(|name| name.parse::<K>().ok());
                known.any(|known| known == *key)
            });
            given.push((key.ok_or_else(|| unknown(name, known))?, &**name, &**value));
        }
        Ok(Self { given })
    }

    fn known(&self) -> impl Iterator<Item = (K, &'o str)> {
        let given = self.given.iter();
        given.map(|(key, _, value)| (key.clone(), *value))
    }

    fn is_true(&self, key: &K) -> bool {
        let mut given = self.given.iter();
        given.any(|(known, _, value)| known == key && *value == "true")
    }

    /// The options of the client, unless a server would be asked in the clear without being allowed to.
    fn client(&self) -> Result<ClientOptions, OpenError> {
        let allowed =
            |(_, name, value): &(K, &str, &str)| name.ends_with("allow_http") && *value == "true";
        let insecure = |(_, name, value): &&(K, &str, &str)| {
            (name.contains("endpoint") || name.contains("base_url")) && value.starts_with("http://")
                // The services of a machine that give credentials are never asked otherwise.
                && !name.contains("metadata") && !name.contains("msi")
        };
        match self.given.iter().find(insecure) {
            Some((_, name, _)) if !self.given.iter().any(allowed) => Err(OpenError::Insecure {
                setting: (*name).to_owned(),
            }),
            _ => Ok(ClientOptions::new()),
        }
    }

    /// What was built, or why not.
    fn built<T>(&self, built: object_store::Result<T>) -> Result<T, OpenError> {
        built.map_err(|error| {
            let mut innermost: &dyn Error = &error;
            while let Some(source) = innermost.source() {
                innermost = source;
            }
            let reason = innermost.to_string();
            let shows = |value: &str| {
                let parts = value.as_bytes().windows(8);
                value.len() >= 8
                    && parts
                        .into_iter()
                        .any(|part| contains(reason.as_bytes(), part))
            };
            let shows_any = self.given.iter().any(|(_, _, value)| shows(value));
            OpenError::Settings {
                reason: if shows_any {
                    "one has a value that is not valid".to_owned()
                } else {
                    reason
                },
            }
        })
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Makes HTTP clients whose TLS and time-outs are ours, and which take no proxy from the environment.
#[derive(Debug)]
struct Connector {
    timeout: Duration,
}

impl Connector {
    fn of(options: &ObjectOptions) -> Self {
        Self {
            timeout: options.timeout,
        }
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let setting = |key| options.get_config_value(&key);
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls().map_err(unusable)?)
            .https_only(setting(ClientConfigKey::AllowHttp).as_deref() != Some("true"))
            .user_agent(concat!("crossfeed/", env!("CARGO_PKG_VERSION")))
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(CONNECT_TIMEOUT.min(self.timeout / 2))
            // What stalls for so long can still be tried once more.
            .read_timeout(self.timeout * 2 / 3)
            .no_proxy();
        if let Some(url) = setting(ClientConfigKey::ProxyUrl) {
            let proxy = reqwest::Proxy::all(url).map_err(unusable)?;
            let excludes = setting(ClientConfigKey::ProxyExcludes).unwrap_or_default();
            builder = builder.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(&excludes)));
        }
        Ok(HttpClient::new(builder.build().map_err(unusable)?))
    }
}

fn unusable(error: impl Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic {
        store: "HTTP",
        source: Box::new(error),
    }
}

fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider))?;
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(builder.with_no_client_auth())
}
