use crate::{MAX_BAGGAGE, TraceMeta};
use crossfeed_json::{Cursor, Document};
use crossfeed_wire::TraceContext;
use proptest::{collection::vec, option, prelude::*, sample::select};

const CAME: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OURS: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-0707070707070707-00";
const KEYS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

fn ours(state: Option<&str>) -> TraceMeta {
    TraceMeta::default().with_context(TraceContext::parse(OURS, state).unwrap())
}

fn put(meta: &TraceMeta, params: &str) -> String {
    let document = Document::new(params.to_owned());
    let sent = meta.put(&document);
    String::from_utf8(sent.into_owned()).unwrap()
}

fn check(meta: &TraceMeta, params: &str, expected: &str) {
    assert_eq!(put(meta, params), expected, "{params}");
}

fn read(params: &str) -> TraceMeta {
    TraceMeta::read(Document::new(params.to_owned()).root().unwrap())
}

#[test]
fn a_request_is_sent_on_with_our_place() {
    let plain = ours(None);
    let said = format!("\"traceparent\":\"{OURS}\"");
    check(&plain, "{}", &format!("{{\"_meta\":{{{said}}}}}"));
    check(&plain, "{ }", &format!("{{\"_meta\":{{{said}}}}}"));
    check(
        &plain,
        "{\"a\": 1.50 ,\n \"_meta\" : { \"x\" : [1, 2] } , \"b\":\"\\u0041\"}",
        &format!("{{\"a\": 1.50 ,\n \"_meta\" : {{ \"x\" : [1, 2],{said} }} , \"b\":\"\\u0041\"}}"),
    );
    check(
        &plain,
        "{\"_meta\": null }",
        &format!("{{\"_meta\": {{{said}}} }}"),
    );
    check(
        &ours(Some("v=\"1\"")).with_baggage("k=v"),
        "{}",
        &format!("{{\"_meta\":{{{said},\"tracestate\":\"v=\\\"1\\\"\",\"baggage\":\"k=v\"}}}}"),
    );
}

#[test]
fn a_place_goes_with_its_state() {
    let said = format!("\"traceparent\":\"{OURS}\"");
    for (came, sent) in [
        ("{\"tracestate\":\"v=1\"}", format!("{{{said}}}")),
        (
            "{ \"tracestate\":\"v=1\" , \"baggage\":\"k=v\"}",
            format!("{{ \"baggage\":\"k=v\",{said}}}"),
        ),
        (
            "{\"x\":1 , \"tracestate\":\"v=1\" , \"y\":2}",
            format!("{{\"x\":1 , \"y\":2,{said}}}"),
        ),
        (
            "{\"traceparent\" : 7, \"tracest\\u0061te\":[1,{}] }",
            format!("{{\"traceparent\" : \"{OURS}\" }}"),
        ),
    ] {
        check(
            &ours(None),
            &format!("{{\"_meta\":{came}}}"),
            &format!("{{\"_meta\":{sent}}}"),
        );
    }
}

#[test]
fn no_reader_finds_the_place_that_came() {
    let other = CAME.replace('4', "5");
    let params = format!(
        "{{\"_meta\":{{\"traceparent\":\"{CAME}\"}},\"_meta\":{{\"traceparent\":\"{CAME}\",\"x\":1,\"traceparent\":\"{other}\"}}}}"
    );
    let sent = put(&ours(None), &params);
    assert_eq!(sent, params.replace(CAME, OURS).replace(&other, OURS));
}

#[test]
fn where_there_is_no_room_nothing_changes() {
    for params in [
        "[1]",
        "7",
        "\"traceparent\"",
        "{\"_meta\":[]}",
        "{\"_meta\":\"x\",\"a\":1}",
    ] {
        check(&ours(None), params, params);
    }
    // What is not known here stays, whatever it is.
    let came = "{\"_meta\":{\"traceparent\":\"none\",\"tracestate\":7,\"baggage\":null}}";
    check(&TraceMeta::default(), came, came);
}

#[test]
fn what_is_no_place_is_none() {
    let meta =
        |traceparent: &str| read(&format!("{{\"_meta\":{{\"traceparent\":{traceparent}}}}}"));
    assert_eq!(
        meta(&format!("\"{CAME}\"")).context().unwrap().to_string(),
        CAME
    );
    for none in ["7", "null", "\"\"", "\"\\ud800\"", "[]", "\"00-00-00-00\""] {
        assert_eq!(meta(none), TraceMeta::default(), "{none}");
    }
    for none in ["{}", "[]", "7", "{\"_meta\":7}", "{\"traceparent\":\"x\"}"] {
        assert_eq!(read(none), TraceMeta::default(), "{none}");
    }
    let state = read(&format!(
        "{{\"_meta\":{{\"traceparent\":\"{CAME}\",\"tracestate\":\"v=1\"}}}}"
    ));
    assert_eq!(state.context().unwrap().tracestate(), Some("v=1"));
}

#[test]
fn baggage_is_bounded_by_whole_members() {
    let check = |came: &str, expected: Option<&str>| {
        let meta = TraceMeta::default().with_baggage(came);
        assert_eq!(meta.baggage(), expected);
    };
    check("", None);
    check(" k=v;p , l=w\t", Some("k=v;p , l=w"));
    check("k=v\nx: y", None);
    check("k=\u{e9}", None);
    let whole = format!("k={}", "v".repeat(MAX_BAGGAGE - 2));
    check(&whole, Some(&whole));
    check(&format!("{whole},l=w"), Some(&whole));
    check(&format!("{whole}v"), None);
    check(&format!("a=b,{whole}"), Some("a=b"));
    let (many, most) = (vec!["k=v"; 65].join(","), vec!["k=v"; 64].join(","));
    check(&many, Some(&most));
    check(",a=b", Some(",a=b"));
    check(", ,a=b,,c=d,", Some(", ,a=b,,c=d,"));
    assert!(
        !format!("{:?}", TraceMeta::default().with_baggage("user=ada")).contains("ada"),
        "baggage is not logged"
    );
}

