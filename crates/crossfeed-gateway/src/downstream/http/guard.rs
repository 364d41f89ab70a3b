//! Who may send requests: hosts, origins, and the holders of tokens.
//!
//! A browser that a foreign page led here, under any name, is refused before anything else is checked.

use super::{answer::Answer, post::invalid};
use crate::{
    config::{ListenConfig, TokenConfig},
    principal::Principal,
    protocol::header::only,
};
use hyper::{
    HeaderMap, StatusCode, Uri,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN, VARY,
    },
};
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};

/// What is let in.
pub(super) struct Guard {
    address: SocketAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Whether clients need no token.
    anonymous: bool,
    /// Hashes of tokens: what is compared has one length, whatever the tokens have.
    tokens: Vec<(String, [u8; 32])>,
}

impl Guard {
    pub(super) fn new(listen: &ListenConfig) -> Self {
        let lower = |texts: &[String]| texts.iter().map(|text| text.to_lowercase()).collect();
        let hash = |token: &TokenConfig| (token.name.clone(), digest(token.token.as_bytes()));
        let mut hosts: Vec<String> = lower(&listen.hosts);
        // Other replicas name it so.
        let advertised = listen.advertise.as_deref().unwrap_or_default();
        let host = advertised.split_once("://").map(|(_, host)| host);
        hosts.extend(host.map(|host| without_port(host).to_lowercase()));
        Self {
            address: listen.address,
            hosts,
            origins: lower(&listen.origins),
            anonymous: listen.anonymous,
            tokens: listen.tokens.iter().map(hash).collect(),
        }
    }

    /// Checks the host and the origin of a request. Returns the origin, where it has one.
    pub(super) fn admit(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Result<Option<HeaderValue>, Box<Answer>> {
        let host = match (only(headers, HOST.as_str()), uri.authority()) {
            (Ok(host), None) => host.unwrap_or_default(),
            // A whole address in the request line names the host, too, and is what counts.
            (Ok(_), Some(authority)) => authority.as_str(),
            (Err(_), _) => "",
        };
        if !self.is_host(&host.to_lowercase()) {
            return Err(invalid(
                StatusCode::FORBIDDEN,
                "this host is not served here: the gateway's operator can add it to `listen.hosts`",
            ));
        }
        match only(headers, ORIGIN.as_str()) {
            Ok(None) => Ok(None),
            Ok(Some(origin)) if self.is_origin(&origin.to_lowercase()) => {
                Ok(headers.get(ORIGIN).cloned())
            }
            _ => Err(invalid(
                StatusCode::FORBIDDEN,
                "this origin is not served here: the gateway's operator can add it to `listen.origins`",
            )),
        }
    }

    fn is_host(&self, host: &str) -> bool {
        let name = without_port(host);
        // An address is not a name that a foreign page could have led here.
        ip(name).is_some()
            || name == "localhost"
            || self
                .hosts
                .iter()
                .any(|known| known == host || known == name)
    }

    fn is_origin(&self, origin: &str) -> bool {
        if self.origins.iter().any(|known| known == origin) {
            return true;
        }
        // Another port belongs to another program, whose pages are foreign.
        let Some(host) = origin.strip_prefix("http://") else {
            return false;
        };
        let name = without_port(host);
        let port = match host
            .get(name.len()..)
            .and_then(|rest| rest.strip_prefix(':'))
        {
            Some(port) => port.parse().ok(),
            None => Some(80),
        };
        let own = self.address.ip();
        let is_own = match ip(name) {
            Some(ip) => ip == own || (ip.is_loopback() && is_on_this_computer(own)),
            None => name == "localhost" && is_on_this_computer(own),
        };
        is_own && port == Some(self.address.port())
    }

    /// Who sent a request; none where a token is needed and is missing or wrong.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Option<Principal> {
        if self.tokens.is_empty() {
            return self.anonymous.then_some(Principal::Anonymous);
        }
        let value = only(headers, AUTHORIZATION.as_str()).ok()??;
        let (scheme, token) = value.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let given = digest(token.trim().as_bytes());
        let mut holder = None;
        // All tokens and all of their bytes are compared: the time it takes reveals nothing.
        for (name, hash) in &self.tokens {
            let differs = hash.iter().zip(&given).fold(0, |sum, (a, b)| sum | (a ^ b));
            if differs == 0 {
                holder = Some(name);
            }
        }
        holder.map(|name| Principal::Named(name.clone()))
    }
}

