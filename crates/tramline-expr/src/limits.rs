//! Limits on what one evaluation may use, and the meter that enforces them.

use crate::error::{ExprError, ExprResult, Flaw};
use crate::host::Host;
use std::cell::Cell;
use std::time::Instant;

/// Runs long work off the threads that others wait for: it calls its argument exactly once.
pub type Offload = fn(&mut dyn FnMut());

/// Fuel after which an evaluation counts as long work: about ten milliseconds.
pub(crate) const FUEL_INLINE_MAX: u64 = 400_000;

/// What one evaluation may use. All limits but the deadline are deterministic.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Units of work: about one per node evaluated, item visited or 16 bytes of text handled.
    /// Beyond it: `L0001`.
    pub fuel: u64,
    /// How deep evaluation may nest, including calls (tail calls do not nest). Beyond it: `L0002`.
    pub depth: u32,
    /// Bytes of text that may be produced. Beyond it: `L0003`.
    pub bytes: u64,
    /// Array items and object fields that may be produced. Beyond it: `L0004`.
    pub items: u64,
    /// When to stop in any case. Beyond it: `L0005`.
    pub deadline: Option<Instant>,
    /// Runs evaluations that take long. An evaluation starts on the calling thread; if it does not
    /// finish soon, this runs it again from the beginning.
    pub offload: Option<Offload>,
}

impl Limits {
    /// Evaluates on the calling thread, or again through [`Limits::long`] if that takes long. An
    /// evaluation has no effects, so repeating it is safe.
    pub(crate) fn evaluate_within<T>(
        &self,
        host: &dyn Host,
        mut evaluate: impl FnMut(&Self) -> Result<T, ExprError>,
    ) -> Result<T, ExprError> {
        let Some(long) = self.offload.filter(|_| self.fuel > FUEL_INLINE_MAX) else {
            return evaluate(self);
        };
        let drawn = host.random_draws();
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
            host.rewind_random(drawn);
            // The time spent waiting to run does not count.
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
            offload: None,
        }
    }
}

/// Levels of nesting that an evaluation may add to its input: the depth that JSON parsers accept,
/// with room for an envelope. Beyond it: `L0006`.
pub(crate) const NESTING_MAX: u16 = 100;

/// How far the stack may grow below `evaluate`, in bytes: half of the smallest stack we run on (2
/// MiB). The other half is for the caller, the host and the deepest built-in. Beyond it: `L0002`.
const STACK_BYTES_MAX: usize = 1_000_000;

/// The error code of an evaluation that used up its fuel.
const OUT_OF_FUEL: &str = "L0001";

/// Fuel between two checks of the clock.
const FUEL_PER_CLOCK_CHECK: u64 = 4_096;

/// Counts what an evaluation uses.
pub(crate) struct Meter {
    limits: Limits,
    fuel: Cell<u64>,
    next_check: Cell<u64>,
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
            next_check: Cell::new(FUEL_PER_CLOCK_CHECK.min(limits.fuel)),
            bytes: Cell::new(0),
            items: Cell::new(0),
            depth: Cell::new(0),
            stack: Cell::new(stack_position()),
        }
    }

    /// A meter that continues from here; [`Meter::rejoin`] takes its count back.
    pub(crate) fn fork(&self) -> Self {
        Self {
            limits: self.limits,
            fuel: self.fuel.clone(),
            next_check: self.next_check.clone(),
            bytes: self.bytes.clone(),
            items: self.items.clone(),
            depth: self.depth.clone(),
            stack: self.stack.clone(),
        }
    }

    /// Takes over the count of a fork of this meter.
    pub(crate) fn rejoin(&self, fork: &Self) {
        self.fuel.set(fork.fuel.get());
        self.next_check.set(fork.next_check.get());
        self.bytes.set(fork.bytes.get());
        self.items.set(fork.items.get());
    }

    /// Charges for work done or about to be done.
    #[inline]
    pub(crate) fn burn(&self, fuel: u64) -> ExprResult<()> {
        let used = self.fuel.get().saturating_add(fuel);
        self.fuel.set(used);
        if used < self.next_check.get() {
            return Ok(());
        }
        self.check_limits(used)
    }

    #[cold]
    fn check_limits(&self, used: u64) -> ExprResult<()> {
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
        // After the last check the limit itself is next: the comparison in `burn` is "less than".
        self.next_check.set(
            used.saturating_add(FUEL_PER_CLOCK_CHECK)
                .min(self.limits.fuel.saturating_add(1)),
        );
        Ok(())
    }

    /// Charges for text before it is made.
    pub(crate) fn text(&self, bytes: usize) -> ExprResult<()> {
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

    /// Charges for items or fields before they are made.
    #[inline]
    pub(crate) fn items(&self, items: usize) -> ExprResult<()> {
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

    /// Goes one level deeper; [`Meter::leave`] goes back up.
    #[inline]
    pub(crate) fn enter(&self) -> ExprResult<()> {
        let depth = self.depth.get() + 1;
        if depth > self.limits.depth
            || self.stack.get().abs_diff(stack_position()) > STACK_BYTES_MAX
        {
            return Err(too_deep());
        }
        self.depth.set(depth);
        self.burn(1)
    }

    /// Checks that the stack has room for the compiler.
    pub(crate) fn check_compile_stack(&self) -> ExprResult<()> {
        match self.stack.get().abs_diff(stack_position()) > STACK_BYTES_MAX / 4 {
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
    Flaw::new("L0002", "the expression is nested too deeply")
}

#[cold]
pub(crate) fn too_nested() -> Box<Flaw> {
    let message = format!("the expression made a value more than {NESTING_MAX} levels deep");
    Flaw::new("L0006", message)
}

/// The approximate stack position.
#[inline(always)]
pub(crate) fn stack_position() -> usize {
    let mark = 0u8;
    std::ptr::from_ref(&mark) as usize
}
