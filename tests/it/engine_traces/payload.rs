//! No payload is in any span, event, link or figure.
