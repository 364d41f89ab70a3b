//! Reads paths in one iterative pass over the text.

use super::{
    MAX_PATH_CHARS, MAX_PATH_STEPS, MAX_PATHS, Path, PathError, PathErrorKind, Step, is_bare_char,
};

/// An index of this many digits is beyond every list: documents are smaller than 4 GiB.
const INDEX_DIGITS: usize = 10;

/// Where a path may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathEnd {
    End,
    Comma,
}

pub(super) fn one(text: &str) -> Result<Path, PathError> {
    let mut reader = Reader { text, at: 0 };
    reader.path(PathEnd::End)
}

pub(super) fn list(text: &str) -> Result<Vec<Path>, PathError> {
    let mut paths = Vec::new();
    if text.trim().is_empty() {
        return Ok(paths);
    }
    let mut reader = Reader { text, at: 0 };
    loop {
        if paths.len() == MAX_PATHS {
            return reader.fail(PathErrorKind::TooManyPaths, reader.at);
        }
        paths.push(reader.path(PathEnd::Comma)?);
        if reader.rest().is_empty() {
            return Ok(paths);
        }
        // A path of a list ends at a comma or at the end.
        reader.at += 1;
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, kind: PathErrorKind, offset: usize) -> Result<T, PathError> {
        Err(PathError::new(kind, self.text, offset))
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Reads a path and the blanks before it, up to its end.
    fn path(&mut self, until: PathEnd) -> Result<Path, PathError> {
        self.blanks();
        let start = self.at;
        let mut steps = Vec::new();
        loop {
            if steps.len() > MAX_PATH_STEPS {
                return self.fail(PathErrorKind::TooManySteps, start);
            }
            let before = self.at;
            match self.rest().chars().next() {
                Some('[') => steps.push(self.brackets()?),
                Some('.') if !steps.is_empty() => {
                    self.at += 1;
                    steps.push(self.segment()?);
                }
                _ if steps.is_empty() => steps.push(self.first(until)?),
                _ => {
                    self.blanks();
                    match (self.rest().chars().next(), until) {
                        (None, _) | (Some(','), PathEnd::Comma) => break,
                        _ => return self.fail(PathErrorKind::Unexpected, before),
                    }
                }
            }
            // Checked at each step, so that no text is read far beyond the limit.
            let written = &self.text[start..self.at];
            if written.len() > MAX_PATH_CHARS && written.chars().count() > MAX_PATH_CHARS {
                return self.fail(PathErrorKind::TooLong, start);
            }
        }
        if steps.len() > MAX_PATH_STEPS {
            return self.fail(PathErrorKind::TooManySteps, start);
        }
        Ok(Path { steps })
    }

    /// The first segment: where it is missing, so is the path.
    fn first(&mut self, until: PathEnd) -> Result<Step, PathError> {
        match self.rest().chars().next() {
            None => self.fail(PathErrorKind::Empty, self.at),
            Some(',') if until == PathEnd::Comma => self.fail(PathErrorKind::Empty, self.at),
            _ => self.segment(),
        }
    }

    /// A name or `*`.
    fn segment(&mut self) -> Result<Step, PathError> {
        match self.rest().chars().next() {
            None | Some('.' | '[') => self.fail(PathErrorKind::EmptySegment, self.at),
            Some('*') => {
                self.at += 1;
                Ok(Step::EachKey)
            }
            Some('"') => self.quoted(),
            Some(c) if is_bare_char(c) => {
                let rest = self.rest();
                let end = rest.find(|c| !is_bare_char(c)).unwrap_or(rest.len());
                self.at += end;
                Ok(Step::Key(rest[..end].to_owned()))
            }
            Some(_) => self.fail(PathErrorKind::Unexpected, self.at),
        }
    }

    fn quoted(&mut self) -> Result<Step, PathError> {
        let rest = self.rest();
        let mut escaped = false;
        let close = rest.bytes().skip(1).position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        let Some(close) = close else {
            return self.fail(PathErrorKind::UnclosedQuote, self.at);
        };
        let end = close + 2;
        let Ok(name) = serde_json::from_str(&rest[..end]) else {
            return self.fail(PathErrorKind::InvalidQuotedName, self.at);
        };
        self.at += end;
        Ok(Step::Key(name))
    }

    fn brackets(&mut self) -> Result<Step, PathError> {
        let rest = self.rest();
        if rest.starts_with("[\"") || rest.starts_with("['") {
            return self.fail(PathErrorKind::InvalidIndex, self.at);
        }
        // The search ends at any character that cannot be in brackets, so it does not read a long text for each.
        let inside = rest[1..].find([']', '[', '.', ',', '"']);
        let Some(close) = inside.filter(|&at| rest.as_bytes().get(at + 1) == Some(&b']')) else {
            return self.fail(PathErrorKind::UnclosedBracket, self.at);
        };
        let inside = &rest[1..=close];
        let step = match inside {
            "" | "*" => Step::EachItem,
            _ => match inside.strip_prefix('-') {
                Some(digits) if is_digits(digits) => {
                    return self.fail(PathErrorKind::NegativeIndex, self.at);
                }
                _ if !is_digits(inside) || (inside.len() > 1 && inside.starts_with('0')) => {
                    return self.fail(PathErrorKind::InvalidIndex, self.at);
                }
                _ => match inside.parse().ok().filter(|_| inside.len() <= INDEX_DIGITS) {
                    Some(index) => Step::Index(index),
                    None => return self.fail(PathErrorKind::HugeIndex, self.at),
                },
            },
        };
        self.at += close + 2;
        Ok(step)
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
