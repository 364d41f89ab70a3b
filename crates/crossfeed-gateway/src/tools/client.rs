//! The tools of one client: what it was shown, what it recorded.

use super::{
    Caller, ServerList, Tools, builtin,
    call::PreparedCall,
    flow::{FlowError, Sources},
    ids::{self, CallIds, ReservedIds},
    inputs::ResourceCache,
    kept_tasks::KeptTasks,
    list::{
        self, Audience, Listing, Listings, Offered, ToolReport, UnmatchedPattern, names::Bindings,
    },
    params::Params,
    place::{ConversationDigest, Place, conversation},
    profile::{Choice, offers},
    reader::{self, Reader, ReaderHints},
    refusal::{self, ErrorBodies, Privacy},
    result::Passing,
    room,
    rounds::{KeptRound, KeptRounds},
    tasks::{TaskLimits, Tasks},
};
use crate::{
    apart::{apart, indexed},
    budget::{Account, Charge, Purpose, UNCHARGED},
    config::ClientName,
    export::{Export, ExportError, ExportRequest, export},
    message::{Header, RpcError},
    principal::Principal,
    protocol::code,
};
use bytes::Bytes;
use crossfeed_core::{Memory, Notices, Session};
use crossfeed_json::{Cursor, Document};
use crossfeed_mcp::Shows;
use crossfeed_store::with_causes;
use crossfeed_tools::{Spelling, Style, guidance_with};
use crossfeed_wire::{CallId, Scope, View};
use lru::LruCache;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher as _, RandomState},
    num::NonZeroUsize,
    ops::Deref,
    sync::Arc,
};

/// Calls of one client that wait for the client to say more, at most: beyond, the oldest are forgotten.
const MAX_ROUNDS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);

/// Bytes of arguments that are kept of calls that wait for the client to say more.
const MAX_ROUND_BYTES: usize = 16 << 20;

/// A list that another request of the client fetched.
pub(crate) enum FetchedList {
    Here(Bytes),
    /// It was made for another reader.
    ForAnother,
    /// The client is gone.
    Nothing,
}

/// The tools of one client: what it was shown, what it recorded.
pub struct ClientTools {
    pub(super) shared: Arc<Shared>,
}

/// A tool, and the digest of a state: two servers may say the same.
type RoundKey = (Arc<str>, [u8; 32]);

/// What a call has of its client, and where its result lives.
pub(super) struct Shared {
    client: Arc<ClientState>,
    pub(super) place: Arc<Place>,
}

impl Deref for Shared {
    type Target = ClientState;

    fn deref(&self) -> &ClientState {
        &self.client
    }
}

/// What calls of one client share.
pub(super) struct ClientState {
    pub(super) tools: Tools,
    /// What is built for it is charged to this.
    pub(super) account: Arc<Account>,
    pub(super) principal: Principal,
    pub(super) audience: Audience,
    listing: Mutex<ListingState>,
    rounds: Mutex<LruCache<RoundKey, Round>>,
    /// What other processes have to know of them; none where there are no flow rules, or no records.
    kept_rounds: Option<KeptRounds>,
    /// The key of the digests of what was asked.
    asked: RandomState,
    pub(super) tasks: Tasks,
    /// What other processes have to know of them; none without records.
    pub(super) kept_tasks: Option<KeptTasks>,
    /// How many tasks there may be.
    pub(super) room: TaskLimits,
    /// Resources that references named.
    pub(super) resources: ResourceCache,
}

/// What was listed for a client.
#[derive(Default)]
struct ListingState {
    listing: Option<Arc<Listing>>,
    /// Whether no server's list has changed since.
    is_current: bool,
    /// Whether the client listed itself.
    is_asked_for: bool,
    /// The names that it knows: of the lists that it was sent, or, if it never asked for any, of those
    /// that were fetched for it.
    sent: Arc<Bindings>,
    /// The servers of which it was sent tools: by its last list, or, without sessions, by any.
    listed: HashSet<usize>,
    /// Whether several clients may be behind the requests: without sessions.
    is_of_several: bool,
    /// Whether other processes may list for them: then all names are known, and mean the same there.
    is_elsewhere_too: bool,
    /// Of each server, the last listing that has its tools: it keeps them while it is away.
    last: HashMap<usize, Arc<Listing>>,
    /// The reader that the listing was made for.
    reader: Option<Arc<Reader>>,
    /// The listings for other readers, as far as they are remembered.
    others: Vec<(Arc<Reader>, Arc<Listing>)>,
}

