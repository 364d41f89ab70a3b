//! `crossfeed import` on the files of clients, in a home of its own.

use super::Run;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A user's home with a project in it.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("import")
            .join(name);
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(home.join("project")).unwrap();
        Self(home.canonicalize().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Every file that there is, with what it holds.
    fn all(&self) -> Vec<(PathBuf, String)> {
        let mut files = Vec::new();
        let mut left = vec![self.0.clone()];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                left.extend(
                    fs::read_dir(path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
        files.sort();
        files
    }

    #[expect(clippy::disallowed_methods, reason = "the command is what is tested")]
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossfeed"));
        command
            .arg("import")
            .args(args)
            .env("HOME", &self.0)
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME")
            .current_dir(self.path("project"));
        command
    }

    fn import(&self, args: &[&str]) -> Run {
        let output = self.command(args).output().unwrap();
        Run {
            status: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// One that is to succeed; what it says.
    fn done(&self, args: &[&str]) -> String {
        let Run { status, out, err } = self.import(args);
        assert_eq!((status, err.as_str()), (0, ""), "{args:?}: {out}");
        out
    }
}

const CLAUDE: &str = "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"files\": {\n      \"command\": \"npx\",\n      \"env\": {\"KEY\": \"s3cret\"}\n    }\n  }\n}\n";

#[test]
fn a_dry_run_changes_nothing_and_shows_no_secret() {
    let home = Home::new("dry");
    home.write(".claude.json", CLAUDE);
    let before = home.all();
    let out = home.done(&["claude-code", "--dry-run"]);
    assert_eq!(home.all(), before);
    assert!(out.contains(".claude.json: files\n"), "{out}");
    assert!(out.contains("-   \"files\": {\n"), "{out}");
    assert!(out.contains("+   \"crossfeed\": {\n"), "{out}");
    assert!(!out.contains("s3cret"), "{out}");
}

/// Nothing but the servers is shown: the file holds all that the client knows.
#[test]
fn a_file_of_one_line_shows_no_secret() {
    let home = Home::new("line");
    home.write(
        ".claude.json",
        r#"{"primaryApiKey":"s3cret","mcpServers":{"b":{"command":"x","args":["s3cret"]},"a\u001b[31m\nb":{"command":"x"}},"oauth":"s3cret"}"#,
    );
    for action in ["--dry-run", "--apply"] {
        let out = home.done(&["claude-code", action]);
        assert!(!out.contains("s3cret"), "{out}");
        assert!(!out.contains('\u{1b}'), "{out}");
        assert!(out.contains(".claude.json: b\n"), "{out}");
        assert!(out.contains("`a\\u{1b}[31m\\nb` stays"), "{out}");
    }
}

#[test]
fn files_are_changed_though_nobody_reads() {
    let home = Home::new("unread");
    home.write(".claude.json", CLAUDE);
    home.write(
        "project/.mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
    );
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = home
        .command(&["claude-code", "--apply"])
        .stdout(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(home.read(".claude.json").contains("crossfeed"));
    assert!(home.read("project/.mcp.json").contains("crossfeed"));
}

/// As after an end between two of its steps.
#[test]
fn what_was_begun_can_be_cleared_away() {
    let home = Home::new("begun");
    home.write(".claude.json", CLAUDE);
    home.done(&["claude-code", "--apply"]);
    let changed = CLAUDE.replace("\"numStartups\": 3", "\"numStartups\": 4");
    home.write(".claude.json", &changed);
    let Run { status, err, .. } = home.import(&["claude-code", "--apply"]);
    assert_eq!(status, 1);
    assert!(err.contains("undo that"), "{err}");
    let out = home.done(&["claude-code", "--undo"]);
    assert!(out.contains("the servers are there already"), "{out}");
    assert_eq!(home.read(".claude.json"), changed);
    home.done(&["claude-code", "--apply"]);
}

#[test]
fn a_named_file_is_undone_as_it_is_said() {
    let home = Home::new("named");
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"${workspaceFolder}/x\"}}}";
    home.write("project/deep/.cursor/mcp.json", text);
    home.write(".cursor/mcp.json", text);
    let path = home.path("project/deep/.cursor/mcp.json");
    let path = path.to_str().unwrap();
    let out = home.done(&["cursor", "--config", path, "--apply"]);
    let says = format!("`crossfeed import cursor --config {path} --undo` restores it");
    assert!(out.contains(&says), "{out}");
    let config: Value =
        serde_json::from_str(&home.read("project/deep/.cursor/mcp.crossfeed.json")).unwrap();
    assert_eq!(
        config["mcpServers"]["a"]["command"],
        "${CROSSFEED_WORKSPACE_FOLDER}/x"
    );
    home.done(&["cursor", "--config", path, "--undo"]);
    assert_eq!(home.read("project/deep/.cursor/mcp.json"), text);
    // A user's file is of no project, wherever one stands.
    let path = home.path(".cursor/mcp.json");
    let out = home.done(&["cursor", "--config", path.to_str().unwrap(), "--apply"]);
    assert!(
        out.contains("`${workspaceFolder}` is not known here"),
        "{out}"
    );
}

#[cfg(unix)]
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "what is said to be typed is typed into a shell"
)]
fn what_is_said_to_put_it_back_does() {
    let home = Home::new("typed");
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    let name = "project/it's a file.json";
    home.write(name, text);
    let path = home.path(name);
    let out = home.done(&["cursor", "--config", path.to_str().unwrap(), "--apply"]);
    assert_ne!(home.read(name), text);
    let (_, back) = out.split_once("the original: ").unwrap();
    let typed = back.split('`').nth(1).unwrap();
    let typed = typed.replacen("crossfeed", env!("CARGO_BIN_EXE_crossfeed"), 1);
    let done = Command::new("sh").args(["-c", &typed]).output().unwrap();
    assert!(done.status.success(), "{typed}: {done:?}");
    assert_eq!(home.read(name), text);
}

#[test]
fn a_copy_with_comments_is_kept() {
    let home = Home::new("kept");
    let text = "{\"x\": 1, \"mcpServers\": {\"a\": {\"command\": \"x\"} /* a */}}";
    home.write(".cursor/mcp.json", text);
    home.done(&["cursor", "--apply"]);
    let rewired = home
        .read(".cursor/mcp.json")
        .replace("\"x\": 1", "\"x\": 2");
    home.write(".cursor/mcp.json", &rewired);
    let out = home.done(&["cursor", "--undo"]);
    assert!(out.contains("comments may have been lost"), "{out}");
    assert_eq!(home.read(".cursor/mcp.json.before-crossfeed"), text);
}

#[test]
fn there_and_back() {
    let home = Home::new("there");
    home.write(".claude.json", CLAUDE);
    home.write(
        "project/.mcp.json",
        "{\"mcpServers\": {\"web\": {\"type\": \"http\", \"url\": \"https://web.example/mcp\"}}}",
    );
    let before = home.all();

    let out = home.done(&["claude-code", "--apply"]);
    assert!(out.contains("files"), "{out}");
    assert!(out.contains("web"), "{out}");
    let rewired: Value = serde_json::from_str(&home.read(".claude.json")).unwrap();
    let config = home.path(".config/crossfeed/claude-code.json");
    assert_eq!(
        rewired["mcpServers"]["crossfeed"]["args"],
        json!(["gateway", "--config", config])
    );
    assert_eq!(
        rewired["mcpServers"]["crossfeed"]["command"],
        env!("CARGO_BIN_EXE_crossfeed")
    );
    let kept: Value =
        serde_json::from_str(&home.read(".config/crossfeed/claude-code.json")).unwrap();
    assert_eq!(kept["mcpServers"]["files"]["env"]["KEY"], "s3cret");
    // The user's is not hidden by one of the same name.
    let rewired: Value = serde_json::from_str(&home.read("project/.mcp.json")).unwrap();
    assert!(rewired["mcpServers"]["crossfeed"].is_null());
    assert!(rewired["mcpServers"]["crossfeed-project"].is_object());
    let project: Value = serde_json::from_str(&home.read("project/.mcp.crossfeed.json")).unwrap();
    assert_eq!(
        project["mcpServers"]["web"]["url"],
        "https://web.example/mcp"
    );
    #[cfg(unix)]
    for path in [
        ".config/crossfeed/claude-code.json",
        "project/.mcp.crossfeed.json",
        ".claude.json.before-crossfeed",
    ] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(home.path(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path}");
    }

    let applied = home.all();
    let out = home.done(&["claude-code", "--apply"]);
    assert_eq!(
        out.matches("go through the gateway already").count(),
        2,
        "{out}"
    );
    assert_eq!(home.all(), applied);

    let out = home.done(&["claude-code", "--undo"]);
    assert_eq!(out.matches("as it was").count(), 2, "{out}");
    assert_eq!(home.all(), before);
    let out = home.done(&["claude-code", "--undo"]);
    assert_eq!(out.matches("nothing to undo").count(), 2, "{out}");
}

#[test]
fn what_the_client_wrote_since_stays() {
    let home = Home::new("since");
    home.write(".claude.json", CLAUDE);
    home.done(&["claude-code", "--apply"]);
    let rewired = home.read(".claude.json");
    home.write(
        ".claude.json",
        &rewired.replace("\"numStartups\": 3", "\"numStartups\": 4"),
    );
    home.write(
        ".config/crossfeed/claude-code.json",
        "{\"mcpServers\": {}, \"profile\": \"refs\"}",
    );
    let out = home.done(&["claude-code", "--undo"]);
    assert!(
        out.contains("what changed elsewhere since is kept"),
        "{out}"
    );
    assert!(out.contains("was changed since and is kept"), "{out}");
    let back = CLAUDE.replace("\"numStartups\": 3", "\"numStartups\": 4");
    assert_eq!(home.read(".claude.json"), back);
}

#[test]
fn servers_that_were_added_are_not_lost() {
    let home = Home::new("added");
    home.write(
        "project/.cursor/mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
    );
    home.done(&["cursor", "--apply"]);
    let rewired = home.read("project/.cursor/mcp.json");
    let added = rewired.replacen(
        "{\"mcpServers\": {",
        "{\"mcpServers\": {\"b\": {\"command\": \"y\"}, ",
        1,
    );
    home.write("project/.cursor/mcp.json", &added);
    let Run { status, err, .. } = home.import(&["cursor", "--apply"]);
    assert_eq!(status, 1);
    assert!(
        err.contains("servers were added since the last import: b"),
        "{err}"
    );
    assert!(err.contains("undo the import first"), "{err}");
    assert_eq!(home.read("project/.cursor/mcp.json"), added);

    home.done(&["cursor", "--undo"]);
    let back: Value = serde_json::from_str(&home.read("project/.cursor/mcp.json")).unwrap();
    assert_eq!(
        back,
        json!({"mcpServers": {"b": {"command": "y"}, "a": {"command": "x"}}})
    );
}

#[test]
fn comments_of_an_editor_stay() {
    let home = Home::new("comments");
    let text = "{\n  // What the team uses.\n  \"servers\": {\n    \"a\": {\"command\": \"${workspaceFolder}/x\",}, // local\n    \"ask\": {\"command\": \"y\", \"env\": {\"K\": \"${input:k}\"}},\n  },\n}\n";
    home.write("project/.vscode/mcp.json", text);
    let out = home.done(&["vscode", "--apply"]);
    assert!(
        out.contains("`ask` stays where it is: the client asks for `${input:k}`"),
        "{out}"
    );
    let rewired = home.read("project/.vscode/mcp.json");
    assert!(
        rewired.starts_with(
            "{\n  // What the team uses.\n  \"servers\": {\n    \"crossfeed-project\": {\n"
        ),
        "{rewired}"
    );
    assert!(rewired.ends_with("}, // local\n    \"ask\": {\"command\": \"y\", \"env\": {\"K\": \"${input:k}\"}},\n  },\n}\n"), "{rewired}");
    let config: Value =
        serde_json::from_str(&home.read("project/.vscode/mcp.crossfeed.json")).unwrap();
    assert_eq!(
        config["mcpServers"]["a"]["command"],
        "${CROSSFEED_WORKSPACE_FOLDER}/x"
    );
    let handed_on = "\"CROSSFEED_WORKSPACE_FOLDER\": \"${workspaceFolder}\"";
    assert!(rewired.contains(handed_on), "{rewired}");
    home.done(&["vscode", "--undo"]);
    assert_eq!(home.read("project/.vscode/mcp.json"), text);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let home = Home::new("link");
    home.write("dotfiles/claude.json", CLAUDE);
    std::os::unix::fs::symlink(home.path("dotfiles/claude.json"), home.path(".claude.json"))
        .unwrap();
    home.done(&["claude-code", "--apply"]);
    assert!(home.path(".claude.json").is_symlink());
    assert!(home.read("dotfiles/claude.json").contains("crossfeed"));
    home.done(&["claude-code", "--undo"]);
    assert_eq!(home.read("dotfiles/claude.json"), CLAUDE);
}

/// A link that leads nowhere is somebody's, too.
#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_not_written_over() {
    for name in [
        ".claude.json.before-crossfeed",
        ".config/crossfeed/claude-code.json",
    ] {
        let home = Home::new("nowhere");
        home.write(".claude.json", CLAUDE);
        let (link, to) = (home.path(name), home.path("gone/elsewhere"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&to, &link).unwrap();
        for action in ["--dry-run", "--apply"] {
            let Run { status, out, err } = home.import(&["claude-code", action]);
            assert_eq!((status, out.as_str()), (1, ""), "{err}");
            assert!(err.contains("is there with something else"), "{err}");
            assert_eq!(fs::read_link(&link).unwrap(), to);
            assert_eq!(home.read(".claude.json"), CLAUDE);
        }
    }
    let home = Home::new("nowhere");
    home.write(".claude.json", CLAUDE);
    std::os::unix::fs::symlink("gone", home.path(".claude.json.before-crossfeed")).unwrap();
    let Run { status, err, .. } = home.import(&["claude-code", "--undo"]);
    assert_eq!(status, 2, "{err}");
    assert!(err.contains("cannot read `"), "{err}");
}

/// What is there with the same content, as a link into a folder that is kept elsewhere.
#[cfg(unix)]
#[test]
fn what_is_there_already_stays_a_link() {
    let home = Home::new("same");
    home.write(".claude.json", CLAUDE);
    home.done(&["claude-code", "--apply"]);
    let config = ".config/crossfeed/claude-code.json";
    let text = home.read(config);
    home.done(&["claude-code", "--undo"]);
    home.write("dotfiles/claude-code.json", &text);
    let kept = home.path("dotfiles/claude-code.json");
    std::os::unix::fs::symlink(kept, home.path(config)).unwrap();
    home.done(&["claude-code", "--apply"]);
    assert!(home.path(config).is_symlink());
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a pipe is made by a command")]
fn what_is_no_file_is_not_waited_for() {
    let home = Home::new("pipe");
    let pipe = home.path("pipe.json");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let Run { status, err, .. } =
        home.import(&["cursor", "--config", pipe.to_str().unwrap(), "--apply"]);
    assert_eq!(status, 2);
    assert!(err.contains("is not a file"), "{err}");
}

/// The XDG Base Directory Specification has it ignored.
#[test]
fn a_relative_directory_of_configurations_is_ignored() {
    let home = Home::new("relative");
    home.write(".claude.json", CLAUDE);
    let mut command = home.command(&["claude-code", "--apply"]);
    let output = command.env("XDG_CONFIG_HOME", "here").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(home.path(".config/crossfeed/claude-code.json").is_file());
    assert!(!home.path("project/here").exists());
    home.done(&["claude-code", "--undo"]);
    let absolute = home.path("there");
    let mut command = home.command(&["claude-code", "--apply"]);
    let output = command.env("XDG_CONFIG_HOME", &absolute).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(absolute.join("crossfeed/claude-code.json").is_file());
}

#[test]
fn the_user_s_file_of_vs_code_is_where_its_settings_are() {
    let home = Home::new("settings");
    let text = "{\"servers\": {\"a\": {\"command\": \"x\"}}}";
    home.write("there/Code/User/mcp.json", text);
    let mut command = home.command(&["vscode", "--apply"]);
    let command = command.env("XDG_CONFIG_HOME", home.path("there"));
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    assert!(home.read("there/Code/User/mcp.json").contains("crossfeed"));
}

/// Claude Code keeps servers of single projects in the user's file: whatever becomes of the others.
#[test]
fn servers_of_projects_are_named() {
    let home = Home::new("projects");
    let of_projects =
        json!({"/p": {"mcpServers": {"mine": {"command": "x"}}}, "/q": {"mcpServers": {}}});
    let says = "left alone: `mine`, since they belong to the project `/p` alone; to have them go through the gateway, move them to `mcpServers` in `/p/.mcp.json`";
    let none = json!({"mcpServers": {}, "projects": of_projects});
    home.write(".claude.json", &none.to_string());
    let out = home.done(&["claude-code", "--dry-run"]);
    assert!(
        out.contains("there is no server under `mcpServers`"),
        "{out}"
    );
    assert!(out.contains(says), "{out}");
    let some = json!({"mcpServers": {"a": {"command": "y"}}, "projects": of_projects});
    home.write(".claude.json", &some.to_string());
    for action in ["--dry-run", "--apply", "--apply"] {
        let out = home.done(&["claude-code", action]);
        assert_eq!(out.matches(says).count(), 1, "{out}");
        assert!(!out.contains("`/q`"), "{out}");
    }
}

#[test]
fn an_undo_without_its_copy_says_so() {
    let home = Home::new("lost-copy");
    home.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
    );
    home.done(&["cursor", "--apply"]);
    fs::remove_file(home.path(".cursor/mcp.json.before-crossfeed")).unwrap();
    let wired = home.all();
    let Run { status, out, err } = home.import(&["cursor", "--undo"]);
    assert_eq!((status, out.as_str()), (1, ""), "{err}");
    assert!(
        err.contains("the copy from before the import is missing"),
        "{err}"
    );
    assert!(
        err.contains("replace the entry `crossfeed` by the servers in"),
        "{err}"
    );
    assert_eq!(home.all(), wired);
}

#[test]
fn a_client_without_a_file_is_told_as_json() {
    let home = Home::new("no-file");
    let Run { status, out, err } = home.import(&["codex", "--dry-run", "--json"]);
    assert_eq!((status, err.as_str()), (2, ""), "{out}");
    let told: Value = serde_json::from_str(&out).expect(&out);
    assert_eq!(told["error"]["code"], "command.invalid", "{told}");
}

/// One document on standard output, whatever becomes of the files.
#[test]
fn what_is_done_is_told_as_json() {
    let home = Home::new("json");
    home.write(".claude.json", CLAUDE);
    home.write(
        "project/.mcp.json",
        "{\"mcpServers\": {\"b\": {\"type\": \"sse\", \"url\": \"https://a.example\"}}}",
    );
    let told = |args: &[&str]| -> (i32, Value) {
        let Run { status, out, err } = home.import(&[args, &["--json"]].concat());
        assert_eq!(err, "", "{out}");
        (status, serde_json::from_str(&out).expect(&out))
    };
    let (status, planned) = told(&["claude-code", "--dry-run"]);
    assert_eq!(status, 0);
    let file = &planned["files"][0];
    assert_eq!(file["outcome"], "planned", "{planned}");
    assert_eq!(file["moved"], json!(["files"]));
    assert_eq!(file["gone"]["files"]["env"]["KEY"], "…");
    assert_eq!(file["new"]["crossfeed"]["args"][0], "gateway");
    let other = &planned["files"][1];
    assert_eq!(
        (&other["outcome"], &other["stay"][0]["name"]),
        (&json!("none"), &json!("b"))
    );
    let (status, imported) = told(&["claude-code", "--apply"]);
    assert_eq!(
        (status, &imported["files"][0]["outcome"]),
        (0, &json!("imported"))
    );
    assert_eq!(
        imported["files"][0]["backup"],
        json!(home.path(".claude.json.before-crossfeed"))
    );
    let (_, again) = told(&["claude-code", "--apply"]);
    assert_eq!(again["files"][0]["outcome"], "done");

    // One file with which it does not work, and one with which it does.
    home.write("project/.mcp.json", "{");
    let (status, failed) = told(&["claude-code", "--apply"]);
    assert_eq!(status, 1);
    assert_eq!(failed["error"]["code"], "config.invalid", "{failed}");
    assert_eq!(failed["files"][1]["outcome"], "failed");
    assert_eq!(failed["files"][1]["errors"], failed["errors"]);
    home.write("project/.mcp.json", "{}");
    let (_, undone) = told(&["claude-code", "--undo"]);
    assert_eq!(undone["files"][0]["outcome"], "undone", "{undone}");
    assert_eq!(undone["files"][1]["outcome"], "nothing");
}

#[test]
fn nothing_is_written_over() {
    let home = Home::new("over");
    home.write(".claude.json", CLAUDE);
    home.write(".config/crossfeed/claude-code.json", "{}");
    let before = home.all();
    let Run { status, err, .. } = home.import(&["claude-code", "--apply"]);
    assert_eq!(status, 1);
    assert!(
        err.contains("claude-code.json is there with something else"),
        "{err}"
    );
    assert_eq!(home.all(), before);
}

#[test]
fn what_cannot_be_done_is_said() {
    let home = Home::new("none");
    let Run { status, err, .. } = home.import(&["cursor", "--apply"]);
    assert_eq!(status, 2);
    assert!(
        err.contains("there is no configuration of cursor: looked for "),
        "{err}"
    );
    let Run { status, err, .. } = home.import(&["cursor"]);
    assert_eq!(status, 2);
    assert!(err.contains("<--dry-run|--apply|--undo>"), "{err}");
    home.write("mine.json", "{\"mcpServers\": {\"a\": s3cret}}");
    let path = home.path("mine.json");
    let Run { status, err, .. } =
        home.import(&["cursor", "--config", path.to_str().unwrap(), "--apply"]);
    assert_eq!(status, 1);
    assert!(err.contains("line 1: not valid JSON"), "{err}");
    assert!(!err.contains("s3cret"), "{err}");
    home.write(
        "mine.json",
        "{\"mcpServers\": {\"a\": {\"type\": \"sse\", \"url\": \"https://a.example\"}}}",
    );
    let out = home.done(&["cursor", "--config", path.to_str().unwrap(), "--apply"]);
    assert!(
        out.contains("no server can go through the gateway"),
        "{out}"
    );
}

/// What a client's file holds of this machine, where others have the file, too.
#[cfg(unix)]
#[test]
fn files_of_a_project_name_nothing_of_a_person() {
    let home = Home::new("shared");
    home.write("project/.git/HEAD", "ref: refs/heads/main\n");
    let files = [
        ("claude-code", ".mcp.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("gemini-cli", ".gemini/settings.json", "mcpServers"),
        ("zed", ".zed/settings.json", "context_servers"),
    ];
    for (_, file, key) in files {
        let text = json!({key: {"a": {"command": "x"}}}).to_string();
        home.write(&format!("project/{file}"), &text);
    }
    home.write(
        "project/.codex/config.toml",
        "# ours\n[mcp_servers.a]\ncommand = \"x\"\n",
    );
    let before = home.all();
    // A package manager's link, on the `PATH`.
    fs::create_dir_all(home.path("bin")).unwrap();
    let link = home.path("bin/crossfeed");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_crossfeed"), &link).unwrap();
    let import = |client: &str, action: &str| {
        let mut command = home.command(&[client, action]);
        let output = command.env("PATH", home.path("bin")).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{out}");
        out
    };
    let clients = files.map(|(client, file, _)| (client, file));
    for (client, file) in clients.into_iter().chain([("codex", ".codex/config.toml")]) {
        let out = import(client, "--apply");
        assert!(
            out.contains("the project is in a repository, in which `"),
            "{out}"
        );
        assert!(
            !out.contains("which others who have the project do not have"),
            "{out}"
        );
        let text = home.read(&format!("project/{file}"));
        assert!(text.contains("\"crossfeed\""), "{text}");
        assert!(!text.contains(home.0.to_str().unwrap()), "{text}");
    }
    for (client, _) in clients.into_iter().chain([("codex", "")]) {
        import(client, "--undo");
    }
    fs::remove_dir_all(home.path("bin")).unwrap();
    assert_eq!(home.all(), before);
}

#[cfg(unix)]
#[test]
fn a_link_that_is_called_is_what_is_written() {
    let home = Home::new("called");
    home.write(
        ".codex/config.toml",
        "[mcp_servers.a]\ncommand = \"x\" # x\n",
    );
    home.write(".codeium/windsurf/mcp_config.json", CLAUDE);
    home.write(
        ".config/zed/settings.json",
        "// z\n{\"context_servers\": {\"a\": {\"command\": \"x\"}}}\n",
    );
    home.write(".config/Claude/claude_desktop_config.json", CLAUDE);
    home.write(".gemini/settings.json", CLAUDE);
    let before = home.all();
    let link = home.path("crossfeed-now");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_crossfeed"), &link).unwrap();
    let import = |client: &str, action: &str| {
        let named = home.command(&[client, action]);
        #[expect(clippy::disallowed_methods, reason = "the command is what is tested")]
        let mut command = Command::new(&link);
        command.args(named.get_args()).env("HOME", &home.0);
        for (name, _) in named.get_envs().filter(|(_, value)| value.is_none()) {
            command.env_remove(name);
        }
        let output = command.current_dir(home.path("project")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let files = [
        ("codex", ".codex/config.toml"),
        ("windsurf", ".codeium/windsurf/mcp_config.json"),
        ("zed", ".config/zed/settings.json"),
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
        ),
        ("gemini-cli", ".gemini/settings.json"),
    ];
    for (client, file) in files {
        import(client, "--apply");
        let text = home.read(file);
        assert!(
            text.contains(&format!("{:?}", link.to_str().unwrap())),
            "{text}"
        );
        let config = home.path(&format!(".config/crossfeed/{client}.json"));
        assert!(text.contains(config.to_str().unwrap()), "{text}");
        import(client, "--undo");
    }
    fs::remove_file(&link).unwrap();
    assert_eq!(home.all(), before);
}
