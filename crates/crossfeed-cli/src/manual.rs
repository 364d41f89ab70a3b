//! `crossfeed completions` and `crossfeed man`: what shells and readers of manuals need, made from the arguments.

use crate::{
    cli::{self, Cli},
    report::{CommandError, Result},
};
use clap::CommandFactory as _;
use std::{fs, io::Write};

pub(crate) fn complete(args: &cli::Completions, out: &mut dyn Write) -> Result {
    let mut completions = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut Cli::command(),
        "crossfeed",
        &mut completions,
    );
    Ok(out.write_all(&completions)?)
}

pub(crate) fn run(args: &cli::Man, out: &mut dyn Write) -> Result {
    let command = Cli::command();
    let Some(dir) = &args.dir else {
        return Ok(clap_mangen::Man::new(command).render(out)?);
    };
    let done = fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(command, dir));
    done.map_err(|error| {
        let dir = dir.display();
        CommandError::usage(format!("cannot write manual pages to `{dir}`: {error}"))
    })
}
