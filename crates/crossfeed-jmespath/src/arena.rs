//! The arena of an evaluation: what its views borrow beside the document, and the memory of what it builds.

use crate::{
    budget::{Budget, Cost},
    expression::Expression,
    memory::{Memory, Reservation},
    view::View,
};
use crossfeed_json::{Cursor, Document, Kind, indexing_bytes};
use elsa::{FrozenMap, FrozenVec};
use std::{cell::Cell, sync::Arc};

/// Owns the data that the views of an evaluation borrow besides the document: expressions, and JSON embedded
/// in strings. It reserves the memory for built values.
///
/// A string that is exactly a JSON object or list is opened when a path goes through it, once per arena.
#[derive(Default)]
pub struct Arena {
    /// By the address of the string's bytes, which names it as long as its document lives.
    opened: FrozenMap<usize, Box<Document>>,
    opened_values: Cell<usize>,
    /// Bytes that are reserved for the documents.
    opened_bytes: Cell<usize>,
    expressions: FrozenVec<Arc<Expression>>,
    reservation: Reservation,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Arena({} documents)", self.opened.len())
    }
}

impl Arena {
    /// An arena without documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// An arena without documents. Built values are charged to a memory, if there is one: the outcome of an
    /// evaluation until the arena is dropped, intermediate values until the evaluation ends.
    pub fn with_memory(memory: Option<Arc<dyn Memory>>) -> Self {
        Self {
            reservation: Reservation::new(memory),
            ..Self::default()
        }
    }

    /// The memory reserved for built values.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// Keeps an expression for as long as the arena lives.
    pub fn keep(&self, expression: Arc<Expression>) -> &Expression {
        self.expressions.push_get(expression)
    }

    /// The bytes reserved for values that expressions built.
    pub(crate) fn built(&self) -> usize {
        let used = self.reservation.used();
        used.saturating_sub(self.opened_bytes.get())
    }

    /// Frees values built since this many bytes were reserved, except `kept`; nothing refers to the others.
    pub(crate) fn free(&self, before: usize, kept: Option<&View<'_>>) {
        let built = self.built().saturating_sub(before);
        if built > 0 && self.reservation.is_charged() {
            let kept = kept.map_or(0, |view| view.built_bytes(built));
            self.reservation.release(built - kept);
        }
    }

    /// The number of values in all opened documents, which later budgets cover.
    pub fn opened_values(&self) -> usize {
        self.opened_values.get()
    }

    /// The object or list whose JSON is the string at `cursor`; `None` for any other string.
    ///
    /// # Errors
    ///
    /// [`Cost`] when the budget does not cover reading the string.
    pub fn open<'a>(
        &'a self,
        cursor: Cursor<'a>,
        budget: &Budget,
    ) -> Result<Option<Cursor<'a>>, Cost> {
        let raw = cursor.raw();
        let first = first_inside(raw.get(..GLANCE).unwrap_or(raw));
        if matches!(first, Some(byte) if !opens_json(byte)) {
            return Ok(None);
        }
        let key = raw.as_ptr() as usize;
        let document = match self.opened.get(&key) {
            Some(document) => document,
            None => {
                budget.read_json(raw.len())?;
                let before = self.reservation.used();
                let is_json = first.or_else(|| first_inside(raw)).is_some_and(opens_json);
                let indexing = if is_json { indexing_bytes(raw) } else { 0 };
                if is_json {
                    self.reservation
                        .reserve(raw.len().saturating_add(indexing))?;
                }
                let (document, values) = budget.untimed(raw.len(), || {
                    // Invalid JSON is kept as well, so that it is not parsed again.
                    let text = cursor.as_str().filter(|_| is_json).unwrap_or_default();
                    let document = Document::new(text.into_owned());
                    let document = self.opened.insert(key, Box::new(document));
                    (document, document.root().map_or(0, Cursor::value_count))
                });
                self.reservation.release(indexing / 2);
                let bytes = self.reservation.used().saturating_sub(before);
                self.opened_bytes.set(self.opened_bytes.get() + bytes);
                budget.extend(values);
                self.opened_values.set(self.opened_values.get() + values);
                document
            }
        };
        // Invalid JSON, and JSON that nests too deep, stays a string.
        let root = document.root().ok();
        Ok(root.filter(|root| matches!(root.kind(), Kind::Array | Kind::Object)))
    }
}

/// The first byte of a string is looked for in this many bytes before reading is paid for.
const GLANCE: usize = 64;

/// The first byte of a raw string, after its opening quote, that is not a blank.
fn first_inside(raw: &[u8]) -> Option<u8> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\\' | b'n' | b'r' | b't');
    let inside = raw.strip_prefix(b"\"")?;
    inside.iter().copied().find(|byte| !blank(byte))
}

/// Whether an object or a list begins with this byte.
fn opens_json(byte: u8) -> bool {
    matches!(byte, b'{' | b'[')
}
