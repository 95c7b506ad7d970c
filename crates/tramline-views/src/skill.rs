//! Skills: workflows and procedures as pages that an agent reads before it uses them.
//!
//! A skill says no more than the tool list does: what a workflow is for, how to call it, and what its inputs mean.

use std::collections::HashSet;
use std::fmt::Write;
use tramline_expr::Value;
use tramline_workflow::sop::Sop;
use tramline_workflow::workflow::Workflow;

/// Characters in a skill's name.
const NAME_CHARS_MAX: usize = 64;
/// Characters in a skill's description: agents load the descriptions of all skills at once.
const DESCRIPTION_CHARS_MAX: usize = 1_024;
/// Inputs that a skill explains one by one; the tool's schema has all of them.
const INPUTS_SHOWN_MAX: usize = 50;

/// The file of every skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name: lowercase words joined by hyphens.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The whole file, with its header.
    pub text: String,
}

impl Skill {
    /// The skill of a workflow that is served as a tool.
    pub fn of_workflow(workflow: &Workflow) -> Self {
        let title = workflow.title.as_deref().unwrap_or(&workflow.name);
        let says = workflow.description.as_deref().unwrap_or_default().trim();
        let description = match says {
            "" => format!("Runs the workflow {}.", workflow.name),
            says => says.to_owned(),
        };
        let mut body = format!(
            "# {title}\n\n{description}\n\n## How\n\nCall the tool `{}`.",
            workflow.name
        );
        body.push_str(
            " It runs a whole workflow and returns its result. If it asks for a decision, show the question to the user. If \
             it is still running, wait for it with `run_await`.\n",
        );
        add_inputs(&mut body, workflow.input_schema.as_ref());
        Self::new(&workflow.name, &description, &body)
    }

    /// The skill of a procedure.
    pub fn of_procedure(sop: &Sop) -> Self {
        let description = format!("Follow the procedure {} step by step.", sop.name);
        let body = format!(
            "# {}\n\n{description}\n\n## How\n\nCall `load_graph` with the procedure `{}`, then do what each step says and \
             move on with `goto_node` or `advance`.\n\n## The procedure\n\n{}\n",
            sop.name,
            sop.name,
            sop.system_prompt()
        );
        Self::new(&sop.name, &description, &body)
    }

    fn new(name: &str, description: &str, body: &str) -> Self {
        let name = skill_name(name);
        let description: String = description.chars().take(DESCRIPTION_CHARS_MAX).collect();
        // A JSON string is a YAML string.
        let quoted = serde_json::Value::from(description.as_str());
        let text = format!("---\nname: {name}\ndescription: {quoted}\n---\n\n{body}");
        Self {
            name,
            description,
            text,
        }
    }
}

/// Gives skills with the same name different ones.
pub fn distinct(skills: impl IntoIterator<Item = Skill>) -> Vec<Skill> {
    let mut taken = HashSet::new();
    let mut all = Vec::new();
    for mut skill in skills {
        let first = skill.name.clone();
        let mut number = 2;
        while !taken.insert(skill.name.clone()) {
            let end = format!("-{number}");
            let kept: String = first.chars().take(NAME_CHARS_MAX - end.len()).collect();
            let next = format!("{}{end}", kept.trim_end_matches('-'));
            skill.text = skill.text.replacen(
                &format!("\nname: {}\n", skill.name),
                &format!("\nname: {next}\n"),
                1,
            );
            skill.name = next;
            number += 1;
        }
        all.push(skill);
    }
    all
}

fn skill_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-");
    let kept: String = joined.chars().take(NAME_CHARS_MAX).collect();
    match kept.trim_end_matches('-') {
        "" => "workflow".to_owned(),
        kept => kept.to_owned(),
    }
}

fn add_inputs(body: &mut String, schema: Option<&Value>) {
    let fields = schema.and_then(|schema| schema.get("properties")?.as_object());
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        return;
    };
    let required = schema
        .and_then(|schema| schema.get("required")?.as_array())
        .unwrap_or_default();
    body.push_str("\n## Inputs\n\n");
    for (name, field) in fields.iter().take(INPUTS_SHOWN_MAX) {
        let is_required = required
            .iter()
            .any(|one| one.as_str() == Some(name.as_str()));
        let kind = field.get("type").and_then(Value::as_str).unwrap_or("any");
        let need = if is_required { "required" } else { "optional" };
        let _ = write!(body, "- `{name}` ({kind}, {need})");
        if let Some(says) = field.get("description").and_then(Value::as_str) {
            let _ = write!(body, ": {}", says.replace('\n', " "));
        }
        body.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(name: &str, description: &str) -> Workflow {
        let schema = r#"{"properties": {"n": {"type": "number", "description": "How many."}}, "required": ["n"]}"#;
        Workflow {
            name: name.into(),
            description: Some(description.into()),
            input_schema: Some(Value::from_json(schema).unwrap()),
            ..Workflow::default()
        }
    }

    #[test]
    fn a_workflow_is_a_page_with_its_inputs() {
        let skill = Skill::of_workflow(&workflow("Choose_shipping", "Says \"how\": now."));
        assert_eq!(skill.name, "choose-shipping");
        assert!(
            skill.text.starts_with(
                "---\nname: choose-shipping\ndescription: \"Says \\\"how\\\": now.\"\n---\n"
            ),
            "{}",
            skill.text
        );
        assert!(
            skill.text.contains("- `n` (number, required): How many.\n"),
            "{}",
            skill.text
        );
        assert!(skill.text.contains("`Choose_shipping`"));
    }

    #[test]
    fn names_are_valid_and_distinct() {
        let names = ["a_b", "a-b", "A b", "--", &"x".repeat(80)];
        let skills = distinct(
            names
                .iter()
                .map(|name| Skill::of_workflow(&workflow(name, ""))),
        );
        let names: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names[..4], ["a-b", "a-b-2", "a-b-3", "workflow"]);
        assert_eq!(names[4].len(), NAME_CHARS_MAX);
        assert!(
            skills
                .iter()
                .all(|skill| skill.text.contains(&format!("\nname: {}\n", skill.name)))
        );
    }
}
