use super::PathTree;
use crate::Path;

/// The paths that remain of a comma list.
fn check(given: &str, expected: &str) {
    let tree = PathTree::new(Path::parse_list(given).unwrap());
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
    let tree = PathTree::new(Path::parse_list("a.x,*.y,a[3]").unwrap()).with_rest_at(&[]);
    let at = |node: u32| &tree.branches[node as usize];
    let root = at(0);
    assert!(root.rest && !root.whole && !tree.is_empty());
    let a = at(tree.child(root, "a").unwrap());
    assert!(at(tree.child(a, "x").unwrap()).whole);
    assert!(tree.child(a, "y").is_none());
    assert!(at(tree.child(at(root.each_key.unwrap()), "y").unwrap()).whole);
    let indexes = a.indexes.iter();
    let indexes: Vec<_> = indexes
        .map(|(index, node)| (*index, at(*node).whole))
        .collect();
    assert_eq!(indexes, [(3, true)]);
    assert_eq!(
        root.keys
            .iter()
            .map(|(name, _)| &**name)
            .collect::<Vec<_>>(),
        ["a"]
    );
    assert!(a.each_item.is_none() && tree.child(root, "__proto__").is_none());
    assert!(PathTree::default().is_empty());
}
