//! `crossfeed import`: the gateway in place of a client's servers, and back.
//!
//! What comes in: the files of a client. What goes out: the same with one server in place of theirs, a
//! configuration of the gateway, a copy of what was; or what would change. Deliberately not here: how the
//! texts are changed, which is `crossfeed_gateway::import`'s.

mod files;

use crate::{cli, gateway, report::Stop};
use crossfeed::{ErrorBody, ErrorCode};
use crossfeed_gateway::import::{self, ClientKind, ImportError, Plan, Wiring, without_secrets};
use files::{Target, read, remove, replace};
use std::{io::Write, path::Path};

pub(crate) fn run(args: &cli::Import, out: &mut dyn Write) -> Result<(), Stop> {
    let environment = gateway::environment();
    let client = match args.client {
        cli::Client::ClaudeCode => ClientKind::ClaudeCode,
        cli::Client::Cursor => ClientKind::Cursor,
        cli::Client::Vscode => ClientKind::VsCode,
    };
    let targets = files::targets(client, args.config.as_deref(), &environment)?;
    let program = std::env::current_exe()
        .map_err(|error| Stop::Usage(format!("cannot tell where this command is: {error}")))?;
    let program = text(&program)?;
    let (mut wrong, mut failed) = (Vec::new(), Vec::new());
    // Whether somebody reads what is said does not decide what becomes of the files.
    let mut said = Vec::new();
    for target in &targets {
        let done = wiring(client, &program, target).and_then(|wiring| {
            if args.action.undo {
                undo(target, &wiring, &mut said)
            } else {
                wire(target, &wiring, args, &mut said)
            }
        });
        match done {
            Ok(()) => {}
            // The other files are none the worse for it.
            Err(Stop::Answer(bodies)) => wrong.extend(bodies),
            Err(Stop::Usage(why)) => failed.push(why),
            Err(stop) => return Err(stop),
        }
    }
    out.write_all(&said)?;
    out.flush()?;
    if !failed.is_empty() {
        failed.extend(wrong.into_iter().map(|body: ErrorBody| body.message));
        return Err(Stop::Usage(failed.join("; ")));
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Stop::Answer(wrong)),
    }
}

/// A text of a client's file as a line may hold it: what would steer a terminal is escaped.
fn plain(text: &str) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_debug().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

fn wiring(client: ClientKind, program: &str, target: &Target) -> Result<Wiring, Stop> {
    let mut wiring = Wiring::new(client, program, text(&target.config)?);
    if let Some(workspace) = &target.workspace {
        wiring = wiring.with_workspace(text(workspace)?);
    }
    if let Some(home) = &target.home {
        wiring = wiring.with_home(text(home)?);
    }
    Ok(wiring)
}

fn text(path: &Path) -> Result<String, Stop> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Stop::Usage(format!(
            "the path {} is no text",
            path.display()
        ))),
    }
}

fn wire(
    target: &Target,
    wiring: &Wiring,
    args: &cli::Import,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let before = read(&target.file)?;
    let plan = match import::plan(&before, wiring) {
        Ok(plan) => plan,
        Err(ImportError::Done) => {
            writeln!(out, "{}: {}", target.name(), ImportError::Done)?;
            return Ok(());
        }
        Err(ImportError::NoServers { stay }) => {
            writeln!(
                out,
                "{}: no server can go through the gateway",
                target.name()
            )?;
            return Ok(said(&stay, &[], out)?);
        }
        Err(error) => return Err(refused(target, &error)),
    };
    let backup = target.backup();
    for (path, what) in [(&target.config, &plan.config), (&backup, &before)] {
        if path.exists() && read(path)? != *what {
            return Err(in_the_way(target, path));
        }
    }
    if args.action.apply {
        write(target, &before, &plan)?;
    }
    writeln!(out, "{}: {}", target.name(), plain(&plan.moved.join(", ")))?;
    said(&plan.stay, &plan.remarks, out)?;
    writeln!(
        out,
        "  configuration of the gateway: {}",
        target.config.display()
    )?;
    if !args.action.apply {
        return shown(wiring, &before, &plan, out);
    }
    let named = args.config.as_ref();
    let named = named.map_or_else(String::new, |path| format!(" --config {}", path.display()));
    writeln!(
        out,
        "  as it was: {}; `crossfeed import {}{named} --undo` puts it back",
        backup.display(),
        wiring.client.as_str()
    )?;
    Ok(())
}

/// Writes the files, the client's last. Where that fails nothing of it stays: it would be in the way of
/// the next time.
fn write(target: &Target, before: &str, plan: &Plan) -> Result<(), Stop> {
    files::directory(&target.config, target.is_own)?;
    let backup = target.backup();
    let steps = [
        (&target.config, plan.config.as_str(), None),
        (&backup, before, None),
        (&target.file, plan.client.as_str(), Some(before)),
    ];
    let mut made = Vec::new();
    for (path, text, held) in steps {
        let is_new = !path.exists();
        if let Err(stop) = replace(path, text, held) {
            for path in made {
                // What is wrong is told already.
                let _ = remove(path);
            }
            return Err(stop);
        }
        if is_new {
            made.push(path);
        }
    }
    Ok(())
}

