//! A value as the evaluator sees it: borrowed JSON, or a value that an expression built from it.

use crate::{
    budget::{Budget, Cost},
    compile::{Hash, Node},
};
pub use crossfeed_json::Kind;
use crossfeed_json::{Cursor, count_chars, escape_into};
use serde_json::Value;
use std::{borrow::Cow, rc::Rc, slice};

/// A value: a place in a document, or a list, object or scalar that was built over such places.
///
/// Cloning is cheap: built values are shared.
#[derive(Clone, Debug)]
pub struct View<'a>(pub(crate) Repr<'a>);

/// The tag is as wide as a pointer, so that no field straddles words: values are moved a lot, and a word
/// written in two pieces is slow to read.
#[derive(Clone, Debug)]
#[repr(u64)]
pub(crate) enum Repr<'a> {
    Null,
    Bool(bool),
    Json(Cursor<'a>),
    Integer(i64),
    /// Always finite.
    Float(f64),
    /// A number by its digits.
    Digits(Rc<str>),
    Str(&'a str),
    Text(Rc<str>),
    List(Rc<Vec<View<'a>>>),
    Hash(&'a Hash, Rc<Vec<View<'a>>>),
    /// Keys and values.
    Object(Rc<Vec<Cow<'a, str>>>, Rc<Vec<View<'a>>>),
    /// `&expression`, which is not a value: only functions take it.
    Reference(&'a Node),
}

/// The memory of a built list or text besides its content: its header, and the overhead of two allocations.
pub(crate) const BUILT_BYTES: usize = 64;
/// The memory of a member of a merged object while members are looked up, apart from its key: its entries in a
/// list and in a map, either of which may be half empty, or moving.
pub(crate) const MEMBER_BYTES: usize = 256;

/// More output than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the output is larger than {limit} bytes")]
pub struct OutputTooLarge {
    /// How many bytes are allowed.
    pub limit: usize,
}

/// Why a view has no `serde_json::Value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unrepresentable {
    /// A number beyond 64-bit floats: `1e400`.
    #[error(transparent)]
    Number(#[from] crossfeed_json::NumberOutOfRange),
    /// More output than allowed.
    #[error(transparent)]
    TooLarge(#[from] OutputTooLarge),
}

impl<'a> From<Cursor<'a>> for View<'a> {
    #[inline]
    fn from(cursor: Cursor<'a>) -> Self {
        Self(Repr::Json(cursor))
    }
}

impl<'a> View<'a> {
    /// JSON's `null`.
    pub fn null() -> Self {
        Self(Repr::Null)
    }

    /// A text.
    pub fn text(text: impl Into<Rc<str>>) -> Self {
        Self(Repr::Text(text.into()))
    }

    /// A borrowed text.
    pub fn borrowed(text: &'a str) -> Self {
        Self(Repr::Str(text))
    }

    /// A list.
    pub fn list(items: Vec<Self>) -> Self {
        Self(Repr::List(Rc::new(items)))
    }

    /// An object; the keys must be distinct.
    pub fn object(members: Vec<(Cow<'a, str>, Self)>) -> Self {
        let (keys, values): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        Self(Repr::Object(Rc::new(keys), Rc::new(values)))
    }

    pub(crate) fn bool(value: bool) -> Self {
        Self(Repr::Bool(value))
    }

    /// The place in a document, if the view is one.
    pub fn as_cursor(&self) -> Option<Cursor<'a>> {
        match &self.0 {
            Repr::Json(cursor) => Some(*cursor),
            _ => None,
        }
    }

    /// The type of the value.
    pub fn kind(&self) -> Kind {
        match &self.0 {
            Repr::Null | Repr::Reference(_) => Kind::Null,
            Repr::Bool(_) => Kind::Boolean,
            Repr::Json(cursor) => cursor.kind(),
            Repr::Integer(_) | Repr::Float(_) | Repr::Digits(_) => Kind::Number,
            Repr::Str(_) | Repr::Text(_) => Kind::String,
            Repr::List(_) => Kind::Array,
            Repr::Hash(..) | Repr::Object(..) => Kind::Object,
        }
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The items or values of a list or object that an expression built; `None` of any other value.
    #[inline]
    fn children(&self) -> Option<&[Self]> {
        match &self.0 {
            Repr::List(items) | Repr::Hash(_, items) | Repr::Object(_, items) => Some(items),
            _ => None,
        }
    }

    /// The key of a member of an object that an expression built.
    fn key(&self, number: usize) -> Option<&str> {
        match &self.0 {
            Repr::Hash(hash, _) => hash.keys.get(number).map(|key| &**key),
            Repr::Object(keys, _) => keys.get(number).map(|key| &**key),
            _ => None,
        }
    }

    /// Number of items or members; `None` for scalars.
    pub fn len(&self) -> Option<usize> {
        match &self.0 {
            Repr::Json(cursor) => cursor.len(),
            _ => self.children().map(<[Self]>::len),
        }
    }

    /// Whether the value is a list or object without children.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// A string that is not a place in a document.
    #[inline]
    pub(crate) fn own_text(&self) -> Option<&str> {
        match &self.0 {
            Repr::Str(text) => Some(text),
            Repr::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        match &self.0 {
            Repr::Json(cursor) => cursor.as_str(),
            _ => self.own_text().map(Cow::Borrowed),
        }
    }

    /// The bytes of a string, so that their order is that of code points.
    pub(crate) fn string_bytes(&self) -> Option<Cow<'_, [u8]>> {
        match &self.0 {
            Repr::Json(cursor) => cursor.string_bytes(),
            _ => Some(Cow::Borrowed(self.own_text()?.as_bytes())),
        }
    }

    /// The bytes of a string or number, which are the cost of reading it.
    #[inline]
    pub(crate) fn text_len(&self) -> usize {
        match &self.0 {
            Repr::Json(cursor) => match cursor.kind() {
                Kind::String | Kind::Number => cursor.raw().len(),
                _ => 0,
            },
            Repr::Digits(digits) => digits.len(),
            _ => self.own_text().map_or(0, str::len),
        }
    }

    /// Whether both are the same value, judged without reading it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Json(a), Repr::Json(b)) => std::ptr::eq(a.raw(), b.raw()),
            (Repr::Str(a), Repr::Str(b)) => std::ptr::eq(*a, *b),
            (Repr::Text(a), Repr::Text(b)) | (Repr::Digits(a), Repr::Digits(b)) => Rc::ptr_eq(a, b),
            (Repr::List(a), Repr::List(b)) => Rc::ptr_eq(a, b),
            (Repr::Hash(of_a, a), Repr::Hash(of_b, b)) => {
                std::ptr::eq(*of_a, *of_b) && Rc::ptr_eq(a, b)
            }
            (Repr::Object(_, a), Repr::Object(_, b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The digits of a number.
    pub(crate) fn digits(&self) -> Option<Cow<'_, str>> {
        match &self.0 {
            Repr::Json(cursor) => cursor.as_number().map(Cow::Borrowed),
            Repr::Integer(n) => Some(Cow::Owned(n.to_string())),
            Repr::Float(n) => Some(Cow::Owned(float_digits(*n))),
            Repr::Digits(digits) => Some(Cow::Borrowed(digits)),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.0 {
            Repr::Bool(value) => Some(*value),
            Repr::Json(cursor) => cursor.as_bool(),
            _ => None,
        }
    }

    /// The member `key` of an object.
    pub fn get(&self, key: &str) -> Option<Self> {
        match &self.0 {
            Repr::Json(cursor) => cursor.get(key).map(Self::from),
            _ => {
                let mut keys = (0..).map_while(|number| self.key(number));
                let number = keys.position(|own| own == key)?;
                self.children()?.get(number).cloned()
            }
        }
    }

    /// The item `index` of a list.
    pub fn at(&self, index: usize) -> Option<Self> {
        match &self.0 {
            Repr::Json(cursor) => cursor.at(index).map(Self::from),
            Repr::List(items) => items.get(index).cloned(),
            _ => None,
        }
    }

    /// The items of a list in order; none for anything else.
    pub fn items(&self) -> impl Iterator<Item = Self> + '_ {
        self.all_within(Kind::Array)
    }

    /// The items of a list, or the values of an object without a look at its keys, in order; none of a value
    /// that is of another kind.
    pub(crate) fn all_within(&self, kind: Kind) -> impl Iterator<Item = Self> + '_ {
        match &self.0 {
            _ if self.kind() != kind => Items::Built([].iter()),
            Repr::Json(cursor) => Items::Json(cursor.items()),
            _ => Items::Built(self.children().unwrap_or_default().iter()),
        }
    }

    /// The items of a list from `first` on.
    pub(crate) fn items_from(
        &self,
        first: usize,
        budget: &Budget,
    ) -> impl Iterator<Item = Self> + '_ {
        if let Repr::Json(list) = &self.0 {
            return Items::Json(list.items_from(first, budget.tables(), budget.building()));
        }
        let items = self.children().and_then(|items| items.get(first..));
        Items::Built(items.unwrap_or_default().iter())
    }

    /// The members of an object in order; none for anything else.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, Self)> + '_ {
        let json = self.as_cursor().into_iter().flat_map(Cursor::members);
        let built = (0..).map_while(|number| self.built_member(number));
        json.map(|(key, value)| (key.text(), Self::from(value)))
            .chain(built.map(|(key, value)| (Cow::Borrowed(key), value)))
    }

    /// The member of an object that an expression built, by its number; `None` for any other value.
    pub fn built_member(&self, number: usize) -> Option<(&str, Self)> {
        let key = self.key(number)?;
        Some((key, self.children()?.get(number)?.clone()))
    }

    /// Appends the value as JSON: places in documents as they came, built values without blanks.
    ///
    /// # Errors
    ///
    /// [`OutputTooLarge`] when more than `limit` bytes would be appended; `out` then holds a part.
    pub fn write(&self, out: &mut Vec<u8>, limit: usize) -> Result<(), OutputTooLarge> {
        self.write_with(out, limit, false)
    }

    pub(crate) fn write_with(
        &self,
        out: &mut Vec<u8>,
        limit: usize,
        compact: bool,
    ) -> Result<(), OutputTooLarge> {
        let mut writer = Writer {
            end: out.len().saturating_add(limit),
            limit,
            compact,
            out,
        };
        writer.view(self)
    }

    /// How many characters [`Self::write`] appends: a pass over the bytes of places in documents, as
    /// they came.
    pub fn written_chars(&self) -> usize {
        let size = self.size_while(count_chars, |_| true);
        size.unwrap_or_default().json
    }

    /// Bytes that expressions built the value in, of each part as often as it occurs; `most` where they are more.
    pub(crate) fn built_bytes(&self, most: usize) -> usize {
        let mut bytes = self.own_bytes();
        let mut open = vec![self.children().unwrap_or_default().iter()];
        while let Some(children) = open.last_mut() {
            let Some(child) = children.next() else {
                open.pop();
                continue;
            };
            bytes = bytes.saturating_add(child.own_bytes());
            if bytes >= most {
                break;
            }
            open.extend(child.children().map(<[Self]>::iter));
        }
        bytes.min(most)
    }

    /// The same without those of the values within.
    fn own_bytes(&self) -> usize {
        match &self.0 {
            Repr::List(items) | Repr::Hash(_, items) => {
                items.capacity() * size_of::<Self>() + BUILT_BYTES
            }
            Repr::Object(keys, _) => {
                let keys = keys.iter().map(|key| 2 * key.len() + MEMBER_BYTES);
                keys.sum::<usize>() + BUILT_BYTES
            }
            Repr::Text(text) | Repr::Digits(text) => text.len() + BUILT_BYTES,
            _ => 0,
        }
    }

    /// Takes the steps for writing the value out: one for each item of each list and object that an
    /// expression built, as often as it occurs. A value that holds itself many times over
    /// (`[@,@]|[@,@]|…`) is small until then.
    ///
    /// # Errors
    ///
    /// [`Cost`] when the budget does not cover it.
    pub fn unfold(&self, budget: &Budget) -> Result<(), Cost> {
        let Some(children) = self.children() else {
            return Ok(());
        };
        budget.spend(children.len() as u64)?;
        children.iter().try_for_each(|child| child.unfold(budget))
    }

    /// Takes the steps for finding blanks in the lists and objects of documents in the value, as often as
    /// each occurs. Blanks are not written, so no limit of bytes bounds this.
    ///
    /// # Errors
    ///
    /// [`Cost`] when the budget does not cover it.
    pub(crate) fn look_through(&self, budget: &Budget) -> Result<(), Cost> {
        match &self.0 {
            Repr::Json(cursor) if matches!(cursor.kind(), Kind::Array | Kind::Object) => {
                budget.read_text(cursor.written_len())
            }
            _ => {
                let mut children = self.children().unwrap_or_default().iter();
                children.try_for_each(|child| child.look_through(budget))
            }
        }
    }

    /// The value as a `serde_json::Value`: order kept, digits to 64 bits.
    ///
    /// # Errors
    ///
    /// [`Unrepresentable::Number`] for a number such as `1e400`, [`Unrepresentable::TooLarge`] when
    /// the value counts for more than `limit` bytes. `left` is what remains of the limit, for
    /// several values under one: each takes what [`ValueSize::counted`] says.
    pub fn to_value(&self, left: &mut usize) -> Result<Value, Unrepresentable> {
        let size = self.size(*left).inspect_err(|_| *left = 0)?;
        *left = left.saturating_sub(size.counted());
        self.to_any_value()
    }

    /// As [`Self::to_value`], under a limit of its own and with the value's size.
    ///
    /// # Errors
    ///
    /// As for [`Self::to_value`].
    pub fn to_sized_value(&self, limit: usize) -> Result<(Value, ValueSize), Unrepresentable> {
        let size = self.size(limit)?;
        Ok((self.to_any_value()?, size))
    }

    /// The size of the value, without building it. Places in documents are not walked over.
    ///
    /// # Errors
    ///
    /// [`OutputTooLarge`] when it counts for more than `limit` bytes.
    pub fn size(&self, limit: usize) -> Result<ValueSize, OutputTooLarge> {
        self.size_while(<[u8]>::len, |size| size.counted() <= limit)
            .ok_or(OutputTooLarge { limit })
    }

    /// How many bytes [`Self::write`] appends; `None` where they are more than `limit`. A value may hold
    /// another many times over, so measuring stops at the limit.
    pub fn written_len(&self, limit: usize) -> Option<usize> {
        let size = self.size_while(<[u8]>::len, |size| size.json <= limit)?;
        Some(size.json)
    }

    /// The size of the value, with texts measured by `len`, as long as it `fits`; `None` once it does not.
    /// Built values nest as deep as expressions are long, so a list replaces recursion.
    fn size_while(
        &self,
        len: fn(&[u8]) -> usize,
        fits: impl Fn(&ValueSize) -> bool,
    ) -> Option<ValueSize> {
        let mut size = ValueSize::default();
        let mut add = |json: usize, values: usize| {
            size.json = size.json.saturating_add(json);
            size.values = size.values.saturating_add(values);
            fits(&size).then_some(())
        };
        let mut open = vec![self];
        while let Some(view) = open.pop() {
            let Some(children) = view.children() else {
                add(view.flat_len(len), view.value_count())?;
                continue;
            };
            // Its brackets, and the punctuation between its values.
            add(2 + children.len().saturating_sub(1), 1)?;
            for (number, child) in children.iter().enumerate() {
                if let Some(key) = view.key(number) {
                    add(quoted_len(key, len) + 1, 0)?;
                }
                if child.children().is_some() {
                    open.push(child);
                } else {
                    add(child.flat_len(len), child.value_count())?;
                }
            }
        }
        Some(size)
    }

    /// The length as JSON of a value without built parts.
    fn flat_len(&self, len: fn(&[u8]) -> usize) -> usize {
        match &self.0 {
            Repr::Json(cursor) => len(cursor.raw()),
            Repr::Bool(value) => 5 - usize::from(*value),
            Repr::Str(_) | Repr::Text(_) => quoted_len(self.own_text().unwrap_or_default(), len),
            _ => self.digits().map_or(4, |digits| digits.len()),
        }
    }

    /// The number of values in a value without built parts.
    fn value_count(&self) -> usize {
        self.as_cursor().map_or(1, Cursor::value_count)
    }

    /// The value, whatever its size.
    fn to_any_value(&self) -> Result<Value, Unrepresentable> {
        Ok(match &self.0 {
            Repr::Json(cursor) => cursor.to_value()?,
            Repr::Null | Repr::Reference(_) => Value::Null,
            Repr::Bool(value) => Value::Bool(*value),
            Repr::Integer(_) | Repr::Float(_) | Repr::Digits(_) => {
                let digits = self.digits().unwrap_or_default();
                Value::Number(crossfeed_json::number_value(&digits)?)
            }
            Repr::Str(_) | Repr::Text(_) => self.own_text().into(),
            Repr::List(items) => Value::Array(
                items
                    .iter()
                    .map(Self::to_any_value)
                    .collect::<Result<_, _>>()?,
            ),
            Repr::Hash(..) | Repr::Object(..) => {
                let members = self.members();
                let members =
                    members.map(|(key, value)| Ok((key.into_owned(), value.to_any_value()?)));
                Value::Object(members.collect::<Result<_, Unrepresentable>>()?)
            }
        })
    }
}

/// How large a value is, as JSON and in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueSize {
    /// Bytes as JSON: original ones for parts of documents, without blanks for built parts.
    pub json: usize,
    /// The number of values, nested ones included.
    pub values: usize,
}

impl ValueSize {
    /// The least bytes that a value counts for: a `serde_json::Value` takes 72 bytes, and `0` is one.
    const PER_VALUE: usize = 16;

    /// The size of a value of this many bytes of JSON and this many values.
    pub fn new(json: usize, values: usize) -> Self {
        Self { json, values }
    }

    /// The bytes that count against a limit: those as JSON, but at least 16 for each value.
    pub fn counted(&self) -> usize {
        self.json.max(self.values.saturating_mul(Self::PER_VALUE))
    }
}

/// The length of a text as JSON: its bytes, quotes, and the bytes that escapes add.
fn quoted_len(text: &str, len: fn(&[u8]) -> usize) -> usize {
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    });
    len(text.as_bytes()) + 2 + escapes.sum::<usize>()
}

