//! How likely a next tool wants a member, judged by its name.

/// The most characters of a text that are read for words.
const MAX_WORDS_CHARS: usize = 16 << 10;

/// How likely a next tool wants a member of this name: more is likelier, 0 for a name that says
/// nothing. Ids come first, then addresses, names, mail addresses, states, times and texts. `user_id`,
/// `user-id`, `userId` and `userID` are one name.
pub(crate) fn relevance(name: &str) -> u8 {
    // A longer key is not the name of a field.
    if name.len() > 64 {
        return 0;
    }
    let words = words(name);
    let Some((last, before)) = words.split_last() else {
        return 0;
    };
    let alone = before.is_empty();
    let mut before = before.iter().map(String::as_str);
    match last.as_str() {
        "id" | "uuid" | "guid" | "ids" if alone => 15,
        // An id for the system's own use.
        "id" if before.any(|word| matches!(word, "node" | "request")) => 2,
        "id" | "uid" | "uuid" | "guid" => 14,
        "url" | "uri" | "href" | "link" | "permalink" if alone => 13,
        "url" | "uri" | "link" if before.all(is_about_itself) => 12,
        "path" | "file" | "filename" | "filepath" if alone => 12,
        "ids" | "uuids" => 11,
        "name" | "title" if alone => 11,
        "key" | "slug" | "sku" | "symbol" | "login" | "username" | "handle" | "code" | "sha"
        | "number"
            if alone =>
        {
            10
        }
        "email" | "mail" | "phone" => 9,
        "name" | "title" | "label" | "subject" | "headline" => 8,
        "status" | "state" | "type" | "kind" | "category" if alone => 7,
        // It describes the data beside it.
        "type" if before.any(|word| matches!(word, "mime" | "content")) => 0,
        "url" | "uri" | "href" | "link" | "path" | "urls" | "links" => 6,
        "user" | "owner" | "author" | "channel" | "assignee" | "repo" | "project" if alone => 6,
        "status" | "state" | "type" | "phase" => 5,
        "cursor" | "token" if !alone => 5,
        "time" if !alone && !before.all(is_moment) => 0,
        "date" | "time" | "timestamp" | "ts" | "namespace" | "datetime" | "created" | "updated"
        | "modified" | "published" | "due" | "start" | "end" => 4,
        "at" if !alone => 4,
        "text" | "content" | "body" | "description" | "summary" | "message" | "snippet"
        | "abstract" | "markdown" | "html" => 3,
        "price" | "amount" | "total" | "score" | "count" | "query" | "address" | "city"
        | "country" | "language" | "cursor" | "token" => 2,
        "key" | "code" | "sha" | "number" | "slug" => 2,
        _ => 0,
    }
}

/// Whether an address of this name is the item's own, rather than that of something related.
fn is_about_itself(word: &str) -> bool {
    matches!(
        word,
        "html" | "web" | "self" | "page" | "download" | "canonical" | "source" | "full" | "short"
    )
}

/// Whether a time of this name is a point in time, not a duration.
fn is_moment(word: &str) -> bool {
    let is_change = matches!(word, "create" | "created" | "update" | "updated");
    is_change || matches!(word, "publish" | "published" | "start" | "end" | "date")
}

/// The most characters of a name that are read to compare it, and the most that are compared.
const MAX_READ_CHARS: usize = 256;
const MAX_COMPARED_CHARS: usize = 64;

/// The letters and digits of a name, in lower case.
pub(crate) fn folded(name: &str) -> String {
    name.chars()
        .take(MAX_READ_CHARS)
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(MAX_COMPARED_CHARS)
        .collect()
}

/// Whether one of two names is the other's plural.
pub(crate) fn differ_by_plural(a: &str, b: &str) -> bool {
    a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a)
}

