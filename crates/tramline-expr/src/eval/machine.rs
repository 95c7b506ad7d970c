//! The machine that evaluates: one method per kind of node, one meter over all of them.

use super::frame::{Env, Frame};
use super::peek::Given;
use super::val::{Closure, Func, List, Sequence, Val, settle};
use crate::compile::node::{Bind, Block, Filter, Kind, Node, Outer, Program, Staged, Variable};
use crate::error::Outcome;
use crate::explain::Tracer;
use crate::host::{Host, HostFunctions};
use crate::limits::{Limits, Meter};
use crate::value::{Map, Value};
use std::rc::{Rc, Weak};

thread_local! {
    /// The frame of programs that assign nothing.
    static NOTHING: Env = Frame::new(None, Vec::new(), None);
}

/// A call in tail position.
pub(super) struct Pending {
    pub(super) func: Rc<Func>,
    pub(super) args: Vec<Val>,
    /// Where the reference places errors in it.
    pub(super) position: u32,
}

pub(crate) struct Machine<'e> {
    pub(crate) meter: Meter,
    pub(crate) host: &'e dyn Host,
    pub(crate) functions: &'e HostFunctions,
    given: Option<&'e Map>,
    root: Option<&'e Value>,
    /// A call in tail position, to be made once the function around it is done.
    pub(super) pending: Option<Pending>,
    /// Frames that hold functions, which may hold the frames: emptied at the end.
    cyclic: Vec<Weak<Frame>>,
    now: Option<i64>,
    pub(crate) tracer: Option<Tracer>,
}

impl<'e> Machine<'e> {
    pub(crate) fn new(
        host: &'e dyn Host,
        functions: &'e HostFunctions,
        given: Option<&'e Map>,
        limits: &Limits,
    ) -> Self {
        Self::metered(host, functions, given, Meter::new(limits))
    }

    /// A machine that goes on counting on a meter.
    pub(crate) fn metered(
        host: &'e dyn Host,
        functions: &'e HostFunctions,
        given: Option<&'e Map>,
        meter: Meter,
    ) -> Self {
        Self {
            meter,
            host,
            functions,
            given,
            root: None,
            pending: None,
            cyclic: Vec::new(),
            now: None,
            tracer: None,
        }
    }

    /// Evaluates a whole program.
    pub(crate) fn run(&mut self, program: &Program, input: Option<&'e Value>) -> Outcome<Val> {
        self.root = input;
        if program.root.peek && program.slots == 0 && self.tracer.is_none() {
            let given = input.map_or(Given::Undef, Given::Value);
            let peek = NOTHING.with(|env| self.peek_given(&program.root, given, 0, env));
            if let Some(val) = peek {
                return Ok(val);
            }
        }
        let input = outer(input.map_or(Val::Undef, |input| Val::Json(input.clone(), 0)));
        let env = match program.slots {
            0 => NOTHING.with(Env::clone),
            slots => Frame::new(None, vec![None; slots], program.names.clone()),
        };
        let result = self.eval(&program.root, &input, &env);
        let result = result.map(|val| match val {
            Val::List(list) if list.outer => list.items.first().cloned().unwrap_or(Val::Undef),
            other => other,
        });
        drop(env);
        for frame in std::mem::take(&mut self.cyclic) {
            if let Some(frame) = frame.upgrade() {
                frame.clear();
            }
        }
        result
    }

    pub(crate) fn now(&mut self) -> i64 {
        let host = self.host;
        *self.now.get_or_insert_with(|| host.now_ms())
    }

    /// Evaluates a node on its input.
    pub(crate) fn eval(&mut self, node: &Node, input: &Val, env: &Env) -> Outcome<Val> {
        if node.quick
            && self.tracer.is_none()
            && let Some(val) = self.peek_val(node, input, env)
        {
            return Ok(val);
        }
        match self.eval_raw(node, input, env) {
            Ok(val) => Ok(settle(val)),
            Err(flaw) => Err(flaw),
        }
    }

    /// The same, but sequences of none or one stay sequences.
    pub(super) fn eval_raw(&mut self, node: &Node, input: &Val, env: &Env) -> Outcome<Val> {
        if let Err(flaw) = self.meter.enter() {
            return Err(flaw.or_at(node.token));
        }
        let result = match self.tracer.is_some() {
            false => self.dispatch(node, input, env),
            true => self.traced(node, input, env),
        };
        self.meter.leave();
        match result {
            Err(flaw) => Err(flaw.or_at(node.token)),
            result => result,
        }
    }

