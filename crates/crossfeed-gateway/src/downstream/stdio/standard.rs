//! Standard input and output, as fast as their kind allows.
//!
//! Pipes and sockets are read and written without a thread between. Everything else, terminals and files,
//! goes through a thread of its own, which holds nobody up when the process ends.
//!
//! # What holds
//!
//! - Whoever shares a pipe or a socket with this process finds it as it was when both input and output are
//!   dropped: that nothing waits for it (`O_NONBLOCK`) is taken back where it was set here. A process that
//!   is killed (`SIGKILL`, an abort) cannot do so: sockets stay as they are then, and so do pipes where they
//!   cannot be opened anew (Linux can). Terminals and files are never changed.
//! - A pipe of the output may take more at once than it did; it stays so.

use std::{
    future::Future,
    io::{self, Read, Write},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
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

/// How much lies between a thread and the rest.
const PIPE_BYTES: usize = 64 << 10;

/// Standard input.
#[derive(Debug)]
pub struct StandardInput {
    end: Input,
    _shared: Shared,
}

/// Standard output. Shut down, it waits until everything was written.
#[derive(Debug)]
pub struct StandardOutput {
    end: Output,
    _shared: Shared,
}

#[derive(Debug)]
enum Input {
    #[cfg(unix)]
    Pipe(pipe::Receiver),
    #[cfg(unix)]
    Socket(UnixStream),
    Thread(DuplexStream),
}

#[derive(Debug)]
enum Output {
    #[cfg(unix)]
    Pipe(pipe::Sender),
    #[cfg(unix)]
    Socket(UnixStream),
    Thread(DuplexStream, Option<oneshot::Receiver<()>>),
}

/// Standard input and output of this process. Nobody else may read or write them from here on.
///
/// # Errors
///
/// What opening them failed with.
///
/// # Panics
///
/// Outside of a runtime with input and output.
pub fn standard() -> io::Result<(StandardInput, StandardOutput)> {
    let mut changed = Changed::default();
    let (input, output) = (input(&mut changed)?, output(&mut changed)?);
    #[cfg(unix)]
    if let Output::Pipe(pipe) = &output {
        changed.wide = Wide::pipe(pipe);
    }
    let shared = Arc::new(changed);
    Ok((
        StandardInput::new(input, Arc::clone(&shared)),
        StandardOutput::new(output, shared),
    ))
}

/// What others share, held by input and output: either may be the last to need it as it is.
type Shared = Arc<Changed>;

/// Ends of pipes and sockets that nothing waits for since they came here: when this is dropped, what uses
/// them waits again.
#[derive(Debug, Default)]
struct Changed {
    #[cfg(unix)]
    ends: Vec<OwnedFd>,
    /// The pipe of the output takes more at once.
    #[cfg(unix)]
    wide: Option<Wide>,
}

impl StandardInput {
    fn new(end: Input, shared: Shared) -> Self {
        Self {
            end,
            _shared: shared,
        }
    }
}

impl StandardOutput {
    fn new(end: Output, shared: Shared) -> Self {
        Self {
            end,
            _shared: shared,
        }
    }
}

#[cfg(unix)]
impl Changed {
    /// Nothing is to wait for this end any more.
    fn no_wait(&mut self, end: BorrowedFd<'_>) -> io::Result<()> {
        let flags = fcntl_getfl(end)?;
        if !flags.contains(OFlags::NONBLOCK) {
            let kept = end.try_clone_to_owned()?;
            fcntl_setfl(end, flags | OFlags::NONBLOCK)?;
            self.ends.push(kept);
        }
        Ok(())
    }
}

#[cfg(unix)]
impl Drop for Changed {
    fn drop(&mut self) {
        for end in &self.ends {
            let restored =
                fcntl_getfl(end).and_then(|flags| fcntl_setfl(end, flags - OFlags::NONBLOCK));
            if let Err(error) = restored {
                tracing::debug!(%error, "a standard stream is left without waiting");
            }
        }
    }
}

#[cfg(unix)]
fn input(changed: &mut Changed) -> io::Result<Input> {
    let stdin = io::stdin();
    let (owned, kind) = examine(stdin.as_fd())?;
    if kind.file_type().is_fifo() {
        // Opened anew where that works: that nothing waits for it is then nobody else's business, who
        // shares this end of the pipe.
        if let Ok(opened) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
            return Ok(Input::Pipe(opened));
        }
        changed.no_wait(owned.as_fd())?;
        return pipe::Receiver::from_owned_fd(owned).map(Input::Pipe);
    }
    match socket(owned, &kind, io::stderr().as_fd(), changed)? {
        Some(socket) => Ok(Input::Socket(socket)),
        None => threaded_input(),
    }
}

