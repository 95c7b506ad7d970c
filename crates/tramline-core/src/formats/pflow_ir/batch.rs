//! `batch`: one call for each of many items, one after the other or side by side.

use super::names::Names;
use super::retry::wait_ms;
use super::templates::Reader;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::sketch::Sources;
use crate::formats::yaml_graph::fields;
use crate::workflow::{Each, ItemFailures, Node, Retry};
use tramline_expr::Str;

/// How many calls are under way at once where the document does not say.
const WIDTH: u64 = 10;
/// More calls at once than a run may have under way would only wait.
const WIDTH_MAX: u64 = 64;
/// The most attempts at a call that fails.
const ATTEMPTS_MAX: u64 = 101;

/// Reads `batch` of a node.
pub(super) fn read<'t>(
    batch: At<'t>,
    names: &Names<'t>,
    node: &mut Node,
    sources: &mut Sources<'t>,
    flaws: &mut Flaws,
) {
    const KNOWN: [&str; 7] = [
        "items",
        "as",
        "parallel",
        "max_concurrent",
        "max_retries",
        "retry_wait",
        "error_handling",
    ];
    let hint = "write `{\"items\": \"${node.list}\"}`";
    if batch.value.as_object().is_none() {
        fields::wrong(batch, "batch", "an object", hint, flaws);
        return;
    }
    fields::unknown(batch, "`batch`", &KNOWN, flaws);
    let Some(items) = fields::given(batch, "items") else {
        fields::missing(batch, "`batch`", "items", hint, flaws);
        return;
    };
    sources.items = Some(items);
    let items = Reader::new(names, flaws).template(items);
    let name = fields::text(batch, "as", flaws).map(|(name, _)| name);
    let plain = |name: &&Str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name = name.filter(|name| !name.is_empty()).filter(plain);
    let parallel = fields::truth(batch, "parallel", flaws) == Some(true);
    let width = fields::given(batch, "max_concurrent");
    let width = width.and_then(|at| fields::whole(at, "max_concurrent", 1, 1_000_000, flaws));
    retry(batch, node, flaws);
    node.each = Some(Box::new(Each {
        items,
        name: name.cloned().unwrap_or_else(|| "item".into()),
        width: match parallel {
            true => width.unwrap_or(WIDTH).min(WIDTH_MAX) as u32,
            false => 1,
        },
        failures: failures(batch, flaws),
    }));
}

/// How often a failed call is made in all, where the node does not say so itself.
fn retry(batch: At<'_>, node: &mut Node, flaws: &mut Flaws) {
    let max = fields::given(batch, "max_retries");
    let max = max.and_then(|at| fields::whole(at, "max_retries", 0, ATTEMPTS_MAX, flaws));
    let wait = fields::given(batch, "retry_wait");
    let wait_ms = wait.map_or(0, |at| wait_ms(at, "retry_wait", flaws));
    // It counts the first attempt, too.
    if let (Some(max), None) = (max.filter(|max| *max > 1), node.retry) {
        node.retry = Some(Retry {
            max: max as u32 - 1,
            wait_ms,
            backoff: 1.0,
        });
    }
}

fn failures(batch: At<'_>, flaws: &mut Flaws) -> ItemFailures {
    let Some((word, at)) = fields::text(batch, "error_handling", flaws) else {
        return ItemFailures::Stop;
    };
    match word.as_str() {
        "fail_fast" => ItemFailures::Stop,
        "continue" => ItemFailures::Keep,
        _ => {
            let hint = "`fail_fast` fails the node, `continue` keeps each failure at its place";
            fields::wrong(
                at,
                "error_handling",
                "`fail_fast` or `continue`",
                hint,
                flaws,
            );
            ItemFailures::Stop
        }
    }
}
