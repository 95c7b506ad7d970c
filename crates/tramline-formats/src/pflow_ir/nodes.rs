//! A single node: its type is a tool, its parameters are the tool's arguments.

use super::loops::{self, NodeLoop};
use super::node_types::{self, ARGUMENT_ALIASES, BUILTINS};
use super::reference_scope::{LocalInputs, ReferenceScope, operands_of};
use super::templates::TemplateReader;
use super::{batch, retry, subworkflow};
use crate::ReadOptions;
use crate::ask_form::{self, ASK, DEFAULTS, MESSAGE};
use crate::reference::OutputReference;
use crate::workflow_builder::NodeSources;
use crate::yaml_graph::nodes::{NodeType, OTHER_KINDS, plain_kind};
use crate::yaml_graph::{fields, node_options};
use tramline_expr::{Map, Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::workflow::{
    Action, Node, SwitchRule, Template, WORKFLOW_SERVER as WORKFLOWS,
};

/// The known fields of a node.
const FIELDS: [&str; 27] = [
    "id",
    "type",
    "purpose",
    "description",
    "params",
    "inputs",
    "batch",
    "loop",
    "next",
    "on-error",
    "on_error",
    "onError",
    "cache",
    "prompt_cache",
    "prewarm",
    "timeout",
    "retry",
    "approval",
    "idempotent",
    "readOnly",
    "join",
    "on-decline",
    "onDecline",
    "on-cancel",
    "onCancel",
    "on-timeout",
    "onTimeout",
];

/// Node types that are not tools; these exist only in Tramline.
pub(super) const TRANSFORM: &str = "transform";
pub(super) const SWITCH: &str = "switch";
/// A node that runs a program.
const CODE: &str = "code";
/// Cache settings of other systems. They have no effect: every call is made.
pub(super) const CACHE_FIELDS: [&str; 3] = ["cache", "prompt_cache", "prewarm"];
/// The type of a node that ends the run, and the target name for it.
pub(super) const END: &str = "end";

/// The parameter that sets the step's timeout and is not passed to the tool.
const TIMEOUT: &str = "timeout";
/// The input that confirms a file deletion; if given, it must be true.
const CONFIRM: &str = "confirm_delete";

/// Whether a type names a server's tool.
pub(super) fn is_remote(kind: &str) -> bool {
    kind.starts_with("mcp-") || kind.contains(':')
}

/// Reads a node.
pub(super) fn read<'t>(
    at: Spanned<'t>,
    number: usize,
    names: &ReferenceScope<'t>,
    servers: &[Str],
    hint: ReadOptions<'_>,
    flaws: &mut FlawCollector,
) -> (Node, NodeSources<'t>, Option<NodeLoop<'t>>) {
    let mut sources = NodeSources::at(at);
    let mut node = Node::new(
        format!("#{number}"),
        Action::Compute {
            expression: "null".into(),
        },
    );
    if at.value.as_object().is_none() {
        let advice = "write `id`, `type` and `params`";
        fields::report_wrong_type(at, "nodes", "a list of objects", advice, flaws);
        return (node, sources, None);
    }
    let advice = "give it a unique id";
    if let Some((id, place)) = fields::required_string(at, "a node", "id", advice, flaws) {
        node.id = id.clone();
        sources.id = place;
    }
    let owner = format!("node `{}`", display_name(&node.id));
    fields::warn_unknown(at, &owner, &FIELDS, flaws);
    node_options::read_with_retry(at, Some(NodeType::Mcp), retry::read, &mut node, flaws);
    warn_cache_fields(at, &owner, flaws);
    if let Some(batch) = fields::present(at, "batch") {
        batch::read(batch, names, &mut node, &mut sources, flaws);
    }
    let item = node.each.as_ref().map(|each| each.name.clone());
    let params = fields::present(at, "params");
    if let Some(params) = params.filter(|params| params.value.as_object().is_none()) {
        fields::report_wrong_type(params, "params", "an object", "name each parameter", flaws);
    }
    let advice = "set its type: `http`, `read-file`, `server:tool`";
    let Some((kind, place)) = fields::required_string(at, &owner, "type", advice, flaws) else {
        return (node, sources, None);
    };
    sources.tool = Some(place);
    if let Some(params) = params.filter(|_| node_types::is_pflow_type(kind)) {
        read_timeout(params, &mut node, flaws);
    }
    let inputs = own_inputs(at, params, kind);
    let mut looped = None;
    let mut locals = LocalInputs::new();
    match fields::present(at, "loop") {
        Some(at) if node.each.is_some() => loops::reject_batch(at, &node.id, flaws),
        Some(at) => {
            if let Some((one, own)) = loops::read(at, &node.id, inputs, names, flaws) {
                looped = Some(one);
                locals = own;
            }
        }
        None if kind == WORKFLOWS => {}
        None => locals = locals_of(inputs, item.as_deref(), names, flaws),
    }
    let reading = NodeReader {
        owner: &owner,
        place,
        params,
        inputs,
        is_looped: looped.is_some(),
        item: item.as_deref(),
        locals: &locals,
        names,
        servers,
        hint,
    };
    if let Some(action) = reading.action(kind, &mut sources, flaws) {
        node.action = action;
    }
    (node, sources, looped)
}

