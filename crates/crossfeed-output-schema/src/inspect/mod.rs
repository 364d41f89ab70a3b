//! `inspect_tool_output`: shows one place of an output schema at a time, its children page by page.
//!
//! # Paths
//!
//! - The empty path is the whole value; where the schema is an envelope, what its `data` holds.
//! - A list named without `[]` is an `array` whose children are those of its items; a name behind it
//!   crosses it.
//! - `[0]` is an item by its position, `*` each field of an object, and where no key is known, what
//!   each value is.
//!
//! # Answers
//!
//! At most 80 children; `total_child_fields` counts all, and `next_offset` is there while there are
//! more. One whose name no path can hold is counted, and left aside. The child `*` stands for fields
//! that are not named, where they have fields of their own beside those that are. The lines are about the
//! children of the answer, in their order: all of them first, then those inside them, breadth first, while
//! lines and depth last. A branch that was not unfolded is
//! the line of its type, and the answer is truncated; so is a place within itself (recursion). An
//! open object is the line of its type, and nothing is cut there; where its values are known, they
//! are the line `*`. A union has a line of its own before those of its fields.
//!
//! `max_depth` is at most 32 and `max_fields` at most 1000, whatever is asked for; with 0 there are
//! no lines.

mod error;
mod lines;
mod request;
mod way;

#[cfg(test)]
mod tests;

pub use error::InspectError;
pub use request::{INSPECTOR, InspectRequest, inspector};

use super::{
    OutputSchema,
    read::{Field, Reader},
};
use crossfeed_projection::Path;
use serde_json::{Value, json};

/// Children in one answer.
const MAX_CHILDREN: usize = 80;

/// One field of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Child {
    /// Its name as it stands in the data; in a path it may need quotes.
    pub name: String,
    /// Its type word.
    pub kind: &'static str,
}

/// The inspector's answer about a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The type word of the place.
    pub node_type: &'static str,
    /// Its fields, from the offset on.
    pub children: Vec<Child>,
    /// `path: type`, relative to the place.
    pub flattened_fields: Vec<String>,
    /// How many fields it has in all.
    pub total_child_fields: usize,
    /// Whether children, lines or depth were cut.
    pub truncated: bool,
    /// The offset of the next children, where there are more.
    pub next_offset: Option<usize>,
}

impl Inspection {
    /// The answer as JSON. `next_offset` is there only where there are more children.
    pub fn to_value(&self) -> Value {
        let children = self.children.iter();
        let children = children.map(|child| json!({"name": child.name, "type": child.kind}));
        let mut answer = json!({
            "node_type": self.node_type,
            "children": children.collect::<Value>(),
            "flattened_fields": self.flattened_fields,
            "total_child_fields": self.total_child_fields,
            "truncated": self.truncated,
        });
        if let Some(next) = self.next_offset {
            answer["next_offset"] = next.into();
        }
        answer
    }
}

impl OutputSchema {
    /// Looks into one place.
    ///
    /// # Errors
    ///
    /// [`InspectError`] for a path that is invalid, or that the schema does not have.
    ///
    /// ```
    /// use crossfeed_output_schema::{InspectRequest, OutputSchema};
    /// use serde_json::json;
    ///
    /// let user = json!({"properties": {"id": {"type": "integer"}, "mail": {"type": "string"}}});
    /// let schema = OutputSchema::new(json!({"properties": {"users": {"items": user}}}));
    /// let answer = schema.inspect(&InspectRequest::new("users[]"))?;
    /// assert_eq!(
    ///     answer.to_value(),
    ///     json!({
    ///         "node_type": "object",
    ///         "children": [{"name": "id", "type": "integer"}, {"name": "mail", "type": "string"}],
    ///         "flattened_fields": ["id: integer", "mail: string"],
    ///         "total_child_fields": 2,
    ///         "truncated": false,
    ///     })
    /// );
    /// let error = schema.inspect(&InspectRequest::new("users[].mial")).unwrap_err();
    /// assert_eq!(error.to_string(), "`users[].mial` is unknown: the object `users[]` has no field `mial`");
    /// assert_eq!(error.advice(), "try: users[].mail");
    /// # Ok::<(), crossfeed_output_schema::InspectError>(())
    /// ```
    pub fn inspect(&self, request: &InspectRequest) -> Result<Inspection, InspectError> {
        let reader = Reader::new(self);
        let node = way::reach(&reader, &request.field_path)?;
        let fields = reader.fields(&node);
        let total = fields.named.len();
        let begin = request.offset.min(total);
        let end = total.min(begin.saturating_add(MAX_CHILDREN));
        let page = fields.named.get(begin..end).unwrap_or_default();
        let can_be_named = |field: &&Field<'_>| Path::from_steps([field.step()]).is_ok();
        let children = page.iter().filter(can_be_named).map(|field| Child {
            name: field.name.to_owned(),
            kind: reader.field(field).word(),
        });
        let children: Vec<_> = children.collect();
        let left_aside = children.len() < page.len();
        let lines = lines::unfold(&reader, &node, &fields, begin..end, request);
        Ok(Inspection {
            node_type: node.word(),
            children,
            flattened_fields: lines.texts,
            total_child_fields: total,
            truncated: end < total || left_aside || lines.cut || reader.is_tired(),
            next_offset: (end < total).then_some(end),
        })
    }
}
