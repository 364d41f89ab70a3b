use super::PathTree;
use crate::Path;

/// The paths that remain of a comma list.
fn check(given: &str, expected: &str) {
    let tree = PathTree::of(Path::parse_list(given).unwrap());
    let paths: Vec<String> = tree.paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths.join(","), expected, "{given}");
}

#[test]
fn a_whole_parent_stands_for_its_children() {
    check("", "");
    check("b,a", "b,a");
    check("a.b,a", "a");
    check("a,a.b", "a");
    check("a.c,b,a.b,a.c", "a.c,a.b,b");
    check("a[2],a[0],a[],a.*,a.x", "a.x,a.*,a[],a[0],a[2]");
}

#[test]
fn nodes_say_what_is_wanted() {
    let tree = PathTree::of(Path::parse_list("a.x,*.y,a[3]").unwrap()).with_rest_at(&[]);
    let root = tree.root();
    assert!(root.rest_is_whole() && !root.is_whole() && !tree.is_empty());
    let a = root.key("a").unwrap();
    assert!(a.key("x").unwrap().is_whole());
    assert!(a.key("y").is_none());
    assert!(root.each_key().unwrap().key("y").unwrap().is_whole());
    assert_eq!(
        a.indexes()
            .map(|(at, node)| (at, node.is_whole()))
            .collect::<Vec<_>>(),
        [(3, true)]
    );
    assert_eq!(root.keys().map(|(name, _)| name).collect::<Vec<_>>(), ["a"]);
    assert!(a.each_item().is_none() && root.key("__proto__").is_none());
    assert!(PathTree::default().is_empty());
}
