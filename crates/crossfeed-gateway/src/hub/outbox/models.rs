//! Models of the way to a client that shares connections with others.

use super::*;
use crate::sync::{explore, join_tasks};
use shuttle::{
    future::{block_on, yield_now},
    thread,
};
use tokio::sync::mpsc;

/// A client that reads as it likes.
struct Client(mpsc::Sender<Message>);

#[async_trait]
impl MessageSink for Client {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        yield_now().await;
        self.0.send(message).await.map_err(|_| Disconnected)
    }
}

fn lane() -> (Arc<Outbox>, mpsc::Receiver<Message>, Arc<AtomicUsize>) {
    let (sender, receiver) = mpsc::channel(1);
    let open = Arc::default();
    (Outbox::new(Arc::new(Client(sender)), &open), receiver, open)
}

fn numbered(sender: usize, number: usize) -> Message {
    Message::notification(&format!("{sender}.{number}"), None)
}

#[test]
fn what_several_send_arrives_once_and_in_order() {
    explore(|| {
        let (lane, mut client, open) = lane();
        let senders = [0, 1].map(|sender| {
            let lane = Arc::clone(&lane);
            thread::spawn(move || {
                for number in 0..2 {
                    block_on(lane.send(numbered(sender, number))).unwrap();
                }
            })
        });
        drop(lane);
        let mut next = [0, 0];
        // It ends when the lane is gone, and whoever worked for it.
        while let Some(message) = block_on(client.recv()) {
            let (sender, number) = message.method().unwrap().split_once('.').unwrap();
            let next = &mut next[sender.parse::<usize>().unwrap()];
            assert_eq!(number, next.to_string());
            *next += 1;
        }
        assert_eq!(next, [2, 2]);
        for sender in senders {
            sender.join().unwrap();
        }
        assert_eq!(open.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_client_that_goes_holds_nobody_up_and_leaves_nothing() {
    explore(|| {
        let (lane, mut client, _) = lane();
        let senders = [0, 1].map(|sender| {
            let lane = Arc::clone(&lane);
            thread::spawn(move || {
                for number in 0..2 {
                    // Whether it is seen to be gone depends on when it went.
                    let _ = block_on(lane.send(numbered(sender, number)));
                }
            })
        });
        assert!(block_on(client.recv()).is_some());
        drop(client);
        for sender in senders {
            sender.join().unwrap();
        }
        // One more finds out, if none did before.
        let _ = block_on(lane.send(numbered(0, 2)));
        join_tasks();
        assert!(block_on(lane.send(numbered(0, 3))).is_err());
        let queue = lane.queue.lock();
        assert!(queue.waiting.is_empty() && queue.bytes == 0 && !queue.draining);
    });
}
