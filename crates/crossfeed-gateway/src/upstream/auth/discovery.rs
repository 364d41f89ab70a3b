//! Finds the authorization server of a server, and its endpoints.
//!
//! Metadata must come from the place that they describe: metadata that name another place are refused.

use super::fetch::{Fetch, FetchError};
use crate::upstream::printable::printable;
use reqwest::Url;
use serde::Deserialize;

/// How long a list of scopes may be: they are shown and stored.
const MAX_SCOPE_BYTES: usize = 1024;

/// What a `WWW-Authenticate` header says (RFC 6750, RFC 9728).
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::upstream) struct Challenge {
    pub(super) metadata: Option<String>,
    pub(super) scopes: Vec<String>,
}

impl Challenge {
    /// The first that asks for a bearer token.
    pub(in crate::upstream) fn find<'h>(headers: impl IntoIterator<Item = &'h str>) -> Self {
        headers.into_iter().find_map(bearer).unwrap_or_default()
    }
}

fn bearer(header: &str) -> Option<Challenge> {
    let scheme = header.get(..7)?;
    let mut rest = header.get(7..)?;
    if !scheme.eq_ignore_ascii_case("bearer ") {
        return None;
    }
    let mut challenge = Challenge::default();
    while let Some((name, behind)) = rest.split_once('=') {
        let name = name.trim_matches([' ', '\t', ',']).to_ascii_lowercase();
        let (value, behind) = value(behind);
        match name.as_str() {
            "resource_metadata" => challenge.metadata = Some(value),
            "scope" => challenge.scopes = scopes(&value),
            _ => {}
        }
        rest = behind;
    }
    Some(challenge)
}

/// A token or a quoted string, and what stands behind it.
fn value(text: &str) -> (String, &str) {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => value.push(character),
        }
    }
    (value, "")
}

/// The scopes of a list, as many as are believed.
pub(super) fn scopes(text: &str) -> Vec<String> {
    let is_scope = |scope: &&str| scope.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
    let mut length = 0;
    text.split_ascii_whitespace()
        .filter(is_scope)
        .take_while(|scope| {
            length += scope.len() + 1;
            length <= MAX_SCOPE_BYTES
        })
        .map(ToOwned::to_owned)
        .collect()
}

/// The metadata of a protected resource (RFC 9728).
#[derive(Debug, Deserialize)]
pub(super) struct Resource {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Option<Vec<String>>,
}

/// The metadata of an authorization server (RFC 8414).
#[derive(Debug, Deserialize)]
pub(super) struct Issuer {
    pub(super) issuer: String,
    /// None where no person logs in there.
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl Issuer {
    /// Whether its token endpoint knows clients in this way.
    pub(super) fn supports(&self, method: &str) -> bool {
        let methods = &self.token_endpoint_auth_methods_supported;
        methods.iter().any(|supported| supported == method)
    }

    /// Whether a client's secret goes into the body; else into a header, which every server takes.
    pub(super) fn takes_secrets_in_body(&self) -> bool {
        self.supports("client_secret_post") && !self.supports("client_secret_basic")
    }

    /// Where a person logs in.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NoProofKeys`] when that would not be safe, [`DiscoveryError::Issuer`] when it cannot be.
    pub(super) fn authorization(&self) -> Result<&Url, DiscoveryError> {
        let mut methods = self.code_challenge_methods_supported.iter();
        if !methods.any(|method| method == "S256") {
            return Err(DiscoveryError::NoProofKeys);
        }
        let endpoint = self.authorization_endpoint.as_ref();
        endpoint.ok_or(DiscoveryError::Issuer(FetchError::Unreadable))
    }
}

/// Why the authorization server of a server was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// A document that the server names cannot be fetched.
    #[error("cannot fetch the server's protected-resource metadata: {0}")]
    Resource(FetchError),
    /// The document is about another server.
    #[error("the server's protected-resource metadata names `{resource}`, which is another server")]
    OtherResource {
        /// What it is about.
        resource: String,
    },
    /// The authorization server's metadata cannot be fetched.
    #[error("cannot fetch the authorization server's metadata: {0}")]
    Issuer(FetchError),
    /// The metadata are about another authorization server.
    #[error("the authorization server's metadata names `{issuer}`, which is another issuer")]
    OtherIssuer {
        /// Which it says it is.
        issuer: String,
    },
    /// The authorization server does not take proof keys.
    #[error("the authorization server does not take PKCE with S256, and nothing less is safe")]
    NoProofKeys,
}

