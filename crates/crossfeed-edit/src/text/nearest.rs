//! The passage of a text that is most like one that does not occur in it. Models get blanks, ends of lines,
//! quotes, case, escapes or a word wrong: so both texts are folded to what is mostly right, and then compared,
//! first for equality, then by pieces of a few bytes, and only where most of these agree character by character.

use super::{SHOWN_CHARS, floor, line};
use crate::limits::Budget;
use memchr::memmem;

/// The passage of a text that is most like the one that an edit quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearestPassage {
    /// The line where it begins, counted from 1.
    pub line: usize,
    /// The passage as it is in the text, at most 200 characters: of a longer one those around the first
    /// difference.
    pub passage: String,
}

/// Of a longer passage, so many characters around the first difference are compared one by one.
const COMPARED_CHARS: usize = 400;

/// So many places are compared character by character.
const COMPARED_PLACES: usize = 16;

/// A passage is like enough if at most so many characters of a hundred differ.
const MAX_DIFFERENCE: usize = 35;

/// Finds the passage; `None` if none is like enough, or the search would take more steps than are left.
pub(super) fn nearest(text: &str, old: &str, budget: &mut Budget) -> Option<NearestPassage> {
    budget.spend(text.len() / 8 + old.len() / 8).ok()?;
    let old = old.trim();
    let folded_text = Folded::new(text);
    let folded_old = Folded::new(old);
    if folded_old.bytes.is_empty() {
        return None;
    }
    if let Some(at) = memmem::find(&folded_text.bytes, &folded_old.bytes) {
        let start = folded_text.source(text, at)?;
        let end = folded_text.source_end(text, at + folded_old.bytes.len())?;
        return Some(shown(text, (start, start, end), old));
    }
    let part = differing_part(text, old, budget)?;
    let wanted: Vec<char> = folded(part).map(|item| item.folded).collect();
    if wanted.len() < 3 {
        return None;
    }
    let folded_part = Folded::new(part);
    let mut best: Option<Alignment> = None;
    let most = (wanted.len() * MAX_DIFFERENCE / 100).max(1);
    for (from, to) in places(&folded_text.bytes, &folded_part.bytes) {
        let from = folded_text.source(text, from)?;
        let to = folded_text.source(text, to).unwrap_or(text.len());
        let region: Vec<Item> = folded(&text[from..to]).collect();
        budget.spend(wanted.len() * region.len() / 4).ok()?;
        let allowed = best.as_ref().map_or(most + 1, |best| best.distance);
        if let Some(found) = align(&wanted, &region).filter(|found| found.distance < allowed) {
            best = Some(Alignment {
                start: from + found.start,
                end: from + found.end,
                ..found
            });
        }
    }
    let best = best?;
    let (start, end) = in_words(text, best.start, best.end, part);
    Some(shown(text, (start, best.start, end), part.trim_start()))
}

/// The longest word that a passage is widened by, in bytes.
const LONGEST_WORD: usize = 64;

/// A passage widened to whole words: who quotes it would keep the rest of one without seeing it. One that ends with a
/// blank, where what is looked for does not, gets the next word.
fn in_words(text: &str, start: usize, end: usize, old: &str) -> (usize, usize) {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let word = |text: &str| text.find(|char| !is_word(char)).unwrap_or(text.len());
    let (before, passage, after) = (&text[..start], &text[start..end], &text[end..]);
    let begins = before.trim_end_matches(is_word).len();
    let is_cut = passage.starts_with(is_word) && start - begins <= LONGEST_WORD;
    let start = if is_cut { begins } else { start };
    let is_open = passage.ends_with(is_word)
        || passage.ends_with(char::is_whitespace) && !old.ends_with(char::is_whitespace);
    let mut len = word(after);
    if !is_open || len > LONGEST_WORD {
        return (start, end);
    }
    // The mark behind it, too, if what is looked for ends with it.
    let mark = old.chars().next_back().filter(|mark| !is_word(*mark));
    if len > 0
        && let Some(mark) = mark.filter(|mark| after[len..].starts_with(*mark))
    {
        len += mark.len_utf8();
    }
    (start, end + len)
}

/// What an error shows of the passage between two offsets: all, or what surrounds the first difference. What is looked for
/// begins at the one between them.
fn shown(text: &str, (start, begins, end): (usize, usize, usize), old: &str) -> NearestPassage {
    let passage = &text[start..end];
    let same = text[begins..end].chars().zip(old.chars());
    let same = same.take_while(|(a, b)| a == b).count() + text[start..begins].chars().count();
    let is_long = passage.chars().nth(SHOWN_CHARS).is_some();
    let skipped = if is_long {
        same.saturating_sub(SHOWN_CHARS / 2)
    } else {
        0
    };
    let rest = passage.char_indices().nth(skipped);
    let rest = rest.map_or("", |(at, _)| &passage[at..]);
    let cut = rest.char_indices().nth(SHOWN_CHARS);
    let mut part = cut.map_or(rest, |(end, _)| &rest[..end]);
    // What is cut begins and ends with a word, if there is one nearby.
    let is_near = |len: usize| len <= LONGEST_WORD;
    if skipped > 0
        && let Some(at) = part.find(char::is_whitespace).filter(|at| is_near(*at))
    {
        part = part[at..].trim_start();
    }
    if cut.is_some()
        && let Some(at) = part
            .rfind(char::is_whitespace)
            .filter(|at| is_near(part.len() - at))
    {
        part = part[..at].trim_end();
    }
    NearestPassage {
        line: line(&text[..start]),
        passage: part.to_owned(),
    }
}

