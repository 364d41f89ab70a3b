//! What a text says about some rows: which it wants, which of their fields, and what is done with them.

use super::{
    ALIKE, Effort, like,
    read::{Comparison, Index, Role, Token, called, roles, sign_role},
    rows::Rows,
};

/// The likeness from which a text in quotes is taken for a name.
const SPELLED: f64 = 0.9;
/// The most conditions of a text, and the most fields of one name that a condition is tried on.
const MAX_CONDITIONS: usize = 16;
const MAX_ALIKE: usize = 8;
/// Signs that stand between a name that is given and what it is given to.
const NAMING: [&str; 4] = [":", "=", "=>", "->"];

/// A text, read as words about some rows.
#[derive(Default)]
pub(super) struct Meant {
    /// The condition on the rows, if it has one.
    pub(super) conditions: String,
    /// The fields that are wanted, and the names that they shall have.
    pub(super) wanted: Vec<(usize, Option<String>)>,
    pub(super) index: Option<Index>,
    /// What is done with the rows or the field, in the order in which it is said.
    pub(super) done: Vec<Role>,
    /// The field behind the word that sorts or compares.
    pub(super) key: Option<usize>,
    /// What stands between texts that are put together.
    pub(super) separator: Option<String>,
    /// Whether the rows are named.
    pub(super) is_named: bool,
    /// Whether there is a word that says nothing.
    pub(super) is_strange: bool,
}

impl Meant {
    /// `None` where a condition cannot be true.
    pub(super) fn new(tokens: &[Token], rows: &Rows<'_>, effort: &mut Effort) -> Option<Self> {
        let mut reader = Reader {
            rows,
            tokens,
            meant: Self::default(),
            field: None,
            comparison: None,
            is_not: false,
            is_or: false,
            waiting: Vec::new(),
            last: None,
            alias: None,
            adjacent: None,
            number_of: None,
            conditions: MAX_CONDITIONS,
            wants_key: false,
        };
        for at in 0..tokens.len() {
            reader.read(at, effort)?;
        }
        reader.meant.is_strange |= !reader.waiting.is_empty();
        Some(reader.meant)
    }
}

impl Meant {
    /// Whether nothing but names and indexes in brackets is said.
    pub(super) fn is_path(&self) -> bool {
        self.conditions.is_empty() && self.done.is_empty() && self.separator.is_none()
    }
}

/// Reads tokens one after another.
struct Reader<'t, 'a> {
    rows: &'t Rows<'a>,
    tokens: &'t [Token],
    meant: Meant,
    /// The field that may be compared next.
    field: Option<usize>,
    comparison: Option<Comparison>,
    is_not: bool,
    is_or: bool,
    /// Literals that stand before their field; null is `None`.
    waiting: Vec<Option<String>>,
    /// The condition before, if nothing but literals came since.
    last: Option<(usize, Comparison)>,
    /// The name that the next field shall have.
    alias: Option<String>,
    /// The field that was read last, if the next may lie within it.
    adjacent: Option<usize>,
    /// The word that the next number belongs to.
    number_of: Option<Role>,
    /// How many more conditions may be read.
    conditions: usize,
    /// Whether the next field is what is sorted or compared by.
    wants_key: bool,
}

impl Reader<'_, '_> {
    /// Reads one token.
    fn read(&mut self, at: usize, effort: &mut Effort) -> Option<()> {
        let tokens = self.tokens;
        match &tokens[at] {
            Token::Sign(sign) => {
                self.sign(sign, at);
                Some(())
            }
            Token::Index(index) => {
                self.meant.index.get_or_insert(*index);
                Some(())
            }
            Token::Number(number) => self.number(number, at),
            Token::Word { text, is_call } => self.word(text, *is_call, at, effort),
            Token::Text(text) => self.text(text, at, effort),
        }
    }

    fn before(&self, at: usize) -> Option<&Token> {
        at.checked_sub(1).and_then(|at| self.tokens.get(at))
    }

    /// Whether a name is given to the word behind this token.
    fn names(&self, at: usize) -> bool {
        let is_sign = |token: Option<&Token>| matches!(token, Some(Token::Sign(sign)) if NAMING.contains(&sign.as_str()));
        let is_word = |token: Option<&Token>| match token {
            Some(Token::Word { text, .. }) => {
                let said = roles(text);
                !matches!(said.first(), Some(Role::Truth(_) | Role::Nothing))
            }
            _ => false,
        };
        is_sign(self.tokens.get(at + 1)) && is_word(self.tokens.get(at + 2))
    }

