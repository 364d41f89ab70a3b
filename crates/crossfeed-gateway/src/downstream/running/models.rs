//! Models of waiting for requests to end.

use super::*;
use crate::{message::Id, sync::explore};
use shuttle::{future::block_on, thread};

struct Nowhere;

#[async_trait]
impl MessageSink for Nowhere {
    async fn send(&self, _: Message) -> Result<(), Disconnected> {
        Ok(())
    }
}

#[test]
fn the_end_comes_once_all_requests_ended_and_not_before() {
    explore(|| {
        let running = Arc::new(Running::default());
        let request = Message::request(&Id::number(1), "ping", None);
        let replies = [(); 2].map(|()| running.begin(&request, Arc::new(Nowhere)));
        let waits = {
            let running = Arc::clone(&running);
            thread::spawn(move || {
                block_on(running.none());
                assert_eq!(running.count.load(Ordering::Acquire), 0);
            })
        };
        let [answered, dropped] = replies;
        let ends = thread::spawn(move || {
            let answer = Message::response(&Id::number(1), &"1".into());
            block_on(answered.send(answer)).unwrap();
        });
        drop(dropped);
        ends.join().unwrap();
        waits.join().unwrap();
    });
}
