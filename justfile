# `just` lists the recipes. Anything that wants an `if` goes elsewhere.

[private]
default:
    @just --list --unsorted

alias c := check
alias t := test
alias s := suite
alias b := bench
alias d := demo

# format, lints and documentation, as CI judges them
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features

# all tests, documentation examples included
test *args:
    cargo test --workspace {{ args }}

# one compliance suite or theme of the integration tests, e.g. `just suite jmespath`
suite name='':
    cargo test --package crossfeed-tests --test it -- {{ name }}

# write what commands print now into the README and the guide, and draw its picture
bless:
    CROSSFEED_BLESS=1 cargo test --package crossfeed-cli --test cli -- pages
    CROSSFEED_BLESS=1 cargo test --package crossfeed --features otel,sqlite --test guide
    docs/picture > docs/picture.svg
    CROSSFEED_BLESS=1 tests/peers/run pages

# the benches, or those whose name matches, e.g. `just bench select`
bench name='':
    cargo bench --package crossfeed-benches -- {{ name }}

# the race against peers, e.g. `just race --quick` or `just race "records, 1 MB"`
race *args:
    bash benches/race/run {{ args }}

# the gateway against other proxies
race-gateway *args:
    bash benches/race-gateway/run {{ args }}

# the official MCP suites, directly and through the gateway
conformance *args:
    bash tests/suites/mcp/run {{ args }}

# real clients and servers through the gateway, e.g. `just peers python --quick`
peers *args:
    bash tests/peers/run {{ args }}

# a whole session on bundled data
demo *args:
    cargo run --package crossfeed-cli -- demo {{ args }}

# licences, advisories, banned crates and sources (needs cargo-deny)
deny:
    cargo deny check

# the binary of a release, in target/dist
dist:
    cargo build --locked --profile dist --package crossfeed-cli

# everything, as CI runs it; `just ci --long` runs what takes hours
ci *args:
    bash .ci/run {{ args }}
