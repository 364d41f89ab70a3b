//! Standard input and output, as fast as their kind allows.
//!
//! Pipes and sockets are read and written without a thread between. All others, terminals and files, go through a thread
//! of their own, which does not delay the end of the process.
//!
//! # Invariants
//!
//! - When both input and output are dropped, other processes that share a pipe or a socket find it as it was:
//!   `O_NONBLOCK` is removed where it was set here. A process that is killed (`SIGKILL`, an abort) cannot do so: sockets
//!   stay non-blocking then, and so do pipes where they cannot be opened anew (Linux can). Terminals and files are never
//!   changed.
//! - A pipe of the output may be made larger, and stays so.

use std::{
    future::Future,
    io::{self, Read, Write},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf},
    runtime::Handle,
    sync::oneshot,
};

#[cfg(unix)]
use {
    crate::wide::Wide,
    rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl},
    std::{
        fs::{File, Metadata},
        os::{
            fd::{AsFd, BorrowedFd, OwnedFd},
            unix::{
                fs::{FileTypeExt, MetadataExt},
                net::UnixStream as Socket,
            },
        },
    },
    tokio::net::{UnixStream, unix::pipe},
};

/// How many bytes may wait between a thread and the rest.
const PIPE_BYTES: usize = 64 << 10;

/// Standard input.
pub struct StandardInput {
    end: Source,
    _shared: Arc<SharedEnds>,
}

/// Standard output. Shut down, it waits until everything was written.
pub struct StandardOutput {
    end: Sink,
    _shared: Arc<SharedEnds>,
}

type Source = Box<dyn AsyncRead + Send + Unpin>;
type Sink = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output of this process. Nothing else may read or write them from here on.
///
/// # Errors
///
/// What opening them failed with.
///
/// # Panics
///
/// Outside of a runtime with input and output.
pub fn standard() -> io::Result<(StandardInput, StandardOutput)> {
    let mut shared = SharedEnds::default();
    let (source, sink) = (input(&mut shared)?, output(&mut shared)?);
    let _shared = Arc::new(shared);
    let input = StandardInput {
        end: source,
        _shared: Arc::clone(&_shared),
    };
    Ok((input, StandardOutput { end: sink, _shared }))
}

/// Ends of pipes and sockets that were made non-blocking here. They block again when this is dropped, with the last of
/// input and output.
#[derive(Default)]
struct SharedEnds {
    #[cfg(unix)]
    ends: Vec<OwnedFd>,
    /// The larger pipe of the output.
    #[cfg(unix)]
    wide: Option<Wide>,
}

#[cfg(unix)]
impl SharedEnds {
    fn make_nonblocking(&mut self, end: BorrowedFd<'_>) -> io::Result<()> {
        let flags = fcntl_getfl(end)?;
        if !flags.contains(OFlags::NONBLOCK) {
            let kept = end.try_clone_to_owned()?;
            fcntl_setfl(end, flags | OFlags::NONBLOCK)?;
            self.ends.push(kept);
        }
        Ok(())
    }

    fn widened(&mut self, pipe: pipe::Sender) -> Sink {
        self.wide = Wide::pipe(&pipe);
        Box::new(pipe)
    }
}

#[cfg(unix)]
impl Drop for SharedEnds {
    fn drop(&mut self) {
        for end in &self.ends {
            let restored =
                fcntl_getfl(end).and_then(|flags| fcntl_setfl(end, flags - OFlags::NONBLOCK));
            if let Err(error) = restored {
                tracing::debug!(%error, "a standard stream stays non-blocking");
            }
        }
    }
}

#[cfg(unix)]
fn input(shared: &mut SharedEnds) -> io::Result<Source> {
    let (owned, kind) = examine(io::stdin().as_fd())?;
    if kind.file_type().is_fifo() {
        // Opened anew where that works: other processes that share this end of the pipe are not affected.
        if let Ok(opened) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
            return Ok(Box::new(opened));
        }
        shared.make_nonblocking(owned.as_fd())?;
        return Ok(Box::new(pipe::Receiver::from_owned_fd(owned)?));
    }
    match socket(owned, &kind, io::stderr().as_fd(), shared)? {
        Some(socket) => Ok(Box::new(socket)),
        None => Ok(Box::new(read_on_thread(io::stdin())?)),
    }
}

