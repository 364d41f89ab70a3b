//! Just enough of Redis's protocol (RESP2) to ask a server something, without the client under test.

use crate::Problem;
use std::time::Duration;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::timeout,
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol has no other answers")]
pub enum Answer {
    /// A text, or a number as a text.
    Text(String),
    /// Nothing.
    Nil,
    /// Several answers.
    List(Vec<Answer>),
}

impl Answer {
    /// The text, or an empty one.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Nil | Self::List(_) => "",
        }
    }

    /// What a text of lines `FIELD:VALUE` says of a field; empty where it says nothing.
    pub(crate) fn field(&self, field: &str) -> &str {
        let mut lines = self.text().lines();
        let found = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        found.unwrap_or_default()
    }

    /// The texts of a list.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::List(list) => list.iter().map(|item| item.text().to_owned()).collect(),
            Self::Text(_) | Self::Nil => Vec::new(),
        }
    }
}

/// Sends a command to the server at a port of loopback.
///
/// # Errors
///
/// What the server says, or that it does not answer.
pub async fn ask(port: u16, command: &[&str]) -> Result<Answer, Problem> {
    let asked = timeout(PATIENCE, exchange(port, command)).await;
    asked.map_err(|_| format!("the server at port {port} does not answer"))?
}

async fn exchange(port: u16, command: &[&str]) -> Result<Answer, Problem> {
    let failed = |error: std::io::Error| format!("the server at port {port}: {error}");
    let stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .map_err(failed)?;
    let mut stream = BufReader::new(stream);
    let mut request = format!("*{}\r\n", command.len());
    for word in command {
        request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    read(&mut stream).await
}

async fn read(stream: &mut BufReader<TcpStream>) -> Result<Answer, Problem> {
    let failed = |error: std::io::Error| error.to_string();
    let mut line = String::new();
    stream.read_line(&mut line).await.map_err(failed)?;
    let line = line.strip_suffix("\r\n").ok_or("an answer was cut")?;
    let length = || line.get(1..).and_then(|length| length.parse::<i64>().ok());
    match line.as_bytes().first() {
        Some(b'+' | b':') => Ok(Answer::Text(line[1..].to_owned())),
        Some(b'-') => Err(line[1..].to_owned()),
        Some(b'$') => {
            let Some(length) = length().and_then(|length| usize::try_from(length).ok()) else {
                return Ok(Answer::Nil);
            };
            let mut text = vec![0; length + 2];
            stream.read_exact(&mut text).await.map_err(failed)?;
            text.truncate(length);
            Ok(Answer::Text(String::from_utf8_lossy(&text).into_owned()))
        }
        Some(b'*') => {
            let mut list = Vec::new();
            for _ in 0..length().unwrap_or(0) {
                list.push(Box::pin(read(stream)).await?);
            }
            Ok(Answer::List(list))
        }
        _ => Err(format!("an answer that is none: `{line}`")),
    }
}
