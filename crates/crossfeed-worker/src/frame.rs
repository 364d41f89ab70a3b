//! Frames between a host and its worker: a length of four bytes, then that many bytes.

use bytes::Bytes;
use std::io::{self, Read, Write};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The most bytes of a frame: what a result has at most, and its name.
const MAX_BYTES: usize = 1 << 30;

fn length(bytes: usize) -> io::Result<[u8; 4]> {
    let length = u32::try_from(bytes).ok().filter(|_| bytes <= MAX_BYTES);
    let length =
        length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the frame is too large"));
    length.map(u32::to_le_bytes)
}

fn bytes_of(length: [u8; 4]) -> io::Result<usize> {
    let bytes = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if bytes > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the frame is too large",
        ));
    }
    Ok(bytes)
}

/// Reads a frame; `None` at the end of what is sent.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        outcome => outcome?,
    }
    let mut frame = Vec::new();
    let bytes = bytes_of(length)?;
    from.take(bytes as u64).read_to_end(&mut frame)?;
    Ok((frame.len() == bytes).then_some(frame))
}

/// Writes a frame of several pieces.
pub(crate) fn write(to: &mut impl Write, pieces: &[&[u8]]) -> io::Result<()> {
    to.write_all(&length(pieces.iter().map(|piece| piece.len()).sum())?)?;
    for piece in pieces {
        to.write_all(piece)?;
    }
    to.flush()
}

/// Reads a frame of a worker.
pub(crate) async fn receive(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Bytes> {
    let mut length = [0; 4];
    from.read_exact(&mut length).await?;
    let bytes = bytes_of(length)?;
    let mut frame = Vec::new();
    from.take(bytes as u64).read_to_end(&mut frame).await?;
    if frame.len() < bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(frame.into())
}

/// Sends a frame of several pieces to a worker.
pub(crate) async fn send(to: &mut (impl AsyncWrite + Unpin), pieces: &[&[u8]]) -> io::Result<()> {
    to.write_all(&length(pieces.iter().map(|piece| piece.len()).sum())?)
        .await?;
    for piece in pieces {
        to.write_all(piece).await?;
    }
    to.flush().await
}
