//! Examples for the help of each command.

/// The first three commands of a new user.
pub(super) const START: &[(&str, &str)] = &[
    ("tramline init hello", "create a workflow"),
    ("tramline run hello/hello.yaml name=Ada", "run it"),
    (
        "tramline mcp install claude-code hello/hello.yaml",
        "give it to your agent",
    ),
];

/// The commands with what they do, in two columns.
pub(super) fn lines(examples: &[(&str, &str)]) -> String {
    let width = examples
        .iter()
        .map(|(command, _)| command.len())
        .max()
        .unwrap_or(0);
    let line = |(command, does): &(&str, &str)| format!("  {command:<width$}  {does}");
    examples.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(in crate::cli) const INIT: &str = "Examples:
  tramline init                    choose from the gallery
  tramline init --list             list the templates
  tramline init hello my-workflow  create the template hello in the directory my-workflow";

pub(in crate::cli) const MCP: &str = "Examples:
  tramline mcp list
  tramline mcp install claude-code report.yaml --dry-run
  tramline mcp import cursor";

pub(in crate::cli) const RUN: &str = "Examples:
  tramline run hello.yaml name=Ada
  tramline run files.yaml count_files directory=. --json
  tramline run report.yaml --input @input.json --config tramline.yaml";

pub(in crate::cli) const SERVE: &str = "Examples:
  tramline serve hello.yaml
  tramline serve *.yaml --http 8080 --metrics
  tramline serve --toolsets library,debug --root .
  tramline serve --toolsets sop --sop retail.md";

pub(in crate::cli) const STUDIO: &str = "Examples:
  tramline studio
  tramline studio report.yaml
  tramline studio *.yaml --http 8080 --no-open";

pub(in crate::cli) const CHECK: &str = "Examples:
  tramline check *.yaml
  tramline check report.yaml --offline --json";

pub(in crate::cli) const GRAPH: &str = "Examples:
  tramline graph report.yaml
  tramline graph report.yaml --svg --out report.svg";

pub(in crate::cli) const CONVERT: &str = "Examples:
  tramline convert graph.json --to yaml
  tramline convert report.yaml --to pflow-md --out report.pflow.md";

pub(in crate::cli) const RUNS: &str = "Examples:
  tramline runs                           the newest runs
  tramline runs --status paused           those that wait for an answer
  tramline runs show latest               every step of the newest one
  tramline runs approve latest            approve its question and continue it
  tramline runs resume run_01k9           the start of an id is enough";

pub(in crate::cli) const LOOP: &str = "Examples:
  tramline loop 'count the files in examples/data'
  tramline loop 'list the open issues' --mcp-config .mcp.json --save-as open-issues";

pub(in crate::cli) const LIBRARY: &str = "Examples:
  tramline library save report.yaml
  tramline library list
  tramline library show report --version 2";

pub(in crate::cli) const REGISTRY: &str = "Examples:
  tramline registry list --mcp-config .mcp.json
  tramline registry search read a file
  tramline registry show builtin:read-file
  tramline registry run builtin:list-directory path=.";

pub(in crate::cli) const LEARN: &str = "Examples:
  tramline learn show
  tramline learn forget --all";

pub(in crate::cli) const REPLAY: &str = "Examples:
  tramline replay latest
  tramline replay run_01k9 --against report.yaml";

pub(in crate::cli) const SOP: &str = "Examples:
  tramline sop check retail.md
  tramline sop walk retail.md
  tramline sop audit retail.md --transcript sessions.jsonl";

pub(in crate::cli) const AUDIT: &str = "Examples:
  tramline audit --since 2h --table
  tramline audit --run latest";

pub(in crate::cli) const TRACE: &str = "Examples:
  tramline trace
  tramline trace run_01k9 --out trace.json";

pub(in crate::cli) const SETTINGS: &str = "Examples:
  tramline settings set API_KEY
  tramline settings set REGION eu-west-1 --plain
  tramline settings list";

pub(in crate::cli) const EVAL: &str = "Examples:
  tramline eval '$sum(items.price)' --input @order.json
  tramline eval '{\">\": [{\"var\": \"n\"}, 3]}' --logic --input '{\"n\": 5}'
  tramline eval 'list.entries[0]' --run latest --explain";

pub(in crate::cli) const EXPLAIN: &str = "Examples:
  tramline explain
  tramline explain T0506";

pub(in crate::cli) const SCHEMA: &str = "Examples:
  tramline schema
  tramline schema yaml";

pub(in crate::cli) const LSP: &str = "Examples:
  tramline lsp    started by an editor; docs/editors.md shows how";

pub(in crate::cli) const COMPLETIONS: &str = "Examples:
  tramline completions bash > ~/.local/share/bash-completion/completions/tramline
  tramline completions zsh > ~/.zfunc/_tramline";

pub(in crate::cli) const TRUST: &str = "Examples:
  tramline trust report.yaml";

pub(in crate::cli) const DOCTOR: &str = "Examples:
  tramline doctor
  tramline doctor report.yaml --deep";

pub(in crate::cli) const LOCK: &str = "Examples:
  tramline lock report.yaml
  tramline check report.yaml    says what has changed since then";

pub(in crate::cli) const SKILLS: &str = "Examples:
  tramline skills export .claude/skills report.yaml";

pub(in crate::cli) const BACKUP: &str = "Examples:
  tramline backup /var/backups/tramline
  tramline backup before-upgrade.db --include-key

To restore: end every Tramline process, move the data directory away, make a new one that only you
can enter, and put the copy into it as tramline.db, with the key as settings.key.";

pub(in crate::cli) const SELF_CHECK: &str = "Examples:
  tramline self-check
  tramline self-check --temp-dir /var/tmp --json";

pub(in crate::cli) const REPLICAS: &str = "Examples:
  tramline replicas
  tramline replicas --store postgres://tramline@db/tramline --json";
