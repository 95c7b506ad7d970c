//! The reference pages: commands, MCP tools and configuration, generated from the program itself.
//!
//! `cargo xtask docs --reference` writes them, by running these tests with `UPDATE_REFERENCE` set; otherwise the tests
//! compare.

use crate::support::{CommandResult, Tramline, root};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

/// Options that every command has; they are described once.
const COMMON: [&str; 10] = [
    "--store",
    "--replica",
    "--lease",
    "--pools",
    "--data-dir",
    "--key-file",
    "--json",
    "--log",
    "--log-format",
    "--help",
];

/// A field that does not exist, to make the program say which ones do.
const NO_FIELD: &str = "qqqqqqqq";

fn settle(page: &str, text: &str) {
    let path = root().join("docs/reference").join(page);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        return;
    }
    let is = fs::read_to_string(&path).unwrap_or_default();
    let differs = is
        .lines()
        .zip(text.lines())
        .find(|(is, should)| is != should);
    assert!(
        is == text,
        "docs/reference/{page} is stale: run `cargo xtask docs --reference`; first difference: {differs:?}"
    );
}

fn help(tramline: &Tramline, words: &[String]) -> String {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.push("-h");
    let mut command = tramline.command(&words);
    for name in [
        "TRAMLINE_DATA_DIR",
        "TRAMLINE_KEY_FILE",
        "TRAMLINE_CONFIG",
        "RUST_LOG",
        "COLUMNS",
    ] {
        command.env_remove(name);
    }
    let done = CommandResult(command.output().unwrap());
    assert_eq!(done.code(), 0, "{words:?}: {}", done.err());
    done.out()
}

/// The commands that a help text lists, at the top level in groups.
fn subcommands(help: &str) -> Vec<String> {
    const HEADINGS: [&str; 6] = [
        "Commands:",
        "Build:",
        "Run:",
        "Inspect:",
        "Agents:",
        "Set up:",
    ];
    let mut is_listed = false;
    let listed = help.lines().filter(|line| {
        is_listed = HEADINGS.contains(line) || (is_listed && !line.trim().is_empty());
        is_listed
    });
    let named = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|name| name != "help")
        .collect()
}

/// A help text without the options that every command has.
fn without_common_options(help: &str) -> String {
    let mut kept = Vec::new();
    let mut skips = false;
    for line in help.lines() {
        let option = line.trim_start();
        let indent = line.len() - option.len();
        if option.starts_with('-') && indent <= 6 {
            let mut names = option.split([' ', ',', '=', '[']);
            skips = names.any(|name| COMMON.contains(&name));
        } else if line.is_empty() || indent <= 2 {
            skips = false;
        }
        if !skips {
            kept.push(line.trim_end());
        }
    }
    let mut text = kept.join("\n");
    for heading in ["Options:", "Global options:"] {
        let empty = format!("{heading}\n\n");
        text = text.replace(&empty, "");
        if let Some(rest) = text.trim_end().strip_suffix(heading) {
            text = rest.to_owned();
        }
    }
    text.trim().to_owned()
}

fn command_pages(tramline: &Tramline, words: &[String], out: &mut String) {
    let text = help(tramline, words);
    if !words.is_empty() {
        let level = "#".repeat(words.len() + 1);
        let shown = without_common_options(&text);
        write!(
            out,
            "\n{level} tramline {}\n\n```text\n{shown}\n```\n",
            words.join(" ")
        )
        .unwrap();
    }
    for name in subcommands(&text) {
        let words: Vec<_> = words.iter().cloned().chain([name]).collect();
        command_pages(tramline, &words, out);
    }
}

#[test]
fn the_commands_are_documented() {
    let tramline = Tramline::new();
    let mut page =
        "# Commands\n\n<!-- Written by `cargo xtask docs --reference`. -->\n\n".to_owned();
    page.push_str(
        "Every command has the options `--data-dir DIR`, `--key-file FILE`, `--json`, `--log FILTER` and `--log-format FORMAT`; \
         they are left out below. `tramline help COMMAND` prints longer texts.\n\nExit codes: 0 done, 1 failed, 2 flaws or bad \
         input, 3 rejected, 4 paused, 130 interrupted.\n",
    );
    command_pages(&tramline, &[], &mut page);
    assert!(page.matches("\n## tramline ").count() > 20, "{page}");
    settle("commands.md", &page);
}

/// The tools that `serve` lists with these options.
fn listed_tools(words: &[&str]) -> Vec<Value> {
    let tramline = Tramline::new();
    let mut command = tramline.command(words);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut serving = command.spawn().unwrap();
    let mut to = serving.stdin.take().unwrap();
    let mut from = BufReader::new(serving.stdout.take().unwrap()).lines();
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "reference", "version": "1" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
    ] {
        writeln!(to, "{message}").unwrap();
    }
    let answer = from.find_map(|line| {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (message["id"] == 2).then_some(message)
    });
    drop(to);
    serving.wait().unwrap();
    let answer = answer.unwrap();
    answer["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .clone()
}