#[cfg(unix)]
fn output(shared: &mut SharedEnds) -> io::Result<Sink> {
    let (owned, kind) = examine(io::stdout().as_fd())?;
    if kind.file_type().is_fifo() {
        if let Ok(opened) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
            return Ok(shared.widened(opened));
        }
        if !is_same(&kind, io::stderr().as_fd()) {
            shared.make_nonblocking(owned.as_fd())?;
            return Ok(shared.widened(pipe::Sender::from_owned_fd(owned)?));
        }
    }
    match socket(owned, &kind, io::stderr().as_fd(), shared)? {
        Some(socket) => Ok(Box::new(socket)),
        None => Ok(Box::new(write_on_thread(io::stdout())?)),
    }
}

#[cfg(unix)]
fn examine(of: BorrowedFd<'_>) -> io::Result<(OwnedFd, Metadata)> {
    let file = File::from(of.try_clone_to_owned()?);
    let kind = file.metadata()?;
    Ok((file.into(), kind))
}

/// Whether standard error goes to the same end: it would become non-blocking too, and lose what it prints.
#[cfg(unix)]
fn is_same(kind: &Metadata, error: BorrowedFd<'_>) -> bool {
    let same = |error: &Metadata| error.dev() == kind.dev() && error.ino() == kind.ino();
    examine(error).is_ok_and(|(_, error)| same(&error))
}

/// A non-blocking socket. None where it is not a socket, or is standard error's as well: then input and output both go
/// through threads, as the mode of one end of a socket is that of all that share it.
#[cfg(unix)]
fn socket(
    owned: OwnedFd,
    kind: &Metadata,
    error: BorrowedFd<'_>,
    shared: &mut SharedEnds,
) -> io::Result<Option<UnixStream>> {
    if !kind.file_type().is_socket() || is_same(kind, error) {
        return Ok(None);
    }
    shared.make_nonblocking(owned.as_fd())?;
    UnixStream::from_std(Socket::from(owned)).map(Some)
}

#[cfg(not(unix))]
fn input(_: &mut SharedEnds) -> io::Result<Source> {
    Ok(Box::new(read_on_thread(io::stdin())?))
}

#[cfg(not(unix))]
fn output(_: &mut SharedEnds) -> io::Result<Sink> {
    Ok(Box::new(write_on_thread(io::stdout())?))
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map(drop)
}

fn read_on_thread(mut source: impl Read + Send + 'static) -> io::Result<DuplexStream> {
    let (ours, mut theirs) = tokio::io::duplex(PIPE_BYTES);
    let runtime = Handle::current();
    spawn_thread("stdin", move || {
        let mut buffer = vec![0; PIPE_BYTES];
        loop {
            let length = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::warn!(%error, "standard input cannot be read");
                    break;
                }
            };
            if runtime
                .block_on(theirs.write_all(&buffer[..length]))
                .is_err()
            {
                break;
            }
        }
    })?;
    Ok(ours)
}

fn write_on_thread(mut sink: impl Write + Send + 'static) -> io::Result<ThreadSink> {
    let (ours, mut theirs) = tokio::io::duplex(PIPE_BYTES);
    let (finish, done) = oneshot::channel();
    let runtime = Handle::current();
    spawn_thread("stdout", move || {
        let mut buffer = vec![0; PIPE_BYTES];
        while let Ok(length @ 1..) = runtime.block_on(theirs.read(&mut buffer)) {
            let written = sink.write_all(&buffer[..length]);
            if let Err(error) = written.and_then(|()| sink.flush()) {
                tracing::warn!(%error, "standard output cannot be written");
                break;
            }
        }
        let _ = finish.send(());
    })?;
    Ok(ThreadSink {
        end: ours,
        done: Some(done),
    })
}

