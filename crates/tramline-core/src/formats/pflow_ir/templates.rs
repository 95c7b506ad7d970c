//! `${…}`: references inside values, checked against the nodes and inputs there are.

use super::declared::Input;
use super::loops::{self, Ids};
use super::nodes::is_remote;
use super::types::OUTPUTS;
use crate::flaw::{Code, Place};
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::reference::{
    Operand, Path, Piece, Reference, Step, into, joined, reference_of, steps, text,
};
use crate::text::{nearest, shown};
use crate::workflow::Template;
use std::collections::HashMap;
use std::ops::Range;
use tramline_expr::{Str, Value};

/// What begins a reference; with another `$` before it, it is just text.
pub(super) const SIGN: &str = "${";

/// What the place of an item is called.
pub(super) const INDEX: &str = "__index__";

/// Past this many flaws nobody is told which name was meant, or where in a text it stands: looking
/// for it costs too much.
const EXACT_MAX: usize = 100;

/// What `${…}` may name.
pub(super) struct Names<'t> {
    /// The type of each node by its id, and whether it runs once for each of many items.
    nodes: HashMap<&'t str, (&'t str, bool)>,
    order: Vec<&'t str>,
    /// The nodes that are done again while a condition holds.
    loops: HashMap<&'t str, Ids>,
    pub(super) inputs: Vec<Input>,
    /// The ids of the nodes that this reader adds.
    pub(super) entry: Str,
    pub(super) exit: Str,
    pub(super) outputs: Str,
}

impl<'t> Names<'t> {
    pub(super) fn of(list: At<'t>, inputs: Vec<Input>) -> Self {
        let text = |node: &'t Value, key: &str| node.get(key).and_then(Value::as_str);
        let mut nodes = HashMap::new();
        let mut order = Vec::new();
        for node in list.value.as_array().unwrap_or_default() {
            if let Some(id) = text(node, "id") {
                let spread = node.get("batch").is_some_and(|batch| !batch.is_null());
                nodes.insert(id, (text(node, "type").unwrap_or_default(), spread));
                order.push(id);
            }
        }
        let free = |name: &str| {
            let mut id = name.to_owned();
            while nodes.contains_key(id.as_str()) {
                id.push('_');
            }
            Str::from(id)
        };
        let has_loop = |node: &&Value| node.get("loop").is_some_and(|at| !at.is_null());
        let listed = list.value.as_array().unwrap_or_default().iter();
        let loops = listed
            .filter(has_loop)
            .filter_map(|node| text(node, "id"))
            .map(|id| (id, Ids::of(id, |name| nodes.contains_key(name))))
            .collect();
        Self {
            entry: free("entry"),
            exit: free("exit"),
            outputs: free("outputs"),
            nodes,
            order,
            loops,
            inputs,
        }
    }

    pub(super) fn is_node(&self, id: &str) -> bool {
        self.nodes.contains_key(id)
    }

    /// The type of a node.
    pub(super) fn kind(&self, id: &str) -> Option<&'t str> {
        self.nodes.get(id).map(|(kind, _)| *kind)
    }

    /// The nodes that the loop of a node adds.
    pub(super) fn loop_of(&self, id: &str) -> Option<&Ids> {
        self.loops.get(id)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &'t str> {
        self.order.iter().copied()
    }

    /// What a name and the steps after it stand for, in the order in which they are tried.
    fn operands(&self, name: &str, steps: Vec<Step>) -> Option<Vec<Operand>> {
        match self.inputs.iter().find(|input| input.name == name) {
            // An input is meant before a node of the same name.
            Some(input) => Some(self.of_input(input, steps)),
            None => self.of_node(name, steps),
        }
    }

    fn of_node(&self, name: &str, steps: Vec<Step>) -> Option<Vec<Operand>> {
        if let Some(ids) = self.loops.get(name)
            && steps.first() == Some(&Step::Key(loops::STOPPED.into()))
        {
            return Some(vec![Operand::Path(Path::new(ids.end.clone(), steps))]);
        }
        let &(kind, spread) = self.nodes.get(name)?;
        Some(of_node(name, kind, spread, steps))
    }

    fn of_input(&self, input: &Input, steps: Vec<Step>) -> Vec<Operand> {
        let whole = steps.is_empty();
        let mut path = vec![Step::Key(input.name.clone())];
        path.extend(steps);
        let mut operands = vec![Operand::Path(Path::new(self.entry.clone(), path))];
        let default = input.default.clone().filter(|_| whole);
        operands.extend(default.map(Operand::Literal));
        operands
    }
}

