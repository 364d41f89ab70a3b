//! Results: recording and finding them.

use crate::{
    answer::Answer,
    blobs::contents_of,
    connection::{Beside, Kind, random},
    fault::{BadAnswer, bad_answer, unavailable},
    header::{
        Place, ResultHeader, Unreadable, class, parse_lease, parse_token, parse_tombstone,
        result_tail, token_text,
    },
    script::Operation,
    store::{RedisStore, digest, microseconds},
    tenant::{IsNew, recorded_bytes},
};
use bytes::Bytes;
use crossfeed_store::{
    Contents, Damage, Listed, Lookup, Missing, PathsOf, Recorded, ScopeTag, StoreError,
    StoredResult, Tombstone,
};
use crossfeed_wire::{CallId, Scope};
use futures_util::future::join;
use redis::Value;
use std::{error::Error, sync::Arc};

/// How long a token is before the data of its record.
const TOKEN_DIGITS: usize = 16;

impl RedisStore {
    /// The arguments with which every script on results begins.
    pub(crate) fn common(&self) -> [String; 5] {
        let limits = self.limits();
        [
            self.now(),
            microseconds(limits.time_to_live).to_string(),
            microseconds(limits.max_age).to_string(),
            limits.session_tombstones.to_string(),
            limits.tombstone_bytes.to_string(),
        ]
    }

    /// Results of a session that this process uses: each call and its token.
    pub(crate) fn pins(&self, scope: &Scope) -> Vec<String> {
        let held = self.results.held(scope).into_iter();
        held.flat_map(|(call, token)| [call.as_str().to_owned(), token_text(token)])
            .collect()
    }

    /// The token of what is at hand of a result, and whether this process uses it.
    pub(crate) fn at_hand(&self, scope: &Scope, call: &CallId) -> [String; 2] {
        let Some(version) = self.results.version(scope, call) else {
            return [String::new(), "0".to_owned()];
        };
        let held = self.results.is_held(scope, call);
        [token_text(version), u8::from(held).to_string()]
    }

    pub(crate) async fn put_result(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        let limit = self.limits().session_bytes;
        let bytes = recorded_bytes(&result);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        let result = Arc::new(result);
        let mut place = self.place_for(result.document().raw().len());
        // A few turns, since the record that has the id may be another meanwhile.
        for _ in 0..4 {
            if let Some(recorded) = self.put_in(place, scope, call, &result, bytes).await? {
                return Ok(recorded);
            }
            place = place.other();
        }
        Err(unavailable(BadAnswer {
            what: "a record changes its place again and again",
        }))
    }

