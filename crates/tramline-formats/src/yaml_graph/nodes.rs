//! A node as written in the file: its action, edges and source locations.

use super::{fields, node_options};
use crate::ask_form;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::workflow::{Action, ERROR_LABEL, Edge, Node, SwitchRule};

/// The types of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeType {
    Entry,
    Mcp,
    Workflow,
    Transform,
    Switch,
    Wait,
    Ask,
    Exit,
}

/// All names of a type; `mcp_tool` is legacy.
pub(super) const KINDS: [(&str, NodeType); 9] = [
    ("entry", NodeType::Entry),
    ("mcp", NodeType::Mcp),
    ("workflow", NodeType::Workflow),
    ("transform", NodeType::Transform),
    ("switch", NodeType::Switch),
    ("wait", NodeType::Wait),
    (ask_form::ASK, NodeType::Ask),
    ("exit", NodeType::Exit),
    ("mcp_tool", NodeType::Mcp),
];

/// Types of other systems in lower case without separators, each with ours.
pub(crate) const OTHER_KINDS: [(&[&str], &str); 7] = [
    (&["start", "begin", "input", "trigger"], "entry"),
    (
        &["end", "finish", "stop", "done", "return", "terminal"],
        "exit",
    ),
    (
        &[
            "if",
            "condition",
            "conditional",
            "branch",
            "router",
            "choice",
            "decision",
            "ifelse",
        ],
        "switch",
    ),
    (
        &[
            "tool", "toolcall", "call", "action", "function", "task", "mcptool", "http",
        ],
        "mcp",
    ),
    (
        &[
            "set",
            "compute",
            "expression",
            "code",
            "script",
            "jsonata",
            "javascript",
            "python",
        ],
        "transform",
    ),
    (&["subworkflow", "subgraph", "flow", "subflow"], "workflow"),
    (&["sleep", "delay", "timer"], "wait"),
];

/// A type in lower case without separators.
pub(crate) fn plain_kind(name: &str) -> String {
    name.to_lowercase().replace(['_', '-', ' '], "")
}

impl NodeType {
    /// All types.
    pub(super) const ALL: [Self; 8] = [
        Self::Entry,
        Self::Mcp,
        Self::Workflow,
        Self::Transform,
        Self::Switch,
        Self::Wait,
        Self::Ask,
        Self::Exit,
    ];

    /// The fields of this type, in addition to [`EVERYWHERE`].
    pub(super) fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Entry => &["next"],
            Self::Mcp => &["server", "args", "map", "next", "idempotent", "readOnly"],
            Self::Workflow => &["workflow", "args", "map", "next"],
            Self::Transform => &["transform", "next"],
            Self::Switch => &["conditions", "next"],
            Self::Wait => &["for", "until", "next"],
            Self::Ask => &[
                "message",
                "schema",
                "defaults",
                "timeout",
                "answered-by",
                "answeredBy",
                "next",
                "on-decline",
                "onDecline",
                "on-cancel",
                "onCancel",
                "on-timeout",
                "onTimeout",
            ],
            Self::Exit => &[],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Mcp => "mcp",
            Self::Workflow => "workflow",
            Self::Transform => "transform",
            Self::Switch => "switch",
            Self::Wait => "wait",
            Self::Ask => ask_form::ASK,
            Self::Exit => "exit",
        }
    }

    /// Whether the node can fail.
    pub(super) fn can_fail(self) -> bool {
        match self {
            Self::Mcp | Self::Workflow | Self::Transform | Self::Switch | Self::Ask => true,
            Self::Entry | Self::Wait | Self::Exit => false,
        }
    }

    /// Whether the node has attempts, which can take time, be repeated or need approval.
    pub(super) fn has_attempts(self) -> bool {
        match self {
            Self::Mcp | Self::Workflow | Self::Transform | Self::Switch => true,
            Self::Entry | Self::Wait | Self::Ask | Self::Exit => false,
        }
    }
}

