//! Frames hold variables. Closures keep them alive, and dropping them needs no deep stack.

use super::val::{Closure, Func, Val};
use crate::value::Str;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) type Env = Rc<Frame>;

/// The variables of a block or a call, or the bindings along a path.
pub(crate) struct Frame {
    parent: Option<Env>,
    slots: RefCell<Vec<Option<Val>>>,
    bound: Vec<(u32, Val)>,
    /// The names of the slots, if `$eval` may need them.
    names: Option<Arc<[Str]>>,
}

impl Frame {
    pub(crate) fn new(
        parent: Option<Env>,
        slots: Vec<Option<Val>>,
        names: Option<Arc<[Str]>>,
    ) -> Env {
        Rc::new(Self {
            parent,
            slots: RefCell::new(slots),
            bound: Vec::new(),
            names,
        })
    }

    pub(crate) fn with_bindings(parent: &Env, bound: Vec<(u32, Val)>) -> Env {
        Rc::new(Self {
            parent: Some(parent.clone()),
            slots: RefCell::default(),
            bound,
            names: None,
        })
    }

    pub(crate) fn parent(&self) -> Option<&Env> {
        self.parent.as_ref()
    }

    pub(crate) fn names(&self) -> Option<&Arc<[Str]>> {
        self.names.as_ref()
    }

    pub(crate) fn ancestor(env: &Env, hops: u32) -> &Env {
        let mut env = env;
        for _ in 0..hops {
            match &env.parent {
                Some(parent) => env = parent,
                None => break,
            }
        }
        env
    }

    pub(crate) fn get(&self, slot: u32) -> Option<Val> {
        self.slots.borrow().get(slot as usize)?.clone()
    }

    /// Reads a slot without cloning its value.
    pub(crate) fn with_slot<T>(&self, slot: u32, look: impl FnOnce(Option<&Val>) -> T) -> T {
        look(
            self.slots
                .borrow()
                .get(slot as usize)
                .and_then(Option::as_ref),
        )
    }

    pub(crate) fn set(&self, slot: u32, val: Val) {
        let old = match self.slots.borrow_mut().get_mut(slot as usize) {
            Some(place) => place.replace(val),
            None => None,
        };
        drop(old);
    }

    /// The value of a path binding, in this frame or one further out.
    pub(crate) fn binding(env: &Env, number: u32) -> Option<Val> {
        let mut env = Some(env);
        while let Some(frame) = env {
            if let Some((_, val)) = frame.bound.iter().rfind(|(known, _)| *known == number) {
                return Some(val.clone());
            }
            env = frame.parent.as_ref();
        }
        None
    }

    /// Empties the frame, so that functions in it no longer keep it alive.
    pub(crate) fn clear(&self) {
        let slots = std::mem::take(&mut *self.slots.borrow_mut());
        drop_iteratively(slots.into_iter().flatten().collect(), Vec::new());
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let plain = |val: &Val| matches!(val, Val::Json(..) | Val::Undef);
        let shared = self
            .parent
            .as_ref()
            .is_none_or(|parent| Rc::strong_count(parent) > 1);
        let slots = self.slots.get_mut();
        if shared
            && slots.iter().flatten().all(plain)
            && self.bound.iter().all(|(_, val)| plain(val))
        {
            return;
        }
        let slots = std::mem::take(slots);
        let bound = std::mem::take(&mut self.bound);
        let vals = slots
            .into_iter()
            .flatten()
            .chain(bound.into_iter().map(|(_, val)| val));
        drop_iteratively(vals.collect(), self.parent.take().into_iter().collect());
    }
}

/// Drops values one at a time, without recursion: they may hold frames that hold further values.
fn drop_iteratively(mut vals: Vec<Val>, mut envs: Vec<Env>) {
    loop {
        if let Some(env) = envs.pop() {
            if let Some(mut frame) = Rc::into_inner(env) {
                envs.extend(frame.parent.take());
                vals.extend(std::mem::take(frame.slots.get_mut()).into_iter().flatten());
                vals.extend(
                    std::mem::take(&mut frame.bound)
                        .into_iter()
                        .map(|(_, val)| val),
                );
            }
            continue;
        }
        match vals.pop() {
            None => return,
            Some(Val::Func(func)) => split_function(func, &mut vals, &mut envs),
            Some(Val::List(list)) => {
                if let Some(list) = Rc::into_inner(list) {
                    vals.extend(list.items);
                }
            }
            Some(Val::Record(record)) => {
                if let Some(record) = Rc::into_inner(record) {
                    vals.extend(record.entries.into_iter().map(|(_, val)| val));
                }
            }
            Some(Val::Tuples(_) | Val::Json(..) | Val::Undef) => {}
        }
    }
}

fn split_function(func: Rc<Func>, vals: &mut Vec<Val>, envs: &mut Vec<Env>) {
    match Rc::into_inner(func) {
        Some(Func::Lambda(Closure { env, input, .. })) => {
            envs.push(env);
            vals.push(input);
        }
        Some(Func::Partial(partial)) => {
            vals.extend(partial.args.into_iter().flatten());
            vals.push(Val::Func(partial.func));
        }
        Some(Func::Composed(first, second, _)) => {
            vals.push(Val::Func(first));
            vals.push(Val::Func(second));
        }
        Some(Func::Transform(_, env)) => envs.push(env),
        Some(Func::Builtin(_) | Func::Host(..) | Func::Regex(_) | Func::Next(..)) | None => {}
    }
}
