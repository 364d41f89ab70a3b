//! The tokens of a server, for all gateways over one store: one of them renews at a time.
//!
//! # Invariants
//!
//! - A refresh token is used only by who has the lease, and only while the lease lasts.
//! - The record changes by compare-and-set alone: a login that a person made meanwhile is not replaced by a renewed older
//!   one.

use super::store::Login;
use crate::{
    config::{Grant, OAuthConfig},
    records::{
        Found, Key, Records,
        owned::{GONE_AFTER, MAX_ATTEMPTS, contended},
    },
};
use crossfeed_store::{Expected, StoreError};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long one gateway renews without another beginning, also where it dies: longer than an authorization server may
/// take.
pub(super) const LEASE: Duration = Duration::from_secs(75);

/// How long tokens stay without being renewed: longer than refresh tokens last mostly.
const TOKEN_TIME: Duration = Duration::from_secs(180 * 24 * 60 * 60);

#[derive(Serialize, Deserialize)]
struct TokenRecord {
    login: Login,
}

#[derive(Serialize)]
struct LeaseRecord {}

/// The tokens of one server in the store.
pub(super) struct SharedLogin {
    records: Records,
    /// What makes it this login, and not another.
    about: [String; 5],
}

/// That this gateway renews, and no other does.
pub(super) struct Lease(u64);

impl SharedLogin {
    /// Those of a server with this name and address, for gateways whose configurations log in alike: two names may be
    /// two people.
    pub(super) fn new(records: Records, server: &str, url: &str, oauth: &OAuthConfig) -> Self {
        let issuer = oauth.issuer.as_deref().unwrap_or_default();
        let client = oauth.client_id.as_deref().unwrap_or_default();
        let grant = match oauth.grant {
            Grant::AuthorizationCode => "authorization_code",
            Grant::ClientCredentials => "client_credentials",
        };
        let about = [server, url, issuer, client, grant].map(str::to_owned);
        Self { records, about }
    }

    fn key(&self, kind: &'static str) -> Key {
        Key::new(kind, &self.about.each_ref().map(String::as_str))
    }

    /// The tokens, and which write they are.
    pub(super) async fn read(&self) -> Result<Option<(Login, u64)>, StoreError> {
        let key = self.key("tokens");
        let found = self.records.read::<TokenRecord>(&key).await;
        // What the reader says of the record may quote a token, and is logged.
        let found = found.map_err(|error| match error {
            StoreError::Damaged { .. } => key.damaged(None),
            error => error,
        })?;
        Ok(found.map(|Found { value, version }| (value.login, version)))
    }

    /// Writes tokens in place of this write, or where there are none; whether that was there still.
    pub(super) async fn write(
        &self,
        login: &Login,
        before: Option<u64>,
    ) -> Result<bool, StoreError> {
        let expected = before.map_or(Expected::Absent, Expected::Version);
        let login = login.clone();
        let record = TokenRecord { login };
        let key = self.key("tokens");
        let written = self.records.write(&key, &record, expected, TOKEN_TIME);
        Ok(written.await?.is_some())
    }

    /// Writes a login in place of an earlier one.
    pub(super) async fn write_latest(&self, login: &Login) -> Result<(), StoreError> {
        for _ in 0..MAX_ATTEMPTS {
            let found = self.read().await?;
            let version = found.as_ref().map(|(_, version)| *version);
            // A gateway has taken it from the file, or a person has logged in meanwhile.
            let is_there = found
                .is_some_and(|(found, _)| found.is_same_as(login) || found.is_later_than(login));
            if is_there || self.write(login, version).await? {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// The lease, unless another gateway has it.
    pub(super) async fn try_lease(&self) -> Result<Option<Lease>, StoreError> {
        let key = self.key("token-lease");
        let written = self
            .records
            .write(&key, &LeaseRecord {}, Expected::Absent, LEASE);
        Ok(written.await?.map(Lease))
    }

    /// Gives the lease back; one that was over, and is another's by now, stays.
    pub(super) async fn release(&self, Lease(version): Lease) -> Result<(), StoreError> {
        let key = self.key("token-lease");
        let own = Expected::Version(version);
        let written = self
            .records
            .write(&key, &LeaseRecord {}, own, GONE_AFTER)
            .await?;
        if written.is_some() {
            tokio::time::sleep(GONE_AFTER).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fake::LastingStore;

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_of_one_gateway_and_ends_with_its_time() {
        let store = LastingStore::new();
        let gateway = || {
            let records = Records::of(store.clone()).unwrap();
            SharedLogin::new(
                records,
                "zoo",
                "https://zoo.example",
                &OAuthConfig::default(),
            )
        };
        let (one, other) = (gateway(), gateway());
        let lease = one.try_lease().await.unwrap().unwrap();
        assert!(other.try_lease().await.unwrap().is_none());
        one.release(lease).await.unwrap();
        // It dies with this one.
        let lease = one.try_lease().await.unwrap().unwrap();
        tokio::time::sleep(LEASE - Duration::from_secs(1)).await;
        assert!(other.try_lease().await.unwrap().is_none());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let of_other = other.try_lease().await.unwrap().unwrap();
        // It was only paused, and takes nothing from the other.
        one.release(lease).await.unwrap();
        assert!(one.try_lease().await.unwrap().is_none());
        other.release(of_other).await.unwrap();
        assert!(one.try_lease().await.unwrap().is_some());
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_record_quotes_none_of_it() {
        let store = LastingStore::new();
        let records = Records::of(store.clone()).unwrap();
        let shared = SharedLogin::new(
            records,
            "zoo",
            "https://zoo.example",
            &OAuthConfig::default(),
        );
        let login = Login {
            expires_at: Some(123_456),
            ..Login::default()
        };
        assert!(shared.write(&login, None).await.unwrap());
        let key = &store.keys("tokens")[0];
        let text = String::from_utf8(store.bytes(key).to_vec()).unwrap();
        store.overwrite(key, &text.replace("123456", "\"secret-1\""));
        let error = shared.read().await.err().unwrap();
        assert!(matches!(error, StoreError::Damaged { .. }));
        let said = crossfeed_store::with_causes(&error);
        assert!(!said.contains("secret-1"), "{said}");
    }
}