/// The fields of every node. `tool` names the owner of a node at top level.
pub(super) const COMMON_FIELDS: [&str; 5] = ["id", "type", "description", "tool", "join"];

/// Most successors of one node: far more than can run in parallel.
const TARGETS_MAX: usize = 1_000;

/// A parsed node with the source locations that later checks need.
#[derive(Clone)]
pub(super) struct NodeDraft<'t> {
    pub(super) node: Node,
    /// `None` if the type is missing or unknown.
    pub(super) kind: Option<NodeType>,
    pub(super) edges: Vec<(Edge, Spanned<'t>)>,
    pub(super) at: Spanned<'t>,
    /// The location of its id.
    pub(super) id: Spanned<'t>,
    /// The tool that it names as its owner.
    pub(super) owner: Option<(&'t Str, Spanned<'t>)>,
    pub(super) sources: DraftSources<'t>,
    /// Whether parts of it could not be read.
    pub(super) is_incomplete: bool,
}

/// The source locations of a node's parts.
#[derive(Clone, Default)]
pub(super) struct DraftSources<'t> {
    pub(super) arguments: Option<Spanned<'t>>,
    pub(super) items: Option<Spanned<'t>>,
    pub(super) time: Option<Spanned<'t>>,
    pub(super) expression: Option<Spanned<'t>>,
    pub(super) rules: Vec<Spanned<'t>>,
    pub(super) server: Option<Spanned<'t>>,
    pub(super) tool: Option<Spanned<'t>>,
}

impl<'t> NodeDraft<'t> {
    /// Reads a node. `assumed` is its type if the file declares it elsewhere.
    pub(super) fn read(
        at: Spanned<'t>,
        number: usize,
        assumed: impl Fn(&str) -> Option<NodeType>,
        flaws: &mut FlawCollector,
    ) -> Self {
        let before = flaws.count();
        let id = if at.value.as_object().is_some() {
            let hint = "give it a unique id";
            fields::required_string(at, "a node", "id", hint, flaws)
        } else {
            fields::report_wrong_type(
                at,
                "nodes",
                "a list of objects",
                "start each node with `- id:`",
                flaws,
            );
            None
        };
        let name = id.map_or_else(|| Str::from(format!("#{number}")), |(id, _)| id.clone());
        let mut draft = Self {
            node: Node::new(name, Action::Exit),
            kind: None,
            edges: Vec::new(),
            at,
            id: id.map_or(at, |(_, at)| at),
            owner: None,
            sources: DraftSources::default(),
            is_incomplete: false,
        };
        if at.value.as_object().is_some() {
            draft.kind = node_type(at, &draft.node.id, assumed, flaws);
            draft.read_body(flaws);
        }
        // Warnings alone do not make a node unusable.
        draft.is_incomplete = flaws.has_errors_since(before);
        draft
    }

    fn read_body(&mut self, flaws: &mut FlawCollector) {
        let at = self.at;
        let stand_in = Action::Compute {
            expression: "null".into(),
        };
        self.node.action = match self.kind {
            Some(NodeType::Entry) => Action::Entry,
            Some(NodeType::Exit) => Action::Exit,
            Some(NodeType::Mcp) => self.read_call(flaws),
            Some(NodeType::Workflow) => self.read_workflow_call(flaws),
            Some(NodeType::Wait) => self.read_wait(flaws).unwrap_or(stand_in),
            Some(NodeType::Transform) => self.read_transform(flaws).unwrap_or(stand_in),
            Some(NodeType::Switch) => self.read_switch(flaws),
            Some(NodeType::Ask) => self.read_ask(flaws).unwrap_or(stand_in),
            None => stand_in,
        };
        if !matches!(self.kind, Some(NodeType::Mcp)) {
            self.owner = fields::optional_string(at, "tool", flaws);
        }
        if !matches!(self.kind, Some(NodeType::Switch)) {
            self.read_next(flaws);
        }
        node_options::read(at, self.kind, &mut self.node, flaws);
        if self.kind.is_none_or(NodeType::can_fail)
            && let Some((key, field)) = fields::first_present(at, &node_options::ON_ERROR)
            && let Some((to, field)) = fields::string_value(field, key, flaws)
        {
            let edge = Edge::labelled(self.node.id.clone(), to.clone(), ERROR_LABEL);
            self.edges.push((edge, field));
        }
        if let Some(kind) = self.kind {
            let mut known: Vec<&str> = COMMON_FIELDS.to_vec();
            known.extend(kind.fields());
            known.extend(node_options::option_fields(kind));
            let owner = format!("the {} node `{}`", kind.name(), display_name(&self.node.id));
            fields::warn_unknown(at, &owner, &known, flaws);
        }
    }

