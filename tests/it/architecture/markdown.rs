//! The parts of Markdown that the checks need: code spans, links, anchors and numbered rules. Indented code blocks and HTML are
//! read as plain text, and a code span ends on its line.

use std::collections::{BTreeMap, BTreeSet};

/// Extensions that make a name without a slash a file name.
const EXTENSIONS: [&str; 9] = [
    "rs", "md", "toml", "json", "jsonl", "py", "sh", "lock", "yml",
];

/// A piece of a page and its line, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) line: usize,
    pub(super) text: String,
}

/// The lines outside fenced code blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return Some((index + 1, line)),
            _ => {}
        }
        None
    })
}

/// The rules of a page that do not carry the next number of their section: a rule is an item of a list at the margin.
pub(super) fn misnumbered_rules(text: &str) -> Vec<Piece> {
    let mut problems = Vec::new();
    let mut next = 1;
    for (line, text) in prose(text) {
        if text.starts_with('#') {
            next = 1;
            continue;
        }
        let number = text
            .split_once(". ")
            .and_then(|(number, _)| number.parse::<usize>().ok());
        if number.is_none() && !text.starts_with("- ") {
            continue;
        }
        if number != Some(next) {
            problems.push(Piece {
                line,
                text: format!("the rule must begin with `{next}. `"),
            });
        }
        next += 1;
    }
    problems
}

/// A line cut into text (even places) and code spans (odd places).
fn cut(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        let after = &rest[start + ticks..];
        let Some(length) = closing(after, ticks) else {
            break;
        };
        pieces.push(&rest[..start]);
        pieces.push(after[..length].trim());
        rest = &after[length + ticks..];
    }
    pieces.push(rest);
    pieces
}

/// Where a run of exactly so many backticks stands.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(offset) = text[from..].find('`') {
        let start = from + offset;
        let run = text[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        if run == ticks {
            return Some(start);
        }
        from = start + run;
    }
    None
}

/// The code spans of a page.
pub(super) fn code_spans(text: &str) -> Vec<Piece> {
    let spans = |(line, content)| {
        cut(content)
            .into_iter()
            .skip(1)
            .step_by(2)
            .map(move |span| Piece {
                line,
                text: span.to_owned(),
            })
    };
    prose(text).flat_map(spans).collect()
}

/// The part of a code span that names a place in the repository, if it does: something below a top-level entry, or a name with a
/// usual extension. An anchor is cut off. `tools/list` and `application/json` are no such thing.
pub(super) fn repository_path<'a>(span: &'a str, top: &BTreeSet<&str>) -> Option<&'a str> {
    let path = span.split('#').next().unwrap_or(span);
    let plain = path
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    if !plain || path.starts_with('/') || path.is_empty() {
        return None;
    }
    let first = path.split('/').next().unwrap_or(path);
    let below_the_root = path.contains('/') && top.contains(first);
    let folder = path.ends_with('/');
    let file = path.rsplit_once('.').is_some_and(|(stem, extension)| {
        EXTENSIONS.contains(&extension)
            && stem.ends_with(|character: char| character.is_ascii_alphanumeric())
    });
    (below_the_root || folder || file).then_some(path)
}

/// The targets of the page's relative links, inline and by reference; addresses with a scheme are left out.
pub(super) fn links(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    for (line, content) in prose(text) {
        // Code is blanked, so that brackets in it do not count.
        let visible = cut(content)
            .into_iter()
            .step_by(2)
            .collect::<Vec<_>>()
            .join("`");
        let inline = visible
            .match_indices("](")
            .map(|(start, _)| &visible[start + 2..]);
        let reference = visible
            .trim_start()
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "));
        let candidates = inline
            .map(|rest| target(rest, ')'))
            .chain(reference.map(|(_, rest)| target(rest, ' ')));
        for text in candidates.filter(|target| !target.is_empty() && !has_scheme(target)) {
            found.push(Piece {
                line,
                text: text.to_owned(),
            });
        }
    }
    found
}

/// A link's target without angle brackets and title.
fn target(rest: &str, end: char) -> &str {
    let rest = rest.trim_start();
    match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((target, _)) => target,
        None => rest
            .split(|character: char| character == end || character.is_whitespace())
            .next()
            .unwrap_or(rest),
    }
}