    fn sign(&mut self, sign: &str, at: usize) {
        if !matches!(sign, "-" | ">" | "->" | "*" | ":") {
            self.adjacent = None;
        }
        if matches!(sign, "+" | "?" | "}") {
            self.last = None;
        }
        match sign_role(sign) {
            Some(Role::Compare(comparison)) => self.compare(comparison),
            Some(Role::Or) if sign == "||" || !self.meant.conditions.is_empty() => {
                self.is_or = true;
            }
            Some(Role::Not) => self.is_not = true,
            _ => {}
        }
        // `items[length(items) - 1]` and `items[length(items)-2:]`
        if sign == "-"
            && self.meant.done.last() == Some(&Role::Count)
            && let Some(Token::Number(number)) = self.tokens.get(at + 1)
            && let Ok(number) = number.parse::<i64>()
        {
            self.meant.done.pop();
            let is_slice =
                matches!(self.tokens.get(at + 2), Some(Token::Sign(sign)) if sign == ":");
            let number = number.wrapping_neg();
            self.meant.index = Some(if is_slice {
                Index::Slice(Some(number), None)
            } else {
                Index::One(number)
            });
        }
    }

    /// A comparison was read; that of a colon or `=` may only give a name.
    fn compare(&mut self, comparison: Comparison) {
        let known = self.comparison.filter(|known| *known != Comparison::Equal);
        self.comparison = known.or(Some(comparison));
    }

    fn number(&mut self, number: &str, at: usize) -> Option<()> {
        let number_of = self.number_of.take();
        let is_after = |signs: &[&str]| matches!(self.before(at), Some(Token::Sign(sign)) if signs.contains(&sign.as_str()));
        // Of `length(items) - 1`, and what a loop adds.
        let is_read = is_after(&["-"]) && self.meant.index.is_some();
        if is_read
            || is_after(&["+", "*"])
            || self.meant.done.contains(&Role::Fold) && self.field.is_none()
        {
            return Some(());
        }
        let is_compared = |field: usize| {
            self.comparison.is_some() || self.rows.has(&self.rows.fields[field], number)
        };
        let is_literal =
            self.field.is_some_and(is_compared) || self.last.is_some() || self.comparison.is_some();
        if number_of.is_none() && is_literal {
            return self.literal(Some(number.to_owned()));
        }
        let Ok(number) = number.parse::<i64>() else {
            return Some(());
        };
        let comparison = self.comparison.take();
        let index = match (number_of, comparison) {
            (Some(Role::First | Role::Take), _) | (Some(_), Some(Comparison::AtMost)) => {
                Index::Slice(None, Some(number))
            }
            (Some(Role::Last), _) => Index::Slice(Some(number.wrapping_neg()), None),
            (Some(_), Some(Comparison::Less)) => Index::Slice(None, number.checked_sub(1)),
            (Some(_), _) => Index::One(number.saturating_sub(1)),
            (None, _) => Index::One(number),
        };
        if let Some(role) = number_of {
            self.meant.done.retain(|done| *done != role);
        }
        // `Last 1` is one.
        self.meant.index = Some(match index {
            Index::Slice(None, Some(1)) => Index::One(0),
            Index::Slice(Some(-1), None) => Index::One(-1),
            index => index,
        });
        Some(())
    }

    fn word(&mut self, text: &str, is_call: bool, at: usize, effort: &mut Effort) -> Option<()> {
        let is_as = |token: Option<&Token>| matches!(token, Some(Token::Word { text, .. }) if text.eq_ignore_ascii_case("as"));
        if is_as(self.before(at)) {
            if let Some((_, alias)) = self.meant.wanted.last_mut() {
                *alias = Some(text.to_owned());
            }
            return Some(());
        }
        let said = match roles(text) {
            said if said.is_empty() && is_call => called(text).into_iter().collect(),
            said => said,
        };
        let rows = self.rows;
        let is_rows = rows.names.iter().any(|name| name == text);
        let is_last = rows.names.last().is_some_and(|name| name == text);
        let field = rows.field(text, self.adjacent, effort);
        let is_field = field.is_some_and(|(field, _)| rows.is_named(field, text));
        // `x => x.id`
        let is_variable = matches!(self.tokens.get(at + 2), Some(Token::Word { text: other, .. }) if other == text);
        if self.names(at) && !is_rows && (is_field || !is_variable) {
            self.alias = Some(text.to_owned());
        } else if is_rows && !(is_field && self.meant.is_named && !is_last) {
            self.meant.is_named = true;
            self.adjacent = None;
        } else if is_field && (!is_call || said.is_empty()) {
            return self.named(field?.0);
        } else if !said.is_empty() {
            for role in said {
                self.role(role)?;
            }
            self.adjacent = self.adjacent.filter(|_| !is_call);
        } else if !self.meant.is_named
            && rows
                .names
                .iter()
                .any(|name| like(text, name, true, effort).is_some())
        {
            self.meant.is_named = true;
        } else if let Some((field, like)) = field
            && like > ALIKE
            && text.len() > 1
        {
            return self.named(field);
        } else {
            self.meant.is_strange = true;
        }
        Some(())
    }

