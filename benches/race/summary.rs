//! A table on the table: for each peer, how often crossfeed was ahead, and where it was least so.
#![expect(clippy::print_stdout, reason = "printing is what benches are for")]

use crossfeed_benches::ratio;

pub(crate) struct Summary {
    names: Vec<&'static str>,
    /// Of each row its name, and how many times as long as crossfeed each took, if it was timed.
    rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Summary {
    pub(crate) fn new(names: &[&'static str]) -> Self {
        Self {
            names: names.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn add(&mut self, row: String, ratios: Vec<Option<f64>>) {
        self.rows.push((row, ratios));
    }

    pub(crate) fn print(&self) {
        println!("\n| against | rows | crossfeed ahead in | median ratio | least ratio | where |");
        println!("|---|---:|---:|---:|---:|---|");
        for (index, name) in self.names.iter().enumerate().skip(1) {
            let mut found: Vec<(f64, &str)> = self
                .rows
                .iter()
                .filter_map(|(row, ratios)| Some((ratios.get(index).copied()??, row.as_str())))
                .collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            let ahead = found.iter().filter(|(times, _)| *times > 1.0).count();
            let (Some((least, row)), Some((middle, _))) =
                (found.first(), found.get(found.len() / 2))
            else {
                continue;
            };
            let (middle, least) = (ratio(*middle), ratio(*least));
            println!(
                "| {name} | {} | {ahead} | {middle} | {least} | `` {row} `` |",
                found.len()
            );
        }
    }
}
