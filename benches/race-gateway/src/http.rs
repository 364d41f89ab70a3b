//! A client of streamable HTTP on one connection that is kept: as little as the servers of this race need.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Outcome;

/// Where a racer listens, and the session that is open there. A racer of several processes listens at several addresses,
/// and has the session at the first.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) path: &'static str,
    pub(crate) session: Option<String>,
}

pub(crate) struct Connection {
    place: Place,
    address: SocketAddr,
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Connection {
    /// The connections of several go round the addresses.
    pub(crate) fn open(place: Place, number: usize) -> Outcome<Self> {
        let address = place.addresses[number % place.addresses.len()];
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Connection {
            place,
            address,
            stream: BufReader::with_capacity(1 << 16, stream),
            body: Vec::new(),
        })
    }

    /// The place, with the session that was opened.
    pub(crate) fn into_place(self) -> Place {
        self.place
    }

    /// Posts a message. Gives the message that answers it, or nothing for one that is not answered.
    pub(crate) fn post(&mut self, message: &[u8]) -> Outcome<&[u8]> {
        let mut request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2025-06-18\r\nContent-Length: {}\r\n",
            self.place.path,
            self.address,
            message.len()
        );
        if let Some(session) = &self.place.session {
            request.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        request.push_str("\r\n");
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(message);
        self.stream.get_mut().write_all(&bytes)?;
        self.response()
    }

    fn response(&mut self) -> Outcome<&[u8]> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let (mut length, mut chunked, mut events) = (0, false, false);
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err("the connection was closed".into());
            }
            let header = line.trim_end();
            if header.is_empty() {
                break;
            }
            let Some((name, value)) = header.split_once(':') else {
                continue;
            };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse()?,
                "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
                "content-type" => events = value.starts_with("text/event-stream"),
                "mcp-session-id" => self.place.session = Some(value.to_owned()),
                _ => {}
            }
        }
        self.body.clear();
        if chunked {
            self.chunks()?;
        } else {
            self.body.resize(length, 0);
            self.stream.read_exact(&mut self.body)?;
        }
        if !status.starts_with('2') {
            return Err(format!("status {status}: {}", String::from_utf8_lossy(&self.body)).into());
        }
        if !events {
            return Ok(&self.body);
        }
        let data = self
            .body
            .split(|byte| *byte == b'\n')
            .filter_map(|line| line.strip_prefix(b"data:"));
        data.map(<[u8]>::trim_ascii)
            .find(|data| crate::messages::is_answer(data))
            .ok_or_else(|| "no answer on the stream".into())
    }

    fn chunks(&mut self) -> Outcome<()> {
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim_end(), 16)?;
            let start = self.body.len();
            self.body.resize(start + size, 0);
            self.stream.read_exact(&mut self.body[start..])?;
            line.clear();
            self.stream.read_line(&mut line)?;
            if size == 0 {
                return Ok(());
            }
        }
    }
}
