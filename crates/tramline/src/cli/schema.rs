//! `tramline schema`: prints the JSON Schema of a format, for editors and scripts.

use super::{CliError, CliResult, Exit, output};
use tramline_formats::SourceKind;
use tramline_views::format_schema::FormatSchema;
use tramline_workflow::text::nearest;

/// Print the JSON Schema of a format.
#[derive(clap::Args)]
pub(super) struct SchemaArgs {
    /// yaml, dag, ir or trace; without one, all formats are listed
    format: Option<String>,
}

pub(super) fn main(verb: &SchemaArgs, json: bool) -> CliResult {
    match &verb.format {
        None => list(json),
        Some(word) => {
            let schema = FormatSchema::parse(word).ok_or_else(|| unknown_format(word))?;
            // The result ends with the newline that the files in `schemas/` end with.
            output::result(&schema.json_schema().to_json_pretty());
        }
    }
    Ok(Exit::Done)
}

fn list(json: bool) {
    if json {
        let all = FormatSchema::ALL.map(|schema| {
            serde_json::json!({
                "format": schema.name(),
                "file": schema.file(),
                "about": schema.about(),
            })
        });
        output::list("schemas", all, []);
        return;
    }
    for schema in FormatSchema::ALL {
        output::text_line(&format!("{:<6} {}", schema.name(), schema.about()));
    }
}

fn unknown_format(word: &str) -> CliError {
    let names = FormatSchema::ALL.map(FormatSchema::name);
    let all = names.join(", ");
    if SourceKind::parse(word).is_some() {
        return CliError::bad_input(format!(
            "`{word}` documents are Markdown, which JSON Schema cannot describe; `tramline check` \
             checks them (schemas: {all})"
        ));
    }
    let near = nearest(word, names.into_iter())
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    CliError::bad_input(format!("no schema for `{word}`{near} (schemas: {all})"))
}