/// How many of them are remembered.
const MAX_OTHERS: usize = 8;

impl ListingState {
    fn put(&mut self, listing: &Arc<Listing>, is_asked_for: bool, reader: &Arc<Reader>) {
        if !self.is_for(reader) {
            let before = self.reader.replace(Arc::clone(reader));
            self.others.retain(|(own, _)| own != reader);
            self.others.extend(before.zip(self.listing.take()));
            let surplus = self.others.len().saturating_sub(MAX_OTHERS);
            self.others.drain(..surplus);
        }
        for server in &listing.servers {
            self.last.insert(*server, Arc::clone(listing));
        }
        self.is_asked_for |= is_asked_for;
        if is_asked_for {
            if !self.is_of_several {
                self.listed.clear();
            }
            self.listed.extend(listing.servers_shown());
        }
        if is_asked_for || !self.is_asked_for || self.is_elsewhere_too {
            self.sent = Arc::clone(&listing.bindings);
        }
        self.listing = Some(Arc::clone(listing));
        self.is_current = true;
    }

    fn is_for(&self, reader: &Arc<Reader>) -> bool {
        self.reader.as_ref() == Some(reader)
    }

    /// What was listed for a reader.
    fn listing_for(&self, reader: &Arc<Reader>) -> Option<&Arc<Listing>> {
        let mut others = self.others.iter();
        if self.is_for(reader) {
            self.listing.as_ref()
        } else {
            others.find_map(|(own, listing)| (own == reader).then_some(listing))
        }
    }

    /// The lists may have changed.
    fn forget(&mut self) {
        self.is_current = false;
        self.others.clear();
    }
}

/// What a name stands for, for one client.
pub(super) enum NameLookup {
    Tool(Arc<Offered>),
    /// No server has such a tool.
    Unknown,
    /// One has it, but the client was not sent a list since.
    NotSent,
}

/// A call that was answered with a question.
#[derive(Clone)]
pub(super) struct Round {
    /// A digest of the name and the arguments as the client wrote them; none where the arguments as they were
    /// resolved found no room.
    asked: Option<u64>,
    /// What it was resolved to, charged.
    ready: PreparedCall,
    /// Where the call began.
    place: Arc<Place>,
    /// Whether whose data it holds is recorded.
    is_recorded: bool,
}

impl Round {
    fn bytes(&self) -> usize {
        self.ready.arguments.as_ref().map_or(0, Bytes::len)
    }

    /// Leaves whose data went to the call: that is small, and must not be forgotten.
    fn slim(&mut self) {
        self.asked = None;
        self.ready.arguments = None;
    }
}

impl Shared {
    pub(super) fn session(&self) -> &Session {
        &self.place.session
    }

    /// The same for a call whose result lives elsewhere.
    pub(super) fn at(&self, place: Arc<Place>) -> Arc<Self> {
        Arc::new(Self {
            client: Arc::clone(&self.client),
            place,
        })
    }

    /// The same for a call with these `params`, whose result lives where they say. A client that nothing tells
    /// from others cannot say so.
    pub(super) fn for_call(self: &Arc<Self>, params: Cursor<'_>) -> Arc<Self> {
        let conversation = match self.principal {
            Principal::Local | Principal::Named(_) => conversation(params),
            Principal::Anonymous => None,
        };
        conversation.map_or_else(
            || Arc::clone(self),
            |conversation| self.in_conversation(&conversation),
        )
    }

    /// The same for a call of a conversation.
    pub(super) fn in_conversation(
        self: &Arc<Self>,
        conversation: &ConversationDigest,
    ) -> Arc<Self> {
        let conversations = &self.tools.conversations;
        let session = |scope| self.client.session(scope);
        let (place, forgotten) = conversations.place(&self.principal, conversation, session);
        if let Some(forgotten) = forgotten {
            tracing::debug!(target: "crossfeed::gateway::tools", "forgot a conversation");
            tokio::spawn(async move { forgotten.close().await });
        }
        self.at(place)
    }

