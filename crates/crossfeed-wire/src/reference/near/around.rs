//! What stands around a placeholder whose delimiters are hardly anything else: `# {{call_1.title}}`, `${call_1.total}%`.

use super::{MAX_WHOLE_BYTES, part::is_object, region::template};

/// What stands around the first placeholder of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// Nothing, or only more of its delimiters; or there is no placeholder.
    Nothing,
    /// What may be of the text or of another notation: quotes or round brackets, an `=` before it, a `;` behind it.
    Unclear,
    /// Text, which stays.
    Text,
}

impl Around {
    pub(super) fn of(text: &str) -> Self {
        if text.len() > MAX_WHOLE_BYTES {
            return Self::Nothing;
        }
        let opens = ["{{", "${", "{%", "<%", "<?"];
        let Some(start) = opens.iter().filter_map(|open| text.find(open)).min() else {
            return Self::Nothing;
        };
        let Some((length, inner)) = template(&text[start..]) else {
            return Self::Nothing;
        };
        if is_object(inner) {
            return Self::Nothing;
        }
        let (before, behind) = (text[..start].trim(), text[start + length..].trim());
        let is_delimiter = |sign: char| "{}$`".contains(sign) || sign.is_whitespace();
        let is_fence = before.starts_with("```") && !before.contains('\n') && behind == "```";
        if is_fence || before.chars().chain(behind.chars()).all(is_delimiter) {
            return Self::Nothing;
        }
        // `!Sub ${call_1.url}`
        let tag = before.strip_prefix('!').filter(|_| behind.is_empty());
        let is_letter = |byte: u8| byte.is_ascii_alphabetic();
        if tag.is_some_and(|tag| !tag.is_empty() && tag.bytes().all(is_letter)) {
            return Self::Nothing;
        }
        match (before, behind) {
            // `={{ $json.call_1.x }}` is of n8n.
            ("=", "") if inner.trim_start().starts_with('$') => Self::Nothing,
            ("\"", "\"") | ("'", "'") | ("“", "”") | ("‘", "’") | ("(", ")") => {
                Self::Unclear
            }
            ("", ";" | ",") | ("=", "" | ";") => Self::Unclear,
            _ => Self::Text,
        }
    }
}