proptest! {
    /// What is kept of a baggage is its beginning, up to a comma or its end.
    #[test]
    fn no_member_is_cut(
        members in vec(select(vec!["", " ", "a=b", "k=v;p", "long"]), 1..80),
        len in 1..2000_usize,
    ) {
        let long = format!("k={}", "v".repeat(len));
        let came = members.join(",").replace("long", &long);
        let came = came.trim_matches(' ');
        let kept = TraceMeta::default().with_baggage(came);
        let kept = kept.baggage().unwrap_or_default();
        let rest = came.strip_prefix(kept);
        prop_assert!(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(',') || kept.is_empty()));
        prop_assert!(kept.len() <= MAX_BAGGAGE && kept.split(',').count() <= 64);
    }
}

/// What stands in a `_meta`, its keys, values and blanks.
fn member(keys: &'static [&'static str]) -> impl Strategy<Value = String> {
    let value = select(vec![
        "7",
        "null",
        "\"k=v\"",
        "[1, {\"traceparent\":1}]",
        "{ }",
        "\"\\u0022,}\"",
    ]);
    let blank = || select(vec!["", " ", "\n "]);
    (select(keys), value, blank(), blank(), blank()).prop_map(|(key, value, a, b, c)| {
        let key = if a.is_empty() {
            key.replace('t', "\\u0074")
        } else {
            key.to_owned()
        };
        format!("{a}\"{key}\"{b}:{c}{value}{b}")
    })
}

fn object(members: Vec<String>, blank: &str) -> String {
    if members.is_empty() {
        format!("{{{blank}}}")
    } else {
        format!("{{{}}}", members.join(","))
    }
}

fn params() -> impl Strategy<Value = String> {
    let meta = vec(
        member(&["traceparent", "tracestate", "baggage", "x", "progressToken"]),
        0..6,
    );
    let meta = prop_oneof![
        4 => (meta, select(vec!["", " "])).prop_map(|(members, blank)| object(members, blank)),
        1 => Just("null".to_owned()),
    ];
    let others = || vec(member(&["name", "arguments", "traceparent"]), 0..3);
    let metas = vec(meta.prop_map(|meta| format!(" \"_meta\" : {meta}")), 0..3);
    (others(), metas, others())
        .prop_map(|(before, metas, after)| object([before, metas, after].concat(), " "))
}

fn said() -> impl Strategy<Value = TraceMeta> {
    let state = option::of(select(vec!["v=1", "a=b,c=d"]));
    let context = state.prop_map(|state| TraceContext::parse(OURS, state).unwrap());
    (
        option::of(context),
        option::of(select(vec!["k=v", "user=a\"b"])),
    )
        .prop_map(|(context, baggage)| {
            let mut meta = TraceMeta::default().with_baggage(baggage.unwrap_or_default());
            if let Some(context) = context {
                meta = meta.with_context(context);
            }
            meta
        })
}

/// The members of an object as they are written, but for some keys.
fn written(object: Cursor<'_>, but: &[&str]) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    object
        .written_members()
        .filter(|member| !but.contains(&member.key.text().as_ref()))
        .map(|member| (text(member.key.raw()), text(member.value.raw())))
        .collect()
}

/// What every `_meta` says under a key, in the order in which they are written.
fn everywhere(params: Cursor<'_>, key: &str) -> Vec<String> {
    let metas = params
        .written_members()
        .filter(|member| member.key.text() == "_meta");
    let values = metas.flat_map(|meta| meta.value.written_members().collect::<Vec<_>>());
    values
        .filter(|member| member.key.text() == *key)
        .map(|member| String::from_utf8(member.value.raw().to_vec()).unwrap())
        .collect()
}

proptest! {
    #[test]
    fn what_is_put_is_read_and_nothing_else_changes(params in params(), meta in said()) {
        let came = Document::new(params.clone());
        let sent = Document::new(put(&meta, &params));
        let (came, sent) = (came.root().unwrap(), sent.root().unwrap());
        let read = TraceMeta::read(sent);
        if meta.context().is_some() {
            prop_assert_eq!(read.context(), meta.context());
            let parent = everywhere(sent, "traceparent");
            let ours = format!("\"{OURS}\"");
            prop_assert!(parent.iter().all(|said| *said == ours));
            let state = meta.context().and_then(TraceContext::tracestate);
            for said in everywhere(sent, "tracestate") {
                prop_assert_eq!(Some(said), state.map(|state| format!("\"{state}\"")));
            }
        } else {
            prop_assert_eq!(everywhere(sent, "traceparent"), everywhere(came, "traceparent"));
            prop_assert_eq!(everywhere(sent, "tracestate"), everywhere(came, "tracestate"));
        }
        match meta.baggage() {
            Some(_) => prop_assert_eq!(read.baggage(), meta.baggage()),
            None => prop_assert_eq!(everywhere(sent, "baggage"), everywhere(came, "baggage")),
        }
        prop_assert_eq!(written(sent, &["_meta"]), written(came, &["_meta"]));
        let metas = |params: Cursor<'_>| {
            let metas = params.written_members().filter(|member| member.key.text() == "_meta");
            metas.map(|meta| written(meta.value, &KEYS)).filter(|rest| !rest.is_empty()).collect::<Vec<_>>()
        };
        prop_assert_eq!(metas(sent), metas(came));
        let sent = String::from_utf8(sent.raw().to_vec()).unwrap();
        prop_assert_eq!(put(&meta, &sent), sent);
    }
}
