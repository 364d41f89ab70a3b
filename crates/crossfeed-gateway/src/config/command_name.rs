//! Names a server after its command: after the package or image that a launcher such as `npx` fetches, else
//! after the program.

use std::path::Path;

/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 48;

/// Options of `npx` and its like that take no value.
const NPM_SWITCHES: &str = "\
    --bun --ignore-existing --include-workspace-root --no --no-install --offline \
    --prefer-offline --prefer-online --quiet --silent --verbose --yes -q -y";

/// Options of `npx` and its like whose value is the next word.
const NPM_OPTIONS: &str = "\
    --cache --loglevel --node-options --package --prefix --registry --userconfig --workspace \
    -p";

/// Options of `uvx`, of its like and of Python that take no value.
const PYTHON_SWITCHES: &str = "\
    --isolated --native-tls --no-build --no-cache --no-config --no-env-file --no-index \
    --no-progress --offline --quiet --refresh --reinstall --upgrade --verbose -U -n -q -v";

/// Options of `uvx` and its like whose value is the next word.
const PYTHON_OPTIONS: &str = "\
    --allow-insecure-host --cache-dir --config-file --default-index --directory --env-file \
    --extra-index-url --find-links --from --index --index-strategy --index-url --link-mode \
    --pip-args --prerelease --project --python --refresh-package --spec --with \
    --with-editable --with-requirements -i -p -w";

/// Options of `docker run` and its like that take no value.
const IMAGE_SWITCHES: &str = "\
    --detach --init --interactive --no-healthcheck --oom-kill-disable --privileged \
    --publish-all --quiet --read-only --rm --sig-proxy --tty -P -d -i -it -q -t -ti -dit";

/// Options of `docker run` and its like whose value is the next word.
const IMAGE_OPTIONS: &str = "\
    --add-host --attach --cap-add --cap-drop --cidfile --cpus --device --dns --entrypoint \
    --env --env-file --expose --gpus --group-add --hostname --ip --ipc --label --label-file \
    --link --log-driver --log-opt --memory --mount --name --net --network --pid --pids-limit \
    --platform --publish --pull --restart --runtime --security-opt --shm-size --tmpfs \
    --ulimit --user --volume --volumes-from --workdir -e -p -u -v";

/// What a launcher starts.
enum Package {
    /// A package of npm: `@scope/name@version`.
    Npm,
    /// A package of Python: `name[extra]==version`.
    Python,
    /// A container's image: `registry/name:tag`.
    Image,
    /// A module of Python.
    Module,
}

/// The name of a server that is a command.
pub(super) fn from_command(command: &str, args: &[String]) -> String {
    let mut words: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut program = stem(command);
    // How programs that are scripts are started on Windows.
    if program.eq_ignore_ascii_case("cmd")
        && let [option, started, rest @ ..] = words.as_slice()
        && option.eq_ignore_ascii_case("/c")
    {
        (program, words) = (stem(started), rest.to_vec());
    }
    let fetched = fetched(&program, &words).map(tidy);
    let name = fetched.filter(|name| !name.is_empty()).unwrap_or(program);
    if name.is_empty() {
        "server".to_owned()
    } else {
        name
    }
}

fn stem(command: &str) -> String {
    let stem = Path::new(command).file_stem();
    stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// The name of what a launcher starts.
fn fetched<'w>(program: &str, words: &[&'w str]) -> Option<&'w str> {
    let (kind, words) = match (program, words) {
        ("npx" | "bunx" | "pnpx", words)
        | ("npm", ["exec" | "x", words @ ..])
        | ("pnpm" | "yarn", ["dlx" | "exec", words @ ..])
        | ("bun", ["x", words @ ..]) => (Package::Npm, words),
        ("uvx", words) | ("uv", ["tool", "run", words @ ..]) | ("pipx", ["run", words @ ..]) => {
            (Package::Python, words)
        }
        (
            "docker" | "podman" | "nerdctl",
            ["run", words @ ..] | ["container", "run", words @ ..],
        ) => (Package::Image, words),
        ("py", ["-m", words @ ..]) => (Package::Module, words),
        (python, ["-m", words @ ..]) if python.starts_with("python") => (Package::Module, words),
        _ => return None,
    };
    let word = match kind {
        Package::Npm => first_argument(words, NPM_SWITCHES, NPM_OPTIONS),
        Package::Python => first_argument(words, PYTHON_SWITCHES, PYTHON_OPTIONS),
        Package::Image => first_argument(words, IMAGE_SWITCHES, IMAGE_OPTIONS),
        Package::Module => words.first().copied(),
    }?;
    Some(match kind {
        Package::Npm => {
            let name = word.rsplit('/').next()?;
            name.split('@').next()?
        }
        Package::Python => word.split(['@', '[', '=', '<', '>', '~', '!']).next()?,
        Package::Image => {
            let name = word.rsplit('/').next()?;
            name.split([':', '@']).next()?
        }
        Package::Module => word,
    })
}

