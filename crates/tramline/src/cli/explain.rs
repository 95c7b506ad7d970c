//! `tramline explain`: prints the page of an error code, embedded in the binary.

use super::{CliError, CliResult, Exit, output};
use tramline_workflow::text::nearest;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Explain an error code.
#[derive(clap::Args)]
pub(super) struct Explain {
    /// The code, for example T0008; without one, all codes are listed
    code: Option<String>,
}

pub(super) fn main(verb: &Explain, json: bool) -> CliResult {
    let Some(code) = &verb.code else {
        list(json);
        return Ok(Exit::Done);
    };
    let wanted = code.to_uppercase();
    match PAGES.iter().find(|(known, _)| *known == wanted) {
        Some((code, page)) if json => {
            output::line(&serde_json::json!({ "code": code, "page": page }));
            Ok(Exit::Done)
        }
        Some((_, page)) => {
            output::text_lines(page.trim_end());
            Ok(Exit::Done)
        }
        None => {
            let near = nearest(&wanted, PAGES.iter().map(|(code, _)| *code))
                .map_or_else(String::new, |near| format!(", did you mean {near}?"));
            Err(CliError::bad_input(format!(
                "unknown code {wanted}{near}; `tramline explain` lists all codes"
            )))
        }
    }
}

/// Lists all codes with their titles.
fn list(json: bool) {
    let title = |code: &str, page: &str| {
        let line = page.lines().next().unwrap_or_default();
        let line = line.trim_start_matches('#').trim();
        let title = line.strip_prefix(code).unwrap_or(line);
        title.trim_start_matches(':').trim().to_owned()
    };
    if json {
        let codes = PAGES
            .iter()
            .map(|(code, page)| serde_json::json!({ "code": code, "title": title(code, page) }));
        output::list("codes", codes, []);
        return;
    }
    for (code, page) in PAGES {
        output::text_line(&format!("{code}  {}", title(code, page)));
    }
}