fn has_scheme(target: &str) -> bool {
    target.starts_with("//")
        || target.split_once(':').is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// The anchors of a page: one per heading, as code hosts make them, and every explicit `id="…"`.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if (1..=6).contains(&level) && title.starts_with(' ') {
            let slug = slug(title);
            let seen = times.entry(slug.clone()).or_default();
            found.insert(if *seen == 0 {
                slug
            } else {
                format!("{slug}-{seen}")
            });
            *seen += 1;
        }
        found.extend(
            line.split("id=\"")
                .skip(1)
                .filter_map(|rest| rest.split_once('"'))
                .map(|(id, _)| id.to_owned()),
        );
    }
    found
}

fn slug(title: &str) -> String {
    let kept = title.trim().to_lowercase();
    kept.chars()
        .filter(|character| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_'))
        .map(|character| if character == ' ' { '-' } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pieces: Vec<Piece>) -> Vec<String> {
        pieces.into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn code_spans_are_found_outside_fences() {
        let check =
            |text: &str, expected: &[&str]| assert_eq!(texts(code_spans(text)), expected, "{text}");
        check("a `b` c `d`", &["b", "d"]);
        check("`` a`b `` and `c`", &["a`b", "c"]);
        check("```sh\n`x`\n```\n`y`", &["y"]);
        check("~~~\n```\n`x`\n~~~\n`y`", &["y"]);
        check("no end ` here", &[]);
        assert_eq!(
            code_spans("a\n`b`"),
            [Piece {
                line: 2,
                text: "b".to_owned()
            }]
        );
    }

    #[test]
    fn paths_are_told_from_other_code() {
        let top = BTreeSet::from(["crates", "README.md", ".ci"]);
        let check = |span: &str, expected: Option<&str>| {
            assert_eq!(repository_path(span, &top), expected, "{span}")
        };
        check(
            "crates/crossfeed-wire/src/id.rs",
            Some("crates/crossfeed-wire/src/id.rs"),
        );
        check("crates/gone", Some("crates/gone"));
        check("gone/lib.rs", Some("gone/lib.rs"));
        check("gone/", Some("gone/"));
        check("README.md#start", Some("README.md"));
        check(".ci/run", Some(".ci/run"));
        check("lib.rs", Some("lib.rs"));
        for other in [
            "tools/list",
            "application/json",
            "/filters/0/url",
            "Vec<u8>",
            "a.b",
            "crossfeed-json",
            "$tool",
            "0.5.0",
            "*.json",
            "",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn links_are_found() {
        let check =
            |text: &str, expected: &[&str]| assert_eq!(texts(links(text)), expected, "{text}");
        check(
            "[a](b.md) and ![i](pic.png \"title\")",
            &["b.md", "pic.png"],
        );
        check("[a](<b c.md>)", &["b c.md"]);
        check("[a]: specs/x.md \"title\"", &["specs/x.md"]);
        check("[a](#part)", &["#part"]);
        check("[`a`](b.md)", &["b.md"]);
        check(
            "[a](https://example.com) [m](mailto:a@example.com) [s](//example.com)",
            &[],
        );
        check("`[a](b)` and ``v[i](x)``", &[]);
        check("```\n[a](b)\n```", &[]);
    }

    #[test]
    fn anchors_are_those_of_the_headings() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(
                anchors(text),
                expected.iter().map(|&anchor| anchor.to_owned()).collect(),
                "{text}"
            );
        };
        check(
            "# A Title, `code` & more!\n## Part_2",
            &["a-title-code--more", "part_2"],
        );
        check("# A\n# A\n# A", &["a", "a-1", "a-2"]);
        check("#no\n```\n# code\n```", &[]);
        check("<a id=\"here\"></a>", &["here"]);
    }

    #[test]
    fn rules_are_numbered_within_their_section() {
        let check = |page: &str, expected: &[usize]| {
            let lines: Vec<usize> = misnumbered_rules(page)
                .iter()
                .map(|piece| piece.line)
                .collect();
            assert_eq!(lines, expected, "{page}");
        };
        check(
            "# a\n1. x\n   - y\ntext\n2. x\n## b\n1. x\n```\n- x\n```\n",
            &[],
        );
        check("# a\n- x\n2. x\n", &[2]);
        check("# a\n1. x\n1. x\n3. x\n# b\n4. x\n", &[3, 6]);
        check("In 2025. That was a year.\n", &[]);
    }
}
