//! What tables say is what a walk finds.

use super::{Json, blanks, json};
use crate::{ColumnRequest, Cursor, Document, Tables};
use proptest::{prelude::*, sample::select};

const NAMES: [&str; 6] = ["a", "b", "", "k1", "\n", "missing"];

/// Asks each table of a value and of all within it, twice: the second time they are there.
fn check(value: Cursor<'_>, tables: Tables) {
    let ordinal = |found: Option<Cursor<'_>>| found.map(Cursor::ordinal);
    for name in NAMES {
        for _ in 0..2 {
            if let Some(found) = value.get_in_table(name, tables, || true) {
                assert_eq!(ordinal(found), ordinal(value.get(name)), "{name}");
            }
        }
    }
    for first in [0, 1, 15, 16, 17, 300, 1000] {
        let found: Vec<_> = value
            .items_from(first, tables, || true)
            .map(Cursor::ordinal)
            .collect();
        let walked: Vec<_> = value.items().skip(first).map(Cursor::ordinal).collect();
        assert_eq!(found, walked, "{first}");
    }
    let wanted = |path: &[&str]| ColumnRequest::new(path.iter().map(|&name| name.into()), true);
    let wanted = [wanted(&["a"]), wanted(&["a", "b"]).with_numbers()];
    for _ in 0..2 {
        if let Some(rows) = value.rows(&wanted, tables, || true) {
            same_rows(value, &wanted, &rows);
        }
    }
    value.items().for_each(|inner| check(inner, tables));
}

