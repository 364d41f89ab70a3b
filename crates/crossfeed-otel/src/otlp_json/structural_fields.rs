//! Fields without text that a document cannot be read without: ids, times, counts, enumerations. No policy changes them.

/// Identifiers: hexadecimal digits, or base64.
const IDS: &str = "traceId trace_id spanId span_id parentSpanId parent_span_id";
/// Numbers, and words that stand for some.
const NUMBERS: &str = "kind code flags severityNumber severity_number aggregationTemporality \
    aggregation_temporality droppedAttributesCount dropped_attributes_count droppedEventsCount \
    dropped_events_count droppedLinksCount dropped_links_count asInt as_int asDouble as_double \
    count sum min max scale offset quantile value bucketCounts bucket_counts explicitBounds \
    explicit_bounds zeroCount zero_count zeroThreshold zero_threshold";
/// More than the 32 digits of an identifier.
const MAX_ID_BYTES: usize = 64;

/// Whether the text of this field is structural.
pub(super) fn is_structural(field: &str, text: &str) -> bool {
    let is_all = |is: fn(&u8) -> bool| text.as_bytes().iter().all(is);
    if is_one_of(IDS, field) {
        return text.len() <= MAX_ID_BYTES
            && is_all(|byte| byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte));
    }
    // Without quotes it has no keys.
    if matches!(field, "traceState" | "trace_state") {
        return is_all(|byte| !matches!(byte, b'"' | b'\\'));
    }
    let is_time = field.ends_with("UnixNano") || field.ends_with("_unix_nano");
    (is_time || is_one_of(NUMBERS, field))
        && (text.parse::<f64>().is_ok()
            || is_all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_'))
}

/// Whether a field is one of these words.
fn is_one_of(words: &str, field: &str) -> bool {
    words.split(' ').any(|word| word == field)
}

#[cfg(test)]
mod tests {
    use super::is_structural;

    #[test]
    fn ids_numbers_and_words_stand_and_texts_do_not() {
        let check = |field: &str, text: &str, expected: bool| {
            assert_eq!(is_structural(field, text), expected, "{field}: {text}");
        };
        check("traceId", "4bf92f3577b34da6a3ce929d0e0e4736", true);
        check("parent_span_id", "S/kvNXezTaajzpKdDg5HNg==", true);
        check("spanId", "{\"_toolCallId\":1}", false);
        check("spanId", &"a".repeat(65), false);
        check("startTimeUnixNano", "1544712660000000000", true);
        check("observed_time_unix_nano", "1544712660000000000", true);
        check("kind", "SPAN_KIND_CLIENT", true);
        check("kind", "a secret", false);
        check("asInt", "-7", true);
        check("asDouble", "NaN", true);
        check("sum", "-Infinity", true);
        check("bucketCounts", "12", true);
        check("traceState", "a=1,b=2", true);
        check("traceState", "{\"_toolCallId\":1}", false);
        check("name", "7", false);
    }
}
