//! `batch`: one call per item, sequential or parallel.

use super::reference_scope::ReferenceScope;
use super::retry::wait_ms;
use super::templates::TemplateReader;
use crate::workflow_builder::NodeSources;
use crate::yaml_graph::fields;
use tramline_expr::Str;
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::workflow::{FanOutSpec, ItemFailures, Node, RetryPolicy};

/// Default number of parallel calls of a batch.
const WIDTH_DEFAULT: u64 = 10;
/// Most parallel calls of a batch: a run does not make more calls at once.
const WIDTH_MAX: u64 = 64;
/// Most attempts of a failing call.
const ATTEMPTS_MAX: u64 = 101;

/// Reads the `batch` of a node.
pub(super) fn read<'t>(
    batch: Spanned<'t>,
    names: &ReferenceScope<'t>,
    node: &mut Node,
    sources: &mut NodeSources<'t>,
    flaws: &mut FlawCollector,
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
        fields::report_wrong_type(batch, "batch", "an object", hint, flaws);
        return;
    }
    fields::warn_unknown(batch, "`batch`", &KNOWN, flaws);
    let Some(items) = fields::present(batch, "items") else {
        fields::report_missing(batch, "`batch`", "items", hint, flaws);
        return;
    };
    sources.items = Some(items);
    let items = TemplateReader::new(names, flaws).template(items);
    let name = fields::optional_string(batch, "as", flaws).map(|(name, _)| name);
    let plain = |name: &&Str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name = name.filter(|name| !name.is_empty()).filter(plain);
    let parallel = fields::boolean(batch, "parallel", flaws) == Some(true);
    let width = fields::present(batch, "max_concurrent");
    let width =
        width.and_then(|at| fields::whole_number(at, "max_concurrent", 1, 1_000_000, flaws));
    retry(batch, node, flaws);
    node.each = Some(Box::new(FanOutSpec {
        items,
        name: name.cloned().unwrap_or_else(|| "item".into()),
        width: match parallel {
            true => width.unwrap_or(WIDTH_DEFAULT).min(WIDTH_MAX) as u32,
            false => 1,
        },
        failures: item_failures(batch, flaws),
    }));
}

/// Reads the retries of a batch, unless the node has its own.
fn retry(batch: Spanned<'_>, node: &mut Node, flaws: &mut FlawCollector) {
    let max = fields::present(batch, "max_retries");
    let max = max.and_then(|at| fields::whole_number(at, "max_retries", 0, ATTEMPTS_MAX, flaws));
    let wait = fields::present(batch, "retry_wait");
    let wait_ms = wait.map_or(0, |at| wait_ms(at, "retry_wait", flaws));
    // `max_retries` counts the first attempt as well.
    if let (Some(max), None) = (max.filter(|max| *max > 1), node.retry) {
        node.retry = Some(RetryPolicy {
            max: max as u32 - 1,
            wait_ms,
            backoff: 1.0,
        });
    }
}

fn item_failures(batch: Spanned<'_>, flaws: &mut FlawCollector) -> ItemFailures {
    let Some((word, at)) = fields::optional_string(batch, "error_handling", flaws) else {
        return ItemFailures::Stop;
    };
    match word.as_str() {
        "fail_fast" => ItemFailures::Stop,
        "continue" => ItemFailures::Keep,
        _ => {
            let hint =
                "`fail_fast` fails the node, `continue` records each failure as the item's result";
            fields::report_wrong_type(
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
