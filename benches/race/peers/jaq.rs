//! jaq, as the crates that its command is made of.

use super::{Part, Peer, Reason, version_of};
use crate::{files::File as Document, rows::Row};
use bytes::Bytes;
use jaq_core::{
    Compiler, Ctx, Filter, Vars,
    data::JustLut,
    load::{Arena, File, Loader},
    unwrap_valr,
};
use jaq_json::{
    Val, read,
    write::{Pp, write},
};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// Of the definitions in jq's language, those that rows and `jaq-json` use: others want features of
/// `jaq-std` that are left out, such as regular expressions.
const USED: [&str; 8] = [
    "add",
    "isboolean",
    "isnumber",
    "isobject",
    "max",
    "max_by",
    "null",
    "objects",
];

#[derive(Default)]
pub(crate) struct Jaq {
    raw: Bytes,
    value: Val,
    filter: Option<Filter<JustLut<Val>>>,
}

impl Jaq {
    fn evaluated(&self, value: Val) -> Result<Vec<u8>, Reason> {
        let filter = self.filter.as_ref().ok_or("no filter")?;
        let context = Ctx::<JustLut<Val>>::new(&filter.lut, Vars::new([]));
        let mut json = Vec::new();
        for answer in filter.id.run((context, value)).map(unwrap_valr) {
            let answer = answer.map_err(|error| error.to_string())?;
            write(&mut json, &Pp::default(), 0, &answer).map_err(|error| error.to_string())?;
        }
        Ok(json)
    }
}

impl Peer for Jaq {
    fn name(&self) -> &'static str {
        "jaq"
    }

    fn contents(&self, part: Part) -> Option<String> {
        let text = match part {
            Part::ParseExcluded => "on a value parsed before",
            Part::ParseIncluded => "bytes parsed, evaluated, dropped",
        };
        let (core, json) = (version_of("jaq-core"), version_of("jaq-json"));
        Some(format!(
            "the crates `jaq-core` {core} and `jaq-json` {json} in this process, compiled once; {text}"
        ))
    }

    fn open(&mut self, file: &Document) -> Result<(), Reason> {
        self.raw = file.bytes.clone();
        self.value = read::parse_single(&self.raw).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn prepare(&mut self, row: &Row) -> Result<(), Reason> {
        let definitions = jaq_core::defs()
            .chain(jaq_std::defs().filter(|definition| USED.contains(&definition.name)))
            .chain(jaq_json::defs());
        let functions = jaq_core::funs()
            .chain(jaq_std::base_funs())
            .chain(jaq_json::funs());
        let arena = Arena::default();
        let program = File {
            code: row.jq.as_str(),
            path: (),
        };
        let modules = Loader::new(definitions)
            .load(&arena, program)
            .map_err(|_| "it does not parse")?;
        let filter = Compiler::default()
            .with_funs(functions)
            .compile(modules)
            .map_err(|errors| {
                let undefined = errors.iter().flat_map(|(_, names)| names);
                let names: Vec<_> = undefined.map(|(name, _)| *name).collect();
                format!("undefined: {}", names.join(", "))
            })?;
        self.filter = Some(filter);
        Ok(())
    }

    fn answer(&mut self) -> Result<Vec<u8>, Reason> {
        self.evaluated(self.value.clone())
    }

    fn run(&mut self, part: Part, times: u64) -> Duration {
        let start = Instant::now();
        for _ in 0..times {
            let value = match part {
                Part::ParseExcluded => self.value.clone(),
                Part::ParseIncluded => read::parse_single(&self.raw).unwrap(),
            };
            black_box(self.evaluated(value).unwrap());
        }
        start.elapsed()
    }

    fn speaks_jq(&self) -> bool {
        true
    }
}
