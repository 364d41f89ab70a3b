//! Lays out JSON: in its own bytes, on one line, or indented. Numbers, strings and repeated keys stay as they are written.

use anstyle::Style;
use std::io::{self, Write};

/// Deeper levels are indented like this one, so that the output of nested data stays linear in its size.
const MAX_INDENTED_LEVELS: usize = 64;

/// How a JSON answer is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// In the bytes in which it stands in the input.
    #[default]
    Verbatim,
    /// On one line, without blanks between tokens.
    Compact,
    /// A line for each member and item.
    Indented,
}

/// The styles of the tokens of an answer. By default nothing is styled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TokenStyles {
    pub(crate) key: Style,
    pub(crate) string: Style,
}

/// Writes valid JSON, without a line break at its end.
pub(crate) fn write(
    json: &[u8],
    form: Form,
    styles: TokenStyles,
    out: &mut dyn Write,
) -> io::Result<()> {
    if form == Form::Verbatim {
        return out.write_all(json);
    }
    let is_indented = form == Form::Indented;
    let mut depth = 0_usize;
    let mut rest = json.trim_ascii();
    while let Some(&first) = rest.first() {
        let length = match first {
            b'"' => string_length(rest),
            b'{' | b'[' | b'}' | b']' | b',' | b':' => 1,
            _ => scalar_length(rest),
        };
        let (token, behind) = rest.split_at(length);
        rest = behind.trim_ascii_start();
        match first {
            b'{' | b'[' => {
                out.write_all(token)?;
                let is_empty = matches!(rest.first(), Some(b'}' | b']'));
                if is_empty {
                    out.write_all(&rest[..1])?;
                    rest = rest[1..].trim_ascii_start();
                } else {
                    depth += 1;
                    if is_indented {
                        begin_line(depth, out)?;
                    }
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if is_indented {
                    begin_line(depth, out)?;
                }
                out.write_all(token)?;
            }
            b',' => {
                out.write_all(token)?;
                if is_indented {
                    begin_line(depth, out)?;
                }
            }
            b':' => out.write_all(if is_indented { b": " } else { token })?,
            _ => {
                let style = match first {
                    b'"' if rest.first() == Some(&b':') => styles.key,
                    b'"' => styles.string,
                    _ => Style::new(),
                };
                write!(out, "{style}")?;
                out.write_all(token)?;
                write!(out, "{style:#}")?;
            }
        }
    }
    Ok(())
}

/// The bytes of a string with its quotes.
fn string_length(json: &[u8]) -> usize {
    let mut escaped = false;
    let end = json.iter().skip(1).position(|&byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}

/// The bytes of a number or a word.
fn scalar_length(json: &[u8]) -> usize {
    let is_end = |byte: &u8| b",:{}[]\"".contains(byte) || byte.is_ascii_whitespace();
    let end = json.iter().skip(1).position(is_end);
    end.map_or(json.len(), |end| end + 1)
}

fn begin_line(depth: usize, out: &mut dyn Write) -> io::Result<()> {
    let width = 2 * depth.min(MAX_INDENTED_LEVELS);
    write!(out, "\n{:width$}", "")
}

#[cfg(test)]
mod tests {
    use super::{Form, TokenStyles, write};
    use anstyle::AnsiColor;
    use serde_json::Value;

    fn laid_out(json: &str, form: Form, styles: TokenStyles) -> String {
        let mut out = Vec::new();
        write(json.as_bytes(), form, styles, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn check(json: &str, compact: &str, indented: &str) {
        let plain = TokenStyles::default();
        assert_eq!(laid_out(json, Form::Verbatim, plain), json);
        assert_eq!(laid_out(json, Form::Compact, plain), compact, "{json}");
        assert_eq!(laid_out(json, Form::Indented, plain), indented, "{json}");
    }

    #[test]
    fn tokens_stay_and_blanks_change() {
        check("1.50", "1.50", "1.50");
        check(" null ", "null", "null");
        check(r#""a \"b\\" "#, r#""a \"b\\""#, r#""a \"b\\""#);
        check("[ ]", "[]", "[]");
        check("{ \n}", "{}", "{}");
        check(
            r#"{"a": [1, {"b": "x, y: {z}"}], "a":1e999}"#,
            r#"{"a":[1,{"b":"x, y: {z}"}],"a":1e999}"#,
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x, y: {z}\"\n    }\n  ],\n  \"a\": 1e999\n}",
        );
    }

    #[test]
    fn both_forms_have_the_same_value() {
        let mut value = Value::from("\u{7f} \\ \" \n é");
        for depth in 0..100 {
            value = serde_json::json!([value, {"key": depth, "": [], "\"": -0.5e-7}]);
        }
        let json = value.to_string();
        for form in [Form::Compact, Form::Indented] {
            let written = laid_out(&json, form, TokenStyles::default());
            assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
        }
    }

    #[test]
    fn deep_data_grow_linearly() {
        let depth = 100_000;
        let json = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let written = laid_out(&json, Form::Indented, TokenStyles::default());
        assert!(written.len() < 140 * json.len(), "{}", written.len());
    }

    #[test]
    fn keys_and_strings_have_their_styles() {
        let styles = TokenStyles {
            key: AnsiColor::Blue.on_default(),
            string: AnsiColor::Green.on_default(),
        };
        assert_eq!(
            laid_out(r#"{"a" : "b"}"#, Form::Compact, styles),
            "{\u{1b}[34m\"a\"\u{1b}[0m:\u{1b}[32m\"b\"\u{1b}[0m}"
        );
    }
}
