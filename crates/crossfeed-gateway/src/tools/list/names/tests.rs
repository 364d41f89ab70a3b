use super::*;
use proptest::prelude::*;

const SERVERS: [&str; 4] = ["a", "b", "c", "gone"];

fn naming(prefix: Prefix) -> Naming {
    Naming::new(&SERVERS.map(Some), prefix)
}

/// The names of items whose servers are said by name.
fn given(
    naming: &Naming,
    before: &Arc<Bindings>,
    items: &[(&str, &str)],
) -> (Vec<String>, Arc<Bindings>) {
    let place = |server: &str| {
        let mut servers = naming.servers.iter();
        let is_same = |known: &Option<Server>| known.as_ref().is_some_and(|it| it.name == server);
        servers.position(is_same).unwrap()
    };
    let items: Vec<_> = items
        .iter()
        .map(|(server, own)| (place(server), *own))
        .collect();
    let (names, bindings) = naming.give(before, &items, &["read_result"]);
    (names.into_iter().map(Option::unwrap).collect(), bindings)
}

fn check(prefix: Prefix, items: &[(&str, &str)], expected: &[&str]) {
    let (names, bindings) = given(&naming(prefix), &Arc::default(), items);
    assert_eq!(names, expected, "{items:?}");
    let (again, after) = given(&naming(prefix), &bindings, items);
    assert_eq!(again, expected, "given again");
    assert_eq!(after.digest(), bindings.digest());
}

#[test]
fn every_name_carries_its_server() {
    let check = |items, expected| check(Prefix::Always, items, expected);
    check(&[], &[]);
    check(&[("a", "x"), ("b", "y")], &["a__x", "b__y"]);
    check(&[("b", "x"), ("b", "x")], &["b__x", "b__x"]);
    check(&[("a", "b__x"), ("b", "x")], &["a__b__x", "b__x"]);
    check(
        &[("a", "read_result"), ("a", "p.q")],
        &["a__read_result", "a__p_q_1d536c"],
    );
}

#[test]
fn names_are_prefixed_where_they_collide() {
    let check = |items, expected| check(Prefix::Collisions, items, expected);
    check(&[("a", "x"), ("b", "y")], &["x", "y"]);
    check(
        &[("a", "x"), ("b", "x"), ("b", "y")],
        &["a__x", "b__x", "y"],
    );
    check(&[("a", "read_result")], &["a__read_result"]);
    check(&[("a", "x"), ("a", "x")], &["x", "x"]);
    // A server takes no name of another, be it there or not.
    check(
        &[("a", "x"), ("b", "x"), ("b", "a__x"), ("b", "gone__y")],
        &["a__x", "b__x", "b__a__x", "b__gone__y"],
    );
    check(&[("b", "other__x")], &["other__x"]);
}

#[test]
fn a_name_stays_what_it_was() {
    let naming = naming(Prefix::Collisions);
    let (names, first) = given(&naming, &Arc::default(), &[("a", "x"), ("b", "y")]);
    assert_eq!(names, ["x", "y"]);
    // Its server is away, then lists something else, then the same again.
    for (items, expected) in [
        (&[("b", "x"), ("b", "y")][..], &["b__x", "y"][..]),
        (&[("a", "z"), ("b", "x")], &["z", "b__x"]),
        (&[("c", "z"), ("a", "x")], &["z", "x"]),
    ] {
        assert_eq!(given(&naming, &first, items).0, expected);
    }
    // What was prefixed once is so for good.
    let (names, both) = given(&naming, &Arc::default(), &[("a", "x"), ("b", "x")]);
    assert_eq!(names, ["a__x", "b__x"]);
    assert_eq!(given(&naming, &both, &[("b", "x")]).0, ["b__x"]);
    assert_eq!(both.owner("b__x"), Some((1, "x")));
    assert_eq!(both.owner("x"), None);
}

#[test]
fn names_of_one_server_are_its_own() {
    let naming = Naming::new(&[None, Some("a.b")], Prefix::Always);
    assert!(naming.is_sole());
    let items = [(1, "x"), (1, "a_b__read_result"), (1, "read_result")];
    let (names, bindings) = naming.give(&Arc::default(), &items, &["read_result"]);
    let names: Vec<_> = names.into_iter().map(Option::unwrap).collect();
    assert_eq!(names[..2], ["x", "a_b__read_result"]);
    assert!(names[2].starts_with("a_b__read_result_"), "{names:?}");
    assert_eq!(bindings.digest(), Bindings::default().digest());
}

