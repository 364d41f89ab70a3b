//! URLs of Redis servers, clusters, and sentinels.

use crate::options::{Address, Password, Servers};

/// Why a text is not the URL of a store. It does not show the URL, since that may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedisUrlError {
    /// `http://host`.
    #[error(
        "the URL of a Redis store begins with `redis://`, `rediss://`, `redis+cluster://`, `rediss+cluster://`, `redis+sentinel://` or `rediss+sentinel://`"
    )]
    Scheme,
    /// `redis://`, or `redis://host:x`.
    #[error(
        "the URL must name a host, or several separated by commas, each as `host` or `host:port`"
    )]
    Host,
    /// `redis://a,b`.
    #[error("a URL that names several hosts begins with `redis+cluster://` or `redis+sentinel://`")]
    SeveralHosts,
    /// `redis://host/x`.
    #[error(
        "a database is a number: `redis://host/0`, or `?db=0` for sentinels; a cluster has only database 0"
    )]
    Database,
    /// `redis+sentinel://host`.
    #[error(
        "the URL must name the primary that the sentinels watch: `redis+sentinel://host:26379/NAME`"
    )]
    Primary,
    /// `redis://%zz@host`.
    #[error(
        "the user and password in the URL must be UTF-8, with `%` escapes for special characters"
    )]
    Credentials,
    /// `redis://host?x=1`.
    #[error("the only parameter of the URL is `db`, for sentinels")]
    Parameter,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) servers: Servers,
    pub(crate) tls: bool,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Password>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Single,
    Cluster,
    Sentinel,
}

pub(crate) fn parse(text: &str) -> Result<Url, RedisUrlError> {
    let (scheme, rest) = text.split_once("://").ok_or(RedisUrlError::Scheme)?;
    let (tls, kind) = match scheme {
        "redis" => (false, Kind::Single),
        "rediss" => (true, Kind::Single),
        "redis+cluster" => (false, Kind::Cluster),
        "rediss+cluster" => (true, Kind::Cluster),
        "redis+sentinel" => (false, Kind::Sentinel),
        "rediss+sentinel" => (true, Kind::Sentinel),
        _ => return Err(RedisUrlError::Scheme),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (credentials, hosts) = match authority.rsplit_once('@') {
        Some((credentials, hosts)) => (Some(credentials), hosts),
        None => (None, authority),
    };
    let (username, password) = match credentials {
        None => (None, None),
        Some(text) => {
            let (user, password) = text.split_once(':').ok_or(RedisUrlError::Credentials)?;
            let user = Some(unescape(user)?).filter(|user| !user.is_empty());
            (user, Some(Password::new(unescape(password)?)))
        }
    };
    let port = if kind == Kind::Sentinel { 26379 } else { 6379 };
    let mut addresses = Vec::new();
    for host in hosts.split(',') {
        addresses.push(address(host, port)?);
    }
    if kind != Kind::Sentinel && query.is_some() {
        return Err(RedisUrlError::Parameter);
    }
    let number = |text: &str| text.parse::<u16>().map_err(|_| RedisUrlError::Database);
    let servers = match kind {
        Kind::Single => {
            let mut addresses = addresses.into_iter();
            let address = addresses.next().ok_or(RedisUrlError::Host)?;
            if addresses.next().is_some() {
                return Err(RedisUrlError::SeveralHosts);
            }
            let db = if path.is_empty() { 0 } else { number(path)? };
            Servers::Single {
                address,
                db: db.into(),
            }
        }
        Kind::Cluster if path.is_empty() || path == "0" => Servers::Cluster { nodes: addresses },
        Kind::Cluster => return Err(RedisUrlError::Database),
        Kind::Sentinel => {
            if path.is_empty() || path.contains('/') {
                return Err(RedisUrlError::Primary);
            }
            let db = match query {
                None => 0,
                Some(query) => number(query.strip_prefix("db=").ok_or(RedisUrlError::Parameter)?)?,
            };
            Servers::Sentinel {
                sentinels: addresses,
                primary: unescape(path)?,
                db: db.into(),
            }
        }
    };
    Ok(Url {
        servers,
        tls,
        username,
        password,
    })
}

/// `host`, `host:port`, `[::1]`, or `[::1]:port`.
fn address(text: &str, port: u16) -> Result<Address, RedisUrlError> {
    let (host, given) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or(RedisUrlError::Host)?;
            (host, rest)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match given.strip_prefix(':') {
        Some(number) => number.parse().map_err(|_| RedisUrlError::Host)?,
        None if given.is_empty() => port,
        None => return Err(RedisUrlError::Host),
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(RedisUrlError::Host);
    }
    Ok(Address {
        host: host.to_owned(),
        port,
    })
}

/// The text with its `%` escapes resolved.
fn unescape(text: &str) -> Result<String, RedisUrlError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or(RedisUrlError::Credentials)?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| RedisUrlError::Credentials)
}