#[cfg(unix)]
fn output(changed: &mut Changed) -> io::Result<Output> {
    let (owned, kind) = examine(io::stdout().as_fd())?;
    if kind.file_type().is_fifo() {
        if let Ok(opened) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
            return Ok(Output::Pipe(opened));
        }
        if !is_same(&kind, io::stderr().as_fd()) {
            changed.no_wait(owned.as_fd())?;
            return pipe::Sender::from_owned_fd(owned).map(Output::Pipe);
        }
    }
    match socket(owned, &kind, io::stderr().as_fd(), changed)? {
        Some(socket) => Ok(Output::Socket(socket)),
        None => threaded_output(),
    }
}

#[cfg(unix)]
fn examine(of: BorrowedFd<'_>) -> io::Result<(OwnedFd, Metadata)> {
    let file = File::from(of.try_clone_to_owned()?);
    let kind = file.metadata()?;
    Ok((file.into(), kind))
}

/// Whether standard error goes to the same: it would not wait any more either, and lose what it prints.
#[cfg(unix)]
fn is_same(kind: &Metadata, error: BorrowedFd<'_>) -> bool {
    let same = |error: &Metadata| error.dev() == kind.dev() && error.ino() == kind.ino();
    examine(error).is_ok_and(|(_, error)| same(&error))
}

/// A socket that nothing waits for. None where it is not a socket, or standard error's as well: then input
/// and output both go through threads, as what holds for one end of a socket holds for all that share it.
#[cfg(unix)]
fn socket(
    owned: OwnedFd,
    kind: &Metadata,
    error: BorrowedFd<'_>,
    changed: &mut Changed,
) -> io::Result<Option<UnixStream>> {
    if !kind.file_type().is_socket() || is_same(kind, error) {
        return Ok(None);
    }
    changed.no_wait(owned.as_fd())?;
    UnixStream::from_std(Socket::from(owned)).map(Some)
}

#[cfg(not(unix))]
fn input(_: &mut Changed) -> io::Result<Input> {
    threaded_input()
}

#[cfg(not(unix))]
fn output(_: &mut Changed) -> io::Result<Output> {
    threaded_output()
}

fn threaded_input() -> io::Result<Input> {
    read_on_thread(io::stdin()).map(Input::Thread)
}

fn threaded_output() -> io::Result<Output> {
    let (sink, done) = write_on_thread(io::stdout())?;
    Ok(Output::Thread(sink, Some(done)))
}

fn read_on_thread(mut source: impl Read + Send + 'static) -> io::Result<DuplexStream> {
    let (ours, mut theirs) = tokio::io::duplex(PIPE_BYTES);
    let runtime = Handle::current();
    let read = move || {
        let mut buffer = vec![0; PIPE_BYTES];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => {
                    if runtime
                        .block_on(theirs.write_all(&buffer[..length]))
                        .is_err()
                    {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!(%error, "standard input cannot be read");
                    break;
                }
            }
        }
    };
    let thread = std::thread::Builder::new().name("stdin".to_owned());
    thread.spawn(read)?;
    Ok(ours)
}

fn write_on_thread(
    mut sink: impl Write + Send + 'static,
) -> io::Result<(DuplexStream, oneshot::Receiver<()>)> {
    let (ours, mut theirs) = tokio::io::duplex(PIPE_BYTES);
    let (finish, done) = oneshot::channel();
    let runtime = Handle::current();
    let write = move || {
        let mut buffer = vec![0; PIPE_BYTES];
        loop {
            let length = match runtime.block_on(theirs.read(&mut buffer)) {
                Ok(0) | Err(_) => break,
                Ok(length) => length,
            };
            let written = sink.write_all(&buffer[..length]);
            if let Err(error) = written.and_then(|()| sink.flush()) {
                tracing::warn!(%error, "standard output cannot be written");
                break;
            }
        }
        let _ = finish.send(());
    };
    let thread = std::thread::Builder::new().name("stdout".to_owned());
    thread.spawn(write)?;
    Ok((ours, done))
}

