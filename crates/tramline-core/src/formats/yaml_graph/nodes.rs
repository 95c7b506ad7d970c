//! One node of a graph as the file has it: what it does, where it leads, and where that stands.

use super::{care, fields};
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::text::{nearest, shown};
use crate::workflow::{Action, Choice, ERROR_LABEL, Edge, Node};
use tramline_expr::{Str, Value};

/// The types of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum Kind {
    Entry,
    Mcp,
    Workflow,
    Transform,
    Switch,
    Wait,
    Exit,
}

/// Every name of a type; `mcp_tool` is what older files say.
pub(super) const KINDS: [(&str, Kind); 8] = [
    ("entry", Kind::Entry),
    ("mcp", Kind::Mcp),
    ("workflow", Kind::Workflow),
    ("transform", Kind::Transform),
    ("switch", Kind::Switch),
    ("wait", Kind::Wait),
    ("exit", Kind::Exit),
    ("mcp_tool", Kind::Mcp),
];

impl Kind {
    /// Every type.
    pub(super) const ALL: [Self; 7] = [
        Self::Entry,
        Self::Mcp,
        Self::Workflow,
        Self::Transform,
        Self::Switch,
        Self::Wait,
        Self::Exit,
    ];

    /// The fields that nodes of this type have beside those of [`EVERYWHERE`].
    pub(super) fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Entry => &["next"],
            Self::Mcp => &["server", "args", "map", "next", "idempotent", "readOnly"],
            Self::Workflow => &["workflow", "args", "map", "next"],
            Self::Transform => &["transform", "next"],
            Self::Switch => &["conditions", "next"],
            Self::Wait => &["for", "until", "next"],
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
            Self::Exit => "exit",
        }
    }

    /// Whether the node does something that can take time, fail or need approval.
    pub(super) fn acts(self) -> bool {
        match self {
            Self::Mcp | Self::Workflow | Self::Transform | Self::Switch => true,
            Self::Entry | Self::Wait | Self::Exit => false,
        }
    }
}

/// The fields of every node. `tool` says whose node it is, where nodes stand at top level.
pub(super) const EVERYWHERE: [&str; 5] = ["id", "type", "description", "tool", "join"];

/// The most nodes that one node may lead to at once: far above what can run side by side.
const TARGETS_MAX: usize = 1_000;

/// A node read, with what is needed to place what a check finds later.
#[derive(Clone)]
pub(super) struct Draft<'t> {
    pub(super) node: Node,
    /// Not known when the type is missing or strange.
    pub(super) kind: Option<Kind>,
    pub(super) edges: Vec<(Edge, At<'t>)>,
    pub(super) at: At<'t>,
    /// Where its id stands.
    pub(super) id: At<'t>,
    /// The tool it says it belongs to.
    pub(super) owner: Option<(&'t Str, At<'t>)>,
    pub(super) sources: Sources<'t>,
    /// Whether something about it could not be read.
    pub(super) broken: bool,
}

/// Where the source texts of a node stand.
#[derive(Clone, Default)]
pub(super) struct Sources<'t> {
    pub(super) arguments: Option<At<'t>>,
    pub(super) items: Option<At<'t>>,
    pub(super) time: Option<At<'t>>,
    pub(super) expression: Option<At<'t>>,
    pub(super) rules: Vec<At<'t>>,
    pub(super) server: Option<At<'t>>,
    pub(super) tool: Option<At<'t>>,
}

