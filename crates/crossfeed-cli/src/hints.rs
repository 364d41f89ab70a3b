//! `crossfeed hints`: what a model is shown of a result.

use crate::{
    cli::{self, Counter},
    input, records,
    report::Stop,
    select,
};
use crossfeed::{
    ContextOptions, Engine, EngineOptions, ErrorBody, ErrorCode, Failure, HintDetail,
    ParameterSchema, Pointer, RenderOptions, ShownHints, StripPolicy, TokenCounter, json::Document,
};
use std::{
    ffi::OsStr,
    io::Write,
    path::{Path, PathBuf},
};

/// How many selectors are offered for a parameter.
const FITTING: usize = 5;

/// The budget with full hints, where none is given: they take up to some 1500 tokens.
const FULL: usize = 3000;

pub(crate) async fn run(args: &cli::Hints, out: &mut dyn Write) -> Result<(), Stop> {
    let parameter = args.parameter.as_deref().map(parameter).transpose()?;
    let document = input::read(&args.file)?;
    let scope = records::scope("hints").map_err(|error| Stop::Usage(error.to_string()))?;
    let context = ContextOptions::default().with_tokens(counter(args.tokens)?);
    let options = EngineOptions::default().with_context(context);
    let session = Engine::new(options, records::store()).session(scope);
    session
        .record(&args.call_id, select::result(document, args.kind))
        .await
        .map_err(|error| Stop::answer(error.code(), error.to_string()))?;
    let mut render = RenderOptions::default().with_hints(ShownHints::Always);
    if args.full {
        render = render.with_detail(HintDetail::Full).with_budget(FULL);
    }
    if let Some(budget) = args.budget {
        render = render.with_budget(budget);
    }
    if args.all_underscore {
        render = render.with_strip(StripPolicy::AllUnderscore);
    }
    if let Some(parameter) = &parameter {
        let fitting = session.suggest(&args.call_id, parameter, FITTING).await;
        let fitting = fitting.map_err(body)?;
        render = render.with_fitting(fitting.into_iter().map(|found| found.selector).collect());
    }
    let rendered = session.render(&args.call_id, &render).await.map_err(body)?;
    writeln!(out, "{}", rendered.json)?;
    Ok(())
}

/// The failure as it is written: there are no arguments here.
fn body(failure: Failure) -> ErrorBody {
    let mut body = failure.body();
    body.at = None;
    body
}

fn counter(counter: Counter) -> Result<TokenCounter, Stop> {
    match counter {
        Counter::Estimate => Ok(TokenCounter::estimate()),
        #[cfg(feature = "o200k")]
        Counter::O200k => Ok(TokenCounter::o200k()),
        #[cfg(not(feature = "o200k"))]
        Counter::O200k => Err(Stop::Usage(
            "this build has no exact tokenizer: build it with `--features o200k`".to_owned(),
        )),
    }
}

/// The schema of a parameter, from `FILE` or `FILE#/POINTER`.
fn parameter(text: &OsStr) -> Result<ParameterSchema, Stop> {
    let (path, pointer) = split(text)?;
    let document = Document::new(input::read(&path)?);
    let invalid = |why: String| {
        let message = format!("{} is no valid JSON Schema: {why}", input::name(&path));
        Stop::answer(ErrorCode::SchemaInvalid, message)
    };
    let root = document
        .root()
        .map_err(|error| invalid(error.to_string()))?;
    let schema = root
        .to_value()
        .map_err(|error| invalid(error.to_string()))?;
    let parameter = match &pointer {
        None => ParameterSchema::new(&schema),
        Some(pointer) => ParameterSchema::at(&schema, pointer),
    };
    parameter.map_err(|error| {
        let mut body = ErrorBody::new(error.code(), error.to_string());
        body.advice = Some(error.advice());
        body.into()
    })
}

/// The file, and the place in it.
fn split(text: &OsStr) -> Result<(PathBuf, Option<Pointer>), Stop> {
    let whole = Path::new(text);
    let parts = text.to_str().and_then(|text| text.rsplit_once('#'));
    match parts {
        // A file's name may hold the sign.
        Some((path, pointer)) if !whole.exists() => {
            let pointer = Pointer::parse(pointer).ok_or_else(|| {
                Stop::Usage(format!(
                    "`#{pointer}` is no JSON Pointer: write `#/properties/url`"
                ))
            })?;
            Ok((path.into(), Some(pointer)))
        }
        _ => Ok((whole.to_owned(), None)),
    }
}