/// The named inputs of a node: those of a called workflow, or values for its own parameters.
fn own_inputs<'t>(at: Spanned<'t>, params: Option<Spanned<'t>>, kind: &str) -> Option<Spanned<'t>> {
    let within = params.filter(|_| node_types::is_pflow_type(kind) || kind == WORKFLOWS);
    fields::present(at, "inputs").or_else(|| {
        let (_, at) = fields::first_present(within?, &subworkflow::INPUT_FIELDS)?;
        Some(at)
    })
}

fn locals_of<'t>(
    inputs: Option<Spanned<'t>>,
    item: Option<&str>,
    names: &ReferenceScope<'t>,
    flaws: &mut FlawCollector,
) -> LocalInputs {
    let Some(at) = inputs else {
        return LocalInputs::new();
    };
    if at.value.as_object().is_none() {
        fields::report_wrong_type(at, "inputs", "an object", "name each value", flaws);
        return LocalInputs::new();
    }
    let mut reader = TemplateReader {
        item,
        ..TemplateReader::new(names, flaws)
    };
    let named = at.fields();
    named
        .map(|(key, field)| (key.clone(), operands_of(&reader.template(field))))
        .collect()
}

/// Reads `timeout` in seconds from the parameters of pflow's own types.
fn read_timeout(params: Spanned<'_>, node: &mut Node, flaws: &mut FlawCollector) {
    if let Some(at) = fields::present(params, TIMEOUT)
        && node.timeout_ms.is_none()
    {
        node.timeout_ms = Some(retry::wait_ms(at, TIMEOUT, flaws)).filter(|ms| *ms > 0);
    }
}

/// Warns about cache settings, which have no effect.
fn warn_cache_fields(at: Spanned<'_>, owner: &str, flaws: &mut FlawCollector) {
    for key in CACHE_FIELDS {
        if let Some(field) = fields::present(at, key)
            && field.value.as_bool() != Some(false)
        {
            flaws.add(
                FlawCode::UnknownField,
                field.own_key_span().unwrap_or_else(|| field.source_span()),
                format!("`{key}` of {owner} has no effect: responses are not cached"),
                "remove it",
            );
        }
    }
}

pub(super) struct NodeReader<'a, 't> {
    pub(super) owner: &'a str,
    pub(super) place: Spanned<'t>,
    pub(super) params: Option<Spanned<'t>>,
    pub(super) inputs: Option<Spanned<'t>>,
    pub(super) is_looped: bool,
    /// The name of the batch item.
    pub(super) item: Option<&'a str>,
    pub(super) locals: &'a LocalInputs,
    pub(super) names: &'a ReferenceScope<'t>,
    servers: &'a [Str],
    pub(super) hint: ReadOptions<'a>,
}