    /// The same for a call that goes on from this state, whose result lives where the call began.
    pub(super) fn continued(self: &Arc<Self>, offered: &Offered, state: Cursor<'_>) -> Arc<Self> {
        let place = state.as_str().and_then(|state| {
            let key = (Arc::clone(&offered.source), digest(&state));
            let place = Arc::clone(&self.rounds.lock().peek(&key)?.place);
            place.is_current().then_some(place)
        });
        place.map_or_else(|| Arc::clone(self), |place| self.at(place))
    }

    /// Keeps what a call was resolved to, for the client's answer to what the server asks. What finds no room is
    /// resolved anew then.
    ///
    /// # Errors
    ///
    /// The client must not get the state: other processes know of other calls that were answered with it, and not of this
    /// one.
    pub(super) async fn remember_round(
        &self,
        offered: &Offered,
        state: &str,
        ready: PreparedCall,
        asked: Option<u64>,
    ) -> Result<(), ErrorBodies> {
        let key = (Arc::clone(&offered.source), digest(state));
        // Before it is recorded, so that other calls with the state record this one's data with theirs.
        let sources = self.put_round(key.clone(), ready, asked);
        let Some(kept) = &self.kept_rounds else {
            return Ok(());
        };
        let (tool, state) = &key;
        let is_recorded = kept.keep(&self.tools.flows, tool, state, &sources).await;
        let is_recorded = is_recorded.map_err(|error| {
            tracing::warn!(target: "crossfeed::gateway::flow", error = with_causes(&error), "cannot record whose data a `requestState` holds: the client does not get it");
            refusal::unrecorded_question()
        })?;
        if let Some(round) = self.rounds.lock().peek_mut(&key) {
            round.is_recorded = is_recorded;
        }
        Ok(())
    }

    /// Keeps a call that was answered with a question, and says whose data its state holds: that of all calls which were
    /// answered with it.
    fn put_round(&self, key: RoundKey, ready: PreparedCall, asked: Option<u64>) -> Sources {
        let mut round = Round {
            asked,
            ready,
            place: Arc::clone(&self.place),
            is_recorded: false,
        };
        // What is longer was charged when it was built.
        let short = round.ready.arguments.take_if(|own| own.len() <= UNCHARGED);
        if let Some(arguments) = short {
            match self.account.charge(arguments.len(), Purpose::Resolved) {
                Some(charge) => round.ready.arguments = Some(charge.hold(arguments)),
                None => round.slim(),
            }
        }
        let mut rounds = self.rounds.lock();
        if let Some(before) = rounds.peek(&key) {
            round.ready.sources.extend(&before.ready.sources);
        }
        let sources = round.ready.sources.clone();
        rounds.put(key, round);
        let mut held: usize = rounds.iter().map(|(_, round)| round.bytes()).sum();
        for (_, round) in rounds.iter_mut().rev() {
            if held <= MAX_ROUND_BYTES {
                break;
            }
            held -= round.bytes();
            round.slim();
        }
        sources
    }

    pub(super) fn privacy(&self) -> Privacy {
        Privacy {
            is_shared: self.place.is_shared,
            says_complete: self.is_stateless(),
        }
    }

    /// How results of a tool are passed on.
    pub(super) fn passing(&self, offered: &Offered, view: View) -> Passing {
        Passing {
            view,
            is_stateless: self.is_stateless(),
            withholds: offered.withholds(),
        }
    }

    /// How this client's tools take references; where they differ, as all of them do.
    pub(super) fn reference_style(&self) -> (Style, Spelling) {
        let choices = list::choices(&self.tools.config, &self.audience);
        let mut styles = choices.filter_map(Choice::style);
        let first = styles.next();
        let same = first.filter(|first| styles.all(|style| style == *first));
        same.unwrap_or((Style::Inline, Spelling::Underscore))
    }

    /// What the model hears of its call.
    pub(super) fn heard(&self, notices: Notices) -> Notices {
        if self.tools.config.mutes_notices {
            return Notices::default();
        }
        notices
    }

