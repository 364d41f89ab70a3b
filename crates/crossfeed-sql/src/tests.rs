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
            r#"[{"a": 1, "A": 2.5, "a_2": true, "b\u0000\nc": "x"}]"#,
            "call_1(a INTEGER, A_3 REAL, a_2 BOOLEAN, b__c TEXT): 1 row",
        ),
        (
            r#""2024-01-01 10:00:00,123 INFO begins\n2024-01-01 10:00:01,124 INFO ends\n""#,
            "call_1(number INTEGER, line TEXT): 2 rows",
        ),
        (
            r#""Well, here it is.\nYes, it is.\n""#,
            "call_1(number INTEGER, line TEXT): 2 rows",
        ),
        (
            r#""{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\":\n""#,
            "call_1(number INTEGER, line TEXT): 2 rows",
        ),
        (
            r#""a,b\n1,\"x\n2,y\n""#,
            "call_1(number INTEGER, line TEXT): 3 rows",
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
        (
            "SELECT ceil(1.2) AS c, 7 / floor(2) AS f, floor('2.7') AS t, sqrt(-1) AS s, pow(2, '3') AS p, floor(9223372036854775807) AS i, current_date IS NULL AS d",
            r#"[{"c":2.0,"f":3,"t":2.0,"s":null,"p":8.0,"i":9223372036854775807,"d":0}]"#,
        ),
        ("VALUES (1)", r#"[{"column1":1}]"#),
    ] {
        assert_eq!(answer(json, sql), expected, "{sql}");
    }
}

/// Of rows of several `SELECT`s SQLite tells where the columns of the first come from.
#[test]
fn what_only_looks_like_a_column_of_json_is_text() {
    let json = r#"[{"open": true, "user": {"name": "a"}}, {"open": false}]"#;
    for (sql, expected) in [
        (
            "SELECT user FROM call_1 UNION ALL SELECT 'x\"'",
            r#"[{"user":"{\"name\":\"a\"}"},{"user":null},{"user":"x\""}]"#,
        ),
        (
            "SELECT open FROM call_1 UNION SELECT count(*) FROM call_1",
            r#"[{"open":0},{"open":1},{"open":2}]"#,
        ),
        (
            "SELECT user FROM (SELECT user FROM call_1 LIMIT 1)",
            r#"[{"user":{"name":"a"}}]"#,
        ),
    ] {
        assert_eq!(answer(json, sql), expected, "{sql}");
    }
}

