//! Streams of events from servers.

use bytes::Bytes;
use crossfeed_gateway::upstream::http::sse::{Block, Decoder};

/// What one event may hold.
const LIMIT: usize = 4096;

/// However a stream is cut into chunks, the same events come out.
pub(crate) fn events(input: &[u8]) {
    let Some((first, stream)) = input.split_first() else {
        return;
    };
    let whole = decode(stream.chunks(stream.len().max(1)));
    let cut = decode(stream.chunks(usize::from(*first) % 67 + 1));
    assert_eq!(
        whole,
        cut,
        "chunks of {} bytes",
        usize::from(*first) % 67 + 1
    );
}

fn decode<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Block> {
    let mut decoder = Decoder::new(LIMIT);
    let mut blocks = Vec::new();
    for chunk in chunks {
        decoder.feed(Bytes::copy_from_slice(chunk));
        blocks.extend(std::iter::from_fn(|| decoder.next_block()));
    }
    blocks
}
