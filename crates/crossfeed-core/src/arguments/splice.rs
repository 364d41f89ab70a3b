//! Writes arguments as bytes: large values are shared with the stored bytes, the rest is copied and joined.

use super::node::{Child, Name, Node, opened};
use bytes::Bytes;
use crossfeed_jmespath::{Charge, Cost, Kind, Memory, Reservation, View};
use crossfeed_json::{Cursor, Key, escape_into};
use std::{fmt, ops::Range, sync::Arc};

/// Shorter values are copied: a piece of its own would cost more than the copy, and keep the whole document
/// alive.
const SHARED_BYTES: usize = 16 << 10;
/// Bytes that are written without asking for room: commas, quotes, and all closing brackets.
const SIGNS: usize = 256;
/// The most bytes that an escaped byte takes.
const ESCAPED: usize = 6;

/// JSON in pieces, to be written one after another.
///
/// A large value that a reference brought in is a slice of the stored bytes, not a copy. It keeps the bytes
/// of that result in memory as long as it lives, even after the session has dropped them.
///
/// ```
/// # use crossfeed_core::{Engine, EngineOptions, ToolResult};
/// # use crossfeed_wire::{CallId, Scope};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let engine = Engine::in_memory(EngineOptions::default());
/// # let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
/// session.record(&CallId::parse("call_1")?, ToolResult::json("[1.50,\n 2]")).await?;
/// let resolved = session.resolve_json(r#"{"x": {"$tool": "call_1"}}"#, None).await?;
/// assert_eq!(resolved.arguments.to_vec(), b"{\"x\":[1.50,\n 2]}");
/// assert_eq!(resolved.arguments.on_one_line().to_vec(), b"{\"x\":[1.50,  2]}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct SplicedJson {
    chunks: Vec<Bytes>,
    /// The session's memory that the copied pieces take.
    taken: Option<Arc<Charge>>,
}

impl PartialEq for SplicedJson {
    fn eq(&self, other: &Self) -> bool {
        self.chunks == other.chunks
    }
}

impl Eq for SplicedJson {}

impl fmt::Debug for SplicedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, pieces) = (self.len(), self.chunks.len());
        write!(f, "SplicedJson({bytes} bytes in {pieces} pieces)")
    }
}

impl SplicedJson {
    /// The pieces in order.
    pub fn chunks(&self) -> &[Bytes] {
        &self.chunks
    }

    /// Number of bytes of all pieces.
    #[expect(clippy::len_without_is_empty, reason = "no JSON is empty")]
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Bytes::len).sum()
    }

    /// A copy of all pieces.
    pub fn to_vec(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    /// Gives back the session's memory that the pieces take ([`Session::with_memory`]): for a host that
    /// accounts for them itself from now on.
    ///
    /// [`Session::with_memory`]: crate::Session::with_memory
    pub fn give_back(&mut self) {
        self.taken = None;
    }

    /// All pieces as one: a copy, unless there is only one.
    pub fn into_bytes(self) -> Bytes {
        match <[Bytes; 1]>::try_from(self.chunks) {
            Ok([only]) => only,
            Err(chunks) => chunks.concat().into(),
        }
    }

    /// The same JSON without line breaks, for protocols that end a message with one: line breaks between
    /// tokens become blanks, and strings contain none. Pieces without line breaks are not copied.
    pub fn on_one_line(self) -> Self {
        let chunks = self.chunks.into_iter().map(|chunk| {
            if memchr::memchr2(b'\n', b'\r', &chunk).is_none() {
                return chunk;
            }
            let blank = |byte: &u8| match byte {
                b'\n' | b'\r' => b' ',
                other => *other,
            };
            chunk.iter().map(blank).collect()
        });
        Self {
            chunks: chunks.collect(),
            taken: self.taken,
        }
    }
}

impl From<Bytes> for SplicedJson {
    fn from(json: Bytes) -> Self {
        Self {
            chunks: vec![json],
            taken: None,
        }
    }
}

/// Writes a value. Copied bytes are charged to a memory, if there is one, as long as the pieces live.
pub(crate) fn spliced(
    node: &Node<'_>,
    memory: Option<&Arc<dyn Memory>>,
) -> Result<SplicedJson, Cost> {
    let mut writer = Writer {
        chunks: Vec::new(),
        open: Vec::new(),
        reservation: Reservation::new(memory.cloned()),
    };
    writer.node(node)?;
    writer.flush();
    Ok(SplicedJson {
        chunks: writer.chunks,
        taken: memory.map(|_| Arc::new(writer.reservation.into_charge())),
    })
}

struct Writer {
    chunks: Vec<Bytes>,
    open: Vec<u8>,
    reservation: Reservation,
}