impl<'t> Draft<'t> {
    /// Reads a node. `assumed` is its type where the file says it elsewhere.
    pub(super) fn read(
        at: At<'t>,
        number: usize,
        assumed: impl Fn(&str) -> Option<Kind>,
        flaws: &mut Flaws,
    ) -> Self {
        let before = flaws.count();
        let id = if at.value.as_object().is_some() {
            let hint = "give it an id that is unique in its graph";
            fields::required(at, "a node", "id", hint, flaws)
        } else {
            fields::wrong(
                at,
                "nodes",
                "a list of objects",
                "begin each node with `- id:`",
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
            sources: Sources::default(),
            broken: false,
        };
        if at.value.as_object().is_some() {
            draft.kind = kind(at, &draft.node.id, assumed, flaws);
            draft.act(flaws);
        }
        // Warnings alone do not spoil a node.
        draft.broken = flaws.fatal_since(before);
        draft
    }

    fn act(&mut self, flaws: &mut Flaws) {
        let at = self.at;
        let stand_in = Action::Compute {
            expression: "null".into(),
        };
        self.node.action = match self.kind {
            Some(Kind::Entry) => Action::Entry,
            Some(Kind::Exit) => Action::Exit,
            Some(Kind::Mcp) => self.call(flaws),
            Some(Kind::Workflow) => self.child(flaws),
            Some(Kind::Wait) => self.wait(flaws).unwrap_or(stand_in),
            Some(Kind::Transform) => self.compute(flaws).unwrap_or(stand_in),
            Some(Kind::Switch) => self.choose(flaws),
            None => stand_in,
        };
        if !matches!(self.kind, Some(Kind::Mcp)) {
            self.owner = fields::text(at, "tool", flaws);
        }
        if !matches!(self.kind, Some(Kind::Switch)) {
            self.next(flaws);
        }
        care::read(at, self.kind, &mut self.node, flaws);
        if self.kind.is_none_or(Kind::acts)
            && let Some((key, field)) = fields::given_as(at, &care::ON_ERROR)
            && let Some((to, field)) = fields::as_text(field, key, flaws)
        {
            let edge = Edge::labelled(self.node.id.clone(), to.clone(), ERROR_LABEL);
            self.edges.push((edge, field));
        }
        if let Some(kind) = self.kind {
            let mut known: Vec<&str> = EVERYWHERE.to_vec();
            known.extend(kind.fields());
            known.extend(care::fields(kind));
            let owner = format!("the {} node `{}`", kind.name(), shown(&self.node.id));
            fields::unknown(at, &owner, &known, flaws);
        }
    }

    pub(super) fn owner_text(&self) -> String {
        format!("node `{}`", shown(&self.node.id))
    }

    fn next(&mut self, flaws: &mut Flaws) {
        let Some(next) = fields::given(self.at, "next") else {
            return;
        };
        let targets: Vec<At<'t>> = if next.value.as_array().is_some() {
            next.items().collect()
        } else {
            vec![next]
        };
        if targets.len() > TARGETS_MAX {
            flaws.add(
                Code::TooMany,
                next.place(),
                format!("`next` names more than the {TARGETS_MAX} nodes allowed"),
                "lead to fewer nodes, and from them to the others",
            );
            return;
        }
        for target in targets {
            if let Value::String(to) = target.value {
                let edge = Edge::new(self.node.id.clone(), to.clone());
                self.edges.push((edge, target));
            } else {
                fields::wrong(
                    target,
                    "next",
                    "a node id or a list of them",
                    "name the node that comes next",
                    flaws,
                );
            }
        }
    }

    fn compute(&mut self, flaws: &mut Flaws) -> Option<Action> {
        let owner = self.owner_text();
        let hint = "write `transform:` and below it `expr:` with a JSONata expression";
        let Some(transform) = fields::given(self.at, "transform") else {
            fields::missing(self.at, &owner, "transform", hint, flaws);
            return None;
        };
        if transform.value.as_object().is_none() {
            fields::wrong(transform, "transform", "an object with `expr`", hint, flaws);
            return None;
        }
        fields::unknown(transform, "`transform`", &["expr"], flaws);
        if let Some(expr) = fields::given(transform, "expr")
            && matches!(expr.value, Value::Object(_) | Value::Array(_))
        {
            let hint = "put the expression into single quotes, or into a block after `|`";
            fields::wrong(expr, "expr", "a string", hint, flaws);
            return None;
        }
        let owner = format!("`transform` of {owner}");
        let (source, at) = fields::required(transform, &owner, "expr", hint, flaws)?;
        self.sources.expression = Some(at);
        Some(Action::Compute {
            expression: source.clone(),
        })
    }

