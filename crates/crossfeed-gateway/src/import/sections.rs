//! Replaces sections of servers (`[mcp_servers.NAME]` and what is below it) in a text that was read as TOML,
//! leaving every other byte alone.

use crate::config::node;
use std::{collections::BTreeSet, ops::Range};

/// A header and what stands below it, up to the line of its last value: what follows are comments and blank
/// lines of the next one.
struct Section {
    keys: Vec<String>,
    span: Range<usize>,
}

impl Section {
    /// The server in this table whose section it is, or a part of it.
    fn server(&self, table: &str) -> Option<&str> {
        match self.keys.as_slice() {
            [first, second, ..] if first == table => Some(second),
            _ => None,
        }
    }

    fn is_of(&self, table: &str, servers: &BTreeSet<&str>) -> bool {
        let server = self.server(table);
        server.is_some_and(|server| servers.contains(server))
    }
}

/// Whether a server has a section of its own.
pub(super) fn has(text: &str, table: &str, server: &str) -> bool {
    let sections = sections(text);
    let mut own = sections.iter().filter(|section| section.keys.len() == 2);
    own.any(|section| section.server(table) == Some(server))
}

/// The sections of servers as they stand in a text, with what is between those that stand together.
pub(super) fn joined(text: &str, table: &str, servers: &BTreeSet<&str>) -> String {
    let mut joined = String::new();
    let mut last: Option<usize> = None;
    for section in sections(text) {
        if !section.is_of(table, servers) {
            last = None;
            continue;
        }
        match last {
            Some(end) => joined.push_str(text.get(end..section.span.start).unwrap_or_default()),
            None if joined.is_empty() => {}
            None => joined.push_str(newline(text)),
        }
        last = Some(section.span.end);
        joined.push_str(text.get(section.span).unwrap_or_default());
        if !joined.ends_with('\n') {
            joined.push_str(newline(text));
        }
    }
    joined
}

/// The text with `put` in place of the sections of servers; none if none of them is there.
pub(super) fn replace(
    text: &str,
    table: &str,
    servers: &BTreeSet<&str>,
    put: &str,
) -> Option<String> {
    let mut out = String::with_capacity(text.len() + put.len());
    let mut at = 0;
    let mut put = Some(put);
    for section in sections(text) {
        if !section.is_of(table, servers) {
            continue;
        }
        out.push_str(text.get(at..section.span.start)?);
        at = section.span.end;
        let is_last_line = !text.get(section.span)?.ends_with('\n');
        match put.take() {
            Some(put) if is_last_line => out.push_str(put.trim_end_matches(['\r', '\n'])),
            Some(put) => out.push_str(put),
            // The blank lines before it are enough.
            None => at += blank(text.get(at..)?),
        }
    }
    if put.is_some() {
        return None;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// What ends a line.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The length of the blank lines at the beginning of a text.
fn blank(text: &str) -> usize {
    let lines = text.split_inclusive('\n');
    lines
        .take_while(|line| line.trim().is_empty())
        .map(str::len)
        .sum()
}

/// The sections of a document, in order.
fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let statement = line.trim_start_matches([' ', '\t', '\u{feff}']);
        if statement.trim().is_empty() || statement.starts_with('#') {
            at += line.len();
            continue;
        }
        let end = at + end_of_statement(rest);
        if statement.starts_with('[') {
            sections.push(Section {
                keys: keys(line),
                span: at..end,
            });
        } else if let Some(section) = sections.last_mut() {
            section.span.end = end;
        }
        at = end;
    }
    sections
}

/// The keys of a header.
fn keys(header: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let Ok(document) = node::toml(header) else {
        return keys;
    };
    let mut node = &document;
    loop {
        // `[[x]]` is a list of one table.
        if let node::Value::List(items) = &node.value
            && let [item] = items.as_slice()
        {
            node = item;
        }
        let Some([entry]) = node.entries() else {
            return keys;
        };
        keys.push(entry.key.clone());
        node = &entry.node;
    }
}

