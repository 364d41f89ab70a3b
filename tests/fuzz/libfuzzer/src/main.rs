//! One target of `crossfeed-fuzz`, named by `CROSSFEED_FUZZ_TARGET`, under libFuzzer.

#![no_main]

use crossfeed_fuzz::Target;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("CROSSFEED_FUZZ_TARGET").expect("CROSSFEED_FUZZ_TARGET names a target");
    let target = Target::named(&name).expect("CROSSFEED_FUZZ_TARGET names a target");
    target.warm_up();
    target
});

fuzz_target!(|input: &[u8]| {
    TARGET.run(input);
});
