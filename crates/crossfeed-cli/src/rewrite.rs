//! `crossfeed rewrite`: rewrites schemas and lists of tools to admit references.

use crate::{
    cli::{self, Sign},
    deep_json::SetAside,
    input,
    project::rules,
    report::{CommandError, Result, Streams, bail},
    schema_file,
};
use crossfeed::{
    ErrorCode,
    error::ErrorBody,
    json::{Document, JsonError, JsonErrorKind},
    schema::SchemaError,
    tools::{
        Decision, ListOptions, ListedTool, Profile, Reflection, RewrittenList, Shape, Spelling,
        Style, ToolList, ToolListError, UnsupportedField, guidance, rewrite_tools,
    },
};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

/// The name of a schema without a tool.
const ALONE: &str = "schema";
/// Every tool of a list.
const ALL: &str = "all";

pub(crate) fn run(args: &cli::Rewrite, io: &mut Streams<'_>) -> Result {
    let options = options(args)?;
    if let (Some(style), true) = (args.choice.style, args.guidance) {
        return io.answer(guidance(style, spelling(args, style), false));
    }
    let (document, aside) = read(&args.file)?;
    let (value, listed) = if ToolList::is_list(&document) {
        let list = list(document, &args.file)?;
        let foreign = args
            .choice
            .profile
            .and_then(|p| Some((foreign(&list, p)?, p)));
        if let (Some((shape, profile)), None) = (foreign, args.shape) {
            io.notice(format_args!("the list stays in the shape `{shape}`, which is another provider's than {profile}; \
                 `--as` prints it in another"
            ));
        }
        let options = reflecting(options, &list, args, io)?;
        let mut listed = rewrite_tools(&list, &options);
        remarks(&listed, &aside, args, io);
        (std::mem::take(&mut listed.value), listed)
    } else {
        if args.shape.is_some() || !args.never.is_empty() || !args.reflect.is_empty() {
            bail!(
                "`--as`, `--never` and `--reflect` are for lists of tools, and this is one schema"
            );
        }
        schema(&document, &options, args, io)?
    };
    if args.guidance {
        return io.answer(listed.guidance());
    }
    io.json(aside.put_back(&value.to_string()))
}

fn options(args: &cli::Rewrite) -> Result<ListOptions> {
    let mut options = match (args.choice.style, args.choice.profile) {
        (Some(style), _) => ListOptions::style(style).with_spelling(spelling(args, style)),
        (None, Some(profile)) => ListOptions::profile(profile),
        (None, None) => {
            bail!("give `--style` or `--profile`");
        }
    };
    if let (Some(profile), Some(shape)) = (args.choice.profile, args.shape)
        && !profile.takes_shape(shape)
    {
        bail!(
            "the shape `{shape}` is another provider's than the profile {profile}, which would refuse \
             what is in it"
        );
    }
    options.shape = args.shape;
    options.max_added_tokens = args.max_added_tokens;
    options.never.extend(args.never.iter().cloned());
    Ok(options)
}

/// Adds the tools of `--reflect` to the options.
fn reflecting(
    options: ListOptions,
    list: &ToolList,
    args: &cli::Rewrite,
    io: &mut Streams<'_>,
) -> Result<ListOptions> {
    let rules = Arc::new(rules(&[], &args.withhold)?);
    let all = args.reflect.iter().any(|name| name == ALL);
    for name in args.reflect.iter().filter(|name| *name != ALL) {
        if !list.tools().any(|tool| tool.name() == name) {
            io.notice(format_args!("`--reflect {name}` names no tool of the list"));
        }
    }
    let wanted = |name: &str| all || args.reflect.iter().any(|wanted| wanted == name);
    let tools = list.tools().filter(|tool| wanted(tool.name()));
    Ok(tools.fold(options, |options, tool| {
        let reflection = Reflection::new().with_rules(Arc::clone(&rules));
        options.with_reflection(tool.name(), reflection)
    }))
}

fn spelling(args: &cli::Rewrite, style: Style) -> Spelling {
    match args.spelling {
        Some(Sign::Dollar) => Spelling::Dollar,
        Some(Sign::Underscore) => Spelling::Underscore,
        None => style.spelling(),
    }
}

/// The first shape in a list that a profile's provider does not read.
pub(crate) fn foreign(list: &ToolList, profile: Profile) -> Option<Shape> {
    let mut shapes = list.tools().map(|tool| tool.shape());
    shapes.find(|shape| !profile.takes_shape(*shape))
}

/// The JSON of a file or of standard input. Parts of a list that nest too deep are set aside, so that other tools are read.
pub(crate) fn read(file: &Path) -> Result<(Value, SetAside)> {
    let document = Document::new(input::read_text(file)?);
    let refused = |why: String| invalid(file, &why);
    let error = match value(&document) {
        Ok(value) => {
            let value = value.map_err(refused)?;
            // An error reply would pass as an empty schema.
            if value.get("jsonrpc").is_some() && !ToolList::is_list(&value) {
                return Err(refused("it is a JSON-RPC message without tools".to_owned()));
            }
            if let Some(why) = no_tools(&value) {
                return Err(refused(why));
            }
            return Ok((value, SetAside::default()));
        }
        Err(error) => error,
    };
    if error.kind == JsonErrorKind::TooDeep
        && let Some((rest, aside)) = SetAside::of(document.raw())
        && let Ok(Ok(value)) = value(&Document::new(rest))
        && ToolList::is_list(&value)
    {
        return Ok((value, aside));
    }
    Err(refused(format!(
        "it is not valid JSON that can be read: {error}"
    )))
}

