//! A selector whose value has the wrong shape for a parameter, written for the right one: a list where one value is wanted,
//! and the other way round.

use crossfeed_jmespath::{Expression, Place, PlaceKind, SpineStep, places};

/// The selector for one value in place of a list, or for a list in place of one value, the most probable first. They
/// are guesses: only what fits is offered.
pub(crate) fn reshaped(selector: &str) -> Vec<String> {
    let Ok(expression) = Expression::parse(selector) else {
        return Vec::new();
    };
    let is_path = expression.is_plain_path();
    if let Some(list) = selector.strip_suffix(" | [0]") {
        return vec![list.to_owned()];
    }
    let projects = expression.spine().contains(&SpineStep::Each);
    let mut found = Vec::new();
    if projects {
        let places = places(selector);
        let is_literal = |at: usize| {
            let mut literals = places
                .iter()
                .filter(|place| place.kind == PlaceKind::Literal);
            literals.any(|place| (place.start..place.end).contains(&at))
        };
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
        let places = places(selector);
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
        check("length(users)", &[]);
        check("users[", &[]);
    }
}
