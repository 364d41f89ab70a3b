//! `crossfeed project`: cuts a result to the requested fields.

use crate::{
    cli::{self, Kind},
    input, inputs, records,
    report::{CommandError, Result, Streams, bail},
    select,
    unmatched::{self, Unmatched},
};
use crossfeed::{
    CallId, Engine, EngineOptions, ErrorCode,
    json::Document,
    mcp::{Annotation, Capability, KEY, Projector, Tool},
    project::{
        DiagnosticKind, FieldsValue, Path, ProjectOptions, Projected, ProjectionError,
        ProjectionRequest, ResourceType, ResourceTypes, RevealPolicy, RevealRules, Views,
    },
};
use serde_json::{Value, json};
use std::ffi::OsStr;

/// The call of the one result.
const CALL: &str = "call_1";

pub(crate) async fn run(args: &cli::Project, io: &mut Streams<'_>) -> Result {
    let documents = args.inputs.files.iter().filter(|_| !args.describe);
    let documents = documents.map(|file| Some(file.as_os_str()));
    let schema = args.schema.as_ref().map(|path| path.as_os_str());
    let inputs = [&args.views, &args.types, &args.mcp].map(|input| input.as_deref());
    input::check_stdin(inputs.into_iter().chain([schema]).chain(documents))?;
    let types = args.types.as_deref().map(types).transpose()?;
    let rules = rules(&args.always, &args.never)?;
    if let (Some(types), true) = (&types, args.describe) {
        return io.json(types.without(&rules).introspect().to_string());
    }
    let views = match &args.views {
        Some(views) => Views::parse(&value(views)?).map_err(invalid)?,
        None => Views::default(),
    };
    if let Some(request) = &args.mcp {
        return over_mcp(args, value(request)?, views, rules, io).await;
    }
    let mut options = ProjectOptions::default()
        .with_request(request(args))
        .with_views(views);
    if let Some(types) = &types {
        options = options.with_resource(resource(types, args.resource.as_deref())?);
    }
    if let Some(operation) = args.operation {
        options = options.with_operation(operation);
    }
    if let Some(path) = &args.schema {
        options = options.with_output_schema(input::read_schema(path, &input::name(path))?);
    }
    let kind = args.inputs.kind;
    inputs::each(
        &args.inputs,
        kind,
        io,
        async |document, io: &mut Streams<'_>| one(args, &rules, &options, document, io).await,
    )
    .await
}

/// Cuts one document.
async fn one(
    args: &cli::Project,
    rules: &RevealRules,
    options: &ProjectOptions,
    document: Document,
    io: &mut Streams<'_>,
) -> Result {
    let kind = args.inputs.kind;
    // Its index is built only if a search needs it.
    let whole = Document::new(document.raw().clone());
    let mut unmatched = unmatched_rules(rules, &whole, kind).await?;
    // Fields that `--never` withholds may also be excluded.
    let unruled = if args.exclude.is_empty() || rules.never().is_empty() {
        None
    } else {
        let bytes = Document::new(whole.raw().clone());
        Some(cut(RevealRules::default(), options, bytes, kind).await?)
    };
    let projected = cut(rules.clone(), options, document, kind).await?;
    let judged = unruled.as_ref().unwrap_or(&projected);
    unmatched.extend(unmatched_paths(args, judged, &whole)?);
    unmatched::report(unmatched, args.allow_unmatched, io)?;
    io.json(answer(&projected))
}

/// The tool result as a server that supports every mode would send it.
async fn over_mcp(
    args: &cli::Project,
    request: Value,
    views: Views,
    rules: RevealRules,
    io: &mut Streams<'_>,
) -> Result {
    let mut tool = Tool::default();
    tool.annotation = Annotation::default().with_supported(true).with_views(views);
    if let Some(path) = &args.schema {
        tool.output_schema = Some(input::read_schema(path, &input::name(path))?);
    }
    let params = match request.get("_meta") {
        Some(_) => request,
        None => json!({"_meta": {KEY: request}}),
    };
    let projector = Projector::new(Capability::default()).with_rules(rules.clone());
    let kind = Some(Kind::Mcp);
    inputs::each(
        &args.inputs,
        kind,
        io,
        async |document, io: &mut Streams<'_>| {
            let unmatched = unmatched_rules(&rules, &document, Some(Kind::Mcp)).await?;
            unmatched::report(unmatched, args.allow_unmatched, io)?;
            let projected = projector.project(&tool, &params, &document);
            let projected = projected.map_err(|error| {
                let message = format!("the document is not a tool result of MCP: {error}");
                CommandError::answer(ErrorCode::ProjectionInvalid, message)
            })?;
            io.json(projected.json.trim_ascii_end())
        },
    )
    .await
}

/// Cuts the result as a host would before sending it.
async fn cut(
    rules: RevealRules,
    options: &ProjectOptions,
    document: Document,
    kind: Option<Kind>,
) -> Result<Projected> {
    let call = CallId::parse(CALL)?;
    let policy = RevealPolicy::default().with_every_tool(rules);
    let engine = EngineOptions::default().with_reveal(policy);
    let engine = records::with_room(engine, document.raw().len());
    let session = Engine::new(engine, records::store()).session(records::named_scope("default")?);
    let result = records::result(document, kind);
    let response = session.respond(&call, result).await?;
    let cut = response.cut(options).await;
    cut.map_err(|failure| select::unnamed(failure).into())
}

