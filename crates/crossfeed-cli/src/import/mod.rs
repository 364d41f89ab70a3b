//! `crossfeed import`: the gateway in place of a client's servers, and back.
//!
//! What comes in: the files of a client. What goes out: the same with one server in place of theirs, a
//! configuration of the gateway, a copy of what was; or what would change. Deliberately not here: how the
//! texts are changed, which is `crossfeed_gateway::import`'s.

mod diff;
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
    let mut wrong = Vec::new();
    for target in &targets {
        let wiring = wiring(client, &program, target)?;
        let done = if args.action.undo {
            undo(target, &wiring, out)
        } else {
            wire(target, &wiring, args.action.apply, out)
        };
        match done {
            Ok(()) => {}
            // The other files are none the worse for it.
            Err(Stop::Answer(bodies)) => wrong.extend(bodies),
            Err(stop) => return Err(stop),
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Stop::Answer(wrong)),
    }
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

fn wire(target: &Target, wiring: &Wiring, apply: bool, out: &mut dyn Write) -> Result<(), Stop> {
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
    for (path, what) in [(&target.config, &plan.config), (&target.backup(), &before)] {
        if path.exists() && read(path)? != *what {
            return Err(in_the_way(target, path));
        }
    }
    writeln!(out, "{}: {}", target.name(), plan.moved.join(", "))?;
    said(&plan.stay, &plan.remarks, out)?;
    writeln!(
        out,
        "  configuration of the gateway: {}",
        target.config.display()
    )?;
    if !apply {
        return shown(wiring, &before, &plan, out);
    }
    files::directory(&target.config, target.is_own)?;
    replace(&target.config, &plan.config, None)?;
    replace(&target.backup(), &before, None)?;
    replace(&target.file, &plan.client, Some(&before))?;
    writeln!(
        out,
        "  as it was: {}; `crossfeed import {} --undo` puts it back",
        target.backup().display(),
        wiring.client.as_str()
    )?;
    Ok(())
}

/// What would change, without secrets.
fn shown(wiring: &Wiring, before: &str, plan: &Plan, out: &mut dyn Write) -> Result<(), Stop> {
    let key = wiring.client.key();
    // Both were read before.
    let hidden = |text| without_secrets(text, key).unwrap_or_default();
    diff::write(&hidden(before), &hidden(&plan.client), out)?;
    Ok(())
}

fn said(stay: &[(String, String)], remarks: &[String], out: &mut dyn Write) -> std::io::Result<()> {
    for (name, why) in stay {
        writeln!(out, "  `{name}` stays where it is: {why}")?;
    }
    for remark in remarks {
        writeln!(out, "  notice: {remark}")?;
    }
    Ok(())
}

fn undo(target: &Target, wiring: &Wiring, out: &mut dyn Write) -> Result<(), Stop> {
    let backup = target.backup();
    if !backup.exists() {
        writeln!(out, "{}: there is nothing to undo", target.name())?;
        return Ok(());
    }
    let (now, before) = (read(&target.file)?, read(&backup)?);
    if now == before {
        writeln!(out, "{}: it is as it was already", target.name())?;
    } else {
        let back = import::undo(&now, &before, wiring).map_err(|error| refused(target, &error))?;
        replace(&target.file, &back, Some(&now))?;
        let how = match back == before {
            true => "as it was",
            false => "the servers are back; what changed elsewhere since is kept",
        };
        writeln!(out, "{}: {how}", target.name())?;
    }
    let ours = import::plan(&before, wiring).map(|plan| plan.config);
    if target.config.exists() {
        if ours.is_ok_and(|ours| read(&target.config).is_ok_and(|now| now == ours)) {
            remove(&target.config)?;
        } else {
            let config = target.config.display();
            writeln!(out, "  {config} was changed since and is kept")?;
        }
    }
    remove(&backup)
}

fn refused(target: &Target, error: &ImportError) -> Stop {
    let message = format!("{}: {error}", target.name());
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
        ImportError::Taken => Some("call that server otherwise".to_owned()),
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
