//! Removes hidden names from the diagnostics and errors of a request.
//!
//! A message may repeat the names that the request wrote, as if those fields were absent. It leaves out other
//! names that the host knows, such as known fields of a resource, if they are hidden.

use crate::{
    Diagnostic, DiagnosticKind, Diagnostics, FieldsValue, ProjectionError, ProjectionRequest,
    RevealRules,
};
use std::collections::HashSet;

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

impl RevealRules {
    /// The diagnostics of a request that its author may see. They name no hidden field except those that the
    /// request named, and suggest none. They leave out which rule withheld a field, or requests could find
    /// out the rules.
    ///
    /// ```
    /// use crossfeed_projection::{Diagnostic, DiagnosticKind, Diagnostics, ProjectionRequest, RevealRules};
    ///
    /// let rules = RevealRules::parse([""; 0], ["pin"])?;
    /// let request = ProjectionRequest::new().with_include(["spinner"]);
    /// let mut diagnostics = Diagnostics::default();
    /// let unknown = Diagnostic::new(DiagnosticKind::UnknownField, "spinner", "it is not there");
    /// diagnostics.push(unknown.with_nearest(["pin".to_owned(), "spin".to_owned()]));
    /// diagnostics.push(Diagnostic::new(DiagnosticKind::NoSchema, "", "`pin` has no type"));
    /// let said = rules.scrubbed_diagnostics(diagnostics, &request);
    /// assert_eq!(said.iter().map(|said| said.nearest.clone()).collect::<Vec<_>>(), [["spin"]]);
    /// # Ok::<(), crossfeed_projection::PathError>(())
    /// ```
    pub fn scrubbed_diagnostics(
        &self,
        diagnostics: Diagnostics,
        request: &ProjectionRequest,
    ) -> Diagnostics {
        if self.never_is_empty() {
            return diagnostics;
        }
        let named: HashSet<&str> = texts(request)
            .flat_map(|text| self.mentioned(text))
            .collect();
        let may_be_said = |text: &str| self.mentioned(text).is_subset(&named);
        let mut said = Diagnostics::default();
        for diagnostic in diagnostics.iter() {
            let Diagnostic { path, message, .. } = diagnostic;
            let names_a_rule = diagnostic.kind == DiagnosticKind::Withheld && !path.is_empty();
            if names_a_rule || !may_be_said(path) || !may_be_said(message) {
                continue;
            }
            let mut diagnostic = diagnostic.clone();
            let nearest = &mut diagnostic.nearest;
            nearest.retain(|name| !self.mentions_never(name));
            said.push(diagnostic);
        }
        said
    }

    /// The error of a request as its author may see it: without suggestions of hidden names.
    pub fn scrubbed_error(&self, mut error: ProjectionError) -> ProjectionError {
        if let ProjectionError::Unknown { valid, nearest, .. }
        | ProjectionError::NeitherPresetNorField { valid, nearest, .. } = &mut error
        {
            valid.retain(|name| !self.mentions_never(name));
            *nearest = nearest.take().filter(|name| !self.mentions_never(name));
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Diagnostic, DiagnosticKind, Diagnostics, ProjectionError, ProjectionRequest, RevealRules,
    };

    fn rules() -> RevealRules {
        RevealRules::parse([] as [&str; 0], ["pin", "owner.mail", "\"a b\""]).unwrap()
    }

    /// Judges what is left of one diagnostic: its names that may have been meant, or nothing.
    fn check(asked: &str, path: &str, message: &str, expected: Option<&[&str]>) {
        let nearest = ["pin".to_owned(), "pit".to_owned()];
        let diagnostic = Diagnostic::new(DiagnosticKind::UnknownField, path, message);
        let mut diagnostics = Diagnostics::default();
        diagnostics.push(diagnostic.with_nearest(nearest));
        let request = ProjectionRequest::new().with_include([asked]);
        let said = rules().scrubbed_diagnostics(diagnostics, &request);
        let said: Vec<_> = said.iter().map(|said| said.nearest.clone()).collect();
        let expected: Vec<_> = expected.into_iter().map(<[&str]>::to_vec).collect();
        assert_eq!(said, expected, "{asked} {path} {message}");
    }

    #[test]
    fn only_what_the_request_names_is_said_of_what_is_hidden() {
        let said = Some(&["pit"] as &[&str]);
        check("pim", "pim", "nothing is there", said);
        check("items.pin", "items.pin", "nothing is there", said);
        check("pin.x", "pin.x", "no object has `pin`", said);
        check("pin", "items[].pin", "`items[].pin` is not there", said);
        check("\"a b\"", "\"a b\"", "no object has `\"a b\"`", said);
        check("a", "pin", "not there", None);
        check("a", "owner.mail", "not there", None);
        check("a", "", "the pin is not there", None);
        check("pin", "pin", "the mail is not there, too", None);
        // A word that holds a name is another.
        check("spinner", "pin", "not there", None);
        check("spinner", "spinner", "no object has `spinner`", said);
        check("a", "\"a b\"", "not there", None);
    }

    #[test]
    fn that_a_rule_withheld_is_not_said() {
        let mut diagnostics = Diagnostics::default();
        for path in ["pin", ""] {
            diagnostics.push(Diagnostic::new(DiagnosticKind::Withheld, path, "withheld"));
        }
        let request = ProjectionRequest::new().with_include(["pin"]);
        let said = rules().scrubbed_diagnostics(diagnostics.clone(), &request);
        assert_eq!(
            said.iter().map(|said| &*said.path).collect::<Vec<_>>(),
            [""]
        );
        let none = RevealRules::default();
        assert_eq!(
            none.scrubbed_diagnostics(diagnostics.clone(), &request),
            diagnostics
        );
    }

    #[test]
    fn an_error_offers_nothing_that_is_hidden() {
        let error = ProjectionError::NeitherPresetNorField {
            name: "pim".to_owned(),
            valid: vec!["full".to_owned(), "pin".to_owned()],
            nearest: Some("pin".to_owned()),
        };
        let said = rules().scrubbed_error(error);
        assert!(
            !format!("{said}\n{}", said.advice()).contains("pin"),
            "{said:?}"
        );
    }
}
