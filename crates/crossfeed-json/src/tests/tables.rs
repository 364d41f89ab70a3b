//! What tables say is what a walk finds.

use super::{Json, blanks, json};
use crate::{Cell, Cursor, Document, Tables, Wanted};
use proptest::{prelude::*, sample::select};
use std::convert::Infallible;

const NAMES: [&str; 6] = ["a", "b", "", "k1", "\n", "missing"];

/// Asks each table of a value and of all within it, twice: the second time they are there.
fn check(value: Cursor<'_>, tables: Tables) {
    let ordinal = |found: Option<Cursor<'_>>| found.map(Cursor::ordinal);
    for name in NAMES {
        for _ in 0..2 {
            if let Some(found) = value.get_in_table(name, tables) {
                assert_eq!(ordinal(found), ordinal(value.get(name)), "{name}");
            }
        }
    }
    for first in [0, 1, 15, 16, 17, 300, 1000] {
        let found: Vec<_> = value
            .items_from(first, tables)
            .map(Cursor::ordinal)
            .collect();
        let walked: Vec<_> = value.items().skip(first).map(Cursor::ordinal).collect();
        assert_eq!(found, walked, "{first}");
    }
    let wanted = |path: &[&str]| Wanted::new(path.iter().map(|&name| name.into()), true);
    let wanted = [wanted(&["a"]), wanted(&["a", "b"]).with_numbers()];
    for _ in 0..2 {
        if let Ok(Some(rows)) = value.rows(&wanted, tables, || Ok::<_, Infallible>(())) {
            same_rows(value, &wanted, &rows);
        }
    }
    value.items().for_each(|inner| check(inner, tables));
}

fn same_rows(list: Cursor<'_>, wanted: &[Wanted], rows: &crate::Rows<'_>) {
    assert_eq!(Some(rows.len()), list.len());
    for (row, item) in list.items().enumerate() {
        assert_eq!(rows.item(row).ordinal(), item.ordinal());
        for (number, wanted) in wanted.iter().enumerate() {
            let mut path = wanted.path.iter();
            let end = path.try_fold(item, |here, name| here.get(name).ok_or(here));
            let read = rows.numbers(number).map(|numbers| numbers[row]);
            match (rows.cell(number, row), end) {
                (Some(Cell::Place(place)), Ok(end)) => {
                    assert_eq!(place.ordinal(), end.ordinal());
                    let short = end
                        .as_number()
                        .and_then(|n| crate::short_number(n.as_bytes()));
                    assert_eq!(read.filter(|n| !n.is_nan()), read.and(short));
                }
                (Some(Cell::Absent | Cell::Odd), Err(_)) | (None, _) => {
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
        assert!(root.get_in_table("k1", Tables::Never).is_none());
        assert!(root.get_in_table("k1", Tables::WherePaying).is_none());
        for name in (0..1000).flat_map(|n| [format!("k{n}"), format!("ek{n}"), format!("x{n}")]) {
            let found = root.get_in_table(&name, Tables::WherePaying).unwrap();
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
