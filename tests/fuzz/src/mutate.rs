//! Inputs that are nearly right: what a corpus has, a little broken.

/// What such inputs are made of.
const WORDS: [&str; 44] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "null",
    "true",
    "-0",
    "1e400",
    "\\u0000",
    "\\ud83d",
    "\u{feff}",
    "\r",
    "\n\n",
    "data:",
    "id:",
    "event:",
    "retry:",
    "$tool",
    "$select",
    "$artifact",
    "_refs",
    "_tool",
    "call_1",
    "$ref",
    "#/$defs/a",
    "allOf",
    "pattern",
    "(a{1,1000}){1,1000}",
    "[?",
    "[*]",
    "|",
    "`",
    "'",
    "&",
    "@",
    "[::-1]",
    "tools/call",
    "jsonrpc",
    "${TOKEN}",
    "=",
];

/// How long an input may become.
const LONGEST: usize = 64 << 10;

/// Choices that are the same on each run.
#[derive(Clone, Debug)]
pub struct Choices(u64);

impl Choices {
    /// Choices by a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below another.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }

    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let from = self.below(len + 1);
        let to = from + self.below((len - from).min(64) + 1);
        from..to
    }
}

/// An input made of one, and parts of another.
#[must_use]
pub fn mutated(input: &[u8], other: &[u8], choices: &mut Choices) -> Vec<u8> {
    let mut made = input.to_vec();
    for _ in 0..=choices.below(6) {
        let at = choices.below(made.len() + 1);
        match choices.below(8) {
            0 if at < made.len() => made[at] ^= 1 << choices.below(8),
            1 => drop(made.drain(choices.range(made.len()))),
            2 => {
                let part = made[choices.range(made.len())].to_vec();
                made.splice(at..at, part);
            }
            3 => {
                let part = &made[choices.range(made.len())];
                let most = 1 << choices.below(10);
                let part = part.repeat(choices.below(most));
                made.splice(at..at, part);
            }
            4 => {
                let part = other[choices.range(other.len())].to_vec();
                made.splice(at..at, part);
            }
            5 => made.truncate(at),
            _ => {
                let word = WORDS[choices.below(WORDS.len())];
                let times = if choices.below(16) == 0 { 200 } else { 1 };
                made.splice(at..at, word.repeat(times).into_bytes());
            }
        }
    }
    made.truncate(LONGEST);
    made
}