    #[inline(never)]
    fn traced(&mut self, node: &Node, input: &Val, env: &Env) -> Outcome<Val> {
        if let Some(tracer) = &mut self.tracer {
            tracer.open(node);
        }
        let result = self.dispatch(node, input, env);
        if let Some(tracer) = &mut self.tracer {
            tracer.close(result.as_ref().ok().map(|val| settle(val.clone())));
        }
        result
    }

    fn dispatch(&mut self, node: &Node, input: &Val, env: &Env) -> Outcome<Val> {
        match &node.kind {
            Kind::Literal(value) => Ok(Val::Json(value.clone(), 0)),
            Kind::Name(field) => match input {
                Val::Json(Value::Object(map), depth) => Ok(field
                    .of(map)
                    .map_or(Val::Undef, |value| Val::part(value, *depth))),
                _ => self.lookup(input, &field.name),
            },
            Kind::Context => Ok(context(input)),
            Kind::Root => Ok(self
                .root
                .map_or(Val::Undef, |root| Val::Json(root.clone(), 0))),
            Kind::Variable(variable) => Ok(self.variable(variable, env)),
            Kind::Bound(number) => Ok(Frame::binding(env, *number).unwrap_or(Val::Undef)),
            Kind::Path(path) => self.path(path, input, env),
            Kind::Arithmetic(op, pair) => self.arithmetic(*op, pair, node, input, env),
            Kind::Compare(op, pair) => self.compare(*op, pair, node, input, env),
            Kind::And(pair) => self.and(pair, node, input, env),
            Kind::Or(pair) => self.or(pair, node, input, env),
            Kind::Concat(operands) => self.concat(operands, input, env),
            Kind::In(pair) => self.member(pair, input, env),
            Kind::Range(pair) => self.range(pair, node, input, env),
            Kind::Elvis(pair) => self.elvis(pair, input, env),
            Kind::Coalesce(pair) => self.coalesce(pair, input, env),
            Kind::Apply(pair) => self.apply_operator(pair, node, input, env),
            Kind::Negate(inner) => self.negate(inner, node, input, env),
            Kind::Conditional(parts) => self.conditional(parts, input, env),
            Kind::Block(block) => self.block(block, input, env),
            Kind::Bind(bind) => self.bind(bind, input, env),
            Kind::Call(call) => self.call(call, node, input, env),
            Kind::Lambda(lambda) => Ok(Val::Func(Rc::new(Func::Lambda(Closure {
                lambda: lambda.clone(),
                env: env.clone(),
                input: input.clone(),
            })))),
            Kind::Regex(pattern) => Ok(Val::Func(Rc::new(Func::Regex(pattern.clone())))),
            Kind::Array(array) => self.array(array, input, env),
            Kind::Object(group) => self.object(group, input, env),
            Kind::Transform(transform) => Ok(Val::Func(Rc::new(Func::Transform(
                transform.clone(),
                env.clone(),
            )))),
            Kind::Wildcard => self.wildcard(input),
            Kind::Descendants => self.descendants(input),
            Kind::Staged(staged) => self.staged(staged, input, env),
        }
    }

    fn variable(&self, variable: &Variable, env: &Env) -> Val {
        match variable {
            Variable::Slots(places, outer) => {
                for (hops, slot) in places {
                    if let Some(val) = Frame::out(env, *hops).get(*slot) {
                        return val;
                    }
                }
                self.outer(outer)
            }
            Variable::Outer(outer) => self.outer(outer),
        }
    }

    #[inline(never)]
    pub(super) fn outer(&self, outer: &Outer) -> Val {
        let name = match outer {
            Outer::Builtin(builtin) => builtin.name(),
            Outer::Host(_, name) | Outer::Given(name) => name,
        };
        if let Some(value) = self.given.and_then(|given| given.get(name)) {
            return Val::Json(value.clone(), 0);
        }
        match outer {
            Outer::Builtin(builtin) => Val::Func(Rc::new(Func::Builtin(*builtin))),
            Outer::Host(function, name) => Val::Func(Rc::new(Func::Host(*function, name.clone()))),
            Outer::Given(_) => Val::Undef,
        }
    }

