//! Gives names to definitions, each once.

use std::collections::HashMap;

/// The names that were given to the definitions of one schema, each with how often it was asked for.
#[derive(Debug, Default)]
pub struct DefinitionNames(HashMap<String, usize>);

impl DefinitionNames {
    /// A name that no other definition has, as near as can be to the one it had; `unnamed` for an empty one.
    pub fn give(&mut self, name: &str, unnamed: &str) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let base: String = if name.is_empty() {
            unnamed.to_owned()
        } else {
            name.replace(|c| !is_plain(c), "_")
        };
        loop {
            let count = self.0.entry(base.clone()).or_insert(0);
            *count += 1;
            let name = match *count {
                1 => return base,
                count => format!("{base}_{count}"),
            };
            if !self.0.contains_key(&name) {
                self.0.insert(name.clone(), 1);
                return name;
            }
        }
    }
}
