//! Diagnostics and errors of a request without names that are never revealed.
//!
//! A request may name what it will, and what it names is said back to it. What else a host knows of,
//! such as the known fields of a resource, is not said where it is never revealed.

use crossfeed_projection::{
    Diagnostic, Diagnostics, FieldsValue, Path, ProjectionError, ProjectionRequest, RevealRules,
    Step,
};

/// The texts of a request.
fn texts(request: &ProjectionRequest) -> impl Iterator<Item = &str> {
    let lists = [&request.include, &request.exclude, &request.select];
    let lists = lists.into_iter().flatten().flatten();
    let fields = match &request.fields {
        Some(FieldsValue::Name(name)) => std::slice::from_ref(name),
        Some(FieldsValue::List(list)) => list.as_slice(),
        None => &[],
    };
    let names = [&request.view, &request.preset].into_iter().flatten();
    lists.chain(fields).chain(names).map(String::as_str)
}

/// Whether a diagnostic says nothing but what may be said, or what the request says itself.
fn may_be_said(diagnostic: &Diagnostic, request: &ProjectionRequest, rules: &RevealRules) -> bool {
    let Diagnostic { path, message, .. } = diagnostic;
    if !(rules.mentions_never(path) || rules.mentions_never(message)) {
        return true;
    }
    let parsed = Path::parse(path).ok();
    let name = match parsed.as_ref().and_then(|path| path.steps().last()) {
        Some(Step::Key(name)) => name,
        _ => path,
    };
    let is_named = texts(request).any(|text| text.contains(name.as_str()));
    is_named && !rules.mentions_never(&message.replace(path.as_str(), ""))
}

/// What may be said of a request.
pub(crate) fn scrubbed(
    diagnostics: Diagnostics,
    request: &ProjectionRequest,
    rules: &RevealRules,
) -> Diagnostics {
    if rules.never_is_empty() {
        return diagnostics;
    }
    let mut said = Diagnostics::default();
    for diagnostic in &diagnostics {
        let mut diagnostic: Diagnostic = diagnostic.clone();
        diagnostic
            .nearest
            .retain(|name| !rules.mentions_never(name));
        if may_be_said(&diagnostic, request, rules) {
            said.push(diagnostic);
        }
    }
    said
}

/// What may be said of a request that cannot be answered.
pub(crate) fn scrubbed_error(mut error: ProjectionError, rules: &RevealRules) -> ProjectionError {
    if rules.never_is_empty() {
        return error;
    }
    if let ProjectionError::Unknown { valid, nearest, .. }
    | ProjectionError::NeitherPresetNorField { valid, nearest, .. } = &mut error
    {
        valid.retain(|name| !rules.mentions_never(name));
        *nearest = nearest.take().filter(|name| !rules.mentions_never(name));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::{scrubbed, scrubbed_error};
    use crossfeed_projection::{
        Diagnostic, DiagnosticKind, Diagnostics, ProjectionError, ProjectionRequest, RevealRules,
    };

    /// Judges what is left of one diagnostic: its names that may have been meant, or nothing.
    fn check(asked: &str, path: &str, message: &str, expected: Option<&[&str]>) {
        let rules = RevealRules::parse([] as [&str; 0], ["pin", "owner.mail"]).unwrap();
        let nearest = ["pin".to_owned(), "pit".to_owned()];
        let diagnostic = Diagnostic::new(DiagnosticKind::UnknownField, path, message);
        let mut diagnostics = Diagnostics::default();
        diagnostics.push(diagnostic.with_nearest(nearest));
        let request = ProjectionRequest::new().with_include([asked]);
        let said = scrubbed(diagnostics, &request, &rules);
        let said: Vec<_> = said.iter().map(|said| said.nearest.clone()).collect();
        let expected: Vec<_> = expected.into_iter().map(<[&str]>::to_vec).collect();
        assert_eq!(said, expected, "{asked} {path} {message}");
    }

    #[test]
    fn only_what_the_request_names_is_said_of_what_is_hidden() {
        check("pim", "pim", "nothing is there", Some(&["pit"]));
        check("items.pin", "items.pin", "nothing is there", Some(&["pit"]));
        check(
            "pin",
            "items[].pin",
            "`items[].pin` is not there",
            Some(&["pit"]),
        );
        check("a", "pin", "withheld", None);
        check("a", "owner.mail", "withheld", None);
        check("a", "", "the pin is withheld", None);
        check("pin", "pin", "the mail is withheld, too", None);
    }

    #[test]
    fn an_error_offers_nothing_that_is_hidden() {
        let rules = RevealRules::parse([] as [&str; 0], ["pin"]).unwrap();
        let error = ProjectionError::NeitherPresetNorField {
            name: "pim".to_owned(),
            valid: vec!["full".to_owned(), "pin".to_owned()],
            nearest: Some("pin".to_owned()),
        };
        let said = scrubbed_error(error, &rules);
        assert!(
            !format!("{said}\n{}", said.advice()).contains("pin"),
            "{said:?}"
        );
    }
}