/// No digit of a number is lost, and nothing becomes a number that is none.
#[test]
fn values_stay_what_they_are() {
    let mixed = r#"[{"a": true, "n": 0.1}, {"a": "x", "n": 1e-400}, {"a": 1, "n": 12345678901234567890.5}]"#;
    assert_eq!(
        answer(mixed, "SELECT * FROM call_1"),
        r#"[{"a":"true","n":0.1},{"a":"x","n":"1e-400"},{"a":1,"n":"12345678901234567890.5"}]"#
    );
    let numbers = r#"[{"n": 1}, {"n": 2.5}, {"n": -0.0}, {"n": 9007199254740993}]"#;
    assert_eq!(
        answer(numbers, "SELECT n FROM call_1 WHERE n = '1' OR n > 2"),
        r#"[{"n":1},{"n":2.5},{"n":9007199254740993}]"#
    );
    let texts =
        Value::from("id,hash,price,zip\n12345678901234567890,1234e56,1.10,01234\n7,12,2.5,5\n");
    assert_eq!(
        answer(&texts.to_string(), "SELECT * FROM call_1"),
        r#"[{"id":"12345678901234567890","hash":"1234e56","price":1.1,"zip":"01234"},{"id":"7","hash":"12","price":2.5,"zip":"5"}]"#
    );
    // Not every record has as many values: nothing is left out of lines.
    let ragged = Value::from("a,b\n1,2\n3,4,5\n");
    assert_eq!(
        tables(&ragged.to_string()),
        "call_1(number INTEGER, line TEXT): 3 rows"
    );
    let wide = Value::from(format!(
        "{}x\n{}1\n",
        (0..300).map(|n| format!("c{n},")).collect::<String>(),
        "1,".repeat(300)
    ));
    assert_eq!(
        tables(&wide.to_string()),
        "call_1(number INTEGER, line TEXT): 2 rows"
    );
    let members: Vec<String> = (0..300).map(|n| format!("\"c{n}\":{n}")).collect();
    let wide = format!("[{{{}}}]", members.join(","));
    let rest = "SELECT c249, json_extract(rest, '$.c299') AS x FROM call_1";
    assert_eq!(answer(&wide, rest), r#"[{"c249":249,"x":299}]"#);
}

/// To a statement, there are no results but those that it was admitted to, however it writes their names.
#[test]
fn statements_reach_admitted_results_only() {
    let mut database = database(r#"[{"secret": 1}]"#);
    database.import("call_2", "[{\"id\": 7}]").unwrap();
    let mut ask = |sql: &str| database.query_within(sql, |result| result == "call_2");
    assert_eq!(ask("SELECT id FROM call_2").unwrap().rows, 1);
    for sql in [
        "SELECT secret FROM call_1",
        "SELECT secret FROM CALL_1",
        "SELECT secret FROM 'call_1'",
        "SELECT secret FROM \u{feff}call_1",
        "SELECT count(*) FROM call_1",
        "SELECT 1 FROM call_1",
        "SELECT id FROM call_2 WHERE EXISTS (SELECT 1 FROM call_1)",
        "WITH x AS (SELECT * FROM main.call_1) SELECT count(*) FROM x",
        "SELECT name FROM sqlite_master",
        "SELECT count(*) FROM sqlite_master",
        "SELECT 1 FROM sqlite_schema",
        "SELECT count(*) FROM sqlite_temp_master",
        "SELECT sql FROM sqlite_schema",
        "SELECT * FROM nobody",
    ] {
        let error = ask(sql).unwrap_err();
        assert_eq!(error.code().as_str(), "query.invalid", "{sql}: {error}");
        let said = format!("{error}\n{}", error.advice());
        assert!(
            said.starts_with("no such table: ") && !said.contains("secret"),
            "{sql}: {said}"
        );
        assert!(
            said.ends_with("tables: call_2(id INTEGER): 1 row"),
            "{sql}: {said}"
        );
    }
}

#[test]
fn an_import_has_no_part_of_the_time_of_a_statement() {
    let limits = SqlLimits::default().with_time(Duration::from_millis(1));
    let mut database = Database::open(limits).unwrap();
    database.import("a", "[1]").unwrap();
    database.query("SELECT * FROM a").unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let many = format!("[{}0]", "0,".repeat(20_000));
    assert_eq!(database.import("b", many).unwrap()[0].rows, 20_001);
}

#[test]
fn no_result_takes_the_name_of_another() {
    let mut database = database(r#"{"x": [1], "y": 1}"#);
    for name in ["call_1", "CALL_1", "call_1_x", "json_each"] {
        let name = name.to_owned();
        let error = database.import(&name, "[2]");
        assert_eq!(error, Err(SqlError::NameTaken { name }));
    }
    database.import("call_1_z", "[2]").unwrap();
}

#[test]
fn a_failed_import_leaves_nothing() {
    let limits = SqlLimits::default().with_value_bytes(1000);
    let mut database = Database::open(limits).unwrap();
    let large = format!(r#"{{"a": [1, 2], "b": ["{}"]}}"#, "x".repeat(2000));
    let error = database.import("call_1", large).unwrap_err();
    assert_eq!(error, SqlError::TooLarge { limit: 1000 });
    assert_eq!(database.tables(), []);
    assert!(database.query("SELECT * FROM call_1_a").is_err());
    let tables = database
        .import("call_1", r#"{"a": [1, 2], "b": ["x"]}"#)
        .unwrap();
    assert_eq!(tables.len(), 2);
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
        ("SELECT * FROM pragma_table_info('call_1')", "query.invalid"),
        ("SELECT * FROM dbstat", "query.invalid"),
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
        ("SELECT 1\0, 2", "query.invalid"),
        ("EXPLAIN SELECT 1", "query.refused"),
        ("EXPLAIN QUERY PLAN SELECT 1", "query.refused"),
    ] {
        let began = Instant::now();
        let outcome = database.query(sql);
        let taken = began.elapsed();
        let start: String = sql.chars().take(80).collect();
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
    let error = database.query("SELECT printf('%200d', 1) FROM t");
    assert_eq!(error, Err(SqlError::RowTooLarge { limit: 100 }));
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
