//! Frames between a host and its worker: a length of four bytes, then that many bytes.

use bytes::Bytes;
use std::io::{self, Read, Write};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

fn length(bytes: usize) -> io::Result<[u8; 4]> {
    let length = u32::try_from(bytes).map_err(|_| too_large(io::ErrorKind::InvalidInput))?;
    Ok(length.to_le_bytes())
}

fn bytes_of(length: [u8; 4]) -> usize {
    usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX)
}

fn too_large(kind: io::ErrorKind) -> io::Error {
    io::Error::new(kind, "the frame is too large")
}

/// Reads a frame; `None` at the end of what is sent.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        outcome => outcome?,
    }
    let mut frame = Vec::new();
    let bytes = bytes_of(length);
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

/// Reads a frame of a worker, of at most so many bytes: it may run what it should not.
pub(crate) async fn receive(from: &mut (impl AsyncRead + Unpin), most: usize) -> io::Result<Bytes> {
    let mut length = [0; 4];
    from.read_exact(&mut length).await?;
    let bytes = bytes_of(length);
    if bytes > most {
        return Err(too_large(io::ErrorKind::InvalidData));
    }
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