    pub(super) fn owner_text(&self) -> String {
        format!("node `{}`", display_name(&self.node.id))
    }

    fn read_next(&mut self, flaws: &mut FlawCollector) {
        let Some(next) = fields::present(self.at, "next") else {
            return;
        };
        let targets: Vec<Spanned<'t>> = if next.value.as_array().is_some() {
            next.items().collect()
        } else {
            vec![next]
        };
        if targets.len() > TARGETS_MAX {
            flaws.add(
                FlawCode::TooMany,
                next.source_span(),
                format!("`next` names more than {TARGETS_MAX} nodes"),
                "use fewer edges, and reach the other nodes from those",
            );
            return;
        }
        for target in targets {
            if let Value::String(to) = target.value {
                let edge = Edge::new(self.node.id.clone(), to.clone());
                self.edges.push((edge, target));
            } else {
                fields::report_wrong_type(
                    target,
                    "next",
                    "a node id or a list of them",
                    "name the next node",
                    flaws,
                );
            }
        }
    }

    fn read_transform(&mut self, flaws: &mut FlawCollector) -> Option<Action> {
        let owner = self.owner_text();
        let hint = "write `transform:` and below it `expr:` with a JSONata expression";
        let Some(transform) = fields::present(self.at, "transform") else {
            fields::report_missing(self.at, &owner, "transform", hint, flaws);
            return None;
        };
        if transform.value.as_object().is_none() {
            fields::report_wrong_type(transform, "transform", "an object with `expr`", hint, flaws);
            return None;
        }
        fields::warn_unknown(transform, "`transform`", &["expr"], flaws);
        if let Some(expr) = fields::present(transform, "expr")
            && matches!(expr.value, Value::Object(_) | Value::Array(_))
        {
            let hint = "put the expression in single quotes, or in a block after `|`";
            fields::report_wrong_type(expr, "expr", "a string", hint, flaws);
            return None;
        }
        let owner = format!("`transform` of {owner}");
        let (source, at) = fields::required_string(transform, &owner, "expr", hint, flaws)?;
        self.sources.expression = Some(at);
        Some(Action::Compute {
            expression: source.clone(),
        })
    }

    fn read_switch(&mut self, flaws: &mut FlawCollector) -> Action {
        let owner = self.owner_text();
        let hint = "write a list of `rule` (JSON Logic) and `next`";
        let mut rules = Vec::new();
        let mut otherwise = fields::optional_string(self.at, "next", flaws);
        match fields::present(self.at, "conditions") {
            Some(list) if list.value.as_array().is_some_and(|list| !list.is_empty()) => {
                let last = list.items().len() - 1;
                for (place, condition) in list.items().enumerate() {
                    self.read_condition(
                        condition,
                        place == last,
                        &mut rules,
                        &mut otherwise,
                        flaws,
                    );
                }
            }
            Some(list) if list.value.as_array().is_none() => {
                fields::report_wrong_type(list, "conditions", "a list", hint, flaws);
            }
            Some(_) | None => fields::report_missing(self.at, &owner, "conditions", hint, flaws),
        }
        if let Some((to, at)) = otherwise {
            let edge = Edge::labelled(self.node.id.clone(), to.clone(), to.clone());
            self.edges.push((edge, at));
        }
        Action::Choose {
            rules,
            otherwise: otherwise.map(|(to, _)| to.clone()),
        }
    }

    /// Reads a condition. Legacy files write `target`, and a last condition without a rule is the default.
    fn read_condition(
        &mut self,
        at: Spanned<'t>,
        is_last: bool,
        rules: &mut Vec<SwitchRule>,
        otherwise: &mut Option<(&'t Str, Spanned<'t>)>,
        flaws: &mut FlawCollector,
    ) {
        if at.value.as_object().is_none() {
            let hint = "write `rule` and `next`";
            fields::report_wrong_type(at, "conditions", "a list of objects", hint, flaws);
            return;
        }
        let owner = format!("a condition of {}", self.owner_text());
        fields::warn_unknown(at, &owner, &["rule", "next", "target"], flaws);
        let to = match fields::first_present(at, &["next", "target"]) {
            Some((key, field)) => fields::string_value(field, key, flaws),
            None => {
                fields::report_missing(at, &owner, "next", "name the next node", flaws);
                None
            }
        };
        match (at.get("rule"), to) {
            (Some(rule), Some((to, to_at))) => {
                self.sources.rules.push(rule);
                rules.push(SwitchRule {
                    rule: rule.value.clone(),
                    label: to.clone(),
                });
                let edge = Edge::labelled(self.node.id.clone(), to.clone(), to.clone());
                self.edges.push((edge, to_at));
            }
            (None, Some((_, to_at))) if is_last && otherwise.is_some() => flaws.add(
                FlawCode::Duplicate,
                to_at.source_span(),
                format!("{} has two defaults", self.owner_text()),
                "keep its `next`, or the condition without a rule",
            ),
            (None, Some(to)) if is_last => *otherwise = Some(to),
            (None, Some(_)) => {
                let hint = "only the last condition may omit its rule, as the default";
                fields::report_missing(at, &owner, "rule", hint, flaws);
            }
            (_, None) => {}
        }
    }
}

