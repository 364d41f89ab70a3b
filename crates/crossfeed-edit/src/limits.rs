//! The limits of an edit, and the account of the work that it does.

use crate::error::{EditErrorKind, Limit};
use crossfeed_json::MAX_DEPTH;
use derive_setters::Setters;

/// A document has less than 4 GiB.
const MAX_BYTES: usize = u32::MAX as usize;

/// How much one edit may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct EditLimits {
    /// Operations of a patch, members that a merge sets or removes, or text edits: 10,000, far more than a
    /// model writes.
    pub operations: usize,
    /// Lists and objects within each other, in the document after each step: 127, as a
    /// [`Document`](crossfeed_json::Document) accepts, which is also the most.
    pub depth: usize,
    /// Bytes of the document after each step: 16 MiB, as much as the arguments of a call may have,
    /// and less than 4 GiB in any case.
    pub bytes: usize,
    /// Steps of work: 50,000,000, less than a second. A step is a look at one value or at 64 bytes.
    pub steps: u64,
}

impl Default for EditLimits {
    fn default() -> Self {
        Self {
            operations: 10_000,
            depth: MAX_DEPTH,
            bytes: 16 << 20,
            steps: 50_000_000,
        }
    }
}

/// The steps that are left to an edit.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: EditLimits,
    left: u64,
    operations: usize,
}

impl Budget {
    pub(crate) fn new(limits: &EditLimits) -> Self {
        Self {
            limits: limits
                .with_depth(limits.depth.min(MAX_DEPTH))
                .with_bytes(limits.bytes.min(MAX_BYTES)),
            left: limits.steps,
            operations: 0,
        }
    }

    /// Takes the steps of looks at so many values.
    pub(crate) fn spend(&mut self, values: usize) -> Result<(), EditErrorKind> {
        match self.left.checked_sub(values as u64) {
            Some(left) => self.left = left,
            None => return Err(Limit::Steps.exceeded(self.limits.steps)),
        }
        Ok(())
    }

    /// Takes the steps of a look at so many bytes.
    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Result<(), EditErrorKind> {
        self.spend(bytes / 64 + 1)
    }

    /// Counts one operation.
    pub(crate) fn begin_operation(&mut self) -> Result<(), EditErrorKind> {
        self.operations += 1;
        check_operations(self.operations, &self.limits)
    }

    /// Whether so many bytes may come out.
    pub(crate) fn check_bytes(&self, bytes: usize) -> Result<(), EditErrorKind> {
        if bytes > self.limits.bytes {
            return Err(Limit::Bytes.exceeded(self.limits.bytes as u64));
        }
        Ok(())
    }

    pub(crate) fn depth_error(&self) -> EditErrorKind {
        Limit::Depth.exceeded(self.limits.depth as u64)
    }

    /// The greatest depth of a value with so many lists and objects around it; `None` if there are too many.
    pub(crate) fn depth_below(&self, around: usize) -> Option<usize> {
        self.limits.depth.checked_sub(around)
    }
}

/// Whether an edit may have so many operations.
pub(crate) fn check_operations(count: usize, limits: &EditLimits) -> Result<(), EditErrorKind> {
    if count > limits.operations {
        return Err(Limit::Operations.exceeded(limits.operations as u64));
    }
    Ok(())
}
