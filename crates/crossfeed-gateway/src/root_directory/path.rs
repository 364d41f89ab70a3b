//! Paths beneath a root, as models and people write them.

use crate::lookalike::takes_no_room;
use std::fmt;

/// The longest path, in bytes.
const MAX_BYTES: usize = 1024;
/// The longest name, in bytes: what file systems take.
const MAX_NAME_BYTES: usize = 255;
/// The most names of a path.
const MAX_NAMES: usize = 16;

/// A path beneath a root: names with `/` between them.
///
/// # What holds
///
/// - It is not absolute, and no name is empty, `.` or `..`.
/// - A name has no backslash, no control character and no character that takes no room, and does not end with a
///   dot or a blank. It is no device of Windows.
/// - It means what it says: nothing in it is decoded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelativePath(String);

/// Why a text is not a path beneath a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// It is empty.
    #[error("the path is empty")]
    Empty,
    /// It has more than 1,024 bytes.
    #[error("the path is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// A name has more than 255 bytes.
    #[error("a name in the path is longer than {MAX_NAME_BYTES} bytes")]
    LongName,
    /// It has more than 16 names.
    #[error("the path has more than {MAX_NAMES} names")]
    TooDeep,
    /// It begins with `/`.
    #[error("the path is absolute")]
    Absolute,
    /// Two slashes meet, or one ends it.
    #[error("the path has an empty name")]
    EmptyName,
    /// A name is `.` or `..`.
    #[error("the path has `.` or `..` as a name")]
    Dots,
    /// It has a backslash.
    #[error("the path has a backslash")]
    Backslash,
    /// It has a character that nobody sees.
    #[error("the path has a control character or an invisible one")]
    Invisible,
    /// A name ends with a dot or a blank, which some systems drop.
    #[error("a name in the path ends with a dot or a blank")]
    Ending,
    /// A name is a device of Windows, such as `NUL`.
    #[error("a name in the path is a device of Windows")]
    Device,
}

impl RelativePath {
    /// Reads a path.
    ///
    /// # Errors
    ///
    /// [`PathError`] says what is wrong with the first name that is wrong.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(PathError::TooLong);
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        if text.split('/').count() > MAX_NAMES {
            return Err(PathError::TooDeep);
        }
        text.split('/').try_for_each(check_name)?;
        Ok(Self(text.to_owned()))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names of its directories, and that of the file.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no root can be opened"))]
    pub(super) fn split(&self) -> (impl Iterator<Item = &str>, &str) {
        let (directories, name) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        (directories.split('/').filter(|name| !name.is_empty()), name)
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check_name(name: &str) -> Result<(), PathError> {
    let is_unseen = |c| takes_no_room(c) || matches!(c, '\u{2028}' | '\u{2029}');
    match name {
        "" => Err(PathError::EmptyName),
        "." | ".." => Err(PathError::Dots),
        _ if name.len() > MAX_NAME_BYTES => Err(PathError::LongName),
        _ if name.contains('\\') => Err(PathError::Backslash),
        _ if name.contains(is_unseen) => Err(PathError::Invisible),
        _ if name.ends_with(|c: char| c == '.' || c.is_whitespace()) => Err(PathError::Ending),
        _ if is_device(name) => Err(PathError::Device),
        _ => Ok(()),
    }
}

/// Whether Windows takes a name for a device: an ending changes nothing.
fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or(name);
    let stem = stem.trim_end().to_ascii_lowercase();
    let port = stem.strip_prefix("com").or(stem.strip_prefix("lpt"));
    let is_port = port.is_some_and(|rest| {
        let mut digits = rest.chars();
        let digit = digits.next();
        let is_digit = digit.is_some_and(|c| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³'));
        is_digit && digits.next().is_none()
    });
    is_port || matches!(&*stem, "con" | "prn" | "aux" | "nul" | "conin$" | "conout$")
}
