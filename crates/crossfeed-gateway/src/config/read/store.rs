//! Reads where results are kept.

use super::fields::{Field, Fields, FromField as _, nearest};
use crate::config::{Durability, Secret, StoreConfig, StoreLocation};
use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

/// The schemes of URLs of a store.
const SCHEMES: [&str; 8] = [
    "memory",
    "sqlite",
    "redis",
    "rediss",
    "redis+cluster",
    "rediss+cluster",
    "redis+sentinel",
    "rediss+sentinel",
];

/// The most bytes of a prefix: it is a part of each key.
const MAX_PREFIX_BYTES: usize = 64;

/// How long replicas are waited for unless the configuration says it.
const REPLICA_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_REPLICA_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn store(field: Field<'_>) -> Option<StoreConfig> {
    let mut fields = field.fields()?;
    let location = fields.require("url", ": where results are kept, like `sqlite:state`");
    let location = location.and_then(|field| location_of(&field));
    let is_redis = matches!(location, Some(StoreLocation::Redis(_)) | None);
    let is_sqlite = matches!(location, Some(StoreLocation::Sqlite(_)) | None);
    let redis = Part::of(is_redis, "a store on Redis");
    let scheme = match &location {
        Some(StoreLocation::Redis(url)) => url.split(':').next(),
        _ => None,
    };
    // What is wrong with the URL is said there.
    let has = |sign: fn(&str) -> bool| scheme.is_none_or(sign);
    let sentinels = redis.and(
        has(|scheme| scheme.ends_with("+sentinel")),
        "a store behind sentinels, whose URL begins with `redis+sentinel:`",
    );
    let tls = redis.and(
        has(|scheme| scheme.starts_with("rediss")),
        "a store over TLS, whose URL begins with `rediss`",
    );
    let prefix = redis
        .take(&mut fields, "prefix")
        .and_then(|field| prefix_of(&field));
    let username = redis
        .take(&mut fields, "username")
        .and_then(|field| field.text());
    let password = redis.secret(&mut fields, ["password", "passwordFile"]);
    let sentinel_password =
        sentinels.secret(&mut fields, ["sentinelPassword", "sentinelPasswordFile"]);
    let tls_roots = tls.file(&mut fields, "tlsRootsFile");
    let certificate = tls.file(&mut fields, "tlsCertificateFile");
    let key = tls.file(&mut fields, "tlsKeyFile");
    let tls_identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some([certificate, key]),
        (None, None) => None,
        (certificate, _) => {
            let missing = if certificate.is_some() {
                "tlsKeyFile"
            } else {
                "tlsCertificateFile"
            };
            fields.field.problem(format!(
                "`{missing}` is missing: a client's certificate has a key"
            ));
            None
        }
    };
    let tenant_bytes = redis
        .take(&mut fields, "tenantBytes")
        .and_then(|field| field.bytes());
    let tenant_results = redis
        .take(&mut fields, "tenantResults")
        .and_then(|field| usize::from_field(&field));
    let blobs = redis.take(&mut fields, "blobs").and_then(|field| {
        let url = field.text()?;
        if url
            .split_once("://")
            .is_none_or(|(scheme, _)| scheme.is_empty())
        {
            field.problem("not a URL: write one like `s3://bucket/prefix`");
        }
        Some(url)
    });
    let of_blobs = redis.and(blobs.is_some() || !is_redis, "`blobs`, which are not there");
    let blob_keys = of_blobs.secret(&mut fields, ["blobKeys", "blobKeysFile"]);
    let settings = of_blobs
        .take(&mut fields, "blobSettings")
        .and_then(|field| {
            let settings = field.table()?.into_iter();
            let settings =
                settings.filter_map(|(name, field)| Some((name.to_owned(), field.text()?)));
            Some(settings.collect())
        });
    let durability = fields.take("durability");
    let durability = durability.and_then(|field| durability_of(field, is_sqlite, is_redis));
    fields.finish();
    Some(StoreConfig {
        location: location?,
        prefix,
        username,
        password,
        sentinel_password,
        tls_roots,
        tls_identity,
        durability,
        tenant_bytes,
        tenant_results,
        blobs,
        blob_settings: settings.unwrap_or_default(),
        blob_keys,
    })
}

/// Keys that only some stores have.
#[derive(Clone, Copy)]
struct Part {
    is_there: bool,
    /// What has them.
    of: &'static str,
}

impl Part {
    fn of(is_there: bool, of: &'static str) -> Self {
        Self { is_there, of }
    }

