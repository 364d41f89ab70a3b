//! `crossfeed import`: replaces the servers in a client's file with the gateway, and writes a configuration of the gateway and
//! a backup; or undoes it, or shows what would change. `crossfeed_gateway::import` changes the texts.

mod files;
mod program;
mod report;

use crate::{
    cli, gateway,
    report::{CommandError, Result},
};
use crossfeed::{ErrorCode, error::printable};
use crossfeed_gateway::import::{self, ClientKind, ImportError, Plan, Wiring, without_secrets};
use files::{Target, is_there, read, remove, replace};
use program::Program;
use report::{Change, FileReport};
use std::{io::Write, path::Path};

pub(crate) fn run(args: &cli::Import, json: bool, out: &mut dyn Write) -> Result {
    let environment = gateway::environment();
    let client = args.client;
    let targets = files::targets(client, args.config.as_deref(), &environment)?;
    let program = Program::find(&environment).map_err(|error| {
        CommandError::usage(format!("cannot tell where this command is: {error}"))
    })?;
    // The files change even if the report cannot be written.
    let done = targets.iter().map(|target| {
        let done = wiring(client, &program, target).and_then(|wiring| {
            if args.action.undo {
                undo(target, &wiring)
            } else {
                wire(target, &wiring, &program, args)
            }
        });
        done.unwrap_or_else(|why| FileReport::failed(&target.file, why))
    });
    report::write(done.collect(), json, out)
}

fn wiring(client: ClientKind, program: &Program, target: &Target) -> Result<Wiring> {
    let command = if target.workspace.is_some() && program.is_on_path {
        "crossfeed".to_owned()
    } else {
        text(&program.path)?
    };
    let mut wiring = Wiring::new(client, command, text(&target.config)?);
    if let Some(workspace) = &target.workspace {
        wiring = wiring.with_workspace(text(workspace)?);
        if let Ok(within) = target.config.strip_prefix(workspace) {
            wiring = wiring.with_shared_config(&text(within)?);
        }
    }
    if let Some(home) = &target.home {
        wiring = wiring.with_home(text(home)?);
    }
    Ok(wiring)
}

/// Notices about a file that is shared with others.
fn sharing_notices(target: &Target, wiring: &Wiring, program: &Program) -> Vec<String> {
    let mut notices = Vec::new();
    let Some(workspace) = &target.workspace else {
        return notices;
    };
    if !program.is_on_path {
        notices.push(format!(
            "the file names `{}`, which others who have the project do not have: put `crossfeed` on the `PATH` and \
             import again",
            wiring.program
        ));
    }
    if let Some(notice) = wiring.start_folder_remark() {
        notices.push(notice);
    }
    if workspace
        .ancestors()
        .any(|folder| is_there(&folder.join(".git")))
    {
        let name = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        notices.push(format!(
            "the project is in a repository, in which `{}` and `{}` are new: commit the first with `{}`, which needs \
             it, unless it holds secrets; keep the second out (`.gitignore`)",
            name(&target.config),
            name(&target.backup()),
            name(&target.file)
        ));
    }
    notices
}

/// A path, quoted for a shell if necessary.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-~+:@,=".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn text(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(CommandError::usage(format!(
            "the path {} is not text",
            path.display()
        ))),
    }
}

fn wire(
    target: &Target,
    wiring: &Wiring,
    program: &Program,
    args: &cli::Import,
) -> Result<FileReport> {
    let before = read(&target.file)?;
    let planned = import::plan(&before, wiring);
    // The plan reports what cannot be read.
    let elsewhere = import::unmanaged(&before, wiring).unwrap_or_default();
    let plan = match planned {
        Ok(plan) => plan,
        Err(error @ ImportError::Done) => {
            let mut report = FileReport::new(&target.file, "done", error.to_string());
            report.notices = elsewhere;
            return Ok(report);
        }
        Err(ImportError::NoServers { stay }) => {
            let words = if stay.is_empty() {
                format!("there is no server under `{}`", wiring.client.key())
            } else {
                "no server can go through the gateway".to_owned()
            };
            let mut report = FileReport::new(&target.file, "none", words).with_stay(stay);
            report.notices = elsewhere;
            return Ok(report);
        }
        Err(error) => return Err(refused(target, &error)),
    };
    let backup = target.backup();
    for (path, what) in [(&target.config, &plan.config), (&backup, &before)] {
        if is_there(path) && !files::holds(path, what)? {
            return Err(in_the_way(target, path));
        }
    }
    let mut outcome = "planned";
    if args.action.apply {
        write(target, &before, &plan)?;
        outcome = "imported";
    }
    let mut report = FileReport::new(&target.file, outcome, plan.moved.join(", "));
    if args.action.apply {
        let named = args.config.as_ref();
        let named = named.map_or_else(String::new, |path| format!(" --config {}", quoted(path)));
        let client = wiring.client.as_str();
        report.restore = format!("crossfeed import {client}{named} --undo");
        report.backup = Some(backup.display().to_string());
    } else {
        // The text was parsed before. The rest of the file is private.
        let gone = without_secrets(&before, wiring, &plan.moved).unwrap_or_default();
        let new = serde_json::json!({ wiring.name: plan.entry });
        report.change = Some(Change { gone, new });
    }
    report.config = Some(target.config.display().to_string());
    report.moved = plan.moved;
    report.notices = plan.remarks;
    report.notices.extend(elsewhere);
    report
        .notices
        .extend(sharing_notices(target, wiring, program));
    Ok(report.with_stay(plan.stay))
}

