//! Selectors that put the words of a text together again, in whatever language it is: the lists, fields and literals that
//! it names, which the value has, with what it says of counting, filtering, sorting and picking.
//!
//! They are guesses: each was evaluated, and is only offered where a selector is an error anyway.

mod read;
mod rows;
#[cfg(test)]
mod tests;

use self::{
    read::{Comparison, Index, Role, Token, roles, sign_role, tokens},
    rows::{Rows, RowsKind},
};
use super::{SelectOptions, rewrite::likeness};
use crate::{
    paths::{member, raw_string},
    similarity::ComparisonBudget,
};
use crossfeed_jmespath::{Arena, Budget, Expression, Kind, View, emptiness, evaluate};

/// The most lists of a value for which a text is read.
const MAX_READ: usize = 3;
/// The most quoted texts that are read as selectors.
const MAX_QUOTED: usize = 3;
/// The most guesses that are evaluated.
const MAX_EVALUATED: usize = 40;
/// The pairs of characters that are compared for one text.
const MAX_PAIRS: usize = 500_000;
/// The likeness from which a word is taken for a name.
const ALIKE: f64 = 0.6;

/// At most `most` selectors that a text may mean, the most probable first.
pub(super) fn guesses<'a>(
    text: &str,
    view: &View<'a>,
    arena: &'a Arena,
    budget: &Budget,
    options: &SelectOptions,
    most: usize,
) -> Vec<String> {
    let mut effort = ComparisonBudget::new(MAX_PAIRS);
    let all = Rows::all(view, arena, budget);
    let whole = tokens(text);
    // A selector in quotes, such as an argument of a command.
    let quoted: Vec<&String> = whole
        .iter()
        .filter_map(|token| match token {
            Token::Text(inside) if inside.contains(['.', '[', '(']) => Some(inside),
            _ => None,
        })
        .take(MAX_QUOTED)
        .collect();
    let mut found: Vec<String> = quoted.iter().map(|inside| (*inside).clone()).collect();
    let inner: Vec<_> = quoted.iter().map(|inside| tokens(inside)).collect();
    for tokens in std::iter::once(&whole).chain(&inner) {
        let mut ranked: Vec<(f64, &Rows<'a>)> = all
            .iter()
            .map(|rows| (named(rows, tokens, &mut effort), rows))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        // Stable: of equals the nearest to the root comes first.
        ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        for (_, rows) in ranked.into_iter().take(MAX_READ) {
            if let Some(meant) = Meant::new(tokens, rows, &mut effort) {
                found.extend(meant.selectors(rows));
            }
        }
    }
    let mut offered: Vec<String> = Vec::new();
    for selector in found.into_iter().take(MAX_EVALUATED) {
        if offered.len() == most {
            break;
        }
        let is_new = selector != text.trim() && !offered.contains(&selector);
        if is_new && options.admits(&selector) && gives(&selector, view, arena, budget) {
            offered.push(selector);
        }
    }
    offered
}

/// Whether a selector gives something that may be an answer.
fn gives<'a>(selector: &str, view: &View<'a>, arena: &'a Arena, budget: &Budget) -> bool {
    let Ok(expression) = Expression::parse(selector) else {
        return false;
    };
    let expression = arena.keep(expression.into());
    match evaluate(expression, view, arena, budget) {
        Ok(Some(value)) => emptiness(expression, &value, budget).is_none(),
        _ => false,
    }
}

/// How much of a text is about some rows: their names, and fields of theirs.
fn named(rows: &Rows<'_>, tokens: &[Token], effort: &mut ComparisonBudget) -> f64 {
    let mut score = 0.0;
    let mut seen: Vec<&str> = Vec::new();
    let mut is_named = rows.names.is_empty();
    for token in tokens {
        let (Token::Word { text, .. } | Token::Text(text)) = token else {
            continue;
        };
        if seen.contains(&text.as_str()) {
            continue;
        }
        seen.push(text);
        let is_word = matches!(token, Token::Word { .. });
        let mut name = rows.names.iter().enumerate();
        if let Some(like) =
            name.find_map(|(at, name)| Some((at, like(text, name, is_word, effort)?)))
        {
            is_named |= like.0 + 1 == rows.names.len();
            score += like.1 * 2.0;
        } else if let Some((_, like)) = rows.field(text, None, effort) {
            score += if is_word { like.max(0.0) } else { 0.0 };
        }
    }
    if is_named || rows.kind == RowsKind::List {
        score
    } else {
        score / 2.0
    }
}

