//! The functions of JMESPath: their names, and how many arguments each takes.

use crate::error::ParseError;

macro_rules! functions {
    ($($name:ident = $text:literal takes $least:literal to $most:expr;)*) => {
        /// A function, by the name it has in expressions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Function {
            $($name,)*
        }

        impl Function {
            const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The least and the most number of arguments.
            fn arity(self) -> (usize, usize) {
                match self {
                    $(Self::$name => ($least, $most),)*
                }
            }
        }
    };
}

functions! {
    Abs = "abs" takes 1 to 1;
    Avg = "avg" takes 1 to 1;
    Ceil = "ceil" takes 1 to 1;
    Contains = "contains" takes 2 to 2;
    EndsWith = "ends_with" takes 2 to 2;
    Floor = "floor" takes 1 to 1;
    Join = "join" takes 2 to 2;
    Keys = "keys" takes 1 to 1;
    Length = "length" takes 1 to 1;
    Map = "map" takes 2 to 2;
    Max = "max" takes 1 to 1;
    MaxBy = "max_by" takes 2 to 2;
    Merge = "merge" takes 1 to usize::MAX;
    Min = "min" takes 1 to 1;
    MinBy = "min_by" takes 2 to 2;
    NotNull = "not_null" takes 1 to usize::MAX;
    Reverse = "reverse" takes 1 to 1;
    Sort = "sort" takes 1 to 1;
    SortBy = "sort_by" takes 2 to 2;
    StartsWith = "starts_with" takes 2 to 2;
    Sum = "sum" takes 1 to 1;
    ToArray = "to_array" takes 1 to 1;
    ToNumber = "to_number" takes 1 to 1;
    ToString = "to_string" takes 1 to 1;
    Type = "type" takes 1 to 1;
    Values = "values" takes 1 to 1;
}

impl Function {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// The function whose name shares the most of its letters with `name`, if that is most of them.
    pub(crate) fn nearest(name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase().replace('-', "_");
        let same = |other: &str| {
            let shared = name.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
            shared.count() * 2
        };
        Self::ALL
            .iter()
            .map(|f| f.name())
            .filter(|other| same(other) >= other.len().max(name.len()))
            .max_by_key(|other| same(other))
    }

    pub(crate) fn check_arity(self, found: usize) -> Result<(), ParseError> {
        let (least, most) = self.arity();
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let plural = if least == 1 { "" } else { "s" };
        let or_more = if most > least { " or more" } else { "" };
        Err(ParseError::Arity {
            name: self.name(),
            expected: format!("{least} argument{plural}{or_more}"),
            found,
        })
    }
}
