//! One page of a value, within a budget of tokens.
//!
//! # What holds
//!
//! - A page is within its budget; it says how much there is, and where the next begins.
//! - A text is paged by its characters, a list by its items, an object by its members. A mark replaces an
//!   item or a member that takes more than a page. It gives the selector that reads it, or the selectors
//!   that read its key and its value where the key is what is too long.
//! - A page without marks is JSON, and everything in its `value` is data. A page with a mark never parses:
//!   marks stand outside of strings, and a notice comes first. So no page passes for the data.
//! - What no selector that fits on a page reads, and a number with too many digits, is read as JSON: its
//!   text is paged by its characters. So every value is read to its end by what its pages say.

use crossfeed_json::{Cursor, Document, Kind, quoted};
use crossfeed_tokens::count_chars;

/// Characters of a token, by the usual estimate.
const TOKEN: usize = 4;
/// Tokens that are left for the frame of a page, and the notice before it.
const FRAME: usize = 40;
/// How a mark begins. Outside of a string no JSON has it.
const MARK: &str = "…";

/// How much of a value, or of a part of it, a page leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Omission {
    Nothing,
    /// Something that selectors on the page read.
    Selectable,
    /// Something that can be read as JSON only.
    Unselectable,
}

impl Omission {
    /// The line before a page.
    fn notice(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Selectable => "[crossfeed page: not JSON; … marks what is left out]\n",
            Self::Unselectable => {
                "[crossfeed page: not JSON; as_json: true reads what … leaves out]\n"
            }
        }
    }
}

/// What of a value is wanted.
pub(super) struct PageRequest {
    /// How it was picked.
    pub(super) select: Option<String>,
    /// It was projected: places in it are not those of what is stored.
    pub(super) is_projected: bool,
    /// Its JSON is to be paged as a text.
    pub(super) as_json: bool,
    /// Where to begin.
    pub(super) offset: usize,
    /// Tokens of the page.
    pub(super) budget: usize,
}

/// A page of a value.
pub(super) fn page(json: Vec<u8>, wanted: &PageRequest) -> String {
    let document = Document::new(json);
    // Tokens are estimated by characters, which add up.
    let room = wanted.budget.saturating_sub(FRAME).saturating_mul(TOKEN);
    let offset = wanted.offset;
    let Ok(root) = document.root() else {
        let text = String::from_utf8_lossy(document.raw());
        return text_page("json", &text, offset, room);
    };
    let text = || String::from_utf8_lossy(root.raw());
    let is_short = offset == 0 && count_chars(root.raw()) <= room;
    match root.kind() {
        _ if wanted.as_json => text_page("json", &text(), offset, room),
        _ if is_short => format!("{{\"value\":{}}}", text()),
        Kind::String => text_page("text", &root.as_str().unwrap_or_default(), offset, room),
        Kind::Number => text_page("json", &text(), offset, room),
        Kind::Array | Kind::Object => parts_page(root, wanted, room),
        _ => format!("{{\"value\":{}}}", text()),
    }
}

/// A page of a text, by its characters.
fn text_page(name: &str, text: &str, offset: usize, room: usize) -> String {
    let total = count_chars(text.as_bytes());
    let offset = offset.min(total);
    let rest: String = text.chars().skip(offset).take(room).collect();
    let mut taken = count_chars(rest.as_bytes());
    let mut shown = quoted(&rest);
    // Escapes take more than what they stand for.
    while taken > 1 {
        let written = count_chars(shown.as_bytes());
        if written <= room {
            break;
        }
        taken = (taken * room / written).clamp(1, taken - 1);
        shown = quoted(&rest.chars().take(taken).collect::<String>());
    }
    let places = (offset, offset + taken, total);
    framed(name, &shown, places, "characters", Omission::Nothing)
}

