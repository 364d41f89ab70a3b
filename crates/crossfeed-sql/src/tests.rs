//! What becomes a table, what statements give, and what they may not do.

use crate::{Database, SqlError, SqlLimits, outline};
use serde_json::Value;
use std::time::{Duration, Instant};

fn database(json: &str) -> Database {
    let mut database = Database::open(SqlLimits::default()).unwrap();
    database.import("call_1", json.to_owned()).unwrap();
    database
}

fn tables(json: &str) -> String {
    outline(database(json).tables())
}

fn answer(json: &str, sql: &str) -> String {
    let answer = database(json).query(sql).unwrap();
    let value: Value = serde_json::from_slice(&answer.json).unwrap();
    assert_eq!(value.as_array().unwrap().len(), answer.rows);
    String::from_utf8(answer.json).unwrap()
}

#[test]
fn lists_and_what_stands_around_them_are_tables() {
    for (json, expected) in [
        (
            r#"[{"id": 1, "name": "a"}, {"id": 2, "open": true}]"#,
            "call_1(id INTEGER, name TEXT, open BOOLEAN): 2 rows",
        ),
        ("[1, 2.5, 3]", "call_1(value NUMERIC): 3 rows"),
        (
            r#"[1, "a", {"value": []}]"#,
            "call_1(value JSON, value_2): 3 rows",
        ),
        ("[]", "call_1(value): 0 rows"),
        ("7", "call_1(value INTEGER): 1 row"),
        ("{}", "call_1(value): 1 row"),
        (
            r#"{"total": 2, "items": [{"id": 1}], "page": {"next": "x"}}"#,
            "call_1(total INTEGER, page JSON): 1 row\ncall_1_items(id INTEGER): 1 row",
        ),
        (
            r#"{"data": {"rows": [{"x": 1.5}], "count": 1}, "tags": ["a", "b"]}"#,
            "call_1(data_count INTEGER): 1 row\ncall_1_data_rows(x REAL): 1 row\ncall_1_tags(value TEXT): 2 rows",
        ),
        (
            r#"{"items": [{"id": 1}]}"#,
            "call_1_items(id INTEGER): 1 row",
        ),
        (
            r#"[{"a": 1, "A": 2}]"#,
            "call_1(a INTEGER, A_2 INTEGER): 1 row",
        ),
        (
            r#"[{"order": 1, "a b": 12345678901234567890}]"#,
            "call_1(\"order\" INTEGER, \"a b\"): 1 row",
        ),
        (r#""[{\"id\": 1}]""#, "call_1(id INTEGER): 1 row"),
        (
            r#""{\"id\": 1}\n{\"id\": 2}\n""#,
            "call_1(id INTEGER): 2 rows",
        ),
        (
            r#""id,name\n1,a\n2,\"b, c\"\n""#,
            "call_1(id INTEGER, name TEXT): 2 rows",
        ),
        (
            r#""id\tzip\n1\t01234\n""#,
            "call_1(id INTEGER, zip TEXT): 1 row",
        ),
        (
            r#""some words\nand more""#,
            "call_1(number INTEGER, line TEXT): 2 rows",
        ),
    ] {
        assert_eq!(tables(json), expected, "{json}");
    }
}

#[test]
fn answers_are_json_of_the_types_that_were_imported() {
    let json = r#"[{"id": 1, "open": true, "user": {"name": "ä\n"}, "n": 1.50, "big": 12345678901234567890}, {"id": 2, "open": false}]"#;
    for (sql, expected) in [
        (
            "SELECT * FROM call_1 WHERE open",
            r#"[{"id":1,"open":true,"user":{"name":"ä\n"},"n":1.5,"big":"12345678901234567890"}]"#,
        ),
        (
            "SELECT count(*) AS n, sum(open) FROM call_1",
            r#"[{"n":2,"sum(open)":1}]"#,
        ),
        (
            "SELECT user ->> '$.name' AS name FROM call_1",
            r#"[{"name":"ä\n"},{"name":null}]"#,
        ),
        (
            "SELECT a.id, b.id FROM call_1 a, call_1 b WHERE a.id < b.id",
            r#"[{"id":1,"id_2":2}]"#,
        ),
        (
            "SELECT 1e999 AS i, 1/0 AS z, x'4142' AS b",
            r#"[{"i":null,"z":null,"b":"AB"}]"#,
        ),
        (
            "SELECT id FROM \"call_1\" WHERE id REGEXP '^[2-9]$';",
            r#"[{"id":2}]"#,
        ),
        (
            "WITH big AS (SELECT id FROM call_1 WHERE id > 1) SELECT id FROM big -- all",
            r#"[{"id":2}]"#,
        ),
        (
            "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c WHERE x<3) SELECT x FROM c",
            r#"[{"x":1},{"x":2},{"x":3}]"#,
        ),
        (
            "SELECT key, value FROM call_1, json_each(user)",
            r#"[{"key":"name","value":"ä\n"}]"#,
        ),
        (
            "SELECT row_number() OVER (ORDER BY id DESC) AS r, id FROM call_1 LIMIT 1",
            r#"[{"r":1,"id":2}]"#,
        ),
        ("VALUES (1)", r#"[{"column1":1}]"#),
    ] {
        assert_eq!(answer(json, sql), expected, "{sql}");
    }
}

#[test]
fn results_are_joined() {
    let mut database = database(r#"[{"id": 1, "name": "a"}]"#);
    database
        .import("call_2", r#"{"owners": [{"item": 1, "owner": "x"}]}"#)
        .unwrap();
    let sql = "SELECT name, owner FROM call_1 JOIN call_2_owners ON item = id";
    assert_eq!(
        database.query(sql).unwrap().json,
        br#"[{"name":"a","owner":"x"}]"#
    );
}

#[test]
fn errors_name_what_is_there() {
    let mut database = database(r#"[{"title": "a", "state": "open"}]"#);
    let mut check = |sql: &str, expected: &str| {
        let error = database.query(sql).unwrap_err();
        assert_eq!(format!("{error}\n{}", error.advice()), expected);
    };
    let outline = "tables: call_1(title TEXT, state TEXT): 1 row";
    check(
        "SELECT titel FROM call_1",
        &format!("no such column: titel\ntry: title\n{outline}"),
    );
    check(
        "SELECT c.titel FROM call_1 c",
        &format!("no such column: c.titel\ntry: title\n{outline}"),
    );
    check(
        "SELECT * FROM call_1 WHERE state = \"open\"",
        &format!("no such column: open\ntry: 'open' for a text\n{outline}"),
    );
    check(
        "SELECT \"titel\" FROM call_1",
        &format!("no such column: titel\ntry: title, 'titel' for a text\n{outline}"),
    );
    check(
        "SELECT * FROM call_2",
        &format!("no such table: call_2\ntry: call_1\n{outline}"),
    );
    check(
        "SELEC 1",
        "the statement cannot be run: near \"SELEC\": syntax error (at `SELEC 1`)\nwrite one `SELECT` statement of SQLite; names that are not words stand in double quotes",
    );
    check(
        "SELECT 1; SELECT 2",
        "there are several statements, of which one call runs one\nwrite one `SELECT` statement",
    );
    check(
        "-- nothing",
        "the statement is empty\nwrite one `SELECT` statement",
    );
    check(
        "SELECT nofn(1)",
        "the function `nofn` is not available\nuse the functions of SQLite for numbers, texts, dates, JSON, aggregates and windows",
    );
}

/// Whatever a statement tries, it is refused or ends within its limits, and the database answers the next one.
#[test]
fn nothing_but_reading_is_possible() {
    let limits = SqlLimits::default().with_time(Duration::from_millis(500));
    let mut database = Database::open(limits).unwrap();
    database
        .import("call_1", r#"[{"id": 1}, {"id": 2}]"#)
        .unwrap();
    let many = "call_1 a, ".repeat(40);
    let numbers = "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c)";
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    let nested = format!(
        "SELECT json('{}{}')",
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    let long = format!("SELECT '{}'", "x".repeat(100_000));
    for (sql, code) in [
        ("DELETE FROM call_1", "query.refused"),
        ("UPDATE call_1 SET id = 3", "query.refused"),
        ("INSERT INTO call_1 VALUES (3)", "query.refused"),
        ("DROP TABLE call_1", "query.refused"),
        ("CREATE TABLE t (x)", "query.refused"),
        ("CREATE TEMP TABLE t AS SELECT 1", "query.refused"),
        ("CREATE VIRTUAL TABLE t USING fts5(x)", "query.refused"),
        ("CREATE VIEW v AS SELECT 1", "query.refused"),
        ("ATTACH '/etc/passwd' AS x", "query.refused"),
        ("ATTACH ':memory:' AS x", "query.refused"),
        ("DETACH main", "query.refused"),
        ("VACUUM INTO '/tmp/x'", "query.refused"),
        ("VACUUM", "query.refused"),
        ("PRAGMA temp_store_directory = '/'", "query.refused"),
        ("PRAGMA table_info(call_1)", "query.refused"),
        ("SELECT * FROM pragma_table_info('call_1')", "query.refused"),
        ("SELECT * FROM dbstat", "query.refused"),
        ("REINDEX", "query.refused"),
        ("ANALYZE", "query.refused"),
        ("BEGIN", "query.refused"),
        ("SAVEPOINT a", "query.refused"),
        ("SELECT load_extension('x')", "query.invalid"),
        ("SELECT readfile('/etc/passwd')", "query.invalid"),
        ("SELECT writefile('/tmp/x', 'x')", "query.invalid"),
        ("SELECT randomblob(1000000)", "query.invalid"),
        ("SELECT zeroblob(1000000000)", "query.invalid"),
        ("SELECT fts3_tokenizer('x')", "query.invalid"),
        ("SELECT sqlite_version()", "query.invalid"),
        (
            &format!("{numbers} SELECT count(*) FROM c"),
            "limit.exceeded",
        ),
        (
            &format!("{numbers} SELECT group_concat(x) FROM c"),
            "limit.exceeded",
        ),
        (
            &format!("{numbers} SELECT json_group_array(x) FROM c"),
            "limit.exceeded",
        ),
        (
            &format!("SELECT count(*) FROM {many} call_1"),
            "limit.exceeded",
        ),
        (
            "SELECT replace(hex(replace(hex(replace(hex(printf('%.*c', 10000, 'x')), '7', 'xxxxxxxxxxxxxxxx')), '7', 'xxxxxxxxxxxxxxxx')), '7', 'xxxxxxxxxxxxxxxx')",
            "limit.exceeded",
        ),
        ("SELECT printf('%.*c', 2000000000, 'x')", "limit.exceeded"),
        ("SELECT printf('%2000000000d', 1)", "limit.exceeded"),
        ("SELECT format('%.2000000000f', 1.5)", "limit.exceeded"),
        (
            "SELECT id REGEXP '((a{100}){100}){100}' FROM call_1",
            "query.invalid",
        ),
        (&deep, "query.invalid"),
        (&nested, "query.invalid"),
        (&long, "limit.exceeded"),
        ("SELECT ?", "query.invalid"),
    ] {
        let began = Instant::now();
        let outcome = database.query(sql);
        let taken = began.elapsed();
        let start: String = sql.chars().take(80).collect();
        println!("{start}: {taken:?}: {outcome:?}");
        match outcome {
            Err(error) => assert_eq!(error.code().as_str(), code, "{start}: {error}"),
            Ok(answer) => panic!("{start}: {} rows", answer.rows),
        }
        assert!(taken < Duration::from_secs(5), "{start}: {taken:?}");
        assert_eq!(
            database.query("SELECT id FROM call_1").unwrap().rows,
            2,
            "{start}"
        );
    }
}

#[test]
fn long_answers_are_cut_between_rows() {
    let limits = SqlLimits::default().with_answer_bytes(100).with_rows(3);
    let mut database = Database::open(limits).unwrap();
    database.import("t", r#"["a", "b", "c", "d"]"#).unwrap();
    let answer = database.query("SELECT value FROM t").unwrap();
    assert_eq!((answer.rows, answer.is_cut), (3, true));
    let answer = database
        .query("SELECT value, printf('%20d', 1) AS n FROM t")
        .unwrap();
    assert_eq!((answer.rows, answer.is_cut), (2, true));
    assert!(answer.json.len() <= 100);
    let answer = database.query("SELECT printf('%200d', 1) FROM t").unwrap();
    assert_eq!((answer.json.as_slice(), answer.is_cut), (&b"[]"[..], true));
}

#[test]
fn what_cannot_be_imported_leaves_nothing() {
    let limits = SqlLimits::default().with_import_bytes(20);
    let mut database = Database::open(limits).unwrap();
    assert_eq!(database.import("t", "[1,"), Err(SqlError::NotJson));
    let too_large = SqlError::ImportTooLarge {
        bytes: 21,
        limit: 20,
    };
    assert_eq!(
        database.import("t", "[1,2,3,4,5,6,7,8,9,0]"),
        Err(too_large)
    );
    assert_eq!(database.tables(), []);
    assert_eq!(
        database.import("sqlite_master", "[1]").unwrap()[0].name,
        "_sqlite_master"
    );
}