/// The type of a node.
fn node_type(
    at: Spanned<'_>,
    id: &str,
    assumed: impl Fn(&str) -> Option<NodeType>,
    flaws: &mut FlawCollector,
) -> Option<NodeType> {
    let names = || KINDS.iter().map(|(name, _)| *name);
    let owner = format!("node `{}`", display_name(id));
    if fields::present(at, "type").is_none() {
        let kind = assumed(id);
        if kind.is_none() {
            let telling = [
                ("conditions", "switch"),
                ("transform", "transform"),
                ("server", "mcp"),
                ("workflow", "workflow"),
                ("message", "ask"),
            ];
            let hint = match telling.iter().find(|(field, _)| at.get(field).is_some()) {
                Some((_, kind)) => format!("add `type: {kind}`"),
                None => format!("add `type`: {}", known_types("or")),
            };
            fields::report_missing(at, &owner, "type", &hint, flaws);
        }
        return kind;
    }
    let (name, place) = fields::optional_string(at, "type", flaws)?;
    let found = KINDS.iter().find(|(known, _)| known == name);
    if found.is_none() {
        let other = OTHER_KINDS
            .iter()
            .find(|(others, _)| others.contains(&plain_kind(name).as_str()));
        let hint = match other
            .map(|(_, ours)| *ours)
            .or_else(|| nearest(name, names()))
        {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("types are {}", known_types("and")),
        };
        let message = format!("{owner} has the unknown type `{}`", display_name(name));
        flaws.add(FlawCode::UnknownKind, place.source_span(), message, hint);
    }
    found.map(|(_, kind)| *kind)
}

fn known_types(last: &str) -> String {
    let names = NodeType::ALL.map(NodeType::name);
    let (end, rest) = names.split_last().unwrap_or((&"", &[]));
    format!("{} {last} {end}", rest.join(", "))
}