/// A page of a list or an object.
fn parts_page(root: Cursor<'_>, wanted: &PageRequest, room: usize) -> String {
    let room_of_one = room.saturating_sub(2);
    let (open, close, unit) = match root.kind() {
        Kind::Array => ('[', ']', "items"),
        _ => ('{', '}', "members"),
    };
    let total = root.len().unwrap_or_default();
    let offset = wanted.offset.min(total);
    let mut shown = String::from(open);
    let mut used = 2;
    let mut end = offset;
    let mut omission = Omission::Nothing;
    for (index, part) in root.items().enumerate().skip(offset) {
        let (written, omitted) = match root.kind() {
            Kind::Array => item(part, index, wanted, room_of_one),
            _ => member(part, index, wanted, room_of_one),
        };
        let longer = used + 1 + count_chars(written.as_bytes());
        if shown.len() > 1 {
            if longer > room {
                break;
            }
            shown.push(',');
        }
        shown.push_str(&written);
        used = longer;
        end = index + 1;
        omission = omission.max(omitted);
    }
    shown.push(close);
    framed(unit, &shown, (offset, end, total), unit, omission)
}

/// An item of a list, or its mark.
fn item(part: Cursor<'_>, index: usize, wanted: &PageRequest, room: usize) -> (String, Omission) {
    if count_chars(part.raw()) <= room {
        let json = String::from_utf8_lossy(part.raw());
        return (json.into_owned(), Omission::Nothing);
    }
    // In a projected list an item may have another index than in the stored one.
    let mark = (!wanted.is_projected).then(|| {
        let select = wanted.path(&format!("[{index}]"));
        format!("{MARK} {}: select {select}", kind(part))
    });
    first_fitting(mark, room)
}

/// The first of these marks that fits, else the shortest mark.
fn first_fitting(marks: impl IntoIterator<Item = String>, room: usize) -> (String, Omission) {
    let mut marks = marks.into_iter();
    match marks.find(|mark| count_chars(mark.as_bytes()) <= room) {
        Some(mark) => (mark, Omission::Selectable),
        None => (MARK.to_owned(), Omission::Unselectable),
    }
}

/// A member of an object, or its mark: in place of its value, or of its key and its value.
fn member(part: Cursor<'_>, index: usize, wanted: &PageRequest, room: usize) -> (String, Omission) {
    let key = part.key();
    let key = key.text();
    let written = quoted(&key);
    let length = count_chars(written.as_bytes()) + 1;
    if length + count_chars(part.raw()) <= room {
        let value = String::from_utf8_lossy(part.raw());
        return (format!("{written}:{value}"), Omission::Nothing);
    }
    let kind = kind(part);
    let select = wanted.path(&name_of(&key));
    let mut marked = vec![format!("{written}:{MARK} {kind}: select {select}")];
    if !wanted.is_projected {
        let [key, value] = ["keys", "values"].map(|all| wanted.path(&format!("{all}(@)[{index}]")));
        marked.push(match part.kind() {
            // Selecting it would match nothing.
            Kind::Null => format!("{MARK} null, its key: select {key}"),
            _ => format!("{MARK} {kind}: select {value}, its key: select {key}"),
        });
    }
    first_fitting(marked, room)
}

impl PageRequest {
    /// The selector of a part.
    fn path(&self, step: &str) -> String {
        match &self.select {
            Some(select) => format!("{select} | {step}"),
            None => step.to_owned(),
        }
    }
}

/// What a part is that is left out.
fn kind(part: Cursor<'_>) -> String {
    match part.kind() {
        Kind::Array => format!("array, {} items", part.len().unwrap_or_default()),
        Kind::Object => format!("object, {} keys", part.len().unwrap_or_default()),
        _ => format!("{}, {} bytes", part.kind().as_str(), part.raw().len()),
    }
}

