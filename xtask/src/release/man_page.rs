//! The manual page, written from the binary's own help.

use std::fmt::Write as _;

/// The page, in the format of man. `date` is `YYYY-MM-DD`.
pub(super) fn page(help: &str, version: &str, date: &str) -> String {
    let mut page = format!(
        ".TH TRAMLINE 1 {date} \"tramline {version}\" \"User Commands\"\n\
         .SH NAME\ntramline \\- durable workflows for AI agents, built from MCP tools\n\
         .SH SYNOPSIS\n.B tramline\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n\
         .SH DESCRIPTION\n\
         Runs graphs of MCP tools that pause, ask a person, survive a crash and can be inspected afterwards.\n\
         .B tramline help \\fICOMMAND\\fR\nprints the options of a command.\n\
         .SH COMMANDS\n"
    );
    for (name, text) in commands(help) {
        // Writing to a string cannot fail.
        let _ = writeln!(page, ".TP\n.B {}\n{}", escape(&name), escape(&text));
    }
    page.push_str(
        ".SH ENVIRONMENT\n\
         .TP\n.B TRAMLINE_DATA_DIR\nWhere runs are stored.\n\
         .TP\n.B TRAMLINE_CONFIG\nThe configuration file of servers.\n\
         .TP\n.B TRAMLINE_TOKEN\nThe token that HTTP callers must send.\n\
         .SH EXIT STATUS\n",
    );
    let codes = help
        .lines()
        .find_map(|line| line.strip_prefix("Exit codes: "));
    let _ = writeln!(page, "{}", escape(codes.unwrap_or("0 done, 1 failed.")));
    page
}

/// The commands that the help lists, with their descriptions.
fn commands(help: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let inner = line.strip_prefix("  ").unwrap_or(line);
        match (
            inner.starts_with(' '),
            inner.split_once(' '),
            found.last_mut(),
        ) {
            (false, Some((name, text)), _) => found.push((name.to_owned(), text.trim().to_owned())),
            (_, _, Some((_, text))) => {
                text.push(' ');
                text.push_str(inner.trim());
            }
            (_, _, None) => {}
        }
    }
    found
}

/// Text that man shows as it is.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Usage: tramline\n\nCommands:\n  init   Create a workflow\n  runs   List runs\n         and control them\n\nOptions:\n  -h\n\nExit codes: 0 done, 1 failed.\n";

    #[test]
    fn commands_are_read_with_wrapped_lines() {
        let found = commands(HELP);
        let runs = ("runs".to_owned(), "List runs and control them".to_owned());
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], runs);
    }

    #[test]
    fn the_page_names_commands_and_exit_codes() {
        let page = page(HELP, "1.0.0", "2026-01-01");
        assert!(page.starts_with(".TH TRAMLINE 1 2026-01-01 \"tramline 1.0.0\""));
        assert!(page.contains(".TP\n.B init\nCreate a workflow\n"));
        assert!(page.ends_with("0 done, 1 failed.\n"));
    }
}
