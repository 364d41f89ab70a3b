//! A judge of what is shown: it knows the data and the marks, and nothing of how they are made.

use serde_json::{Map, Value};

/// How many marks `shown` has, if it is a true view of `data`.
pub(super) fn marks(shown: &Value, data: &Value) -> Result<usize, String> {
    if shown == data {
        return Ok(0);
    }
    let wrong = || Err(format!("{shown} is no view of {data}"));
    match (shown, data) {
        (Value::String(mark), Value::Array(items))
            if *mark == folded("array", items.len(), "item") =>
        {
            Ok(1)
        }
        (Value::String(mark), Value::Object(members))
            if *mark == folded("object", members.len(), "key") =>
        {
            Ok(1)
        }
        (Value::String(mark), Value::String(text)) => {
            let total = text.chars().count();
            let end = format!("… ({total} character{})", s(total));
            match mark.strip_suffix(&end) {
                Some(begin) if text.starts_with(begin) => Ok(1),
                _ => wrong(),
            }
        }
        (Value::Array(shown), Value::Array(all)) => list(shown, all),
        (Value::Object(shown), Value::Object(all)) => object(shown, all),
        _ => wrong(),
    }
}

fn s(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn folded(kind: &str, n: usize, each: &str) -> String {
    format!("… {kind}, {n} {each}{}", s(n))
}

fn list(shown: &[Value], all: &[Value]) -> Result<usize, String> {
    let each = |shown: &[Value]| {
        shown.iter().zip(all).try_fold(0, |sum, (shown, data)| {
            Ok::<_, String>(sum + marks(shown, data)?)
        })
    };
    if shown.len() == all.len()
        && let Ok(sum) = each(shown)
    {
        return Ok(sum);
    }
    let Some((mark, items)) = shown.split_last() else {
        return Err("an empty list".to_owned());
    };
    let hidden = all.len().saturating_sub(items.len());
    if *mark != format!("… {hidden} more item{}", s(hidden)) || hidden == 0 || items.is_empty() {
        return Err(format!("{mark} hides {hidden} of {}", all.len()));
    }
    Ok(1 + each(items)?)
}

fn object(shown: &Map<String, Value>, all: &Map<String, Value>) -> Result<usize, String> {
    let mut sum = 0;
    let mut own = 0;
    for ((key, value), (expected, data)) in shown.iter().zip(all) {
        if key != expected {
            break;
        }
        sum += marks(value, data)?;
        own += 1;
    }
    if own == all.len() && own == shown.len() {
        return Ok(sum);
    }
    let hidden = all.len() - own;
    let rest: Vec<_> = shown.iter().skip(own).collect();
    let [(key, Value::String(mark))] = rest[..] else {
        return Err(format!("no mark in {shown:?} of {all:?}"));
    };
    let is_free = key.chars().all(|c| c == '…') && !all.contains_key(key);
    let begin = format!("{hidden} more key{}", s(hidden));
    let names = mark
        .strip_prefix(&begin)
        .ok_or(format!("{mark} hides {hidden}"))?;
    if let Some(names) = names.strip_prefix(": ") {
        let first = all.keys().nth(own).map(String::as_str).unwrap_or_default();
        let first: String = first.chars().take(3).collect();
        let names = names.trim_start_matches('"');
        let is_odd = first.contains(|c: char| !c.is_alphanumeric());
        if !names.starts_with(&first) && !is_odd {
            return Err(format!("{mark} names what is not hidden first: {first}"));
        }
    }
    if is_free && hidden > 0 {
        Ok(sum + 1)
    } else {
        Err(format!("{key}: {mark}"))
    }
}
