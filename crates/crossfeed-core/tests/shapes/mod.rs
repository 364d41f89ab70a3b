//! Arguments of many shapes, and the most memory that work on them holds at once.
//!
//! Both tests of what arguments take in memory use them, of the library and of the gateway.

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What else is allocated meanwhile.
pub(crate) const SLACK: usize = 256 << 10;

/// Arguments of about this many bytes, which hold `extra` beside many values of one kind, and some with the
/// `reference` deep within.
pub(crate) fn shapes(bytes: usize, extra: &str, reference: &str) -> Vec<(String, String)> {
    let many = |piece: &str| piece.repeat(bytes / piece.len());
    let list = |piece: &str| format!("[{}0]", many(piece));
    let half = "0,".repeat(bytes / 4);
    let nested = format!("{}{},", "[".repeat(100), "]".repeat(100));
    let members: String = (0..bytes / 11)
        .map(|key| format!("\"{key:06}\":0,"))
        .collect();
    let doubled: String = (0..bytes / 22)
        .map(|key| format!("\"{key:06}\":0,\"{key:06}\":1,"))
        .collect();
    let values = [
        ("zeros", list("0,")),
        ("empty strings", list("\"\",")),
        ("strings of one character", list("\"a\",")),
        ("short strings", list("\"ab\",")),
        ("escapes", list("\"\\u0041\\n\",")),
        ("nulls", list("null,")),
        ("empty objects", list("{},")),
        ("objects", list("{\"\":0},")),
        ("objects with two members", list("{\"a\":0,\"b\":\"\"},")),
        ("nested lists", list(&nested)),
        ("lists of lists", list("[0,[0,0]],")),
        ("a wide object", format!("{{{members}\"x\":0}}")),
        ("doubled keys", format!("{{{doubled}\"x\":0}}")),
        ("a doubled key", format!("{{{}\"x\":0}}", many("\"a\":0,"))),
        ("a long text", format!("\"{}\"", many("words, "))),
        ("escapes in a text", format!("\"{}\"", many("\\u0041"))),
        ("a text that is JSON", format!("\"{{tool {}\"", many("0,"))),
        (
            "zeros, then a long text",
            format!("[{half}\"{}\"]", "x".repeat(bytes / 2)),
        ),
        (
            "a long text, then zeros",
            format!("[\"{}\",{half}0]", "x".repeat(bytes / 2)),
        ),
        ("blanks", list("0 ,")),
        (
            "a reference among zeros",
            format!("[{half}{reference},{half}0]"),
        ),
        (
            "a reference in a wide object",
            format!("{{{members}\"x\":{{\"y\":[{reference}]}}}}"),
        ),
        (
            "a reference deep within",
            format!("[{half}{{\"a\":[[{{\"b\":{reference}}}],0]}}]"),
        ),
    ];
    let arguments = |(name, value): (&str, _)| {
        (
            format!("{name}, {extra}"),
            format!("{{{extra}\"x\":{value}}}"),
        )
    };
    values.into_iter().map(arguments).collect()
}

/// How much arguments of a shape may take, as a multiple of their bytes. Where the beginning misleads, the
/// index is made too large or too small, and is counted twice while it is moved; an allocator of a system
/// does so in place.
pub(crate) fn factor(name: &str) -> usize {
    if name.starts_with("zeros, then") || name.starts_with("a long text, then") {
        8
    } else {
        6
    }
}

/// The most bytes that `work` holds at once, beside what was held before.
pub(crate) fn peak(work: impl FnOnce()) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    MEMORY.peak_usage().saturating_sub(before)
}
