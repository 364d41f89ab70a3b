use crate::{Path, Redacted, RevealRules, WITHHELD};
use crossfeed_json::Document;

fn rules(never: &str) -> RevealRules {
    RevealRules::new([], Path::parse_list(never).unwrap())
}

/// What remains of a value, and how many fields and strings went.
fn check(never: &str, json: &str, expected: &str, counts: (usize, usize)) {
    let document = Document::new(json.to_owned());
    let mut out = Vec::new();
    let Redacted { fields, strings } = rules(never).redact(document.root().unwrap(), &mut out);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        expected,
        "{never} of {json}"
    );
    assert_eq!((fields, strings), counts, "{never} of {json}");
}

/// `inner` as JSON within `levels` strings.
fn nested(inner: &str, levels: usize) -> String {
    (0..levels).fold(inner.to_owned(), |json, _| crossfeed_json::quoted(&json))
}

#[test]
fn what_holds_nothing_is_copied() {
    check(
        "pw",
        r#"{ "a" : "the pw is \u00e9" , "b":[ ] }"#,
        r#"{ "a" : "the pw is \u00e9" , "b":[ ] }"#,
        (0, 0),
    );
    check("", r#"{ "pw" : 1 }"#, r#"{ "pw" : 1 }"#, (0, 0));
    check("pw", "\"pw\"", "\"pw\"", (0, 0));
}

#[test]
fn keys_go_however_they_are_written() {
    check(
        "pw",
        r#"{"pw":1,"b":{"\u0070w":2,"c":[{"p\u0077":3,"d":4}]}}"#,
        r#"{"b":{"c":[{"d":4}]}}"#,
        (3, 0),
    );
    check(
        "päss",
        r#"{"p\u00e4ss":1,"päss":2,"b":3}"#,
        r#"{"b":3}"#,
        (1, 0),
    );
    check("\"a/b\"", r#"{"a\/b":1,"c":2}"#, r#"{"c":2}"#, (1, 0));
    check(
        r#""say \"x\"""#,
        r#"{"say \"x\"":1,"c":2}"#,
        r#"{"c":2}"#,
        (1, 0),
    );
    let many: Vec<String> = (0..40).map(|n| format!("k{n}")).collect();
    check(
        &many.join(","),
        r#"{"k39":1,"k40":2}"#,
        r#"{"k40":2}"#,
        (1, 0),
    );
    // Nothing but a code shows that the name is there.
    check("päss", r#"{"p\u00e4ss":1,"b":3}"#, r#"{"b":3}"#, (1, 0));
    check(
        "päss",
        r#"["{\"p\\u00e4ss\":1,\"b\":3}"]"#,
        r#"["{\"b\":3}"]"#,
        (1, 0),
    );
    // Only the whole name counts.
    check("pw", r#"{"pw2":1,"xpw":3}"#, r#"{"pw2":1,"xpw":3}"#, (0, 0));
}

#[test]
fn keys_go_in_whatever_case() {
    check(
        "passWord",
        r#"{"password":1,"b":{"PASSWORD":2,"c":[{"Pa\u0053sword":3,"paſſword":4,"paßword":5,"d":6}]}}"#,
        r#"{"b":{"c":[{"d":6}]}}"#,
        (5, 0),
    );
    check(
        "größe",
        r#"{"GRÖSSE":1,"Größe":2,"b":3}"#,
        r#"{"b":3}"#,
        (2, 0),
    );
    check(
        "token",
        r#"{"to\u212aen":1,"toKen":2,"b":3}"#,
        r#"{"b":3}"#,
        (2, 0),
    );
    // A path, too, and in JSON that is text.
    check(
        "Owner.mail,owner.Phone",
        r#"{"OWNER":{"Mail":1,"phone":2,"n":3},"owner":"{\"MAIL\":1,\"n\":2}"}"#,
        r#"{"OWNER":{"n":3},"owner":"{\"n\":2}"}"#,
        (3, 0),
    );
    check(
        "list[].Id",
        r#"{"LIST":[{"ID":1,"n":2}]}"#,
        r#"{"LIST":[{"n":2}]}"#,
        (1, 0),
    );
}

#[test]
fn json_in_strings_is_opened() {
    check(
        "pw",
        r#"["{\"pw\":1,\"n\":1.50}"]"#,
        r#"["{\"n\":1.50}"]"#,
        (1, 0),
    );
    check(
        "pw",
        r#"[" { \"n\" : 1 } "]"#,
        r#"[" { \"n\" : 1 } "]"#,
        (0, 0),
    );
    check(
        "pw",
        r#"["{\"n\":\"pw\"}"]"#,
        r#"["{\"n\":\"pw\"}"]"#,
        (0, 0),
    );
    check(
        "pw",
        r#"["{\"\\u0070w\":1,\"a\":\"\\\"\"}"]"#,
        r#"["{\"a\":\"\\\"\"}"]"#,
        (1, 0),
    );
    // What stood under a key before its last value is not left in the text.
    check(
        "pw",
        r#"["{\"a\":{\"pw\":7},\"a\":2}"]"#,
        r#"["{\"a\":2}"]"#,
        (1, 0),
    );
    check("pw", r#"["\u007b\u0022pw\u0022:1}"]"#, r#"["{}"]"#, (1, 0));
    for levels in 0..10 {
        let json = nested(r#"{"pw":1,"n":[2]}"#, levels);
        check("pw", &json, &nested(r#"{"n":[2]}"#, levels), (1, 0));
    }
}

#[test]
fn what_cannot_be_looked_into_is_withheld() {
    let withheld = format!("\"{WITHHELD}\"");
    // Lines of JSON, JSON with something around it, broken JSON.
    for text in [
        "{\"pw\":1}\n{\"pw\":2}",
        "data: {\"a\":{\"pw\" : 1}}",
        "{\"pw\":1",
        "\u{feff}{\"pw\":1}",
        "x {\\\"pw\\\":1}",
        "x \"\\u0070w\": 1",
    ] {
        check("pw", &crossfeed_json::quoted(text), &withheld, (0, 1));
    }
    let deep = format!("{}{{\"pw\":1}}{}", "[".repeat(200), "]".repeat(200));
    check("pw", &crossfeed_json::quoted(&deep), &withheld, (0, 1));
    // Texts that only speak of it stay.
    for text in ["set \"pw\" first", "(pw: 1)", "pw", "[pw]", "a, pw: 1"] {
        let json = crossfeed_json::quoted(text);
        check("pw", &json, &json, (0, 0));
    }
}

#[test]
fn keys_in_quotes_of_either_kind_count() {
    let withheld = format!("\"{WITHHELD}\"");
    for text in [
        "{'pw': 'S'}",
        "[{'a': 1, 'pw' : 'S'}]",
        "x {\\'pw\\': 1}",
        "row {\"a\\\\b\": 1}",
        "row {\"say \\\"x\\\"\"\\n: 1}",
        "row {\"\": 1}",
        "row {\"\\ud83d\\ude00\": 1}",
    ] {
        let json = crossfeed_json::quoted(text);
        let never = r#"pw,"a\\b","say \"x\"","",😀"#;
        check(never, &json, &withheld, (0, 1));
    }
    // Prose stays, and so do other keys.
    for text in [
        "pw: S",
        "'pw'",
        "{'pw2': 1}",
        "\"pw': 1",
        "{'pw'}",
        "{pw2: 1}",
        "{a: pw}",
    ] {
        let json = crossfeed_json::quoted(text);
        check("pw", &json, &json, (0, 0));
    }
}

#[test]
fn keys_are_found_as_programming_languages_write_them() {
    let withheld = format!("\"{WITHHELD}\"");
    for text in [
        r"{'p\x61ss': 'S'}",
        r"{'p\141ss': 'S'}",
        r"{'p\u{61}ss': 'S'}",
        r"{'\U00000070ass': 'S'}",
        r"{'p\N{LATIN SMALL LETTER A}ss': 'S'}",
        "{'pa\\\nss': 'S'}",
        r#"{"pass" /* c */ : "S"}"#,
        r#"{"pass" /* a */ /* b */ : "S"}"#,
        "{\"pass\" // c\n : \"S\"}",
        "{\"pass\" # c\n : \"S\"}",
        "{\"pass\"\u{feff}: \"S\"}",
        "{PASS: 'S'}",
        "{ a: 1, pass: 'S' }",
        "{\n  a: 1\n  pass: 'S'\n}",
        "{ /* c */ pass /* d */: 'S' }",
        "{`pass`: `S`}",
        "{“pass”: “S”}",
        "{['pass']: 'S'}",
        "{\"pass\"=>\"S\"}",
        "{:pass => 'S'}",
        "\"pass\" = \"S\"",
        "{&quot;pass&quot;:&quot;S&quot;}",
        "%7B%22pass%22%3A%22S%22%7D",
    ] {
        let json = crossfeed_json::quoted(text);
        check("pass", &json, &withheld, (0, 1));
        let within = format!("{{\"a\":[{json}]}}");
        check("pass", &within, &format!("{{\"a\":[{withheld}]}}"), (0, 1));
        let at_u = format!("{{\"u\":{json}}}");
        check("u.pass", &at_u, &format!("{{\"u\":{withheld}}}"), (0, 1));
    }
    // A comment that does not end, or is very long.
    for comment in ["/* c", &format!("/*{}*/ ", "c".repeat(5000))] {
        let json = crossfeed_json::quoted(&format!("{{\"pass\" {comment}"));
        check("pass", &json, &withheld, (0, 1));
    }
}

#[test]
fn many_names_in_a_text_take_little_time() {
    // Each has a comment behind it that does not end.
    let text = "\"pass\" /* ".repeat(50_000);
    let json = crossfeed_json::quoted(&format!("x {{{text}"));
    let withheld = format!("\"{WITHHELD}\"");
    check("pass", &json, &withheld, (0, 1));
    check("u.pass", &json, &json, (0, 0));
    let text = format!("{}{}*/ x", "\"pass\" /* ".repeat(50_000), " ".repeat(2000));
    let json = crossfeed_json::quoted(&format!("x {{{text}"));
    check("pass", &json, &withheld, (0, 1));
    let text = "{\\x7".repeat(100_000);
    let json = crossfeed_json::quoted(&text);
    check("pass", &json, &json, (0, 0));
}

#[test]
fn keys_that_hold_json_are_judged() {
    for key in [
        r#"{"pw":"S"}"#,
        r#"x {"pw": 1}"#,
        "{'pw': 1}",
        r#""{\"pw\":1}""#,
        r#"{"\u0070w"\u003a1}"#,
    ] {
        let json = format!("{{{}:1,\"b\":2}}", crossfeed_json::quoted(key));
        check("pw", &json, r#"{"b":2}"#, (1, 0));
        check("pw", &format!("[{json}]"), r#"[{"b":2}]"#, (1, 0));
        let text = format!("[{}]", crossfeed_json::quoted(&json));
        check("pw", &text, r#"["{\"b\":2}"]"#, (1, 0));
    }
    let json = r#"{"{\"a\":\"pw\"}":1,"pw: S":2,"a:b\\c":3}"#;
    check("pw", json, json, (0, 0));
    // From the root nothing leads into a key.
    let json = r#"{"{\"pw\":1}":1}"#;
    check("u.pw", json, json, (0, 0));
}

#[test]
fn paths_lead_into_texts_that_are_no_json() {
    let withheld = format!("{{\"u\":\"{WITHHELD}\"}}");
    let at_u = |text: &str| format!("{{\"u\":{}}}", crossfeed_json::quoted(text));
    for (never, text) in [
        ("u.m", "\u{feff}{\"m\":1}"),
        ("u.m", "json: {\"m\": 1}"),
        ("u.m", "json: {'m': 1}"),
        ("u.m.n", "json: {\"m\": {\"n\": 1}}"),
        ("u.m", "json: {\\\"m\\\": 1}"),
        ("u[].m", "json: [{\"m\": 1}]"),
        ("u[0][].m", "json: [[{\"m\": 1}]]"),
        ("u[]", "json: [1]"),
        ("u[3]", "\u{feff}[1]"),
        ("u.*", "json: {\"a\": 1}"),
        ("u[].*.x", "json: [{\"a\": 1}]"),
    ] {
        check(never, &at_u(text), &withheld, (0, 1));
    }
    for (never, text) in [
        ("u.m", "m: 1"),
        ("u.m", "json: {\"a\": 1}"),
        ("u.m.n", "json: {\"n\": 1}"),
        ("u[].m", "see [1]"),
        ("u.*", "a: 1"),
        ("x.m", "json: {\"m\": 1}"),
    ] {
        check(never, &at_u(text), &at_u(text), (0, 0));
    }
}

#[test]
fn objects_in_place_of_lists_are_hidden() {
    check("x[]", r#"{"x":{"a":1}}"#, r#"{"x":{}}"#, (1, 0));
    check("x[0]", r#"{"x":{"a":1}}"#, r#"{"x":{}}"#, (1, 0));
    check(
        "x[].a",
        r#"{"x":{"a":1,"b":2}}"#,
        r#"{"x":{"b":2}}"#,
        (1, 0),
    );
}

#[test]
fn strings_within_strings_end_somewhere() {
    // Quotes within strings double their backslashes at each level, brackets do not.
    let json = nested("{\"pw\":1}", 18);
    let document = Document::new(json);
    let mut out = Vec::new();
    let redacted = rules("pw").redact(document.root().unwrap(), &mut out);
    assert_eq!((redacted.fields, redacted.strings), (0, 1));
    assert!(!String::from_utf8(out).unwrap().contains("pw"));
    let mut json = "{\"pw\":1}".to_owned();
    for _ in 0..12 {
        json = format!(
            "{}{}{}",
            "[".repeat(120),
            crossfeed_json::quoted(&json),
            "]".repeat(120)
        );
    }
    let document = Document::new(json);
    let mut out = Vec::new();
    let redacted = rules("pw").redact(document.root().unwrap(), &mut out);
    assert_eq!((redacted.fields, redacted.strings), (0, 1));
}

#[test]
fn paths_hold_from_the_root() {
    check(
        "u.m",
        r#"{"u":{"m":1,"n":2},"x":{"u":{"m":3}}}"#,
        r#"{"u":{"n":2},"x":{"u":{"m":3}}}"#,
        (1, 0),
    );
    check(
        "u.m",
        r#"{"u":"{\"m\":1"}"#,
        &format!("{{\"u\":\"{WITHHELD}\"}}"),
        (0, 1),
    );
    check("u.m", r#"{"u":"text"}"#, r#"{"u":"text"}"#, (0, 0));
    check(
        "u[].m,u[1]",
        r#"{"u":[{"m":1},{"m":2},{"n":3}]}"#,
        r#"{"u":[{},{"n":3}]}"#,
        (2, 0),
    );
    check("u.*", r#"{"u":{"m":1,"n":2}}"#, r#"{"u":{}}"#, (2, 0));
}

#[track_caller]
fn check_mentions(never: &str, text: &str, expected: bool) {
    let found = rules(never).mentions_never(text);
    assert_eq!(found, expected, "{never} in {text}");
}

#[test]
fn prose_mentions_words() {
    let never = "pw,user.ssn,\"a b\",$ref,\"\",größe,\"x\\\\y\"";
    for text in [
        "the pw is x",
        "pw",
        "pw=1",
        "\"ssn\": 3",
        "a b!",
        "{\"\": 1}",
        "x\\y",
        r#"{"x\\y":1}"#,
        "($ref)",
        r#"{\"\u0070w\""#,
        r"\u005cu0070w",
        r"C:\pw",
        r"C:\name\pw",
        // Whatever their case.
        "Pw: x",
        "PW",
        "SSN",
        "A B",
        "GRÖSSE",
        r#"{"gr\u00f6\u00dfe":1}"#,
        // Behind what writes a control character.
        r"row:\npw: x",
        r"row:\\npw: x",
        r"row:\tpw",
        r"row:\rpw\nx",
        r"row:\u000apw",
    ] {
        check_mentions(never, text, true);
    }
    for text in [
        "",
        "pwd",
        "my_pw_hash",
        "user",
        "passn",
        "a  b",
        "a$ref",
        "\"x\"",
    ] {
        check_mentions(never, text, false);
    }
    let many: Vec<String> = (0..3000).map(|n| format!("k{n}")).collect();
    check_mentions(&many.join(","), "all but k3000", false);
    check_mentions(&many.join(","), "also K2999", true);
    check_mentions("", "anything", false);
}

#[test]
fn a_path_is_known_by_its_last_name() {
    for never in [
        "secrets.*",
        "secrets[]",
        "secrets[3]",
        "a.secrets[].*",
        "*.secrets",
    ] {
        check_mentions(never, "{\"secrets\":[1]}\n{}", true);
        check_mentions(never, "a: 1", false);
    }
    // What has no name could be in any text.
    for never in ["*", "[]", "[0].*", "pw,[]"] {
        check_mentions(never, "a: 1", true);
    }
    check_mentions("[].a", "b: 1", false);
}

#[test]
fn names_are_not_in_logs() {
    let rules = RevealRules::parse(["id"], ["pw", "user.ssn"]).unwrap();
    assert_eq!(
        format!("{rules:?}"),
        "RevealRules { always: 1, never: 2, .. }"
    );
    let projection = crate::Projection::new().with_rules(rules);
    for text in [
        format!("{projection:?}"),
        format!("{:?}", projection.root()),
    ] {
        assert!(!text.contains("pw") && !text.contains("ssn"), "{text}");
    }
}

#[test]
fn rules_add_up() {
    let both = RevealRules::parse(["id"], ["pw"]).unwrap();
    let both = both.and(&RevealRules::parse(["id", "page.next"], ["u.m"]).unwrap());
    assert_eq!(
        both,
        RevealRules::parse(["id", "page.next"], ["pw", "u.m"]).unwrap()
    );
    assert!(both.is_never_name("pw") && !both.is_never_name("m") && both.is_always_name("id"));
    assert!(RevealRules::default().never_is_empty() && !both.never_is_empty());
    assert!(RevealRules::parse(["a..b"], [""; 0]).is_err());
}
