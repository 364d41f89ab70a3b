//! Examples of what is stripped and redacted.

use crate::{FAILED, HashKey, Outcome, Policy, Redaction};

const RESULT: &str = "gen_ai.tool.call.result";

fn check(policy: &Policy, attribute: &str, text: &str, expected: &str) {
    let found = match policy.strip(attribute, text) {
        Outcome::Unchanged => text.to_owned(),
        Outcome::Text(found) => {
            assert_ne!(found, text, "{attribute}");
            found
        }
        Outcome::Dropped => "(dropped)".to_owned(),
    };
    assert_eq!(found, expected, "{attribute}: {text}");
}

#[test]
fn named_fields_go_from_everything() {
    for attribute in [
        "",
        "any",
        RESULT,
        "gen_ai.input.messages",
        "exception.message",
    ] {
        let check =
            |text: &str, expected: &str| check(&Policy::default(), attribute, text, expected);
        check(r#"{"_toolCallId":"c","a":1}"#, r#"{"a":1}"#);
        check(r#"{"\u005ftoolCallId":"c"}"#, "{}");
        check(r#"{"_tool\u0043allId":"c"}"#, "{}");
        check(
            r#"[{"a":{"_structureHints":{}}}, 1.50]"#,
            r#"[{"a":{}}, 1.50]"#,
        );
        check(
            r#"{"b":1,"_toolCallId":1,"a":{"_toolCallId":2},"_toolCallId":3}"#,
            r#"{"b":1,"a":{}}"#,
        );
        check(
            r#"[{"role":"tool","content":"{ \"_toolCallId\" : 1 , \"é\":\"\\u00e9\\/\"}"}]"#,
            r#"[{"role":"tool","content":"{ \"é\":\"\\u00e9\\/\"}"}]"#,
        );
        check(r#""{\"_toolCallId\":1}""#, r#""{}""#);
        check(
            r#"{"a":"\u007b\u0022_toolCallId\u0022:1}"}"#,
            r#"{"a":"\u007b}"}"#,
        );
        check(
            r#"{"a":"\"{\\\"_toolCallId\\\":1}\""}"#,
            r#"{"a":"\"{}\""}"#,
        );
        check("\u{feff}{\"_toolCallId\":1}", "\u{feff}{}");
        check("[\"\u{feff}{\\\"_toolCallId\\\":1}\"]", "[\"\u{feff}{}\"]");
        // An escape of an escape, whose `u` is written by its number.
        check(r#"["{\"\\\u0075005ftoolCallId\":1}"]"#, r#"["{}"]"#);
        // Keys may hold JSON.
        check(r#"{"{\"_toolCallId\":1,\"a\":2}":3}"#, r#"{"{\"a\":2}":3}"#);
        check(r#"{"\"{\\\"_toolCallId\\\":1}\"":3}"#, r#"{"\"{}\"":3}"#);
    }
}

#[test]
fn what_is_no_json_is_left_alone() {
    for text in [
        r#"{"_toolCallId":1"#,
        r#"{"_toolCallId":1}}"#,
        r#"{"_toolCallId":1}{"_toolCallId":1}"#,
        r#"said: {"_toolCallId":1}"#,
        r#"{"_toolCallId":01}"#,
        r#"{"a":"said: {\"_toolCallId\":1}"}"#,
        r#"{"a":"{\"_toolCallId\":1"}"#,
        "_toolCallId",
        "",
    ] {
        check(&Policy::default(), RESULT, text, text);
    }
}

#[test]
fn results_lose_what_begins_with_an_underscore() {
    let policy = Policy::default();
    let kept = Policy::default().with_kept(["_id", "_toolCallId"]);
    let text = r#"{"_id":1,"_toolCallId":2,"_x":3,"a":{"_x":4}}"#;
    check(&policy, RESULT, text, r#"{"a":{"_x":4}}"#);
    check(&kept, RESULT, text, r#"{"_id":1,"a":{"_x":4}}"#);
    check(&policy, "ai.toolCall.result", text, r#"{"a":{"_x":4}}"#);
    let message = "gen_ai.tool.message";
    check(&policy, message, text, r#"{"a":{"_x":4}}"#);
    check(
        &policy,
        &format!("{message}.content"),
        text,
        r#"{"a":{"_x":4}}"#,
    );
    check(
        &policy,
        "ai.toolCall.args",
        text,
        r#"{"_id":1,"_x":3,"a":{"_x":4}}"#,
    );
    // A result that was encoded twice; a list has no top-level keys.
    check(
        &policy,
        RESULT,
        r#""{\"_x\":1,\"a\":\"{\\\"_x\\\":1}\"}""#,
        r#""{\"a\":\"{\\\"_x\\\":1}\"}""#,
    );
    check(&policy, RESULT, r#"[{"_x":1}]"#, r#"[{"_x":1}]"#);
    let own = Policy::default()
        .with_tool_results(["my.*.result"])
        .with_payloads([RESULT]);
    check(&own, "my.0.result", r#"{"_x":1}"#, "{}");
    check(&own, RESULT, r#"{"_x":1}"#, r#"{"_x":1}"#);
    // Only its own name says that a result is none.
    for broad in ["gen_ai.**", "gen_ai", "gen_ai.tool.call.*"] {
        let own = Policy::default().with_payloads([broad]);
        check(&own, RESULT, r#"{"_x":1}"#, "{}");
        let drop = own.with_redaction(Redaction::Drop);
        check(&drop, "gen_ai.tool.call.other", "1", "(dropped)");
    }
}

#[test]
fn the_span_says_what_its_output_is() {
    let policy = Policy::default();
    let check = |said: (&str, &str), attribute: &str, expected: Outcome| {
        let found = policy.reader([said]).strip(attribute, r#"{"_x":1}"#);
        assert_eq!(found, expected, "{said:?} {attribute}");
    };
    let stripped = Outcome::Text("{}".to_owned());
    for (name, tool, other, attribute) in [
        ("openinference.span.kind", "TOOL", "CHAIN", "output.value"),
        (
            "traceloop.span.kind",
            "tool",
            "workflow",
            "traceloop.entity.output",
        ),
        (
            "langfuse.observation.type",
            "tool",
            "generation",
            "langfuse.observation.output",
        ),
    ] {
        check((name, tool), attribute, stripped.clone());
        check((name, other), attribute, Outcome::Unchanged);
        check(("a", "b"), attribute, stripped.clone());
        check((name, other), RESULT, stripped.clone());
    }
}

#[test]
fn keys_that_are_internal_go_as_a_whole() {
    let check = |key: &str, expected: bool| {
        let policy = Policy::default().with_kept(["_id"]);
        assert_eq!(policy.drops_key(key), expected, "{key}");
        let outcome = policy.strip(key, "text");
        assert_eq!(outcome == Outcome::Dropped, expected, "{key}");
    };
    check("_toolCallId", true);
    check("app.result._toolCallId", true);
    check("app._structureHints.compact.0", true);
    check("app.result[0]['_toolCallId']", true);
    check("app._toolCallIds", false);
    check("app.result._secret", false);
    check("gen_ai.tool.call.result._secret", true);
    check("gen_ai.tool.call.result._secret.a", true);
    check("gen_ai.tool.call.result.a._secret", false);
    check("gen_ai.tool.call.result._id", false);
    check("gen_ai.tool.call.arguments._secret", false);
    check("gen_ai.tool.call.id", false);
    for joint in [
        ".", "/", ":", "['", "[\"", "->", ",", " ", "#", "|", "\\", "(",
    ] {
        check(&format!("gen_ai.tool.call.result{joint}_x"), true);
        check(&format!("output.value{joint}_x"), true);
        check(&format!("app{joint}_toolCallId"), true);
        check(&format!("gen_ai.tool.call.result{joint}_id"), false);
    }
    // An item of a list is no top-level member.
    check("gen_ai.tool.call.result[0]._x", false);
    let own = Policy::default().with_tool_results(["my.result.**", "its.*"]);
    assert!(own.drops_key("my.result._x") && own.drops_key("its._x"));
    assert!(own.drops_key("its.a._x") && !own.drops_key("its.a.b._x"));
    // However long a name is.
    check(&"a[".repeat(500_000), false);
}

#[test]
fn what_is_never_revealed_goes_by_the_names_of_attributes() {
    let policy = Policy::default().with_never(["pin", "owner.mail"]).unwrap();
    let dropped = |attribute: &str| check(&policy, attribute, "1234", "(dropped)");
    dropped("pin");
    dropped("pin.code");
    dropped("owner.mail");
    dropped("gen_ai.tool.call.result.pin");
    dropped("gen_ai.tool.call.result[0]['a'].pin");
    dropped("gen_ai.tool.call.result.owner[0].mail");
    dropped("output.value.owner.mail");
    let stays = |attribute: &str| check(&policy, attribute, "1234", "1234");
    stays("user.pin");
    stays("owner");
    stays("mail");
    stays("gen_ai.tool.call.result.mail");
    stays("gen_ai.tool.call.result.owner.a.mail");
    let owner = r#"{"mail":1,"a":2}"#;
    check(&policy, "owner", owner, r#"{"a":2}"#);
    check(&policy, "ai.toolCall.result.owner", owner, r#"{"a":2}"#);
    check(&policy, "ai.toolCall.result", owner, owner);
}

#[test]
fn payload_is_dropped_or_hashed() {
    let text = r#"{"_toolCallId":1}"#;
    let drop = Policy::default().with_redaction(Redaction::Drop);
    let hash = Policy::default().with_redaction(Redaction::Hash);
    let keyed = HashKey::new("a key");
    let keyed = Policy::default().with_redaction(Redaction::KeyedHash(keyed));
    for attribute in [
        RESULT,
        "ai.prompt",
        "gen_ai.prompt.0.content",
        "gen_ai.input.messages[0].content",
        "gen_ai.input.messages/0",
        "output.value",
    ] {
        check(&drop, attribute, text, "(dropped)");
        // Of what would have left.
        let digest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        check(&hash, attribute, text, digest);
        check(&hash, attribute, "{}", digest);
        let digest = keyed.strip(attribute, text);
        assert_eq!(digest, keyed.strip(attribute, "{}"));
        assert!(matches!(&digest, Outcome::Text(digest) if digest.len() == 76));
    }
    for policy in [drop, hash, keyed] {
        check(&policy, "other", text, "{}");
        check(&policy, "gen_ai.prompt.name", "a", "a");
        check(&policy, "", "a", "a");
    }
}

#[test]
fn stages_follow_each_other() {
    let policy = Policy::default()
        .with_rule(|attribute, text| match attribute {
            "drop" => Outcome::Dropped,
            "replace" => Outcome::Text(format!(r#"{{"_toolCallId":1,"pin":2,"was":{text}}}"#)),
            _ => Outcome::Unchanged,
        })
        .with_never(["pin"])
        .unwrap()
        .with_max_bytes(200);
    check(&policy, "drop", "1", "(dropped)");
    check(&policy, "replace", "1", r#"{"was":1}"#);
    check(&policy, "other", r#"{"pin":1,"_toolCallId":1}"#, "{}");
    // What the rule gives stays where the other stages find nothing.
    let given = Policy::default().with_rule(|_, _| Outcome::Text(r#"{"_rank":1}"#.to_owned()));
    check(&given, "other", "1", r#"{"_rank":1}"#);
    let given = given.with_never(["pin"]).unwrap().with_max_bytes(200);
    check(&given, "other", "1", r#"{"_rank":1}"#);
    let long = format!(r#"{{"pin":1,"a":["{}"]}}"#, "x".repeat(400));
    let left = format!(
        r#"{{"a":["{}[cut: left out 350 of 400 bytes]"]}}"#,
        "x".repeat(50)
    );
    check(&policy, "", &long, &left);
}

#[test]
fn a_panic_fails_closed() {
    let policy = Policy::default().with_rule(|_, text| {
        assert_ne!(text, "a", "the rule fails");
        Outcome::Unchanged
    });
    check(&policy, "x", "a", FAILED);
    check(&policy, "x", "b", "b");
}
