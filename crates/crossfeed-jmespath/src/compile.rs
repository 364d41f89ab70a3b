//! From the parser's tree to the tree that is evaluated.
//!
//! Left-associative chains become flat lists, and paths of fields and indexes one node; functions
//! become an enum with their arity checked; literals keep the digits they were written with, which
//! the parser's own tree does not.

use crate::{error::ParseError, function::Function};
use crossfeed_json::{ColumnRequest, Document, Kind, quoted, short_number};
use jmespath::ast::{Ast, Comparator, KeyValuePair};
use std::{mem::discriminant, num::NonZeroU32};

/// The greatest depth of the tree: a backstop, since the guard's limit is far lower.
const MAX_TREE_DEPTH: usize = 512;

/// An expression or a part of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Node {
    /// `@`: the current value.
    Current,
    /// `a.b[0]`: fields and indexes only.
    Path(Path),
    /// A JSON literal, as the document it was written as.
    Literal(Box<Document>),
    /// A literal text.
    Text(Box<str>),
    /// `a.[b]`, `a | b`: each on the outcome of the one before.
    Chain(Box<[Node]>),
    /// `source[*].each` and its relatives.
    Project(Box<Projection>),
    /// `a || b`: the first that is truthy, else the last.
    Or(Box<[Node]>),
    /// `a && b`: the first that is not truthy, else the last.
    And(Box<[Node]>),
    /// `!a`.
    Not(Box<Node>),
    /// `a == b` and its relatives.
    Compare(Box<Comparison>),
    /// `[a, b]`: null on null.
    List(Box<[Node]>),
    /// `{key: a}`: null on null.
    Hash(Box<Hash>),
    /// A function and its arguments.
    Call(Function, Box<[Node]>),
    /// `&a`, an argument of the functions that take one.
    Reference(Box<Node>),
}

/// A path of fields and indexes.
#[derive(Debug)]
pub struct Path {
    pub(crate) parts: Box<[Part]>,
    /// The cost of following it, in steps: one for each node of the parser, and one for every 64 bytes of
    /// long names.
    steps: u32,
    /// The number, from 1, of the column that holds the path's values in the projection around it. Recursion
    /// over expressions holds nodes on the stack, so small nodes allow deep expressions on small stacks.
    column: Option<NonZeroU32>,
}

#[derive(Debug)]
pub(crate) enum Part {
    /// A member; the number identifies the prediction of the look-up.
    Field(Box<str>, usize),
    Index(i64),
}

/// `source[*].each` and its relatives.
#[derive(Debug)]
#[non_exhaustive]
pub struct Projection {
    /// The source, evaluated on the current value.
    pub source: Node,
    /// Which of its values it takes.
    pub elements: Elements,
    /// The expression for each of them; nulls are left out.
    pub each: Node,
    /// The paths that are followed from every item.
    pub(crate) columns: Box<[ColumnRequest]>,
}

/// Which values a projection takes.
#[derive(Debug)]
#[non_exhaustive]
pub enum Elements {
    /// `[*]`: each item of a list.
    Items,
    /// `*`: each value of an object.
    Values,
    /// `[]`: each item of a list, with nested lists replaced by their items.
    Flattened,
    /// `[?a]`: the items for which `a` is truthy.
    Filtered(Node),
    /// `[start:stop:step]`: some of the items.
    #[non_exhaustive]
    #[expect(missing_docs, reason = "they are named as they are written")]
    Slice {
        start: Option<i64>,
        stop: Option<i64>,
        step: i64,
    },
}

/// Two values that are compared.
#[derive(Debug)]
pub struct Comparison {
    pub(crate) operator: Comparator,
    pub(crate) left: Node,
    pub(crate) right: Node,
    /// The right side, if it is a literal scalar.
    pub(crate) constant: Option<Constant>,
}

/// A literal that is compared with many values, read once.
#[derive(Debug)]
pub(crate) enum Constant {
    Number {
        digits: Box<str>,
        /// The number as a float, if it is distinct as one.
        short: Option<f64>,
    },
    Text(Box<[u8]>),
}

/// `{key: value}`: distinct keys in the order of their first occurrence.
#[derive(Debug)]
#[non_exhaustive]
pub struct Hash {
    /// The keys.
    pub keys: Box<[Box<str>]>,
    /// Each key as it is written, colon included.
    pub(crate) written: Box<[Box<[u8]>]>,
    /// A value for each key.
    pub values: Box<[Node]>,
}

/// One step of the path that an expression follows through a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a path has these three kinds of steps"
)]
pub enum SpineStep<'a> {
    /// The member of this name.
    Field(&'a str),
    /// The item at this place, from the end if negative.
    Index(i64),
    /// Each item of a list or each value of an object.
    Each,
}