/// Writes the files, the client's last. If that fails it removes them again, so that they do not block the next import.
fn write(target: &Target, before: &str, plan: &Plan) -> Result {
    files::directory(&target.config, target.is_own)?;
    let backup = target.backup();
    let steps = [
        (&target.config, plan.config.as_str(), None),
        (&backup, before, None),
        (&target.file, plan.client.as_str(), Some(before)),
    ];
    let mut made = Vec::new();
    for (path, text, held) in steps {
        let is_new = !is_there(path);
        if !is_new && held.is_none() {
            // It holds that already.
            continue;
        }
        if let Err(stop) = replace(path, text, held) {
            for path in made {
                // The first error is reported.
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

fn undo(target: &Target, wiring: &Wiring) -> Result<FileReport> {
    let backup = target.backup();
    if !is_there(&backup) {
        return without_backup(target, wiring);
    }
    let (now, before) = (read(&target.file)?, read(&backup)?);
    let back = if now == before {
        before.clone()
    } else {
        import::undo(&now, &before, wiring).map_err(|error| refused(target, &error))?
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
    let mut report = FileReport::new(&target.file, "undone", how);
    let ours = import::plan(&before, wiring).map(|plan| plan.config);
    if is_there(&target.config) {
        if ours.is_ok_and(|ours| files::holds(&target.config, &ours).unwrap_or(false)) {
            remove(&target.config)?;
        } else {
            let config = target.config.display();
            let notice = format!("{config} was changed since and is kept");
            report.notices.push(notice);
        }
    }
    if import::is_whole(&back, &before, wiring) {
        remove(&backup)?;
        return Ok(report);
    }
    report.notices.push(format!(
        "comments may have been lost: as it was before it is in {}; move that away before the next import",
        backup.display()
    ));
    Ok(report)
}

/// There is nothing to undo, unless the client still has the gateway's entry.
fn without_backup(target: &Target, wiring: &Wiring) -> Result<FileReport> {
    let now = if is_there(&target.file) {
        read(&target.file)?
    } else {
        String::new()
    };
    let is_wired = matches!(
        import::plan(&now, wiring),
        Err(ImportError::Done | ImportError::Added { .. })
    );
    if !is_wired {
        let words = "there is nothing to undo";
        return Ok(FileReport::new(&target.file, "nothing", words));
    }
    let message = format!(
        "{}: the copy from before the import is missing: {}",
        target.file.display(),
        target.backup().display()
    );
    let advice = format!(
        "put the copy back, or replace the entry `{}` by the servers in {}",
        wiring.name,
        target.config.display()
    );
    Err(
        CommandError::answer(ErrorCode::ConfigInvalid, printable(&message))
            .with_advice(printable(&advice)),
    )
}

fn refused(target: &Target, error: &ImportError) -> CommandError {
    let message = format!("{}: {error}", target.file.display());
    let refused = CommandError::answer(ErrorCode::ConfigInvalid, printable(&message));
    let backup = target.backup();
    let backup = backup.display();
    let advice = match error {
        ImportError::Added { .. } => {
            "undo the import first, then import again: `--undo`, `--apply`".to_owned()
        }
        ImportError::Conflict { .. } => {
            format!("remove them first; {backup} has them, too")
        }
        ImportError::NotThere => {
            format!("the file was changed by hand; the original is in {backup}")
        }
        ImportError::Taken { .. } => "rename that server".to_owned(),
        _ => return refused,
    };
    refused.with_advice(advice)
}

fn in_the_way(target: &Target, path: &Path) -> CommandError {
    let message = format!(
        "{}: {} is there with something else",
        target.file.display(),
        path.display()
    );
    CommandError::answer(ErrorCode::ConfigInvalid, message)
        .with_advice("it is of an earlier import: undo that, or move the file away")
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
