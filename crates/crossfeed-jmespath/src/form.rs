//! What an expression is made of, for code that reasons about expressions without evaluating them.

use crate::{
    compile::{Node, Operator, Over, SpineStep},
    expression::Expression,
};
use crossfeed_json::Document;

/// The form of an expression or of a part of it. What a part is evaluated on is said at each.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Form<'a> {
    /// `@`: the value at hand.
    Current,
    /// `a.b[0]`: [`SpineStep::Field`]s and [`SpineStep::Index`]es only.
    Path(Vec<SpineStep<'a>>),
    /// A JSON literal, as it was written.
    Literal(&'a Document),
    /// A literal text.
    Text(&'a str),
    /// `a.[b]`, `a | b`: each on the outcome of the one before.
    Chain(Vec<Self>),
    /// `source[*].each` and its relatives.
    Projection {
        /// What is gone over, on the value at hand.
        source: Box<Self>,
        /// Which of its values are taken.
        over: FormOver<'a>,
        /// What each of them gives; null is left out.
        each: Box<Self>,
    },
    /// `a || b`: the first that is truthy, else the last.
    Or(Vec<Self>),
    /// `a && b`: the first that is not truthy, else the last.
    And(Vec<Self>),
    /// `!a`.
    Not(Box<Self>),
    /// `a == b` and its relatives.
    Compare {
        /// Whether it compares by order, which gives null where there is none.
        ordered: bool,
    },
    /// `[a, b]`: null on null.
    List(Vec<Self>),
    /// `{key: a}`: null on null; the keys are distinct.
    Hash(Vec<(&'a str, Self)>),
    /// A function by its name, and its arguments.
    Call(&'static str, Vec<Self>),
    /// `&a`, an argument of the functions that take one.
    Reference(Box<Self>),
}

/// Which values a projection takes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FormOver<'a> {
    /// `[*]`: each item of a list.
    Items,
    /// `*`: each value of an object.
    Values,
    /// `[]`: each item of a list, and in place of a list within it its items.
    Flattened,
    /// `[?a]`: the items for which `a` is truthy.
    Filtered(Box<Form<'a>>),
    /// `[start:stop:step]`: some of the items.
    Slice,
}

impl Expression {
    /// What the expression is made of.
    ///
    /// ```
    /// use crossfeed_jmespath::{Expression, Form};
    ///
    /// let expression = Expression::parse("{n: length(items)}")?;
    /// assert!(matches!(&expression.form(), Form::Hash(members) if members[0].0 == "n"));
    /// # Ok::<(), crossfeed_jmespath::ParseError>(())
    /// ```
    #[must_use]
    pub fn form(&self) -> Form<'_> {
        Form::of(&self.root)
    }
}

impl<'a> Form<'a> {
    /// Recursion is bounded by the nesting of the expression.
    fn of(node: &'a Node) -> Self {
        let all = |nodes: &'a [Node]| nodes.iter().map(Self::of).collect();
        match node {
            Node::Current => Self::Current,
            Node::Path(path) => Self::Path(path.parts.iter().map(SpineStep::from).collect()),
            Node::Literal(document) => Self::Literal(document),
            Node::Text(text) => Self::Text(text),
            Node::Chain(parts) => Self::Chain(all(parts)),
            Node::Project(projection) => Self::Projection {
                source: Box::new(Self::of(&projection.source)),
                over: match &projection.over {
                    Over::Items => FormOver::Items,
                    Over::Values => FormOver::Values,
                    Over::Flattened => FormOver::Flattened,
                    Over::Filtered(predicate) => FormOver::Filtered(Box::new(Self::of(predicate))),
                    Over::Slice { .. } => FormOver::Slice,
                },
                each: Box::new(Self::of(&projection.each)),
            },
            Node::Or(parts) => Self::Or(all(parts)),
            Node::And(parts) => Self::And(all(parts)),
            Node::Not(inner) => Self::Not(Box::new(Self::of(inner))),
            Node::Compare(comparison) => Self::Compare {
                ordered: !matches!(comparison.operator, Operator::Equal | Operator::NotEqual),
            },
            Node::List(parts) => Self::List(all(parts)),
            Node::Hash(hash) => {
                let keys = hash.keys.iter().map(|key| &**key);
                Self::Hash(keys.zip(hash.values.iter().map(Self::of)).collect())
            }
            Node::Call(function, arguments) => Self::Call(function.name(), all(arguments)),
            Node::Reference(inner) => Self::Reference(Box::new(Self::of(inner))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Expression;

    fn check(expression: &str, expected: &str) {
        let form = format!("{:?}", Expression::parse(expression).unwrap().form());
        assert_eq!(form, expected, "{expression}");
    }

    #[test]
    fn forms_follow_the_grammar() {
        check("@", "Current");
        check("a[0]", r#"Path([Field("a"), Index(0)])"#);
        check("a > b", "Compare { ordered: true }");
        check("a == b", "Compare { ordered: false }");
        check("!a", r#"Not(Path([Field("a")]))"#);
        check(
            "a[?b].c",
            r#"Projection { source: Path([Field("a")]), over: Filtered(Path([Field("b")])), each: Path([Field("c")]) }"#,
        );
        check(
            "*",
            "Projection { source: Current, over: Values, each: Current }",
        );
        check(
            "[1:]",
            "Projection { source: Current, over: Slice, each: Current }",
        );
        check(
            "a[].b",
            r#"Projection { source: Path([Field("a")]), over: Flattened, each: Path([Field("b")]) }"#,
        );
        check(
            "sort_by(a, &b) | [{k: 'v'}]",
            r#"Chain([Call("sort_by", [Path([Field("a")]), Reference(Path([Field("b")]))]), List([Hash([("k", Text("v"))])])])"#,
        );
        check(
            "a || b && c",
            r#"Or([Path([Field("a")]), And([Path([Field("b")]), Path([Field("c")])])])"#,
        );
    }
}
