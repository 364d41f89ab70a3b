//! Selectors that put the words of a text together again, in whatever language it is: the lists, fields and literals that
//! it names, which the value has, with what it says of counting, filtering, sorting and picking.
//!
//! They are guesses: each was evaluated, and is only offered where a selector is an error anyway.

mod meant;
mod read;
mod rows;
#[cfg(test)]
mod tests;

use self::{
    meant::Meant,
    read::{Index, Role, Token, roles, tokens},
    rows::{Rows, RowsKind},
};
use super::{SelectOptions, miss::works, rewrite::likeness};
use crate::{
    paths::{member, raw_string},
    similarity::ComparisonBudget,
};
use crossfeed_jmespath::{Arena, Budget, Expression, Kind, View};

/// The most lists of a value for which a text is read.
const MAX_READ: usize = 3;
/// The most quoted texts that are read as selectors.
const MAX_QUOTED: usize = 3;
/// The most guesses that are evaluated.
const MAX_EVALUATED: usize = 40;
/// The pairs of characters that are compared for one text.
const MAX_PAIRS: usize = 500_000;
/// The most names that are compared with words.
const MAX_COMPARED: usize = 30_000;
/// The likeness from which a word is taken for a name.
const ALIKE: f64 = 0.6;

/// What comparing words with names may take.
struct Effort {
    names: usize,
    pairs: ComparisonBudget,
}

impl Effort {
    fn new() -> Self {
        Self {
            names: MAX_COMPARED,
            pairs: ComparisonBudget::new(MAX_PAIRS),
        }
    }

    /// How like two names are; once this is spent, only the same are.
    fn likeness(&mut self, wanted: &str, name: &str) -> Option<f64> {
        if wanted == name {
            return Some(1.0);
        }
        self.names = self.names.checked_sub(1)?;
        likeness(wanted, name, &mut self.pairs)
    }
}

/// At most `most` selectors that a text may mean, the most probable first.
pub(crate) fn guesses<'a>(
    text: &str,
    view: &View<'a>,
    arena: &'a Arena,
    budget: &Budget,
    options: &SelectOptions,
    most: usize,
) -> Vec<String> {
    let mut effort = Effort::new();
    let is_valid = Expression::parse(text).is_ok() && !text.contains(['{', '(', '|', '&']);
    let whole = tokens(text);
    // A key that is not there says of nothing how it is to be counted.
    if is_valid && matches!(whole.as_slice(), [Token::Word { .. }]) {
        return Vec::new();
    }
    let words = whole.iter().filter_map(|token| match token {
        Token::Word { text, .. } | Token::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let all = Rows::all(view, &words.collect(), arena, budget);
    // A selector in quotes, such as an argument of a command.
    let quoted: Vec<&String> = whole
        .iter()
        .filter_map(|token| match token {
            Token::Text(inside) if is_selector(inside) => Some(inside),
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
            let meant = Meant::new(tokens, rows, &mut effort);
            // A path that is JMESPath is put right name by name.
            if let Some(meant) = meant.filter(|meant| !is_valid || !meant.is_path()) {
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
        if is_new && options.admits(&selector) && works(&selector, view, arena, budget, true) {
            offered.push(selector);
        }
    }
    offered
}

/// Whether a quoted text may be a selector, rather than an address or words.
fn is_selector(text: &str) -> bool {
    text.contains(['.', '[', '(']) && !text.contains("://")
}

/// How much of a text is about some rows: their names, and fields of theirs.
fn named(rows: &Rows<'_>, tokens: &[Token], effort: &mut Effort) -> f64 {
    // Words that name nothing are about the whole.
    let mut score = if rows.path.is_empty() { 0.01 } else { 0.0 };
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
fn like(text: &str, name: &str, is_word: bool, effort: &mut Effort) -> Option<f64> {
    if text == name {
        return Some(1.0);
    }
    let is_plain = !roles(text).is_empty();
    let like = (is_word && !is_plain).then(|| effort.likeness(text, name));
    like?.filter(|like| *like > ALIKE)
}

impl Meant {
    /// The selectors that this may mean, the most probable first.
    fn selectors(&self, rows: &Rows<'_>) -> Vec<String> {
        let filtered = (!self.conditions.is_empty()).then(|| rows.filtered(&self.conditions));
        let filtered = match filtered {
            Some(Some(filtered)) => Some(filtered),
            Some(None) => return Vec::new(),
            None => None,
        };
        // One object has no items.
        let is_object = rows.kind == RowsKind::Object;
        if is_object && self.index.is_some() {
            return Vec::new();
        }
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
                    if index.is_some()
                        && !is_object
                        && let Some(suffix) = wanted.first()
                    {
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
                    if !is_object || wanted.is_empty() {
                        found.push(format!("length({list})"));
                    }
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
                Role::Sum | Role::Average | Role::Fold => {
                    let function = if *role == Role::Average { "avg" } else { "sum" };
                    found
                        .extend(fields().map(|field| format!("{function}({each}.{})", field.path)));
                    if *role != Role::Average {
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
        // The rows alone are meant only where every word is understood.
        let is_rows = self.is_named && !self.is_strange;
        if wanted.is_empty() && !is_object && (is_rows || filtered.is_some()) {
            if index.is_none() {
                found.push(list);
            }
            if index.is_some() || filtered.is_some() {
                found.push(own(""));
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