#[cfg(test)]
mod tests {
    use super::{RedisUrlError, Url, parse};
    use crate::options::{Address, Password, Servers};
    use proptest::prelude::*;

    fn at(host: &str, port: u16) -> Address {
        Address {
            host: host.to_owned(),
            port,
        }
    }

    fn check(text: &str, servers: Servers, tls: bool) {
        let expected = Url {
            servers,
            tls,
            username: None,
            password: None,
        };
        assert_eq!(parse(text), Ok(expected), "{text}");
    }

    #[test]
    fn each_kind_is_read() {
        let single = |host, port, db| Servers::Single {
            address: at(host, port),
            db,
        };
        check("redis://localhost", single("localhost", 6379, 0), false);
        check("rediss://h:1/3", single("h", 1, 3), true);
        check("redis://[::1]:7000/", single("::1", 7000, 0), false);
        let nodes = vec![at("a", 1), at("b", 6379)];
        check("redis+cluster://a:1,b", Servers::Cluster { nodes }, false);
        let sentinels = vec![at("a", 26379), at("b", 7)];
        check(
            "rediss+sentinel://a,b:7/main?db=2",
            Servers::Sentinel {
                sentinels,
                primary: "main".to_owned(),
                db: 2,
            },
            true,
        );
    }

    #[test]
    fn credentials_are_read_and_not_shown() {
        let url = parse("redis://me:p%40ss%3A@h").unwrap();
        assert_eq!(url.username.as_deref(), Some("me"));
        assert_eq!(url.password, Some(Password::new("p@ss:")));
        assert!(!format!("{url:?}").contains("p@ss"));
        assert_eq!(parse("redis://:x@h").unwrap().username, None);
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, error) in [
            ("localhost", RedisUrlError::Scheme),
            ("http://h", RedisUrlError::Scheme),
            ("redis://", RedisUrlError::Host),
            ("redis://h:x", RedisUrlError::Host),
            ("redis://h:70000", RedisUrlError::Host),
            ("redis://[::1", RedisUrlError::Host),
            ("redis+cluster://a,,b", RedisUrlError::Host),
            ("redis://a,b", RedisUrlError::SeveralHosts),
            ("redis://h/x", RedisUrlError::Database),
            ("redis+cluster://h/1", RedisUrlError::Database),
            ("redis+sentinel://h", RedisUrlError::Primary),
            ("redis+sentinel://h/a?x=1", RedisUrlError::Parameter),
            ("redis://h?db=1", RedisUrlError::Parameter),
            ("redis://u@h", RedisUrlError::Credentials),
            ("redis://u:%f@h", RedisUrlError::Credentials),
            ("redis://u:%+1@h", RedisUrlError::Credentials),
            ("redis://u:%ff@h", RedisUrlError::Credentials),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "(redis(s)?(\\+(cluster|sentinel))?://)?[a%:@/,?=\\[\\]0-9é]{0,20}") {
            let _ = parse(&text);
        }
    }
}