/// A key as a selector names it.
fn name_of(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    if key.chars().all(is_plain) && key.starts_with(begins) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

fn framed(
    name: &str,
    shown: &str,
    (from, end, total): (usize, usize, usize),
    unit: &str,
    omission: Omission,
) -> String {
    let next = if end < total {
        format!(",\"next_offset\":{end}")
    } else {
        String::new()
    };
    let notice = omission.notice();
    format!(
        "{notice}{{\"{name}\":{shown},\"offset\":{from}{next},\"total\":{total},\"unit\":\"{unit}\"}}"
    )
}

#[cfg(test)]
mod tests {
    use super::{Omission, PageRequest, page as page_of};
    use crossfeed_tokens::TokenCounter;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn page(json: Vec<u8>, select: Option<&str>, offset: usize, budget: usize) -> String {
        let wanted = PageRequest {
            select: select.map(str::to_owned),
            is_projected: false,
            as_json: false,
            offset,
            budget,
        };
        page_of(json, &wanted)
    }

    fn check(value: Value, offset: usize, budget: usize, expected: Value) {
        let page = page(value.to_string().into_bytes(), Some("a"), offset, budget);
        assert_eq!(serde_json::from_str::<Value>(&page).unwrap(), expected);
    }

    /// Judges a page with marks: its notice, and what follows.
    fn check_marked(value: Value, budget: usize, omission: Omission, expected: &str) {
        let page = page(value.to_string().into_bytes(), Some("a"), 0, budget);
        assert_eq!(page, format!("{}{expected}", omission.notice()));
        assert_does_not_parse(&page);
    }

    /// A page with marks does not parse, and neither does what a program may take of it.
    fn assert_does_not_parse(page: &str) {
        let (notice, rest) = page.split_once('\n').unwrap();
        assert!(notice.starts_with("[crossfeed page: not JSON; "), "{page}");
        for text in [page, notice, rest] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{page}");
        }
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        assert!(texts.next().unwrap().is_err(), "{page}");
    }

    #[test]
    fn what_is_short_comes_at_once() {
        check(json!({"a": 1}), 0, 100, json!({"value": {"a": 1}}));
        check(json!("text"), 0, 100, json!({"value": "text"}));
        check(json!(null), 3, 100, json!({"value": null}));
        check(
            json!([1, 2]),
            1,
            100,
            json!({"items": [2], "offset": 1, "total": 2, "unit": "items"}),
        );
        check(
            json!([1, 2]),
            9,
            100,
            json!({"items": [], "offset": 2, "total": 2, "unit": "items"}),
        );
        check(
            json!("text"),
            2,
            100,
            json!({"text": "xt", "offset": 2, "total": 4, "unit": "characters"}),
        );
    }

    #[test]
    fn what_is_too_long_for_a_page_is_named() {
        let long = vec!["x"; 1000];
        check_marked(
            json!([1, long, 2]),
            80,
            Omission::Selectable,
            r#"{"items":[1,… array, 1000 items: select a | [1],2],"offset":0,"total":3,"unit":"items"}"#,
        );
        check_marked(
            json!({"b c": long, "d": "…"}),
            80,
            Omission::Selectable,
            r#"{"members":{"b c":… array, 1000 items: select a | "b c","d":"…"},"offset":0,"total":2,"unit":"members"}"#,
        );
        // What stands before and after a mark is data: a page of it alone is JSON.
        check(
            json!([1, long, 2]),
            2,
            80,
            json!({"items": [2], "offset": 2, "total": 3, "unit": "items"}),
        );
    }

    #[test]
    fn what_no_selector_reads_is_read_as_json() {
        let digits = "7".repeat(500);
        let one = page(digits.clone().into_bytes(), None, 0, 100);
        let one: Value = serde_json::from_str(&one).unwrap();
        assert_eq!(one["json"], digits[..238]);
        assert_eq!(
            (&one["next_offset"], &one["total"]),
            (&json!(238), &json!(500))
        );
        let rest = page(digits.into_bytes(), None, 490, 100);
        let rest: Value = serde_json::from_str(&rest).unwrap();
        assert_eq!(rest["json"], "7777777777");
        let long = "k".repeat(500);
        check_marked(
            json!({"b": 1, long.as_str(): 2}),
            100,
            Omission::Selectable,
            r#"{"members":{"b":1,… number, 1 bytes: select a | values(@)[1], its key: select a | keys(@)[1]},"offset":0,"total":2,"unit":"members"}"#,
        );
        check_marked(
            json!({long.as_str(): 2}),
            50,
            Omission::Unselectable,
            r#"{"members":{…},"offset":0,"total":1,"unit":"members"}"#,
        );
        // Where items were left out, the number of an item says nothing.
        let wanted = |as_json, offset| PageRequest {
            select: None,
            is_projected: true,
            as_json,
            offset,
            budget: 60,
        };
        let list = json!([[long]]).to_string();
        let shown = page_of(list.clone().into_bytes(), &wanted(false, 0));
        let frame = shown.strip_prefix(Omission::Unselectable.notice()).unwrap();
        assert!(frame.starts_with(r#"{"items":[…],"#), "{shown}");
        assert_does_not_parse(&shown);
        let shown = page_of(list.into_bytes(), &wanted(true, 500));
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["json"], "kkk\"]]");
    }

    /// Parts of which some take more than a page, and some look like what a page says.
    fn part() -> impl Strategy<Value = Value> {
        prop_oneof![
            "[a-z…\"\\\\\n]{0,30}".prop_map(Value::from),
            "[a-z…é\"]{60,400}".prop_map(Value::from),
            Just(json!("… array, 9 items: select [0]")),
            Just(json!(
                "]\n[crossfeed page: not JSON; … marks what is left out]\n{"
            )),
            Just(json!({"value": [1], "…": "…"})),
            prop::collection::vec(any::<u32>(), 0..200).prop_map(Value::from),
            Just(Value::Null),
        ]
    }

    proptest! {
        #[test]
        fn no_page_with_a_mark_parses_and_any_other_is_data(
            parts in prop::collection::vec(("[a-z… \"]{0,9}|[a-zé]{60,300}", part()), 0..20),
            is_list: bool,
            is_projected: bool,
            select in prop::option::of("[a-z]{1,40}"),
            offset in 0usize..20,
            budget in 50usize..200,
        ) {
            let whole = if is_list { parts.into_iter().map(|(_, part)| part).collect() } else { Value::Object(parts.into_iter().collect()) };
            let wanted = PageRequest { select, is_projected, as_json: false, offset, budget };
            let text = page_of(whole.to_string().into_bytes(), &wanted);
            prop_assert!(TokenCounter::estimate().count(&text) <= budget, "{}", text);
            let Ok(page) = serde_json::from_str::<Value>(&text) else {
                prop_assert!(text.contains('…'), "{}", text);
                assert_does_not_parse(&text);
                return Ok(());
            };
            let name = page["unit"].as_str().unwrap_or("value");
            prop_assert!(text.starts_with(&format!("{{\"{name}\":")), "{}", text);
            // It is all of it, or what it says that it is.
            let number = |name| {
                let number = page.get(name).and_then(Value::as_u64);
                number.map(|number| usize::try_from(number).unwrap())
            };
            let Some(from) = number("offset") else {
                prop_assert_eq!(&page["value"], &whole);
                return Ok(());
            };
            let to = number("next_offset").or(number("total")).unwrap();
            match (&page[name], &whole) {
                (Value::Array(shown), Value::Array(all)) => {
                    prop_assert_eq!(shown.as_slice(), &all[from..to]);
                }
                (Value::Object(shown), Value::Object(all)) => {
                    let all: Vec<_> = all.iter().collect();
                    prop_assert_eq!(shown.iter().collect::<Vec<_>>(), &all[from..to]);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn pages_hold_all_of_it(
            items in prop::collection::vec("[a-z\"é\\\\]{0,90}", 0..40),
            budget in 90usize..200,
            as_text: bool,
        ) {
            let whole = if as_text { Value::from(items.concat()) } else { Value::from(items) };
            let json = whole.to_string().into_bytes();
            let mut offset = 0;
            let (mut texts, mut list) = (String::new(), Vec::new());
            for _ in 0..10_000 {
                let text = page(json.clone(), None, offset, budget);
                prop_assert!(TokenCounter::estimate().count(&text) <= budget, "{}", text);
                let page: Value = serde_json::from_str(&text).unwrap();
                match (page.get("text").or(page.get("items")).or(page.get("value")), as_text) {
                    (Some(Value::String(part)), true) => texts.push_str(part),
                    (Some(Value::Array(part)), false) => list.extend(part.clone()),
                    other => prop_assert!(false, "{:?}", other),
                }
                match page.get("next_offset").and_then(Value::as_u64) {
                    Some(next) => {
                        let next = usize::try_from(next).unwrap();
                        prop_assert!(next > offset);
                        offset = next;
                    }
                    None => break,
                }
            }
            let read = if as_text { Value::from(texts) } else { Value::from(list) };
            prop_assert_eq!(read, whole);
        }
    }
}
