//! `crossfeed demo`: an agent session over bundled data.
//!
//! The model's turns are scripted ([`script`]); the tools are real ([`tools`]), those for artifacts are the engine's own
//! ([`artifacts`]), and the engine computes every result, resolution, error, preview and count ([`session`]). The output is
//! written when the session has ended: its story ([`story`]), or every step ([`steps`]) and the run's trace, as a host's
//! pipeline would export it ([`trace`]); last the bill ([`account`]). It is the same every time.

mod account;
mod artifacts;
mod page;
mod script;
mod session;
mod steps;
mod story;
mod tools;
mod trace;

use crate::{
    cli,
    report::{Result, Streams},
    runtime::block_on,
};
use account::Account;
use page::Page;
use trace::Tracing;
use tracing::Instrument as _;

pub(crate) fn run(args: &cli::Demo, io: &mut Streams<'_>) -> Result {
    let tracing = Tracing::start(args.otlp.as_ref())?;
    let agent = tracing::info_span!(
        "invoke_agent demo",
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.agent.name" = "demo",
    );
    let transcript = block_on(session::run(tracing.telemetry()).instrument(agent))?;
    let account = Account::of(&transcript);
    let mut page = Page::new(io.out);
    if args.full {
        steps::write(&transcript, &mut page)?;
        trace::write(&tracing.spans(), &mut page)?;
        steps::write_report(&transcript, &mut page)?;
        account.write_table(&mut page)?;
        account.write_total("", &mut page)?;
    } else {
        story::write(&transcript, &mut page)?;
        account.write_total(". Every step of it: crossfeed demo --full", &mut page)?;
    }
    // The answer comes before the delivery of telemetry.
    io.out.flush()?;
    if let Some(line) = tracing.finish()? {
        io.remark(line);
    }
    Ok(())
}
