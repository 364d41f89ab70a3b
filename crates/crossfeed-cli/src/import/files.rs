//! Finds the files of a client, and replaces them atomically, with permissions that are never wider than before.

use crate::{
    gateway,
    report::{CommandError, Result, bail},
};
use crossfeed_gateway::import::ClientKind;
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The limit of a file: some clients keep their history in it.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// A file of a client.
pub(super) struct Target {
    /// The file, with links resolved.
    pub(super) file: PathBuf,
    /// The gateway's configuration.
    pub(super) config: PathBuf,
    /// Whether the configuration is in crossfeed's own directory.
    pub(super) is_own: bool,
    pub(super) workspace: Option<PathBuf>,
    pub(super) home: Option<PathBuf>,
}

impl Target {
    /// The copy of the original file.
    pub(super) fn backup(&self) -> PathBuf {
        beside(&self.file, ".before-crossfeed")
    }
}

/// A file's path with something behind its name.
fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    file.with_file_name(name)
}

/// The existing files of a client.
pub(super) fn targets(
    client: ClientKind,
    named: Option<&Path>,
    environment: &BTreeMap<String, String>,
) -> Result<Vec<Target>> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty());
    let home = set("HOME").map(PathBuf::from);
    let here = std::env::current_dir()
        .map_err(|error| CommandError::usage(format!("cannot tell the directory: {error}")))?;
    if let Some(path) = named {
        return Ok(vec![beside_it(path, home)?]);
    }
    let own = gateway::base_directory(environment, "XDG_CONFIG_HOME", ".config");
    let in_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let user = match client {
        ClientKind::ClaudeCode => match set("CLAUDE_CONFIG_DIR") {
            Some(directory) => vec![Path::new(directory).join(".claude.json")],
            None => in_home(".claude.json").into_iter().collect(),
        },
        ClientKind::Cursor => in_home(".cursor/mcp.json").into_iter().collect(),
        ClientKind::ClaudeDesktop => {
            let file = "Claude/claude_desktop_config.json";
            let mac = in_home(&format!("Library/Application Support/{file}"));
            own.iter().map(|own| own.join(file)).chain(mac).collect()
        }
        ClientKind::Codex => match set("CODEX_HOME") {
            Some(directory) => vec![Path::new(directory).join("config.toml")],
            None => in_home(".codex/config.toml").into_iter().collect(),
        },
        ClientKind::GeminiCli => in_home(".gemini/settings.json").into_iter().collect(),
        ClientKind::Windsurf => in_home(".codeium/windsurf/mcp_config.json")
            .into_iter()
            .collect(),
        ClientKind::Zed => own
            .iter()
            .map(|own| own.join("zed/settings.json"))
            .collect(),
        _ => own
            .iter()
            .map(|own| own.join("Code/User/mcp.json"))
            .chain(in_home("Library/Application Support/Code/User/mcp.json"))
            .collect(),
    };
    let project = match client {
        ClientKind::ClaudeCode => Some(".mcp.json"),
        ClientKind::Cursor => Some(".cursor/mcp.json"),
        ClientKind::VsCode => Some(".vscode/mcp.json"),
        ClientKind::Codex => Some(".codex/config.toml"),
        ClientKind::GeminiCli => Some(".gemini/settings.json"),
        ClientKind::Zed => Some(".zed/settings.json"),
        // These have none.
        _ => None,
    };
    let project = project.map(|path| here.join(path));
    let mut targets = Vec::new();
    for file in user.iter().filter(|file| file.exists()) {
        let Some(own) = &own else {
            bail!("cannot tell where the gateway's configuration goes: set `HOME`");
        };
        targets.push(Target {
            file: resolved(file)?,
            config: own
                .join("crossfeed")
                .join(format!("{}.json", client.as_str())),
            is_own: true,
            workspace: None,
            home: home.clone(),
        });
    }
    if let Some(project) = project.iter().find(|project| project.exists()) {
        let project = beside_it(project, home)?;
        // In the home directory both are one file.
        if targets.iter().all(|target| target.file != project.file) {
            targets.push(project);
        }
    }
    if targets.is_empty() {
        let looked: Vec<_> = user
            .iter()
            .chain(&project)
            .map(|path| path.display().to_string())
            .collect();
        bail!(
            "there is no configuration of {}: looked for {}; `--config` names another",
            client.as_str(),
            looked.join(", ")
        );
    }
    Ok(targets)
}