/// The parts of a node's output. Servers' tools give what they give; files that put it all under
/// `result` are understood too.
fn of_node(name: &str, kind: &str, spread: bool, mut steps: Vec<Step>) -> Vec<Operand> {
    let at = usize::from(spread);
    if spread && let Some(Step::Key(key)) = steps.first() {
        if let Some(source) = of_all(name, key).filter(|_| steps.len() == 1) {
            return vec![Operand::Source(source.into())];
        }
        if key == "results" {
            // With us the list of results is the output itself.
            steps.remove(0);
        }
    }
    let more = steps.len() > at + 1;
    if let Some(Step::Key(key)) = steps.get_mut(at) {
        let ours = OUTPUTS
            .iter()
            .find(|(of, theirs, _)| *of == kind && key == theirs);
        if let Some((_, _, ours)) = ours {
            *key = (*ours).into();
        } else if kind == "shell" && key == "stdout" && more {
            // A way into what a command printed: it is JSON.
            *key = "json".into();
        }
    }
    let path = |steps: &[Step]| Operand::Path(Path::new(name, steps.to_vec()));
    let mut operands = vec![path(&steps)];
    if is_remote(kind) && steps.first() == Some(&Step::Key("result".into())) {
        operands.push(path(&steps[1..]));
    }
    operands
}

/// What can be said of all results of a node that is called for each of many items.
fn of_all(name: &str, key: &str) -> Option<String> {
    let all = Path::new(name, Vec::new()).jsonata();
    let failed = format!("{all}[$exists(error.code)]");
    Some(match key {
        "count" => format!("$count({all})"),
        "success_count" => format!("($count({all}) - $count({failed}))"),
        "error_count" => format!("$count({failed})"),
        "errors" => format!("[{failed}]"),
        _ => return None,
    })
}

/// What a node's own inputs are called, and what each stands for.
pub(super) type Locals = HashMap<Str, Vec<Operand>>;

/// What a name stands for whose value is this template.
pub(super) fn operands_of(template: &Template) -> Vec<Operand> {
    match template {
        Template::Literal(value) => vec![Operand::Literal(value.clone())],
        Template::Expr(source) => match reference_of(source) {
            Some(reference) => reference.operands,
            None => vec![Operand::Source(format!("({source})").into())],
        },
        Template::Object(_) | Template::Array(_) => vec![Operand::Source(source(template).into())],
    }
}

/// A template as one expression.
pub(super) fn source(template: &Template) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match template {
        Template::Literal(value) => value.to_json(),
        Template::Expr(source) => format!("({source})"),
        Template::Object(fields) => {
            let field =
                |(key, value): &(Str, Template)| format!("{}: {}", text(key), source(value));
            format!("{{{}}}", joined(fields.iter().map(field).collect()))
        }
        Template::Array(items) => format!("[{}]", joined(items.iter().map(source).collect())),
    }
}

/// A part of what a name stands for.
fn below(operand: &Operand, steps: &[Step]) -> Option<Operand> {
    Some(match operand {
        Operand::Path(path) => {
            let mut path = path.clone();
            path.steps.extend_from_slice(steps);
            Operand::Path(path)
        }
        Operand::Literal(value) => {
            let part = steps.iter().try_fold(value, |value, step| match step {
                Step::Key(key) => value.get(key),
                Step::Index(at) => usize::try_from(*at)
                    .ok()
                    .and_then(|at| value.as_array()?.get(at)),
            });
            Operand::Literal(part?.clone())
        }
        Operand::Source(source) => Operand::Source(into(source, steps).into()),
    })
}

/// Reads values with references in them.
pub(super) struct Reader<'n, 't, 'f> {
    pub(super) names: &'n Names<'t>,
    /// What the item of a batch is called, where there is one.
    pub(super) item: Option<&'n str>,
    /// The node's own inputs.
    pub(super) locals: Option<&'n Locals>,
    pub(super) flaws: &'f mut Flaws,
}

impl<'n, 't, 'f> Reader<'n, 't, 'f> {
    /// A reader of values outside of a batch, which sees nodes and inputs.
    pub(super) fn new(names: &'n Names<'t>, flaws: &'f mut Flaws) -> Self {
        Self {
            names,
            item: None,
            locals: None,
            flaws,
        }
    }