/// Of a long passage the part around the first difference: around the end of the longest beginning that the text
/// has.
fn differing_part<'o>(text: &str, old: &'o str, budget: &mut Budget) -> Option<&'o str> {
    if old.chars().nth(COMPARED_CHARS).is_none() {
        return Some(old);
    }
    let (mut occurs, mut fails) = (0, old.len());
    while fails - occurs > 1 {
        budget.spend_bytes(text.len()).ok()?;
        let middle = occurs + (fails - occurs) / 2;
        let prefix = &old.as_bytes()[..middle];
        if memmem::find(text.as_bytes(), prefix).is_some() {
            occurs = middle;
        } else {
            fails = middle;
        }
    }
    let difference = floor(old, occurs);
    let before = old[..difference].char_indices().rev();
    let start = before.take(COMPARED_CHARS / 2).last();
    let part = &old[start.map_or(difference, |(start, _)| start)..];
    let end = part.char_indices().nth(COMPARED_CHARS);
    Some(&part[..end.map_or(part.len(), |(end, _)| end)])
}

/// A character of the folded text, and the bytes that it stands for.
#[derive(Clone, Copy)]
struct Item {
    folded: char,
    start: usize,
    end: usize,
}

/// A text without differences in blanks, quotes, dashes, escapes and case.
fn folded(text: &str) -> impl Iterator<Item = Item> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let (mut folded, len) = fold_one(&text[at..])?;
        at += len;
        if folded == ' ' {
            while let Some((' ', len)) = fold_one(&text[at..]) {
                at += len;
            }
        } else if !folded.is_ascii() {
            folded = folded.to_lowercase().next().unwrap_or(folded);
        }
        Some(Item {
            folded,
            start,
            end: at,
        })
    })
}

/// What the first character of a text, or the escape there, is folded to, and its length.
fn fold_one(text: &str) -> Option<(char, usize)> {
    let first = text.chars().next()?;
    let folded = match first {
        '\\' => {
            return Some(match text.as_bytes().get(1) {
                Some(b'n' | b'r' | b't') => (' ', 2),
                Some(b'"') => ('"', 2),
                Some(b'\'') => ('\'', 2),
                Some(b'\\') => ('\\', 2),
                Some(b'/') => ('/', 2),
                _ => ('\\', 1),
            });
        }
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '`' | '\u{b4}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{200b}' | '\u{feff}' => ' ',
        blank if blank.is_whitespace() => ' ',
        other => other.to_ascii_lowercase(),
    };
    Some((folded, first.len_utf8()))
}

/// A folded text in UTF-8.
struct Folded {
    bytes: Vec<u8>,
    /// For some offsets in it, the offset in the text.
    marks: Vec<(usize, usize)>,
}

impl Folded {
    fn new(text: &str) -> Self {
        const BETWEEN_MARKS: usize = 4096;
        let mut bytes = Vec::with_capacity(text.len());
        let mut marks = vec![(0, 0)];
        let mut next = BETWEEN_MARKS;
        for item in folded(text) {
            if bytes.len() >= next {
                marks.push((bytes.len(), item.start));
                next = bytes.len() + BETWEEN_MARKS;
            }
            let mut utf8 = [0; 4];
            bytes.extend_from_slice(item.folded.encode_utf8(&mut utf8).as_bytes());
        }
        Self { bytes, marks }
    }

    /// The item of the text that holds the byte at an offset; `None` behind the end.
    fn item(&self, text: &str, at: usize) -> Option<Item> {
        let mark = self.marks.partition_point(|(folded, _)| *folded <= at);
        let (mut offset, from) = *self.marks.get(mark.checked_sub(1)?)?;
        let mut items = folded(&text[from..]);
        items.find_map(|item| {
            offset += item.folded.len_utf8();
            (offset > at).then_some(Item {
                start: from + item.start,
                end: from + item.end,
                ..item
            })
        })
    }

    /// The offset in the text of the character that holds the byte at `at`.
    fn source(&self, text: &str, at: usize) -> Option<usize> {
        self.item(text, at).map(|item| item.start)
    }