/// Whether a listener at this address is reached by loopback addresses.
fn is_on_this_computer(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A host without its port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

fn ip(name: &str) -> Option<IpAddr> {
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    bare.unwrap_or(name).parse().ok()
}

/// The headers that a page may send beside those that a browser lets every page send.
const SENT: &str = "authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name";
/// How the names of headers begin that say parameters of a tool (2026-07-28).
const PARAM: &str = "mcp-param-";

/// Lets a page of this origin read the answer, and send the headers of the protocol; of those that it
/// `asked` for, the ones for parameters, which have any names.
pub(super) fn share(headers: &mut HeaderMap, origin: HeaderValue, asked: Option<&HeaderValue>) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(VARY, HeaderValue::from_static("origin"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    let asked = asked.and_then(|asked| asked.to_str().ok());
    let mut sent = SENT.to_owned();
    for name in asked.into_iter().flat_map(|asked| asked.split(',')) {
        let name = name.trim().to_ascii_lowercase();
        if name.starts_with(PARAM) && HeaderName::from_bytes(name.as_bytes()).is_ok() {
            sent.push_str(", ");
            sent.push_str(&name);
        }
    }
    let sent = HeaderValue::from_str(&sent);
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        sent.unwrap_or(HeaderValue::from_static(SENT)),
    );
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("mcp-session-id, www-authenticate"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        let mut listen = ListenConfig::new("127.0.0.1:80".parse().unwrap());
        listen.hosts = vec!["Tools.example".to_owned(), "other.example:8080".to_owned()];
        listen.origins = vec![
            "https://app.example".to_owned(),
            "http://localhost:3000".to_owned(),
        ];
        listen.tokens = vec![
            TokenConfig::new("ada", "secret-a"),
            TokenConfig::new("bob", "secret-b"),
        ];
        Guard::new(&listen)
    }

    #[test]
    fn hosts_and_origins_of_others_are_refused() {
        let check = |host: &str, origin: Option<&str>, admitted: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            let found = guard().admit(&headers, &Uri::from_static("/mcp"));
            match found {
                Ok(found) => assert!(admitted && found.is_some() == origin.is_some(), "{host}"),
                Err(refused) => {
                    assert!(!admitted, "{host} {origin:?}");
                    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
                }
            }
        };
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:99",
            "[::1]:5",
            "[::1]",
        ] {
            check(host, None, true);
        }
        for host in ["tools.example", "tools.example:9", "other.example:8080"] {
            check(host, None, true);
        }
        for host in [
            "evil.example",
            "other.example:81",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "",
            "localhost:x",
            "evil.example:127.0.0.1",
        ] {
            check(host, None, false);
        }
        for origin in [
            "http://localhost",
            "http://127.0.0.1",
            "http://[::1]:80",
            "https://APP.example",
            "http://localhost:3000",
        ] {
            check("localhost", Some(origin), true);
        }
        for origin in [
            "null",
            "",
            "http://localhost:3001",
            "http://127.0.0.1:3000",
            "https://localhost",
            "https://localhost:3000",
            "ftp://localhost",
            "localhost:80",
            "http://localhost:",
            "http://localhost:80:80",
            "http://localhost:80/",
            "http://[::1]:4",
            "http://evil.example",
            "http://192.168.1.7",
            "https://app.example.evil",
            "http://localhost.evil",
        ] {
            check("localhost", Some(origin), false);
        }
        // Twice: who knows which one somebody else reads.
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("localhost"));
        headers.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(guard().admit(&headers, &Uri::from_static("/mcp")).is_err());
        let uri = Uri::from_static("http://evil.example/mcp");
        headers.remove(HOST);
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert!(guard().admit(&headers, &uri).is_err());
    }

    #[test]
    fn origins_are_those_of_the_address() {
        let check = |address: &str, origin: &str, expected: bool| {
            let guard = Guard::new(&ListenConfig::new(address.parse().unwrap()));
            assert_eq!(guard.is_origin(origin), expected, "{address} {origin}");
        };
        for address in ["127.0.0.1:8807", "0.0.0.0:8807", "[::]:8807"] {
            check(address, "http://localhost:8807", true);
            check(address, "http://[::1]:8807", true);
            check(address, "http://127.0.0.1:8808", false);
            check(address, "http://192.168.1.7:8807", false);
        }
        check("192.168.1.7:8807", "http://192.168.1.7:8807", true);
        check("192.168.1.7:8807", "http://localhost:8807", false);
    }

    #[test]
    fn without_tokens_nobody_comes_in_unless_that_is_said() {
        let mut listen = ListenConfig::new("127.0.0.1:80".parse().unwrap());
        let principal = |listen: &ListenConfig| Guard::new(listen).principal(&HeaderMap::new());
        assert_eq!(principal(&listen), None);
        listen.anonymous = true;
        assert_eq!(principal(&listen), Some(Principal::Anonymous));
        listen.tokens = vec![TokenConfig::new("ada", "secret-a")];
        assert_eq!(principal(&listen), None);
    }

    #[test]
    fn tokens_say_who_it_is() {
        let check = |value: Option<&'static str>, expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            }
            let expected = expected.map(|name| Principal::Named(name.to_owned()));
            assert_eq!(guard().principal(&headers), expected, "{value:?}");
        };
        check(Some("Bearer secret-a"), Some("ada"));
        check(Some("bearer secret-b"), Some("bob"));
        check(Some("Bearer secret-c"), None);
        check(Some("Bearer secret"), None);
        check(Some("Bearer "), None);
        check(Some("Basic secret-a"), None);
        check(Some("secret-a"), None);
        check(None, None);
        // With two, it is unclear which one was meant.
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer secret-a"));
        headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer secret-b"));
        assert_eq!(guard().principal(&headers), None);
    }
}
