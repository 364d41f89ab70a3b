//! Whether all answer the same: an answer that is another one is not timed, or marked.
#![expect(clippy::print_stdout, reason = "printing is what benches are for")]

use crate::{
    each_row,
    options::Options,
    peers::{Peer, Peers, Reason},
    rows::Row,
};
use crossfeed_benches::data;
use serde_json::Value;

/// How a peer's answer stands to ours.
pub(crate) enum Verdict {
    Same,
    /// Another one, as was known beforehand.
    Excused(&'static str),
    Different(Reason),
}

/// Compares as JSON: numbers by value, objects whatever the order of their keys.
pub(crate) fn judge(peer: &mut dyn Peer, row: &Row, ours: &Value) -> Verdict {
    let answer = peer.prepare(row).and_then(|()| peer.answer());
    let answer = match answer {
        Ok(answer) => serde_json::from_slice::<Value>(&answer),
        Err(error) => return Verdict::Different(error),
    };
    match (answer, row.excuse) {
        (Ok(answer), _) if alike(&answer, ours) => Verdict::Same,
        (Ok(_), Some(excuse)) if peer.speaks_jq() => Verdict::Excused(excuse),
        (Ok(_), _) => Verdict::Different(String::from("another answer")),
        (Err(error), _) => Verdict::Different(format!("no JSON: {error}")),
    }
}

/// Whether two answers are one value; `1` and `1.0` are, and data nests too little to matter here.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let of_b = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| alike(a, b));
            a.len() == b.len() && a.iter().all(of_b)
        }
        _ => a == b,
    }
}

/// What crossfeed answers: the first of the peers.
pub(crate) fn our_answer(peers: &mut Peers, row: &Row) -> Value {
    let ours = peers.first_mut().unwrap();
    ours.prepare(row).unwrap();
    serde_json::from_slice(&ours.answer().unwrap()).unwrap()
}

/// Compares all answers on the small files and says whether there were any and none differs.
pub(crate) fn check(options: &Options) -> bool {
    let mut peers = crate::peers(options);
    let (mut same, mut excused, mut different) = (0, 0, 0);
    let sizes = &data::SIZES[..1];
    each_row(options, sizes, "check", &mut peers, |peers, place, row| {
        let ours = our_answer(peers, row);
        for peer in peers.iter_mut().skip(1) {
            let name = peer.name();
            match judge(peer.as_mut(), row, &ours) {
                Verdict::Same => same += 1,
                Verdict::Excused(excuse) => {
                    println!("{}: {name}: {excuse}", place.of(row));
                    excused += 1;
                }
                Verdict::Different(reason) => {
                    println!("{}: {name} DIFFERS: {reason}", place.of(row));
                    different += 1;
                }
            }
        }
    });
    println!("{same} answers are ours, {different} differ without excuse.");
    if same + excused + different == 0 {
        println!("No row has such a name.");
    }
    same + excused > 0 && different == 0
}
