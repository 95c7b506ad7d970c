//! Mistaken documents: each mistake is found at its place, and its suggestion repairs it. Right
//! documents have no findings.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use tramline_expr::Value;
use tramline_formats::{Format, KnownServers, ReadOptions, sop_markdown};
use tramline_workflow::flaw::{Flaw, Severity, SourceSpan};

/// A mistake with what is expected.
struct Slip {
    name: String,
    file: String,
    text: String,
    code: Option<String>,
    /// The text that is marked; empty if only the code is expected.
    marked: String,
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn base(name: &str) -> String {
    std::fs::read_to_string(here().join("tests/slips").join(name)).unwrap()
}

fn flaws(name: &str, text: &str) -> Vec<Flaw> {
    let file = Path::new(name).file_name().unwrap().to_string_lossy();
    let is_chart = text.contains("```mermaid") || text.trim_start().starts_with("flowchart");
    if is_chart {
        return match sop_markdown::read(text.as_bytes(), &file) {
            Ok(read) => read.warnings,
            Err(flaws) => flaws,
        };
    }
    let (format, name) = Format::of_file(&file);
    let options = ReadOptions {
        format,
        name,
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    match tramline_formats::read(text.as_bytes(), options) {
        Ok(read) => read.document.warnings,
        Err(flaws) => flaws,
    }
}

fn rows(file: &str, key: &str) -> Vec<Vec<String>> {
    let tree = tramline_syntax::document::read(base(file).as_bytes()).unwrap();
    let table = tree.root().get(key).unwrap().value.clone();
    let texts = |row: &Value| {
        let cells = row.as_array().unwrap().iter();
        cells
            .map(|cell| cell.as_str().unwrap().to_owned())
            .collect()
    };
    table.as_array().unwrap().iter().map(texts).collect()
}

fn by_hand(table: &str, key: &str) -> Vec<Slip> {
    let slips = rows(table, key).into_iter().map(|row| {
        let [file, find, put, code, marked] = row.try_into().unwrap();
        let text = base(&file);
        assert!(text.contains(&find), "{file} has no {find}");
        Slip {
            name: format!("{file}: {find} -> {put}"),
            text: text.replacen(&find, &put, 1),
            file,
            code: Some(code),
            marked,
        }
    });
    slips.collect()
}

/// The name with two letters swapped, and with one dropped.
fn mutants(name: &str) -> Vec<String> {
    let sign = usize::from(name.starts_with('$'));
    let letters: Vec<char> = name.chars().collect();
    let mut swapped = letters.clone();
    let at = (sign + 1..letters.len() - 1).find(|at| letters[*at] != letters[at + 1]);
    let at = at.unwrap_or(sign);
    swapped.swap(at, at + 1);
    let mut dropped = letters.clone();
    dropped.remove(letters.len() - 2);
    [swapped, dropped]
        .map(|letters| letters.into_iter().collect())
        .to_vec()
}

fn mutated() -> Vec<Slip> {
    let mut slips = Vec::new();
    for row in rows("slips.yaml", "mutated") {
        let [file, around, name] = row.try_into().unwrap();
        let text = base(&file);
        let at = text
            .find(&around)
            .unwrap_or_else(|| panic!("{file} has no {around}"));
        let at = at + around.find(&name).unwrap();
        for mutant in mutants(&name) {
            slips.push(Slip {
                name: format!("{file}: {around} with {mutant}"),
                text: format!("{}{mutant}{}", &text[..at], &text[at + name.len()..]),
                file: file.clone(),
                code: None,
                marked: mutant,
            });
        }
    }
    slips
}

/// The byte range of a span.
fn bytes(text: &str, span: &SourceSpan) -> std::ops::Range<usize> {
    let byte = |line: usize, column: usize| {
        let start: usize = text
            .split_inclusive('\n')
            .take(line - 1)
            .map(str::len)
            .sum();
        let rest = &text[start..];
        let in_line = rest
            .char_indices()
            .nth(column - 1)
            .map_or(rest.len(), |(at, _)| at);
        start + in_line
    };
    byte(span.line, span.column)..byte(span.end_line, span.end_column)
}

fn quoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

/// The text with the suggestion applied, if it says exactly what to write.
fn repaired(text: &str, flaw: &Flaw) -> Option<String> {
    let suggestion = flaw.suggestion.as_deref()?;
    let between = |start: &str| {
        let rest = suggestion.strip_prefix(start)?;
        rest.rfind('`').map(|end| &rest[..end])
    };
    let at = bytes(text, &flaw.span);
    let put = |at: std::ops::Range<usize>, new: &str| {
        Some(format!("{}{new}{}", &text[..at.start], &text[at.end..]))
    };
    if let Some(meant) = between("did you mean `") {
        let mark = text[at.clone()]
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''));
        let mark = mark.map_or_else(String::new, String::from);
        return put(at, &format!("{mark}{meant}{mark}"));
    }
    if let Some(new) = between("write `") {
        return put(at, new);
    }
    if let Some(around) = between("wrap it in `") {
        return put(at.clone(), &around.replace('…', &text[at]));
    }
    if let Some(rest) = suggestion.strip_prefix("indent this line with ") {
        let columns: usize = rest.split(' ').next()?.parse().ok()?;
        let line = text[..at.start].rfind('\n').map_or(0, |end| end + 1);
        let bare = text[line..].trim_start();
        return put(line..text.len() - bare.len(), &" ".repeat(columns));
    }
    let first = |start: &str| suggestion.strip_prefix(start)?.split('`').next();
    if suggestion.ends_with("` to its arguments") {
        let name = first("add `")?;
        let open = at.start + text[at.start..].find('{')? + 1;
        return put(open..open, &format!("\"{name}\": \"x\", "));
    }
    if suggestion.ends_with("to its `depends_on`") {
        let name = first("add `")?;
        let id = text[..at.start].rfind("\"id\"")?;
        return put(id..id, &format!("\"depends_on\": [\"{name}\"], "));
    }
    if suggestion.ends_with("` to the nodes") {
        let item = first("add `")?;
        let nodes = at.start + text[at.start..].find("nodes:\n")? + "nodes:\n".len();
        let indent: String = text[nodes..].chars().take_while(|c| *c == ' ').collect();
        return put(nodes..nodes, &format!("{indent}{item}\n"));
    }
    if suggestion.starts_with("add `next: ") {
        let next = first("add `")?;
        let end = at.start + text[at.start..].find(['}', '\n'])?;
        return match text[end..].starts_with('}') {
            // The last brace of the line closes the node.
            true => {
                let line = end + text[end..].find('\n')?;
                let close = text[..line].rfind('}')?;
                put(close..close, &format!(", {next}"))
            }
            false => put(end..end, &format!("\n        {next}")),
        };
    }
    if suggestion.starts_with("remove `") && suggestion.contains("` here") {
        return put(at, "");
    }
    if suggestion.starts_with("remove `") {
        // The field beside the marked one, with its comma.
        let name = first("remove `")?;
        let rest = &text[at.end..];
        let field = rest.find(name)?;
        let from = rest[..field].rfind(',')?;
        let to = field + rest[field..].find('}')?;
        return put(at.end + from..at.end + to, "");
    }
    None
}

