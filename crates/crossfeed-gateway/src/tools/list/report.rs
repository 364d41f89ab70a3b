//! Reports what became of each tool of the servers, before anything is called.

use super::tool::RewrittenTool;

/// What became of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolReport {
    /// Which server, by its place in the configuration.
    pub server: usize,
    /// Its own name.
    pub name: String,
    /// The name that it is shown under; none where it is not offered.
    pub shown: Option<String>,
    /// How it is shown, and why.
    pub decision: String,
    /// What was left as it was, is shown in another way, or was dropped.
    pub notices: Vec<String>,
    /// Why its schema is invalid: then it takes no references.
    pub refused: Option<String>,
}

impl ToolReport {
    /// Of a tool that is not offered.
    pub(super) fn left_out(server: usize, name: String, why: &str) -> Self {
        Self {
            server,
            name,
            shown: None,
            decision: format!("not offered: {why}"),
            notices: Vec::new(),
            refused: None,
        }
    }

    /// Of a tool that is shown under a name.
    pub(super) fn from_tool(server: usize, tool: &RewrittenTool, shown: &str) -> Self {
        let listed = tool.listed();
        let decision = listed.decision();
        let style = decision
            .style
            .map_or("no references", |style| style.as_str());
        let decision = match decision.why.as_str() {
            "" => style.to_owned(),
            why => format!("{style}: {why}"),
        };
        let mut notices: Vec<_> = listed.notices().iter().map(ToString::to_string).collect();
        notices.extend(
            listed
                .dropped()
                .iter()
                .map(|dropped| format!("`{}` is dropped at `{}`", dropped.keyword, dropped.at)),
        );
        let renamed = listed.names().pairs();
        notices
            .extend(renamed.map(|(own, shown)| format!("parameter `{own}` is shown as `{shown}`")));
        if listed.folded() > 0 {
            notices.push(format!("{} parameters take JSON text", listed.folded()));
        }
        Self {
            server,
            name: listed.name().to_owned(),
            shown: Some(shown.to_owned()),
            decision,
            notices,
            refused: listed.error().map(ToString::to_string),
        }
    }
}
