//! Every target on its committed corpus, and on a bounded number of mutations of it.
//!
//! `CROSSFEED_FUZZ_RUNS` says how many mutations each target gets (500), `CROSSFEED_FUZZ_SEED` which.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test, which says what it did and is told how much to do"
)]

use crossfeed_fuzz::{
    TARGETS,
    mutate::{Choices, mutated},
};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The inputs of a folder, in the order of their names.
fn corpus(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let read = |file: PathBuf| (file.clone(), fs::read(file).unwrap());
    files.into_iter().map(read).collect()
}

// One test, since memory is measured for the whole process.
#[test]
fn corpora_and_mutations_of_them_break_no_law() {
    let runs = number("CROSSFEED_FUZZ_RUNS").unwrap_or(500);
    let seed = number("CROSSFEED_FUZZ_SEED").unwrap_or(1);
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora");
    for target in TARGETS {
        let inputs = corpus(&corpora.join(target.name));
        assert!(!inputs.is_empty(), "{}: the corpus is empty", target.name);
        // What is made once for all inputs is not charged to the first.
        target.warm_up();
        let mut most = 0;
        for (file, input) in &inputs {
            match catch_unwind(|| target.run(input)) {
                Ok(taken) => most = most.max(taken),
                Err(_) => panic!("{} fails on {}", target.name, file.display()),
            }
        }
        let mut choices = Choices::new(seed);
        for _ in 0..runs {
            let (_, one) = &inputs[choices.below(inputs.len())];
            let (_, other) = &inputs[choices.below(inputs.len())];
            let input = mutated(one, other, &mut choices);
            match catch_unwind(AssertUnwindSafe(|| target.run(&input))) {
                Ok(taken) => most = most.max(taken),
                Err(_) => {
                    let kept = std::env::temp_dir().join(format!("crossfeed-{}", target.name));
                    fs::write(&kept, &input).unwrap();
                    panic!("{} fails on {}", target.name, kept.display());
                }
            }
        }
        println!(
            "{}: {} inputs, {runs} mutations, at most {most} bytes",
            target.name,
            inputs.len()
        );
    }
}
