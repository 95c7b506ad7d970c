//! The JSON Schemas of the formats that editors and programs read, in one list.

use crate::trace::Trace;
use tramline_expr::Value;
use tramline_formats::{Format, SourceKind, json_dag, pflow_ir, yaml_graph};

/// A format that has a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatSchema {
    /// YAML graphs.
    YamlGraph,
    /// DAGs of tasks in JSON.
    JsonDag,
    /// pflow IR in JSON.
    PflowIr,
    /// What `tramline trace` prints.
    Trace,
}

impl FormatSchema {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::YamlGraph, Self::JsonDag, Self::PflowIr, Self::Trace];

    /// The name by which users ask for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::YamlGraph => SourceKind::Workflows(Format::Yaml).as_str(),
            Self::JsonDag => SourceKind::Workflows(Format::Dag).as_str(),
            Self::PflowIr => SourceKind::Workflows(Format::Ir).as_str(),
            Self::Trace => "trace",
        }
    }

    /// Its file below `schemas/`.
    pub fn file(self) -> &'static str {
        match self {
            Self::YamlGraph => "yaml-graph.schema.json",
            Self::JsonDag => "json-dag.schema.json",
            Self::PflowIr => "pflow-ir.schema.json",
            Self::Trace => "trace.schema.json",
        }
    }

    /// What it describes, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::YamlGraph => "YAML graphs",
            Self::JsonDag => "DAGs of tasks in JSON",
            Self::PflowIr => "pflow IR in JSON",
            Self::Trace => "the output of `tramline trace`",
        }
    }

    /// The schema of a kind of document; `None` if the kind is Markdown, which has none.
    pub fn of_kind(kind: SourceKind) -> Option<Self> {
        match kind {
            SourceKind::Workflows(Format::Yaml) => Some(Self::YamlGraph),
            SourceKind::Workflows(Format::Dag) => Some(Self::JsonDag),
            SourceKind::Workflows(Format::Ir) => Some(Self::PflowIr),
            SourceKind::Workflows(Format::Markdown) | SourceKind::Procedure => None,
        }
    }

    /// Finds a schema by its name or its file's name, with or without the extension.
    pub fn parse(word: &str) -> Option<Self> {
        let stem = word.strip_suffix(".schema.json").unwrap_or(word);
        let is_it = |one: &Self| {
            one.name() == stem || one.file().strip_suffix(".schema.json") == Some(stem)
        };
        Self::ALL.into_iter().find(is_it)
    }

    /// The schema itself.
    pub fn json_schema(self) -> Value {
        match self {
            Self::YamlGraph => yaml_graph::json_schema(),
            Self::JsonDag => json_dag::json_schema(),
            Self::PflowIr => pflow_ir::json_schema(),
            Self::Trace => Trace::json_schema(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_schema_is_found_by_name_and_by_file() {
        for schema in FormatSchema::ALL {
            let stem = schema.file().strip_suffix(".schema.json").unwrap();
            for word in [schema.name(), stem, schema.file()] {
                assert_eq!(FormatSchema::parse(word), Some(schema), "{word}");
            }
        }
        assert_eq!(FormatSchema::parse("sop"), None);
        assert_eq!(FormatSchema::parse(""), None);
    }
}
