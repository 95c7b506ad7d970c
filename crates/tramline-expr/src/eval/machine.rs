//! The evaluator: one method per kind of node, one meter for all of them.

use super::borrowed::BorrowedContext;
use super::frame::{Env, Frame};
use super::val::{Closure, Func, SequenceBuilder, Val, ValList, unwrap_single};
use crate::compile::node::{
    BindNode, BlockNode, ExprKind, ExprNode, OuterVariable, Program, StepFilter, SuffixedNode,
    Variable,
};
use crate::error::ExprResult;
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
pub(super) struct TailCall {
    pub(super) func: Rc<Func>,
    pub(super) args: Vec<Val>,
    /// Where the reference reports errors in it.
    pub(super) position: u32,
}

pub(crate) struct Machine<'e> {
    pub(crate) meter: Meter,
    pub(crate) host: &'e dyn Host,
    pub(crate) functions: &'e HostFunctions,
    variables: Option<&'e Map>,
    root: Option<&'e Value>,
    /// A call in tail position, made once the enclosing function has returned.
    pub(super) pending: Option<TailCall>,
    /// Frames that hold functions, which may hold the frames in turn. They are emptied at the end.
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
        Self::with_meter(host, functions, given, Meter::new(limits))
    }

    /// A machine that continues counting on an existing meter.
    pub(crate) fn with_meter(
        host: &'e dyn Host,
        functions: &'e HostFunctions,
        variables: Option<&'e Map>,
        meter: Meter,
    ) -> Self {
        Self {
            meter,
            host,
            functions,
            variables,
            root: None,
            pending: None,
            cyclic: Vec::new(),
            now: None,
            tracer: None,
        }
    }

    /// Evaluates a whole program.
    pub(crate) fn run(&mut self, program: &Program, input: Option<&'e Value>) -> ExprResult<Val> {
        self.root = input;
        if program.root.peek && program.slots == 0 && self.tracer.is_none() {
            let given = input.map_or(BorrowedContext::Undef, BorrowedContext::Value);
            let peek = NOTHING.with(|env| self.peek_context(&program.root, given, 0, env));
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
            Val::List(list) if list.is_wrapped_input => {
                list.items.first().cloned().unwrap_or(Val::Undef)
            }
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
    pub(crate) fn eval(&mut self, node: &ExprNode, input: &Val, env: &Env) -> ExprResult<Val> {
        if node.is_quick
            && self.tracer.is_none()
            && let Some(val) = self.peek_val(node, input, env)
        {
            return Ok(val);
        }
        match self.eval_raw(node, input, env) {
            Ok(val) => Ok(unwrap_single(val)),
            Err(flaw) => Err(flaw),
        }
    }

    /// Like `eval`, but sequences of zero or one item stay sequences.
    pub(super) fn eval_raw(&mut self, node: &ExprNode, input: &Val, env: &Env) -> ExprResult<Val> {
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
    fn traced(&mut self, node: &ExprNode, input: &Val, env: &Env) -> ExprResult<Val> {
        if let Some(tracer) = &mut self.tracer {
            tracer.open(node);
        }
        let result = self.dispatch(node, input, env);
        if let Some(tracer) = &mut self.tracer {
            tracer.close(result.as_ref().ok().map(|val| unwrap_single(val.clone())));
        }
        result
    }

    fn dispatch(&mut self, node: &ExprNode, input: &Val, env: &Env) -> ExprResult<Val> {
        match &node.kind {
            ExprKind::Literal(value) => Ok(Val::Json(value.clone(), 0)),
            ExprKind::Name(field) => match input {
                Val::Json(Value::Object(map), depth) => Ok(field
                    .of(map)
                    .map_or(Val::Undef, |value| Val::part_of(value, *depth))),
                _ => self.lookup(input, &field.name),
            },
            ExprKind::Context => Ok(unwrap_input(input)),
            ExprKind::Root => Ok(self
                .root
                .map_or(Val::Undef, |root| Val::Json(root.clone(), 0))),
            ExprKind::Variable(variable) => Ok(self.variable(variable, env)),
            ExprKind::Bound(number) => Ok(Frame::binding(env, *number).unwrap_or(Val::Undef)),
            ExprKind::Path(path) => self.path(path, input, env),
            ExprKind::Arithmetic(op, pair) => self.arithmetic(*op, pair, node, input, env),
            ExprKind::Compare(op, pair) => self.compare(*op, pair, node, input, env),
            ExprKind::And(pair) => self.and(pair, node, input, env),
            ExprKind::Or(pair) => self.or(pair, node, input, env),
            ExprKind::Concat(operands) => self.concat(operands, input, env),
            ExprKind::In(pair) => self.member(pair, input, env),
            ExprKind::Range(pair) => self.range(pair, node, input, env),
            ExprKind::Elvis(pair) => self.elvis(pair, input, env),
            ExprKind::Coalesce(pair) => self.coalesce(pair, input, env),
            ExprKind::Apply(pair) => self.apply_operator(pair, node, input, env),
            ExprKind::Negate(inner) => self.negate(inner, node, input, env),
            ExprKind::Conditional(parts) => self.conditional(parts, input, env),
            ExprKind::Block(block) => self.block(block, input, env),
            ExprKind::Bind(bind) => self.bind(bind, input, env),
            ExprKind::Call(call) => self.call(call, node, input, env),
            ExprKind::Lambda(lambda) => Ok(Val::Func(Rc::new(Func::Lambda(Closure {
                lambda: lambda.clone(),
                env: env.clone(),
                input: input.clone(),
            })))),
            ExprKind::Regex(pattern) => Ok(Val::Func(Rc::new(Func::Regex(pattern.clone())))),
            ExprKind::Array(array) => self.array(array, input, env),
            ExprKind::Object(group) => self.object(group, input, env),
            ExprKind::Transform(transform) => Ok(Val::Func(Rc::new(Func::Transform(
                transform.clone(),
                env.clone(),
            )))),
            ExprKind::Wildcard => self.wildcard(input),
            ExprKind::Descendants => self.descendants(input),
            ExprKind::Staged(staged) => self.staged(staged, input, env),
        }
    }

    fn variable(&self, variable: &Variable, env: &Env) -> Val {
        match variable {
            Variable::Slots(places, outer) => {
                for (hops, slot) in places {
                    if let Some(val) = Frame::ancestor(env, *hops).get(*slot) {
                        return val;
                    }
                }
                self.outer_variable(outer)
            }
            Variable::Outer(outer) => self.outer_variable(outer),
        }
    }

    #[inline(never)]
    pub(super) fn outer_variable(&self, outer: &OuterVariable) -> Val {
        let name = match outer {
            OuterVariable::Builtin(builtin) => builtin.name(),
            OuterVariable::Host(_, name) | OuterVariable::PassedIn(name) => name,
        };
        if let Some(value) = self.variables.and_then(|given| given.get(name)) {
            return Val::Json(value.clone(), 0);
        }
        match outer {
            OuterVariable::Builtin(builtin) => Val::Func(Rc::new(Func::Builtin(*builtin))),
            OuterVariable::Host(function, name) => {
                Val::Func(Rc::new(Func::Host(*function, name.clone())))
            }
            OuterVariable::PassedIn(_) => Val::Undef,
        }
    }

    /// Whether the evaluation was given a variable of this name.
    pub(super) fn has_variable(&self, name: &str) -> bool {
        self.variables.is_some_and(|given| given.contains_key(name))
    }

    fn block(&mut self, block: &BlockNode, input: &Val, env: &Env) -> ExprResult<Val> {
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
    fn bind(&mut self, bind: &BindNode, input: &Val, env: &Env) -> ExprResult<Val> {
        let val = self.eval(&bind.value, input, env)?;
        let val = match val {
            // Bound values are used often: as a plain array it is not converted on each use.
            Val::List(list) if list.plain && list.sequence && list.items.len() > 1 => {
                self.meter.items(list.items.len())?;
                let depth = list.depth;
                Val::List(list)
                    .into_value()
                    .map_or(Val::Undef, |value| Val::Json(value, depth))
            }
            other => other,
        };
        let frame = Frame::ancestor(env, bind.hops);
        if !matches!(val, Val::Undef) && !val.is_plain() {
            self.meter.items(1)?;
            self.cyclic.push(Rc::downgrade(frame));
        }
        frame.set(bind.slot, val.clone());
        Ok(val)
    }

    #[inline(never)]
    fn staged(&mut self, staged: &SuffixedNode, input: &Val, env: &Env) -> ExprResult<Val> {
        let mut val = self.eval_raw(&staged.inner, input, env)?;
        for filter in &staged.filters {
            val = match filter {
                StepFilter::At(place) => self.item_at(*place, &val)?,
                StepFilter::Test(test) => self.filter(test, &val, env)?,
            };
        }
        if let Some(group) = &staged.group {
            val = self.group(group, &unwrap_single(val), env)?;
        }
        if staged.keep {
            val = keep_array(val);
        }
        Ok(val)
    }

    /// All values of an object, or all items of an array.
    #[inline(never)]
    fn wildcard(&mut self, input: &Val) -> ExprResult<Val> {
        let input = unwrap_input(input);
        let mut found = SequenceBuilder::default();
        let mut arrays = false;
        let mut add = |val: Val| {
            arrays |= val.is_array();
            flatten_all(&mut found, val);
        };
        match &input {
            Val::Json(Value::Object(map), depth) => {
                self.meter.items(map.len())?;
                map.values()
                    .for_each(|value| add(Val::part_of(value, *depth)));
            }
            Val::Record(record) => record.entries.iter().for_each(|(_, val)| add(val.clone())),
            Val::Json(Value::Array(_), _) | Val::List(_) => input.items().iter().for_each(add),
            _ => {}
        }
        self.meter.items(found.items.len())?;
        // As in the reference: if one of the values was an array, a single item stays in an array.
        match arrays {
            true => self.make_array(found.items),
            false => Ok(found.into_sequence()),
        }
    }

    /// The value and everything in it, in document order.
    #[inline(never)]
    fn descendants(&mut self, input: &Val) -> ExprResult<Val> {
        let mut found = SequenceBuilder::default();
        let mut waiting = vec![unwrap_input(input)];
        while let Some(val) = waiting.pop() {
            self.meter.items(1)?;
            let from = waiting.len();
            match &val {
                Val::Undef => continue,
                Val::Json(Value::Object(map), depth) => {
                    waiting.extend(map.values().map(|value| Val::part_of(value, *depth)));
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
        Ok(found.into_sequence())
    }
}

/// The value of `$`.
pub(super) fn unwrap_input(input: &Val) -> Val {
    match input {
        Val::List(list) if list.is_wrapped_input => {
            list.items.first().cloned().unwrap_or(Val::Undef)
        }
        other => other.clone(),
    }
}

/// Wraps an input that is an array, so that it counts as one input.
pub(crate) fn outer(input: Val) -> Val {
    match &input {
        Val::Json(Value::Array(_), _) => Val::List(Rc::new(ValList {
            items: vec![input],
            plain: true,
            sequence: true,
            is_wrapped_input: true,
            ..ValList::default()
        })),
        _ => input,
    }
}

/// Marks a sequence so that it stays an array.
pub(super) fn keep_array(val: Val) -> Val {
    match val {
        Val::List(list) if list.sequence => {
            let mut list = Rc::unwrap_or_clone(list);
            list.keep = true;
            Val::List(Rc::new(list))
        }
        other => other,
    }
}

fn flatten_all(found: &mut SequenceBuilder, val: Val) {
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
