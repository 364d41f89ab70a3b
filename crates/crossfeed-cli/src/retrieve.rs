//! `crossfeed retrieve`: prints a result, or a part of it, if it fits the model's context.

use crate::{
    cli, records,
    report::{CommandError, Result, Streams},
};
use crossfeed::{
    EngineOptions, Error, TokenCounter,
    render::{ContextOptions, Retrieved},
};

pub(crate) async fn run(args: &cli::Retrieve, io: &mut Streams<'_>) -> Result {
    let options = engine(&args.context)?;
    let session = records::session(options, &args.call_id, &args.file, args.kind, io).await?;
    let selector = args.select.as_deref();
    print(
        &session.retrieve(&args.call_id, selector).await?,
        args.raw.raw,
        io,
    )
}

/// An engine for a model's context.
pub(crate) fn engine(context: &cli::Context) -> Result<EngineOptions> {
    let tokens = match context.tokens {
        cli::Counter::Estimate => TokenCounter::estimate(),
        #[cfg(feature = "o200k")]
        cli::Counter::O200k => TokenCounter::o200k(),
        #[cfg(not(feature = "o200k"))]
        cli::Counter::O200k => {
            crate::report::bail!(
                "this build has no exact tokenizer: build it with `--features o200k`"
            );
        }
    };
    let context = ContextOptions::default()
        .with_window(context.window)
        .with_tokens(tokens);
    Ok(EngineOptions::default().with_context(context))
}

/// Prints retrieved data, or returns why there is none.
pub(crate) fn print(brought: &Retrieved, raw: bool, io: &mut Streams<'_>) -> Result {
    if let Retrieved::Data { json, .. } = brought {
        return io.value(json, raw);
    }
    match (brought, brought.error_body()) {
        (Retrieved::Missing(error), Some(body)) => Err(CommandError::with_store_error(
            body,
            &Error::Lookup(error.clone()),
        )),
        (_, Some(body)) => Err(body.into()),
        (_, None) => Ok(()),
    }
}