    /// Whether the evaluation was given a variable of this name.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.given.is_some_and(|given| given.contains_key(name))
    }

    fn block(&mut self, block: &Block, input: &Val, env: &Env) -> Outcome<Val> {
        let Some((last, before)) = block.body.split_last() else {
            return Ok(Val::Undef);
        };
        match block.slots {
            None => {
                for node in before {
                    self.eval(node, input, env)?;
                }
                self.eval(last, input, env)
            }
            Some(slots) => {
                let names = block.names.clone();
                let frame = Frame::new(Some(env.clone()), vec![None; slots], names);
                for node in before {
                    self.eval(node, input, &frame)?;
                }
                self.eval(last, input, &frame)
            }
        }
    }

    #[inline(never)]
    fn bind(&mut self, bind: &Bind, input: &Val, env: &Env) -> Outcome<Val> {
        let val = self.eval(&bind.value, input, env)?;
        let val = match val {
            // Kept for long and used often: as a plain array it need not be converted each time.
            Val::List(list) if list.plain && list.sequence && list.items.len() > 1 => {
                self.meter.items(list.items.len())?;
                let depth = list.depth;
                Val::List(list)
                    .into_value()
                    .map_or(Val::Undef, |value| Val::Json(value, depth))
            }
            other => other,
        };
        let frame = Frame::out(env, bind.hops);
        if !matches!(val, Val::Undef) && !val.is_plain() {
            self.meter.items(1)?;
            self.cyclic.push(Rc::downgrade(frame));
        }
        frame.set(bind.slot, val.clone());
        Ok(val)
    }

    #[inline(never)]
    fn staged(&mut self, staged: &Staged, input: &Val, env: &Env) -> Outcome<Val> {
        let mut val = self.eval_raw(&staged.inner, input, env)?;
        for filter in &staged.filters {
            val = match filter {
                Filter::At(place) => self.pick(*place, &val)?,
                Filter::Test(test) => self.filter(test, &val, env)?,
            };
        }
        if let Some(group) = &staged.group {
            val = self.group(group, &settle(val), env)?;
        }
        if staged.keep {
            val = keep(val);
        }
        Ok(val)
    }

    /// All values of an object, or all items of an array.
    #[inline(never)]
    fn wildcard(&mut self, input: &Val) -> Outcome<Val> {
        let input = context(input);
        let mut found = Sequence::default();
        let mut arrays = false;
        let mut add = |val: Val| {
            arrays |= val.is_array();
            flatten_all(&mut found, val);
        };
        match &input {
            Val::Json(Value::Object(map), depth) => {
                self.meter.items(map.len())?;
                map.values().for_each(|value| add(Val::part(value, *depth)));
            }
            Val::Record(record) => record.entries.iter().for_each(|(_, val)| add(val.clone())),
            Val::Json(Value::Array(_), _) | Val::List(_) => input.items().iter().for_each(add),
            _ => {}
        }
        self.meter.items(found.items.len())?;
        // As in the reference: where an array was among the values, one item stays an array.
        match arrays {
            true => self.make_array(found.items),
            false => Ok(found.raw()),
        }
    }

    /// The value and everything in it, in the order it stands.
    #[inline(never)]
    fn descendants(&mut self, input: &Val) -> Outcome<Val> {
        let mut found = Sequence::default();
        let mut waiting = vec![context(input)];
        while let Some(val) = waiting.pop() {
            self.meter.items(1)?;
            let from = waiting.len();
            match &val {
                Val::Undef => continue,
                Val::Json(Value::Object(map), depth) => {
                    waiting.extend(map.values().map(|value| Val::part(value, *depth)));
                }
                Val::Record(record) => {
                    waiting.extend(record.entries.iter().map(|(_, val)| val.clone()));
                }
                Val::Json(Value::Array(_), _) | Val::List(_) => waiting.extend(val.items().iter()),
                Val::Json(..) | Val::Func(_) | Val::Tuples(_) => {}
            }
            waiting[from..].reverse();
            if !val.is_array() {
                found.push(val);
            }
        }
        Ok(found.raw())
    }
}

/// What `$` stands for.
pub(super) fn context(input: &Val) -> Val {
    match input {
        Val::List(list) if list.outer => list.items.first().cloned().unwrap_or(Val::Undef),
        other => other.clone(),
    }
}

/// An input that is an array is one input, not many.
pub(crate) fn outer(input: Val) -> Val {
    match &input {
        Val::Json(Value::Array(_), _) => Val::List(Rc::new(List {
            items: vec![input],
            plain: true,
            sequence: true,
            outer: true,
            ..List::default()
        })),
        _ => input,
    }
}

/// Marks a sequence so that it stays an array.
pub(super) fn keep(val: Val) -> Val {
    match val {
        Val::List(list) if list.sequence => {
            let mut list = Rc::unwrap_or_clone(list);
            list.keep = true;
            Val::List(Rc::new(list))
        }
        other => other,
    }
}

fn flatten_all(found: &mut Sequence, val: Val) {
    match val.is_array() {
        true => {
            for item in val.items().iter() {
                flatten_all(found, item);
            }
        }
        false if val.is_undef() => {}
        false => found.push(val),
    }
}
