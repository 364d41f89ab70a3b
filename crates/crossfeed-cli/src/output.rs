//! `crossfeed summarize` and `crossfeed inspect`: what a tool's output schema holds.

use crate::{
    cli,
    project::rules,
    report::Stop,
    rewrite::{check_schema, list, read},
};
use crossfeed::{
    ErrorBody, ErrorCode,
    output_schema::{Descriptor, INSPECTOR, InspectRequest, OutputSchema, descriptors},
    projection::RevealRules,
    schema::{SchemaError, check},
    tools::ToolList,
};
use serde_json::{Value, json};
use std::{io::Write, path::Path};

/// What a schema without a tool is called.
const ALONE: &str = "tool";

pub(crate) fn summarize(
    args: &cli::Summarize,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    let rules = rules(&[], &args.never)?;
    let (document, _) = read(&args.file)?;
    let answer = match (ToolList::is_list(&document), &args.tool_id) {
        (true, None) => {
            let list = list(document, &args.file)?;
            if list.tools().any(|tool| tool.name() == INSPECTOR) {
                let _ = writeln!(
                    err,
                    "notice: the tool `{INSPECTOR}` of the list is left out: the name is the inspector's"
                );
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
    Ok(writeln!(out, "{answer}")?)
}

pub(crate) fn inspect(args: &cli::Inspect, out: &mut dyn Write) -> Result<(), Stop> {
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
        let mut body = ErrorBody::new(error.code(), error.to_string());
        body.advice = Some(error.advice());
        Stop::from(body)
    })?;
    Ok(writeln!(out, "{}", inspected.to_value())?)
}

fn output(schema: &Value, rules: &RevealRules) -> OutputSchema {
    OutputSchema::new(schema.clone()).without(rules)
}

/// The output schema that a file is, or that the tool of a list declares; and the tool's id.
fn schema(document: Value, id: Option<&str>, file: &Path) -> Result<(Value, String), Stop> {
    if !ToolList::is_list(&document) {
        check_schema(&document, file)?;
        if let Err(error) = check(&document) {
            return Err(unsound(&error));
        }
        return Ok((document, id.unwrap_or(ALONE).to_owned()));
    }
    let list = list(document, file)?;
    let names = || {
        let names: Vec<_> = list
            .tools()
            .map(|tool| format!("`{}`", tool.name()))
            .collect();
        names.join(", ")
    };
    let refused = |message: String, advice: String| {
        let mut body = ErrorBody::new(ErrorCode::ProjectionInvalid, message);
        body.advice = Some(advice);
        Stop::from(body)
    };
    let those = || match names().as_str() {
        "" => "the list has no tools".to_owned(),
        names => format!("it has: {names}"),
    };
    let Some(id) = id else {
        let message = format!("`--tool-id` picks a tool of the list; {}", those());
        return Err(Stop::Usage(message));
    };
    let Some(tool) = list.tools().find(|tool| tool.name() == id) else {
        return Err(refused(format!("the list has no tool `{id}`"), those()));
    };
    match tool.output_schema() {
        Some(schema) => Ok((schema.clone(), id.to_owned())),
        None => Err(refused(
            format!("the tool `{id}` declares no output schema"),
            "learn one from its results: `crossfeed learn`".to_owned(),
        )),
    }
}

fn unsound(error: &SchemaError) -> Stop {
    let mut body = ErrorBody::new(error.code(), error.to_string());
    body.at = error.at().map(ToString::to_string);
    body.into()
}
