//! Models of several who write to one client.

use super::*;
use crate::{message::Id, sync::explore};
use futures_util::FutureExt as _;
use shuttle::{future::block_on, thread};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// Takes a few bytes each time, and nothing at all every other time.
#[derive(Clone, Default)]
struct Client {
    written: Arc<Mutex<Vec<u8>>>,
    is_ready: bool,
}

impl AsyncWrite for Client {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_ready = !self.is_ready;
        if !self.is_ready {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let taken = bytes.len().min(30);
        self.written.lock().extend(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Client {
    fn lines(&self) -> Vec<String> {
        let written = self.written.lock();
        let text = String::from_utf8(written.clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

fn message(number: u64) -> Message {
    Message::request(&Id::number(number), "ping", None)
}

fn line(number: u64) -> String {
    String::from_utf8(message(number).to_bytes().to_vec()).unwrap()
}

#[test]
fn what_was_sent_is_written_once_also_when_its_sender_goes() {
    explore(|| {
        let client = Client::default();
        let outgoing = Outgoing::new(client.clone());
        let stays = [1, 2].map(|number| {
            let (client, outgoing) = (client.clone(), Arc::clone(&outgoing));
            thread::spawn(move || {
                block_on(outgoing.send(message(number))).unwrap();
                assert!(client.lines().contains(&line(number)));
            })
        });
        let goes = {
            let outgoing = Arc::clone(&outgoing);
            thread::spawn(move || outgoing.send(message(3)).now_or_never().is_some())
        };
        for thread in stays {
            thread.join().unwrap();
        }
        goes.join().unwrap();
        block_on(outgoing.close());
        let mut lines = client.lines();
        lines.sort_unstable();
        assert_eq!(lines, [1, 2, 3].map(line));
        assert!(client.written.lock().ends_with(b"\n"));
    });
}