/// Names that say the same of most records.
const SYNONYMS: [&[&str]; 24] = [
    &[
        "url",
        "link",
        "href",
        "uri",
        "permalink",
        "htmlurl",
        "weburl",
        "address",
    ],
    &[
        "login",
        "username",
        "user",
        "handle",
        "nick",
        "nickname",
        "screenname",
    ],
    &[
        "name",
        "title",
        "label",
        "headline",
        "subject",
        "fullname",
        "displayname",
    ],
    &[
        "id",
        "identifier",
        "uuid",
        "guid",
        "key",
        "number",
        "nodeid",
    ],
    &[
        "body",
        "text",
        "content",
        "description",
        "message",
        "summary",
        "details",
        "desc",
    ],
    &["email", "mail", "emailaddress"],
    &[
        "createdat",
        "created",
        "date",
        "timestamp",
        "createdon",
        "time",
        "creationdate",
    ],
    &[
        "updatedat",
        "updated",
        "modified",
        "modifiedat",
        "lastmodified",
        "lastupdated",
    ],
    &["status", "state", "phase", "condition"],
    &[
        "author",
        "owner",
        "creator",
        "user",
        "createdby",
        "assignee",
    ],
    &[
        "count",
        "total",
        "size",
        "length",
        "totalcount",
        "amount",
        "quantity",
    ],
    &["price", "cost", "amount", "fee", "value"],
    &[
        "image",
        "picture",
        "photo",
        "thumbnail",
        "avatar",
        "icon",
        "avatarurl",
    ],
    &["type", "kind", "category", "class"],
    &["tags", "labels", "keywords", "topics"],
    &["comments", "replies", "notes"],
    &["phone", "telephone", "tel", "phonenumber", "mobile"],
    &["path", "file", "filename", "filepath", "location"],
    &["language", "lang", "locale"],
    &["score", "rating", "rank", "stars"],
    &["name", "login", "username"],
    &["version", "release", "tag", "tagname", "versionnumber"],
    &[
        "items", "results", "rows", "records", "entries", "data", "list", "hits", "elements",
    ],
    &["checks", "statuses", "runs"],
];

/// Whether two names say the same of most records: `link` and `url`.
pub(crate) fn synonymous(a: &str, b: &str) -> bool {
    let (a, b) = (folded(a), folded(b));
    let has = |group: &[&str], name: &str| {
        group
            .iter()
            .any(|own| *own == name || differ_by_plural(own, name))
    };
    SYNONYMS
        .iter()
        .any(|group| has(group, &a) && has(group, &b))
}

/// The words of a name or a text, in lower case: `userId` is two.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_upper = true;
    for c in text.chars().take(MAX_WORDS_CHARS) {
        let ends = !c.is_alphanumeric() || c.is_uppercase() && !is_upper;
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        is_upper = c.is_uppercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::relevance;

    /// Names in descending order of wantedness; those in one group are wanted alike.
    fn check(groups: &[&[&str]]) {
        let wanted: Vec<u8> = groups
            .iter()
            .map(|group| {
                let first = relevance(group[0]);
                for name in *group {
                    assert_eq!(relevance(name), first, "{name}");
                }
                first
            })
            .collect();
        for (pair, names) in wanted.windows(2).zip(groups) {
            assert!(pair[0] > pair[1], "{names:?}");
        }
    }

    #[test]
    fn names_are_read_whatever_their_spelling() {
        check(&[
            &["id", "ID", "_id", "Id"],
            &["user_id", "userId", "user-id", "userID", "User Id"],
            &["url", "href"],
            &["html_url", "htmlUrl", "path"],
            &["name", "title"],
            &["email", "user.email"],
            &["full_name"],
            &["status", "type"],
            &["followers_url"],
            &["created_at", "updatedAt", "date", "startTime"],
            &["text", "body"],
            &[
                "",
                "width",
                "response_time",
                "mimeType",
                "content_type",
                "é",
                "_",
                "at",
                &"id".repeat(40),
            ],
        ]);
    }
}