fn same_rows(list: Cursor<'_>, wanted: &[ColumnRequest], rows: &crate::Rows<'_>) {
    assert_eq!(Some(rows.len()), list.len());
    for (row, item) in list.items().enumerate() {
        assert_eq!(rows.item(row).ordinal(), item.ordinal());
        for (number, wanted) in wanted.iter().enumerate() {
            let mut path = wanted.path.iter();
            let end = path.try_fold(item, |here, name| here.get(name).ok_or(here));
            let read = rows.numbers(number).map(|numbers| numbers[row]);
            match (rows.cell(number, row), end) {
                (Some(Some(place)), Ok(end)) => {
                    assert_eq!(place.ordinal(), end.ordinal());
                    let short = end
                        .as_number()
                        .and_then(|n| crate::short_number(n.as_bytes()));
                    assert_eq!(read.filter(|n| !n.is_nan()), read.and(short));
                }
                (Some(None), Err(_)) | (None, _) => {
                    assert!(read.is_none_or(f64::is_nan));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn tables_agree_with_walks(
        json in json(),
        blanks in blanks(),
        copies in select(vec![1_usize, 17, 300]),
        tables in select(vec![Tables::WherePaying, Tables::Always, Tables::Never]),
    ) {
        let json = match json {
            Json::Array(items) => Json::Array(items.iter().cycle().take(items.len() * copies).cloned().collect()),
            other => other,
        };
        let document = Document::new(json.text(blanks));
        check(document.root().unwrap(), tables);
    }
}

#[test]
fn wide_objects_are_found_by_hash() {
    let mut members: Vec<_> = (0..1000)
        .map(|n| format!("\"k{n}\":{n},\"e\\u006b{n}\":{n}"))
        .collect();
    for duplicate in [None, Some("\"k7\":7777")] {
        members.extend(duplicate.map(str::to_owned));
        let document = Document::new(format!("{{{}}}", members.join(",")));
        let root = document.root().unwrap();
        let before = document.resident_bytes();
        assert!(root.is_wide());
        assert!(root.get_in_table("k1", Tables::Never, || true).is_none());
        assert!(
            root.get_in_table("k1", Tables::WherePaying, || true)
                .is_none()
        );
        for name in (0..1000).flat_map(|n| [format!("k{n}"), format!("ek{n}"), format!("x{n}")]) {
            let found = root
                .get_in_table(&name, Tables::WherePaying, || true)
                .unwrap();
            assert_eq!(
                found.map(Cursor::ordinal),
                root.get(&name).map(Cursor::ordinal),
                "{name}"
            );
        }
        let table = document.resident_bytes() - before;
        assert!((5 * 2000..8 * 2000).contains(&table), "{table}");
    }
}

/// A walk over members costs no more than the name is long, however long their keys are.
#[test]
fn long_and_escaped_keys_are_told_apart() {
    let long = "x".repeat(70_000);
    let raw = format!("{{\"{long}\":1,\"{long}y\":2,\"\\u0078{long}\":3,\"\\u0079\":4}}");
    let document = Document::new(raw);
    let root = document.root().unwrap();
    let found = |name: &str| root.get(name).map(|member| member.raw().to_vec());
    assert_eq!(found(&long), Some(b"1".to_vec()));
    assert_eq!(found(&format!("{long}y")), Some(b"2".to_vec()));
    assert_eq!(found(&format!("x{long}")), Some(b"3".to_vec()));
    assert_eq!(found("y"), Some(b"4".to_vec()));
    assert_eq!(found("x"), None);
    assert_eq!(found(&format!("{long}z")), None);
    assert_eq!(found(&format!("{long}\":1,\"{long}y")), None);
}

/// How often it is asked whether building may go on: every few thousand looks at keys.
fn questions(ask: impl FnOnce(&mut dyn FnMut() -> bool)) -> usize {
    let mut questions = 0;
    ask(&mut || {
        questions += 1;
        true
    });
    questions
}

fn wanted(name: &str, at_once: bool) -> ColumnRequest {
    ColumnRequest::new([Box::from(name)], at_once)
}

/// Rows of `members` members each, their keys written as `key` says.
fn rows_of(rows: usize, members: usize, key: impl Fn(usize) -> String) -> String {
    let members: Vec<_> = (0..members)
        .map(|n| format!("\"{}\":{n}", key(n)))
        .collect();
    let row = format!("{{{}}}", members.join(","));
    format!("[{}]", vec![row; rows].join(","))
}

/// A name that is nowhere, in rows of many keys with escapes, is more work than a column is worth.
#[test]
fn columns_that_are_too_much_work_are_given_up() {
    let document = Document::new(rows_of(3000, 255, |n| format!("\\u0041{n}")));
    let list = document.root().unwrap();
    let names: Vec<_> = (0..63).map(|n| wanted(&format!("a{n}"), n == 0)).collect();
    let before = document.resident_bytes();
    for at_most in [3, 3 * 63, 0, 0] {
        let asked = questions(|go_on| {
            assert!(list.rows(&names, Tables::WherePaying, go_on).is_none());
        });
        assert!(asked <= at_most, "{asked} > {at_most}");
    }
    // A note of each, and nothing of the rows.
    let held = document.resident_bytes() - before;
    assert!(held < 64 * 256, "{held}");
    // Others are not concerned.
    let other = [wanted("a0", true), wanted("A0", true)];
    let rows = list.rows(&other, Tables::WherePaying, || true).unwrap();
    assert!(rows.cell(0, 7).is_none());
    assert!(matches!(rows.cell(1, 7), Some(Some(_))));
}

#[test]
fn a_build_that_is_stopped_leaves_nothing_and_is_not_tried_again() {
    let document = Document::new(rows_of(5000, 20, |n| format!("k{n}")));
    let list = document.root().unwrap();
    let before = document.resident_bytes();
    let path = [wanted("k3", true).with_numbers()];
    for stopped in [1, 0, 0] {
        let mut asked = 0;
        let rows = list.rows(&path, Tables::WherePaying, || {
            asked += 1;
            false
        });
        assert!(rows.is_none());
        assert_eq!(asked, stopped);
        // Two entries, a name and where it is.
        let held = document.resident_bytes() - before;
        assert_eq!(held, 2 * 128 + 2 + size_of::<Box<str>>());
    }
    // Nor for another path.
    let path = [wanted("k4", true)];
    let asked = questions(|go_on| {
        assert!(list.rows(&path, Tables::WherePaying, go_on).is_none());
    });
    assert_eq!(asked, 0);
}

/// Numbers that are stopped leave the column as it was.
#[test]
fn a_column_outlives_the_numbers_that_are_stopped() {
    let document = Document::new(rows_of(5000, 20, |n| format!("k{n}")));
    let list = document.root().unwrap();
    let path = [wanted("k3", true)];
    assert!(list.rows(&path, Tables::WherePaying, || true).is_some());
    let held = document.resident_bytes();
    let path = path.map(ColumnRequest::with_numbers);
    for stopped in [1, 0] {
        let mut asked = 0;
        let rows = list.rows(&path, Tables::WherePaying, || {
            asked += 1;
            false
        });
        assert_eq!(asked, stopped);
        let rows = rows.unwrap();
        assert!(matches!(rows.cell(0, 4999), Some(Some(_))));
        assert!(rows.numbers(0).is_none());
        assert_eq!(document.resident_bytes(), held);
    }
}

#[test]
fn other_tables_are_stopped_for_good() {
    let wide = rows_of(1, 20_000, |n| format!("k{n}"));
    let document = Document::new(format!("[{}1]", "1,".repeat(20_000)));
    let list = document.root().unwrap();
    let before = document.resident_bytes();
    for _ in 0..2 {
        let item = list.items_from(9_999, Tables::WherePaying, || false).next();
        assert_eq!(item.map(Cursor::ordinal), Some(10_000));
        assert_eq!(document.resident_bytes(), before + 128);
    }
    let asked = questions(|go_on| {
        let _ = list.items_from(9_999, Tables::WherePaying, go_on);
    });
    assert_eq!(asked, 0);

    let document = Document::new(wide[1..wide.len() - 1].to_owned());
    let object = document.root().unwrap();
    let before = document.resident_bytes();
    for _ in 0..3 {
        let found = object.get_in_table("k7", Tables::WherePaying, || false);
        assert!(found.is_none());
        assert_eq!(document.resident_bytes(), before + 128);
    }
    let document = Document::new(wide[1..wide.len() - 1].to_owned());
    let object = document.root().unwrap();
    let asked = questions(|go_on| {
        assert!(
            object
                .get_in_table("k7", Tables::Always, go_on)
                .flatten()
                .is_some()
        );
    });
    // Once for each key, and once more for its place.
    assert!(
        (2 * 20_000 / 4096 - 1..=2 * 20_000 / 4096 + 1).contains(&asked),
        "{asked}"
    );
}