impl<'t> NodeReader<'_, 't> {
    fn action(
        &self,
        kind: &str,
        sources: &mut NodeSources<'t>,
        flaws: &mut FlawCollector,
    ) -> Option<Action> {
        match kind {
            TRANSFORM => return self.transform(sources, flaws),
            SWITCH => return self.switch(sources, flaws),
            END => return Some(Action::Exit),
            WORKFLOWS => return subworkflow::read(self, sources, flaws),
            CODE => return self.reject_code(flaws),
            ASK => return self.ask(sources, flaws),
            _ => {}
        }
        let Some(tool) = node_types::tool_for_type(kind, self.servers) else {
            let known = BUILTINS
                .into_iter()
                .chain([TRANSFORM, SWITCH, END, WORKFLOWS, ASK]);
            let plain = kind.replace('_', "-");
            let other = OTHER_KINDS
                .iter()
                .find(|(others, _)| others.contains(&plain_kind(kind).as_str()));
            let other = match other.map(|(_, ours)| *ours) {
                Some("exit") => Some(END),
                Some(ours) => [TRANSFORM, SWITCH, WORKFLOWS]
                    .into_iter()
                    .find(|one| *one == ours),
                None => None,
            };
            let same = known.clone().find(|one| *one == plain);
            let hint = match same.or(other).or_else(|| nearest(kind, known)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name a tool as `server:tool` or `mcp-server-tool`".to_owned(),
            };
            let message = format!(
                "{} has the unknown type `{}`",
                self.owner,
                display_name(kind)
            );
            flaws.add(
                FlawCode::UnknownKind,
                self.place.source_span(),
                message,
                hint,
            );
            // Check its parameters as well, to report all flaws at once.
            let _ = self
                .params
                .map(|params| self.reader(flaws).template(params));
            return None;
        };
        sources.arguments = self.params;
        let fields = self.params.into_iter().flat_map(|at| at.fields());
        let mine =
            |key: &Str| node_types::is_pflow_type(kind) && (key == TIMEOUT || key == "inputs");
        let mut fields: Vec<_> = fields
            .filter(|(key, _)| !mine(key))
            .map(|(key, at)| (builtin_argument_name(&tool, key), at))
            .collect();
        if kind == "delete-file"
            && let Some(at) = self.inputs.and_then(|at| at.get(CONFIRM))
        {
            fields.push((CONFIRM.into(), at));
        }
        let creates_folders = kind == "write-file" && !fields.iter().any(|(key, _)| key == CREATE);
        let mut arguments = self.reader(flaws).object(fields);
        if creates_folders {
            add_flag(&mut arguments, CREATE);
        }
        Some(Action::Call { tool, arguments })
    }

    /// A reader for this node's values.
    pub(super) fn reader<'f>(&self, flaws: &'f mut FlawCollector) -> TemplateReader<'_, 't, 'f> {
        TemplateReader {
            names: self.names,
            item: self.item,
            locals: Some(self.locals),
            flaws,
        }
    }

    /// Reads the question of a node that asks with a form.
    fn ask(&self, sources: &mut NodeSources<'t>, flaws: &mut FlawCollector) -> Option<Action> {
        let Some(params) = self.params else {
            self.report_missing(MESSAGE, "write `message` and `schema` into `params`", flaws);
            return None;
        };
        sources.arguments = self.params;
        fields::warn_unknown(params, self.owner, &ask_form::ASK_FIELDS, flaws);
        let mut reader = self.reader(flaws);
        let mut part = |key: &str| Some(reader.template(fields::present(params, key)?));
        let parts = (part(MESSAGE), part(DEFAULTS));
        let form = ask_form::read(params, self.owner, parts, flaws)?;
        Some(Action::Ask(Box::new(form)))
    }

    fn reject_code(&self, flaws: &mut FlawCollector) -> Option<Action> {
        flaws.add(
            FlawCode::Unsupported,
            self.place.source_span(),
            format!("{} runs a program, which is not supported", self.owner),
            "write a `transform` with a JSONata expression, or call a tool",
        );
        None
    }

    fn field(&self, key: &str) -> Option<Spanned<'t>> {
        self.params.and_then(|params| fields::present(params, key))
    }

    pub(super) fn report_missing(&self, key: &str, hint: &str, flaws: &mut FlawCollector) {
        let at = self.params.unwrap_or(self.place);
        fields::report_missing(at, self.owner, key, hint, flaws);
    }

    fn transform(
        &self,
        sources: &mut NodeSources<'t>,
        flaws: &mut FlawCollector,
    ) -> Option<Action> {
        let Some(at) = self.field("expr") else {
            let others = ["expression", "transform", "jsonata", "formula"];
            let other = self
                .params
                .and_then(|at| fields::first_present(at, &others));
            match other {
                Some((key, other)) => flaws.add(
                    FlawCode::MissingField,
                    other.own_key_span().unwrap_or_else(|| other.source_span()),
                    format!(
                        "the `expr` of {} is missing, but it has `{key}`",
                        self.owner
                    ),
                    "did you mean `expr`?",
                ),
                None => {
                    self.report_missing("expr", "write a JSONata expression into `params`", flaws);
                }
            }
            return None;
        };
        let (source, at) = fields::string_value(at, "expr", flaws)?;
        sources.expression = Some(at);
        if self.locals.is_empty() {
            let expression = source.clone();
            return Some(Action::Compute { expression });
        }
        let bound = variable_bindings(self.locals);
        sources.prefix_bytes = bound.len();
        Some(Action::Compute {
            // The line break keeps a trailing comment from hiding the bracket.
            expression: format!("{bound}{source}\n)").into(),
        })
    }

    /// Reads `rules`, each with a `rule` and the `action` it picks, and `otherwise`.
    fn switch(&self, sources: &mut NodeSources<'t>, flaws: &mut FlawCollector) -> Option<Action> {
        let hint = "write a list of `rule` (JSON Logic) and `action` into `params`";
        let Some(list) = self.field("rules") else {
            self.report_missing("rules", hint, flaws);
            return None;
        };
        if list.value.as_array().is_none() {
            fields::report_wrong_type(list, "rules", "a list", hint, flaws);
            return None;
        }
        sources.rules = Some(list);
        let mut rules = Vec::new();
        for at in list.items() {
            let Some(rule) = at.get("rule") else {
                fields::report_missing(at, "a rule", "rule", hint, flaws);
                continue;
            };
            let known = ["rule", "action", "description", "label"];
            fields::warn_unknown(at, "a rule", &known, flaws);
            let label = fields::required_string(at, "a rule", "action", hint, flaws);
            if let Some((label, _)) = label {
                rules.push(SwitchRule {
                    rule: rule.value.clone(),
                    label: label.clone(),
                });
            }
        }
        let otherwise = self.field("otherwise");
        sources.otherwise = otherwise;
        let otherwise = otherwise.and_then(|at| fields::string_value(at, "otherwise", flaws));
        Some(Action::Choose {
            rules,
            otherwise: otherwise.map(|(label, _)| label.clone()),
        })
    }
}