impl<'a> From<&'a Part> for SpineStep<'a> {
    fn from(part: &'a Part) -> Self {
        match part {
            Part::Field(name, _) => Self::Field(name),
            Part::Index(index) => Self::Index(*index),
        }
    }
}

/// Gives the tree and the number of field look-ups in it.
pub(crate) fn compile(ast: Ast, text: &str) -> Result<(Node, usize), ParseError> {
    let mut compiler = Compiler { text, sites: 0 };
    let root = compiler.node(ast, 0)?;
    Ok((root, compiler.sites))
}

struct Compiler<'a> {
    text: &'a str,
    sites: usize,
}

impl Compiler<'_> {
    fn node(&mut self, ast: Ast, depth: usize) -> Result<Node, ParseError> {
        if depth > MAX_TREE_DEPTH {
            return Err(ParseError::TooDeep {
                found: depth,
                how: "nested in each other",
                limit: MAX_TREE_DEPTH,
            });
        }
        let inner = depth + 1;
        Ok(match ast {
            Ast::Identity { .. } => Node::Current,
            Ast::Field { name, .. } => {
                self.sites += 1;
                Node::Path(Path::new(Part::Field(name.into(), self.sites - 1)))
            }
            Ast::Index { idx, .. } => Node::Path(Path::new(Part::Index(idx.into()))),
            Ast::Literal { offset, value } => self.literal(offset, &value),
            Ast::Subexpr { .. } => chain_of(self.nodes(unroll(ast), inner)?),
            Ast::Or { .. } => Node::Or(self.nodes(unroll(ast), inner)?.into()),
            Ast::And { .. } => Node::And(self.nodes(unroll(ast), inner)?.into()),
            Ast::Not { node, .. } => Node::Not(Box::new(self.node(*node, inner)?)),
            Ast::Comparison {
                comparator,
                lhs,
                rhs,
                ..
            } => {
                let left = self.node(*lhs, inner)?;
                let right = self.node(*rhs, inner)?;
                Node::Compare(Box::new(Comparison {
                    operator: comparator,
                    constant: Constant::from_literal(&right),
                    left,
                    right,
                }))
            }
            Ast::Projection { lhs, rhs, .. } => self.projection(*lhs, *rhs, inner)?,
            // The parser creates these only within a projection; alone they would mean the same.
            Ast::Condition { .. }
            | Ast::Flatten { .. }
            | Ast::ObjectValues { .. }
            | Ast::Slice { .. } => self.projection(ast, Ast::Identity { offset: 0 }, inner)?,
            Ast::MultiList { elements, .. } => Node::List(self.nodes(elements, inner)?.into()),
            Ast::MultiHash { elements, .. } => self.hash(elements, inner)?,
            Ast::Function { name, args, .. } => {
                let function = Function::named(&name).ok_or_else(|| {
                    let nearest = Function::nearest(&name);
                    ParseError::UnknownFunction { name, nearest }
                })?;
                function.check_arity(args.len())?;
                Node::Call(function, self.nodes(args, inner)?.into())
            }
            Ast::Expref { ast, .. } => Node::Reference(Box::new(self.node(*ast, inner)?)),
        })
    }

    fn nodes(&mut self, parts: Vec<Ast>, depth: usize) -> Result<Vec<Node>, ParseError> {
        parts.into_iter().map(|ast| self.node(ast, depth)).collect()
    }

    fn hash(&mut self, elements: Vec<KeyValuePair>, depth: usize) -> Result<Node, ParseError> {
        let mut keys: Vec<Box<str>> = Vec::with_capacity(elements.len());
        let mut values = Vec::with_capacity(elements.len());
        for pair in elements {
            let value = self.node(pair.value, depth)?;
            match keys.iter().position(|key| **key == *pair.key) {
                Some(at) => values[at] = value,
                None => {
                    keys.push(pair.key.into());
                    values.push(value);
                }
            }
        }
        Ok(Node::Hash(Box::new(Hash {
            written: keys.iter().map(|key| written(key)).collect(),
            keys: keys.into(),
            values: values.into(),
        })))
    }

    fn projection(&mut self, lhs: Ast, rhs: Ast, depth: usize) -> Result<Node, ParseError> {
        let (source, elements) = match lhs {
            Ast::Flatten { node, .. } => (self.node(*node, depth)?, Elements::Flattened),
            Ast::ObjectValues { node, .. } => (self.node(*node, depth)?, Elements::Values),
            Ast::Slice {
                start, stop, step, ..
            } => {
                if step == 0 {
                    return Err(ParseError::ZeroStep);
                }
                let elements = Elements::Slice {
                    start: start.map(i64::from),
                    stop: stop.map(i64::from),
                    step: step.into(),
                };
                (Node::Current, elements)
            }
            other => (self.node(other, depth)?, Elements::Items),
        };
        let (mut elements, mut each) = match (elements, rhs) {
            (
                Elements::Items,
                Ast::Condition {
                    predicate, then, ..
                },
            ) => {
                let predicate = self.node(*predicate, depth)?;
                (Elements::Filtered(predicate), self.node(*then, depth)?)
            }
            (elements, rhs) => (elements, self.node(rhs, depth)?),
        };
        let mut columns = Vec::new();
        if let Elements::Filtered(predicate) = &mut elements {
            predicate.ask_for_columns(true, &mut columns);
        }
        each.ask_for_columns(false, &mut columns);
        Ok(Node::Project(Box::new(Projection {
            source,
            elements,
            each,
            columns: columns.into(),
        })))
    }

    /// A literal with the digits it was written with: the parser's tree keeps 64 bits of a number.
    fn literal(&self, offset: usize, value: &jmespath::Variable) -> Node {
        if let jmespath::Variable::String(text) = value {
            return Node::Text(text.as_str().into());
        }
        let written = self.text.get(offset..).and_then(|rest| {
            let inside = rest.strip_prefix('`')?;
            Some(inside[..closing(inside)?].replace("\\`", "`"))
        });
        let json = written.unwrap_or_else(|| value.to_string());
        Node::Literal(Box::new(Document::new(json.trim().to_owned())))
    }
}