/// Why a document with `tools` is not a list of tools.
fn no_tools(document: &Value) -> Option<String> {
    let mut telling = "type properties $schema $ref allOf anyOf oneOf".split(' ');
    if telling.any(|key| document.get(key).is_some()) {
        return None;
    }
    let inside = document.get("result").unwrap_or(document);
    let is_list = inside.get("tools")?.is_array();
    (!is_list).then(|| "`tools` is not a list".to_owned())
}

/// The value of a document. The errors: invalid JSON, and a number out of range.
fn value(document: &Document) -> Result<Result<Value, String>, JsonError> {
    let root = document.root()?;
    Ok(root.to_value().map_err(|error| error.to_string()))
}

/// A list of tools, if it has one or is empty.
pub(crate) fn list(document: Value, file: &Path) -> Result<ToolList> {
    let list = ToolList::try_from(document).map_err(|error| invalid(file, &error.to_string()))?;
    let is_hosted = list.passed().iter().any(|passed| passed.is_hosted);
    if list.tools().len() == 0 && !list.passed().is_empty() && !is_hosted {
        let error = invalid(file, "no item of the list is a tool");
        return Err(error.with_advice(schema_file::ADVICE));
    }
    Ok(list)
}

/// Refuses data in place of a schema.
pub(crate) fn check_schema(document: &Value, file: &Path) -> Result {
    match schema_file::data_fault(document) {
        None => Ok(()),
        Some(why) => Err(invalid(file, &why).with_advice(schema_file::ADVICE)),
    }
}

/// The error for a document that is neither a schema nor a list.
pub(crate) fn invalid(file: &Path, why: &str) -> CommandError {
    let message = format!(
        "{} is neither a schema nor a list of tools: {why}",
        input::name(file)
    );
    CommandError::answer(ErrorCode::SchemaInvalid, message)
}

/// One schema, as the one tool of a list.
pub(crate) fn alone(schema: &Value, options: &ListOptions) -> Result<RewrittenList, ToolListError> {
    let list = json!({"tools": [{"name": ALONE, "inputSchema": schema}]});
    Ok(rewrite_tools(&ToolList::parse(&list)?, options))
}

fn schema(
    schema: &Value,
    options: &ListOptions,
    args: &cli::Rewrite,
    io: &mut Streams<'_>,
) -> Result<(Value, RewrittenList)> {
    check_schema(schema, &args.file)?;
    let listed = alone(schema, options).map_err(|error| invalid(&args.file, &error.to_string()))?;
    let tool = listed.tools.first();
    let tool = tool.ok_or_else(|| invalid(&args.file, "there is none"))?;
    if let Some(error) = tool.error() {
        return Err(schema_body(error).into());
    }
    remarks_of(tool, "the schema", None, args.report, io);
    Ok((tool.shown_schema().clone(), listed))
}

pub(crate) fn schema_body(error: &SchemaError) -> ErrorBody {
    let mut body = ErrorBody::new(error.code(), error.to_string());
    body.at = error.at().map(ToString::to_string);
    body
}

/// Writes notices and remarks about a rewritten list.
fn remarks(listed: &RewrittenList, aside: &SetAside, args: &cli::Rewrite, io: &mut Streams<'_>) {
    for UnsupportedField { tool, field, .. } in &listed.lost {
        let of = if tool.is_empty() { "the list" } else { tool };
        io.notice(match field {
            Some(field) => format!("{of}: there is no place for `{field}` in this shape"),
            None => format!("{of}: this shape has no such tool, it is left out"),
        });
    }
    for name in &listed.unknown_never {
        io.notice(format_args!("`--never {name}` names no tool of the list"));
    }
    for passed in &listed.passed {
        let name = match passed.name.as_str() {
            "" => passed.at.as_str(),
            name => name,
        };
        if !passed.is_hosted {
            io.notice(format_args!(
                "{name}: {}; the entry stays as it came",
                passed.why
            ));
        } else if args.report {
            io.remark(format_args!("{name}: as it came: {}", passed.why));
        }
    }
    for tool in &listed.tools {
        // The mark in place of a deep part is not a schema, but the error is the depth.
        let too_deep = aside
            .is_part_of(tool.input_schema())
            .then_some(&SchemaError::TooDeep);
        let error = too_deep.or(tool.error());
        remarks_of(tool, tool.name(), error, args.report, io);
    }
}

fn remarks_of(
    tool: &ListedTool,
    name: &str,
    error: Option<&SchemaError>,
    report: bool,
    io: &mut Streams<'_>,
) {
    if let Some(error) = error {
        let code = error.code();
        io.notice(format_args!(
            "{name}: {error} ({code}); the tool is listed as it came"
        ));
    }
    for notice in tool.notices() {
        io.notice(format_args!("{name}: {notice}"));
    }
    if tool.name() != tool.shown_name() {
        io.notice(format_args!("{name}: shown as `{}`", tool.shown_name()));
    }
    for (original, shown) in tool.names().pairs() {
        io.notice(format_args!("{name}: `{original}` is shown as `{shown}`"));
    }
    if !report {
        return;
    }
    io.remark(format_args!("{name}: {}", decision(tool.decision())));
    for dropped in tool.dropped() {
        let (keyword, at) = (&dropped.keyword, dropped.at.as_str());
        let at = if at.is_empty() { "the root" } else { at };
        io.remark(format_args!("{name}: without `{keyword}` at {at}"));
    }
}

/// The style and the reason: `refs-list strict: the richest style of openai-strict`.
fn decision(decision: &Decision) -> String {
    let style = decision.style.map_or("no references", Style::as_str);
    let strict = match decision.strict {
        Some(true) => ", strict",
        Some(false) => ", not strict",
        None => "",
    };
    format!("{style}{strict}: {}", decision.why)
}