/// The items of a list.
enum Items<'v, 'a> {
    Json(crossfeed_json::Items<'a>),
    Built(slice::Iter<'v, View<'a>>),
}

impl<'a> Iterator for Items<'_, 'a> {
    type Item = View<'a>;

    #[inline]
    fn next(&mut self) -> Option<View<'a>> {
        match self {
            Self::Json(items) => items.next().map(View::from),
            Self::Built(items) => items.next().cloned(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Json(items) => items.size_hint(),
            Self::Built(items) => items.size_hint(),
        }
    }
}

/// The shortest digits that read back as the same float; integers without a fraction.
fn float_digits(n: f64) -> String {
    // `Display` of f64 writes no exponent: 1e300 would be 301 digits.
    if n != 0.0 && !(1e-7..1e21).contains(&n.abs()) {
        return format!("{n:e}");
    }
    format!("{n}")
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    end: usize,
    limit: usize,
    compact: bool,
}

type WriteResult = Result<(), OutputTooLarge>;

impl Writer<'_> {
    fn room(&self, bytes: usize) -> WriteResult {
        if bytes > self.end.saturating_sub(self.out.len()) {
            return Err(OutputTooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> WriteResult {
        self.room(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn quoted(&mut self, text: &str) -> WriteResult {
        self.put(b"\"")?;
        self.room(text.len())?;
        escape_into(self.out, text);
        self.put(b"\"")
    }

    /// Recursion is bounded by the nesting of the expression and of the data.
    fn view(&mut self, view: &View<'_>) -> WriteResult {
        match &view.0 {
            Repr::Json(cursor) => {
                self.room(cursor.written_len())?;
                if self.compact {
                    cursor.write_compact(self.out);
                } else {
                    cursor.write(self.out);
                }
                Ok(())
            }
            Repr::Null | Repr::Reference(_) => self.put(b"null"),
            Repr::Bool(true) => self.put(b"true"),
            Repr::Bool(false) => self.put(b"false"),
            Repr::Integer(_) | Repr::Float(_) | Repr::Digits(_) => {
                self.put(view.digits().unwrap_or_default().as_bytes())
            }
            Repr::Str(text) => self.quoted(text),
            Repr::Text(text) => self.quoted(text),
            Repr::List(values) | Repr::Hash(_, values) | Repr::Object(_, values) => {
                let brackets = match view.kind() {
                    Kind::Array => [b"[", b"]"],
                    _ => [b"{", b"}"],
                };
                self.put(brackets[0])?;
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        self.put(b",")?;
                    }
                    match &view.0 {
                        Repr::Hash(hash, _) => self.put(&hash.written[index])?,
                        Repr::Object(keys, _) => {
                            self.quoted(&keys[index])?;
                            self.put(b":")?;
                        }
                        _ => {}
                    }
                    self.view(value)?;
                }
                self.put(brackets[1])
            }
        }
    }
}
