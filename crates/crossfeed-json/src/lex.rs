//! Reads single pieces of grammar (strings, numbers, words, blanks) to their ends, or says why they are
//! invalid.

use crate::{
    document::{JsonError, JsonErrorKind},
    scan::{Scanner, skip_blanks, skip_digits},
};

#[cold]
pub(crate) fn fail<T>(kind: JsonErrorKind, offset: usize) -> Result<T, JsonError> {
    Err(JsonError { kind, offset })
}

/// The bytes of a document. It is copied rather than pointed to, so that it can live in registers.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(pub(crate) &'a [u8]);

impl Text<'_> {
    /// The first byte from `at` on that is not a blank, and its offset.
    #[inline(always)]
    pub(crate) fn token(self, at: usize) -> Result<(u8, usize), JsonError> {
        match self.0.get(at) {
            Some(&byte) if byte > b' ' => Ok((byte, at)),
            _ => self.token_behind_blanks(at),
        }
    }

    #[inline(never)]
    fn token_behind_blanks(self, at: usize) -> Result<(u8, usize), JsonError> {
        let at = skip_blanks(self.0, at);
        Ok((self.byte(at)?, at))
    }

    #[inline(always)]
    pub(crate) fn byte(self, at: usize) -> Result<u8, JsonError> {
        match self.0.get(at) {
            Some(&byte) => Ok(byte),
            None => fail(JsonErrorKind::UnexpectedEnd, at),
        }
    }

    /// Reads `true`, `false` or `null`; returns the offset after it.
    #[inline(always)]
    pub(crate) fn word(self, at: usize, word: &[u8]) -> Result<usize, JsonError> {
        let rest = &self.0[at..];
        if rest.starts_with(word) {
            return Ok(at + word.len());
        }
        if word.starts_with(rest) {
            return fail(JsonErrorKind::UnexpectedEnd, at);
        }
        fail(JsonErrorKind::Syntax, at)
    }

    /// Reads a string after its opening quote; returns the offset after its closing quote, and
    /// whether it holds escapes.
    #[inline(always)]
    pub(crate) fn string(
        self,
        scanner: &mut Scanner,
        at: usize,
    ) -> Result<(usize, bool), JsonError> {
        let mut end = scanner.special(self.0, at);
        let escaped = self.0.get(end) != Some(&b'"');
        if escaped {
            let outcome;
            (*scanner, outcome) = self.escaped_string(*scanner, end);
            end = outcome?;
        }
        Ok((end + 1, escaped))
    }

    /// Finds the closing quote of a string that has something else at `at`.
    #[inline(never)]
    fn escaped_string(
        self,
        mut scanner: Scanner,
        mut at: usize,
    ) -> (Scanner, Result<usize, JsonError>) {
        scanner.escapes = true;
        let outcome = loop {
            match self.byte(at) {
                Ok(b'"') => break Ok(at),
                Ok(b'\\') => match self.escape(at + 1) {
                    Ok(behind) => at = scanner.special(self.0, behind),
                    Err(error) => break Err(error),
                },
                Ok(_) => break fail(JsonErrorKind::InvalidString, at),
                Err(error) => break Err(error),
            }
        };
        (scanner, outcome)
    }

    /// Reads an escape after its backslash.
    #[inline(always)]
    fn escape(self, at: usize) -> Result<usize, JsonError> {
        match self.byte(at)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 1),
            b'u' => {
                for digit in at + 1..at + 5 {
                    if !self.byte(digit)?.is_ascii_hexdigit() {
                        return fail(JsonErrorKind::InvalidString, digit);
                    }
                }
                Ok(at + 5)
            }
            _ => fail(JsonErrorKind::InvalidString, at),
        }
    }

    /// Reads a number; returns the offset after it.
    #[inline(always)]
    pub(crate) fn number(self, byte: u8, start: usize) -> Result<usize, JsonError> {
        let first = start + usize::from(byte == b'-');
        let end = self.digits(first)?;
        if end > first + 1 && self.0[first] == b'0' {
            return fail(JsonErrorKind::Syntax, first + 1);
        }
        match self.0.get(end) {
            Some(b'.' | b'e' | b'E') => self.fraction(end),
            _ => Ok(end),
        }
    }

    /// Reads what follows a number's integer digits.
    #[inline(never)]
    fn fraction(self, mut at: usize) -> Result<usize, JsonError> {
        if self.0.get(at) == Some(&b'.') {
            at = self.digits(at + 1)?;
        }
        if matches!(self.0.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(self.0.get(at), Some(b'+' | b'-')));
            at = self.digits(at)?;
        }
        Ok(at)
    }

    /// Reads at least one digit.
    #[inline(always)]
    fn digits(self, at: usize) -> Result<usize, JsonError> {
        match self.0.get(at) {
            Some(b'0'..=b'9') => Ok(skip_digits(self.0, at + 1)),
            Some(_) => fail(JsonErrorKind::Syntax, at),
            None => fail(JsonErrorKind::UnexpectedEnd, at),
        }
    }
}
