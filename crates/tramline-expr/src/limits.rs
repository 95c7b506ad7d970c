//! Bounds on what one evaluation may use, and the meter that holds it to them.

use crate::error::{ExprError, Flaw, Outcome};
use crate::host::Host;
use std::cell::Cell;
use std::time::Instant;

/// Does work that takes long, off the threads that others wait for: called with the work, it calls
/// it once.
pub type LongWork = fn(&mut dyn FnMut());

/// Units of fuel after which an evaluation counts as long work: about ten milliseconds.
pub(crate) const FUEL_INLINE_MAX: u64 = 400_000;

/// What one evaluation may use. Everything but the deadline gives the same outcome on every run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Units of work: about one for each node evaluated, item visited or 16 bytes of text handled.
    /// Past it: `L0001`.
    pub fuel: u64,
    /// How deep evaluation may nest, calls included (tail calls do not nest). Past it: `L0002`.
    pub depth: u32,
    /// Bytes of text that may be produced. Past it: `L0003`.
    pub bytes: u64,
    /// Items of arrays and fields of objects that may be produced. Past it: `L0004`.
    pub items: u64,
    /// When to stop in any case. Past it: `L0005`.
    pub deadline: Option<Instant>,
    /// Who does an evaluation that takes long. It is begun where it is asked for; if it is not
    /// done soon, it is done again from the beginning by this.
    pub long: Option<LongWork>,
}

impl Limits {
    /// Evaluates where it is asked for, or again by [`Limits::long`] if that takes long. An
    /// evaluation has no effects, so that doing it again changes nothing.
    pub(crate) fn hold<T>(
        &self,
        host: &dyn Host,
        mut evaluate: impl FnMut(&Self) -> Result<T, ExprError>,
    ) -> Result<T, ExprError> {
        let Some(long) = self.long.filter(|_| self.fuel > FUEL_INLINE_MAX) else {
            return evaluate(self);
        };
        let drawn = host.drawn();
        let soon = Self {
            fuel: FUEL_INLINE_MAX,
            ..*self
        };
        let mut came = evaluate(&soon);
        if !matches!(&came, Err(error) if error.code == OUT_OF_FUEL) {
            return came;
        }
        let now = Instant::now();
        let left = self.deadline.map(|at| at.saturating_duration_since(now));
        long(&mut || {
            host.draw_again_from(drawn);
            // The time that it waited for its turn does not count.
            let deadline = left.map(|left| Instant::now() + left);
            came = evaluate(&Self { deadline, ..*self });
        });
        came
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 20_000_000,
            depth: 600,
            bytes: 64 << 20,
            items: 2_000_000,
            deadline: None,
            long: None,
        }
    }
}

/// Arrays and objects that an evaluation makes may nest this deep above the values it was given:
/// the depth that JSON readers accept, with room for an envelope. Past it: `L0006`.
pub(crate) const NESTING_MAX: u16 = 100;

/// How far the stack may grow below `evaluate`: half of the smallest stack we run on (2 MiB), the
/// other half being for the caller, the host and the deepest built-in. Past it: `L0002`.
const STACK_BYTES_MAX: usize = 1_000_000;

/// The error of an evaluation that used up its fuel.
const OUT_OF_FUEL: &str = "L0001";

/// Fuel between two looks at the clock.
const FUEL_PER_LOOK: u64 = 4_096;

/// Counts what an evaluation uses.
pub(crate) struct Meter {
    limits: Limits,
    fuel: Cell<u64>,
    look: Cell<u64>,
    bytes: Cell<u64>,
    items: Cell<u64>,
    depth: Cell<u32>,
    stack: Cell<usize>,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            fuel: Cell::new(0),
            look: Cell::new(FUEL_PER_LOOK.min(limits.fuel)),
            bytes: Cell::new(0),
            items: Cell::new(0),
            depth: Cell::new(0),
            stack: Cell::new(stack_mark()),
        }
    }

    /// A meter that goes on from here; [`Meter::rejoin`] takes its count back.
    pub(crate) fn fork(&self) -> Self {
        Self {
            limits: self.limits,
            fuel: self.fuel.clone(),
            look: self.look.clone(),
            bytes: self.bytes.clone(),
            items: self.items.clone(),
            depth: self.depth.clone(),
            stack: self.stack.clone(),
        }
    }

    /// Counts what a fork of this meter has used.
    pub(crate) fn rejoin(&self, fork: &Self) {
        self.fuel.set(fork.fuel.get());
        self.look.set(fork.look.get());
        self.bytes.set(fork.bytes.get());
        self.items.set(fork.items.get());
    }

    /// Charges for work done or about to be done.
    #[inline]
    pub(crate) fn burn(&self, fuel: u64) -> Outcome<()> {
        let used = self.fuel.get().saturating_add(fuel);
        self.fuel.set(used);
        if used < self.look.get() {
            return Ok(());
        }
        self.look_up(used)
    }

    #[cold]
    fn look_up(&self, used: u64) -> Outcome<()> {
        if used > self.limits.fuel {
            let fuel = self.limits.fuel;
            return Err(Flaw::new(
                OUT_OF_FUEL,
                format!("the expression used up its {fuel} units of fuel"),
            ));
        }
        if self
            .limits
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return Err(Flaw::new("L0005", "the expression ran past its deadline"));
        }
        // Past the last look the limit itself is next: the comparison in `burn` is "less than".
        self.look.set(
            used.saturating_add(FUEL_PER_LOOK)
                .min(self.limits.fuel.saturating_add(1)),
        );
        Ok(())
    }

    /// Charges for text about to be made, before it is made.
    pub(crate) fn text(&self, bytes: usize) -> Outcome<()> {
        let total = self.bytes.get().saturating_add(bytes as u64);
        self.bytes.set(total);
        if total > self.limits.bytes {
            let limit = self.limits.bytes;
            return Err(Flaw::new(
                "L0003",
                format!("the expression made more than {limit} bytes of text"),
            ));
        }
        self.burn(bytes as u64 / 16)
    }

    /// Charges for items or fields about to be made, before they are made.
    #[inline]
    pub(crate) fn items(&self, items: usize) -> Outcome<()> {
        let total = self.items.get().saturating_add(items as u64);
        self.items.set(total);
        if total > self.limits.items {
            let limit = self.limits.items;
            return Err(Flaw::new(
                "L0004",
                format!("the expression made more than {limit} items"),
            ));
        }
        self.burn(items as u64)
    }

    /// Goes one level deeper; [`Meter::leave`] comes back up.
    #[inline]
    pub(crate) fn enter(&self) -> Outcome<()> {
        let depth = self.depth.get() + 1;
        if depth > self.limits.depth || self.stack.get().abs_diff(stack_mark()) > STACK_BYTES_MAX {
            return Err(too_deep());
        }
        self.depth.set(depth);
        self.burn(1)
    }

    /// Whether the stack has room for a compiler.
    pub(crate) fn room_to_compile(&self) -> Outcome<()> {
        match self.stack.get().abs_diff(stack_mark()) > STACK_BYTES_MAX / 4 {
            true => Err(too_deep()),
            false => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }
}

#[cold]
pub(crate) fn too_deep() -> Box<Flaw> {
    Flaw::new("L0002", "the expression nests too deep")
}

#[cold]
pub(crate) fn too_nested() -> Box<Flaw> {
    let message = format!("the expression made a value more than {NESTING_MAX} levels deep");
    Flaw::new("L0006", message)
}

/// Roughly where the stack is now.
#[inline(always)]
pub(crate) fn stack_mark() -> usize {
    let mark = 0u8;
    std::ptr::from_ref(&mark) as usize
}