#[test]
fn slips_are_found_where_they_are_and_their_suggestions_repair_them() {
    let slips = by_hand("slips.yaml", "by_hand").into_iter();
    let slips = slips.chain(mutated());
    let slips: Vec<_> = slips.chain(by_hand("outside.yaml", "outside")).collect();
    let (mut found, mut fixed) = (0, 0);
    let (mut missed, mut unfixed) = (String::new(), String::new());
    for slip in &slips {
        let all = flaws(&slip.file, &slip.text);
        let is_it = |flaw: &&Flaw| {
            let marked = &slip.text[bytes(&slip.text, &flaw.span)];
            let at_place = slip.marked.is_empty() || quoted(marked) == quoted(&slip.marked);
            let code = slip
                .code
                .as_deref()
                .is_none_or(|code| flaw.code.as_str() == code);
            code && at_place && flaw.suggestion.is_some()
        };
        let Some(flaw) = all.iter().find(is_it) else {
            writeln!(missed, "missed {}: {all:#?}", slip.name).unwrap();
            continue;
        };
        found += 1;
        let again = repaired(&slip.text, flaw).map(|text| (flaws(&slip.file, &text), text));
        match again {
            Some((left, _)) if left.is_empty() => fixed += 1,
            Some((left, text)) => {
                writeln!(unfixed, "not repaired {}: {left:?}\n{text}", slip.name).unwrap();
            }
            None => writeln!(unfixed, "not mechanical {}: {flaw}", slip.name).unwrap(),
        }
    }
    println!(
        "{} slips: {found} found, {fixed} repaired by applying the suggestion",
        slips.len()
    );
    print!("{missed}{unfixed}");
    assert!(slips.len() >= 150);
    assert!(
        found * 100 >= slips.len() * 98,
        "{found} of {}\n{missed}",
        slips.len()
    );
    assert!(
        fixed * 100 >= slips.len() * 85,
        "{fixed} of {}\n{unfixed}",
        slips.len()
    );
}

/// All documents below a folder.
fn documents_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            documents_below(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let is_workflow = match name.rsplit('.').next().unwrap() {
            "yaml" | "yml" => text.contains("tools:") && text.contains("nodes:"),
            "json" => text.contains("\"nodes\"") || text.contains("\"tasks\""),
            "md" => name.ends_with(".pflow.md"),
            _ => false,
        };
        if is_workflow {
            found.push(path);
        }
    }
}