/// The type of an argument, as people write it.
fn type_of(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values
            .iter()
            .map(|value| format!("`{}`", value.as_str().unwrap_or("null")))
            .collect();
        return values.join(" or ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            let mut choices: Vec<_> = choices.iter().map(type_of).collect();
            choices.dedup();
            return choices.join(" or ");
        }
    }
    match (&schema["type"], &schema["items"]) {
        (Value::String(name), items) if name == "array" && items.is_object() => {
            format!("list of {}", type_of(items))
        }
        (Value::String(name), _) => name.clone(),
        (Value::Array(names), _) => {
            let names: Vec<_> = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| *name != "null")
                .collect();
            names.join(" or ")
        }
        (_, _) => "any".to_owned(),
    }
}

/// Text for one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn tool_section(tool: &Value, out: &mut String) {
    writeln!(out, "\n### {}\n", tool["name"].as_str().unwrap()).unwrap();
    writeln!(
        out,
        "{}",
        cell(tool["description"].as_str().unwrap_or_default())
    )
    .unwrap();
    let hints = [
        ("readOnlyHint", "read-only"),
        ("destructiveHint", "destructive"),
        ("idempotentHint", "idempotent"),
        ("openWorldHint", "open world"),
    ];
    let hints: Vec<_> = hints
        .iter()
        .filter(|(key, _)| tool["annotations"][key] == true)
        .map(|(_, name)| *name)
        .collect();
    if !hints.is_empty() {
        writeln!(out, "\nAnnotations: {}.", hints.join(", ")).unwrap();
    }
    let schema = &tool["inputSchema"];
    let required: Vec<_> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let Some(fields) = schema["properties"]
        .as_object()
        .filter(|fields| !fields.is_empty())
    else {
        return;
    };
    out.push_str("\n| argument | type | description |\n|---|---|---|\n");
    for (name, field) in fields {
        let mark = if required.iter().any(|one| *one == name) {
            ", required"
        } else {
            ""
        };
        let text = cell(field["description"].as_str().unwrap_or_default());
        writeln!(
            out,
            "| `{name}` | {}{mark} | {text} |",
            cell(&type_of(field))
        )
        .unwrap();
    }
}

#[test]
fn the_mcp_tools_are_documented() {
    let mut page =
        "# MCP tools\n\n<!-- Written by `cargo xtask docs --reference`. -->\n\n".to_owned();
    page.push_str(
        "The tools of each [toolset](../serving.md#toolsets), as `tools/list` returns them. The toolset `graphs` has one tool for \
         each workflow of the served documents, with the input schema that the workflow declares.\n",
    );
    let mut count = 0;
    for toolset in ["control", "library", "debug", "loop", "sop"] {
        writeln!(page, "\n## {toolset}").unwrap();
        for tool in listed_tools(&["serve", "--toolsets", toolset]) {
            tool_section(&tool, &mut page);
            count += 1;
        }
    }
    assert!(count > 25, "{count}");
    settle("mcp-tools.md", &page);
}

/// What the program says about a configuration file, one line for each flaw.
fn config_flaws(tramline: &Tramline, text: &str) -> Vec<String> {
    let file = tramline.data.path().join("probe.yaml");
    fs::write(&file, text).unwrap();
    let done = tramline.run(&["doctor", "--json", "--config", file.to_str().unwrap()]);
    let said: Value = serde_json::from_str(&done.out()).unwrap();
    let message = said["error"]["message"].as_str();
    let message = message.unwrap_or_else(|| panic!("{text} is accepted: {said}"));
    message.lines().map(str::to_owned).collect()
}

/// Adds the rows of a section: the program names its fields when it rejects one.
fn config_rows(tramline: &Tramline, path: &[String], rows: &mut Vec<(String, String)>) {
    let mut text = String::new();
    for (depth, name) in path.iter().enumerate() {
        writeln!(text, "{}{name}:", "  ".repeat(depth)).unwrap();
    }
    writeln!(text, "{}{NO_FIELD}: 1", "  ".repeat(path.len())).unwrap();
    let flaws = config_flaws(tramline, &text);
    let between = |start: &str, end: &str| {
        let rest = flaws.iter().find_map(|flaw| flaw.split(start).nth(1))?;
        rest.split(end).next().map(str::to_owned)
    };
    if let Some(known) = between("known fields: ", ")") {
        for name in known.split(", ") {
            let path: Vec<_> = path.iter().cloned().chain([name.to_owned()]).collect();
            config_rows(tramline, &path, rows);
        }
        return;
    }
    let must = between("must be ", ", not ");
    let must = must.unwrap_or_else(|| panic!("{text}: {flaws:?}"));
    rows.push((path.join("."), must));
}

#[test]
fn the_configuration_is_documented() {
    let tramline = Tramline::new();
    let mut rows = Vec::new();
    config_rows(&tramline, &[], &mut rows);
    assert!(rows.len() > 16, "{rows:?}");
    let mut page =
        "# Configuration fields\n\n<!-- Written by `cargo xtask docs --reference`. -->\n\n"
            .to_owned();
    page.push_str(
        "Every field of [the configuration file](../configuration.md#the-configuration-file), which describes what they do, with \
         an example. Unknown fields are rejected.\n\n| field | must be |\n|---|---|\n",
    );
    for (field, must) in rows {
        writeln!(page, "| `{field}` | {} |", cell(&must)).unwrap();
    }
    settle("configuration.md", &page);
}