    /// What is wanted of a result, as it leaves the gateway, and the room that it takes.
    pub(super) async fn export(
        &self,
        request: ExportRequest<'_>,
    ) -> Result<(Export, Charge), ExportError> {
        self.export_from(self.session(), request).await
    }

    /// The same for a call in flight, whose session this is.
    pub(super) async fn export_from(
        &self,
        session: &Session,
        request: ExportRequest<'_>,
    ) -> Result<(Export, Charge), ExportError> {
        let most = self.tools.config.limits.message_bytes;
        let reserve = |bytes| room::to_write(self, bytes).ok();
        export(session, request, most, reserve).await
    }

    /// Whose results a process for statements has imported.
    #[cfg(feature = "sql")]
    pub(super) fn owner(&self) -> String {
        let scope = self.session().scope();
        let number = self.place.number.to_string();
        // Control characters stand in none of them.
        [scope.tenant(), scope.project(), scope.session(), &number].join("\n")
    }

    /// An error as the result of a call.
    pub(super) fn refused(&self, bodies: ErrorBodies) -> Bytes {
        refusal::to_result(bodies, self.privacy())
    }

    /// Learns from a result what a tool returns that does not say it.
    pub(super) fn learn(&self, call_id: &CallId, offered: &Offered) {
        // What is learned of results of one must not show in another's.
        let extra = &self.tools.config.extra_tools;
        if offered.output.is_some() || self.place.is_shared || !extra.inspect {
            return;
        }
        let (session, call_id) = (self.session().clone(), call_id.clone());
        tokio::spawn(async move {
            let learned = session.learn(&call_id).await;
            if let Err(failure) = learned {
                tracing::debug!(target: "crossfeed::gateway::tools", %failure, "learned nothing from a result");
            }
        });
    }

    /// The headers that go along with a call of a tool (`x-mcp-header`), by its arguments. Those of a tool that
    /// has none are not read.
    ///
    /// # Errors
    ///
    /// There is no memory to read these.
    pub(super) async fn headers(
        &self,
        offered: &Offered,
        arguments: Option<&Bytes>,
    ) -> Result<Vec<Header>, ErrorBodies> {
        let Some(arguments) = arguments.filter(|_| !offered.headers.is_empty()) else {
            return Ok(Vec::new());
        };
        let _room = room::to_index(self, arguments).await?;
        let document = indexed(arguments.clone()).await;
        let headers = document.root().map(|root| offered.headers_of(root));
        Ok(headers.unwrap_or_default())
    }
}

impl ClientState {
    /// A session of the engine, charged to the client.
    fn session(&self, scope: Scope) -> Session {
        let session = self.tools.engine.session(scope);
        session.with_memory(Arc::clone(&self.account) as Arc<dyn Memory>)
    }

    /// What was listed last, though it may have changed since: lists may change at any time.
    pub(super) fn listing(&self) -> Option<Arc<Listing>> {
        self.listing.lock().listing.clone()
    }

    /// The same as it was listed for a reader. Where that could not be fetched it is what others were listed.
    pub(super) fn listing_for(&self, reader: &Arc<Reader>) -> Option<Arc<Listing>> {
        let shown = self.listing.lock();
        let listing = shown.listing_for(reader).or(shown.listing.as_ref());
        listing.cloned()
    }

    /// Whether the client may use a server.
    pub(super) fn admits(&self, server: &str) -> bool {
        let name = self.principal.name();
        let holder = name.and_then(|name| self.tools.config.holder(name));
        holder.is_none_or(|holder| holder.admits_server(server))
    }

    /// The client that a request is from that says this of itself. In the era without sessions only the request
    /// says it.
    fn client_of<'a>(&'a self, asked: &'a ReaderHints) -> Option<&'a ClientName> {
        if self.is_stateless() {
            asked.client.as_ref()
        } else {
            self.audience.client.as_ref()
        }
    }

    /// The reader of the results of a request with such a `_meta`.
    pub(super) fn reader(&self, asked: &ReaderHints) -> Arc<Reader> {
        if asked.is_empty() {
            return Arc::clone(&self.audience.reader);
        }
        let reader = Reader::new(&self.tools.config, self.client_of(asked), asked.view);
        Arc::new(reader)
    }