/// A right document: a chain of nodes that refer to earlier ones, with branches.
fn generated(seed: u64) -> (String, String) {
    let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let nodes = 2 + draw(8);
    let mut known = vec!["list.path".to_owned()];
    let mut written: Vec<(String, String)> = Vec::new();
    for at in 0..nodes {
        let of = known[draw(known.len() as u64) as usize].clone();
        let (body, field) = match draw(5) {
            0 => (format!("{{\"text\": $string({of})}}"), "text"),
            1 => (
                format!("{{\"size\": $length($string({of})), \"of\": {of}}}"),
                "size",
            ),
            2 => (
                "{\"names\": [list.entries[kind = 'file'].name]}".to_owned(),
                "names",
            ),
            3 => (
                format!("($x := {of}; {{\"same\": $x, \"n\": $count(list.entries)}})"),
                "n",
            ),
            _ => (
                "list.entries^(>size)[0].{\"best\": name, \"size\": size}".to_owned(),
                "best",
            ),
        };
        known.push(format!("n{at}.{field}"));
        written.push((format!("n{at}"), body));
    }
    let json = |text: &str| Value::from(text).to_json();
    let mut text = String::new();
    match seed % 3 {
        0 => {
            text.push_str(
                "server: {name: g, version: \"1\"}\ntools:\n  - name: g\n    description: d\n",
            );
            text.push_str(
                "    inputSchema: {type: object, properties: {dir: {type: string}}}\n    nodes:\n",
            );
            text.push_str("      - {id: in, type: entry, next: list}\n      - {id: list, type: mcp, server: builtin, tool: list-directory, args: {path: $.in.dir}, next: n0}\n");
            for (at, (id, body)) in written.iter().enumerate() {
                let next = written.get(at + 1).map_or("pick", |(id, _)| id.as_str());
                writeln!(
                    text,
                    "      - {{id: {id}, type: transform, transform: {{expr: {}}}, next: {next}}}",
                    json(body)
                )
                .unwrap();
            }
            writeln!(text, "      - {{id: pick, type: switch, conditions: [{{rule: {{\"!\": [{{var: {}}}]}}, next: out}}], next: out}}\n      - {{id: out, type: exit}}", known.last().unwrap()).unwrap();
            ("generated.yaml".to_owned(), text)
        }
        1 => {
            let tasks: Vec<_> = written
                .iter()
                .enumerate()
                .map(|(at, (id, body))| {
                    let before = at
                        .checked_sub(1)
                        .map_or("list".to_owned(), |at| format!("n{at}"));
                    format!(
                        "{{\"id\": \"{id}\", \"expr\": {}, \"depends_on\": [\"{before}\"]}}",
                        json(body)
                    )
                })
                .collect();
            (
                "generated.json".to_owned(),
                format!(
                    "{{\"tasks\": [{{\"id\": \"list\", \"tool\": \"builtin:list-directory\", \"arguments\": {{\"path\": \".\"}}}}, {}]}}",
                    tasks.join(", ")
                ),
            )
        }
        _ => {
            let nodes: Vec<_> = written.iter().map(|(id, body)| {
                format!("{{\"id\": \"{id}\", \"type\": \"transform\", \"params\": {{\"expr\": {}}}}}", json(body))
            }).collect();
            let out = known.last().unwrap();
            (
                "generated.json".to_owned(),
                format!(
                    "{{\"ir_version\": \"0.1.0\", \"inputs\": {{\"dir\": {{\"type\": \"string\"}}}}, \"nodes\": [{{\"id\": \"list\", \"type\": \"list-directory\", \"params\": {{\"path\": \"${{dir}}\"}}}}, {}], \"outputs\": {{\"out\": {{\"source\": \"${{{out}}}\"}}}}}}",
                    nodes.join(", ")
                ),
            )
        }
    }
}

#[test]
fn right_documents_have_no_findings() {
    let mut documents: Vec<(String, String)> = (0..300).map(generated).collect();
    let made = documents.len();
    let bases = [
        "graph.yaml",
        "ir.json",
        "dag.json",
        "plan.json",
        "runbook.pflow.md",
        "procedure.md",
        "desk.md",
    ];
    documents.extend(bases.map(|name| (name.to_owned(), base(name))));
    let mut files = Vec::new();
    documents_below(&here().join("../../examples"), &mut files);
    documents_below(&here().join("../tramline/templates"), &mut files);
    let written = files.len();
    let shared = crate::shared::documents();
    files.extend(shared.iter().cloned());
    for path in &files {
        let text = std::fs::read_to_string(path).unwrap();
        documents.push((path.display().to_string(), text));
    }
    let new = [
        "T0008", "T0014", "T0015", "T0041", "T0042", "T0043", "T0044", "T0045", "T0046",
    ];
    let mut alarms = String::new();
    for (name, text) in &documents {
        for flaw in flaws(name, text) {
            if flaw.code.severity() == Severity::Error || new.contains(&flaw.code.as_str()) {
                writeln!(alarms, "{name}: {flaw}").unwrap();
                if name.starts_with("generated") {
                    writeln!(alarms, "{text}").unwrap();
                }
            }
        }
    }
    println!(
        "{} right documents: {made} generated, {written} examples and templates, {} shared{}",
        documents.len(),
        shared.len(),
        if shared.is_empty() {
            " (not run: missing)"
        } else {
            ""
        }
    );
    assert!(documents.len() >= 300);
    assert_eq!(alarms, "");
}