impl AsyncRead for StandardInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.end {
            #[cfg(unix)]
            Input::Pipe(pipe) => Pin::new(pipe).poll_read(context, buffer),
            #[cfg(unix)]
            Input::Socket(socket) => Pin::new(socket).poll_read(context, buffer),
            Input::Thread(thread) => Pin::new(thread).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for StandardOutput {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.end {
            #[cfg(unix)]
            Output::Pipe(pipe) => Pin::new(pipe).poll_write(context, bytes),
            #[cfg(unix)]
            Output::Socket(socket) => Pin::new(socket).poll_write(context, bytes),
            Output::Thread(thread, _) => Pin::new(thread).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.end {
            #[cfg(unix)]
            Output::Pipe(pipe) => Pin::new(pipe).poll_write_vectored(context, slices),
            #[cfg(unix)]
            Output::Socket(socket) => Pin::new(socket).poll_write_vectored(context, slices),
            Output::Thread(thread, _) => Pin::new(thread).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.end {
            #[cfg(unix)]
            Output::Pipe(pipe) => pipe.is_write_vectored(),
            #[cfg(unix)]
            Output::Socket(socket) => socket.is_write_vectored(),
            Output::Thread(thread, _) => thread.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.end {
            #[cfg(unix)]
            Output::Pipe(pipe) => Pin::new(pipe).poll_flush(context),
            #[cfg(unix)]
            Output::Socket(socket) => Pin::new(socket).poll_flush(context),
            Output::Thread(thread, _) => Pin::new(thread).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.end {
            #[cfg(unix)]
            Output::Pipe(pipe) => Pin::new(pipe).poll_shutdown(context),
            #[cfg(unix)]
            Output::Socket(socket) => Pin::new(socket).poll_shutdown(context),
            Output::Thread(thread, done) => {
                std::task::ready!(Pin::new(thread).poll_shutdown(context))?;
                if let Some(waited) = done {
                    // An end without a word is an end, too.
                    let _ = std::task::ready!(Pin::new(waited).poll(context));
                    *done = None;
                }
                Poll::Ready(Ok(()))
            }
        }
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
        let mut input = StandardInput::new(Input::Thread(read), Shared::default());
        let kept = Kept::default();
        let (sink, done) = write_on_thread(kept.clone()).unwrap();
        let mut output = StandardOutput::new(Output::Thread(sink, Some(done)), Shared::default());
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
        let mut changed = Changed::default();
        let none = socket(owned, &kind, one.as_fd(), &mut changed).unwrap();
        assert!(none.is_none());
        let (owned, kind) = examine(one.as_fd()).unwrap();
        // Beyond what lies between: it waits, and fails if it must not.
        let mut sink = one.try_clone().unwrap();
        let text = vec![0; 8 << 20];
        let written = std::thread::spawn(move || sink.write_all(&text));
        let mut read = vec![0; 8 << 20];
        other.read_exact(&mut read).unwrap();
        written.join().unwrap().unwrap();
        let some = socket(owned, &kind, other.as_fd(), &mut changed).unwrap();
        assert!(some.is_some());
    }

    /// Who shares the socket waits for it again once both input and output are gone, not before.
    #[cfg(unix)]
    #[tokio::test]
    async fn what_others_share_is_left_as_it_was() {
        let (shells, _other) = Socket::pair().unwrap();
        let (_, error) = Socket::pair().unwrap();
        let mut changed = Changed::default();
        // Input and output of one process are often one socket.
        let mut open = || {
            let (owned, kind) = examine(shells.as_fd()).unwrap();
            socket(owned, &kind, error.as_fd(), &mut changed)
                .unwrap()
                .unwrap()
        };
        let (input, output) = (open(), open());
        let waits = || !fcntl_getfl(&shells).unwrap().contains(OFlags::NONBLOCK);
        assert!(!waits());
        let shared = Arc::new(changed);
        let input = StandardInput::new(Input::Socket(input), Arc::clone(&shared));
        let output = StandardOutput::new(Output::Socket(output), shared);
        drop(input);
        assert!(!waits());
        drop(output);
        assert!(waits());
        // What came so is left so.
        shells.set_nonblocking(true).unwrap();
        let mut changed = Changed::default();
        changed.no_wait(shells.as_fd()).unwrap();
        drop(changed);
        assert!(!waits());
    }

    /// Of a pipe that cannot be opened anew the same is true.
    #[cfg(unix)]
    #[test]
    fn a_pipe_waits_again() {
        let (pipe, _sink) = io::pipe().unwrap();
        let mut changed = Changed::default();
        changed.no_wait(pipe.as_fd()).unwrap();
        let flags = || fcntl_getfl(&pipe).unwrap();
        assert!(flags().contains(OFlags::NONBLOCK));
        drop(changed);
        assert!(!flags().contains(OFlags::NONBLOCK));
    }
}