/// How like a word is to a name. A text in quotes is a name only as it is.
fn like(text: &str, name: &str, is_word: bool, effort: &mut ComparisonBudget) -> Option<f64> {
    if text == name {
        return Some(1.0);
    }
    let is_plain = !roles(text).is_empty();
    let like = (is_word && !is_plain).then(|| likeness(text, name, effort));
    like?.filter(|like| *like > ALIKE)
}

/// A text, read as words about some rows.
#[derive(Default)]
struct Meant {
    conditions: String,
    /// The fields that are wanted, and the names that they shall have.
    wanted: Vec<(usize, Option<String>)>,
    index: Option<Index>,
    /// What is done with the rows or the field, in the order in which it is said.
    done: Vec<Role>,
    /// The field before or behind the word that sorts or compares.
    key: Option<usize>,
    separator: Option<String>,
    is_named: bool,
}

/// A condition that is being read.
#[derive(Default)]
struct Open {
    field: Option<usize>,
    comparison: Option<Comparison>,
    is_not: bool,
    is_or: bool,
    /// A literal that stands before its field.
    literal: Option<Option<String>>,
    /// The field of the condition before, if a literal was the last that was read.
    last: Option<(usize, Comparison)>,
}

impl Meant {
    /// `None` where a condition cannot be true.
    fn new(tokens: &[Token], rows: &Rows<'_>, effort: &mut ComparisonBudget) -> Option<Self> {
        let mut meant = Self::default();
        let mut open = Open::default();
        let mut alias: Option<String> = None;
        let mut is_from_one = false;
        // The word that wants the next field as its key.
        let mut wants_key = false;
        let mut adjacent: Option<usize> = None;
        let mut number_of: Option<Role> = None;
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1);
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            match token {
                Token::Sign(sign) => {
                    if !matches!(sign.as_str(), "-" | ">" | "->" | "*") {
                        adjacent = None;
                    }
                    match sign_role(sign) {
                        Some(Role::Compare(comparison)) => {
                            let is_known = open
                                .comparison
                                .is_some_and(|known| known != Comparison::Equal);
                            if !is_known {
                                open.comparison = Some(comparison);
                            }
                        }
                        Some(Role::Or) if sign == "||" || !meant.conditions.is_empty() => {
                            open.is_or = true
                        }
                        Some(Role::Not) => open.is_not = true,
                        _ => {}
                    }
                    if sign == "-"
                        && meant.done.last() == Some(&Role::Count)
                        && let Some(Token::Number(number)) = next
                    {
                        meant.done.pop();
                        meant.index = number
                            .parse()
                            .ok()
                            .map(|number: i64| Index::One(number.wrapping_neg()));
                    }
                }
                Token::Index(index) => {
                    meant.index.get_or_insert(*index);
                }
                Token::Number(number) => {
                    let is_end = matches!(before, Some(Token::Sign(sign)) if sign == "-")
                        && meant.index.is_some();
                    let field = open.field.filter(|field| {
                        open.comparison.is_some() || rows.has(&rows.fields[*field], number)
                    });
                    let is_listed = open.last.is_some() && number_of.is_none();
                    if is_end {
                        continue;
                    }
                    if !is_from_one
                        && (field.is_some() || is_listed || open.comparison.is_some())
                        && number_of.is_none()
                    {
                        meant.literal(&mut open, rows, Some(number.clone()))?;
                    } else if let Ok(number) = number.parse::<i64>() {
                        let index = match number_of {
                            Some(Role::First | Role::Take) => Index::Slice(None, Some(number)),
                            Some(Role::Last) => Index::Slice(Some(number.wrapping_neg()), None),
                            _ if std::mem::take(&mut is_from_one) => {
                                Index::One(number.saturating_sub(1))
                            }
                            _ => Index::One(number),
                        };
                        if number_of.is_some() {
                            meant.done.retain(|role| Some(*role) != number_of);
                        }
                        // `Last 1` is one.
                        let index = match index {
                            Index::Slice(None, Some(1)) => Index::One(0),
                            Index::Slice(Some(-1), None) => Index::One(-1),
                            index => index,
                        };
                        meant.index = Some(index);
                    }
                    number_of = None;
                }
                Token::Word { text, is_call } => {
                    let roles = roles(text);
                    let is_key = matches!(next, Some(Token::Sign(sign)) if matches!(sign.as_str(), ":" | "=" | "=>" | "->"))
                        && matches!(tokens.get(at + 2), Some(Token::Word { .. }))
                        && !matches!(tokens.get(at + 2), Some(Token::Word { text, .. }) if matches!(text.to_lowercase().as_str(), "true" | "false" | "null" | "none"));
                    let is_as = matches!(before, Some(Token::Word { text, .. }) if text.eq_ignore_ascii_case("as"));
                    if is_as {
                        if let Some((_, alias)) = meant.wanted.last_mut() {
                            *alias = Some(text.clone());
                        }
                        continue;
                    }
                    let exact = rows.names.contains(text);
                    let field = rows.field(text, adjacent, effort);
                    let is_field = field.is_some_and(|(number, like)| {
                        rows.fields[number].names.last() == Some(text) && like > 0.8
                    });
                    if is_key && !exact {
                        alias = Some(text.clone());
                    } else if exact
                        && !(is_field
                            && meant.is_named
                            && adjacent.is_none_or(|_| true)
                            && rows.names.last() != Some(text))
                    {
                        meant.is_named = true;
                        adjacent = None;
                    } else if is_field && (!is_call || roles.is_empty()) {
                        let field = field.map(|(field, _)| field);
                        meant.field(
                            &mut open,
                            rows,
                            field,
                            &mut adjacent,
                            &mut alias,
                            &mut wants_key,
                        )?;
                    } else if !roles.is_empty() {
                        for role in roles {
                            if matches!(role, Role::First | Role::Last | Role::Take) {
                                number_of = Some(role);
                            }
                            meant.role(role, &mut open, rows, &mut is_from_one, &mut wants_key)?;
                        }
                        adjacent = adjacent.filter(|_| !is_call);
                    } else if rows
                        .names
                        .iter()
                        .any(|name| like(text, name, true, effort).is_some())
                        && !meant.is_named
                    {
                        meant.is_named = true;
                    } else if let Some((field, like)) = field
                        && like > ALIKE
                        && text.len() > 1
                    {
                        meant.field(
                            &mut open,
                            rows,
                            Some(field),
                            &mut adjacent,
                            &mut alias,
                            &mut wants_key,
                        )?;
                    }
                }
                Token::Text(text) => {
                    let is_compared = open.field.is_some() && open.comparison.is_some();
                    let field = rows.field(text, adjacent, effort);
                    let field =
                        field.filter(|(number, _)| rows.fields[*number].names.last() == Some(text));
                    let dotted = rows.fields.iter().position(|field| field.path == *text);
                    let field = dotted.or(field.map(|(field, _)| field));
                    let is_key = matches!(next, Some(Token::Sign(sign)) if matches!(sign.as_str(), ":" | "=>"))
                        && matches!(tokens.get(at + 2), Some(Token::Word { .. }));
                    let compares = roles(text)
                        .first()
                        .copied()
                        .filter(|role| matches!(role, Role::Compare(_)));
                    if let Some(role) = compares.filter(|_| open.field.is_some() && !is_compared) {
                        meant.role(role, &mut open, rows, &mut is_from_one, &mut wants_key)?;
                        continue;
                    }
                    let is_separator = !text.chars().any(char::is_alphanumeric)
                        || text.contains(['{', '%']) && !is_compared;
                    if is_key {
                        alias = Some(text.clone());
                    } else if rows.names.contains(text) && !is_compared {
                        meant.is_named = true;
                        adjacent = None;
                    } else if field.is_some() && !is_compared {
                        meant.field(
                            &mut open,
                            rows,
                            field,
                            &mut adjacent,
                            &mut alias,
                            &mut wants_key,
                        )?;
                    } else if is_separator && !is_compared {
                        meant.separator.get_or_insert_with(|| between_places(text));
                    } else {
                        meant.literal(&mut open, rows, Some(text.clone()))?;
                    }
                }
            }
        }
        Some(meant)
    }

    /// A field was named.
    fn field(
        &mut self,
        open: &mut Open,
        rows: &Rows<'_>,
        field: Option<usize>,
        adjacent: &mut Option<usize>,
        alias: &mut Option<String>,
        wants_key: &mut bool,
    ) -> Option<()> {
        let field = field?;
        let is_within = |outer: usize| {
            let (outer, inner) = (&rows.fields[outer].names, &rows.fields[field].names);
            inner.len() > outer.len() && inner.starts_with(outer)
        };
        // The object around it was only on the way.
        if let Some(outer) = adjacent.filter(|outer| is_within(*outer)) {
            if self.wanted.last().is_some_and(|(last, _)| *last == outer) {
                let (_, own) = self.wanted.pop()?;
                *alias = alias.take().or(own);
            }
            if self.key == Some(outer) {
                self.key = Some(field);
            }
        }
        if *wants_key {
            self.key = Some(field);
            *wants_key = false;
        }
        *adjacent = Some(field);
        open.last = None;
        open.field = Some(field);
        self.wanted.push((field, alias.take()));
        if let Some(literal) = open.literal.take() {
            self.literal(open, rows, literal)?;
        }
        Some(())
    }

    /// A word was read that is no name.
    fn role(
        &mut self,
        role: Role,
        open: &mut Open,
        rows: &Rows<'_>,
        is_from_one: &mut bool,
        wants_key: &mut bool,
    ) -> Option<()> {
        match role {
            Role::Compare(comparison) => {
                if open
                    .comparison
                    .is_none_or(|known| known == Comparison::Equal)
                {
                    open.comparison = Some(comparison);
                }
            }
            Role::Not => open.is_not = true,
            Role::Or => open.is_or = true,
            Role::Truth(truth) => self.literal(open, rows, Some(truth.to_string()))?,
            Role::Nothing => self.literal(open, rows, None)?,
            Role::Something => {
                open.is_not = !open.is_not;
                self.literal(open, rows, None)?;
            }
            Role::FromOne => *is_from_one = true,
            Role::Second => self.index = Some(Index::One(1)),
            Role::Third => self.index = Some(Index::One(2)),
            Role::Max | Role::Min | Role::Sort => {
                self.done.push(role);
                *wants_key = true;
            }
            Role::As | Role::Plain => {}
            other => self.done.push(other),
        }
        Some(())
    }

    /// A literal was read, null if it is `None`: a condition, if its field is known.
    fn literal(&mut self, open: &mut Open, rows: &Rows<'_>, literal: Option<String>) -> Option<()> {
        let field = match (open.field.take(), open.last) {
            (Some(field), _) => Some((
                field,
                open.comparison.take().unwrap_or(Comparison::Equal),
                false,
            )),
            // One of several values.
            (None, Some((field, comparison))) if open.comparison.is_none() => {
                Some((field, comparison, true))
            }
            _ => None,
        };
        let Some((field, comparison, is_other)) = field else {
            open.literal = Some(literal);
            return Some(());
        };
        let comparison = match comparison {
            Comparison::Equal if std::mem::take(&mut open.is_not) => Comparison::Unequal,
            comparison => comparison,
        };
        let condition = rows.condition(&rows.fields[field], comparison, literal.as_deref());
        let condition = condition?;
        let sign = if is_other || std::mem::take(&mut open.is_or) {
            " || "
        } else {
            " && "
        };
        if !self.conditions.is_empty() {
            self.conditions.push_str(sign);
        }
        self.conditions.push_str(&condition);
        if !is_other && let Some(at) = self.wanted.iter().rposition(|(wanted, _)| *wanted == field)
        {
            self.wanted.remove(at);
        }
        if self.key == Some(field) {
            self.key = None;
        }
        open.last = Some((field, comparison));
        open.comparison = None;
        Some(())
    }

    /// The selectors that this may mean, the most probable first.
    fn selectors(&self, rows: &Rows<'_>) -> Vec<String> {
        let filtered = (!self.conditions.is_empty()).then(|| rows.filtered(&self.conditions));
        let filtered = match filtered {
            Some(Some(filtered)) => Some(filtered),
            Some(None) => return Vec::new(),
            None => None,
        };
        let says = |role: Role| self.done.contains(&role);
        let mut index = self.index;
        if index.is_none() {
            index = match (says(Role::First) || says(Role::Take), says(Role::Last)) {
                (true, _) => Some(Index::One(0)),
                (_, true) => Some(Index::One(-1)),
                _ => None,
            };
        }
        let each = filtered.clone().unwrap_or_else(|| rows.each());
        // As the argument of a function.
        let list = match (&filtered, rows.kind) {
            (Some(filtered), _) => filtered.clone(),
            (None, RowsKind::Records) => rows.each(),
            (None, _) => rows.list(),
        };
        let wanted = self.suffixes(rows);
        let mut found = Vec::new();
        let picked = |list: &str, index: Index, suffix: &str, is_path: bool| {
            let step = match index {
                Index::One(number) => format!("[{number}]"),
                Index::Slice(first, end) => {
                    let end_of =
                        |end: Option<i64>| end.map_or(String::new(), |end| end.to_string());
                    format!("[{}:{}]", end_of(first), end_of(end))
                }
            };
            let pipe = if is_path { "" } else { " | " };
            format!("{list}{pipe}{step}{suffix}")
        };
        let is_object = rows.kind == RowsKind::Object;
        let is_path = filtered.is_none() && rows.kind == RowsKind::List;
        let own = |suffix: &str| match index {
            _ if is_object => suffix.strip_prefix('.').unwrap_or(suffix).to_owned(),
            Some(index) if is_path => picked(&rows.path, index, suffix, true),
            Some(index) => picked(&each, index, suffix, false),
            None => format!("{each}{suffix}"),
        };
        // The paths within one of the rows, without a name of their own.
        let fields = || {
            self.wanted
                .iter()
                .filter_map(|(field, _)| rows.fields.get(*field))
        };
        for role in &self.done {
            match role {
                Role::Count => {
                    if let (Some(index), Some(suffix)) = (index, wanted.first())
                        && !is_object
                    {
                        let _ = index;
                        found.push(format!("length({})", own(suffix)));
                    }
                    if is_object {
                        found.extend(
                            wanted
                                .iter()
                                .map(|suffix| format!("length({})", own(suffix))),
                        );
                    }
                    let list = if filtered.is_none() && !rows.path.is_empty() {
                        &rows.path
                    } else {
                        &list
                    };
                    found.push(format!("length({list})"));
                }
                Role::Keys => {
                    found.extend(wanted.iter().map(|suffix| format!("keys({})", own(suffix))));
                    found.push(format!(
                        "keys({})",
                        if rows.path.is_empty() {
                            "@"
                        } else {
                            &rows.path
                        }
                    ));
                }
                Role::Sum | Role::Average => {
                    let function = if *role == Role::Sum { "sum" } else { "avg" };
                    found
                        .extend(fields().map(|field| format!("{function}({each}.{})", field.path)));
                    if *role == Role::Sum && filtered.is_some() {
                        found.push(format!("length({list})"));
                    }
                }
                Role::Max | Role::Min | Role::Sort => {
                    let keys = self
                        .key
                        .into_iter()
                        .chain(self.wanted.iter().map(|(field, _)| *field));
                    let mut keys: Vec<_> = keys.filter_map(|key| rows.fields.get(key)).collect();
                    // What is compared by size is a number, where there is one.
                    keys.sort_by_key(|key| key.kind != Kind::Number);
                    let Some(key) = keys.first() else { continue };
                    let others: Vec<String> = fields()
                        .filter(|field| field.path != key.path)
                        .map(|field| format!(".{}", field.path))
                        .collect();
                    let suffixes = if others.is_empty() {
                        vec![String::new()]
                    } else {
                        others
                    };
                    let by = |function: &str| format!("{function}({list}, &{})", key.path);
                    let is_down = says(Role::Descending);
                    match role {
                        Role::Sort => {
                            let sorted = by("sort_by");
                            let sorted = if is_down {
                                format!("reverse({sorted})")
                            } else {
                                sorted
                            };
                            for suffix in &suffixes {
                                match index {
                                    Some(index) => found.push(picked(&sorted, index, suffix, true)),
                                    None => {
                                        let each = if suffix.is_empty() { "" } else { "[*]" };
                                        found.push(format!("{sorted}{each}{suffix}"));
                                    }
                                }
                            }
                            found.push(format!("{sorted}[*].{}", key.path));
                        }
                        _ => {
                            let name = if *role == Role::Max { "max" } else { "min" };
                            let one = by(&format!("{name}_by"));
                            found.extend(suffixes.iter().map(|suffix| format!("{one}{suffix}")));
                            found.push(format!("{name}({each}.{})", key.path));
                        }
                    }
                }
                _ => {}
            }
        }
        if self.wanted.len() > 1 && (says(Role::Join) || self.separator.is_some()) {
            let separator = self.separator.as_deref().unwrap_or(" ");
            let parts: Vec<_> = fields()
                .map(|field| own(&format!(".{}", field.path)))
                .collect();
            found.extend(
                raw_string(separator)
                    .map(|separator| format!("join({separator}, [{}])", parts.join(", "))),
            );
        }
        // What is built of several fields, or each of them.
        let has_names = self.wanted.iter().any(|(_, name)| name.is_some());
        if self.wanted.len() > 1 || has_names {
            let members: Vec<_> = self
                .wanted
                .iter()
                .filter_map(|(number, name)| {
                    let field = rows.fields.get(*number)?;
                    let name = name.as_ref().or(field.names.last())?;
                    Some(format!("{}: {}", member("", name), field.path))
                })
                .collect();
            let built = format!("{{{}}}", members.join(", "));
            found.push(own(&if is_object {
                format!("@.{built}")
            } else {
                format!(".{built}")
            }));
        }
        for suffix in wanted.iter().rev() {
            found.push(own(suffix));
            if index.is_some() && filtered.is_some() {
                found.push(format!("{each}{suffix}"));
            }
            if index.is_none() && !is_object {
                let first = if is_path {
                    picked(&rows.path, Index::One(0), suffix, true)
                } else {
                    picked(&each, Index::One(0), suffix, false)
                };
                found.push(first);
            }
        }
        if wanted.is_empty() && !is_object && (self.is_named || filtered.is_some()) {
            found.push(own(""));
            if index.is_none() {
                found.push(list);
            }
        }
        found
    }

    /// The steps to each field that is wanted, those through lists in both ways.
    fn suffixes(&self, rows: &Rows<'_>) -> Vec<String> {
        let fields = self
            .wanted
            .iter()
            .filter_map(|(field, _)| rows.fields.get(*field));
        fields.map(|field| format!(".{}", field.path)).collect()
    }
}

/// What stands between the first two places of a text that is filled: a blank in `{} {}`.
fn between_places(text: &str) -> String {
    let is_place = |c: char| matches!(c, '{' | '}' | '%');
    if !text.contains(is_place) {
        return text.to_owned();
    }
    let begin = text.find(['}', '%']).map_or(0, |at| at + 1);
    let rest = text[begin..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    let end = rest.find(['{', '%']).unwrap_or(rest.len());
    rest[..end].to_owned()
}