    /// The tool that a name stands for: the one of the server that the name came from, be it there or not.
    /// With one server there is no other that it could be.
    pub(super) fn find(&self, name: &str, reader: &Arc<Reader>) -> NameLookup {
        let shown = self.listing.lock();
        let listing = shown.listing_for(reader).or(shown.listing.as_ref());
        let listed = listing.and_then(|listing| listing.tools.get(name));
        let owner = shown.sent.owner(name).map(|(server, _)| server);
        let found = match (listed, owner) {
            (listed, _) if self.tools.naming.is_sole() => listed,
            (Some(_), None) => return NameLookup::NotSent,
            (Some(tool), Some(_)) => Some(tool),
            (None, None) => None,
            (None, Some(owner)) => {
                let is_there = shown.listing.as_ref();
                let is_there = is_there.is_some_and(|listing| listing.servers.contains(&owner));
                let last = shown.last.get(&owner).filter(|_| !is_there);
                last.and_then(|listing| listing.tools.get(name))
            }
        };
        found.map_or(NameLookup::Unknown, |tool| {
            NameLookup::Tool(Arc::clone(tool))
        })
    }

    /// A tool that was listed, by its server's name for it, with the name that it has for the client.
    pub(super) fn listed(&self, source: &str) -> Option<(String, Arc<Offered>)> {
        let shown = self.listing.lock();
        let listings = shown.listing.iter().chain(shown.last.values());
        let mut tools = listings.flat_map(|listing| &listing.tools);
        let (name, tool) = tools.find(|(_, tool)| &*tool.source == source)?;
        Some((name.clone(), Arc::clone(tool)))
    }

    /// Which part of a result the client of a request with such a `_meta` shows its model.
    pub(super) fn shows(&self, asked: &ReaderHints) -> Shows {
        self.client_of(asked)
            .and_then(ClientName::known)
            .map_or_else(Shows::default, |known| known.shows)
    }

    /// Whether the client's revision is without sessions.
    pub(super) fn is_stateless(&self) -> bool {
        self.audience.revision.is_stateless()
    }

    /// What a call was resolved to that was answered with this state, if it is the same call, of the
    /// same tool: what is shown by a name may be another server's by now. And whose data went to that
    /// call, the same or not: the server goes on from there, whatever the request says.
    ///
    /// # Errors
    ///
    /// With flow rules, a state that this client did not get from this tool, or that was forgotten:
    /// whose data it holds is unknown.
    pub(super) async fn round(
        &self,
        offered: &Offered,
        state: Cursor<'_>,
        asked: Option<u64>,
        is_begun: bool,
    ) -> Result<(Option<PreparedCall>, Sources), FlowError> {
        let key = state
            .as_str()
            .map(|state| (Arc::clone(&offered.source), digest(&state)));
        let known = key.as_ref().and_then(|key| {
            let mut rounds = self.rounds.lock();
            let round = rounds.get(key)?;
            let is_same = asked.is_some() && round.asked == asked;
            let same = is_same.then(|| round.ready.clone());
            Some((same, round.ready.sources.clone(), round.is_recorded))
        });
        // What is not begun is not recorded: whose data it holds decides nothing.
        let kept = self.kept_rounds.as_ref().filter(|_| is_begun);
        let known = match kept.zip(key) {
            Some((kept, (tool, state))) => {
                let found = kept.find(&self.tools.flows, &tool, &state).await;
                let found = found.unwrap_or_else(|error| {
                    tracing::warn!(target: "crossfeed::gateway::flow", error = with_causes(&error), "cannot read whose data a `requestState` holds");
                    KeptRound::Unknown
                });
                match (found, known) {
                    (KeptRound::Unknown, _) => None,
                    // Removed, by another process that knows more, or over.
                    (KeptRound::Absent, Some((.., true))) => None,
                    (KeptRound::Absent, known) => known,
                    (KeptRound::Sources(more), known) => {
                        let (same, mut sources, _) = known.unwrap_or_default();
                        sources.extend(&more);
                        Some((same, sources, true))
                    }
                }
            }
            None => known,
        };
        match known {
            Some((same, sources, _)) => Ok((same, sources)),
            // A tool that is never chained got no references, and nothing can refer to its results.
            None if self.tools.flows.is_empty() || !offered.is_chained => {
                Ok((None, Sources::default()))
            }
            None => Err(FlowError::UnknownState {
                tool: Arc::clone(&offered.source),
                is_repeatable: offered.prepared.listed().is_repeatable(),
            }),
        }
    }