/// The names and paths in `--never` that hide nothing of the result.
async fn unmatched_rules(
    rules: &RevealRules,
    document: &Document,
    kind: Option<Kind>,
) -> Result<Vec<Unmatched>> {
    let mut unmatched = Vec::new();
    for path in rules.never() {
        // A diagnostic does not name the rule.
        let alone = RevealRules::new([], [path.clone()]);
        let bytes = Document::new(document.raw().clone());
        let projected = cut(alone, &ProjectOptions::default(), bytes, kind).await?;
        let mut diagnostics = projected.diagnostics.iter();
        if !diagnostics.any(|found| found.kind == DiagnosticKind::Withheld) {
            unmatched.push(path.clone());
        }
    }
    Ok(unmatched::in_document("--never", &unmatched, document))
}

/// The paths in `--exclude` that no object has.
fn unmatched_paths(
    args: &cli::Project,
    projected: &Projected,
    document: &Document,
) -> Result<Vec<Unmatched>> {
    let included = paths(&args.include)?;
    let mut unmatched = paths(&args.exclude)?;
    unmatched.retain(|path| {
        let name = path.to_string();
        let mut diagnostics = projected.diagnostics.iter();
        !included.contains(path)
            && diagnostics
                .any(|found| found.kind == DiagnosticKind::UnknownField && found.path == name)
    });
    Ok(unmatched::in_document("--exclude", &unmatched, document))
}

/// The answer, with the value in its original bytes.
fn answer(projected: &Projected) -> Vec<u8> {
    let mut answer = b"{\"value\":".to_vec();
    answer.extend_from_slice(&projected.json);
    if let Some(schema) = &projected.schema {
        answer.extend_from_slice(format!(",\"schema\":{schema}").as_bytes());
    }
    if projected.failed {
        answer.extend_from_slice(b",\"failed\":true");
    }
    let diagnostics = projected.diagnostics.to_value();
    answer.extend_from_slice(format!(",\"diagnostics\":{diagnostics}}}").as_bytes());
    answer
}

fn request(args: &cli::Project) -> ProjectionRequest {
    let mut request = ProjectionRequest::new();
    let (include, exclude) = (non_empty(&args.include), non_empty(&args.exclude));
    if !include.is_empty() {
        request = request.with_include(include);
    }
    if !exclude.is_empty() {
        request = request.with_exclude(exclude);
    }
    let keys = non_empty(&args.select).into_iter();
    let keys: Vec<&str> = keys
        .flat_map(|keys| keys.split(','))
        .map(str::trim)
        .collect();
    if !keys.is_empty() {
        request = request.with_select(keys.into_iter().filter(|key| !key.is_empty()));
    }
    request = match non_empty(&args.fields).as_slice() {
        [] => request,
        [one] => request.with_fields(*one),
        several => {
            let several = several.iter().map(|&field| field.to_owned()).collect();
            request.with_fields(FieldsValue::List(several))
        }
    };
    if let Some(view) = &args.view {
        request = request.with_view(view);
    }
    if let Some(preset) = &args.preset {
        request = request.with_preset(preset);
    }
    request
}

/// The lists that are not empty: an empty list filters nothing.
fn non_empty(lists: &[String]) -> Vec<&str> {
    let lists = lists.iter().map(|list| list.trim());
    lists.filter(|list| !list.is_empty()).collect()
}

/// The rules of `--always` and `--never`.
pub(crate) fn rules(always: &[String], never: &[String]) -> Result<RevealRules> {
    // An empty variable of the shell must not disable the rule.
    if never.iter().any(|list| list.trim().is_empty()) {
        bail!("a list of what is never shown is empty: give names or paths, or leave it out");
    }
    Ok(RevealRules::new(paths(always)?, paths(never)?))
}

fn paths(lists: &[String]) -> Result<Vec<Path>> {
    let mut paths = Vec::new();
    for list in non_empty(lists) {
        paths.extend(Path::parse_list(list).map_err(|error| {
            let advice = error.advice().to_string();
            CommandError::answer(error.code(), error.to_string()).with_advice(advice)
        })?);
    }
    Ok(paths)
}

fn types(text: &OsStr) -> Result<ResourceTypes> {
    ResourceTypes::parse(&value(text)?).map_err(invalid)
}

/// The type that is named, or the only one.
fn resource(types: &ResourceTypes, name: Option<&str>) -> Result<ResourceType> {
    let mut all = types.iter();
    let found = match (name, all.next(), all.next()) {
        (Some(name), ..) => types.get(name),
        (None, only, None) => only,
        (None, ..) => None,
    };
    found.cloned().ok_or_else(|| {
        let names: Vec<_> = types.iter().map(|kind| kind.name()).collect();
        let names = names.join(", ");
        CommandError::usage(format!("`--type` is one of those in `--types`: {names}"))
    })
}

/// The value of a file, or of the text itself.
fn value(text: &OsStr) -> Result<Value> {
    let document = Document::new(input::read_or_inline(text)?);
    let unread = |why: String| {
        let name = input::name(text.as_ref());
        CommandError::usage(format!("{name} is not valid JSON that can be read: {why}"))
    };
    let root = document.root().map_err(|error| unread(error.to_string()))?;
    root.to_value().map_err(|error| unread(error.to_string()))
}

fn invalid(error: ProjectionError) -> CommandError {
    error.body().into()
}
