//! `tramline skills`: workflows and procedures as Agent Skills, for agents that read a folder.

use super::{CliError, CliResult, Exit, documents, output};
use clap::Subcommand;
use std::path::{Path, PathBuf};
use tramline_formats::{SourceKind, sop_markdown};
use tramline_views::skill::{SKILL_FILE, Skill, distinct};

/// Largest file of a procedure, in bytes.
const PROCEDURE_BYTES_MAX: u64 = 4 << 20;

/// Write workflows and procedures as Agent Skills.
#[derive(clap::Args)]
pub(super) struct Skills {
    #[command(subcommand)]
    verb: SkillsVerb,
}

#[derive(Subcommand)]
enum SkillsVerb {
    /// Write a folder of skills: one directory with a SKILL.md for each workflow and procedure
    Export {
        /// The folder, for example .claude/skills or ~/.codex/skills
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Documents and procedures
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Replace skills that exist
        #[arg(long)]
        force: bool,
    },
}

pub(super) fn main(verb: &Skills, json: bool) -> CliResult {
    let SkillsVerb::Export { dir, files, force } = &verb.verb;
    let mut skills = Vec::new();
    for file in files {
        skills.extend(read(file, json)?);
    }
    let skills = distinct(skills);
    let targets: Vec<_> = skills
        .iter()
        .map(|skill| dir.join(&skill.name).join(SKILL_FILE))
        .collect();
    if !force && let Some(taken) = targets.iter().find(|path| path.exists()) {
        let message = format!("{} exists; --force replaces it", taken.display());
        return Err(CliError::bad_input(message));
    }
    for (skill, target) in skills.iter().zip(&targets) {
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| CliError::bad_input(format!("{}: {error}", folder.display())))?;
        }
        output::write_file(target, &skill.text)?;
    }
    let paths = targets.iter().map(|path| path.display().to_string());
    if json {
        output::line(&serde_json::json!({ "skills": paths.collect::<Vec<_>>() }));
    } else {
        paths.for_each(|path| output::text_line(&path));
    }
    Ok(Exit::Done)
}

/// The skills of a file.
fn read(path: &Path, json: bool) -> Result<Vec<Skill>, CliError> {
    if let Some(text) = procedure_text(path)? {
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        let read = sop_markdown::read(text.as_bytes(), &name.unwrap_or_default());
        let read =
            read.map_err(|flaws| documents::flaws_error(&path.display().to_string(), &flaws))?;
        return Ok(vec![Skill::of_procedure(&read.sop)]);
    }
    let read = documents::read_for_display(path, json)?;
    let workflows = read.document.workflows.iter();
    Ok(workflows
        .map(|graph| Skill::of_workflow(&graph.workflow))
        .collect())
}

/// The text of a procedure; `None` for any other document.
fn procedure_text(path: &Path) -> Result<Option<String>, CliError> {
    let name = path.to_string_lossy();
    if !name.ends_with(".md") || name.ends_with(".pflow.md") {
        return Ok(None);
    }
    let cannot = |error: std::io::Error| CliError::bad_input(format!("{name}: {error}"));
    let size = std::fs::metadata(path).map_err(cannot)?.len();
    if size > PROCEDURE_BYTES_MAX {
        let message = format!("{name}: larger than {PROCEDURE_BYTES_MAX} bytes");
        return Err(CliError::bad_input(message));
    }
    let text = std::fs::read_to_string(path).map_err(cannot)?;
    let kind = SourceKind::detect(&name, &text);
    Ok((kind == Some(SourceKind::Procedure)).then_some(text))
}