    /// A keyed digest of the name and the arguments of a call; the key is this client's own.
    pub(super) async fn asked(&self, name: &str, arguments: Option<Bytes>) -> u64 {
        let key = self.asked.clone();
        let bytes = arguments.as_ref().map_or(0, Bytes::len);
        let arguments = apart(bytes, move || key.hash_one(arguments)).await;
        self.asked.hash_one((name, arguments))
    }
}

/// By which a state is known again: servers may make states as long as messages.
fn digest(state: &str) -> [u8; 32] {
    Sha256::digest(state).into()
}

impl ClientTools {
    /// The tools of a caller; none where its session cannot be named.
    pub(super) fn new(tools: &Tools, caller: &Caller) -> Self {
        let Caller {
            principal, session, ..
        } = caller;
        let is_named = principal.name().is_some();
        let holder = principal.name().and_then(|name| tools.config.holder(name));
        // Without sessions only a request says which client it is from.
        let known = caller.client.as_ref();
        let known = known.filter(|_| !caller.revision.is_stateless());
        let reader = Arc::new(Reader::new(&tools.config, known, None));
        let audience = Audience {
            client: caller.client.clone(),
            reader,
            revision: caller.revision,
            may_list: session.is_some() || is_named,
            tools: holder.map_or_else(Vec::new, |holder| holder.tools.clone()),
        };
        let scope = ids::scope(principal, session.as_deref());
        // Without a session, the local clients of several processes have one scope.
        let is_one = session.is_some() || *principal != Principal::Local;
        let records = tools.records.as_ref().filter(|_| is_one);
        let kept_tasks = records.map(|records| KeptTasks::new(records.clone(), scope.clone()));
        let kept_rounds = records
            .filter(|_| !tools.flows.is_empty())
            .map(|records| KeptRounds::new(records.clone(), scope.clone()));
        let ids = match (session, &tools.records) {
            (Some(_), Some(records)) => {
                let numbers = ReservedIds::new(records, &scope);
                CallIds::reserved(Arc::new(numbers), scope.clone())
            }
            (Some(_), None) => CallIds::counted_from(0),
            (None, _) => CallIds::signed(tools.id_keys.clone(), principal),
        };
        let is_shared = !audience.may_list;
        let calls = tools.config.limits.requests_per_client;
        let room = TaskLimits::new(calls, is_shared);
        let client = ClientState {
            account: tools.budget.account(principal),
            principal: principal.clone(),
            tools: tools.clone(),
            audience,
            listing: Mutex::new(ListingState {
                is_of_several: caller.revision.is_stateless(),
                is_elsewhere_too: tools.is_one_of_several(caller.revision),
                ..ListingState::default()
            }),
            rounds: Mutex::new(LruCache::new(MAX_ROUNDS)),
            kept_rounds,
            asked: RandomState::new(),
            tasks: Mutex::new(LruCache::new(room.known)),
            kept_tasks,
            room,
            resources: ResourceCache::default(),
        };
        let mut session = client.session(scope);
        if is_shared {
            session = session.with_hidden_ids();
        }
        if let Some(signer) = ids.given_signer().cloned() {
            session = session.with_id_check(move |id| signer.may_be(id.as_str()));
        }
        let place = Place::new(session, ids, is_shared, None);
        let client = Arc::new(client);
        Self {
            shared: Arc::new(Shared { client, place }),
        }
    }

    /// The one `tools/list` result for all servers' lists; and from here on calls are understood by it.
    pub async fn list(&self, lists: &[ServerList]) -> Bytes {
        let room = self.shared.account.nothing();
        let reader = Arc::clone(&self.shared.audience.reader);
        let listing = self.listed(lists, true, &reader, room).await;
        listing.bytes.clone()
    }