/// What would change, without secrets: the servers alone, since the rest of the file is none of our business.
fn shown(wiring: &Wiring, before: &str, plan: &Plan, out: &mut Vec<u8>) -> Result<(), Stop> {
    // It was read before.
    let gone = without_secrets(before, wiring, &plan.moved).unwrap_or_default();
    let new = serde_json::json!({ wiring.name: plan.entry });
    for (sign, servers) in [('-', gone), ('+', new)] {
        let text = format!("{servers:#}");
        // The braces around them say nothing.
        for line in text.lines().filter(|line| line.starts_with(' ')) {
            writeln!(out, "{sign} {}", plain(line))?;
        }
    }
    Ok(())
}

fn said(stay: &[(String, String)], remarks: &[String], out: &mut Vec<u8>) -> std::io::Result<()> {
    for (name, why) in stay {
        let (name, why) = (plain(name), plain(why));
        writeln!(out, "  `{name}` stays where it is: {why}")?;
    }
    for remark in remarks {
        writeln!(out, "  notice: {}", plain(remark))?;
    }
    Ok(())
}

fn undo(target: &Target, wiring: &Wiring, out: &mut Vec<u8>) -> Result<(), Stop> {
    let backup = target.backup();
    if !backup.exists() {
        writeln!(out, "{}: there is nothing to undo", target.name())?;
        return Ok(());
    }
    let (now, before) = (read(&target.file)?, read(&backup)?);
    let back = match now == before {
        true => before.clone(),
        false => import::undo(&now, &before, wiring).map_err(|error| refused(target, &error))?,
    };
    if back != now {
        replace(&target.file, &back, Some(&now))?;
    }
    let how = match (back == now, back == before) {
        (true, true) => "it is as it was already",
        (true, false) => "the servers are there already",
        (false, true) => "as it was",
        (false, false) => "the servers are back; what changed elsewhere since is kept",
    };
    writeln!(out, "{}: {how}", target.name())?;
    let ours = import::plan(&before, wiring).map(|plan| plan.config);
    if target.config.exists() {
        if ours.is_ok_and(|ours| read(&target.config).is_ok_and(|now| now == ours)) {
            remove(&target.config)?;
        } else {
            let config = target.config.display();
            writeln!(out, "  {config} was changed since and is kept")?;
        }
    }
    if import::is_whole(&back, &before, wiring) {
        return remove(&backup);
    }
    writeln!(
        out,
        "  comments may have been lost: as it was before it is in {}; move that away before the next import",
        backup.display()
    )?;
    Ok(())
}

fn refused(target: &Target, error: &ImportError) -> Stop {
    let message = plain(&format!("{}: {error}", target.name()));
    let mut body = ErrorBody::new(ErrorCode::ConfigInvalid, message);
    body.advice = match error {
        ImportError::Added { .. } => {
            Some("undo the import first, then import again: `--undo`, `--apply`".to_owned())
        }
        ImportError::Conflict { .. } => Some(format!(
            "take them out first; they stand in {}, too",
            target.backup().display()
        )),
        ImportError::NotThere => Some(format!(
            "the file was changed by hand; as it was before it is in {}",
            target.backup().display()
        )),
        ImportError::Taken { .. } => Some("call that server otherwise".to_owned()),
        _ => None,
    };
    body.into()
}

fn in_the_way(target: &Target, path: &Path) -> Stop {
    let message = format!(
        "{}: {} is there with something else",
        target.name(),
        path.display()
    );
    let mut body = ErrorBody::new(ErrorCode::ConfigInvalid, message);
    body.advice = Some("it is of an earlier import: undo that, or move the file away".to_owned());
    body.into()
}

#[cfg(test)]
mod tests {
    use super::{Target, import, write};
    use crossfeed_gateway::import::{ClientKind, Wiring};
    use std::fs;

    /// A client that writes its file all the time: what was not done can be tried again.
    #[test]
    fn what_fails_leaves_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("crossfeed-import-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("it can be made");
        let target = Target {
            file: folder.join("mcp.json"),
            config: folder.join("gateway.json"),
            is_own: false,
            workspace: None,
            home: None,
        };
        let before = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
        let wiring = Wiring::new(ClientKind::Cursor, "/crossfeed", "/gateway.json");
        let plan = import::plan(before, &wiring).expect("there is one");
        let names = || {
            let files = fs::read_dir(&folder).expect("it is there");
            let names = files.map(|file| file.expect("it is there").file_name());
            names.collect::<Vec<_>>()
        };
        fs::write(&target.file, "{}").expect("it can be written");
        let failed = write(&target, before, &plan).is_err();
        let (left, held) = (names(), fs::read_to_string(&target.file));
        fs::write(&target.file, before).expect("it can be written");
        let done = write(&target, before, &plan).is_ok();
        let there = names().len();
        fs::remove_dir_all(&folder).expect("it can be removed");
        assert!(failed && done);
        assert_eq!(left, ["mcp.json"]);
        assert_eq!(held.expect("it can be read"), "{}");
        assert_eq!(there, 3);
    }
}