/// The first word that is neither an option nor its value. None behind an option that is not known: the word
/// after it may be its value or what is looked for, and what follows that may be a secret.
fn first_argument<'w>(words: &[&'w str], switches: &str, options: &str) -> Option<&'w str> {
    let has = |list: &str, option: &str| list.split(' ').any(|own| own == option);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--" => return words.next().copied(),
            option if !option.starts_with('-') => return Some(option),
            option if option.contains('=') || has(switches, option) => {}
            option if has(options, option) => {
                words.next();
            }
            _ => return None,
        }
    }
    None
}

/// As a configuration would admit it.
fn tidy(name: &str) -> String {
    let plain = |c: &char| !c.is_control() && *c != '*';
    let mut tidy: String = name.chars().filter(plain).collect();
    let end = (0..=tidy.len().min(MAX_NAME_BYTES)).rfind(|end| tidy.is_char_boundary(*end));
    tidy.truncate(end.unwrap_or_default());
    tidy
}

#[cfg(test)]
mod tests {
    use super::from_command;

    fn check(command: &str, expected: &str) {
        let mut words = command.split_whitespace().map(str::to_owned);
        let program = words.next().unwrap();
        let args: Vec<_> = words.collect();
        assert_eq!(from_command(&program, &args), expected, "{command}");
    }

    #[test]
    fn what_a_launcher_fetches_gives_the_name() {
        let fs = "server-filesystem";
        check("npx -y @modelcontextprotocol/server-filesystem /tmp", fs);
        check("npx @modelcontextprotocol/server-filesystem@2026.8.31", fs);
        check("/usr/bin/npx --package=x -- server-filesystem", fs);
        check("npx -p @a/b server-filesystem", fs);
        check("npm exec --yes server-filesystem", fs);
        check("pnpm dlx server-filesystem", fs);
        check("cmd /c npx -y server-filesystem", fs);
        check("uvx mcp-server-git --repository .", "mcp-server-git");
        check("uvx mcp-server-git@latest", "mcp-server-git");
        check(
            "uvx -i https://user:secret@host/x mcp-server-git",
            "mcp-server-git",
        );
        check(
            "uvx --from git+https://x/y mcp-server-git",
            "mcp-server-git",
        );
        check("uv tool run mcp-server-git[all]==1.0", "mcp-server-git");
        check("pipx run mcp-server-git", "mcp-server-git");
        let github = "github-mcp-server";
        check(
            "docker run -i --rm -e GITHUB_TOKEN -v /a:/b ghcr.io/github/github-mcp-server:1 stdio",
            github,
        );
        check(
            "docker run -it --env=A=b localhost:5000/github-mcp-server@sha256:1",
            github,
        );
        check("docker container run github-mcp-server", github);
        check("docker run --sig-proxy github-mcp-server secret", github);
        check("docker run --unknown=1 github-mcp-server", github);
        check("python3 -m mcp_server_time --zone x", "mcp_server_time");
    }

    #[test]
    fn any_other_program_gives_its_own_name() {
        check("/opt/bin/files.exe --npx", "files");
        check("npx", "npx");
        check("npx -y", "npx");
        check("docker ps", "docker");
        check("python3 server.py", "python3");
        check("uv run server.py", "uv");
        // An option that is not known may take a value or not: what is behind it may be a secret.
        check("docker run --unknown image secret", "docker");
        check("npx --unknown package secret", "npx");
        check("npx -c secret", "npx");
        check("uvx --unknown package secret", "uvx");
        check("/", "server");
    }

    #[test]
    fn a_name_is_one_that_a_configuration_admits() {
        let long = "é".repeat(40);
        let args = ["-y".to_owned(), long];
        assert_eq!(from_command("npx", &args), "é".repeat(24));
        assert_eq!(from_command("npx", &["*\u{7}".to_owned()]), "npx");
    }
}