/// A key as it is written in an object, colon included.
fn written(key: &str) -> Box<[u8]> {
    format!("{}:", quoted(key)).into_bytes().into()
}

/// A chain, or one path if it is all fields and indexes.
fn chain_of(parts: Vec<Node>) -> Node {
    if !parts.iter().all(Node::is_plain_path) {
        return Node::Chain(parts.into());
    }
    let mut path = Path {
        parts: Box::default(),
        steps: 1,
        column: None,
    };
    let mut joined = Vec::new();
    for part in parts {
        match part {
            Node::Path(inner) => {
                joined.extend(inner.parts);
                path.steps += inner.steps;
            }
            // `@`
            _ => path.steps += 1,
        }
    }
    path.parts = joined.into();
    Node::Path(path)
}

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "paths have no other steps")]
pub enum Step<'p> {
    /// To the member of an object.
    Field(&'p str),
    /// To the item of a list; a negative index counts from its end.
    Index(i64),
}

impl Path {
    /// The steps, in order.
    pub(crate) fn each_step(&self) -> impl Iterator<Item = Step<'_>> {
        self.parts.iter().map(|part| match part {
            Part::Field(name, _) => Step::Field(name),
            Part::Index(index) => Step::Index(*index),
        })
    }

    fn new(part: Part) -> Self {
        let long = match &part {
            // An expression is shorter than 4 GiB.
            Part::Field(name, _) => name.len() as u32 / 64,
            Part::Index(_) => 0,
        };
        Self {
            parts: [part].into(),
            steps: 1 + long,
            column: None,
        }
    }

    /// The cost of following it, in steps.
    #[inline]
    pub(crate) fn steps(&self) -> u64 {
        self.steps.into()
    }

    /// The column that holds the path's values in the projection around it.
    #[inline]
    pub(crate) fn column(&self) -> Option<usize> {
        self.column.map(|number| number.get() as usize - 1)
    }

    /// The fields and indexes.
    pub fn spine(&self) -> impl Iterator<Item = SpineStep<'_>> {
        self.parts.iter().map(SpineStep::from)
    }

    /// The fields of a path that is nothing else.
    pub(crate) fn names(&self) -> Option<Vec<Box<str>>> {
        let names = self.parts.iter().map(|part| match part {
            Part::Field(name, _) => Some(name.clone()),
            Part::Index(_) => None,
        });
        names.collect()
    }
}

impl Comparison {
    /// Whether it compares by order, which gives null for values without one.
    pub fn is_ordered(&self) -> bool {
        !matches!(self.operator, Comparator::Equal | Comparator::NotEqual)
    }
}

impl Constant {
    /// The number or string of a literal.
    fn from_literal(literal: &Node) -> Option<Self> {
        let document = match literal {
            Node::Text(text) => return Some(Self::Text(text.as_bytes().into())),
            Node::Literal(document) => document,
            _ => return None,
        };
        let value = document.root().ok()?;
        match value.kind() {
            Kind::Number => Some(Self::Number {
                digits: value.as_number()?.into(),
                short: short_number(value.raw()),
            }),
            Kind::String => Some(Self::Text(value.string_bytes()?.into())),
            _ => None,
        }
    }
}

