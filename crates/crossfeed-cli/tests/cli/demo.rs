//! `crossfeed demo`: the story on one page, and every step of it.

use super::{Run, run, start_with};

/// What the demo prints with these variables.
fn demo(args: &[&str], variables: &[(&str, &str)]) -> String {
    let args: Vec<&str> = ["demo"].iter().chain(args).copied().collect();
    let output = start_with(&args, variables).wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
    String::from_utf8(output.stdout).unwrap()
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap()
}

/// The words of a text, whatever its lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text without the sequences that set styles.
fn plain(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').unwrap().1);
    }
    plain
}

#[test]
fn the_demo_is_the_same_every_time() {
    for args in [&["demo"][..], &["demo", "--full"]] {
        let first = run(args, "");
        assert_eq!((first.status, first.err.as_str()), (0, ""));
        assert_eq!(run(args, ""), first);
    }
}

#[test]
fn the_story_is_one_page() {
    for columns in ["80", "100"] {
        let story = demo(&[], &[("COLUMNS", columns)]);
        let lines = story.lines().count();
        assert!(lines <= 40, "{lines} lines at {columns}:\n{story}");
    }
    let story = demo(&[], &[]);
    assert_eq!(story, demo(&[], &[("COLUMNS", "100")]));
    let words = words(&story);
    for said in [
        "The model's turns are scripted; everything else is computed.",
        "Task: Which standard CSS properties does Firefox still lack?",
        "1. call_1 returns 1,195,774 bytes.",
        "[crossfeed selectors: {\"terminalPaths\":",
        "2. call_6 says where its values are.",
        "{\"properties\": {\"$tool\": \"call_1\", \"$select\": \"items[?status.standard_track",
        "{\"properties\": [\"animation-trigger\", \"background-repeat-x\", … 110 more]",
        "3. A mistake in a selector is repaired: get_release receives \"160\".",
        "engine items[?id == 'firefox']",
        "4. What does not fit is refused",
        "(argument `/browsers`) try: items[*].id, items[*].name, items[*].type",
        "5. The calls of a turn run at once. call_8 waits until call_7 has returned.",
        "{… \"issues\": {\"$tool\": \"call_7\", \"$select\": \"filed\"}}",
        "6. 2 hours later call_6 has expired.",
        "{\"$artifact\": \"gaps\", \"$tool\": \"call_6\"",
        "with results cut at 25,000, ",
        "the model sees 8 % of call_1, 1 of the 112 values for call_6",
        "crossfeed demo --full",
    ] {
        assert!(words.contains(said), "{said} is not in:\n{story}");
    }
}

#[test]
fn both_end_with_the_same_bill() {
    let story = demo(&[], &[]);
    let full = demo(&["--full"], &[]);
    let end = "2,512 tokens instead of 387,312: 154 times fewer.";
    assert_eq!((last_line(&story), last_line(&full)), (end, end));
    let total = full.lines().find(|line| line.starts_with("total "));
    let total: Vec<&str> = total.unwrap().split_whitespace().collect();
    assert_eq!(
        total,
        ["total", "1,549,430", "387,312", "10,051", "2,512"],
        "{full}"
    );
    // The rows give the totals.
    let number = |text: &str| text.replace(',', "").parse().unwrap_or(0);
    let mut sums = [0_usize; 4];
    for line in full.lines().filter(|line| line.starts_with("call_")) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        for (sum, cell) in sums.iter_mut().zip(&cells[2..]) {
            *sum += number(cell);
        }
    }
    assert_eq!(
        sums.as_slice(),
        total[1..]
            .iter()
            .map(|cell| number(cell))
            .collect::<Vec<_>>()
    );
    // Where results are cut, those of two calls are shorter: 298,898 and 75,164 tokens.
    let cut = 387_312 - (298_898 - 25_000) - (75_164 - 25_000);
    assert_eq!(cut, 63_250);
    for text in [&story, &full] {
        assert!(text.contains("\n   63,250  "), "{text}");
    }
}

#[test]
fn lines_fit_the_terminal() {
    for (columns, width) in [
        ("40", 40),
        ("60", 60),
        ("80", 80),
        ("100", 100),
        ("200", 100),
    ] {
        for args in [&[][..], &["--full"]] {
            let text = demo(args, &[("COLUMNS", columns)]);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{columns}: {line}");
                assert!(!line.ends_with(' '), "{columns}: {line}");
            }
        }
    }
    // The table keeps its tokens where there is no room for bytes.
    let narrow = demo(&["--full"], &[("COLUMNS", "60")]);
    let total = narrow.lines().find(|line| line.starts_with("total "));
    assert_eq!(words(total.unwrap()), "total 387,312 2,512");
    assert_eq!(last_line(&narrow), last_line(&demo(&[], &[])));
}

#[test]
fn colours_change_no_text() {
    for args in [&[][..], &["--full"]] {
        let text = demo(args, &[]);
        assert!(!text.contains('\u{1b}'));
        for columns in ["60", "100"] {
            let columns = ("COLUMNS", columns);
            let styled = demo(args, &[("CLICOLOR_FORCE", "1"), columns]);
            assert_ne!(styled, plain(&styled));
            assert_eq!(plain(&styled), demo(args, &[columns]));
            // The punch line stands out, and a style ends in its own line.
            assert!(last_line(&styled).starts_with("\u{1b}[1m"), "{styled}");
            for line in styled.lines() {
                let last = line.rsplit_once('\u{1b}').map(|(_, last)| last);
                assert!(last.is_none_or(|last| last.starts_with("[0m")), "{line}");
            }
        }
        let refused = [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")];
        assert_eq!(demo(args, &refused), text);
    }
}

#[test]
fn the_full_demo_shows_every_step() {
    let Run { out, .. } = run(&["demo", "--full"], "");
    for line in [
        "The model's turns are scripted; everything else is computed.\n",
        "\nreturned  1,195,774 bytes, about 298,898 tokens, recorded as call_1\n",
        "\nengine    the call is refused; the tool does not run\n",
        "\nreceived  {\"browser\":\"firefox\",\"version\":\"160\"}\n",
        "\nreceived  {properties: [string(17)](len=112), browsers: [string(6)](len=5)} (",
        "\nengine    repair: ",
        "\nengine    call_7 is in flight: this call waits until it has returned\n",
        "\nengine    /items is a reference that was written as a string\n",
        "\nshown     [crossfeed preview of call_1: cut, not the data; 1195774 bytes, ",
        "          {\"terminalPaths\":[\"items[0].name[string]\"",
        "Object\n          with 3 keys: meta, total, items\n",
        "\nshown     the result of call `call_6` has expired (argument `/items`)\n",
        "\nengine    /items <- call call_6 artifact gaps tool get_support_table: ",
        "\nThe trace, as it leaves: ",
        "\n  execute_tool write_report call_8 returned\n    link /as_of <- call_4 execute_tool get_release: ",
    ] {
        assert!(out.contains(line), "{line} is not in:\n{out}");
    }
    // The bill comes last.
    let at = |text: &str| out.find(text).unwrap();
    assert!(at("\nTurn 9") < at("\nThe trace, as it leaves"));
    assert!(at("\nThe trace, as it leaves") < at("\nThe report"));
    assert!(at("\nThe report") < at("\nWhat entered the model's context"));
}
