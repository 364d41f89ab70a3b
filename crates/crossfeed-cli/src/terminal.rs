//! The terminal: its width, and the styles of a stream. Colours follow the conventions that clap's errors follow:
//! `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb`.

use crate::layout::{Form, TokenStyles};
use anstream::{
    AutoStream, ColorChoice,
    stream::{AsLockedWrite, RawStream},
};
use anstyle::{AnsiColor, Effects, Style};
use std::io::IsTerminal;

/// The columns of output that goes to no terminal.
const DEFAULT_COLUMNS: usize = 100;
/// Narrower terminals are treated as this wide.
const MIN_COLUMNS: usize = 40;

/// The columns of lines on standard output: `COLUMNS`, those of the terminal, or 100.
#[expect(
    clippy::disallowed_methods,
    reason = "ambient state is read in this crate"
)]
pub(crate) fn columns() -> usize {
    let named = std::env::var("COLUMNS").ok();
    let named = named.and_then(|text| text.trim().parse().ok());
    let columns = named.filter(|&columns| columns > 0).or_else(|| {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        // A pager reads standard output, and shows it on the terminal of standard error.
        let (width, _) = size.or_else(|| terminal_size::terminal_size_of(std::io::stderr()))?;
        Some(usize::from(width.0))
    });
    columns.unwrap_or(DEFAULT_COLUMNS).max(MIN_COLUMNS)
}

/// How parts of a text look: `{style}text{style:#}`. By default nothing is styled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Styles {
    pub(crate) error: Style,
    pub(crate) notice: Style,
    /// What matters most.
    pub(crate) strong: Style,
    /// What matters least.
    pub(crate) faint: Style,
}

impl Styles {
    /// The styles for a stream: none if it shows no colours.
    pub(crate) fn of_stream(stream: &(impl RawStream + AsLockedWrite)) -> Self {
        match AutoStream::choice(stream) {
            ColorChoice::Never => Self::default(),
            _ => Self::colored(),
        }
    }

    fn colored() -> Self {
        Self {
            error: AnsiColor::Red.on_default() | Effects::BOLD,
            notice: AnsiColor::Yellow.on_default(),
            strong: Style::new() | Effects::BOLD,
            faint: Style::new() | Effects::DIMMED,
        }
    }
}

/// How JSON answers are laid out where no flag says so, and their colours: indented on a terminal.
pub(crate) fn layout_of_stdout() -> (Form, TokenStyles) {
    let stdout = std::io::stdout();
    let form = if stdout.is_terminal() {
        Form::Indented
    } else {
        Form::Verbatim
    };
    let styles = match AutoStream::choice(&stdout) {
        ColorChoice::Never => TokenStyles::default(),
        _ => TokenStyles {
            key: AnsiColor::Blue.on_default() | Effects::BOLD,
            string: AnsiColor::Green.on_default(),
        },
    };
    (form, styles)
}