#[test]
fn prefixes_tell_servers_apart() {
    let check = |names: &[&str], expected: &[&str]| {
        let names: Vec<_> = names.iter().copied().map(Some).collect();
        let naming = Naming::new(&names, Prefix::Always);
        let prefixes = naming.servers.iter().flatten();
        let prefixes: Vec<_> = prefixes.map(|server| &*server.prefix).collect();
        assert_eq!(prefixes, expected, "{names:?}");
    };
    check(&["a", "b-2", "_c"], &["a", "b-2", "_c"]);
    check(&["My Server", "x"], &["My_Server", "x"]);
    check(&["a.b", "a_b", "a b"], &["a_b_2c9620", "a_b", "a_b_5aed56"]);
    // Otherwise `a__b__x` could be a tool `b__x` of the server `a`.
    check(&["a", "a__b", "a_"], &["a", "a_b_393a3f", "a_ba8f6f"]);
    check(&["…"], &["server_97594d"]);
}

#[test]
fn one_server_takes_no_room_of_another() {
    let naming = naming(Prefix::Collisions);
    let names: Vec<String> = (0..=MAX_NAMES).map(|number| format!("t{number}")).collect();
    let items: Vec<_> = names.iter().map(|name| (0, &**name)).collect();
    let (given, full) = naming.give(&Arc::default(), &items, &[]);
    assert_eq!(given.iter().flatten().count(), MAX_NAMES);
    assert_eq!(given.last(), Some(&None));
    let (given, _) = naming.give(&full, &[(1, "x"), (0, "x"), (0, "t1")], &[]);
    assert_eq!(
        given,
        [Some("b__x".to_owned()), None, Some("t1".to_owned())]
    );
    let long = "x".repeat(MAX_BYTES);
    let (given, _) = naming.give(&Arc::default(), &[(0, &long)], &[]);
    assert_eq!(given, [None]);
}

proptest! {
    #[test]
    fn no_two_tools_share_a_name(
        tools in prop::collection::vec((0..4_usize, "[xy._]{1,3}|[xy]{60,64}|[ab]__[xy]"), 0..8),
        more in prop::collection::vec((0..4_usize, "[xy._]{1,3}|[xy]{60,64}|[ab]__[xy]"), 0..8),
        prefix in prop::sample::select(vec![Prefix::Always, Prefix::Collisions]),
    ) {
        let naming = Naming::new(&[Some("a"), Some("b."), Some("a__b"), Some("b")], prefix);
        let mut seen: HashMap<String, (usize, &str)> = HashMap::new();
        let mut bindings = Arc::default();
        for tools in [&tools, &more] {
            let tools: Vec<_> = tools.iter().map(|(server, own)| (*server, own.as_str())).collect();
            let (names, after) = naming.give(&bindings, &tools, &["x"]);
            bindings = after;
            for (tool, name) in tools.into_iter().zip(names) {
                let name = name.unwrap();
                prop_assert!(name != "x");
                prop_assert!(name == tool.1 || name.len() <= MAX_NAME_BYTES);
                prop_assert_eq!(*seen.entry(name.clone()).or_insert(tool), tool);
                prop_assert_eq!(bindings.owner(&name), Some(tool));
            }
        }
    }

    /// By the configuration alone: whatever else is listed, and whatever was before.
    #[test]
    fn a_prefix_says_whose_a_name_is(
        own in "[xy]{1,3}|[ab]__[xy]|b_[0-9a-f]{6}__x",
        server in 0..4_usize,
    ) {
        let naming = Naming::new(&[Some("a"), Some("b."), Some("a__b"), Some("b")], Prefix::Always);
        let (names, _) = naming.give(&Arc::default(), &[(server, &own)], &[]);
        let name = names[0].clone().unwrap();
        let (prefix, _) = name.split_once(BETWEEN).unwrap();
        prop_assert_eq!(prefix, &naming.servers[server].as_ref().unwrap().prefix);
    }
}