    /// Records a result in a place; `None` if the id is taken by what may be the same, but lies in the other one.
    async fn put_in(
        &self,
        place: Place,
        scope: &Scope,
        call: &CallId,
        result: &Arc<StoredResult>,
        bytes: usize,
    ) -> Result<Option<Recorded>, StoreError> {
        let (limits, data) = (self.limits(), result.document().raw());
        // Before its data goes anywhere: it may be refused, and making room takes a while.
        let mut reservation = self.reserve(scope, call, bytes, IsNew::Unknown).await?;
        let token = random();
        let prefix = token_text(token);
        let (prepared, digest, contents) = match place {
            Place::Key => (
                Ok(self.prepare_key(scope, data, token, &prefix)),
                None,
                None,
            ),
            Place::Blob => {
                let prepare = async {
                    let digest = digest(data).await;
                    let prepared = self.prepare_blob(scope, data, token, digest).await;
                    (prepared, Some(digest))
                };
                let ((prepared, digest), contents) = join(prepare, contents_of(result)).await;
                (prepared, digest, contents)
            }
        };
        let mut prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                self.settle(scope, reservation, None).await?;
                return Err(error);
            }
        };
        if let Some(contents) = contents {
            prepared.inline = [prefix.as_bytes(), &contents].concat();
        }
        let common = self.common();
        let facts = [prefix, bytes.to_string(), class(result)];
        let tail = result_tail(result, digest.as_ref(), place);
        let room = [limits.session_bytes, limits.session_results].map(|limit| limit.to_string());
        let pins = self.pins(scope);
        let answer = loop {
            let mut arguments = texts(&common);
            arguments.push(call.as_str().as_bytes());
            arguments.extend(texts(&facts));
            arguments.push(&tail);
            arguments.extend(texts(&room));
            arguments.push(prepared.mode.as_bytes());
            arguments.push(&prepared.inline);
            arguments.push(if reservation.is_none() && self.has_accounts() {
                b"1"
            } else {
                b"0"
            });
            arguments.extend(texts(&pins));
            let (answer, _) = self
                .on_session_beside(
                    Operation::Put,
                    Kind::Write,
                    scope,
                    &arguments,
                    prepared.before.take(),
                )
                .await?;
            if answer.status != b'V' {
                break answer;
            }
            // What was there when room was to be made has gone.
            match self.reserve(scope, call, bytes, IsNew::Yes).await {
                Ok(reserved) => reservation = reserved,
                Err(error) => {
                    self.remove_blobs(prepared.blob.into_iter().collect());
                    return Err(error);
                }
            }
        };
        self.settle(scope, reservation, Some(&answer)).await?;
        let status = answer.status;
        if status == b'N' {
            self.results.put(scope, call, token, Arc::clone(result));
            return Ok(Some(Recorded::New));
        }
        self.remove_blobs(prepared.blob.into_iter().collect());
        match status {
            b'U' => {
                self.repair_blob(scope, answer, data.clone()).await?;
                Ok(Some(Recorded::Unchanged))
            }
            b'M' => Ok(None),
            b'D' => Err(StoreError::Duplicate {
                call_id: call.clone(),
            }),
            b'G' => Err(Unreadable::Damaged.into_error(Damage::Result {
                call_id: call.clone(),
                about: Tombstone::default(),
            })),
            b'B' | b'C' => Err(limits.session_is_full(bytes, status == b'C')),
            _ => Err(gone(status)),
        }
    }

    /// Finds a result, all of it or, if there are paths, what they lead to.
    pub(crate) async fn get_result(
        &self,
        scope: &Scope,
        call: &CallId,
        paths: Option<&PathsOf<'_>>,
    ) -> Result<Lookup, StoreError> {
        self.remember(scope);
        let common = self.common();
        let mut at_hand = self.at_hand(scope, call);
        let mut may_have_gone = "0";
        let mut about_call = Tombstone::default();
        // A few turns, since what was at hand may have been forgotten, or the record may have changed meanwhile.
        for _ in 0..4 {
            let mut arguments = texts(&common);
            arguments.push(call.as_str().as_bytes());
            arguments.extend(texts(&at_hand));
            arguments.push(may_have_gone.as_bytes());
            let data = at_hand[0].is_empty().then(|| {
                let key = self.session_key(ScopeTag::of_session(scope)) + "b:" + call.as_str();
                let mut command = redis::cmd("GET");
                command.arg(key);
                Beside::After(command)
            });
            let (answer, data) = self
                .on_session_beside(Operation::Get, Kind::Read, scope, &arguments, data)
                .await?;
            self.settle(scope, None, Some(&answer)).await?;
            match self
                .read_result(scope, call, paths, &at_hand[0], answer, data)
                .await?
            {
                Turn::Done(lookup) => return Ok(lookup),
                Turn::Again { is_without, about } => {
                    at_hand = [String::new(), "0".to_owned()];
                    if is_without {
                        may_have_gone = "1";
                    }
                    about_call = about;
                }
            }
        }
        Err(damaged(call, about_call, "its data is not there"))
    }

    /// What an answer says of a result.
    async fn read_result(
        &self,
        scope: &Scope,
        call: &CallId,
        paths: Option<&PathsOf<'_>>,
        at_hand: &str,
        mut answer: Answer,
        data: Option<Value>,
    ) -> Result<Turn, StoreError> {
        let unreadable = |error: Unreadable| {
            error.into_error(Damage::Result {
                call_id: call.clone(),
                about: Tombstone::default(),
            })
        };
        let missing = match answer.status {
            b'S' => {
                let version = parse_token(at_hand).unwrap_or_default();
                let Some(found) = self.results.get(scope, call, version) else {
                    return Ok(Turn::again(Tombstone::default()));
                };
                self.meter.cached(true);
                return Ok(Turn::Done(Lookup::Found(found)));
            }
            b'F' => {
                let header = ResultHeader::parse(&answer.bytes()?).map_err(unreadable)?;
                let token = header.token;
                if let (Some(paths), Some(Value::BulkString(data))) = (paths, &data)
                    && header.place == Place::Blob
                    && let Some(contents) = contents_in(data, &header)
                    && let name = header.blob_name(scope).map_err(unreadable)?
                    && let Some(part) = self.part(scope, &name, &contents, &paths()).await?
                {
                    self.meter.cached(false);
                    let result = Arc::new(header.part(part));
                    return Ok(Turn::Done(Lookup::Found(result)));
                }
                let data = match header.place {
                    Place::Key => match data {
                        None => return Ok(Turn::again(header.tombstone())),
                        Some(Value::BulkString(data))
                            if data.starts_with(token_text(token).as_bytes()) =>
                        {
                            Bytes::from(data).slice(TOKEN_DIGITS..)
                        }
                        Some(_) => {
                            return Ok(Turn::Again {
                                is_without: true,
                                about: header.tombstone(),
                            });
                        }
                    },
                    Place::Blob => match self
                        .blob(scope, &header.blob_name(scope).map_err(unreadable)?)
                        .await
                    {
                        Ok(Some(data)) => data,
                        Ok(None) => return Ok(Turn::again(header.tombstone())),
                        Err(error @ StoreError::DamagedBlob) => {
                            return Err(damaged(call, header.tombstone(), error));
                        }
                        Err(error) => return Err(error),
                    },
                };
                self.meter.cached(false);
                if data.len() != header.length {
                    let about = header.tombstone();
                    return Err(damaged(call, about, "its data has another length"));
                }
                let result = Arc::new(header.result(data));
                let result = self.results.put(scope, call, token, result);
                return Ok(Turn::Done(Lookup::Found(result)));
            }
            b'L' => Missing::InFlight(parse_lease(&answer.bytes()?).map_err(unreadable)?),
            b'T' => match parse_tombstone(&answer.bytes()?).map_err(unreadable)? {
                (true, tombstone) => Missing::Evicted(tombstone),
                (false, tombstone) => Missing::Expired(tombstone),
            },
            b'-' => Missing::Unknown,
            _ => return Err(answer.unexpected()),
        };
        self.results.remove(scope, call);
        Ok(Turn::Done(Lookup::Missing(missing)))
    }

    pub(crate) async fn lines_of_results(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        let (common, pins) = (self.common(), self.pins(scope));
        let mut arguments = texts(&common);
        arguments.extend(texts(&pins));
        let mut answer = self
            .on_session(Operation::List, Kind::Read, scope, &arguments)
            .await?;
        let mut lines = Vec::new();
        for pair in answer.list()?.chunks_exact(2) {
            let id = str::from_utf8(&pair[0]).ok();
            let call = id.and_then(|id| CallId::parse(id).ok());
            // What is damaged, or of a later version, keeps no other from being listed.
            if let (Some(call), Ok(header)) = (call, ResultHeader::parse(&pair[1])) {
                lines.push(header.line(call));
            }
        }
        Ok(lines)
    }

    pub(crate) async fn remove_all(&self, scope: &Scope) -> Result<(), StoreError> {
        let common = self.common();
        let token = token_text(random());
        let mut arguments = texts(&common);
        arguments.push(token.as_bytes());
        self.on_session(Operation::Remove, Kind::Write, scope, &arguments)
            .await?;
        self.results.remove_session(scope);
        self.artifacts.remove_session(scope);
        Ok(())
    }
}

