//! What a node waits for before it is left, and which values its slots take.

use super::{Refusal, Walk};
use crate::ids::NodeIx;
use crate::journal::Stand;
use crate::sop::AnyOf;
use crate::text::nearest;
use tramline_expr::{Str, Value};

impl Walk {
    /// The slots and tools that a node of the innermost procedure still waits for.
    pub fn wanting(&self, at: NodeIx) -> (Vec<Str>, Vec<AnyOf>) {
        let sop = self.frame().sop;
        self.wanting_at(Stand { sop, node: at })
    }

    /// The slots and tools that a node still waits for. Calls count at the node where they were made.
    pub(super) fn wanting_at(&self, at: Stand) -> (Vec<Str>, Vec<AnyOf>) {
        let Some(procedure) = self.procedure(at.sop) else {
            return (Vec::new(), Vec::new());
        };
        let node = procedure.node(at.node);
        let unset = |name: &str| self.slots.get(name).is_none_or(Value::is_null);
        let slots = node
            .slots
            .iter()
            .filter(|it| it.required && unset(&it.name));
        let is_here = self.stand() == Some(at);
        let was_called = |any: &&AnyOf| is_here && any.0.iter().any(|it| self.was_called(it));
        let tools = node.must_call.iter().filter(|it| !was_called(it));
        (
            slots.map(|it| it.name.clone()).collect(),
            tools.cloned().collect(),
        )
    }

    pub(super) fn ready_to_leave(&self, at: NodeIx) -> Result<(), Refusal> {
        let (slots, tools) = self.wanting(at);
        if slots.is_empty() && tools.is_empty() {
            return Ok(());
        }
        Err(Refusal::Missing {
            node: self.here().node(at).id.clone(),
            slots,
            tools,
        })
    }

    pub(super) fn check_slot(&self, name: &str, value: &Value) -> Result<(), Refusal> {
        let known = self.procedures.iter().find_map(|it| it.slot(name));
        let Some(slot) = known else {
            let names = || self.procedures.iter().flat_map(|it| it.slot_names());
            // A file that declares none takes any.
            return match names().next() {
                None => Ok(()),
                Some(_) => Err(Refusal::NoSlot {
                    name: name.into(),
                    near: nearest(name, names()).map(Into::into),
                }),
            };
        };
        let fits = slot.kind.fits(value);
        let listed = slot.options.is_empty() || slot.options.contains(value);
        if value.is_null() || (fits && listed) {
            return Ok(());
        }
        let wanted: Str = match slot.options.is_empty() {
            true => format!("of type {}", slot.kind.as_str()).into(),
            false => {
                let options: Vec<String> = slot.options.iter().map(Value::to_string).collect();
                format!("one of {}", options.join(", ")).into()
            }
        };
        Err(Refusal::BadSlot {
            name: name.into(),
            wanted,
            given: value.clone(),
        })
    }
}
