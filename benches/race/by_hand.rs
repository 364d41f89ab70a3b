//! What a person would write for one expression and one shape of records: the floor that the
//! instruction counts of an engine are held against.
//!
//! Two floors. [`known`] is told where each field stands, as the best of all indexes would tell it,
//! and only reads, compares and copies. [`from_bytes`] knows the order of the fields and looks for
//! their keys, which cannot stand within a string, where quotes are escaped. Neither checks
//! anything, has a budget, or can do anything else.

use memchr::{memchr, memmem::Finder};

/// The expressions that are written by hand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    Titles,
    Filter,
    Verified,
    LastSorted,
    Greatest,
}

/// All of them, as JMESPath says them.
pub(crate) const QUESTIONS: [(Question, &str); 5] = [
    (Question::Titles, "items[*].title"),
    (
        Question::Filter,
        "items[?score > `0.8`].{title: title, url: url}",
    ),
    (Question::Verified, "items[?author.verified].url"),
    (Question::LastSorted, "sort_by(items, &score)[-5:].title"),
    (Question::Greatest, "max_by(items, &score).title"),
];

/// The fields of a record as they are written.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fields<'a> {
    title: &'a [u8],
    url: &'a [u8],
    score: &'a [u8],
    verified: &'a [u8],
}

/// Which fields a question reads.
#[derive(Clone, Copy)]
struct Wanted {
    url: bool,
    score: bool,
    verified: bool,
}

impl Question {
    fn wanted(self) -> Wanted {
        Wanted {
            url: matches!(self, Self::Filter | Self::Verified),
            score: matches!(self, Self::Filter | Self::LastSorted | Self::Greatest),
            verified: matches!(self, Self::Verified),
        }
    }
}

/// The fields of all records.
pub(crate) fn fields(json: &[u8]) -> Vec<Fields<'_>> {
    let all = Wanted {
        url: true,
        score: true,
        verified: true,
    };
    let mut found = Vec::new();
    each(json, all, |fields| found.push(fields));
    found
}

/// The answer from fields found before.
pub(crate) fn known(question: Question, fields: &[Fields<'_>]) -> Vec<u8> {
    let mut answer = Answer::new(question);
    for fields in fields {
        answer.take(*fields);
    }
    answer.end()
}

/// The answer from bytes.
pub(crate) fn from_bytes(question: Question, json: &[u8]) -> Vec<u8> {
    let mut answer = Answer::new(question);
    each(json, question.wanted(), |fields| answer.take(fields));
    answer.end()
}

/// Finds the fields of each record, in the order in which they are written.
fn each<'a>(json: &'a [u8], wanted: Wanted, mut take: impl FnMut(Fields<'a>)) {
    let title = Finder::new(br#""title":"#);
    let url = Finder::new(br#""url":"#);
    let score = Finder::new(br#""score":"#);
    let verified = Finder::new(br#""verified":"#);
    let mut rest = json;
    let after = |rest: &mut &'a [u8], key: &Finder<'_>| {
        let at = key.find(rest)?;
        *rest = &rest[at + key.needle().len()..];
        Some(())
    };
    while after(&mut rest, &title).is_some() {
        let mut fields = Fields {
            title: string(rest),
            ..Fields::default()
        };
        rest = &rest[fields.title.len()..];
        if wanted.url && after(&mut rest, &url).is_some() {
            fields.url = string(rest);
        }
        if wanted.score && after(&mut rest, &score).is_some() {
            fields.score = &rest[..memchr(b',', rest).unwrap_or_default()];
        }
        if wanted.verified && after(&mut rest, &verified).is_some() {
            fields.verified = &rest[..1];
        }
        take(fields);
    }
}

/// The string that begins here, quotes included.
fn string(json: &[u8]) -> &[u8] {
    let mut end = 1;
    while let Some(quote) = memchr(b'"', &json[end..]) {
        end += quote + 1;
        let slashes = json[..end - 1]
            .iter()
            .rev()
            .take_while(|&&byte| byte == b'\\');
        if slashes.count() % 2 == 0 {
            break;
        }
    }
    &json[..end]
}

/// A number of a few digits.
fn number(digits: &[u8]) -> f64 {
    const TENS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (mut all, mut decimals, mut after_point) = (0_u64, 0, 0);
    for &byte in digits {
        if byte == b'.' {
            after_point = 1;
        } else {
            all = all * 10 + u64::from(byte - b'0');
            decimals += after_point;
        }
    }
    all as f64 / TENS[decimals]
}

/// An answer that grows.
struct Answer<'a> {
    question: Question,
    json: Vec<u8>,
    /// The greatest so far, ascending; of equal ones the later one is the greater, as a stable sort
    /// has it.
    last: Vec<(f64, &'a [u8])>,
    /// The first of the greatest.
    greatest: Option<(f64, &'a [u8])>,
}

impl<'a> Answer<'a> {
    fn new(question: Question) -> Self {
        Self {
            question,
            json: Vec::new(),
            last: Vec::with_capacity(6),
            greatest: None,
        }
    }

    #[inline(always)]
    fn take(&mut self, fields: Fields<'a>) {
        match self.question {
            Question::Titles => self.push(&[fields.title]),
            Question::Filter => {
                if number(fields.score) > 0.8 {
                    self.push(&[b"{\"title\":", fields.title, b",\"url\":", fields.url, b"}"]);
                }
            }
            Question::Verified => {
                if fields.verified == b"t" {
                    self.push(&[fields.url]);
                }
            }
            Question::LastSorted => {
                let score = number(fields.score);
                if self.last.len() == 5 && score < self.last[0].0 {
                    return;
                }
                let place = self.last.partition_point(|(other, _)| *other <= score);
                self.last.insert(place, (score, fields.title));
                if self.last.len() > 5 {
                    self.last.remove(0);
                }
            }
            Question::Greatest => {
                let score = number(fields.score);
                if self.greatest.is_none_or(|(other, _)| score > other) {
                    self.greatest = Some((score, fields.title));
                }
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, parts: &[&[u8]]) {
        self.json
            .push(if self.json.is_empty() { b'[' } else { b',' });
        for part in parts {
            self.json.extend_from_slice(part);
        }
    }

    fn end(mut self) -> Vec<u8> {
        if let Question::Greatest = self.question {
            return self
                .greatest
                .map_or(&b"null"[..], |(_, title)| title)
                .to_vec();
        }
        for (_, title) in std::mem::take(&mut self.last) {
            self.push(&[title]);
        }
        if self.json.is_empty() {
            self.json.push(b'[');
        }
        self.json.push(b']');
        self.json
    }
}
