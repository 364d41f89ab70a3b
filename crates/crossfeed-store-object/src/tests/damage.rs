//! Objects that were changed, cut, moved, or encrypted with another key.

use super::{TestDirectory, is_damaged, key, keys, open, put, scope, sealed};
use crate::{KeyRing, ObjectBlobs, ObjectOptions, format::CHUNK};
use bytes::Bytes;
use crossfeed_store::{BlobName, BlobStore, Digest, StoreError, with_causes};
use crossfeed_wire::Scope;
use proptest::prelude::*;
use std::{fs, path::PathBuf, sync::Arc};

/// Long enough for several chunks, the last one short.
fn long() -> Bytes {
    (0..2 * CHUNK + 100).map(|at| (at >> 3) as u8).collect()
}

fn blobs(directory: &TestDirectory, is_sealed: bool) -> ObjectBlobs {
    let options = ObjectOptions::default();
    let options = if is_sealed { sealed(options) } else { options };
    ObjectBlobs::from_url(&directory.url(), options).unwrap()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

/// One blob in a directory, and the file that holds it.
fn one(bytes: &Bytes, is_sealed: bool) -> (TestDirectory, ObjectBlobs, BlobName, PathBuf) {
    let directory = TestDirectory::new();
    let blobs = blobs(&directory, is_sealed);
    let name = run(put(&blobs, bytes));
    let file = directory.files().remove(0);
    (directory, blobs, name, file)
}

/// The bytes of a blob are never others: they are whole, or an error says that they are not.
fn check(blobs: &ObjectBlobs, name: &BlobName, why: &str) {
    let outcome = run(blobs.get(&scope(), name));
    let is_told = matches!(
        &outcome,
        Err(StoreError::DamagedBlob
            | StoreError::Newer { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Unavailable { retry: false, .. })
    );
    let found = outcome.map(|found| found.map(|bytes| bytes.len()));
    assert!(is_told, "{why}: {found:?}");
}

#[test]
fn every_bit_of_a_header_counts_and_those_behind_it() {
    for is_sealed in [false, true] {
        for length in [0, 50] {
            let bytes: Bytes = vec![b'x'; length].into();
            let (_directory, blobs, name, file) = one(&bytes, is_sealed);
            let whole = fs::read(&file).unwrap();
            for bit in 0..whole.len() * 8 {
                let mut changed = whole.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                fs::write(&file, changed).unwrap();
                check(
                    &blobs,
                    &name,
                    &format!("sealed: {is_sealed}, bit {bit} of byte {}", bit / 8),
                );
            }
            for cut in 0..whole.len() {
                fs::write(&file, &whole[..cut]).unwrap();
                check(&blobs, &name, &format!("cut to {cut} bytes"));
            }
            fs::write(&file, [&whole[..], b"x"].concat()).unwrap();
            check(&blobs, &name, "a byte more");
            fs::write(&file, &whole).unwrap();
            assert_eq!(run(blobs.get(&scope(), &name)).unwrap(), Some(bytes));
        }
    }
}

#[derive(Clone, Debug)]
enum Change {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Add(Vec<u8>),
    /// A piece is lost, and those behind it move up.
    Lose(prop::sample::Index, usize),
    /// Two pieces change places.
    Swap(prop::sample::Index, prop::sample::Index, usize),
}

impl Change {
    fn make(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        match self {
            Self::Flip(at, mask) => bytes[at.index(length)] ^= mask,
            Self::Cut(at) => bytes.truncate(at.index(length)),
            Self::Add(more) => bytes.extend(more),
            Self::Lose(at, count) => {
                let at = at.index(length);
                bytes.drain(at..(at + count).min(length));
            }
            Self::Swap(a, b, count) => {
                for step in 0..*count {
                    let (a, b) = (a.index(length) + step, b.index(length) + step);
                    if a.max(b) < length {
                        bytes.swap(a, b);
                    }
                }
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    let count = prop_oneof![1..40_usize, Just(CHUNK), Just(CHUNK + 16)];
    prop_oneof![
        (at(), 1..=u8::MAX).prop_map(|(at, mask)| Change::Flip(at, mask)),
        at().prop_map(Change::Cut),
        prop::collection::vec(any::<u8>(), 1..40).prop_map(Change::Add),
        (at(), count.clone()).prop_map(|(at, count)| Change::Lose(at, count)),
        (at(), at(), count).prop_map(|(a, b, count)| Change::Swap(a, b, count)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_change_gives_other_bytes(
        is_sealed in any::<bool>(),
        is_long in prop::bool::weighted(0.2),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let bytes = if is_long { long() } else { Bytes::from_static(b"a short one") };
        let (_directory, blobs, name, file) = one(&bytes, is_sealed);
        let whole = fs::read(&file).unwrap();
        let mut changed = whole.clone();
        for change in &changes {
            if !changed.is_empty() {
                change.make(&mut changed);
            }
        }
        fs::write(&file, &changed).unwrap();
        if changed == whole {
            prop_assert_eq!(run(blobs.get(&scope(), &name)).unwrap(), Some(bytes));
        } else {
            check(&blobs, &name, "changed");
        }
    }
}

#[test]
fn objects_cannot_change_places() {
    let directory = TestDirectory::new();
    let blobs = blobs(&directory, true);
    let bytes = Bytes::from_static(b"the same bytes");
    let mut names = Vec::new();
    for token in [1, 2] {
        let name = BlobName::new(&scope(), Digest::of(&bytes), token);
        run(blobs.put(&scope(), &name, bytes.clone())).unwrap();
        names.push(name);
    }
    let files = directory.files();
    fs::copy(&files[0], &files[1]).unwrap();
    assert!(run(blobs.get(&scope(), &names[0])).unwrap().is_some());
    assert!(is_damaged(&run(blobs.get(&scope(), &names[1]))));
}

#[test]
fn chunks_cannot_change_places() {
    let (_directory, blobs, name, file) = one(&long(), true);
    let whole = fs::read(&file).unwrap();
    let header = whole.len() - (2 * CHUNK + 100 + 3 * 16);
    let (first, rest) = whole[header..].split_at(CHUNK + 16);
    let (second, last) = rest.split_at(CHUNK + 16);
    fs::write(&file, [&whole[..header], second, first, last].concat()).unwrap();
    assert!(is_damaged(&run(blobs.get(&scope(), &name))));
}

#[test]
fn bytes_that_look_like_an_object_are_kept_as_well() {
    for is_sealed in [false, true] {
        let (_directory, _blobs, _name, file) = one(&"inner".into(), is_sealed);
        let inner: Bytes = fs::read(file).unwrap().into();
        let (_directory, blobs, name, _file) = one(&inner, false);
        assert_eq!(run(blobs.get(&scope(), &name)).unwrap(), Some(inner));
    }
}

#[test]
fn keys_rotate() {
    let directory = TestDirectory::new();
    let with = |ring: KeyRing| {
        let options = ObjectOptions::default().with_keys(Arc::new(ring));
        ObjectBlobs::from_url(&directory.url(), options).unwrap()
    };
    let earlier = || KeyRing::default().with_key("tenant", key("2025", 1));
    let (old, new) = (Bytes::from_static(b"old"), Bytes::from_static(b"new"));
    let old_name = run(put(&with(earlier()), &old));
    let both = with(earlier().with_key("tenant", key("2026", 2)));
    let new_name = run(put(&both, &new));
    assert_eq!(run(both.get(&scope(), &old_name)).unwrap(), Some(old));
    assert_eq!(run(both.get(&scope(), &new_name)).unwrap(), Some(new));

    // The same id with other bytes is another key.
    let other = with(earlier().with_key("tenant", key("2026", 3)));
    assert!(is_damaged(&run(other.get(&scope(), &new_name))));

    for without in [with(earlier()), open(&directory.url())] {
        let error = run(without.get(&scope(), &new_name)).unwrap_err();
        let told = with_causes(&error);
        assert!(
            matches!(error, StoreError::Unavailable { retry: false, .. }),
            "{told}"
        );
        assert!(
            told.contains("the key `2026` of its tenant, which is missing"),
            "{told}"
        );
    }
}

#[test]
fn bytes_in_the_clear_are_refused_where_there_is_a_key() {
    let directory = TestDirectory::new();
    let bytes = Bytes::from_static(b"in the clear");
    let plain = open(&directory.url());
    let name = run(put(&plain, &bytes));
    assert!(is_damaged(&run(
        blobs(&directory, true).get(&scope(), &name)
    )));
    // A tenant without a key has its bytes in the clear, beside others.
    let scope = Scope::parse("without", "project", "session").unwrap();
    let name = BlobName::new(&scope, Digest::of(&bytes), 1);
    run(plain.put(&scope, &name, bytes.clone())).unwrap();
    let found = run(blobs(&directory, true).get(&scope, &name)).unwrap();
    assert_eq!(found, Some(bytes.clone()));
    let (_directory, _blobs, _name, file) = one(&bytes, true);
    let stored = fs::read(file).unwrap();
    assert!(!stored.windows(5).any(|part| part == b"clear"));
}

#[test]
fn a_key_is_never_shown() {
    let ring = KeyRing::default().with_key("tenant", key("k1", 0xab));
    let shown = format!("{ring:?} {:?}", ObjectOptions::default().with_keys(keys()));
    assert!(
        shown.contains("k1") && !shown.contains("171") && !shown.to_lowercase().contains("ab, "),
        "{shown}"
    );
}

#[test]
fn fields_and_formats_of_later_versions_are_told_apart() {
    let (_directory, blobs, name, file) = one(&"abc".into(), false);
    let whole = fs::read(&file).unwrap();
    // A longer header of the same format: what is not known in it is ignored.
    let mut longer = [&whole[..20], b"more", &whole[20..]].concat();
    longer[10] = 24;
    fs::write(&file, &longer).unwrap();
    assert_eq!(run(blobs.get(&scope(), &name)).unwrap(), Some("abc".into()));
    // Nothing can be slipped into that of an encrypted object.
    let (_directory, encrypted, sealed_name, sealed_file) = one(&"abc".into(), true);
    let sealed = fs::read(&sealed_file).unwrap();
    let mut slipped = [&sealed[..42], b"more", &sealed[42..]].concat();
    slipped[10] += 4;
    fs::write(&sealed_file, &slipped).unwrap();
    assert!(is_damaged(&run(encrypted.get(&scope(), &sealed_name))));
    longer[8] = 2;
    fs::write(&file, &longer).unwrap();
    let outcome = run(blobs.get(&scope(), &name));
    assert!(
        matches!(outcome, Err(StoreError::Newer { found: 2, known: 1 })),
        "{outcome:?}"
    );
}

#[test]
fn an_object_that_is_too_large_is_neither_written_nor_read() {
    let (directory, blobs, name, _file) = one(&long(), false);
    let small = ObjectBlobs::from_url(
        &directory.url(),
        ObjectOptions::default().with_max_bytes(1000),
    )
    .unwrap();
    let too_large = |outcome| matches!(outcome, Err(StoreError::TooLarge { limit: 1000, .. }));
    assert!(too_large(run(small.get(&scope(), &name)).map(drop)));
    assert!(too_large(run(small.put(&scope(), &name, long()))));
    assert_eq!(run(blobs.get(&scope(), &name)).unwrap(), Some(long()));
}

#[test]
fn a_range_is_read_without_the_rest() {
    let bytes = long();
    for is_sealed in [false, true] {
        let (_directory, blobs, name, file) = one(&bytes, is_sealed);
        let range = CHUNK + 10..CHUNK + 20;
        let ranges = |blobs: &ObjectBlobs| {
            let ranges = [range.clone()];
            run(blobs.get_ranges(&scope(), &name, bytes.len(), &ranges))
        };
        let whole = fs::read(&file).unwrap();
        let header = whole.len() - bytes.len() - if is_sealed { 3 * 16 } else { 0 };
        let change = |at: usize| {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&file, changed).unwrap();
        };
        for elsewhere in [header, header + CHUNK - 1, whole.len() - 1] {
            change(elsewhere);
            check(&blobs, &name, "changed elsewhere");
            let found = ranges(&blobs).unwrap().unwrap();
            assert_eq!(found, [bytes.slice(range.clone())]);
        }
        // Encrypted bytes are checked, the others by who asks.
        change(header + CHUNK + 16 + 15);
        assert_eq!(is_damaged(&ranges(&blobs)), is_sealed);
        fs::write(&file, &whole[..header + CHUNK + 15]).unwrap();
        assert!(is_damaged(&ranges(&blobs)), "cut within the range");
        fs::remove_file(&file).unwrap();
        assert_eq!(ranges(&blobs).unwrap(), None);
    }
}
