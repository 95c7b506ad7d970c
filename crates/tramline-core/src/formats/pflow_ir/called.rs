//! A node that runs another workflow: a saved one by its name, or a document beside this one.

use super::nodes::Reading;
use super::templates::SIGN;
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::beside;
use crate::formats::reference::{Operand, Reference};
use crate::formats::sketch::Sources;
use crate::formats::yaml_graph::fields;
use crate::ids::ToolName;
use crate::workflow::{Action, Template, WORKFLOW_SERVER as WORKFLOWS};
use tramline_expr::{Str, Value};

/// The fields that name the workflow.
const NAMES: [&str; 5] = [
    "workflow_name",
    "workflow",
    "workflow_ref",
    "workflow_ir",
    "name",
];
/// The fields that hold its inputs.
pub(super) const INPUTS: [&str; 3] = ["inputs", "param_mapping", "params"];

/// Reads what a `workflow` node calls, and with what.
pub(super) fn read<'t>(
    of: &Reading<'_, 't>,
    sources: &mut Sources<'t>,
    flaws: &mut Flaws,
) -> Option<Action> {
    let named = of.params.and_then(|at| fields::given_as(at, &NAMES));
    let Some((key, at)) = named else {
        let hint = "name a saved workflow, or a file beside this one";
        of.missing("workflow", hint, flaws);
        return None;
    };
    let refuse = |message: String, hint: &str, flaws: &mut Flaws| {
        flaws.add(Code::Unsupported, at.place(), message, hint);
        None
    };
    if at.value.as_object().is_some() {
        let message = format!(
            "{} holds a whole workflow, which is not carried over",
            of.owner
        );
        return refuse(message, "save it, and name it here", flaws);
    }
    let (name, _) = fields::as_text(at, key, flaws)?;
    if name.contains(SIGN) {
        let message = format!("{} chooses its workflow only when it runs", of.owner);
        let hint = "name each workflow in a node of its own, and lead there by a `switch`";
        return refuse(message, hint, flaws);
    }
    let name = match beside::is_path(name) {
        false => name.clone(),
        true => match beside::resolve(of.hint.folder, name) {
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

/// In a loop every round has its own inputs, which stand elsewhere.
fn arguments(of: &Reading<'_, '_>, flaws: &mut Flaws) -> Template {
    if of.looped {
        let mut named: Vec<_> = of
            .locals
            .iter()
            .filter(|(key, _)| !key.starts_with("__"))
            .collect();
        named.sort_by_key(|(key, _)| *key);
        let field = |(key, operands): (&Str, &Vec<Operand>)| {
            let reference = Reference {
                operands: operands.clone(),
                sure: false,
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
