//! Statements of SQL: `SELECT url FROM items WHERE score > 1 ORDER BY score DESC LIMIT 3`.

use super::super::{
    super::compare::like,
    query::{Operator, Query},
};
use super::{Parser, Scope};
use crate::{error::Dialect, token::Kind};

/// What is selected of each row, or of all.
enum Column {
    Star,
    Member(String, Query),
    /// `COUNT(*)`
    Count,
    /// `SUM(score)`
    Fold(&'static str, Query),
}

impl Parser<'_, '_, '_> {
    pub(super) fn is_keyword(&self, ahead: usize, word: &str) -> bool {
        self.kind(ahead) == Kind::Word && self.text(ahead).eq_ignore_ascii_case(word)
    }

    pub(super) fn eat_keyword(&mut self, word: &str) -> bool {
        let found = self.is_keyword(0, word);
        self.at += usize::from(found);
        found
    }

    /// The whole statement. Joins, groups and distinct rows are not read.
    pub(super) fn statement(&mut self) -> Option<Query> {
        self.eat_keyword("select").then_some(())?;
        self.odd(Dialect::Sql.rule());
        let mut columns = vec![self.column()?];
        while self.eat(Kind::Comma) {
            columns.push(self.column()?);
        }
        self.eat_keyword("from").then_some(())?;
        let mut list = self.source()?;
        self.understood = Some(list.clone());
        if self.eat_keyword("where") {
            let condition = self.scoped(Scope::Fields, Self::any)?.query;
            list = list.filter(condition);
            self.understood = Some(list.clone());
        }
        list = self.ordered_rows(list)?;
        list = self.limited(list)?;
        self.at += usize::from(self.text(0) == ";");
        let is_whole = !matches!(list, Query::Slice(..));
        Some(match columns.as_slice() {
            [Column::Star] => list,
            [Column::Count] if is_whole => Query::Call("length", vec![list]),
            [Column::Fold(name, each)] if is_whole => {
                Query::Call(name, vec![list.map(each.clone())])
            }
            [Column::Member(_, each)] => list.map(each.clone()),
            columns => {
                let members = columns.iter().map(|column| match column {
                    Column::Member(name, each) => Some((name.clone(), each.clone())),
                    _ => None,
                });
                list.map(Query::Hash(members.collect::<Option<_>>()?))
            }
        })
    }

    fn column(&mut self) -> Option<Column> {
        if self.eat(Kind::Star) {
            return Some(Column::Star);
        }
        if self.tokens.is_call(self.at) {
            let name = self.text(0).to_ascii_lowercase();
            self.at += 2;
            let is_all = matches!(self.kind(0), Kind::Star | Kind::Number);
            let column = if is_all && name == "count" {
                self.at += 1;
                Column::Count
            } else {
                let each = self.scoped(Scope::Fields, Self::postfix)?.query;
                let name = ["sum", "avg", "max", "min"]
                    .into_iter()
                    .find(|one| *one == name);
                Column::Fold(name?, each)
            };
            return self.eat(Kind::RParen).then_some(column);
        }
        if self.is_keyword(0, "distinct") {
            return None;
        }
        let column = self.scoped(Scope::Fields, Self::postfix)?;
        let Query::Field(_, name) = &column.query else {
            return None;
        };
        let mut name = name.clone();
        if self.eat_keyword("as") {
            name = self.name()?;
        }
        (!column.stream).then_some(Column::Member(name, column.query))
    }

    /// The list of rows.
    fn source(&mut self) -> Option<Query> {
        let list = self.postfix()?;
        let is_root = match &list.query {
            Query::Field(base, name) => {
                let is_usual = matches!(
                    name.as_str(),
                    "result" | "results" | "data" | "response" | "output" | "table" | "json"
                );
                **base == Query::Here && is_usual && !(self.has_key)(name)
            }
            _ => false,
        };
        if list.stream {
            return None;
        }
        Some(if is_root { Query::Here } else { list.query })
    }

    fn ordered_rows(&mut self, list: Query) -> Option<Query> {
        if !self.eat_keyword("order") {
            return Some(list);
        }
        self.eat_keyword("by").then_some(())?;
        let by = self.scoped(Scope::Fields, Self::postfix)?.query;
        let falls = self.eat_keyword("desc");
        if !falls {
            self.eat_keyword("asc");
        }
        let reversed = |list: Query| Query::Call("reverse", vec![list]);
        let sorted = |list| Query::Call("sort_by", vec![list, Query::Reference(by.into())]);
        Some(if falls {
            // Rows that are equal stay in their order.
            reversed(sorted(reversed(list)))
        } else {
            sorted(list)
        })
    }