    /// The template that stands at a place.
    pub(super) fn template(&mut self, at: At<'t>) -> Template {
        match at.value {
            Value::String(text) if text.contains(SIGN) => self.text(text, at),
            Value::Object(_) => {
                let fields = at.fields().map(|(key, field)| (key.clone(), field));
                let fields: Vec<_> = fields.collect();
                self.object(fields)
            }
            Value::Array(_) => {
                let items: Vec<_> = at.items().map(|item| self.template(item)).collect();
                match items.iter().map(plain).collect::<Option<Vec<_>>>() {
                    Some(plain) => Template::Literal(Value::array(plain)),
                    None => Template::Array(items),
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Template::Literal(at.value.clone())
            }
        }
    }

    /// The template of an object with these fields.
    pub(super) fn object(&mut self, fields: Vec<(Str, At<'t>)>) -> Template {
        let fields: Vec<_> = fields
            .into_iter()
            .map(|(key, field)| (key, self.template(field)))
            .collect();
        let plain = fields
            .iter()
            .map(|(key, field)| Some((key.clone(), plain(field)?)));
        match plain.collect::<Option<Vec<_>>>() {
            Some(plain) => Template::Literal(Value::object(plain)),
            None => Template::Object(fields),
        }
    }

    /// A text with references in it. One that is nothing but a reference keeps its type.
    fn text(&mut self, text: &str, at: At<'t>) -> Template {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut done = 0;
        while let Some(found) = text[done..].find(SIGN) {
            let begin = done + found;
            plain.push_str(&text[done..begin]);
            let inside = begin + SIGN.len();
            if plain.ends_with('$') && begin > done {
                // The sign that says it is text goes, the rest stays.
                plain.pop();
                plain.push_str(SIGN);
                done = inside;
                continue;
            }
            let Some(end) = closing(&text[inside..]).map(|end| inside + end) else {
                self.bad(at, begin..text.len(), "this `${` is never closed");
                return Template::Literal(at.value.clone());
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            if let Some(reference) = self.reference(&text[inside..end], at, inside) {
                pieces.push(Piece::Reference(reference));
            }
            done = end + 1;
        }
        plain.push_str(&text[done..]);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        match pieces.as_slice() {
            [] => Template::Literal("".into()),
            [Piece::Text(only)] => Template::Literal(only.as_str().into()),
            [Piece::Reference(only)] => Template::Expr(only.jsonata().into()),
            pieces => Template::Expr(joined(pieces).into()),
        }
    }

    /// What stands between `${` and `}`: names with their ways, and what to take instead.
    fn reference(&mut self, inside: &str, at: At<'t>, offset: usize) -> Option<Reference> {
        let mut operands: Vec<Operand> = Vec::new();
        let mut begin = 0;
        for part in inside.split("??") {
            let lead = part.len() - part.trim_start().len();
            let start = offset + begin + lead;
            begin += part.len() + "??".len();
            let part = part.trim();
            let here = start..start + part.len().max(1);
            if let Ok(value) = Value::from_json(part) {
                operands.push(Operand::Literal(value));
                continue;
            }
            let end = part.find(['.', '[']).unwrap_or(part.len());
            let (steps, length) = steps(&part[end..]);
            let name = &part[..end];
            let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(plain) || end + length < part.len() {
                self.bad(at, here, "this is no reference");
                return None;
            }
            let variable = match name {
                INDEX if self.item.is_some() => Some("index"),
                name => self.item.filter(|item| *item == name),
            };
            if let Some(variable) = variable {
                operands.push(Operand::Path(Path {
                    variable: true,
                    ..Path::new(variable, steps)
                }));
                continue;
            }
            if let Some(local) = self.locals.and_then(|locals| locals.get(name)) {
                operands.extend(local.iter().filter_map(|one| below(one, &steps)));
                continue;
            }
            match self.names.operands(name, steps) {
                Some(found) => operands.extend(found),
                None => {
                    self.unknown(name, at, start..start + name.len());
                    return None;
                }
            }
        }
        operands.dedup();
        // Nothing comes after what is always there.
        let last = operands
            .iter()
            .position(|one| matches!(one, Operand::Literal(_)));
        operands.truncate(last.map_or(operands.len(), |at| at + 1));
        Some(Reference {
            operands,
            sure: false,
        })
    }

    /// How many names are compared with one that is unknown: none any more after many flaws.
    fn care(&self) -> usize {
        if self.flaws.count() > EXACT_MAX {
            0
        } else {
            usize::MAX
        }
    }

    fn place(&self, at: At<'t>, bytes: &Range<usize>) -> Place {
        if self.flaws.count() > EXACT_MAX {
            at.place()
        } else {
            at.inside(bytes)
        }
    }

    fn unknown(&mut self, name: &str, at: At<'t>, bytes: Range<usize>) {
        let inputs = self.names.inputs.iter().map(|input| input.name.as_str());
        let known: Vec<_> = inputs.chain(self.names.nodes()).take(self.care()).collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a node or an input; `$${…}` is just text".to_owned(),
        };
        let message = format!("there is no node or input `{}`", shown(name));
        let place = self.place(at, &bytes);
        self.flaws.add(Code::UnknownNode, place, message, hint);
    }

    fn bad(&mut self, at: At<'t>, bytes: Range<usize>, message: &str) {
        let place = self.place(at, &bytes);
        self.flaws.add(
            Code::BadExpression,
            place,
            message,
            "write `${node.key[0]}`, or `$${…}` if it is just text",
        );
    }
}

/// Where the `}` is that ends a reference: not one in quotes.
fn closing(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut letters = text.char_indices();
    while let Some((at, c)) = letters.next() {
        match c {
            '\\' if quoted => {
                letters.next();
            }
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// The value of a template without references.
fn plain(template: &Template) -> Option<Value> {
    match template {
        Template::Literal(value) => Some(value.clone()),
        Template::Expr(_) | Template::Object(_) | Template::Array(_) => None,
    }
}
