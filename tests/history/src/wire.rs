//! HTTP/1.1 as far as clients and servers of a run need it, with every byte at hand.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// The most bytes of a body that are read; a gateway that sends more than this has gone wrong.
const MAX_BODY: usize = 64 << 20;

/// The first line of a request or a response, and its headers.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) start: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header, whose name is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The status of a response.
    pub(crate) fn status(&self) -> u16 {
        let word = self.start.split(' ').nth(1);
        word.and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    /// True for a body that is a stream of events.
    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// True for a response that says when to try again.
    pub(crate) fn says_when(&self) -> bool {
        self.header("retry-after").is_some()
    }

    /// What a proxy passes on of it: all but what concerns one connection.
    pub(crate) fn passed_on(&self) -> String {
        let own = ["connection", "keep-alive", "transfer-encoding"];
        let headers = self.headers.iter();
        headers
            .filter(|(name, _)| !own.contains(&name.as_str()))
            .fold(format!("{}\r\n", self.start), |text, (name, value)| {
                format!("{text}{name}: {value}\r\n")
            })
    }

    /// How the body ends.
    pub(crate) fn framing(&self) -> Framing {
        let chunked = self.header("transfer-encoding").is_some();
        match self.header("content-length") {
            _ if chunked => Framing::Chunked,
            Some(length) => Framing::Length(length.parse().unwrap_or(0)),
            None => Framing::Length(0),
        }
    }
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes are left.
    Length(usize),
    /// Chunks, each behind its length.
    Chunked,
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The next head, or nothing where the connection ended before one.
pub(crate) async fn read_head(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Head>> {
    let mut head = Head::default();
    let mut line = String::new();
    loop {
        line.clear();
        if from.read_line(&mut line).await? == 0 {
            return if head.start.is_empty() {
                Ok(None)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
        let text = line.trim_end();
        if head.start.is_empty() {
            head.start = text.to_owned();
        } else if text.is_empty() {
            return Ok(Some(head));
        } else {
            let (name, value) = text.split_once(':').ok_or_else(|| invalid("a header"))?;
            let value = value.trim().to_owned();
            head.headers.push((name.to_ascii_lowercase(), value));
        }
    }
}

/// The next piece of a body, or nothing at its end. `framing` keeps what is left.
pub(crate) async fn read_piece(
    from: &mut (impl AsyncBufRead + Unpin),
    framing: &mut Framing,
) -> io::Result<Option<Vec<u8>>> {
    let length = match framing {
        Framing::Length(0) => return Ok(None),
        Framing::Length(left) => {
            let there = from.fill_buf().await?;
            if there.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let piece = there[..there.len().min(*left)].to_vec();
            from.consume(piece.len());
            *left -= piece.len();
            return Ok(Some(piece));
        }
        Framing::Chunked => {
            let mut line = String::new();
            from.read_line(&mut line).await?;
            usize::from_str_radix(line.trim_end(), 16).map_err(|_| invalid("a chunk's length"))?
        }
    };
    if length > MAX_BODY {
        return Err(invalid("a chunk that is too large"));
    }
    let mut piece = vec![0; length + 2];
    from.read_exact(&mut piece).await?;
    piece.truncate(length);
    if length == 0 {
        *framing = Framing::Length(0);
        return Ok(None);
    }
    Ok(Some(piece))
}

/// A whole body.
pub(crate) async fn read_body(
    from: &mut (impl AsyncBufRead + Unpin),
    mut framing: Framing,
) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = read_piece(from, &mut framing).await? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_BODY {
            return Err(invalid("a body that is too large"));
        }
    }
    Ok(body)
}

/// An event of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SentEvent {
    pub(crate) id: Option<String>,
    /// Empty where there is none.
    pub(crate) data: String,
}

/// Takes whole events out of what was read of a stream.
pub(crate) fn take_sent_events(buffer: &mut Vec<u8>) -> Vec<SentEvent> {
    let mut found = Vec::new();
    while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
        let event: Vec<u8> = buffer.drain(..end + 2).collect();
        let text = String::from_utf8_lossy(&event);
        let field =
            |name: &'static str| text.lines().filter_map(move |line| line.strip_prefix(name));
        let data: Vec<&str> = field("data:").map(str::trim_start).collect();
        found.push(SentEvent {
            id: field("id:").next().map(|id| id.trim_start().to_owned()),
            data: data.join("\n"),
        });
    }
    found
}

/// The same, but only the data of those that have any.
pub(crate) fn take_events(buffer: &mut Vec<u8>) -> Vec<String> {
    let events = take_sent_events(buffer).into_iter();
    events
        .map(|event| event.data)
        .filter(|data| !data.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Framing, SentEvent, read_body, read_head, take_events, take_sent_events};

    #[tokio::test]
    async fn a_chunked_response_is_read() {
        let mut bytes = &b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"[..];
        let head = read_head(&mut bytes).await.unwrap().unwrap();
        assert_eq!((head.status(), head.is_stream()), (200, true));
        assert_eq!(head.framing(), Framing::Chunked);
        let body = read_body(&mut bytes, head.framing()).await.unwrap();
        assert_eq!(body, b"abcde");
        assert!(read_head(&mut bytes).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_body_that_is_cut_is_an_error() {
        let mut bytes = &b"abc"[..];
        assert!(read_body(&mut bytes, Framing::Length(4)).await.is_err());
        let mut bytes = &b"4\r\nabc"[..];
        assert!(read_body(&mut bytes, Framing::Chunked).await.is_err());
    }

    #[test]
    fn events_are_taken_whole() {
        let mut buffer = b"id: 1\ndata: {}\n\n: silence\n\ndata: {\"a\":".to_vec();
        assert_eq!(take_events(&mut buffer), ["{}"]);
        assert_eq!(buffer, b"data: {\"a\":");
        let mut buffer = b"id: 4-\ndata: \n\n".to_vec();
        let expected = SentEvent {
            id: Some("4-".into()),
            data: String::new(),
        };
        assert_eq!(take_sent_events(&mut buffer), [expected]);
    }
}