/// The output that a thread writes. Shut down, it waits for the end of the thread.
struct ThreadSink {
    end: DuplexStream,
    done: Option<oneshot::Receiver<()>>,
}

impl AsyncWrite for ThreadSink {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.end).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.end).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.end.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.end).poll_shutdown(context))?;
        if let Some(done) = &mut self.done {
            // A thread that ends without a word has ended, too.
            let _ = ready!(Pin::new(done).poll(context));
            self.done = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for StandardInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_read(context, buffer)
    }
}

impl AsyncWrite for StandardOutput {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.end).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.end).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.end.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_thread_hands_over_everything_and_the_end() {
        let text: Vec<u8> = (0..1_000_000).map(|n| (n % 251) as u8).collect();
        let read = read_on_thread(io::Cursor::new(text.clone())).unwrap();
        let mut input = StandardInput {
            end: Box::new(read),
            _shared: Arc::default(),
        };
        let kept = Kept::default();
        let sink = write_on_thread(kept.clone()).unwrap();
        let mut output = StandardOutput {
            end: Box::new(sink),
            _shared: Arc::default(),
        };
        tokio::io::copy(&mut input, &mut output).await.unwrap();
        output.shutdown().await.unwrap();
        // Shut down once more: nothing is left to wait for.
        output.shutdown().await.unwrap();
        assert!(*kept.0.lock() == text);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_socket_that_is_also_standard_error_keeps_waiting() {
        let (one, mut other) = Socket::pair().unwrap();
        let (owned, kind) = examine(one.as_fd()).unwrap();
        let mut shared = SharedEnds::default();
        let none = socket(owned, &kind, one.as_fd(), &mut shared).unwrap();
        assert!(none.is_none());
        let (owned, kind) = examine(one.as_fd()).unwrap();
        // Beyond what lies between: it waits, and fails if it must not.
        let mut sink = one.try_clone().unwrap();
        let text = vec![0; 8 << 20];
        let written = std::thread::spawn(move || sink.write_all(&text));
        let mut read = vec![0; 8 << 20];
        other.read_exact(&mut read).unwrap();
        written.join().unwrap().unwrap();
        let some = socket(owned, &kind, other.as_fd(), &mut shared).unwrap();
        assert!(some.is_some());
    }

    /// Who shares the socket waits for it again once both input and output are gone, not before.
    #[cfg(unix)]
    #[tokio::test]
    async fn what_others_share_is_left_as_it_was() {
        let (shells, _other) = Socket::pair().unwrap();
        let (_, error) = Socket::pair().unwrap();
        let mut shared = SharedEnds::default();
        // Input and output of one process are often one socket.
        let mut open = || {
            let (owned, kind) = examine(shells.as_fd()).unwrap();
            socket(owned, &kind, error.as_fd(), &mut shared)
                .unwrap()
                .unwrap()
        };
        let (input, output) = (open(), open());
        let waits = || !fcntl_getfl(&shells).unwrap().contains(OFlags::NONBLOCK);
        assert!(!waits());
        let shared = Arc::new(shared);
        let input = StandardInput {
            end: Box::new(input),
            _shared: Arc::clone(&shared),
        };
        let output = StandardOutput {
            end: Box::new(output),
            _shared: shared,
        };
        drop(input);
        assert!(!waits());
        drop(output);
        assert!(waits());
        // What came so is left so.
        shells.set_nonblocking(true).unwrap();
        let mut shared = SharedEnds::default();
        shared.make_nonblocking(shells.as_fd()).unwrap();
        drop(shared);
        assert!(!waits());
    }

    /// Of a pipe that cannot be opened anew the same is true.
    #[cfg(unix)]
    #[test]
    fn a_pipe_waits_again() {
        let (pipe, _sink) = io::pipe().unwrap();
        let mut shared = SharedEnds::default();
        shared.make_nonblocking(pipe.as_fd()).unwrap();
        let flags = || fcntl_getfl(&pipe).unwrap();
        assert!(flags().contains(OFlags::NONBLOCK));
        drop(shared);
        assert!(!flags().contains(OFlags::NONBLOCK));
    }
}