    /// The same, if there is room for it. A client that did not ask for it learns of no name by it that it
    /// could call, unless it never asked for a list.
    pub(crate) async fn list_within(
        &self,
        lists: &[ServerList],
        is_asked_for: bool,
        reader: &Arc<Reader>,
    ) -> Option<Bytes> {
        let room = Listings::room(&self.shared.account, lists)?;
        let listing = self.listed(lists, is_asked_for, reader, room);
        Some(listing.await.bytes.clone())
    }

    /// The reader of the results of a request, by its `_meta`.
    ///
    /// # Errors
    ///
    /// The view is unknown.
    pub(crate) fn reader(&self, meta: Option<&Bytes>) -> Result<Arc<Reader>, RpcError> {
        // Most say nothing of it, and need no index.
        let meta = meta.filter(|meta| reader::may_say(meta, self.shared.is_stateless()));
        let document = meta.map(|meta| Document::new(meta.clone()));
        let root = document.as_ref().and_then(|meta| meta.root().ok());
        let asked = root.map(|root| ReaderHints::from_meta(root, self.shared.is_stateless()));
        let asked = asked
            .transpose()
            .map_err(|message| RpcError::new(code::INVALID_PARAMS, message))?;
        Ok(self.shared.client.reader(&asked.unwrap_or_default()))
    }

    /// The list as it was shown last, for a client that asks for it in such a request: it was fetched since.
    pub(crate) fn relisted(&self, reader: &Arc<Reader>) -> FetchedList {
        let mut shown = self.shared.listing.lock();
        let Some(listing) = shown.listing.clone() else {
            return FetchedList::Nothing;
        };
        if !shown.is_for(reader) {
            return FetchedList::ForAnother;
        }
        let is_current = shown.is_current;
        shown.put(&listing, true, reader);
        shown.is_current = is_current;
        FetchedList::Here(listing.bytes.clone())
    }

    async fn listed(
        &self,
        lists: &[ServerList],
        is_asked_for: bool,
        reader: &Arc<Reader>,
        room: Charge,
    ) -> Arc<Listing> {
        let tools = &self.shared.tools;
        let before = self.shared.listing();
        let before = before.map(|listing| Arc::clone(&listing.bindings));
        let audience = Audience {
            reader: Arc::clone(reader),
            ..self.shared.audience.clone()
        };
        let listing = tools
            .listings
            .get(tools, lists, audience, before.unwrap_or_default(), room)
            .await;
        let mut shown = self.shared.listing.lock();
        shown.put(&listing, is_asked_for, reader);
        listing
    }

    /// Whether [`list`](Self::list) was asked since the lists last changed.
    pub fn is_listed(&self) -> bool {
        self.shared.listing.lock().is_current
    }

    /// Whether that was so for a reader.
    pub(crate) fn is_listed_for(&self, reader: &Arc<Reader>) -> bool {
        let shown = self.shared.listing.lock();
        shown.is_current && shown.listing_for(reader).is_some()
    }

