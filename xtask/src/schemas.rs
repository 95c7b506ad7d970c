//! `cargo xtask schemas`: writes the JSON Schemas that are generated from the readers' types.

use crate::paths;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use tramline_formats::{json_dag, pflow_ir, yaml_graph};
use tramline_views::trace::Trace;

const DIR: &str = "schemas";

/// A schema and its file.
struct Schema {
    file: &'static str,
    text: String,
}

fn generated() -> Vec<Schema> {
    let all = [
        ("yaml-graph.schema.json", yaml_graph::json_schema()),
        ("json-dag.schema.json", json_dag::json_schema()),
        ("pflow-ir.schema.json", pflow_ir::json_schema()),
        ("trace.schema.json", Trace::json_schema()),
    ];
    all.into_iter()
        .map(|(file, schema)| Schema {
            file,
            text: schema.to_json_pretty() + "\n",
        })
        .collect()
}

/// The files whose schema differs from the current types.
pub(crate) fn stale(root: &Path) -> Vec<&'static str> {
    let dir = root.join(DIR);
    let fresh = |schema: &Schema| {
        fs::read_to_string(dir.join(schema.file)).is_ok_and(|is| is == schema.text)
    };
    let all = generated().into_iter();
    all.filter(|schema| !fresh(schema))
        .map(|schema| schema.file)
        .collect()
}

/// Writes all schemas.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    crate::no_arguments(arguments)?;
    let dir = paths::root().join(DIR);
    fs::create_dir_all(&dir).with_context(|| format!("creating {}", dir.display()))?;
    for Schema { file, text } in generated() {
        let path = dir.join(file);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        println!("{DIR}/{file}");
    }
    Ok(())
}
