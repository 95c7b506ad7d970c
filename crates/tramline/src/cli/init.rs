//! `tramline init`: a new directory with a workflow that runs, from the gallery in the binary.

use super::output::{self, TextStyle};
use super::{CliError, CliResult, CommonArgs, Exit, prompt};
use gallery::Template;
use rustyline::DefaultEditor;
use serde_json::json;
use std::path::{Path, PathBuf};

mod gallery;
mod write;

/// Create a workflow from a template that runs as it is.
#[derive(clap::Args)]
pub(super) struct Init {
    /// The template; without one, shows the gallery and asks
    #[arg(value_name = "TEMPLATE")]
    template: Option<String>,
    /// The directory to create [default: the template's name]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// List the templates
    #[arg(long)]
    list: bool,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

pub(super) fn main(common: &CommonArgs, verb: &Init) -> CliResult {
    let gallery = gallery::all()?;
    if verb.list {
        list(&gallery, common.json);
        return Ok(Exit::Done);
    }
    let template = match &verb.template {
        Some(name) => find(&gallery, name)?,
        None if prompt::is_interactive() && !common.json => match choose(&gallery)? {
            Some(template) => template,
            None => return Ok(Exit::Done),
        },
        None => {
            return Err(CliError::bad_input(
                "name a template: `tramline init TEMPLATE [DIR]`; `tramline init --list` shows them",
            ));
        }
    };
    let dir = verb
        .dir
        .clone()
        .unwrap_or_else(|| PathBuf::from(&template.name));
    let written = write::write(template, &dir, verb.force)?;
    report(template, &dir, &written, common.json);
    Ok(Exit::Done)
}

fn find<'g>(gallery: &'g [Template], name: &str) -> Result<&'g Template, CliError> {
    if let Some(found) = gallery.iter().find(|template| template.name == name) {
        return Ok(found);
    }
    let names = gallery.iter().map(|template| template.name.as_str());
    let hint = match tramline_workflow::text::nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`tramline init --list` shows them".to_owned(),
    };
    let name = tramline_workflow::text::display_name(name);
    Err(CliError::bad_input(format!(
        "there is no template `{name}`; {hint}"
    )))
}

fn list(gallery: &[Template], as_json: bool) {
    if as_json {
        let templates = gallery.iter().map(|template| {
            json!({
                "name": template.name,
                "title": template.title,
                "shows": template.shows,
                "run": template.run,
                "files": template.file_names(),
            })
        });
        output::list("templates", templates, []);
        return;
    }
    let width = gallery.iter().map(|template| template.name.len()).max();
    let width = width.unwrap_or_default();
    for template in gallery {
        output::text_line(&format!("{:width$}  {}", template.name, template.title));
    }
}

/// Shows the gallery and asks for a number or a name; `None` if the person leaves.
fn choose(gallery: &[Template]) -> Result<Option<&Template>, CliError> {
    let dim = TextStyle::Dim;
    for (at, template) in gallery.iter().enumerate() {
        let number = at + 1;
        output::status_line(&format!(
            "{number:>3}  {:<22} {dim}{}{dim:#}",
            template.name, template.title
        ));
    }
    let cannot = |error| CliError::bad_input(format!("cannot read the answer: {error}"));
    let mut editor = DefaultEditor::new().map_err(cannot)?;
    loop {
        let Ok(line) = editor.readline("Which one? [number or name, empty to leave] ") else {
            return Ok(None);
        };
        let line = line.trim();
        if line.is_empty() {
            return Ok(None);
        }
        let number = line
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let found = match number {
            Some(at) => gallery.get(at).ok_or_else(|| {
                CliError::bad_input(format!("choose a number from 1 to {}", gallery.len()))
            }),
            None => find(gallery, line),
        };
        match found {
            Ok(template) => return Ok(Some(template)),
            Err(wrong) => output::print_error(&wrong.message),
        }
    }
}

fn report(template: &Template, dir: &Path, written: &[PathBuf], as_json: bool) {
    if as_json {
        let files: Vec<String> = written
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        output::line(&json!({
            "template": template.name,
            "dir": dir.display().to_string(),
            "files": files,
            "next": template.run,
        }));
        return;
    }
    for path in written {
        output::status_line(&format!("wrote {}", path.display()));
    }
    output::status_line("next:");
    if dir != Path::new(".") {
        output::text_line(&format!("cd {}", quoted(&dir.display().to_string())));
    }
    output::text_line(&template.run);
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+~".contains(letter);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
