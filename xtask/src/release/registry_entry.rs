//! The entry for the MCP registry, `server.json`.
//!
//! It is checked against our own, stricter schema. The registry's schema is not copied into this
//! repository; `--registry-schema FILE` checks against a copy that the caller downloaded.

use super::{ReleaseContext, bundle, files, process, tools};
use crate::paths;
use anyhow::{Result, bail};
use serde_json::Value;
use std::path::PathBuf;

fn path(context: &ReleaseContext) -> PathBuf {
    context.dist.join("server.json")
}

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let bundle = bundle::path(context);
    let name = bundle.file_name().unwrap_or_default().to_string_lossy();
    let sum = files::sha256_of(&bundle)?;
    let values = [("BUNDLE", &*name), ("BUNDLE_SHA256", sum.as_str())];
    let entry = files::template(context, "mcp-registry/server.json", &values)?;
    files::write(&path(context), entry, 0o644)?;
    Ok(vec![path(context)])
}

pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    let own = paths::root().join("packaging/mcp-registry/entry.schema.json");
    let schemas = [Some(&own), context.registry_schema.as_ref()];
    for schema in schemas.into_iter().flatten() {
        let mut check = process::command(tools::python("check-jsonschema")?);
        check.arg("--schemafile").arg(schema).arg(path(context));
        process::output(&mut check)?;
    }
    // The registry proves ownership by this name in the npm package.
    let npm = files::template(context, "npm/tramline/package.json", &[])?;
    let npm: Value = serde_json::from_str(&npm)?;
    let entry: Value = serde_json::from_str(&paths::read(&path(context))?)?;
    if entry["name"] != npm["mcpName"] || entry["packages"][0]["identifier"] != npm["name"] {
        bail!("the names in server.json and in the npm package differ");
    }
    Ok(match context.registry_schema {
        Some(_) => "our schema and the registry's".to_owned(),
        None => "our schema; the registry's own was not given (--registry-schema)".to_owned(),
    })
}
