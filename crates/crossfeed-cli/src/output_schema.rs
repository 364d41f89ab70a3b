//! `crossfeed summarize` and `crossfeed inspect`: show the fields of a tool's output schema.

use crate::{
    cli,
    project::rules,
    report::{CommandError, Result, Streams},
    rewrite::{check_schema, list, read, schema_body},
};
use crossfeed::{
    ErrorCode,
    project::RevealRules,
    schema::{Descriptor, INSPECTOR, InspectRequest, OutputSchema, check, descriptors},
    tools::ToolList,
};
use serde_json::{Value, json};
use std::path::Path;

/// The id of a schema without a tool.
const ALONE: &str = "tool";

pub(crate) fn summarize(args: &cli::Summarize, io: &mut Streams<'_>) -> Result {
    let rules = rules(&[], &args.never)?;
    let (document, _) = read(&args.file)?;
    let answer = match (ToolList::is_list(&document), &args.tool_id) {
        (true, None) => {
            let list = list(document, &args.file)?;
            if list.tools().any(|tool| tool.name() == INSPECTOR) {
                io.notice(format_args!(
                    "the tool `{INSPECTOR}` of the list is left out: the name is the inspector's"
                ));
            }
            let of = |tool: crossfeed::tools::Tool<'_>| {
                let output = tool.output_schema().map(|schema| output(schema, &rules));
                let (name, says) = (tool.name(), tool.description());
                Descriptor::new(name, says, &tool.input_schema(), output.as_ref())
            };
            let tools = descriptors(list.tools().map(of));
            json!({"tools": tools.iter().map(Descriptor::to_value).collect::<Vec<_>>()})
        }
        (_, id) => {
            let (schema, id) = schema(document, id.as_deref(), &args.file)?;
            output(&schema, &rules).summary(&id).to_value()
        }
    };
    io.json(answer.to_string())
}

pub(crate) fn inspect(args: &cli::Inspect, io: &mut Streams<'_>) -> Result {
    let rules = rules(&[], &args.never)?;
    let (document, _) = read(&args.file)?;
    let (schema, _) = schema(document, args.tool_id.as_deref(), &args.file)?;
    let request = InspectRequest::default()
        .with_field_path(&args.field_path)
        .with_max_depth(args.max_depth)
        .with_max_fields(args.max_fields)
        .with_offset(args.offset);
    let inspected = output(&schema, &rules).inspect(&request);
    let inspected = inspected.map_err(|error| {
        CommandError::answer(error.code(), error.to_string()).with_advice(error.advice())
    })?;
    io.json(inspected.to_value().to_string())
}

fn output(schema: &Value, rules: &RevealRules) -> OutputSchema {
    OutputSchema::new(schema.clone()).without(rules)
}

/// The output schema that a file is, or that the tool of a list declares; and the tool's id.
fn schema(document: Value, id: Option<&str>, file: &Path) -> Result<(Value, String)> {
    if !ToolList::is_list(&document) {
        check_schema(&document, file)?;
        if let Err(error) = check(&document) {
            return Err(schema_body(&error).into());
        }
        return Ok((document, id.unwrap_or(ALONE).to_owned()));
    }
    let list = list(document, file)?;
    let names = list.tools().map(|tool| format!("`{}`", tool.name()));
    let known = match names.collect::<Vec<_>>().join(", ") {
        names if names.is_empty() => "the list has no tools".to_owned(),
        names => format!("it has: {names}"),
    };
    let refused = |message| CommandError::answer(ErrorCode::ProjectionInvalid, message);
    let Some(id) = id else {
        let message = format!("`--tool-id` picks a tool of the list; {known}");
        return Err(CommandError::usage(message));
    };
    let Some(tool) = list.tools().find(|tool| tool.name() == id) else {
        return Err(refused(format!("the list has no tool `{id}`")).with_advice(known));
    };
    match tool.output_schema() {
        Some(schema) => Ok((schema.clone(), id.to_owned())),
        None => Err(
            refused(format!("the tool `{id}` declares no output schema"))
                .with_advice("learn one from its results: `crossfeed learn`"),
        ),
    }
}