    fn choose(&mut self, flaws: &mut Flaws) -> Action {
        let owner = self.owner_text();
        let hint = "write a list of `rule` and `next`";
        let mut rules = Vec::new();
        let mut otherwise = fields::text(self.at, "next", flaws);
        match fields::given(self.at, "conditions") {
            Some(list) if list.value.as_array().is_some_and(|list| !list.is_empty()) => {
                let last = list.items().len() - 1;
                for (place, condition) in list.items().enumerate() {
                    self.condition(condition, place == last, &mut rules, &mut otherwise, flaws);
                }
            }
            Some(list) if list.value.as_array().is_none() => {
                fields::wrong(list, "conditions", "a list", hint, flaws);
            }
            Some(_) | None => fields::missing(self.at, &owner, "conditions", hint, flaws),
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

    /// One condition. Older files write `target`, and their default is a last one without a rule.
    fn condition(
        &mut self,
        at: At<'t>,
        is_last: bool,
        rules: &mut Vec<Choice>,
        otherwise: &mut Option<(&'t Str, At<'t>)>,
        flaws: &mut Flaws,
    ) {
        if at.value.as_object().is_none() {
            let hint = "write `rule` and `next`";
            fields::wrong(at, "conditions", "a list of objects", hint, flaws);
            return;
        }
        let owner = format!("a condition of {}", self.owner_text());
        fields::unknown(at, &owner, &["rule", "next", "target"], flaws);
        let to = match fields::given_as(at, &["next", "target"]) {
            Some((key, field)) => fields::as_text(field, key, flaws),
            None => {
                fields::missing(at, &owner, "next", "name the node it leads to", flaws);
                None
            }
        };
        match (at.get("rule"), to) {
            (Some(rule), Some((to, to_at))) => {
                self.sources.rules.push(rule);
                rules.push(Choice {
                    rule: rule.value.clone(),
                    label: to.clone(),
                });
                let edge = Edge::labelled(self.node.id.clone(), to.clone(), to.clone());
                self.edges.push((edge, to_at));
            }
            (None, Some((_, to_at))) if is_last && otherwise.is_some() => flaws.add(
                Code::Duplicate,
                to_at.place(),
                format!("{} has two defaults", self.owner_text()),
                "keep its `next`, or the condition without a rule",
            ),
            (None, Some(to)) if is_last => *otherwise = Some(to),
            (None, Some(_)) => {
                let hint = "only the last condition may stand without a rule, as the default";
                fields::missing(at, &owner, "rule", hint, flaws);
            }
            (_, None) => {}
        }
    }
}

/// The type of a node.
fn kind(
    at: At<'_>,
    id: &str,
    assumed: impl Fn(&str) -> Option<Kind>,
    flaws: &mut Flaws,
) -> Option<Kind> {
    let names = || KINDS.iter().map(|(name, _)| *name);
    let owner = format!("node `{}`", shown(id));
    if fields::given(at, "type").is_none() {
        let kind = assumed(id);
        if kind.is_none() {
            let telling = [
                ("conditions", "switch"),
                ("transform", "transform"),
                ("server", "mcp"),
                ("workflow", "workflow"),
            ];
            let hint = match telling.iter().find(|(field, _)| at.get(field).is_some()) {
                Some((_, kind)) => format!("add `type: {kind}`"),
                None => format!("add `type`: {}", known_kinds("or")),
            };
            fields::missing(at, &owner, "type", &hint, flaws);
        }
        return kind;
    }
    let (name, place) = fields::text(at, "type", flaws)?;
    let found = KINDS.iter().find(|(known, _)| known == name);
    if found.is_none() {
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("types are {}", known_kinds("and")),
        };
        let message = format!("{owner} has the unknown type `{}`", shown(name));
        flaws.add(Code::UnknownKind, place.place(), message, hint);
    }
    found.map(|(_, kind)| *kind)
}

fn known_kinds(last: &str) -> String {
    let names = Kind::ALL.map(Kind::name);
    let (end, rest) = names.split_last().unwrap_or((&"", &[]));
    format!("{} {last} {end}", rest.join(", "))
}
