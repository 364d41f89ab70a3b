//! Large data that lies in a store of blobs.

use crate::{
    answer::Answer,
    connection::Kind,
    fault::bad_answer,
    header::{Place, parse_token},
    script::Operation,
    store::{RedisStore, digest},
};
use bytes::Bytes;
use crossfeed_store::{
    BlobName, BlobStore, Contents, PathStep, ResultKind, ScopeTag, StoreError, StoredResult,
    with_causes,
};
use crossfeed_wire::Scope;
use std::{collections::HashSet, sync::Arc, time::Duration};

/// How old a blob must be that no record names, before it is removed. No put takes that long.
const ORPHAN_AGE: Duration = Duration::from_secs(60 * 60);

/// How many names are asked for at once.
const LISTED: usize = 1000;

/// There is data in blobs, and no store of them.
#[derive(Debug, thiserror::Error)]
#[error("the data lies in a store of blobs, and none is configured")]
struct NoBlobs;

impl RedisStore {
    /// The data of a blob.
    pub(crate) async fn blob(
        &self,
        scope: &Scope,
        name: &BlobName,
    ) -> Result<Option<Bytes>, StoreError> {
        self.blobs()?.get(scope, name).await
    }

    /// What some paths lead to in a blob, with the rest of it left out; `None` if it is better read as a whole.
    pub(crate) async fn part(
        &self,
        scope: &Scope,
        name: &BlobName,
        contents: &Contents,
        paths: &[Vec<PathStep>],
    ) -> Result<Option<Bytes>, StoreError> {
        let excerpt = contents.excerpt(paths);
        let Some(excerpt) = excerpt.filter(|excerpt| self.parts.admits(name.token(), excerpt))
        else {
            return Ok(None);
        };
        let (length, ranges) = (contents.document_length(), excerpt.ranges());
        let read = self.blobs()?.get_ranges(scope, name, length, ranges);
        let read = match read.await {
            Ok(Some(read)) => excerpt.assemble(&read),
            Ok(None) => return Ok(None),
            Err(error) => Err(error),
        };
        match read {
            Ok(part) => Ok(Some(part)),
            // Reading all of it tells.
            Err(StoreError::DamagedBlob) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn blobs(&self) -> Result<&Arc<dyn BlobStore>, StoreError> {
        let blobs = self.options.blobs.as_ref();
        blobs.ok_or_else(|| StoreError::Unavailable {
            source: Box::new(NoBlobs),
            retry: false,
        })
    }

    /// Makes sure of the blob of a record that is there already: it may have been removed or damaged.
    pub(crate) async fn repair_blob(
        &self,
        scope: &Scope,
        mut answer: Answer,
        data: Bytes,
    ) -> Result<(), StoreError> {
        let token = str::from_utf8(&answer.bytes()?).ok().and_then(parse_token);
        let token = token.ok_or_else(|| bad_answer("a record has a token"))?;
        if answer.bytes()? != Place::Blob.letter().as_bytes() {
            return Ok(());
        }
        let name = BlobName::new(scope, digest(&data).await, token);
        self.blobs()?.put(scope, &name, data).await
    }

    /// Removes blobs without waiting for it. A sweep finds those that this could not.
    pub(crate) fn remove_blobs(&self, names: Vec<BlobName>) {
        let Some(blobs) = self.options.blobs.as_ref().filter(|_| !names.is_empty()) else {
            return;
        };
        let blobs = Arc::clone(blobs);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = blobs.remove(&names).await {
                    tracing::warn!(
                        error = with_causes(&error),
                        blobs = names.len(),
                        "blobs were not removed; a sweep tries again"
                    );
                }
            });
        }
    }

    /// Removes blobs that no record names.
    pub(crate) async fn sweep_blobs(&self) -> Result<(), StoreError> {
        let Some(blobs) = &self.options.blobs else {
            return Ok(());
        };
        let mut after: Option<BlobName> = None;
        loop {
            let names = blobs.list_old(ORPHAN_AGE, after.as_ref(), LISTED).await?;
            let mut orphans = Vec::new();
            let mut known: Option<(ScopeTag, HashSet<u64>)> = None;
            for name in &names {
                let session = name.session();
                if known.as_ref().is_none_or(|(tag, _)| *tag != session) {
                    known = Some((session, self.tokens(session).await?));
                }
                if known
                    .as_ref()
                    .is_some_and(|(_, tokens)| !tokens.contains(&name.token()))
                {
                    orphans.push(name.clone());
                }
            }
            if !orphans.is_empty() {
                blobs.remove(&orphans).await?;
            }
            after = names.last().cloned();
            if names.len() < LISTED {
                return Ok(());
            }
        }
    }

    /// The tokens of all records of a session.
    async fn tokens(&self, session: ScopeTag) -> Result<HashSet<u64>, StoreError> {
        let (key, now) = (self.session_key(session), self.now());
        let arguments = [now.as_bytes()];
        let answers = self
            .connection
            .run(Operation::Tokens, Kind::Read, &key, &arguments, None);
        let mut answer = Answer::read(answers.await?.pop().unwrap_or_default())?;
        let tokens = answer.list()?.into_iter();
        let tokens = tokens.map(|token| parse_token(str::from_utf8(&token).ok()?));
        tokens
            .collect::<Option<_>>()
            .ok_or_else(|| bad_answer("a record has a token"))
    }
}

/// The contents of a result that goes to a blob, computed where they keep no other task waiting.
pub(crate) async fn contents_of(result: &Arc<StoredResult>) -> Option<Vec<u8>> {
    if result.kind() == ResultKind::Bytes {
        return None;
    }
    let result = Arc::clone(result);
    let contents = move || Some(Contents::of(result.document())?.encode());
    // Without them it is read as a whole.
    tokio::task::spawn_blocking(contents).await.ok()?
}
