//! A selector whose value has the wrong shape for a parameter, written for the right one: a list where one value is wanted,
//! and the other way round.

use crossfeed_jmespath::{Expression, Function, Node, Place, PlaceKind, SpineStep, places};

/// The selector for one value in place of a list, or for a list in place of one value, the most probable first. They
/// are guesses: only what fits is offered.
pub(crate) fn reshaped(selector: &str) -> Vec<String> {
    let Ok(expression) = Expression::parse(selector) else {
        return Vec::new();
    };
    let is_path = expression.is_plain_path();
    let places = places(selector);
    let is_literal = |at: usize| {
        let mut literals = places
            .iter()
            .filter(|place| place.kind == PlaceKind::Literal);
        literals.any(|place| (place.start..place.end).contains(&at))
    };
    // `items[?a] | [0].b`: the list that one item was taken from.
    let picked = [" | [0]", " | [-1]"].into_iter().find_map(|pick| {
        let at = selector.rfind(pick).filter(|at| !is_literal(*at))?;
        let (list, rest) = (&selector[..at], &selector[at + pick.len()..]);
        Some(format!("{list}{rest}"))
    });
    if let Some(list) = picked {
        return vec![list];
    }
    let projects = expression.spine().contains(&SpineStep::Each);
    let mut found = Vec::new();
    // Lines of a text are a text again.
    if selector.starts_with("lines(") {
        found.push(format!(r#"join(`"\n"`, {selector})"#));
    }
    if projects {
        let flat = selector.replace("[*]", "[]");
        let lists = selector.match_indices("[*]").map(|(at, _)| at);
        let is_nested = selector.matches("[*]").count() + selector.matches("[]").count() > 1;
        if is_nested && !lists.clone().any(is_literal) {
            found.push(flat);
        }
        let each = ["[*]", "[]"].into_iter().find_map(|each| {
            let at = selector.find(each).filter(|at| !is_literal(*at))?;
            Some(format!(
                "{}[0]{}",
                &selector[..at],
                &selector[at + each.len()..]
            ))
        });
        found.push(each.unwrap_or_else(|| format!("{selector} | [0]")));
        found.push(format!("join(', ', {selector})"));
        found.push(format!("join(', ', map(&to_string(@), {selector}))"));
    } else {
        let mut indexes = places.iter();
        let is_index = |place: &&Place| place.kind == PlaceKind::Index;
        let index = if is_path {
            indexes.rfind(is_index)
        } else {
            indexes.find(is_index)
        };
        found.extend(
            index.map(|index| format!("{}[*]{}", &selector[..index.start], &selector[index.end..])),
        );
    }
    // What was sorted or compared by.
    if let Node::Call(function, arguments) = expression.root()
        && let [_, Node::Reference(_)] = &**arguments
        && let Some((_, by)) = selector.rsplit_once('&')
        && let Some(by) = by.strip_suffix(')').map(str::trim)
    {
        match function {
            Function::MaxBy | Function::MinBy => found.push(format!("{selector}.{by}")),
            Function::SortBy => found.push(format!("{selector}[*].{by}")),
            _ => {}
        }
    }
    if is_path && selector != "@" {
        found.push(format!("{selector}[0]"));
        found.push(format!("[{selector}]"));
    }
    found.retain(|text| text != selector && Expression::parse(text).is_ok());
    found
}

#[cfg(test)]
mod tests {
    use super::reshaped;

    fn check(selector: &str, expected: &[&str]) {
        assert_eq!(reshaped(selector), expected, "{selector}");
    }

    #[test]
    fn lists_become_one_value_and_the_other_way_round() {
        check(
            "users[*].name",
            &[
                "users[0].name",
                "join(', ', users[*].name)",
                "join(', ', map(&to_string(@), users[*].name))",
            ],
        );
        check(
            "users[0].name",
            &["users[*].name", "users[0].name[0]", "[users[0].name]"],
        );
        check("users[0].{n: name}", &["users[*].{n: name}"]);
        check("users[?a] | [0]", &["users[?a]"]);
        check(
            "users[?a == ' | [0]'] | [-1].name",
            &["users[?a == ' | [0]'].name"],
        );
        check("max_by(users, &id)", &["max_by(users, &id).id"]);
        check(
            "users[*].tags[*].name",
            &[
                "users[].tags[].name",
                "users[0].tags[*].name",
                "join(', ', users[*].tags[*].name)",
                "join(', ', map(&to_string(@), users[*].tags[*].name))",
            ],
        );
        check("lines(@)[2:4]", &[r#"join(`"\n"`, lines(@)[2:4])"#]);
        check("length(users)", &[]);
        check("users[", &[]);
    }
}
