//! Artifacts: recording and finding them.

use crate::{
    connection::{Kind, random},
    header::{
        ArtifactHeader, Place, Unreadable, artifact_identity, artifact_tail,
        parse_artifact_tombstone, token_text,
    },
    results::{gone, texts},
    script::Operation,
    store::{RedisStore, digest, microseconds},
};
use bytes::Bytes;
use crossfeed_store::{
    ArtifactLookup, ArtifactMissing, Budget, Damage, ListedArtifact, Lookup, Recorded, StoreError,
    StoredArtifact,
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::sync::Arc;

/// The name of an artifact in its session's table. Ids have no control characters.
fn name(artifact: &ArtifactId, call: &CallId) -> String {
    format!("{}\n{}", artifact.as_str(), call.as_str())
}

fn parse_name(name: &[u8]) -> Option<(ArtifactId, CallId)> {
    let (artifact, call) = str::from_utf8(name).ok()?.split_once('\n')?;
    Some((ArtifactId::parse(artifact).ok()?, CallId::parse(call).ok()?))
}

impl RedisStore {
    pub(crate) async fn record_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        let limits = self.limits();
        let (bytes, limit) = (artifact.stored_bytes(), limits.artifact_bytes);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        let (token, data) = (random(), artifact.document().raw().clone());
        let (place, digest) = (self.place_for(data.len()), digest(&data).await);
        let prepared = match place {
            Place::Key => self.prepare_key(scope, &data, token, ""),
            Place::Blob => self.prepare_blob(scope, &data, token, digest).await?,
        };
        let time_to_live = limits.artifact_time_to_live.map(microseconds);
        let facts = [
            self.now(),
            time_to_live
                .map(|time| time.to_string())
                .unwrap_or_default(),
            name(artifact.artifact_id(), artifact.call_id()),
            token_text(token),
            bytes.to_string(),
            artifact_identity(&artifact, &digest),
            place.letter().to_owned(),
            data.len().to_string(),
        ];
        let tail = artifact_tail(&artifact);
        let room = [limit, limits.session_artifacts].map(|limit| limit.to_string());
        let mut arguments = texts(&facts);
        arguments.push(&tail);
        arguments.extend(texts(&room));
        arguments.push(prepared.mode.as_bytes());
        arguments.push(&prepared.inline);
        let answer = self
            .on_session_beside(
                Operation::PutArtifact,
                Kind::Write,
                scope,
                &arguments,
                prepared.before,
            )
            .await?
            .0;
        let id = (artifact.artifact_id().clone(), artifact.call_id().clone());
        if answer.status == b'N' {
            self.artifacts.put(scope, &id, token, Arc::new(artifact));
            return Ok(Recorded::New);
        }
        self.remove_blobs(prepared.blob.into_iter().collect());
        let full = |budget, limit| {
            Err(StoreError::Full {
                bytes,
                budget,
                limit,
            })
        };
        match answer.status {
            b'U' => {
                self.repair_blob(scope, answer, data).await?;
                Ok(Recorded::Unchanged)
            }
            b'G' => Err(StoreError::Damaged {
                damage: Damage::Artifact {
                    artifact_id: id.0,
                    call_id: id.1,
                },
                source: None,
            }),
            b'D' => Err(StoreError::DuplicateArtifact {
                artifact_id: id.0,
                call_id: id.1,
            }),
            b'B' => full(Budget::ArtifactBytes, limit),
            b'C' => full(Budget::SessionArtifacts, limits.session_artifacts),
            status => Err(gone(status)),
        }
    }

    pub(crate) async fn find_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        let id = (artifact.clone(), call.clone());
        let damage = || Damage::Artifact {
            artifact_id: artifact.clone(),
            call_id: call.clone(),
        };
        let unreadable = |error: Unreadable| error.into_error(damage());
        let mut version = self.artifacts.version(scope, &id);
        for _ in 0..3 {
            let arguments = [
                self.now(),
                name(artifact, call),
                version.map(token_text).unwrap_or_default(),
                self.limits().session_artifacts.to_string(),
            ];
            let mut answer = self
                .on_session(
                    Operation::GetArtifact,
                    Kind::Read,
                    scope,
                    &texts(&arguments),
                )
                .await?;
            let missing = match answer.status {
                b'S' => {
                    let known = version.take();
                    self.meter.cached(true);
                    match known.and_then(|version| self.artifacts.get(scope, &id, version)) {
                        Some(found) => return Ok(Lookup::Found(found)),
                        // It was forgotten since.
                        None => continue,
                    }
                }
                b'F' => {
                    let header = ArtifactHeader::parse(&answer.bytes()?).map_err(unreadable)?;
                    let token = header.token;
                    self.meter.cached(false);
                    let data = match header.place {
                        Place::Key => Bytes::from(answer.bytes()?),
                        Place::Blob => match self.blob(scope, &header.blob_name(scope)).await {
                            Ok(Some(data)) => data,
                            // It may have expired or been removed since.
                            Ok(None) => continue,
                            Err(StoreError::DamagedBlob) => break,
                            Err(error) => return Err(error),
                        },
                    };
                    let found = header.artifact(artifact.clone(), call.clone(), data);
                    let found = Arc::new(found.map_err(unreadable)?);
                    return Ok(Lookup::Found(self.artifacts.put(scope, &id, token, found)));
                }
                b'G' => break,
                b'T' => ArtifactMissing::Expired(
                    parse_artifact_tombstone(&answer.bytes()?).map_err(unreadable)?,
                ),
                b'-' => ArtifactMissing::Unknown,
                _ => return Err(answer.unexpected()),
            };
            self.artifacts.remove(scope, &id);
            return Ok(Lookup::Missing(missing));
        }
        Err(StoreError::Damaged {
            damage: damage(),
            source: None,
        })
    }

    pub(crate) async fn lines_of_artifacts(
        &self,
        scope: &Scope,
    ) -> Result<Vec<ListedArtifact>, StoreError> {
        let now = [self.now()];
        let mut answer = self
            .on_session(Operation::ListArtifacts, Kind::Read, scope, &texts(&now))
            .await?;
        let mut lines = Vec::new();
        for line in answer.list()?.chunks_exact(3) {
            let Some((artifact_id, call_id)) = parse_name(&line[0]) else {
                continue;
            };
            match ArtifactHeader::parse(&line[1]) {
                Ok(header) => {
                    let born = header.born;
                    lines.push((born, header.line(artifact_id, call_id, line[2] == b"1")));
                }
                Err(Unreadable::Damaged) => {
                    let line = ListedArtifact::new(artifact_id, call_id, 0).with_damaged(true);
                    lines.push((0, line));
                }
                // Others can be listed all the same.
                Err(Unreadable::Newer(_)) => {}
            }
        }
        lines.sort_by_key(|(born, _)| *born);
        Ok(lines.into_iter().map(|(_, line)| line).collect())
    }
}