    /// The offset in the text after the characters before `at`.
    fn source_end(&self, text: &str, at: usize) -> Option<usize> {
        self.item(text, at.checked_sub(1)?).map(|item| item.end)
    }
}

/// The parts of a text where most pieces of a passage are in their order, as ranges of offsets; the best first.
fn places(text: &[u8], passage: &[u8]) -> Vec<(usize, usize)> {
    let piece = match passage.len() {
        ..10 => 3,
        10..24 => 4,
        _ => 6,
    };
    let pieces = Pieces::new(passage, piece);
    // Narrower than a line, of which many may be alike.
    let width = (passage.len() / 8).max(4);
    // A piece votes for the place where the passage would begin, moved up by its length.
    let mut votes = vec![0_u16; (text.len() + passage.len()) / width + 2];
    for (at, bytes) in text.windows(piece).enumerate() {
        if let Some(offset) = pieces.find(bytes) {
            let vote = &mut votes[(at + passage.len() - offset) / width];
            *vote = vote.saturating_add(1);
        }
    }
    let mut best: Vec<(u32, usize)> = Vec::with_capacity(COMPARED_PLACES + 1);
    for (at, pair) in votes.windows(2).enumerate() {
        // A passage with characters more or less votes for two neighbours.
        let score = u32::from(pair[0]) + u32::from(pair[1]);
        let is_full = best.len() == COMPARED_PLACES;
        if score > 0 && !(is_full && best.last().is_some_and(|last| last.0 >= score)) {
            let rank = best.partition_point(|other| other.0 >= score);
            best.insert(rank, (score, at));
            best.truncate(COMPARED_PLACES);
        }
    }
    let margin = passage.len() / 4 + piece;
    let range = |(_, at): (u32, usize)| {
        let start = (at * width).saturating_sub(passage.len() + margin);
        (start, ((at + 2) * width + margin).min(text.len()))
    };
    best.into_iter().map(range).collect()
}

/// The pieces of a passage that occur in it once.
struct Pieces<'p> {
    passage: &'p [u8],
    len: usize,
    /// By hash: an offset in the passage, and 1; 0 for none.
    offsets: Vec<u16>,
}

const HASH_BITS: u32 = 16;

impl<'p> Pieces<'p> {
    fn new(passage: &'p [u8], len: usize) -> Self {
        let mut pieces = Self {
            passage,
            len,
            offsets: vec![0; 1 << HASH_BITS],
        };
        let mut repeated = Vec::new();
        for (offset, bytes) in passage.windows(len).enumerate() {
            let place = hash(bytes);
            if pieces.find(bytes).is_some() {
                repeated.push(place);
            } else if pieces.offsets[place] == 0 {
                pieces.offsets[place] = u16::try_from(offset + 1).unwrap_or(0);
            }
            // Otherwise another piece has this hash, and this one is not looked for.
        }
        for place in repeated {
            pieces.offsets[place] = 0;
        }
        pieces
    }

    #[inline]
    fn find(&self, bytes: &[u8]) -> Option<usize> {
        let offset = usize::from(self.offsets[hash(bytes)]).checked_sub(1)?;
        (self.passage.get(offset..offset + self.len) == Some(bytes)).then_some(offset)
    }
}

#[inline]
fn hash(bytes: &[u8]) -> usize {
    let word = bytes
        .iter()
        .fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASH_BITS)) as usize
}

/// A part of a text beside a passage.
#[derive(Clone, Copy)]
struct Alignment {
    /// Characters to change, to add or to leave out.
    distance: usize,
    start: usize,
    end: usize,
}

/// The part of a text that the fewest changes make of `wanted`; of several the first.
fn align(wanted: &[char], text: &[Item]) -> Option<Alignment> {
    // For each beginning of `wanted`: the changes to a part of the text that ends here, and where it begins.
    let mut column: Vec<(usize, usize)> = (0..=wanted.len()).map(|len| (len, 0)).collect();
    let mut best: Option<(usize, usize, usize)> = None;
    for (at, item) in text.iter().enumerate() {
        let mut diagonal = column[0];
        column[0] = (0, at + 1);
        for (len, want) in wanted.iter().enumerate() {
            let left = column[len + 1];
            let below = column[len];
            let changed = (diagonal.0 + usize::from(*want != item.folded), diagonal.1);
            let added = (left.0 + 1, left.1);
            let left_out = (below.0 + 1, below.1);
            diagonal = left;
            let fewest = |a: (usize, usize), b: (usize, usize)| if b.0 < a.0 { b } else { a };
            column[len + 1] = fewest(fewest(changed, added), left_out);
        }
        let (distance, start) = column[wanted.len()];
        if start <= at && best.is_none_or(|best| distance < best.0) {
            best = Some((distance, start, at));
        }
    }
    let (distance, start, end) = best?;
    Some(Alignment {
        distance,
        start: text.get(start)?.start,
        end: text.get(end)?.end,
    })
}
