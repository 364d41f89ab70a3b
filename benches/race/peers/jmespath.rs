//! The `jmespath` crate: its `search`, and its `interpret` on a value that was converted before.

use super::{Part, Peer, Reason, version_of};
use crate::{files::File, rows::Row};
use bytes::Bytes;
use jmespath::{Context, DEFAULT_RUNTIME, Expression, Rcvar, Variable, interpret};
use serde_json::Value;
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

pub(crate) struct Jmespath {
    converted: bool,
    raw: Bytes,
    value: Value,
    variable: Rcvar,
    expression: Option<Expression<'static>>,
}

impl Jmespath {
    pub(crate) fn interpret() -> Self {
        Self {
            converted: true,
            raw: Bytes::new(),
            value: Value::Null,
            variable: Rcvar::new(Variable::Null),
            expression: None,
        }
    }

    pub(crate) fn search() -> Self {
        Self {
            converted: false,
            ..Self::interpret()
        }
    }

    fn interpreted(&self, variable: &Rcvar) -> Vec<u8> {
        let expression = self.expression.as_ref().unwrap();
        let mut context = Context::new(expression.as_str(), &DEFAULT_RUNTIME);
        let answer = interpret(variable, expression.as_ast(), &mut context).unwrap();
        serde_json::to_vec(&answer).unwrap()
    }

    fn searched(&self, value: &Value) -> Vec<u8> {
        let answer = self.expression.as_ref().unwrap().search(value).unwrap();
        serde_json::to_vec(&answer).unwrap()
    }

    fn once(&self, part: Part) -> Vec<u8> {
        match (part, self.converted) {
            (Part::ParseExcluded, true) => self.interpreted(&self.variable),
            (Part::ParseExcluded, false) => self.searched(&self.value),
            (Part::ParseIncluded, true) => {
                self.interpreted(&Rcvar::new(serde_json::from_slice(&self.raw).unwrap()))
            }
            (Part::ParseIncluded, false) => {
                self.searched(&serde_json::from_slice(&self.raw).unwrap())
            }
        }
    }
}

impl Peer for Jmespath {
    fn name(&self) -> &'static str {
        if self.converted {
            "`interpret`"
        } else {
            "`search`"
        }
    }

    fn contents(&self, part: Part) -> Option<String> {
        let text = match (part, self.converted) {
            (Part::ParseExcluded, true) => "on a `Variable` converted before",
            (Part::ParseExcluded, false) => "on a `serde_json::Value`, which it converts each time",
            (Part::ParseIncluded, true) => "bytes parsed straight to a `Variable`",
            (Part::ParseIncluded, false) => {
                "bytes parsed to a `serde_json::Value`, which it then converts"
            }
        };
        let version = version_of("jmespath");
        Some(format!(
            "the crate `jmespath` {version}, compiled once; {text}"
        ))
    }

    fn open(&mut self, file: &File) -> Result<(), Reason> {
        let read = |error: serde_json::Error| error.to_string();
        self.raw = file.bytes.clone();
        // Each has only what it reads, so that memory is not what decides.
        if self.converted {
            self.variable = Rcvar::new(serde_json::from_slice(&self.raw).map_err(read)?)
        } else {
            self.value = serde_json::from_slice(&self.raw).map_err(read)?
        }
        Ok(())
    }

    fn prepare(&mut self, row: &Row) -> Result<(), Reason> {
        let expression = jmespath::compile(&row.jmespath).map_err(|error| error.to_string())?;
        self.expression = Some(expression);
        Ok(())
    }

    fn answer(&mut self) -> Result<Vec<u8>, Reason> {
        Ok(self.once(Part::ParseExcluded))
    }

    fn run(&mut self, part: Part, times: u64) -> Duration {
        let start = Instant::now();
        for _ in 0..times {
            black_box(self.once(part));
        }
        start.elapsed()
    }
}