/// A file whose gateway's configuration stands beside it.
fn beside_it(path: &Path, home: Option<PathBuf>) -> Result<Target> {
    let file = resolved(path)?;
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(".crossfeed.json");
    Ok(Target {
        config: file.with_file_name(name),
        workspace: project_of(path, home.as_deref())?,
        file,
        is_own: false,
        home,
    })
}

/// The folder of the project that a file is of, by where the file stands; none where it is a user's.
fn project_of(path: &Path, home: Option<&Path>) -> Result<Option<PathBuf>> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => resolved(parent)?,
        _ => resolved(Path::new("."))?,
    };
    let home = home.and_then(|home| home.canonicalize().ok());
    let parent = directory.parent().map(Path::to_owned);
    let within = directory.file_name().and_then(|name| name.to_str());
    Ok(match within {
        _ if path.file_name().is_some_and(|name| name == ".mcp.json") => Some(directory),
        Some(".vscode" | ".zed") => parent,
        Some(".cursor" | ".codex" | ".gemini") => {
            parent.filter(|parent| Some(parent) != home.as_ref())
        }
        _ => None,
    })
}

/// What a path leads to: a link stays a link.
fn resolved(path: &Path) -> Result<PathBuf> {
    path.canonicalize()
        .map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::usage(format!("cannot read `{}`: {error}", path.display()))
}

fn unwritable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::usage(format!("cannot write `{}`: {error}", path.display()))
}

/// Whether there is anything of this name: a link that leads nowhere, too.
pub(super) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    // A pipe would be waited for.
    if !metadata.is_file() {
        bail!("`{}` is not a file", path.display());
    }
    if metadata.len() > MAX_FILE_BYTES {
        let message = format!("`{}` has more than {MAX_FILE_BYTES} bytes", path.display());
        return Err(CommandError::usage(message));
    }
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// Whether what is there is a file with this text. A link that leads nowhere is not one.
pub(super) fn holds(path: &Path, text: &str) -> Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(read(path)? == text),
        _ => Ok(false),
    }
}

/// Makes the directory of a file, for its owner alone where it is ours.
pub(super) fn directory(file: &Path, is_own: bool) -> Result {
    let Some(directory) = file.parent().filter(|_| is_own) else {
        return Ok(());
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(directory)
        .map_err(|error| unwritable(directory, &error))
}

/// Puts a text in a file's place, in one step. What the file held it must still hold, and then it keeps its
/// mode; a new file is for its owner alone, and nothing may be there.
pub(super) fn replace(path: &Path, text: &str, held: Option<&str>) -> Result {
    let new = beside(path, &format!(".{}.new", std::process::id()));
    let written = (|| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file: File = options.open(&new)?;
        file.write_all(text.as_bytes())?;
        if let Ok(metadata) = fs::metadata(path) {
            file.set_permissions(metadata.permissions())?;
        }
        file.sync_all()
    })();
    let changed =
        || held.is_some_and(|held| !fs::read_to_string(path).is_ok_and(|now| now == held));
    let done = match written {
        // It came meanwhile.
        Ok(()) if held.is_none() && is_there(path) => Err(CommandError::usage(format!(
            "`{}` is there already: nothing is written over",
            path.display()
        ))),
        Ok(()) if changed() => Err(CommandError::usage(format!(
            "`{}` was changed meanwhile: end the client, and try again",
            path.display()
        ))),
        Ok(()) => fs::rename(&new, path).map_err(|error| unwritable(path, &error)),
        Err(error) => Err(unwritable(path, &error)),
    };
    if done.is_err() {
        let _ = fs::remove_file(&new);
    }
    done
}

/// Removes a file.
pub(super) fn remove(path: &Path) -> Result {
    fs::remove_file(path).map_err(|error| unwritable(path, &error))
}
