//! A node that runs another workflow: a saved one by name, or a document by its relative path.

use super::nodes::NodeReader;
use super::templates::REFERENCE_START;
use crate::reference::{OutputReference, ReferenceOperand};
use crate::workflow_builder::NodeSources;
use crate::yaml_graph::fields;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::relative_path;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::{Action, Template, WORKFLOW_SERVER as WORKFLOWS};

/// The fields that name the workflow.
const NAME_FIELDS: [&str; 5] = [
    "workflow_name",
    "workflow",
    "workflow_ref",
    "workflow_ir",
    "name",
];
/// The fields that hold its inputs.
pub(super) const INPUT_FIELDS: [&str; 3] = ["inputs", "param_mapping", "params"];

/// Reads the workflow that a node calls, and its arguments.
pub(super) fn read<'t>(
    of: &NodeReader<'_, 't>,
    sources: &mut NodeSources<'t>,
    flaws: &mut FlawCollector,
) -> Option<Action> {
    let named = of
        .params
        .and_then(|at| fields::first_present(at, &NAME_FIELDS));
    let Some((key, at)) = named else {
        let hint = "name a saved workflow, or a file in the document's directory";
        of.report_missing("workflow", hint, flaws);
        return None;
    };
    let refuse = |message: String, hint: &str, flaws: &mut FlawCollector| {
        flaws.add(FlawCode::Unsupported, at.source_span(), message, hint);
        None
    };
    if at.value.as_object().is_some() {
        let message = format!(
            "{} contains an inline workflow, which is not supported",
            of.owner
        );
        return refuse(message, "save it and refer to it by name", flaws);
    }
    let (name, _) = fields::string_value(at, key, flaws)?;
    if name.contains(REFERENCE_START) {
        let message = format!("{} selects its workflow at run time", of.owner);
        let hint = "use one node per workflow and select it with a `switch`";
        return refuse(message, hint, flaws);
    }
    let name = match relative_path::is_path(name) {
        false => name.clone(),
        true => match relative_path::resolve(of.hint.folder, name) {
            Ok(path) => path,
            Err(why) => {
                let message = format!("{}: the path {why}", of.owner);
                return refuse(message, "name a file in the document's directory", flaws);
            }
        },
    };
    sources.tool = Some(at);
    sources.arguments = of.inputs;
    Some(Action::Call {
        tool: ToolName::new(WORKFLOWS, name),
        arguments: arguments(of, flaws),
    })
}

/// The inputs of the called workflow. In a loop they come from the loop's variables.
fn arguments(of: &NodeReader<'_, '_>, flaws: &mut FlawCollector) -> Template {
    if of.is_looped {
        let mut named: Vec<_> = of
            .locals
            .iter()
            .filter(|(key, _)| !key.starts_with("__"))
            .collect();
        named.sort_by_key(|(key, _)| *key);
        let field = |(key, operands): (&Str, &Vec<ReferenceOperand>)| {
            let reference = OutputReference {
                operands: operands.clone(),
                is_certain: false,
            };
            (key.clone(), Template::Expr(reference.jsonata().into()))
        };
        return Template::Object(named.into_iter().map(field).collect());
    }
    match of.inputs {
        Some(at) => of.reader(flaws).template(at),
        None => Template::Literal(Value::object::<Str>([])),
    }
}
