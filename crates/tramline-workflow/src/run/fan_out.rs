//! Fan-out steps: the call is made once for each item, and the outputs are collected.

use super::step_events::failure_value;
use super::{Approval, OpenStep, Run, StepStage};
use crate::failure::Failure;
use crate::ids::{NodeIx, StepNo};
use crate::journal::{self, Pause};

use crate::workflow::ItemFailures;
use tramline_expr::Value;

/// The state of a fan-out step.
#[derive(Clone, Debug)]
pub(crate) struct FanOut {
    pub(crate) node: NodeIx,
    pub(crate) items: Value,
    /// The arguments of the first calls, if they were approved.
    pub(crate) approved_arguments: Vec<Value>,
    /// The versions of the settings that the calls were approved with, if they were.
    pub(crate) approved_settings: Option<journal::SettingVersions>,
    /// The visit that its token came from.
    pub(crate) from: Option<u32>,
    /// The approval given before it started.
    pub(crate) approval: Approval,
    /// The number of items started; they start in order.
    pub(crate) started: u32,
    /// The number of items finished.
    pub(crate) finished: u32,
    pub(crate) outputs: Vec<Value>,
    /// The failure that ends the whole step.
    pub(crate) failed: Option<Failure>,
}

impl FanOut {
    /// The number of items.
    pub(crate) fn len(&self) -> u32 {
        self.outputs.len() as u32
    }

    /// Whether only the end of the step is left to record.
    pub(crate) fn is_over(&self) -> bool {
        self.failed.is_some() || self.finished == self.len()
    }

    /// Whether it can only continue once a started item ends.
    pub(super) fn is_waiting_for_items(&self) -> bool {
        !self.is_over() && self.started == self.len()
    }
}

impl Run {
    pub(super) fn start_fan_out(
        &mut self,
        step: StepNo,
        node: NodeIx,
        items: &Value,
    ) -> Result<(), String> {
        let Some(count) = items.as_array().map(<[Value]>::len) else {
            return Err("the items of a fan-out step must be a list".into());
        };
        self.count_step(step, node)?;
        let agreed = self.approved_batch(node);
        let approved_settings = self.next_approved_call(node).map(|it| it.settings.clone());
        let token = self.take_token(node)?;
        let spread = FanOut {
            node,
            items: items.clone(),
            approved_arguments: agreed,
            approved_settings,
            from: token.from,
            approval: token.clearance.approval,
            started: 0,
            finished: 0,
            outputs: vec![Value::Null; count],
            failed: None,
        };
        self.fan_outs.insert(step, spread);
        Ok(())
    }

    /// The approved arguments for the next visit of a node.
    fn approved_batch(&self, node: NodeIx) -> Vec<Value> {
        let call = self.next_approved_call(node);
        let batch = call.and_then(|call| call.batch.as_ref());
        batch.map_or_else(Vec::new, |batch| batch.arguments.clone())
    }

    fn fan_out_mut(&mut self, item: journal::FanOutItem) -> Result<&mut FanOut, String> {
        self.fan_outs
            .get_mut(&item.step)
            .filter(|spread| item.index < spread.len())
            .ok_or_else(|| format!("step {} has no item {}", item.step, item.index))
    }

    /// Starts the call for an item, and returns its approval, with the settings approved for it.
    pub(super) fn start_item(
        &mut self,
        item: journal::FanOutItem,
    ) -> Result<(Approval, Option<journal::SettingVersions>), String> {
        let spread = self.fan_out_mut(item)?;
        if item.index != spread.started {
            return Err(format!("item {} is not the next one", item.index));
        }
        spread.started += 1;
        let approval = (spread.approval, spread.approved_settings.clone());
        self.item_count += 1;
        Ok(approval)
    }

    pub(super) fn finish_item(
        &mut self,
        item: journal::FanOutItem,
        output: Value,
    ) -> Result<(), String> {
        let spread = self.fan_out_mut(item)?;
        spread.outputs[item.index as usize] = output;
        spread.finished += 1;
        Ok(())
    }

    pub(super) fn fail_item(
        &mut self,
        item: journal::FanOutItem,
        failure: &Failure,
    ) -> Result<(), String> {
        let node = self.fan_out_mut(item)?.node;
        let each = self.graph.node(node).each.as_ref();
        match each.map(|each| each.failures).unwrap_or_default() {
            ItemFailures::Keep => self.finish_item(item, failure_value(failure)),
            ItemFailures::Stop => {
                self.fan_out_mut(item)?.failed = Some(failure.clone());
                self.drop_items(item.step);
                Ok(())
            }
        }
    }

    pub(super) fn finish_fan_out(&mut self, step: StepNo, node: NodeIx) -> Result<(), String> {
        match self.fan_outs.remove(&step) {
            Some(spread) if spread.finished == spread.len() && spread.node == node => {
                self.step_ended(node, None, spread.outputs.into());
                Ok(())
            }
            Some(spread) => {
                self.fan_outs.insert(step, spread);
                Err(format!("not all items of step {step} are finished"))
            }
            None => Err(format!("step {step} is not a fan-out step")),
        }
    }

    /// Drops the open calls of a step, with their pauses.
    pub(super) fn drop_items(&mut self, step: StepNo) {
        let open = &mut self.open_steps;
        open.retain(|_, open| open.item.is_none_or(|item| item.step != step));
        self.pauses.retain(|_, pause| match pause {
            Pause::InDoubt { step, .. } | Pause::Child { step, .. } => open.contains_key(step),
            Pause::Layer { .. }
            | Pause::Approval { .. }
            | Pause::Break { .. }
            | Pause::Effect { .. }
            | Pause::Form { .. }
            | Pause::Budget { .. } => true,
        });
    }

    /// The nodes with an open fan-out step.
    pub fn fan_out_nodes(&self) -> impl Iterator<Item = NodeIx> + '_ {
        self.fan_outs.values().map(|spread| spread.node)
    }

    /// The node of an open fan-out step.
    pub fn fan_out_node(&self, step: StepNo) -> Option<NodeIx> {
        self.fan_outs.get(&step).map(|spread| spread.node)
    }

    /// The item failure that ends a fan-out step.
    pub fn fan_out_failure(&self, step: StepNo) -> Option<&Failure> {
        self.fan_outs.get(&step)?.failed.as_ref()
    }

    /// The number of running items of a step.
    pub(crate) fn running_items(&self, step: StepNo) -> usize {
        let under_way = |open: &&OpenStep| {
            open.stage != StepStage::AwaitingDecision
                && open.item.is_some_and(|item| item.step == step)
        };
        self.open_steps.values().filter(under_way).count()
    }
}
