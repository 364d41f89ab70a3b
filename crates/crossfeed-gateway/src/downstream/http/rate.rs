//! How often the holders of tokens may send requests.

use crate::{
    config::{Rate, TokenConfig},
    principal::Principal,
};
use parking_lot::Mutex;
use std::{collections::HashMap, time::Duration};
use tokio::time::Instant;

/// The rates of all holders that have one.
pub(super) struct Rates(HashMap<String, Bucket>);

/// A holder may send more than its rate.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RateExceeded {
    pub(super) rate: Rate,
    /// When there is room for the next request.
    pub(super) wait: Duration,
}

/// A bucket that holds as many requests as the rate has, and is full at first.
struct Bucket {
    rate: Rate,
    /// When it will be full again; none where it is.
    full_at: Mutex<Option<Instant>>,
}

impl Rates {
    pub(super) fn new(tokens: &[TokenConfig]) -> Self {
        let bucket = |token: &TokenConfig| {
            let bucket = Bucket {
                rate: token.rate?,
                full_at: Mutex::default(),
            };
            Some((token.name.clone(), bucket))
        };
        Self(tokens.iter().filter_map(bucket).collect())
    }

    /// Counts a request.
    pub(super) fn count(&self, principal: &Principal) -> Result<(), RateExceeded> {
        match principal {
            Principal::Named(name) => self.0.get(name).map_or(Ok(()), Bucket::take),
            Principal::Local | Principal::Anonymous => Ok(()),
        }
    }
}

impl Bucket {
    fn take(&self) -> Result<(), RateExceeded> {
        let Rate { requests, per } = self.rate;
        let (now, each) = (Instant::now(), per / requests.get());
        let mut full_at = self.full_at.lock();
        let before = full_at.unwrap_or(now).max(now);
        let after = before + each;
        let room = per.checked_sub(after - now);
        if room.is_none() {
            return Err(RateExceeded {
                rate: self.rate,
                wait: after - now - per,
            });
        }
        *full_at = Some(after);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    #[tokio::test(start_paused = true)]
    async fn a_holder_is_held_to_its_rate() {
        let mut ada = TokenConfig::new("ada", "x");
        ada.rate = Some(Rate {
            requests: NonZeroU32::new(3).unwrap(),
            per: Duration::from_secs(60),
        });
        let rates = Rates::new(&[ada, TokenConfig::new("bob", "y")]);
        let named = |name: &str| Principal::Named(name.to_owned());
        let count = |name: &str| rates.count(&named(name)).map_err(|exceeded| exceeded.wait);
        for _ in 0..3 {
            assert_eq!(count("ada"), Ok(()));
        }
        assert_eq!(count("ada"), Err(Duration::from_secs(20)));
        for _ in 0..100 {
            assert_eq!(count("bob"), Ok(()));
        }
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(count("ada"), Err(Duration::from_secs(5)));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(count("ada"), Ok(()));
        assert_eq!(count("ada"), Err(Duration::from_secs(20)));
        // Time without requests adds no more than the bucket holds.
        tokio::time::advance(Duration::from_secs(3600)).await;
        for _ in 0..3 {
            assert_eq!(count("ada"), Ok(()));
        }
        assert_eq!(count("ada"), Err(Duration::from_secs(20)));
    }
}