/// Variable bindings for the node's own inputs, placed before an expression.
fn variable_bindings(locals: &LocalInputs) -> String {
    let mut named: Vec<_> = locals.iter().collect();
    named.sort_by_key(|(key, _)| *key);
    let mut source = "(".to_owned();
    for (key, operands) in named {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = key.trim_matches('_').chars().map(plain).collect();
        let reference = OutputReference {
            operands: operands.clone(),
            is_certain: false,
        };
        source.push_str(&format!("${name} := {}; ", reference.jsonata()));
    }
    source
}

/// The argument of `write-file` that creates missing folders, which IRs expect.
const CREATE: &str = "create_dirs";

/// Adds an argument that is true.
fn add_flag(arguments: &mut Template, key: &str) {
    match arguments {
        Template::Object(fields) => fields.push((key.into(), Template::Literal(true.into()))),
        Template::Literal(Value::Object(map)) => {
            let mut map = Map::clone(map);
            map.insert(key, true.into());
            *arguments = Template::Literal(map.into());
        }
        Template::Literal(_) | Template::Expr(_) | Template::Array(_) => {}
    }
}

/// Tramline's name for an argument.
fn builtin_argument_name(tool: &ToolName, key: &Str) -> Str {
    let renamed = ARGUMENT_ALIASES
        .iter()
        .find(|(of, theirs, _)| tool.server == BUILTIN && tool.tool == *of && key == theirs);
    renamed.map_or_else(|| key.clone(), |(_, _, ours)| (*ours).into())
}
