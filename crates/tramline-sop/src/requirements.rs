//! The requirements of a node before it is left, and the valid values of slots.

use super::{SopRefusal, SopSession};
use tramline_expr::{Str, Value};
use tramline_workflow::ids::NodeIx;
use tramline_workflow::journal::SopPosition;
use tramline_workflow::sop::AnyOf;
use tramline_workflow::text::nearest;

impl SopSession {
    /// The slots and tools that a node of the innermost procedure still requires.
    pub fn unmet_requirements(&self, at: NodeIx) -> (Vec<Str>, Vec<AnyOf>) {
        let sop = self.frame().sop;
        self.unmet_requirements_at(SopPosition { sop, node: at })
    }

    /// The slots and tools that a node still requires. Calls count at the node where they were
    /// made.
    pub(super) fn unmet_requirements_at(&self, at: SopPosition) -> (Vec<Str>, Vec<AnyOf>) {
        let Some(procedure) = self.procedure(at.sop) else {
            return (Vec::new(), Vec::new());
        };
        let node = procedure.node(at.node);
        let is_blank = |value: &Value| {
            let text = value.as_str();
            value.is_null() || text.is_some_and(|text| text.trim().is_empty())
        };
        let unset = |name: &str| self.slots.get(name).is_none_or(is_blank);
        let slots = node
            .slots
            .iter()
            .filter(|it| it.required && unset(&it.name));
        let is_here = self.position() == Some(at);
        let was_called = |any: &&AnyOf| is_here && any.0.iter().any(|it| self.was_called(it));
        let tools = node.must_call.iter().filter(|it| !was_called(it));
        (
            slots.map(|it| it.name.clone()).collect(),
            tools.cloned().collect(),
        )
    }

    pub(super) fn check_requirements(&self, at: NodeIx) -> Result<(), SopRefusal> {
        let (slots, tools) = self.unmet_requirements(at);
        if slots.is_empty() && tools.is_empty() {
            return Ok(());
        }
        Err(SopRefusal::UnmetRequirements {
            node: self.current_procedure().node(at).id.clone(),
            slots,
            tools,
        })
    }

    pub(super) fn check_slot(&self, name: &str, value: &Value) -> Result<(), SopRefusal> {
        let known = self.procedures.iter().find_map(|it| it.slot(name));
        let Some(slot) = known else {
            let names = || self.procedures.iter().flat_map(|it| it.slot_names());
            // A file that declares no slots accepts any.
            return match names().next() {
                None => Ok(()),
                Some(_) => Err(SopRefusal::UnknownSlot {
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
        Err(SopRefusal::InvalidSlot {
            name: name.into(),
            wanted,
            given: value.clone(),
        })
    }
}