    fn limited(&mut self, list: Query) -> Option<Query> {
        if !self.eat_keyword("limit") {
            return Some(list);
        }
        let most = self.count()?;
        let from = if self.eat_keyword("offset") {
            self.count()?
        } else {
            0
        };
        let bounds = match from {
            0 => format!(":{most}"),
            from => format!("{from}:{}", from.checked_add(most)?),
        };
        Some(list.slice(bounds))
    }

    fn count(&mut self) -> Option<u32> {
        let count = self.text(0).parse().ok()?;
        self.at += 1;
        Some(count)
    }

    /// What follows an operand in a condition: `IS NULL`, `LIKE '%a%'`, `IN ('a', 'b')`; nothing if none does.
    pub(super) fn sql_test(&mut self, left: &Query) -> Option<Option<Query>> {
        if self.eat_keyword("is") {
            let sign = if self.eat_keyword("not") { "!=" } else { "==" };
            let test = left.clone().compare(sign, Query::literal("null"));
            return Some(self.eat_keyword("null").then_some(test));
        }
        let negative = self.is_keyword(0, "not");
        let ahead = usize::from(negative);
        let read = match self.text(ahead).to_ascii_lowercase().as_str() {
            "in" => Self::one_of,
            "like" => Self::like,
            "ilike" => Self::like_in_any_case,
            "between" => Self::between,
            _ => return None,
        };
        self.at += ahead + 1;
        let test = read(self, left);
        // A null is neither like another value nor unlike it.
        Some(test.map(|test| {
            if negative {
                unless_null(left, test.not())
            } else {
                test
            }
        }))
    }

    fn one_of(&mut self, left: &Query) -> Option<Query> {
        self.eat(Kind::LParen).then_some(())?;
        let mut values = Vec::new();
        loop {
            values.push(self.operand()?.query);
            if self.eat(Kind::RParen) {
                break;
            }
            self.eat(Kind::Comma).then_some(())?;
        }
        Some(Query::Call(
            "contains",
            vec![Query::List(values), left.clone()],
        ))
    }

    /// `BETWEEN 1 AND 3`, both included.
    fn between(&mut self, left: &Query) -> Option<Query> {
        let least = self.operand()?.query;
        self.eat_keyword("and").then_some(())?;
        let most = self.operand()?.query;
        let from = left.repeated()?.compare(">=", least);
        let to = left.repeated()?.compare("<=", most);
        Some(Query::Binary(Operator::And, from.into(), to.into()))
    }

    /// `NOT a = 'x'`: a null meets neither the condition nor its opposite.
    pub(super) fn sql_negation(&mut self) -> Option<Query> {
        // What several conditions make of a null is another matter.
        let begin = (self.kind(0) != Kind::LParen).then_some(self.at)?;
        let left = self.added()?.query;
        self.at = begin;
        let inner = self.nested(Self::negated)?.query;
        Some(unless_null(&left, inner.not()))
    }

    fn like_in_any_case(&mut self, left: &Query) -> Option<Query> {
        let pattern = self.content(0)?;
        self.at += 1;
        let (name, part) = like(&pattern).unwrap_or(("", pattern.as_str()));
        let is_plain = |sign: char| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '@' | '/');
        if !part.chars().all(is_plain) {
            return None;
        }
        let begin = if name.is_empty() || name == "starts_with" {
            "\\A"
        } else {
            ""
        };
        let end = if name.is_empty() || name == "ends_with" {
            "\\z"
        } else {
            ""
        };
        Some(
            left.clone()
                .matches(Query::text(&format!("(?i){begin}{part}{end}"))),
        )
    }

    fn like(&mut self, left: &Query) -> Option<Query> {
        let pattern = self.content(0)?;
        self.at += 1;
        if !pattern.contains(['%', '_']) {
            return Some(left.clone().compare("==", Query::text(&pattern)));
        }
        let (name, part) = like(&pattern)?;
        Some(Query::Call(name, vec![left.clone(), Query::text(part)]))
    }
}

/// A condition that no row without the value meets.
pub(super) fn unless_null(value: &Query, condition: Query) -> Query {
    let is_there = value.clone().compare("!=", Query::literal("null"));
    let exact = Query::Binary(Operator::And, is_there.into(), condition.clone().into());
    Query::Exactly(condition.into(), exact.into())
}