/// The offset of the backtick that ends a literal.
fn closing(inside: &str) -> Option<usize> {
    let mut escaped = false;
    inside.char_indices().find_map(|(at, c)| {
        if escaped {
            escaped = false;
            return None;
        }
        escaped = c == '\\';
        (c == '`').then_some(at)
    })
}

/// The parts of a left-deep chain of one operator, in order.
fn unroll(mut ast: Ast) -> Vec<Ast> {
    let operator = discriminant(&ast);
    let mut parts = Vec::new();
    while discriminant(&ast) == operator
        && let Ast::Subexpr { lhs, rhs, .. } | Ast::Or { lhs, rhs, .. } | Ast::And { lhs, rhs, .. } =
            ast
    {
        parts.push(*rhs);
        ast = *lhs;
    }
    parts.push(ast);
    parts.reverse();
    parts
}

impl Node {
    pub(crate) fn is_plain_path(&self) -> bool {
        matches!(self, Self::Current | Self::Path(_))
    }

    /// Whether a part of it compares one path with another.
    pub(crate) fn compares_fields(&self) -> bool {
        let any = |nodes: &[Self]| nodes.iter().any(Self::compares_fields);
        match self {
            Self::Current | Self::Path(_) | Self::Literal(_) | Self::Text(_) => false,
            Self::Compare(comparison) => {
                let sides = [&comparison.left, &comparison.right];
                sides.iter().all(|side| matches!(side, Self::Path(_)))
                    || sides.iter().any(|side| side.compares_fields())
            }
            Self::Project(projection) => {
                let filters = match &projection.elements {
                    Elements::Filtered(predicate) => predicate.compares_fields(),
                    _ => false,
                };
                filters || projection.source.compares_fields() || projection.each.compares_fields()
            }
            Self::Chain(nodes) | Self::Or(nodes) | Self::And(nodes) | Self::List(nodes) => {
                any(nodes)
            }
            Self::Hash(hash) => any(&hash.values),
            Self::Call(_, arguments) => any(arguments),
            Self::Not(inner) | Self::Reference(inner) => inner.compares_fields(),
        }
    }

    /// Gives each path of fields that the node follows from its own value the number of a column, built at
    /// once if the node is certainly evaluated and the path certainly followed. Nodes that read other values,
    /// or are not paths, are left alone.
    fn ask_for_columns(&mut self, at_once: bool, columns: &mut Vec<ColumnRequest>) {
        match self {
            Self::Path(path) => {
                let Some(names) = path.names().filter(|names| !names.is_empty()) else {
                    return;
                };
                let known = columns.iter().position(|column| *column.path == *names);
                path.column = NonZeroU32::new(known.unwrap_or(columns.len()) as u32 + 1);
                match known.and_then(|known| columns.get_mut(known)) {
                    Some(known) => known.at_once |= at_once,
                    None => columns.push(ColumnRequest::new(names, at_once)),
                }
            }
            // Parts after the first are evaluated for some items only, maybe for none.
            Self::Or(parts) | Self::And(parts) => {
                let mut at_once = at_once;
                for part in parts {
                    part.ask_for_columns(at_once, columns);
                    at_once = false;
                }
            }
            Self::List(parts) => {
                for part in parts {
                    part.ask_for_columns(at_once, columns);
                }
            }
            Self::Hash(hash) => {
                for value in &mut hash.values {
                    value.ask_for_columns(at_once, columns);
                }
            }
            Self::Not(inner) => inner.ask_for_columns(at_once, columns),
            Self::Compare(comparison) => {
                if comparison.constant.is_none() {
                    return;
                }
                comparison.left.ask_for_columns(at_once, columns);
                if let (Self::Path(path), Some(Constant::Number { .. })) =
                    (&comparison.left, &comparison.constant)
                    && let Some(column) = path.column().and_then(|at| columns.get_mut(at))
                {
                    column.numbers = true;
                }
            }
            _ => {}
        }
    }

