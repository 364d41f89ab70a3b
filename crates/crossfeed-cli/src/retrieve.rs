//! `crossfeed retrieve`: a result, or a part of it, brought into the context.

use crate::{cli, records, report::Stop};
use crossfeed::{ContextOptions, EngineOptions, Error, Retrieved, TokenCounter};
use std::io::Write;

pub(crate) async fn run(
    args: &cli::Retrieve,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    let options = engine(&args.context)?;
    let session = records::session(options, &args.call_id, &args.file, args.kind, err).await?;
    let brought = session
        .retrieve(&args.call_id, args.select.as_deref())
        .await?;
    print(&brought, out)
}

/// An engine for a model's context.
pub(crate) fn engine(context: &cli::Context) -> Result<EngineOptions, Stop> {
    let tokens = match context.tokens {
        cli::Counter::Estimate => TokenCounter::estimate(),
        #[cfg(feature = "o200k")]
        cli::Counter::O200k => TokenCounter::o200k(),
        #[cfg(not(feature = "o200k"))]
        cli::Counter::O200k => {
            return Err(Stop::Usage(
                "this build has no exact tokenizer: build it with `--features o200k`".to_owned(),
            ));
        }
    };
    let context = ContextOptions::default()
        .with_window(context.window)
        .with_tokens(tokens);
    Ok(EngineOptions::default().with_context(context))
}

/// Prints what was brought, or says why nothing was.
pub(crate) fn print(brought: &Retrieved, out: &mut dyn Write) -> Result<(), Stop> {
    if let Retrieved::Data { json, .. } = brought {
        out.write_all(json)?;
        writeln!(out)?;
        return Ok(());
    }
    match (brought, brought.error_body()) {
        (Retrieved::Missing(error), Some(body)) => {
            Err(Stop::told(body, &Error::Lookup(error.clone())))
        }
        (_, Some(body)) => Err(body.into()),
        (_, None) => Ok(()),
    }
}