/// The contents of a blob, of what lies under the key of its result.
fn contents_in(data: &[u8], header: &ResultHeader) -> Option<Contents> {
    let contents = data.strip_prefix(token_text(header.token).as_bytes())?;
    let contents = Contents::decode(contents)?;
    (contents.document_length() == header.length).then_some(contents)
}

/// What an answer leads to.
enum Turn {
    Done(Lookup),
    /// It is to be asked again: the record is there, and its data was not asked for or was not there.
    Again {
        is_without: bool,
        /// How to repeat the call, should there be no data in the end.
        about: Tombstone,
    },
}

impl Turn {
    fn again(about: Tombstone) -> Self {
        Self::Again {
            is_without: false,
            about,
        }
    }
}

/// Texts as arguments of a script.
pub(crate) fn texts(texts: &[String]) -> Vec<&[u8]> {
    texts.iter().map(String::as_bytes).collect()
}

fn damaged(
    call: &CallId,
    about: Tombstone,
    part: impl Into<Box<dyn Error + Send + Sync>>,
) -> StoreError {
    StoreError::Damaged {
        damage: Damage::Result {
            call_id: call.clone(),
            about,
        },
        source: Some(part.into()),
    }
}

/// The error where what was sent before has gone, or where an answer is not known.
pub(crate) fn gone(status: u8) -> StoreError {
    if status == b'A' {
        return unavailable(BadAnswer {
            what: "data that was sent before its record has gone",
        });
    }
    bad_answer("its first letter is not known")
}