/// Where the lines end that the first statement of a text stands on: texts and lists may have several.
fn end_of_statement(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => {
                at += length_of_text(text.get(at..).unwrap_or_default());
                continue;
            }
            b'#' => {
                let line = bytes.get(at..).unwrap_or_default();
                let end = line.iter().position(|byte| *byte == b'\n');
                at += end.unwrap_or(line.len());
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'\n' if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The length of a text in quotes, with them.
fn length_of_text(text: &str) -> usize {
    let quote = text.get(..1).unwrap_or_default();
    let triple = quote.repeat(3);
    let fence = if text.starts_with(&triple) {
        triple.as_str()
    } else {
        quote
    };
    let has_escapes = quote == "\"";
    let mut at = fence.len();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if has_escapes && rest.starts_with('\\') {
            at += 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
        } else if rest.starts_with(fence) {
            at += fence.len();
            // A text of several lines may end with one or two quotes of its own.
            let own = text.get(at..).unwrap_or_default();
            let own = own
                .bytes()
                .take_while(|byte| quote.as_bytes().contains(byte));
            return at + own.take(if fence.len() == 3 { 2 } else { 0 }).count();
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{has, joined, replace, sections};
    use std::collections::BTreeSet;

    const TEXT: &str = "\
# top
model = \"o\" # [no.header]
notify = [
  \"a\", # ]
  \"[x]\",
]

# files
[mcp_servers.files]
command = '''
[mcp_servers.no]
it's'''''
args = [] # the end

[mcp_servers.files.env]
K = \"\\\"\\\\\"

# about x
[ mcp_servers . \"a b\" ]
url = \"https://a\"

[profiles.x]
a = 1

[mcp_servers.last]
command = \"z\"";

    fn of<'n>(names: &[&'n str]) -> BTreeSet<&'n str> {
        names.iter().copied().collect()
    }

    #[test]
    fn sections_are_found() {
        let keys: Vec<_> = sections(TEXT)
            .iter()
            .map(|own| own.keys.join("/"))
            .collect();
        assert_eq!(
            keys,
            [
                "mcp_servers/files",
                "mcp_servers/files/env",
                "mcp_servers/a b",
                "profiles/x",
                "mcp_servers/last"
            ]
        );
        assert!(has(TEXT, "mcp_servers", "a b") && !has(TEXT, "mcp_servers", "no"));
        assert!(!has("mcp_servers.a.command = 'x'", "mcp_servers", "a"));
        assert!(!has("[mcp_servers.a.env]\nX = 'x'", "mcp_servers", "a"));
    }

    #[test]
    fn sections_are_replaced_and_nothing_else() {
        let all = of(&["files", "a b", "last"]);
        let new = replace(TEXT, "mcp_servers", &all, "[mcp_servers.new]\nx = 1\n").unwrap();
        let head = &TEXT[..TEXT.find("[mcp_servers.files]").unwrap()];
        let expected =
            format!("{head}[mcp_servers.new]\nx = 1\n\n# about x\n[profiles.x]\na = 1\n\n");
        assert_eq!(new, expected);
        assert_eq!(replace(TEXT, "mcp_servers", &of(&["none"]), ""), None);
        let last = replace(TEXT, "mcp_servers", &of(&["last"]), "[y]\n").unwrap();
        assert!(last.ends_with("a = 1\n\n[y]"), "{last}");
    }

    #[test]
    fn sections_are_taken_as_they_stand() {
        let files = joined(TEXT, "mcp_servers", &of(&["files", "last"]));
        let start = TEXT.find("[mcp_servers.files]").unwrap();
        let end = TEXT.find("\n# about x").unwrap();
        let expected = format!(
            "{}\n[mcp_servers.last]\ncommand = \"z\"\n",
            &TEXT[start..end]
        );
        assert_eq!(files, expected);
    }
}
