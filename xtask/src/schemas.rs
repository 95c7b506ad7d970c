//! `cargo xtask schemas`: writes the JSON Schemas that are generated from the readers' types.

use crate::paths;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use tramline_views::format_schema::FormatSchema;

const DIR: &str = "schemas";

/// The text of a schema's file.
fn text(schema: FormatSchema) -> String {
    schema.json_schema().to_json_pretty() + "\n"
}

/// The files whose schema differs from the current types.
pub(crate) fn stale(root: &Path) -> Vec<&'static str> {
    let dir = root.join(DIR);
    let fresh = |schema: &FormatSchema| {
        fs::read_to_string(dir.join(schema.file())).is_ok_and(|is| is == text(*schema))
    };
    let all = FormatSchema::ALL.into_iter();
    all.filter(|schema| !fresh(schema))
        .map(FormatSchema::file)
        .collect()
}

/// Writes all schemas.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    crate::no_arguments(arguments)?;
    let dir = paths::root().join(DIR);
    fs::create_dir_all(&dir).with_context(|| format!("creating {}", dir.display()))?;
    for schema in FormatSchema::ALL {
        let file = schema.file();
        let path = dir.join(file);
        fs::write(&path, text(schema)).with_context(|| format!("writing {}", path.display()))?;
        println!("{DIR}/{file}");
    }
    Ok(())
}
