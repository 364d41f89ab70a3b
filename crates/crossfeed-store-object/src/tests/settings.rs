//! URLs, settings, and what is never shown.

use crate::{ObjectBlobs, ObjectOptions, OpenError};
use proptest::prelude::*;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

fn options(settings: &[(&str, &str)]) -> ObjectOptions {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    ObjectOptions::default().with_settings(settings.iter().map(owned).collect())
}

fn error(url: &str, settings: &[(&str, &str)]) -> OpenError {
    ObjectBlobs::from_url(url, options(settings)).unwrap_err()
}

#[test]
fn urls_name_a_place_and_nothing_else() {
    for (url, settings) in [
        ("s3://bucket", &[("region", "eu-central-1")][..]),
        ("s3://bucket/some/prefix", &[("aws_region", "eu-central-1")]),
        (
            "s3://bucket/prefix/",
            &[("endpoint", "https://localhost:1"), ("token", "x")],
        ),
        ("gs://bucket/prefix", &[("bearer_token", "x")]),
        (
            "az://container/prefix",
            &[("account_name", "x"), ("bearer_token", "y")],
        ),
        ("memory:", &[]),
    ] {
        let mut all = vec![];
        if url.starts_with("s3") {
            all.extend([("access_key_id", "id"), ("secret_access_key", SECRET)]);
        }
        all.extend(settings);
        let blobs = ObjectBlobs::from_url(url, options(&all)).unwrap();
        assert_eq!(blobs.to_string(), url);
        assert!(!format!("{blobs:?}").contains(SECRET));
    }
    for url in [
        "",
        "bucket",
        "ftp://host/x",
        "s3:",
        "s3:///x",
        "gs://",
        "file://host/x",
        "memory://x",
        "http://x/y",
    ] {
        assert!(matches!(error(url, &[]), OpenError::Url), "{url}");
    }
    for url in [
        "s3://key:secret@bucket",
        "s3://bucket?region=x",
        "s3://bucket:80/",
        "s3://bucket#x",
    ] {
        assert!(matches!(error(url, &[]), OpenError::Extras), "{url}");
    }
}

#[test]
fn unknown_settings_are_refused_with_those_that_are_known() {
    let told = error("s3://bucket", &[("regoin", SECRET)]).to_string();
    assert!(
        told.starts_with("unknown setting `regoin`: known are access_key_id, "),
        "{told}"
    );
    assert!(!told.contains(SECRET));
    // Those of the object store that have no meaning here, or would be dangerous.
    for name in [
        "bucket",
        "timeout",
        "allow_invalid_certificates",
        "conditional_put",
    ] {
        assert!(matches!(
            error("s3://bucket", &[(name, "true")]),
            OpenError::UnknownSetting { .. }
        ));
    }
    let settings = [("use_azure_cli", "true")];
    assert!(matches!(
        error("az://c", &settings),
        OpenError::UnknownSetting { .. }
    ));
    assert!(matches!(
        error("memory:", &[("region", "x")]),
        OpenError::UnknownSetting { .. }
    ));
}

#[test]
fn every_setting_that_is_said_to_be_known_is() {
    for (url, count) in [("s3://b", 20), ("gs://b", 5), ("az://b", 10)] {
        let OpenError::UnknownSetting { known, .. } = error(url, &[("x", "")]) else {
            panic!("`x` is no setting");
        };
        assert!(known.len() > count);
        for name in known {
            let opened = ObjectBlobs::from_url(url, options(&[(name, "https://x")]));
            assert!(
                !matches!(opened, Err(OpenError::UnknownSetting { .. })),
                "{name}"
            );
        }
    }
}

#[test]
fn a_server_without_tls_has_to_be_allowed() {
    let all = [
        ("access_key_id", "id"),
        ("allow_http", "true"),
        ("endpoint", "http://localhost:9000"),
        ("secret_access_key", SECRET),
    ];
    assert!(ObjectBlobs::from_url("s3://bucket", options(&all)).is_ok());
    for without in [&[][..], &[("allow_http", "false")]] {
        let mut settings = vec![all[0], all[2], all[3]];
        settings.extend(without);
        let told = error("s3://bucket", &settings).to_string();
        assert!(
            told.starts_with("the setting `endpoint` begins with `http://`"),
            "{told}"
        );
    }
}

#[test]
fn settings_that_cannot_be_used_are_told_without_secrets() {
    for (url, settings) in [
        (
            "s3://bucket",
            &[("access_key_id", "AKIAIOSFODNN7EXAMPLE")][..],
        ),
        (
            "s3://bucket",
            &[
                ("access_key_id", "id"),
                ("secret_access_key", SECRET),
                ("s3_express", SECRET),
            ],
        ),
        ("gs://bucket", &[("service_account_key", SECRET)]),
        (
            "az://bucket",
            &[("account_name", "x"), ("access_key", "~~~not~base~64~~~")],
        ),
    ] {
        let error = error(url, settings);
        assert!(matches!(error, OpenError::Settings { .. }), "{error:?}");
        let told = format!("{error} {error:?}");
        for (_, value) in settings.iter().filter(|(_, value)| value.len() > 7) {
            assert!(!told.contains(value), "{told}");
        }
    }
}

proptest! {
    #[test]
    fn any_url_and_any_settings_are_opened_or_refused(
        url in "(s3|gs|az|memory|x)://?[ -~]{0,12}|\\PC{0,12}",
        name in "[a-z_]{0,12}|token|region|allow_http|endpoint",
        value in "\\PC{0,12}",
    ) {
        let _ = ObjectBlobs::from_url(&url, options(&[(&name, &value)]));
    }
}