    /// Whether the node reads only the member `name` of its value.
    pub(crate) fn reads_only(&self, name: &str) -> bool {
        match self {
            Self::Current => false,
            Self::Path(path) => {
                matches!(path.parts.first(), Some(Part::Field(first, _)) if **first == *name)
            }
            Self::Literal(_) | Self::Text(_) | Self::Reference(_) => true,
            // The other nodes see the value of the first one.
            Self::Chain(parts) => parts.first().is_some_and(|first| first.reads_only(name)),
            Self::Project(projection) => projection.source.reads_only(name),
            Self::Or(parts) | Self::And(parts) | Self::List(parts) => {
                parts.iter().all(|part| part.reads_only(name))
            }
            Self::Hash(hash) => hash.values.iter().all(|value| value.reads_only(name)),
            Self::Call(_, arguments) => arguments.iter().all(|argument| argument.reads_only(name)),
            Self::Not(inner) => inner.reads_only(name),
            Self::Compare(comparison) => {
                comparison.left.reads_only(name) && comparison.right.reads_only(name)
            }
        }
    }

    /// Adds the steps of the path that this node follows; false where the path ends.
    pub(crate) fn spine<'a>(&'a self, steps: &mut Vec<SpineStep<'a>>) -> bool {
        // A path ends with the first part of a node that is not a path.
        let first = match self {
            Self::Current => return true,
            Self::Path(path) => {
                steps.extend(path.spine());
                return true;
            }
            Self::Chain(parts) => return parts.iter().all(|part| part.spine(steps)),
            Self::Project(projection) => {
                if !projection.source.spine(steps) {
                    return false;
                }
                steps.push(SpineStep::Each);
                return projection.each.spine(steps);
            }
            Self::Or(parts) | Self::And(parts) => parts.first(),
            Self::Call(_, arguments) => {
                let mut arguments = arguments.iter();
                arguments.find(|argument| !matches!(argument, Self::Reference(_)))
            }
            Self::Not(inner) => Some(&**inner),
            Self::Compare(comparison) => Some(&comparison.left),
            Self::Literal(_)
            | Self::Text(_)
            | Self::List(_)
            | Self::Hash(_)
            | Self::Reference(_) => None,
        };
        if let Some(first) = first {
            first.spine(steps);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Elements, Node};
    use crate::Expression;

    fn all(nodes: &[Node]) -> String {
        let said: Vec<_> = nodes.iter().map(said).collect();
        said.join(", ")
    }

    fn said(node: &Node) -> String {
        match node {
            Node::Path(path) => format!("{:?}", path.spine().collect::<Vec<_>>()),
            Node::Text(text) => format!("{text:?}"),
            Node::Chain(parts) => format!("Chain({})", all(parts)),
            Node::Project(projection) => {
                let elements = match &projection.elements {
                    Elements::Filtered(predicate) => format!("Filtered({})", said(predicate)),
                    Elements::Slice { .. } => "Slice".to_owned(),
                    elements => format!("{elements:?}"),
                };
                format!(
                    "{elements} of {}: {}",
                    said(&projection.source),
                    said(&projection.each)
                )
            }
            Node::Or(parts) => format!("Or({})", all(parts)),
            Node::And(parts) => format!("And({})", all(parts)),
            Node::Not(inner) => format!("Not({})", said(inner)),
            Node::Compare(comparison) if comparison.is_ordered() => "Order".to_owned(),
            Node::Compare(_) => "Equality".to_owned(),
            Node::List(parts) => format!("List({})", all(parts)),
            Node::Hash(hash) => format!("Hash({:?}: {})", hash.keys, all(&hash.values)),
            Node::Call(function, arguments) => format!("{}({})", function.name(), all(arguments)),
            Node::Reference(inner) => format!("&{}", said(inner)),
            other => format!("{other:?}"),
        }
    }

    fn check(expression: &str, expected: &str) {
        let expression = Expression::parse(expression).unwrap();
        assert_eq!(said(expression.root()), expected, "{}", expression.text());
    }

    #[test]
    fn forms_follow_the_grammar() {
        check("@", "Current");
        check("a[0]", r#"[Field("a"), Index(0)]"#);
        check("a > b", "Order");
        check("a == b", "Equality");
        check("!a", r#"Not([Field("a")])"#);
        check(
            "a[?b].c",
            r#"Filtered([Field("b")]) of [Field("a")]: [Field("c")]"#,
        );
        check("*", "Values of Current: Current");
        check("[1:]", "Slice of Current: Current");
        check("a[].b", r#"Flattened of [Field("a")]: [Field("b")]"#);
        check(
            "sort_by(a, &b) | [{k: 'v'}]",
            r#"Chain(sort_by([Field("a")], &[Field("b")]), List(Hash(["k"]: "v")))"#,
        );
        check(
            "a || b && c",
            r#"Or([Field("a")], And([Field("b")], [Field("c")]))"#,
        );
        check(
            "a.b || c || d",
            r#"Or([Field("a"), Field("b")], [Field("c")], [Field("d")])"#,
        );
    }
}
