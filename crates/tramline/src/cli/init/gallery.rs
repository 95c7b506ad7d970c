//! The templates in the binary.

use crate::cli::CliError;
use rust_embed::{Embed, EmbeddedFile};
use serde::Deserialize;

/// The folder of templates, each in a folder of its own.
#[derive(Embed)]
#[folder = "templates/"]
struct Files;

/// Describes a template; it is not written into the new directory.
const DESCRIPTION: &str = "template.json";

/// A template.
pub(super) struct Template {
    pub(super) name: String,
    pub(super) title: String,
    /// What it shows.
    pub(super) shows: String,
    /// The command to run it, in its directory.
    pub(super) run: String,
    paths: Vec<String>,
}

/// The part of the description that `init` needs; the rest is for the test of the gallery.
#[derive(Deserialize)]
struct Description {
    order: u32,
    title: String,
    shows: String,
    run: String,
}

/// A file of a template: its path in the new directory, and its content.
pub(super) struct TemplateFile {
    pub(super) path: String,
    pub(super) content: EmbeddedFile,
}

/// Every template, simple ones first.
pub(super) fn all() -> Result<Vec<Template>, CliError> {
    let mut found: Vec<(u32, Template)> = Vec::new();
    for path in Files::iter() {
        let Some(name) = path.strip_suffix(&format!("/{DESCRIPTION}")) else {
            continue;
        };
        let broken = |why: String| CliError::bad_input(format!("the template `{name}`: {why}"));
        let file = Files::get(&path).ok_or_else(|| broken("it is missing".to_owned()))?;
        let about: Description =
            serde_json::from_slice(&file.data).map_err(|error| broken(error.to_string()))?;
        let start = format!("{name}/");
        let paths = Files::iter().filter_map(|path| path.strip_prefix(&start).map(str::to_owned));
        let template = Template {
            name: name.to_owned(),
            title: about.title,
            shows: about.shows,
            run: about.run,
            paths: paths.filter(|path| path != DESCRIPTION).collect(),
        };
        found.push((about.order, template));
    }
    found.sort_by(|(a, one), (b, other)| a.cmp(b).then(one.name.cmp(&other.name)));
    Ok(found.into_iter().map(|(_, template)| template).collect())
}

impl Template {
    /// The paths of its files.
    pub(super) fn file_names(&self) -> &[String] {
        &self.paths
    }

    /// Its files.
    pub(super) fn files(&self) -> impl Iterator<Item = TemplateFile> {
        self.paths.iter().filter_map(|path| {
            Some(TemplateFile {
                path: path.clone(),
                content: Files::get(&format!("{}/{path}", self.name))?,
            })
        })
    }
}