    /// What only some of these have.
    fn and(self, is_there: bool, of: &'static str) -> Self {
        if self.is_there {
            Self::of(is_there, of)
        } else {
            self
        }
    }

    fn take<'a>(self, fields: &mut Fields<'a>, key: &'static str) -> Option<Field<'a>> {
        let field = fields.take(key)?;
        if !self.is_there {
            field.problem(format!("only for {}", self.of));
            return None;
        }
        Some(field)
    }

    fn file(self, fields: &mut Fields<'_>, key: &'static str) -> Option<PathBuf> {
        let field = self.take(fields, key)?;
        path(&field, &field.text()?)
    }

    /// A secret under one key, or its file under the other.
    fn secret(self, fields: &mut Fields<'_>, [key, file]: [&'static str; 2]) -> Option<Secret> {
        let found = [self.take(fields, key), self.take(fields, file)];
        secret(found, key)
    }
}

/// A secret, or its file; `key` is that of the secret itself.
pub(super) fn secret([text, file]: [Option<Field<'_>>; 2], key: &str) -> Option<Secret> {
    let text = text.and_then(|field| field.text());
    let file = file.and_then(|field| {
        if text.is_some() {
            field.problem(format!("`{key}` is set, too: remove one of them"));
        }
        path(&field, &field.text()?)
    });
    text.map(Secret::Text).or(file.map(Secret::File))
}

fn location_of(field: &Field<'_>) -> Option<StoreLocation> {
    let text = field.text()?;
    let Some((scheme, rest)) = text.split_once(':') else {
        field.problem("not a URL: write `sqlite:DIR`, `redis://HOST` or `memory:`");
        return None;
    };
    match scheme {
        "memory" if rest.is_empty() => Some(StoreLocation::Memory),
        "memory" => {
            field.problem("`memory:` has nothing behind it");
            None
        }
        "sqlite" => {
            let directory = rest.strip_prefix("//").unwrap_or(rest);
            path(field, directory).map(StoreLocation::Sqlite)
        }
        _ if SCHEMES.contains(&scheme) => Some(StoreLocation::Redis(text)),
        _ => {
            // The rest may be a secret, and so may this be where the URL was pasted elsewhere.
            let advice = match nearest(scheme, SCHEMES.into_iter()) {
                Some(near) => format!("did you mean `{near}:`?"),
                None => format!("known are {}", SCHEMES.join(", ")),
            };
            field.advise("unknown kind of store", Some(advice));
            None
        }
    }
}

/// The beginning of all keys. Braces would move sessions to other slots of a cluster.
fn prefix_of(field: &Field<'_>) -> Option<String> {
    let text = field.text()?;
    let is_sign = |sign: u8| sign.is_ascii_alphanumeric() || b".:_-".contains(&sign);
    if !(1..=MAX_PREFIX_BYTES).contains(&text.len()) || !text.bytes().all(is_sign) {
        field.problem(format!(
            "a prefix is 1 to {MAX_PREFIX_BYTES} letters, digits and signs of `.:_-`"
        ));
        return None;
    }
    Some(text)
}

/// A path that begins at the configuration's directory.
pub(super) fn path(field: &Field<'_>, text: &str) -> Option<PathBuf> {
    if text.is_empty() {
        field.problem("the path is empty");
        return None;
    }
    let directory = field.reader.sources.directory.as_ref();
    Some(directory.map_or_else(|| PathBuf::from(text), |directory| directory.join(text)))
}

fn durability_of(field: Field<'_>, is_sqlite: bool, is_redis: bool) -> Option<Durability> {
    if !is_sqlite && !is_redis {
        field.problem("only for a store that outlives the process");
        return None;
    }
    if field.node.entries().is_none() {
        let mut words = Vec::new();
        if is_sqlite {
            words.extend([
                ("process", Durability::Process),
                ("flushed", Durability::Flushed),
            ]);
        }
        if is_redis {
            words.push(("primary", Durability::Primary));
        }
        return field.word(&words);
    }
    if !is_redis {
        field.problem("only a store on Redis has replicas");
        return None;
    }
    let mut fields = field.fields()?;
    let number = fields.require("replicas", "");
    let number = number.and_then(|field| usize::from_field(&field));
    let within = fields
        .take("within")
        .map_or(Some(REPLICA_TIMEOUT), |field| {
            let within = Duration::from_field(&field)?;
            if within > MAX_REPLICA_TIMEOUT {
                field.problem("every write may wait for so long: at most `1 min`");
                return None;
            }
            Some(within)
        });
    fields.finish();
    let number = NonZeroUsize::new(number?)?;
    Some(Durability::Replicas {
        number,
        within: within?,
    })
}
