//! Prints the tools that are named on the command line in full, as a client gets them, laid out for a person.

use super::{Checked, ToolCost, parsed, tokens, write_cost, write_unanswered};
use crate::report::{self, CommandError, Result};
use bytes::Bytes;
use crossfeed::error::printable;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// Prints the named tools.
pub(super) fn write(
    checked: &[Checked<'_>],
    own: &BTreeMap<String, Bytes>,
    wanted: &[String],
    out: &mut dyn Write,
) -> Result {
    let mut is_sound = true;
    for Checked {
        server,
        probed,
        last_lines,
        tools,
        ..
    } in checked
    {
        if let Err(error) = probed {
            is_sound = false;
            write_unanswered(&server.name, error, last_lines, out)?;
        }
        for tool in tools {
            if !tool.is_wanted(&server.name, wanted) {
                continue;
            }
            write!(out, "{}/", server.name)?;
            write_cost(tool, out)?;
            if let Some(refused) = &tool.report.refused {
                is_sound = false;
                writeln!(out, "error: {}", refused.escape_debug())?;
            }
            for notice in &tool.report.notices {
                writeln!(out, "notice: {}", notice.escape_debug())?;
            }
            if let Some(shown) = &tool.shown {
                write_definition(shown, out)?;
            }
        }
    }
    for (name, tool) in own.iter().filter(|(name, _)| wanted.contains(name)) {
        writeln!(out, "{name}: {} tokens, of the gateway's own", tokens(tool))?;
        write_definition(tool, out)?;
    }
    out.flush()?;
    if let Some(missing) = missing(checked, own, wanted) {
        return Err(missing);
    }
    if is_sound {
        Ok(())
    } else {
        Err(CommandError::Written(report::ERROR))
    }
}

/// An error if a named tool does not exist.
pub(super) fn missing(
    checked: &[Checked<'_>],
    own: &BTreeMap<String, Bytes>,
    wanted: &[String],
) -> Option<CommandError> {
    let is_there = |name: &String| {
        let lists = |server: &Checked<'_>| {
            let is =
                |tool: &ToolCost| tool.is_wanted(&server.server.name, std::slice::from_ref(name));
            server.tools.iter().any(is)
        };
        own.contains_key(name) || checked.iter().any(lists)
    };
    let name = wanted.iter().find(|name| !is_there(name))?;
    let advice = if checked.iter().all(|server| server.probed.is_ok()) {
        "`--check` alone lists all tools"
    } else {
        "not every server could be asked"
    };
    let message = format!("no server lists a tool `{name}`: {advice}");
    Some(CommandError::usage(message))
}

/// A tool as a client gets it, laid out for a person: its description, then everything else.
fn write_definition(tool: &Bytes, out: &mut dyn Write) -> io::Result<()> {
    let Value::Object(mut members) = parsed(tool) else {
        return Ok(());
    };
    members.remove("name");
    if let Some(Value::String(description)) = members.remove("description") {
        writeln!(out, "description:")?;
        for line in description.trim_end().lines() {
            writeln!(out, "  {}", printable(line))?;
        }
    }
    for (key, member) in members {
        let text = format!("{member:#}");
        let mut lines = text.lines().map(printable);
        writeln!(
            out,
            "{}: {}",
            printable(&key),
            lines.next().unwrap_or_default()
        )?;
        for line in lines {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out)
}
