//! Reads where results are kept.

use super::fields::{Field, FromField as _, nearest};
use crate::config::{Durability, StoreConfig, StoreLocation};
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

/// How long replicas are waited for unless the configuration says it.
const REPLICA_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) fn store(field: Field<'_>) -> Option<StoreConfig> {
    let mut fields = field.fields()?;
    let location = fields.require("url", ": where results are kept, like `sqlite:state`");
    let location = location.and_then(|field| location_of(&field));
    let is_redis = matches!(location, Some(StoreLocation::Redis(_)) | None);
    let is_sqlite = matches!(location, Some(StoreLocation::Sqlite(_)) | None);
    let mut of_redis = |key: &'static str| {
        let field = fields.take(key)?;
        if !is_redis {
            field.problem("only for a store on Redis");
            return None;
        }
        Some(field)
    };
    let username = of_redis("username").and_then(|field| field.text());
    let password = of_redis("password").and_then(|field| field.text());
    let password_file = of_redis("passwordFile").and_then(|field| {
        if password.is_some() {
            field.problem("there is a `password`, too: remove one of them");
        }
        path(&field, &field.text()?)
    });
    let tenant_bytes = of_redis("tenantBytes").and_then(|field| field.bytes());
    let tenant_results = of_redis("tenantResults").and_then(|field| usize::from_field(&field));
    let blobs = of_redis("blobs").and_then(|field| {
        let url = field.text()?;
        if url
            .split_once("://")
            .is_none_or(|(scheme, _)| scheme.is_empty())
        {
            field.problem("not a URL: write one like `s3://bucket/prefix`");
        }
        Some(url)
    });
    let settings = of_redis("blobSettings").and_then(|field| {
        if blobs.is_none() {
            field.problem("there are no `blobs` that it is for");
        }
        let settings = field.table()?.into_iter();
        let settings = settings.filter_map(|(name, field)| Some((name.to_owned(), field.text()?)));
        Some(settings.collect())
    });
    let durability = fields.take("durability");
    let durability = durability.and_then(|field| durability_of(field, is_sqlite, is_redis));
    fields.finish();
    Some(StoreConfig {
        location: location?,
        username,
        password,
        password_file,
        durability,
        tenant_bytes,
        tenant_results,
        blobs,
        blob_settings: settings.unwrap_or_default(),
    })
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

/// A path that begins at the configuration's directory.
fn path(field: &Field<'_>, text: &str) -> Option<PathBuf> {
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
    let within = fields.get("within").unwrap_or(REPLICA_TIMEOUT);
    fields.finish();
    let number = NonZeroUsize::new(number?)?;
    Some(Durability::Replicas { number, within })
}
