use super::*;
use futures_util::{FutureExt as _, future::poll_immediate};

fn named(name: &str) -> Principal {
    Principal::Named(name.to_owned())
}

fn ended(place: &Slot) -> Option<Closing> {
    place.gives_way().now_or_never()
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_gives_way_to_who_comes() {
    let connections = Connections::new(100, 1);
    let mut places = Vec::new();
    for _ in 0..20 {
        places.push(connections.place().await);
    }
    // There are places, but no more strangers may come for a moment.
    let began = Instant::now();
    assert!(poll_immediate(connections.place()).await.is_none());
    let next = connections.place().await;
    assert!(began.elapsed() >= IDENTIFY_GRACE, "{:?}", began.elapsed());
    assert_eq!(ended(&places[0]), Some(Closing::Immediate));
    assert_eq!(ended(&places[1]), None);
    // One that is let in makes room at once, and gives way to nobody.
    let busy = places[1].request(&named("a")).unwrap();
    let other = connections.place().now_or_never();
    assert!(other.is_some());
    let last = connections.place().await;
    assert_eq!(ended(&places[1]), None);
    assert_eq!(ended(&places[2]), Some(Closing::Immediate));
    drop((next, other, last, busy, places));
    is_empty(&connections);
}

fn is_empty(connections: &Connections) {
    let state = connections.state.lock();
    assert!(state.open.is_empty() && state.strangers.is_empty());
    assert!(state.holders.is_empty() && state.leaving.is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_gives_way_to_one() {
    let connections = Connections::new(32, 1);
    let mut places = Vec::new();
    for _ in 0..16 {
        places.push(connections.place().await);
    }
    let comes = tokio::spawn({
        let connections = Arc::clone(&connections);
        async move { connections.place().await }
    });
    tokio::time::sleep(IDENTIFY_GRACE * 9).await;
    assert_eq!(ended(&places[0]), Some(Closing::Immediate));
    assert_eq!(ended(&places[1]), None);
    places.remove(0);
    comes.await.unwrap();
    assert!(connections.state.lock().leaving.is_empty());
}

#[tokio::test(start_paused = true)]
async fn strangers_give_way_at_once_where_no_descriptor_is_left() {
    let connections = Connections::new(100, 1);
    let stranger = connections.place().await;
    let known = connections.place().await;
    let _busy = known.request(&named("a"));
    connections.send_strangers_away();
    assert_eq!(ended(&stranger), Some(Closing::Immediate));
    assert_eq!(ended(&known), None);
    assert!(
        stranger.request(&named("a")).is_none(),
        "what is cut off runs nothing"
    );
}

/// Places of principals, in which a letter is a connection of one that is let in and runs a request; a capital
/// one runs none. The last of them is let in, or not.
async fn check(
    places: usize,
    principals: usize,
    came: &str,
    is_let_in: bool,
    gives: Option<usize>,
) {
    let connections = Connections::new(places, principals);
    let mut open = Vec::new();
    let count = came.len();
    for (at, name) in came.chars().enumerate() {
        let place = connections.place().await;
        let busy = place.request(&named(&name.to_lowercase().to_string()));
        assert_eq!(busy.is_some(), at + 1 < count || is_let_in, "{came}: {at}");
        open.push((place, busy.filter(|_| name.is_lowercase())));
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let given: Vec<_> = (0..count)
        .filter(|at| ended(&open[*at].0) == Some(Closing::Graceful))
        .collect();
    assert_eq!(given, Vec::from_iter(gives), "{came}");
    drop(open);
    is_empty(&connections);
}

#[tokio::test(start_paused = true)]
async fn a_principal_has_its_share() {
    // 8 places: 4 of strangers, 4 of others.
    check(8, 1, "aaaa", true, None).await;
    check(8, 1, "aaaaa", false, None).await;
    check(8, 2, "aa", true, None).await;
    check(8, 2, "aaa", false, None).await;
    check(8, 2, "aabb", true, None).await;
    // Its own connections without a request give way first, that which has none for longest before others.
    check(8, 1, "aAAaa", true, Some(1)).await;
    check(8, 2, "bAAa", true, Some(1)).await;
    // Of who has more than it; of who has not, nothing.
    check(8, 3, "aAbbc", true, Some(1)).await;
    check(8, 3, "aabbc", false, None).await;
    check(8, 5, "abCDe", true, Some(2)).await;
}

#[tokio::test(start_paused = true)]
async fn a_place_is_free_again_when_its_request_is_over() {
    let connections = Connections::new(8, 2);
    let (one, two, three) = (
        connections.place().await,
        connections.place().await,
        connections.place().await,
    );
    let busy = one.request(&named("a")).unwrap();
    let _two = two.request(&named("a")).unwrap();
    assert!(three.request(&named("a")).is_none());
    drop(busy);
    let four = connections.place().await;
    assert!(four.request(&named("a")).is_some());
    assert_eq!(ended(&one), Some(Closing::Graceful));
    // What comes over a connection that is to end is served, and takes no place.
    assert!(one.request(&named("a")).is_some());
}

#[tokio::test(start_paused = true)]
async fn connections_end_with_their_answers_where_few_places_are_left() {
    // 32 places: 16 of strangers, 16 of others, 8 of each of two principals.
    let connections = Connections::new(32, 2);
    let mut open = Vec::new();
    // 6 are three quarters of a share, 12 of all.
    for (name, few) in [("a", 6), ("b", 4)] {
        for at in 0..8 {
            let place = connections.place().await;
            let busy = place.request(&named(name)).unwrap();
            assert_eq!(busy.is_last(), at >= few, "{name} {at}");
            open.push((place, busy));
        }
    }
    open.truncate(6);
    assert!(open.iter().all(|(_, busy)| !busy.is_last()));
}

#[tokio::test(start_paused = true)]
async fn there_are_never_more_than_places() {
    let connections = Connections::new(32, 1);
    let mut places = Vec::new();
    for _ in 0..16 {
        let place = connections.place().await;
        let busy = place.request(&Principal::Anonymous);
        assert!(busy.is_some());
        places.push((place, busy));
    }
    let mut strangers = Vec::new();
    for _ in 0..16 {
        strangers.push(connections.place().await);
    }
    let counts = Counts {
        places: 32,
        strangers: 16,
        idle: 0,
        busy: 16,
    };
    assert_eq!(connections.counts(), counts);
    let came = tokio::time::timeout(IDENTIFY_GRACE * 60, connections.place()).await;
    assert!(came.is_err());
    let waits = tokio::spawn({
        let connections = Arc::clone(&connections);
        async move { connections.place().await }
    });
    tokio::task::yield_now().await;
    places.pop();
    waits.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_for_all() {
    let connections = Connections::new(32, 1);
    let place = connections.place().await;
    let ending = tokio::spawn({
        let connections = Arc::clone(&connections);
        async move { connections.end().await }
    });
    assert_eq!(place.gives_way().await, Closing::Graceful);
    assert!(!ending.is_finished());
    drop(place);
    ending.await.unwrap();
}

/// Every order in which connections come, are let in, end a request and leave, up to a length: the counts are
/// those of the connections that there are, the bounds hold at each step, and at the end nothing is left.
#[test]
fn every_order_keeps_the_bounds() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let _entered = runtime.enter();
    const STEPS: usize = 6;
    const KINDS: usize = 7;
    for order in 0..KINDS.pow(u32::try_from(STEPS).unwrap()) {
        // 4 places: 2 of strangers, 1 of each of two principals.
        let connections = Connections::new(4, 2);
        let mut open: Vec<(Slot, Option<BusyConnection>)> = Vec::new();
        let mut rest = order;
        for _ in 0..STEPS {
            match rest % KINDS {
                0 => open.extend(
                    connections
                        .place()
                        .now_or_never()
                        .map(|place| (place, None)),
                ),
                kind @ (1 | 2) => {
                    // The newest that runs nothing.
                    let name = named(if kind == 1 { "a" } else { "b" });
                    let last = open.iter_mut().rev().find(|(_, busy)| busy.is_none());
                    if let Some((place, busy)) = last {
                        *busy = place.request(&name);
                    }
                }
                3 => drop(open.iter_mut().find_map(|(_, busy)| busy.take())),
                4 => drop(open.pop()),
                5 if !open.is_empty() => drop(open.remove(0)),
                5 => {}
                _ => connections.send_strangers_away(),
            }
            rest /= KINDS;
            let state = connections.state.lock();
            assert!(state.open.len() <= 4, "{order}");
            assert!(state.strangers.len() <= 2, "{order}");
            let held: usize = state.holders.values().map(|holder| holder.count).sum();
            assert!(held <= 2, "{order}");
            assert_eq!(
                held + state.strangers.len() + state.leaving.len(),
                state.open.len(),
                "{order}"
            );
            for (principal, holder) in &state.holders {
                assert!(
                    holder.count == 1 && holder.idle.len() <= 1,
                    "{order}: {principal:?}"
                );
            }
        }
        drop(open);
        is_empty(&connections);
    }
}