    /// Whether the client asked for a list itself.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.shared.listing.lock().is_asked_for
    }

    /// The client asked for a list in an earlier process, whose names are not known here: it has to ask again.
    pub(crate) fn was_asked_before(&self) {
        self.shared.listing.lock().is_asked_for = true;
    }

    /// Whether the client was sent tools of a server.
    pub(crate) fn was_sent(&self, server: usize) -> bool {
        self.shared.listing.lock().listed.contains(&server)
    }

    /// What became of each tool of the lists that were listed last, in their order; those left out too.
    pub fn report(&self) -> Vec<ToolReport> {
        let listing = self.shared.listing();
        listing.map_or_else(Vec::new, |listing| listing.reports.clone())
    }

    /// Patterns of servers' configurations that none of the tools listed last fits.
    pub fn unmatched(&self) -> Vec<UnmatchedPattern> {
        let listing = self.shared.listing();
        listing.map_or_else(Vec::new, |listing| listing.unmatched.clone())
    }

    /// Logs those patterns, each once for all clients. A server that lists nothing may do so later.
    pub(crate) fn tell_unmatched(&self) {
        let Some(listing) = self.shared.listing() else {
            return;
        };
        let tools = &self.shared.tools;
        for pattern in &listing.unmatched {
            let server = pattern.server;
            let lists = listing.reports.iter().any(|tool| tool.server == server);
            if lists && tools.logged.lock().insert((server, pattern.to_string())) {
                let server = tools.config.servers.get(server);
                tracing::warn!(
                    target: "crossfeed::gateway",
                    server = server.map_or("", |server| &server.name),
                    "{pattern}"
                );
            }
        }
    }

    /// A server's list changed: the next call needs a new one, if it can be had.
    pub fn forget_list(&self) {
        self.shared.listing.lock().forget();
    }

    /// Whether references may name resources that servers list or link to.
    pub(crate) fn takes_resources(&self) -> bool {
        self.shared.tools.config.references.resources
    }

    /// By what a question for the roots of a client without a session is known; none where references name no files.
    pub(crate) fn roots_state(&self) -> Option<&str> {
        self.shared.tools.files.as_ref().map(|files| files.state())
    }

    /// Resources have changed: references read them anew.
    pub(crate) fn forget_resources(&self) {
        self.shared.resources.clear();
    }

    /// The headers that go along with a call of a tool (`x-mcp-header`), by its `params`. Those of a tool that
    /// has none are not read.
    ///
    /// # Errors
    ///
    /// There is no memory to read these.
    pub async fn headers(&self, tool: &str, params: &Bytes) -> Result<Vec<Header>, RpcError> {
        let reader = &self.shared.audience.reader;
        let NameLookup::Tool(offered) = self.shared.find(tool, reader) else {
            return Ok(Vec::new());
        };
        if offered.headers.is_empty() {
            return Ok(Vec::new());
        }
        let headers = async {
            let params = Params::read(&self.shared, params.clone()).await?;
            let arguments = params.arguments();
            self.shared.headers(&offered, arguments.as_ref()).await
        };
        headers.await.map_err(|bodies| {
            let body = bodies.first();
            let data = serde_json::json!({"code": body.map(|body| body.code)});
            let message = body.map_or("", |body| &body.message);
            RpcError::new(code::INTERNAL, message).with_data(data)
        })
    }

    /// What the instructions of the server say beside those of the servers behind it.
    pub fn guidance(&self) -> String {
        self.guidance_for(&self.shared.audience.reader)
    }

    /// The same for the reader of the results of a request.
    pub(crate) fn guidance_for(&self, reader: &Reader) -> String {
        let config = &self.shared.tools.config;
        let mut choices = list::choices(config, &self.shared.audience).peekable();
        if !reader.takes_references || choices.peek().is_none() {
            return String::new();
        }
        let mut styles = Vec::new();
        for style in choices.filter_map(Choice::style) {
            if !styles.contains(&style) {
                styles.push(style);
            }
        }
        let texts = styles
            .into_iter()
            .map(|(style, spelling)| guidance_with(style, spelling, false, offers(config)));
        let extra = self.shared.tools.own_tools(self.shared.audience.may_list);
        let has_previews = reader.views().any(|view| view != View::Program);
        let of_previews = has_previews.then(|| builtin::guidance(&extra)).flatten();
        let of_views = reader.views().filter_map(reader::guidance);
        texts
            .chain(of_previews)
            .chain(of_views.map(str::to_owned))
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    /// The client is gone, and with it everything that it recorded outside of conversations.
    pub async fn close(&self) {
        self.leave();
        // Others without sessions go on.
        if matches!(self.shared.place.ids, CallIds::Signed { .. }) {
            return;
        }
        #[cfg(feature = "sql")]
        if let Some(queries) = &self.shared.tools.queries {
            queries.forget(&self.shared.owner());
        }
        self.shared.place.close().await;
    }

    /// The client is gone, and may come back to what it recorded.
    pub(crate) fn leave(&self) {
        self.shared.tasks.lock().clear();
        self.shared.rounds.lock().clear();
        *self.shared.listing.lock() = ListingState::default();
        self.shared.resources.clear();
    }
}