    fn text(&mut self, text: &str, at: usize, effort: &mut Effort) -> Option<()> {
        let rows = self.rows;
        let is_compared = self.field.is_some() && self.comparison.is_some();
        let is_arrow = matches!(self.tokens.get(at + 1), Some(Token::Sign(sign)) if sign == "->");
        if self.names(at) && !is_arrow {
            self.alias = Some(text.to_owned());
            return Some(());
        }
        if is_compared {
            return self.literal(Some(text.to_owned()));
        }
        if rows.names.iter().any(|name| name == text) {
            self.meant.is_named = true;
            self.adjacent = None;
            return Some(());
        }
        let dotted = rows.fields.iter().position(|field| field.path == text);
        let field = rows.field(text, self.adjacent, effort);
        // In quotes stands the name itself, but for its case and signs.
        let field = field.filter(|(field, like)| rows.is_named(*field, text) || *like > SPELLED);
        if let Some(field) = dotted.or(field.map(|(field, _)| field)) {
            return self.named(field);
        }
        // An operator as an argument: `selectattr('type', 'equalto', 'server')`.
        let role = roles(text).first().copied();
        let role = role.filter(|role| matches!(role, Role::Compare(_)) && self.field.is_some());
        if let Some(role) = role {
            return self.role(role);
        }
        let is_separator = !text.chars().any(char::is_alphanumeric) || text.contains(['{', '%']);
        if is_separator {
            self.meant
                .separator
                .get_or_insert_with(|| between_places(text));
            return Some(());
        }
        self.literal(Some(text.to_owned()))
    }

    /// A field was named.
    fn named(&mut self, field: usize) -> Option<()> {
        let rows = self.rows;
        if let Some(outer) = self.adjacent {
            let (outside, inside) = (&rows.fields[outer].names, &rows.fields[field].names);
            // A step too far: `url.href`.
            if outer == field {
                return Some(());
            }
            // What lies around it was only on the way.
            let is_within = inside.len() > outside.len() && inside.starts_with(outside);
            if is_within
                && self
                    .meant
                    .wanted
                    .last()
                    .is_some_and(|(last, _)| *last == outer)
            {
                let (_, alias) = self.meant.wanted.pop()?;
                self.alias = self.alias.take().or(alias);
                if self.meant.key == Some(outer) {
                    self.meant.key = Some(field);
                }
            }
        }
        if std::mem::take(&mut self.wants_key) {
            self.meant.key = Some(field);
        }
        self.adjacent = Some(field);
        self.last = None;
        self.field = Some(field);
        let alias = self.alias.take();
        self.meant.wanted.push((field, alias));
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.len() > 1 {
            self.comparison = Some(Comparison::OneOf);
        }
        for literal in waiting {
            self.literal(literal)?;
        }
        Some(())
    }

    /// A word was read that is no name.
    fn role(&mut self, role: Role) -> Option<()> {
        match role {
            Role::Compare(comparison) => self.compare(comparison),
            Role::Not => self.is_not = true,
            Role::Or => self.is_or = true,
            Role::Truth(truth) => self.literal(Some(truth.to_string()))?,
            Role::Nothing => self.literal(None)?,
            Role::Something => {
                self.is_not = !self.is_not;
                self.literal(None)?;
            }
            Role::FromOne => self.number_of = Some(role),
            Role::Second => self.meant.index = Some(Index::One(1)),
            Role::Third => self.meant.index = Some(Index::One(2)),
            Role::Max | Role::Min | Role::Sort => {
                self.meant.done.push(role);
                self.wants_key = true;
            }
            Role::First | Role::Last | Role::Take => {
                self.meant.done.push(role);
                self.number_of = Some(role);
            }
            Role::As | Role::Plain => {}
            other => self.meant.done.push(other),
        }
        Some(())
    }

    /// A literal was read, null if it is `None`: a condition, if its field is known.
    fn literal(&mut self, literal: Option<String>) -> Option<()> {
        let field = match (self.field.take(), self.last) {
            (Some(field), _) => {
                let comparison = self.comparison.take().unwrap_or(Comparison::Equal);
                let is_unequal =
                    comparison == Comparison::Equal && std::mem::take(&mut self.is_not);
                let comparison = if is_unequal {
                    Comparison::Unequal
                } else {
                    comparison
                };
                Some((field, comparison, false))
            }
            // One of several values.
            (None, Some((field, comparison))) if self.comparison.is_none() => {
                Some((field, comparison, true))
            }
            _ => None,
        };
        let Some((field, comparison, is_other)) = field else {
            self.waiting.push(literal);
            return Some(());
        };
        let rows = self.rows;
        let own = &rows.fields[field];
        // Where it cannot be, one of the same name may.
        let others = rows
            .fields
            .iter()
            .filter(|other| other.names.last() == own.names.last())
            .take(MAX_ALIKE);
        let mut all = std::iter::once(own).chain(others);
        let condition =
            all.find_map(|field| rows.condition(field, comparison, literal.as_deref()))?;
        let sign = if is_other || std::mem::take(&mut self.is_or) {
            " || "
        } else {
            " && "
        };
        if !self.meant.conditions.is_empty() {
            self.meant.conditions.push_str(sign);
        }
        self.meant.conditions.push_str(&condition);
        self.conditions = self.conditions.checked_sub(1)?;
        let wanted = &mut self.meant.wanted;
        if !is_other && let Some(at) = wanted.iter().rposition(|(wanted, _)| *wanted == field) {
            wanted.remove(at);
        }
        if self.meant.key == Some(field) {
            self.meant.key = None;
        }
        self.last = Some((field, comparison));
        self.comparison = None;
        Some(())
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
