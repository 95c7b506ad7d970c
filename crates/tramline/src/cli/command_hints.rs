//! What people mean by words that are not commands here: names of the same thing elsewhere.

use std::path::Path;

/// Words with the commands that do what they mean. A hint is a sentence about a command.
const MEANINGS: &[(&[&str], &str)] = &[
    (
        &[
            "dev",
            "develop",
            "edit",
            "editor",
            "ui",
            "web",
            "gui",
            "dashboard",
            "open",
            "browse",
        ],
        "`tramline studio FILE` opens a document in the browser and follows its edits",
    ),
    (
        &["test", "tests", "verify", "assert"],
        "`tramline check FILE` checks a document, and `tramline replay RUN --against FILE` runs it again with the calls \
         of a recorded run",
    ),
    (
        &["lint", "validation", "typecheck", "compile", "build"],
        "`tramline check FILE` checks a document",
    ),
    (
        &[
            "list",
            "ls",
            "ps",
            "jobs",
            "history",
            "status",
            "top",
            "executions",
            "workflows",
            "tools",
        ],
        "`tramline runs` lists runs, `tramline library list` saved workflows, `tramline registry list` tools",
    ),
    (
        &[
            "logs", "log", "tail", "show", "inspect", "describe", "get", "view", "events", "steps",
        ],
        "`tramline runs show latest` shows the latest run step by step; `--log info` logs while a command runs",
    ),
    (
        &[
            "start", "exec", "execute", "invoke", "call", "trigger", "launch",
        ],
        "`tramline run FILE` runs a workflow, and `tramline registry run TOOL` one tool",
    ),
    (
        &["server", "up", "listen", "host", "daemon"],
        "`tramline serve FILE` serves workflows as MCP tools",
    ),
    (
        &["approve", "accept", "allow", "confirm", "yes"],
        "`tramline runs approve RUN` approves the question of a run and continues it",
    ),
    (
        &["reject", "deny", "decline", "no"],
        "`tramline runs reject RUN` rejects the question of a run",
    ),
    (
        &["answer", "reply"],
        "`tramline runs answer CHECKPOINT` answers the question of a run",
    ),
    (
        &["resume", "continue", "retry", "restart"],
        "`tramline runs resume RUN` continues a run",
    ),
    (
        &["stop", "kill", "cancel", "abort", "down", "terminate"],
        "`tramline runs abort RUN` aborts a run",
    ),
    (
        &["rm", "remove", "delete", "clean", "prune", "gc"],
        "`tramline runs prune` deletes old runs, `tramline runs rm RUN` one of them",
    ),
    (
        &["fork", "rerun", "branch"],
        "`tramline runs fork RUN` starts a run again after one of its steps, or with another input",
    ),
    (
        &["diff", "compare"],
        "`tramline runs compare RUN RUN` shows how two runs differ",
    ),
    (
        &[
            "create",
            "scaffold",
            "generate",
            "template",
            "templates",
            "examples",
            "example",
            "gallery",
        ],
        "`tramline init` creates a workflow from a template",
    ),
    (
        &[
            "install", "link", "connect", "setup", "claude", "cursor", "vscode",
        ],
        "`tramline mcp install CLIENT` adds Tramline to an MCP client",
    ),
    (
        &[
            "config",
            "configure",
            "set",
            "env",
            "secret",
            "secrets",
            "login",
            "auth",
            "key",
            "keys",
        ],
        "`tramline settings set KEY` stores a key or secret",
    ),
    (
        &["search", "find", "discover"],
        "`tramline registry search WORDS` finds tools and workflows",
    ),
    (
        &["save", "publish", "register", "add"],
        "`tramline library save FILE` saves a workflow under a name",
    ),
    (
        &["plan", "ask", "chat", "prompt", "agent", "do"],
        "`tramline loop MESSAGE` plans tool calls for a message and runs them",
    ),
    (
        &[
            "draw",
            "diagram",
            "render",
            "visualize",
            "visualise",
            "plot",
            "dot",
            "svg",
            "mermaid",
        ],
        "`tramline graph FILE` draws a workflow",
    ),
    (
        &["export", "transform", "translate", "format", "fmt"],
        "`tramline convert FILE --to FORMAT` writes a document in another format; `tramline runs export RUN` writes a \
         run to a file",
    ),
    (
        &["import", "migrate"],
        "`tramline library import FOLDER` saves the workflows of a folder; `tramline mcp import CLIENT` takes over the \
         servers of an MCP client",
    ),
    (
        &["step", "break", "breakpoint", "debugger"],
        "`tramline debug FILE` runs a workflow step by step",
    ),
    (
        &["health", "diagnose", "info", "about"],
        "`tramline doctor` checks that everything is present and every server responds",
    ),
    (&["version", "v"], "`tramline --version` prints the version"),
    (
        &["docs", "manual", "man", "error", "code"],
        "`tramline explain CODE` explains an error, `tramline help COMMAND` a command",
    ),
    (
        &["sops", "procedure", "procedures", "walk"],
        "`tramline sop` checks, walks and audits procedures",
    ),
    (
        &["expression", "expr", "evaluate", "jsonata", "repl"],
        "`tramline eval EXPR` evaluates an expression",
    ),
    (
        &["update", "upgrade", "self"],
        "install the newer version in the way that you installed this one; docs/install.md describes each",
    ),
];

