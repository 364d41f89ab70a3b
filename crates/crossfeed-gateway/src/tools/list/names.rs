//! The names under which the tools of several servers stand in one list.
//!
//! What comes in: each tool's server and name. What goes out: a name for each, no two the same where
//! that can be. A name is its own, but where two servers, or a server and the gateway, have it.

use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};

/// The longest name with a prefix: what every provider takes.
const LONGEST: usize = 64;
/// Hexadecimal digits that tell names apart that were cut.
const MARK: usize = 6;

/// The names that tools are shown under, in their order. `reserved` are taken. A name that begins as those
/// of another of `servers` do is not its server's to give: who allows it means the other's tool.
pub(crate) fn shown(tools: &[(&str, &str)], servers: &[&str], reserved: &[&str]) -> Vec<String> {
    let prefixes: Vec<(&str, String)> = servers
        .iter()
        .map(|server| (*server, format!("{}__", plain(server))))
        .collect();
    let is_of_another = |server: &str, name: &str| {
        let mut others = prefixes.iter().filter(|(other, _)| *other != server);
        name.contains("__") && others.any(|(_, prefix)| name.starts_with(prefix.as_str()))
    };
    let mut owner: HashMap<&str, Option<&str>> =
        reserved.iter().map(|name| (*name, None)).collect();
    for (server, name) in tools {
        let known = owner.entry(name).or_insert(Some(server));
        if *known != Some(server) || is_of_another(server, name) {
            *known = None;
        }
    }
    let is_own = |name: &str| owner.get(name).is_some_and(Option::is_some);
    let mut taken: HashSet<String> = tools
        .iter()
        .filter(|(_, name)| is_own(name))
        .map(|(_, name)| (*name).to_owned())
        .chain(reserved.iter().map(|name| (*name).to_owned()))
        .collect();
    let mut given: HashMap<(&str, &str), String> = HashMap::new();
    tools
        .iter()
        .map(|(server, name)| {
            if is_own(name) {
                return (*name).to_owned();
            }
            // A tool that a server lists twice keeps one name: only the first is found, as without us.
            let known = given.entry((server, name)).or_insert_with(|| {
                let name = prefixed(server, name, &taken);
                taken.insert(name.clone());
                name
            });
            known.clone()
        })
        .collect()
}

/// A name in the signs that every provider takes.
fn plain(text: &str) -> String {
    let sign = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    text.chars().map(sign).collect()
}

fn prefixed(server: &str, name: &str, taken: &HashSet<String>) -> String {
    let full = format!("{}__{}", plain(server), plain(name));
    let is_exact = plain(server) == server && plain(name) == name;
    if is_exact && full.len() <= LONGEST && !taken.contains(&full) {
        return full;
    }
    let mut round = 0_u32;
    loop {
        let digest = Sha256::digest(format!("{server}\n{name}\n{round}"));
        let mark: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let kept: String = full.chars().take(LONGEST - MARK - 1).collect();
        let marked = format!("{kept}_{}", mark.get(..MARK).unwrap_or_default());
        if !taken.contains(&marked) {
            return marked;
        }
        round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::shown;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn check(tools: &[(&str, &str)], expected: &[&str]) {
        let servers = ["a", "b", "c", "gone"];
        assert_eq!(
            shown(tools, &servers, &["read_result"]),
            expected,
            "{tools:?}"
        );
    }

    #[test]
    fn names_are_prefixed_where_they_collide() {
        check(&[], &[]);
        check(&[("a", "x"), ("b", "y")], &["x", "y"]);
        check(
            &[("a", "x"), ("b", "x"), ("b", "y")],
            &["a__x", "b__x", "y"],
        );
        check(&[("a", "read_result")], &["a__read_result"]);
        check(&[("a", "x"), ("a", "x")], &["x", "x"]);
        check(
            &[("a", "b__x"), ("b", "x"), ("c", "x")],
            &["a__b__x", "b__x", "c__x"],
        );
        // A server takes no name of another, be it there or not.
        check(
            &[("a", "x"), ("b", "x"), ("b", "a__x"), ("b", "gone__y")],
            &["a__x", "b__x", "b__a__x", "b__gone__y"],
        );
        check(&[("b", "b__x"), ("b", "other__x")], &["b__x", "other__x"]);
        check(&[("a.b", "x"), ("c", "x")], &["a_b__x_0f5f7f", "c__x"]);
    }

    proptest! {
        #[test]
        fn no_two_tools_share_a_name(
            tools in prop::collection::vec(("[ab._]{1,2}|[x]{60,70}", "[xy._]{1,3}|[xy]{60,64}"), 0..8)
        ) {
            let tools: HashSet<_> = tools.iter().collect();
            let tools: Vec<_> = tools.into_iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            let names = shown(&tools, &["a", "b"], &["x"]);
            let distinct: HashSet<_> = names.iter().collect();
            prop_assert_eq!(distinct.len(), tools.len());
            for ((_, own), name) in tools.iter().zip(&names) {
                prop_assert!(name != "x");
                prop_assert!(name == own || name.len() <= 64);
            }
        }
    }
}
