//! Data sets, made anew in each run from fixed numbers: no files, and every run sees the same
//! bytes.

use bytes::Bytes;
use serde_json::{Value, json};

/// Sizes by the names that tables give them.
pub const SIZES: [(&str, usize); 3] = [
    ("10 KB", 10_000),
    ("1 MB", 1_000_000),
    ("10 MB", 10_000_000),
];

/// A data set: a name, and the document of about as many bytes as asked for.
pub type Set = (&'static str, fn(usize) -> Bytes);

/// All data sets.
pub const SETS: [Set; 5] = [
    ("records", records),
    ("records, indented", indented_records),
    ("nested", nested),
    ("wide", wide),
    ("mixed", mixed),
];

/// Numbers without pattern (SplitMix64); the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = self.0;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Some words of English-like text.
    fn words(&mut self, count: u64) -> String {
        const WORDS: [&str; 24] = [
            "search",
            "engine",
            "result",
            "the",
            "of",
            "a",
            "structured",
            "output",
            "agent",
            "tool",
            "with",
            "report",
            "quarterly",
            "latency",
            "value",
            "and",
            "model",
            "context",
            "for",
            "index",
            "reads",
            "without",
            "copying",
            "it",
        ];
        let words: Vec<_> = (0..count)
            .map(|_| WORDS[self.below(WORDS.len() as u64) as usize])
            .collect();
        words.join(" ")
    }

    fn record(&mut self, id: u64) -> Value {
        let title_words = 4 + self.below(6);
        let snippet_words = 12 + self.below(16);
        let day = self.below(28) + 1;
        json!({
            "id": id,
            "title": self.words(title_words),
            "url": format!("https://www.example.com/articles/{}/{:08x}", 2000 + self.below(26), self.below(1 << 32)),
            "snippet": self.words(snippet_words),
            "score": self.below(10_000) as f64 / 10_000.0,
            "published": format!("2025-{:02}-{day:02}T08:30:00Z", self.below(12) + 1),
            "author": {"name": self.words(2), "verified": self.below(2) == 0},
            "tags": [self.words(1), self.words(1), self.words(1)],
            "views": self.below(1_000_000),
        })
    }
}

/// A list of values, `items` of them made by `item` until the text is long enough.
fn list_of(size: usize, mut item: impl FnMut(u64) -> String) -> (u64, String) {
    let mut text = String::with_capacity(size + 1024);
    let mut count = 0;
    while text.len() < size {
        if count > 0 {
            text.push(',');
        }
        text.push_str(&item(count));
        count += 1;
    }
    (count, text)
}

/// What a search returns: a list of objects of one shape, with some metadata before it.
#[must_use]
pub fn records(size: usize) -> Bytes {
    let mut numbers = Numbers(1);
    let (count, items) = list_of(size, |id| numbers.record(id).to_string());
    format!(r#"{{"metadata":{{"query":"agents","total":{count},"took_ms":17}},"items":[{items}]}}"#)
        .into()
}

/// [`records`] as a person would lay it out: a fifth of it is blanks.
#[must_use]
pub fn indented_records(size: usize) -> Bytes {
    let value: Value = serde_json::from_slice(&records(size * 4 / 5)).unwrap_or_default();
    format!("{value:#}").into()
}

/// A list of towers of lists and objects, each 120 deep.
#[must_use]
pub fn nested(size: usize) -> Bytes {
    let tower = format!(
        "{}{}{}",
        r#"[{"in":"#.repeat(60),
        r#""deep""#,
        "}]".repeat(60)
    );
    let (_, towers) = list_of(size, |_| tower.clone());
    format!("[{towers}]").into()
}

/// One object with very many members.
#[must_use]
pub fn wide(size: usize) -> Bytes {
    let mut numbers = Numbers(2);
    let (_, members) = list_of(size, |id| {
        format!(r#""user-{id:07}":{}"#, numbers.below(1_000_000))
    });
    format!("{{{members}}}").into()
}

/// Objects of many shapes, escapes and other alphabets in their strings, numbers of all kinds.
#[must_use]
pub fn mixed(size: usize) -> Bytes {
    let mut numbers = Numbers(3);
    let (_, items) = list_of(size, |id| {
        match numbers.below(8) {
        0 => json!({"kind": "note", "text": format!("{}\n\t\"quoted\" \\ {}", numbers.words(9), numbers.words(9))}).to_string(),
        1 => json!({"kind": "place", "name": "Αθήνα, Ελλάδα – 東京", "at": [37.9838, 23.7275], "rating": null}).to_string(),
        2 => json!({"kind": "series", "values": (0..24).map(|_| numbers.below(1000)).collect::<Vec<_>>()}).to_string(),
        3 => format!(r#"{{"kind":"measure","big":{}{:09},"small":{}e-{},"exact":1.50}}"#, 1 + numbers.below(1 << 60), numbers.below(1_000_000_000), numbers.below(1000), numbers.below(300)),
        4 => json!([id, true, false, null, [], {}, [[1], [2, [3]]]]).to_string(),
        5 => json!(numbers.words(40)).to_string(),
        6 => json!({"kind": "table", "rows": (0..6).map(|n| json!({"n": n, "ok": numbers.below(2) == 0, "label": numbers.words(2)})).collect::<Vec<_>>()}).to_string(),
        _ => numbers.record(id).to_string(),
    }
    });
    format!("[{items}]").into()
}
