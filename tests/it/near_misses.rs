//! What our parser accepts is JMESPath: expressions of the official suite with tokens left out, doubled, exchanged or
//! put in are held against the parsers of jmespath.py and jmespath.js.
//!
//! Documented differences:
//!
//! - Ours also refuses what is wrong whatever the data: unknown functions, numbers of arguments, a step of 0.
//! - jmespath.py takes two arguments without a comma where a list projection stands before the second.
//! - jmespath.js refuses a blank before `&`, and takes `a.` and `()`.
//!
//! So an expression may be refused here and accepted there, and only what is accepted here is judged: one of theirs must
//! accept it, too.

use crate::support::{ask, say};
use crossfeed_jmespath::Expression;
use crossfeed_tests::suite;
use proptest::{
    prelude::*,
    sample::{Index, select},
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

const CASES: usize = 20_000;

/// What is put in.
const PIECES: [&str; 32] = [
    "a",
    "b",
    "\"q\"",
    "'r'",
    "`1`",
    "`\"x\"`",
    "1",
    "-1",
    ".",
    "*",
    "[",
    "]",
    "[?",
    "[]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "!",
    "||",
    "&&",
    "|",
    "&",
    "==",
    "<",
    "@",
    "length(",
    "sort_by(a, &b)",
    "{a: b}",
    " ",
];

/// The expressions of the official suite.
fn official() -> Vec<String> {
    let mut expressions = BTreeSet::new();
    for entry in fs::read_dir(suite("jmespath")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let groups: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let cases = groups.as_array().unwrap().iter();
        let cases = cases.flat_map(|group| group["cases"].as_array().unwrap());
        let texts = cases.map(|case| case["expression"].as_str().unwrap());
        expressions.extend(texts.filter(|text| text.len() < 200).map(str::to_owned));
    }
    expressions.into_iter().collect()
}

/// An expression in pieces: quoted texts, words, numbers and signs, roughly.
fn pieces(expression: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = match first {
            '"' | '\'' | '`' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            first if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece.to_owned());
        rest = behind;
    }
    pieces
}

#[derive(Clone, Debug)]
enum Slip {
    LeaveOut(Index),
    PutIn(Index, &'static str),
    Replace(Index, &'static str),
    Exchange(Index),
    Double(Index),
}

fn slip() -> impl Strategy<Value = Slip> {
    let piece = || (any::<Index>(), select(PIECES.as_slice()));
    prop_oneof![
        any::<Index>().prop_map(Slip::LeaveOut),
        piece().prop_map(|(at, piece)| Slip::PutIn(at, piece)),
        piece().prop_map(|(at, piece)| Slip::Replace(at, piece)),
        any::<Index>().prop_map(Slip::Exchange),
        any::<Index>().prop_map(Slip::Double),
    ]
}

fn near_miss(official: Vec<String>) -> impl Strategy<Value = String> {
    (select(official), prop::collection::vec(slip(), 1..4)).prop_map(|(expression, slips)| {
        let mut pieces = pieces(&expression);
        for slip in slips {
            if pieces.is_empty() {
                break;
            }
            match slip {
                Slip::LeaveOut(at) => drop(pieces.remove(at.index(pieces.len()))),
                Slip::PutIn(at, piece) => pieces.insert(at.index(pieces.len() + 1), piece.into()),
                Slip::Replace(at, piece) => {
                    let at = at.index(pieces.len());
                    pieces[at] = piece.into();
                }
                Slip::Exchange(at) => {
                    let at = at.index(pieces.len());
                    let next = (at + 1) % pieces.len();
                    pieces.swap(at, next);
                }
                Slip::Double(at) => {
                    let at = at.index(pieces.len());
                    pieces.insert(at, pieces[at].clone());
                }
            }
        }
        pieces.concat()
    })
}

#[test]
fn what_is_accepted_is_jmespath() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let near_miss = near_miss(official());
    let cases: BTreeSet<String> = (0..CASES)
        .map(|_| near_miss.new_tree(&mut runner).unwrap().current())
        .collect();
    let questions = || cases.iter().map(|text| json!({"expression": text}));
    let python = ask::<bool>("python3", "jmespath-py/run.py", questions());
    let node = ask::<bool>("node", "jmespath-js/parse.js", questions());
    let (Some(python), Some(node)) = (python, node) else {
        say("SKIPPED: node or python3 is not there, so near misses were not compared");
        return;
    };
    assert_eq!((python.len(), node.len()), (cases.len(), cases.len()));
    let (mut accepted, mut wrong) = (0, Vec::new());
    for ((text, python), node) in cases.iter().zip(python).zip(node) {
        if Expression::parse(text).is_ok() {
            accepted += 1;
            if !python && !node {
                wrong.push(text.clone());
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    say(&format!(
        "near misses: {accepted} of {} are accepted, and theirs accept them",
        cases.len()
    ));
    assert!(accepted > cases.len() / 20, "only {accepted} were accepted");
}