/// Words after a command with commands of its own.
const SUB_MEANINGS: &[(&str, &[&str], &str)] = &[
    (
        "runs",
        &[
            "logs", "log", "tail", "follow", "events", "trace", "inspect",
        ],
        "`tramline runs show RUN` shows every step of a run, `tramline trace RUN` all of it as JSON",
    ),
    (
        "runs",
        &["start", "new", "create", "run"],
        "`tramline run FILE` starts a run",
    ),
    (
        "runs",
        &["retry", "restart", "rerun", "again"],
        "`tramline runs resume RUN` continues a run, and `tramline runs fork RUN` starts it again after one of its steps",
    ),
    (
        "runs",
        &["debug", "attach"],
        "`tramline debug --run RUN` attaches to a run",
    ),
    (
        "library",
        &["run", "start", "exec"],
        "`tramline registry run NAME` runs a saved workflow",
    ),
    (
        "library",
        &["add", "create", "new", "publish"],
        "`tramline library save FILE` saves a workflow",
    ),
    (
        "mcp",
        &["serve", "start"],
        "`tramline serve FILE` serves workflows as MCP tools",
    ),
    (
        "mcp",
        &["tools"],
        "`tramline registry list` lists the tools of every server",
    ),
    (
        "sop",
        &["run", "start", "try"],
        "`tramline sop walk FILE` runs a procedure by hand",
    ),
    (
        "sop",
        &["serve"],
        "`tramline serve --toolsets sop --sop FILE` serves a procedure",
    ),
];

/// The hint for a word in place of a command; `parent` is the command before it.
pub(super) fn for_command(parent: Option<&str>, word: &str) -> Option<String> {
    let lower = word.to_lowercase();
    if let Some(parent) = parent {
        let mut own = SUB_MEANINGS.iter().filter(|(of, _, _)| *of == parent);
        let found = own.find(|(_, words, _)| words.contains(&lower.as_str()));
        return found.map(|(_, _, hint)| (*hint).to_owned());
    }
    let known = MEANINGS
        .iter()
        .find(|(words, _)| words.contains(&lower.as_str()));
    if let Some((_, hint)) = known {
        return Some((*hint).to_owned());
    }
    let is_file = word.contains('.') && Path::new(word).is_file();
    is_file.then(|| {
        format!("`tramline run {word}` runs a document, `tramline check {word}` checks it")
    })
}

/// The hint for an unknown option: inputs of workflows are not options.
pub(super) fn for_option(verb: &str, option: &str) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let name = name.split('=').next().unwrap_or(name);
    match verb {
        "run" | "debug" => Some(format!(
            "inputs of a workflow are written without dashes: {name}=VALUE"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_word_has_two_meanings() {
        let mut seen = BTreeSet::new();
        for word in MEANINGS.iter().flat_map(|(words, _)| *words) {
            assert!(seen.insert(word), "{word}");
        }
    }
}
