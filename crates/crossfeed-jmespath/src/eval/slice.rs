//! Slices: the indexes of a list that `[start:stop:step]` takes.

/// The indexes of a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    start: i64,
    stop: i64,
    step: i64,
}

impl Range {
    /// The slice of a list of `len` items; `step` is not 0.
    pub(super) fn new(len: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Self {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let (lowest, highest) = if step < 0 { (-1, len - 1) } else { (0, len) };
        let cap = |end: i64| {
            let end = if end < 0 { end + len } else { end };
            end.clamp(lowest, highest)
        };
        let (first, last) = if step < 0 {
            (highest, lowest)
        } else {
            (lowest, highest)
        };
        Self {
            start: start.map_or(first, cap),
            stop: stop.map_or(last, cap),
            step,
        }
    }

    /// Whether such a slice takes no item of any list, however long.
    pub(super) fn is_always_empty(start: Option<i64>, stop: Option<i64>, step: i64) -> bool {
        let size = |end: Option<i64>| end.map_or(0, |end| end.unsigned_abs());
        let long = size(start).saturating_add(size(stop)).saturating_add(2);
        let long = usize::try_from(long).unwrap_or(usize::MAX);
        // What takes something of a list between takes something of the shortest or of the long one.
        [1, long].into_iter().all(|len| {
            let (low, high) = Self::new(len, start, stop, step).bounds();
            low == high
        })
    }

    pub(super) fn is_forward(&self) -> bool {
        self.step > 0
    }

    /// The lowest index, and the one after the highest.
    pub(super) fn bounds(&self) -> (usize, usize) {
        let (low, high) = if self.step > 0 {
            (self.start, self.stop)
        } else {
            (self.stop + 1, self.start + 1)
        };
        let low = usize::try_from(low).unwrap_or(0);
        (low, usize::try_from(high).unwrap_or(0).max(low))
    }

    /// Whether an index within the bounds is part of the slice.
    pub(super) fn contains(&self, at: usize) -> bool {
        let distance = (i64::try_from(at).unwrap_or(i64::MAX) - self.start).unsigned_abs();
        distance.is_multiple_of(self.step.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    fn check(len: usize, start: Option<i64>, stop: Option<i64>, step: i64, expected: &[usize]) {
        let range = Range::new(len, start, stop, step);
        let (low, high) = range.bounds();
        let mut places: Vec<_> = (low..high).filter(|&at| range.contains(at)).collect();
        if !range.is_forward() {
            places.reverse();
        }
        assert_eq!(places, expected, "{len} [{start:?}:{stop:?}:{step}]");
    }

    #[test]
    fn two_lists_tell_what_no_list_has() {
        let ends = || std::iter::once(None).chain((-5..=5).map(Some));
        for (start, stop) in ends().flat_map(|start| ends().map(move |stop| (start, stop))) {
            for step in [-3, -2, -1, 1, 2, 3] {
                let is_empty = |len| {
                    let (low, high) = Range::new(len, start, stop, step).bounds();
                    low == high
                };
                assert_eq!(
                    Range::is_always_empty(start, stop, step),
                    (0..30).all(is_empty),
                    "[{start:?}:{stop:?}:{step}]"
                );
            }
        }
        assert!(Range::is_always_empty(Some(i64::MAX), Some(i64::MIN), 1));
        assert!(Range::is_always_empty(Some(i64::MIN), Some(0), 1));
    }

    #[test]
    fn slices_as_python_does() {
        check(5, None, None, 1, &[0, 1, 2, 3, 4]);
        check(5, Some(1), Some(4), 2, &[1, 3]);
        check(5, Some(-2), None, 1, &[3, 4]);
        check(5, None, None, -1, &[4, 3, 2, 1, 0]);
        check(5, Some(3), Some(0), -2, &[3, 1]);
        check(5, None, Some(-9), -1, &[4, 3, 2, 1, 0]);
        check(5, Some(9), None, 1, &[]);
        check(5, Some(3), Some(1), 1, &[]);
        check(5, Some(1), None, 2_147_483_647, &[1]);
        check(5, None, None, -2_147_483_648, &[4]);
        check(0, None, None, -1, &[]);
    }
}
