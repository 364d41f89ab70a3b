//! `crossfeed hints`: prints what a model sees of a result.

use crate::{
    cli, input, records,
    report::{CommandError, Result, Streams},
    retrieve,
};
use crossfeed::{
    Pointer, RenderOptions, Rendered, Session,
    render::{HintDetail, ShownHints, StripPolicy},
    select::ParameterSchema,
};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Selectors that are offered for a parameter.
const MAX_FITTING: usize = 5;
/// The default budget with full hints, which have up to 1500 tokens.
const FULL_BUDGET_TOKENS: usize = 3000;
/// The default budget of hints beside a result that is shown whole.
const HINTS_BUDGET_TOKENS: usize = 2000;

pub(crate) async fn run(args: &cli::Hints, io: &mut Streams<'_>) -> Result {
    let place = args.parameter.as_deref().map(split).transpose()?;
    let schema = place.as_ref().map(|(path, _)| path.as_os_str());
    input::check_stdin([Some(args.file.as_os_str()), schema])?;
    let options = retrieve::engine(&args.context)?;
    let parameter = place.map(parameter).transpose()?;
    let session = records::session(options, &args.call_id, &args.file, args.kind, io).await?;
    let mut render = RenderOptions::default();
    if args.full {
        render = render
            .with_detail(HintDetail::Full)
            .with_budget(FULL_BUDGET_TOKENS);
    }
    if let Some(budget) = args.budget {
        render = render.with_budget(budget);
    }
    if args.all_underscore {
        render = render.with_strip(StripPolicy::AllUnderscore);
    }
    if let Some(parameter) = &parameter {
        let fitting = session
            .suggest(&args.call_id, parameter, MAX_FITTING)
            .await?;
        render = render.with_fitting(fitting.into_iter().map(|found| found.selector).collect());
    }
    let rendered = render_with_hints(&session, args, render).await?;
    if args.explain {
        let (tokens, whole) = (rendered.tokens, rendered.whole_tokens);
        io.remark(format_args!("tokens: {tokens} shown, {whole} as it came"));
    }
    io.json(rendered.json)
}

/// The result with its hints. Hints beside a small result have their own budget, unless the command sets one for both.
async fn render_with_hints(
    session: &Session,
    args: &cli::Hints,
    options: RenderOptions,
) -> Result<Rendered> {
    if args.budget.is_none() {
        let alone = options.clone().with_hints(ShownHints::Never);
        let alone = session.render(&args.call_id, &alone).await?;
        if alone.whole {
            let room = options.with_budget(alone.tokens.saturating_add(HINTS_BUDGET_TOKENS));
            let room = room.with_hints(ShownHints::Always);
            return Ok(session.render(&args.call_id, &room).await?);
        }
    }
    let options = options.with_hints(ShownHints::Always);
    Ok(session.render(&args.call_id, &options).await?)
}

/// The schema of a parameter, and its place in it.
fn parameter((path, pointer): (PathBuf, Option<Pointer>)) -> Result<ParameterSchema> {
    let name = input::name(&path);
    let schema = match pointer {
        None => input::read_schema(&path, &name)?,
        // The document contains the schema.
        Some(_) => input::read_schema_within(&path, &name)?,
    };
    let parameter = match &pointer {
        None => ParameterSchema::new(&schema),
        Some(pointer) => ParameterSchema::at(&schema, pointer),
    };
    parameter.map_err(|error| {
        CommandError::answer(error.code(), error.to_string()).with_advice(error.advice())
    })
}

/// `FILE` or `FILE#/POINTER`, taken apart.
fn split(text: &OsStr) -> Result<(PathBuf, Option<Pointer>)> {
    let whole = Path::new(text);
    let parts = text.to_str().and_then(|text| text.rsplit_once('#'));
    match parts {
        // The name of a file may contain the sign.
        Some((path, fragment)) if !whole.exists() => {
            let pointer = Pointer::from_fragment(fragment).ok_or_else(|| {
                CommandError::usage(format!(
                    "`#{fragment}` is not a JSON Pointer: write `#/properties/url`"
                ))
            })?;
            Ok((path.into(), Some(pointer)))
        }
        _ => Ok((whole.to_owned(), None)),
    }
}