/// The metadata of a server; none where it publishes none.
pub(super) async fn resource(
    fetch: &Fetch,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<Resource>, DiscoveryError> {
    let named = challenge.metadata.as_deref();
    let places = match named {
        Some(url) => {
            vec![Url::parse(url).map_err(|_| DiscoveryError::Resource(FetchError::Unsafe))?]
        }
        None => well_known(server, "oauth-protected-resource"),
    };
    for place in places {
        match fetch.json::<Resource>(place).await {
            Ok(metadata) if speaks_for(&metadata.resource, server) => return Ok(Some(metadata)),
            Ok(metadata) => {
                let resource = printable(metadata.resource.as_bytes(), 200);
                return Err(DiscoveryError::OtherResource { resource });
            }
            Err(error) if named.is_some() => return Err(DiscoveryError::Resource(error)),
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Whether a document about `resource` is about what stands at this address: there, or below it.
fn speaks_for(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let above = resource.path().trim_end_matches('/');
    let below = server.path().strip_prefix(above);
    resource.origin() == server.origin()
        && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// The metadata of an authorization server.
pub(super) async fn issuer(fetch: &Fetch, issuer: &Url) -> Result<Issuer, DiscoveryError> {
    let kinds = ["oauth-authorization-server", "openid-configuration"];
    let mut places: Vec<_> = kinds
        .into_iter()
        .filter_map(|kind| well_known(issuer, kind).into_iter().next())
        .collect();
    let path = issuer.path().trim_end_matches('/');
    if !path.is_empty() {
        let mut behind = issuer.clone();
        behind.set_path(&format!("{path}/.well-known/openid-configuration"));
        places.push(behind);
    }
    let mut error = FetchError::Status(404);
    for place in places {
        match fetch.json::<Issuer>(place).await {
            Ok(found) if !is_same(&found.issuer, issuer) => {
                let issuer = printable(found.issuer.as_bytes(), 200);
                return Err(DiscoveryError::OtherIssuer { issuer });
            }
            Ok(found) => return Ok(found),
            Err(why) => error = why,
        }
    }
    Err(DiscoveryError::Issuer(error))
}

/// As text, but for the slash that an address without a path gains.
fn is_same(said: &str, issuer: &Url) -> bool {
    let plain = issuer.as_str();
    said == plain || (issuer.path() == "/" && format!("{said}/") == plain)
}

/// Where metadata stand: between host and path, and at the root.
fn well_known(of: &Url, name: &str) -> Vec<Url> {
    let mut root = of.clone();
    root.set_query(None);
    root.set_fragment(None);
    root.set_path(&format!("/.well-known/{name}"));
    let path = of.path().trim_end_matches('/');
    if path.is_empty() {
        return vec![root];
    }
    let mut between = root.clone();
    between.set_path(&format!("/.well-known/{name}{path}"));
    vec![between, root]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read() {
        #[track_caller]
        fn check(header: &str, metadata: Option<&str>, scopes: &[&str]) {
            let challenge = Challenge::find(["Basic realm=\"x\"", header]);
            assert_eq!(challenge.metadata.as_deref(), metadata);
            assert_eq!(challenge.scopes, scopes);
        }
        check("Bearer", None, &[]);
        check("Digest scope=a", None, &[]);
        check("bearer scope=a", None, &["a"]);
        check(
            r#"Bearer realm="a, scope=\"no\"", error="insufficient_scope" , scope="a b:c", resource_metadata="https://x/y?z=1""#,
            Some("https://x/y?z=1"),
            &["a", "b:c"],
        );
        check("Bearer error=x,scope=\"ä a\"", None, &["a"]);
        check("Bearer scope=\"a", None, &["a"]);
    }

    #[test]
    fn metadata_speak_for_what_stands_below_them() {
        #[track_caller]
        fn check(resource: &str, server: &str, expected: bool) {
            assert_eq!(speaks_for(resource, &Url::parse(server).unwrap()), expected);
        }
        check("https://a/mcp", "https://a/mcp", true);
        check("https://a", "https://a/mcp", true);
        check("https://a/", "https://a/mcp?x", true);
        check("https://a/mcp/", "https://a/mcp", true);
        check("https://a/m", "https://a/mcp", false);
        check("https://a/mcp", "https://a/", false);
        check("https://b/mcp", "https://a/mcp", false);
        check("http://a/mcp", "https://a/mcp", false);
        check("x", "https://a/mcp", false);
    }

    #[test]
    fn an_issuer_is_named_to_the_letter() {
        let same = |said: &str, issuer: &str| is_same(said, &Url::parse(issuer).unwrap());
        assert!(same("https://a", "https://a/"));
        assert!(same("https://a/b", "https://a/b"));
        assert!(!same("https://a/b/", "https://a/b"));
        assert!(!same("https://A", "https://a"));
    }

    #[test]
    fn metadata_stand_in_known_places() {
        let places = |of: &str| {
            let places = well_known(&Url::parse(of).unwrap(), "x");
            places.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(places("https://a/"), ["https://a/.well-known/x"]);
        assert_eq!(
            places("https://a/b/c?d"),
            ["https://a/.well-known/x/b/c", "https://a/.well-known/x"]
        );
    }
}
