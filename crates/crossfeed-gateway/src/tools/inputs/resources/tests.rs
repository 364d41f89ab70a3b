use super::{Resource, ResourceCache, contents};
use bytes::Bytes;
use crossfeed_core::InputError;
use proptest::prelude::*;
use serde_json::{Value, json};

fn check(result: Value, expected: Option<(&[u8], Option<&str>, bool)>) {
    let read = contents(&result.to_string().into());
    match (read, expected) {
        (Ok((bytes, media_type, is_list)), Some(expected)) => {
            assert_eq!(
                (&bytes[..], media_type.as_deref(), is_list),
                expected,
                "{result}"
            );
        }
        (Err(InputError::Unavailable { .. }), None) => {}
        (read, _) => panic!("{result}: {read:?}"),
    }
}

#[test]
fn one_content_is_its_text_or_bytes() {
    let text = json!({"uri": "a:1", "mimeType": "text/plain", "text": "é\n"});
    check(
        json!({"contents": [text]}),
        Some(("é\n".as_bytes(), Some("text/plain"), false)),
    );
    let blob = json!({"uri": "a:1", "blob": "iVBOR/8="});
    check(
        json!({"contents": [blob]}),
        Some((b"\x89PNG\xff", None, false)),
    );
    let list = json!([text, blob]);
    check(
        json!({"contents": list}),
        Some((list.to_string().as_bytes(), None, true)),
    );
    for invalid in [
        json!({"contents": []}),
        json!({"contents": [{"uri": "a:1"}]}),
        json!({"contents": [{"uri": "a:1", "blob": "%"}]}),
        json!({"contents": [7]}),
        json!({"contents": 7}),
        json!([]),
    ] {
        check(invalid, None);
    }
    assert!(contents(&Bytes::from_static(b"[")).is_err());
}

fn resource(bytes: usize) -> Resource {
    static BYTES: [u8; 17 << 20] = [b'x'; 17 << 20];
    Resource {
        server: 0,
        bytes: Bytes::from_static(&BYTES[..bytes]),
        media_type: None,
        is_list: false,
    }
}

#[test]
fn what_was_read_before_a_change_is_not_kept() {
    let cache = ResourceCache::default();
    let before = cache.version();
    cache.put("a:1", &resource(1), before);
    assert!(cache.get("a:1").is_some());
    cache.clear();
    assert!(cache.get("a:1").is_none());
    cache.put("a:1", &resource(1), before);
    assert!(cache.get("a:1").is_none());
    cache.put("a:1", &resource(1), cache.version());
    assert!(cache.get("a:1").is_some());
}

proptest! {
    /// However much is read, little is kept, and what is counted is what is held.
    #[test]
    fn a_cache_is_bounded(puts in prop::collection::vec((0..100u8, prop_oneof![0..9usize, (1usize << 20)..(9 << 20), Just(17 << 20)]), 0..90)) {
        let cache = ResourceCache::default();
        for (name, bytes) in puts {
            cache.put(&format!("a:{name}"), &resource(bytes), 0);
            let kept = cache.0.lock();
            let held: usize = kept.resources.iter().map(|(_, own)| own.bytes.len()).sum();
            prop_assert_eq!(held, kept.bytes);
            prop_assert!(held <= super::MAX_KEPT_BYTES && kept.resources.len() <= 64);
        }
    }
}
