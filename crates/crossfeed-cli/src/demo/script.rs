//! What the model says and writes, turn by turn. It is the only thing in the demo that is made up,
//! its mistakes included: they are such as models make.

/// One turn of the model.
pub(super) struct Turn {
    /// How many hours pass before it.
    pub(super) hours_later: u32,
    /// What it says beside its calls.
    pub(super) says: &'static str,
    pub(super) calls: &'static [Call],
}

/// One call, as the model wrote it.
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: &'static str,
}

pub(super) const TASK: &str = "Which standard CSS properties does Firefox still lack? File an \
    issue for each of them that all other current desktop browsers ship, and write a report.";

pub(super) const TURNS: &[Turn] = &[
    Turn {
        hours_later: 0,
        says: "I need the compatibility data and the list of browsers.",
        calls: &[
            Call {
                tool: "search_compat_data",
                arguments: r#"{"section": "css.properties"}"#,
            },
            Call {
                tool: "list_browsers",
                arguments: "{}",
            },
        ],
    },
    Turn {
        hours_later: 0,
        says: "The current Firefox release, for the head of the report.",
        calls: &[Call {
            tool: "get_release",
            arguments: r#"{"browser": "firefox", "version": {"$tool": "call_2", "$select": "items[?id == 'firefox'] | [0].releases[?current].number | [0]"}}"#,
        }],
    },
    Turn {
        hours_later: 0,
        says: "So a release has a version and a status.",
        calls: &[Call {
            tool: "get_release",
            arguments: r#"{"browser": "firefox", "version": {"$tool": "call_2", "$select": "items[?id == \"firefox\"] | [0].releases[?status == \"current\"].version | [0]"}}"#,
        }],
    },
    Turn {
        hours_later: 0,
        says: "Now all standard properties that Firefox lacks, over all browsers.",
        calls: &[Call {
            tool: "get_support_table",
            arguments: r#"{"properties": {"$tool": "call_1", "$select": "items[?status.standard_track && !(status.deprecated) && support.firefox.version_added == `false`].name"}, "browsers": {"$tool": "call_2"}}"#,
        }],
    },
    Turn {
        hours_later: 0,
        says: "The tool wants the ids; of the desktop browsers that have a current release.",
        calls: &[Call {
            tool: "get_support_table",
            arguments: r#"{"properties": {"$tool": "call_1", "$select": "items[?status.standard_track && !(status.deprecated) && support.firefox.version_added == `false`].name"}, "browsers": {"$tool": "call_2", "$select": "items[?type == 'desktop' && releases[?status == 'current']].id"}}"#,
        }],
    },
    Turn {
        hours_later: 0,
        says: "An issue for each property that the four others ship; and the report, with their numbers.",
        calls: &[
            Call {
                tool: "file_issues",
                arguments: r#"{"label": "firefox-gap", "items": "{\"$tool\": \"call_6\", \"$select\": \"rows[?supported == 4].{title: join('', ['Support ', name]), key: key}\"}"}"#,
            },
            Call {
                tool: "write_report",
                arguments: r#"{"title": "Standard CSS properties that Firefox lacks", "$refs": {"as_of": {"$tool": "call_4", "$select": "join(' ', [browser, release.version, 'of', release.release_date])"}, "rows": {"$tool": "call_6", "$select": "rows"}, "issues": {"$tool": "call_7", "$select": "filed"}}}"#,
            },
        ],
    },
    Turn {
        hours_later: 0,
        says: "The gaps, to be kept for the follow-up; and let me see all of the data.",
        calls: &[
            Call {
                tool: "keep_artifact",
                arguments: r#"{"artifact_id": "gaps", "call_id": "call_6", "base": "rows[?supported == `4`]", "details": {"properties": "[*].name"}}"#,
            },
            Call {
                tool: "read_result",
                arguments: r#"{"call_id": "call_1"}"#,
            },
        ],
    },
    Turn {
        hours_later: 2,
        says: "Now the follow-up: an issue for each gap once more.",
        calls: &[Call {
            tool: "file_issues",
            arguments: r#"{"label": "follow-up", "items": {"$tool": "call_6", "$select": "rows[?supported == `4`].{title: name, key: key}"}}"#,
        }],
    },
    Turn {
        hours_later: 0,
        says: "The result has gone; the artifact that was made from it has not.",
        calls: &[
            Call {
                tool: "file_issues",
                arguments: r#"{"label": "follow-up", "items": {"$artifact": "gaps", "$tool": "call_6", "$select": "[*].{title: name, key: key}"}}"#,
            },
            Call {
                tool: "read_artifact",
                arguments: r#"{"artifact_id": "gaps", "call_id": "call_6", "select": "[0]"}"#,
            },
        ],
    },
];