impl Writer {
    /// Makes room for this many bytes and for the punctuation around them, closing brackets included.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> Result<(), Cost> {
        self.reservation
            .grow_by(&mut self.open, bytes.saturating_add(SIGNS))
    }

    fn flush(&mut self) {
        if !self.open.is_empty() {
            self.chunks.push(std::mem::take(&mut self.open).into());
        }
    }

    /// Recursion is bounded by the depth of the arguments.
    fn node(&mut self, node: &Node<'_>) -> Result<(), Cost> {
        self.make_room(0)?;
        match node {
            Node::View(view) => self.view(view)?,
            Node::List(items) => {
                self.open.push(b'[');
                let mut run = Run::new(items.original());
                for (index, child) in items.iter().enumerate() {
                    if let Child::Original(view) = &child
                        && let Some(item) = view.as_cursor()
                        && run.goes_on(item.offset(), item)
                    {
                        continue;
                    }
                    self.end(&mut run)?;
                    self.comma(index);
                    self.child(&child, &mut run)?;
                }
                self.end(&mut run)?;
                self.open.push(b']');
            }
            Node::Object(members) => {
                self.open.push(b'{');
                let mut run = members.original().map_or_else(Run::default, Run::new);
                for (index, (name, child)) in members.iter().enumerate() {
                    if let Child::Original(view) = &child
                        && let Some(member) = view.as_cursor()
                        && let Name::Source(key) = &name
                        && run.goes_on(key_start(*key, member), member)
                    {
                        continue;
                    }
                    self.end(&mut run)?;
                    self.comma(index);
                    self.name(&name)?;
                    self.child(&child, &mut run)?;
                }
                self.end(&mut run)?;
                self.open.push(b'}');
            }
        }
        Ok(())
    }

    /// Writes a changed child, or begins a run of unchanged ones.
    fn child<'a>(&mut self, child: &Child<'_, 'a>, run: &mut Run<'a>) -> Result<(), Cost> {
        match child {
            Child::Changed(node) => self.node(node),
            Child::Original(view) => match view.as_cursor() {
                Some(cursor) if run.is_possible() => {
                    run.begin(cursor);
                    Ok(())
                }
                _ => self.view(view),
            },
        }
    }

    /// Ends a run: writes its bytes.
    fn end(&mut self, run: &mut Run<'_>) -> Result<(), Cost> {
        let Some((container, bytes)) = run.take() else {
            return Ok(());
        };
        if bytes.len() >= SHARED_BYTES {
            self.flush();
            let from = container.offset();
            let all = container.shared();
            self.chunks
                .push(all.slice(bytes.start - from..bytes.end - from));
        } else {
            let from = container.offset();
            let bytes = container.raw().get(bytes.start - from..bytes.end - from);
            let bytes = bytes.unwrap_or_default();
            self.make_room(bytes.len())?;
            self.open.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.open.push(b',');
        }
    }

    fn name(&mut self, name: &Name<'_, '_>) -> Result<(), Cost> {
        match name {
            Name::Source(key) => {
                self.make_room(key.raw().len())?;
                self.open.push(b'"');
                self.open.extend_from_slice(key.raw());
            }
            Name::Text(text) => {
                self.make_room(text.len().saturating_mul(ESCAPED))?;
                self.open.push(b'"');
                escape_into(&mut self.open, text);
            }
        }
        self.open.extend_from_slice(b"\":");
        Ok(())
    }

    fn view(&mut self, view: &View<'_>) -> Result<(), Cost> {
        if let Some(cursor) = view.as_cursor()
            && cursor.written_len() >= SHARED_BYTES
            && !cursor.document_has_duplicates()
        {
            self.flush();
            self.chunks.push(cursor.shared());
            return Ok(());
        }
        if is_worth_opening(view)
            && let Some(open) = opened(view)
        {
            return self.node(&open);
        }
        self.make_room(view.written_len(usize::MAX).unwrap_or_default())?;
        // The value was measured above, so no limit is exceeded.
        let _ = view.write(&mut self.open, usize::MAX);
        Ok(())
    }
}

/// Unchanged children that follow each other in the document without blanks between them: they are written at
/// once.
#[derive(Default)]
struct Run<'a> {
    container: Option<Cursor<'a>>,
    bytes: Option<Range<usize>>,
}

impl<'a> Run<'a> {
    /// An empty run in the original list or object.
    fn new(came: &View<'a>) -> Self {
        // The bytes of an object with duplicate keys hold members that are not written.
        let came = came.as_cursor();
        Self {
            container: came.filter(|came| !came.document_has_duplicates()),
            bytes: None,
        }
    }

    fn is_possible(&self) -> bool {
        self.container.is_some()
    }

    /// Begins a run with the value of a child.
    fn begin(&mut self, child: Cursor<'a>) {
        self.bytes = Some(child.offset()..child.offset() + child.raw().len());
    }

    /// Adds a child that begins at `start` if it follows the run directly; returns whether it did.
    fn goes_on(&mut self, start: usize, child: Cursor<'a>) -> bool {
        let run = self.bytes.as_mut().filter(|run| run.end + 1 == start);
        run.map(|run| run.end = child.offset() + child.raw().len())
            .is_some()
    }

    fn take(&mut self) -> Option<(Cursor<'a>, Range<usize>)> {
        Some((self.container?, self.bytes.take()?))
    }
}

/// The start of a member without blanks between key and value; `usize::MAX` for any other.
fn key_start(key: Key<'_>, value: Cursor<'_>) -> usize {
    let is_near = value.raw().as_ptr().addr() == key.raw().as_ptr().addr() + key.raw().len() + 2;
    if is_near {
        value.offset().saturating_sub(key.raw().len() + 3)
    } else {
        usize::MAX
    }
}

/// Whether a value that a selector built may hold values to share: its children are large on average.
fn is_worth_opening(view: &View<'_>) -> bool {
    let is_built = view.as_cursor().is_none() && matches!(view.kind(), Kind::Array | Kind::Object);
    let children = view.len().unwrap_or_default().max(1);
    is_built && view.size(children.saturating_mul(SHARED_BYTES)).is_err()
}
