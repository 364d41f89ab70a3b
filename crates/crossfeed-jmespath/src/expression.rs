//! An expression: parsed once, shared by any number of evaluations.

use crate::{
    compile::{self, Node, SpineStep, Step},
    error::ParseError,
    guard,
    token::{Kind, Tokens},
};
use crossfeed_json::Document;
use std::borrow::Cow;

/// A parsed expression.
///
/// ```
/// use crossfeed_jmespath::Expression;
///
/// let expression = Expression::parse("items[0].url")?;
/// assert!(expression.is_plain_path());
/// assert!(Expression::parse("items[").is_err());
/// # Ok::<(), crossfeed_jmespath::ParseError>(())
/// ```
#[derive(Debug)]
pub struct Expression {
    text: Box<str>,
    pub(crate) root: Node,
    /// Number of field look-ups in the program, each with a prediction of its own.
    pub(crate) sites: usize,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// [`ParseError`]; its variants show the input that causes them.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let tokens = Tokens::new(text);
        let (nesting, operators) = (guard::nesting_of(&tokens), guard::operators_of(&tokens));
        for (found, limit, how) in [
            (nesting, guard::MAX_NESTING, "nested in each other"),
            (operators, guard::MAX_OPERATORS, "in one expression"),
        ] {
            if found > limit {
                return Err(ParseError::TooDeep { found, how, limit });
            }
        }
        let ast =
            jmespath::parse(&parseable(&tokens)).map_err(|error| syntax(text, error.offset))?;
        if let Some(offset) = guard::outside_grammar(&tokens) {
            return Err(syntax(text, offset));
        }
        let (root, sites) = compile::compile(ast, text)?;
        Ok(Self {
            text: text.into(),
            root,
            sites,
        })
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the expression consists of fields and indexes only, so that it names a place that exists or is
    /// absent.
    pub fn is_plain_path(&self) -> bool {
        self.root.is_plain_path()
    }

    /// The steps of a path of fields and indexes; `None` for `@` and all that is more.
    ///
    /// ```
    /// use crossfeed_jmespath::{Expression, Step};
    ///
    /// let expression = Expression::parse("items[-1].url")?;
    /// let steps: Vec<Step<'_>> = expression.steps().ok_or("it is a path")?.collect();
    /// assert_eq!(steps, [Step::Field("items"), Step::Index(-1), Step::Field("url")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn steps(&self) -> Option<impl Iterator<Item = Step<'_>>> {
        match &self.root {
            Node::Path(path) => Some(path.each_step()),
            _ => None,
        }
    }

    /// Whether the expression reads only the member `name` of a value, so that it gives the same on any value
    /// with that member.
    ///
    /// ```
    /// use crossfeed_jmespath::Expression;
    ///
    /// assert!(Expression::parse("length(value[?score > `1`])")?.reads_only("value"));
    /// assert!(!Expression::parse("[value, keys(@)]")?.reads_only("value"));
    /// # Ok::<(), crossfeed_jmespath::ParseError>(())
    /// ```
    pub fn reads_only(&self, name: &str) -> bool {
        self.root.reads_only(name)
    }

    /// Whether the expression compares one field with another, as `[?status == "active"]` does.
    ///
    /// ```
    /// use crossfeed_jmespath::Expression;
    ///
    /// assert!(Expression::parse("[?status == \"active\"]")?.compares_fields());
    /// assert!(!Expression::parse("[?status == 'active']")?.compares_fields());
    /// # Ok::<(), crossfeed_jmespath::ParseError>(())
    /// ```
    pub fn compares_fields(&self) -> bool {
        self.root.compares_fields()
    }

    /// The root of the expression's tree.
    ///
    /// ```
    /// use crossfeed_jmespath::{Expression, Node};
    ///
    /// let expression = Expression::parse("{n: length(items)}")?;
    /// assert!(matches!(expression.root(), Node::Hash(hash) if *hash.keys[0] == *"n"));
    /// # Ok::<(), crossfeed_jmespath::ParseError>(())
    /// ```
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The path that the expression follows, as far as it is one: filters and projections are
    /// [`SpineStep::Each`], a function stands for its first argument.
    pub fn spine(&self) -> Vec<SpineStep<'_>> {
        let mut steps = Vec::new();
        self.root.spine(&mut steps);
        steps
    }
}

/// The text with valid tokens that the parser cannot hold replaced: an index beyond 32 bits by the largest, a
/// literal such as `` `1e400` `` by a number. Literals are read from the original text.
fn parseable<'a>(tokens: &Tokens<'a>) -> Cow<'a, str> {
    const LARGEST: &str = "2147483647";
    let mut out = Cow::Borrowed(tokens.source());
    for (index, token) in tokens.iter() {
        let (inside, stand_in) = match token.kind {
            Kind::Number => {
                let written = tokens.text(index);
                let digits = written.strip_prefix('-').unwrap_or(written);
                let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
                if !all_digits || digits.len() < LARGEST.len() || digits.parse::<i32>().is_ok() {
                    continue;
                }
                (token.end - digits.len()..token.end, LARGEST)
            }
            Kind::Literal => match tokens.content(index) {
                Some(inside) if needs_stand_in(inside) => (token.start + 1..token.end - 1, "0"),
                _ => continue,
            },
            _ => continue,
        };
        let width = inside.len();
        out.to_mut()
            .replace_range(inside, &format!("{stand_in:width$}"));
    }
    out
}

/// Whether the inside of a literal is JSON that the parser cannot hold.
fn needs_stand_in(inside: &str) -> bool {
    let json = inside.replace("\\`", "`");
    jmespath::Variable::from_json(&json).is_err()
        && Document::new(json.trim().to_owned()).root().is_ok()
}

/// A syntax error at a byte offset, which the parser gives approximately.
fn syntax(text: &str, offset: usize) -> ParseError {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let rest = &text[at..];
    let found = if rest.trim().is_empty() {
        "end".to_owned()
    } else {
        let short: String = rest.chars().take(12).collect();
        let more = if short.len() < rest.len() { "…" } else { "" };
        format!("`{short}{more}`")
    };
    ParseError::Syntax {
        position: text[..at].chars().count() + 1,
        found,
    }
}
