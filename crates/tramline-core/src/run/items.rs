//! A step that is spread: its call is made for each item, and their outputs are gathered.

use super::steps::failure_value;
use super::{Approval, Open, Run, Stage};
use crate::failure::Failure;
use crate::ids::{NodeIx, StepNo};
use crate::journal::{self, Pause};

use crate::workflow::ItemFailures;
use tramline_expr::Value;

/// How a step stands that is spread over items.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) node: NodeIx,
    pub(crate) items: Value,
    /// The arguments of the first calls, where somebody has agreed to them.
    pub(crate) agreed: Vec<Value>,
    /// The visit that its token came from.
    pub(crate) from: Option<u32>,
    /// What was agreed to before it began.
    pub(crate) approval: Approval,
    /// How many items have begun; they begin in order.
    pub(crate) begun: u32,
    /// How many have ended.
    pub(crate) ended: u32,
    pub(crate) outputs: Vec<Value>,
    /// The failure that ends all of it.
    pub(crate) failed: Option<Failure>,
}

impl Spread {
    /// How many items there are.
    pub(crate) fn len(&self) -> u32 {
        self.outputs.len() as u32
    }

    /// Whether nothing is left but to say so.
    pub(crate) fn is_over(&self) -> bool {
        self.failed.is_some() || self.ended == self.len()
    }

    /// Whether only items that have begun can bring it on.
    pub(super) fn waits(&self) -> bool {
        !self.is_over() && self.begun == self.len()
    }
}

impl Run {
    pub(super) fn spread(
        &mut self,
        step: StepNo,
        node: NodeIx,
        items: &Value,
    ) -> Result<(), String> {
        let Some(count) = items.as_array().map(<[Value]>::len) else {
            return Err("what a step is spread over must be a list".into());
        };
        self.next_step(step, node)?;
        let agreed = self.agreed_batch(node);
        let token = self.take(node)?;
        let spread = Spread {
            node,
            items: items.clone(),
            agreed,
            from: token.from,
            approval: token.leave.approval,
            begun: 0,
            ended: 0,
            outputs: vec![Value::Null; count],
            failed: None,
        };
        self.spreads.insert(step, spread);
        Ok(())
    }

    /// The arguments that somebody agreed to for the next visit of a node.
    fn agreed_batch(&self, node: NodeIx) -> Vec<Value> {
        let next = self.flow.ready.iter().find(|token| token.node == node);
        let call = next.and_then(|token| self.agreed.get(&token.leave.agreed));
        let batch = call.and_then(|call| call.batch.as_ref());
        batch.map_or_else(Vec::new, |batch| batch.arguments.clone())
    }

    fn spread_of(&mut self, item: journal::Item) -> Result<&mut Spread, String> {
        self.spreads
            .get_mut(&item.step)
            .filter(|spread| item.index < spread.len())
            .ok_or_else(|| format!("step {} has no item {}", item.step, item.index))
    }

    /// The call for an item begins. What was agreed to about it.
    pub(super) fn item_begins(&mut self, item: journal::Item) -> Result<Approval, String> {
        let spread = self.spread_of(item)?;
        if item.index != spread.begun {
            return Err(format!("item {} is not the next one", item.index));
        }
        spread.begun += 1;
        let approval = spread.approval;
        self.items += 1;
        Ok(approval)
    }

    pub(super) fn item_done(&mut self, item: journal::Item, output: Value) -> Result<(), String> {
        let spread = self.spread_of(item)?;
        spread.outputs[item.index as usize] = output;
        spread.ended += 1;
        Ok(())
    }

    pub(super) fn item_failed(
        &mut self,
        item: journal::Item,
        failure: &Failure,
    ) -> Result<(), String> {
        let node = self.spread_of(item)?.node;
        let each = self.graph.node(node).each.as_ref();
        match each.map(|each| each.failures).unwrap_or_default() {
            ItemFailures::Keep => self.item_done(item, failure_value(failure)),
            ItemFailures::Stop => {
                self.spread_of(item)?.failed = Some(failure.clone());
                self.close_items(item.step);
                Ok(())
            }
        }
    }

    pub(super) fn gathered(&mut self, step: StepNo, node: NodeIx) -> Result<(), String> {
        match self.spreads.remove(&step) {
            Some(spread) if spread.ended == spread.len() && spread.node == node => {
                self.step_ended(node, None, spread.outputs.into());
                Ok(())
            }
            Some(spread) => {
                self.spreads.insert(step, spread);
                Err(format!("the items of step {step} are not all done"))
            }
            None => Err(format!("step {step} is not spread")),
        }
    }

    /// Gives up what is still under way for a step, with the questions about it.
    pub(super) fn close_items(&mut self, step: StepNo) {
        let open = &mut self.open;
        open.retain(|_, open| open.of.is_none_or(|item| item.step != step));
        self.pauses.retain(|_, pause| match pause {
            Pause::InDoubt { step, .. } | Pause::Child { step, .. } => open.contains_key(step),
            Pause::Layer { .. }
            | Pause::Approval { .. }
            | Pause::Break { .. }
            | Pause::Effect { .. }
            | Pause::Budget { .. } => true,
        });
    }

    /// The nodes whose call is being made for each of several items.
    pub fn spread_nodes(&self) -> impl Iterator<Item = NodeIx> + '_ {
        self.spreads.values().map(|spread| spread.node)
    }

    /// The node of a step whose call is being made for each of several items.
    pub fn spread_node(&self, step: StepNo) -> Option<NodeIx> {
        self.spreads.get(&step).map(|spread| spread.node)
    }

    /// The failure of an item that ends its step.
    pub fn spread_failure(&self, step: StepNo) -> Option<&Failure> {
        self.spreads.get(&step)?.failed.as_ref()
    }

    /// How many items of a step are under way.
    pub(crate) fn items_open(&self, step: StepNo) -> usize {
        let under_way = |open: &&Open| {
            open.stage != Stage::Doubted && open.of.is_some_and(|item| item.step == step)
        };
        self.open.values().filter(under_way).count()
    }
}
