//! What the model says and writes, turn by turn. It is the only thing in the demo that is made up,
//! its mistakes included: they are such as models make.

/// One turn of the model.
pub(super) struct Turn {
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
        says: "The current Firefox release, for the head of the report.",
        calls: &[Call {
            tool: "get_release",
            arguments: r#"{"browser": "firefox", "version": {"$tool": "call_2", "$select": "items[?id == 'firefox'] | [0].releases[?current].number | [0]"}}"#,
        }],
    },
    Turn {
        says: "So a release has a version and a status.",
        calls: &[Call {
            tool: "get_release",
            arguments: r#"{"browser": "firefox", "version": {"$tool": "call_2", "$select": "items[?id == \"firefox\"] | [0].releases[?status == \"current\"].version | [0]"}}"#,
        }],
    },
    Turn {
        says: "Now all standard properties that Firefox lacks, over all browsers.",
        calls: &[Call {
            tool: "get_support_table",
            arguments: r#"{"properties": {"$tool": "call_1", "$select": "items[?status.standard_track && !(status.deprecated) && support.firefox.version_added == `false`].name"}, "browsers": {"$tool": "call_2"}}"#,
        }],
    },
    Turn {
        says: "The tool wants the ids; of the desktop browsers that have a current release.",
        calls: &[Call {
            tool: "get_support_table",
            arguments: r#"{"properties": {"$tool": "call_1", "$select": "items[?status.standard_track && !(status.deprecated) && support.firefox.version_added == `false`].name"}, "browsers": {"$tool": "call_2", "$select": "items[?type == 'desktop' && releases[?status == 'current']].id"}}"#,
        }],
    },
    Turn {
        says: "An issue for each property that the four others ship.",
        calls: &[Call {
            tool: "file_issues",
            arguments: r#"{"label": "firefox-gap", "items": "{\"$tool\": \"call_6\", \"$select\": \"rows[?supported == 4].{title: join('', ['Support ', name]), key: key}\"}"}"#,
        }],
    },
    Turn {
        says: "And the report over the whole table, with the issues' numbers.",
        calls: &[Call {
            tool: "write_report",
            arguments: r#"{"title": "Standard CSS properties that Firefox lacks", "$refs": {"as_of": {"$tool": "call_4", "$select": "join(' ', [browser, release.version, 'of', release.release_date])"}, "rows": {"$tool": "call_6", "$select": "rows"}, "issues": {"$tool": "call_7", "$select": "filed"}}}"#,
        }],
    },
];
