use super::*;
use proptest::prelude::*;

fn check(text: &str, kind: Kind, method: Option<&str>, id: Option<&str>, body: Option<&str>) {
    let message = Message::parse(text.to_owned()).unwrap();
    assert_eq!(message.kind(), kind, "{text}");
    assert_eq!(message.method(), method, "{text}");
    assert_eq!(message.id().map(ToString::to_string).as_deref(), id);
    assert_eq!(message.body().as_deref(), body.map(str::as_bytes), "{text}");
    assert_eq!(message.to_bytes(), text.as_bytes());
}

#[test]
fn envelopes_are_read() {
    check(
        r#" {"jsonrpc" : "2.0", "id":"a\"b", "method":"tools\/call","params" : {"id": 1, "x":[{"result":2}]} , "extra": 1.50} "#,
        Kind::Request,
        Some("tools/call"),
        Some(r#""a\"b""#),
        Some(r#"{"id": 1, "x":[{"result":2}]}"#),
    );
    check(
        r#"{"jsonrpc":"2.0","method":"ping","id":0}"#,
        Kind::Request,
        Some("ping"),
        Some("0"),
        None,
    );
    check(
        r#"{"method":"notifications/x","jsonrpc":"2.0"}"#,
        Kind::Notification,
        Some("notifications/x"),
        None,
        None,
    );
    check(
        r#"{"result":null,"jsonrpc":"2.0","id":7}"#,
        Kind::Response,
        None,
        Some("7"),
        Some("null"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
        Kind::Error,
        None,
        None,
        Some(r#"{"code":-32700,"message":"x"}"#),
    );
}

#[test]
fn what_is_no_message_says_why_and_keeps_the_id() {
    let refused = |text: &str| Message::parse(text.to_owned()).unwrap_err();
    let id = |text: &str| refused(text).id().map(ToString::to_string);
    assert!(matches!(refused("{"), MessageError::NotJson(_)));
    assert!(matches!(refused("\"\u{0}\""), MessageError::NotJson(_)));
    assert!(matches!(refused(" [1]"), MessageError::Batch));
    for text in [
        "1",
        "{}",
        "\"x\"",
        r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
    ] {
        assert_eq!(id(text), None, "{text}");
    }
    for text in [
        r#"{"id":3,"method":"x"}"#,
        r#"{"jsonrpc":"1.0","id":3,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":3}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"x","method":"y"}"#,
        // For some servers the last of these is the method, and for some the parameters.
        r#"{"jsonrpc":"2.0","id":3,"method":"ping","Method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"x","params":{},"param\u017f":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"x","result":1}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":1,"error":{}}"#,
    ] {
        assert_eq!(id(text).as_deref(), Some("3"), "{text}");
    }
}

#[test]
fn parts_are_set_and_the_rest_stays() {
    let text = r#"{"x":1.0,"params":{"a":1},"id":"q","method":"m","jsonrpc":"2.0"}"#;
    let message = Message::parse(text.to_owned())
        .unwrap()
        .with_id(Id::number(12))
        .with_body("[]")
        .with_id(Id::number(13));
    assert_eq!(
        message.to_bytes(),
        r#"{"x":1.0,"params":[],"id":13,"method":"m","jsonrpc":"2.0"}"#
    );
    assert_eq!(message.len(), message.to_bytes().len());
    assert_eq!(message.params().unwrap(), "[]");
    let bare = Message::parse(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).unwrap();
    assert_eq!(
        bare.with_body("{}").to_bytes(),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#
    );
}

#[test]
fn what_is_made_is_read_again() {
    let id = Id::number(5);
    let params = Bytes::from_static(br#"{"a":1}"#);
    let made = [
        Message::request(&id, "a\"b", Some(&params)),
        Message::request(&id, "x", None),
        Message::notification("x", Some(&params)),
        Message::response(&id, &params),
        Message::failure(
            Some(&id),
            &RpcError::new(crate::protocol::code::INTERNAL, "x"),
        ),
        Message::failure(None, &RpcError::new(crate::protocol::code::PARSE, "x")),
    ];
    for message in made {
        let again = Message::parse(message.to_bytes()).unwrap();
        assert_eq!(again.kind(), message.kind());
        assert_eq!(again.method(), message.method());
        assert_eq!(again.id(), message.id());
        assert_eq!(again.body(), message.body());
    }
}

#[test]
fn a_line_has_no_breaks() {
    assert_eq!(&*on_one_line(&"{\r\n\"a\": 1\n}".into()), b"{  \"a\": 1 }");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Message::parse(bytes);
    }

    /// Whatever order the members have, and whatever stands between them.
    #[test]
    fn members_are_found_in_any_order(
        order in Just(vec![0, 1, 2, 3, 4]).prop_shuffle(),
        blanks in prop::collection::vec("[ \t\r\n]{0,2}", 5),
        params in "\\{\"id\": ?[1-3][0-9]{0,2}[02-9]\\}|\\[\"params\",\\{\\}\\]",
    ) {
        let members = [
            r#""jsonrpc":"2.0""#.to_owned(),
            r#""id":"x""#.to_owned(),
            r#""method":"a/b""#.to_owned(),
            format!(r#""params":{params}"#),
            r#""_x":{"id":1,"method":2}"#.to_owned(),
        ];
        let text: Vec<String> = order
            .iter()
            .map(|&at: &usize| format!("{}{}", blanks[at], members[at]))
            .collect();
        let text = format!("{{{}}}", text.join(","));
        let message = Message::parse(text.clone()).unwrap();
        prop_assert_eq!(message.method(), Some("a/b"));
        prop_assert_eq!(message.params().unwrap(), params.as_bytes());
        let other = message.with_id(Id::number(9)).to_bytes();
        prop_assert_eq!(other, text.replace(r#""id":"x""#, r#""id":9"#));
    }
}

#[test]
fn members_of_params_are_found_where_they_stand() {
    let check = |params: &str| {
        let text = format!(r#"{{"params" : {params} ,"jsonrpc":"2.0","method":"m","id":1}}"#);
        let message = Message::parse(text).unwrap();
        let document = Document::new(params.to_owned());
        for param in [Param::Meta, Param::Name, Param::Uri, Param::TaskId] {
            let expected = document.root().unwrap().get(param.key());
            let expected = expected.map(crossfeed_json::Cursor::shared);
            assert_eq!(message.param(param), expected, "{params} {param:?}");
        }
    };
    for params in [
        r#"{"_meta":{"name":"x"},"name" : "n\"","arguments":{"uri":1}}"#,
        r#"{"a":[{"uri":1}],"u\u0072i":[1, 2] , "taskId":null}"#,
        r#"{"name":1,"name":{"_meta":2}}"#,
        r#"["name",{"name":1}]"#,
        "{}",
        "7",
    ] {
        check(params);
    }
    check(&doubled_names());
}

/// More doubled members than are noted of a result: of parameters, the last of each name counts.
fn doubled_names() -> String {
    format!(
        r#"{{{}"_meta":{{"t":12345}}}}"#,
        r#""name":"t","#.repeat(40)
    )
}

#[test]
fn metadata_behind_doubled_members_is_changed() {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}}}"#,
        doubled_names()
    );
    let message = Message::parse(text).unwrap();
    let message = message.with_meta_at(&(5..10), b"7", Into::into);
    assert_eq!(message.param(Param::Meta).unwrap(), r#"{"t":7}"#);
}

#[test]
fn members_of_params_are_found_behind_another_token() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"uri":"u","_meta":{"t":12345,"x":1},"name":"n"}}"#;
    let message = Message::parse(text).unwrap();
    let place = 5..10;
    let message = message.with_meta_at(&place, b"7", Into::into);
    let check = |param, expected: &str| assert_eq!(message.param(param).unwrap(), expected);
    check(Param::Uri, r#""u""#);
    check(Param::Meta, r#"{"t":7,"x":1}"#);
    check(Param::Name, r#""n""#);
    let message = message.with_body(r#"{"name":1}"#);
    assert_eq!(message.param(Param::Name).unwrap(), "1");
    assert_eq!(message.param(Param::Uri), None);
}

/// A long result is shared, and the message is the same as one that holds a copy.
#[test]
fn long_answers_are_like_short_ones() {
    let id = |raw: &'static str| Id::parse(Bytes::from_static(raw.as_bytes())).unwrap();
    for length in [10, 100_000] {
        let result = Bytes::from(format!("[\"{}\"]", "x".repeat(length)));
        let text = |message: &Message| String::from_utf8(message.to_bytes().to_vec()).unwrap();
        let whole =
            |id: &str, result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let plain = String::from_utf8(result.to_vec()).unwrap();
        let made = Message::response(&id("7"), &result);
        assert_eq!(text(&made), whole("7", &plain));
        assert_eq!(made.len(), text(&made).len());
        assert_eq!(made.result().unwrap(), result);
        let other = made.clone().with_id(id("\"b\""));
        assert_eq!(text(&other), whole("\"b\"", &plain));
        assert_eq!(other.id().unwrap().raw(), "\"b\"");
        let changed = made.with_body("{}");
        assert_eq!(text(&changed), whole("7", "{}"));
        assert_eq!(text(&changed.with_id(id("8"))), whole("8", "{}"));
    }
}

#[test]
fn doubled_members_take_no_memory_each() {
    let of_result = |count: usize| {
        let metas = vec![r#""_meta":1"#; count].join(",");
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{metas}}}}}"#);
        let message = Message::parse(text).unwrap();
        message.result_members().map(<[_]>::len)
    };
    assert_eq!(of_result(32), Some(32));
    assert_eq!(of_result(33), None);
    assert_eq!(of_result(5000), None);
}

/// Members of results are found where they stand; changes within a result share the rest of it.
#[test]
fn results_are_changed_where_they_stand() {
    for (result, expected) in [
        (
            r#"{"a":{"_meta":1},"content" : [ {"task":[2]} ],"\u005fmeta":{"x":1} }"#,
            vec![("content", r#"[ {"task":[2]} ]"#), ("_meta", r#"{"x":1}"#)],
        ),
        (
            r#"{"_meta":null,"isError":false,"_meta":{}}"#,
            vec![("_meta", "null"), ("isError", "false"), ("_meta", "{}")],
        ),
        ("{}", vec![]),
        (r#"["_meta",{"_meta":1}]"#, vec![]),
    ] {
        let text = format!(r#"{{"id":1, "result": {result} ,"jsonrpc":"2.0"}}"#);
        let message = Message::parse(text.clone()).unwrap();
        let came = message.result().unwrap();
        assert_eq!(came, result);
        let members = message.result_members().unwrap().to_vec();
        let found = members.iter().map(|member| {
            let value = std::str::from_utf8(&came[member.value.clone()]).unwrap();
            assert!(came[member.whole.clone()].starts_with(b"\""));
            assert!(came[member.whole.clone()].ends_with(value.as_bytes()));
            (member.key, value)
        });
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let edits: Vec<_> = members
            .iter()
            .map(|member| (member.value.clone(), Bytes::from_static(b"7")))
            .collect();
        let body = Body::Edited(edits);
        let written = body.clone().over(&came);
        let whole = text.replace(result, std::str::from_utf8(&written).unwrap());
        let changed = message.clone().with(body.clone());
        assert_eq!(changed.to_bytes(), whole);
        let renamed = changed.clone().with_id(Id::number(8));
        let raw = message.to_bytes().as_ptr_range();
        let pieces = renamed
            .pieces()
            .filter(|piece| raw.contains(&piece.as_ptr()));
        let replaced = members.iter().map(|member| member.value.len());
        assert_eq!(
            pieces.map(|piece| piece.len()).sum::<usize>() + 1 + replaced.sum::<usize>(),
            text.len(),
            "what stays is not copied"
        );
        assert_eq!(changed.result().unwrap(), written);
        assert_eq!(renamed.to_bytes(), whole.replacen('1', "8", 1));
        assert!(changed.result_members().is_none());
        // The same over a body that was replaced, and in a message that was made.
        let replaced = message.with_body(came.clone()).with(body.clone());
        assert_eq!(replaced.to_bytes(), whole);
        assert_eq!(
            changed.with_body("{}").to_bytes(),
            text.replace(result, "{}")
        );
        let made = Message::response(&Id::number(1), &came).with(body);
        assert_eq!(made.result().unwrap(), written);
    }
}
