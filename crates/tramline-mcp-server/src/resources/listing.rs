//! Lists resources: first what is always there, then the caller's runs, newest first.

use super::pages::{self, Cursor, PAGE_ITEMS};
use super::{declared_resource, own_resources};
use crate::SharedState;
use crate::caller::Caller;
use crate::tools::{Toolset, visible_runs};
use rmcp::ErrorData;
use rmcp::model::Resource;
use tramline_engine::ports::{RunFilter, RunRow};

/// The toolsets that list runs.
pub(crate) const RUN_LISTING_TOOLSETS: [Toolset; 2] = [Toolset::Debug, Toolset::Runs];

/// One page of resources, and the cursor of the next.
pub(super) async fn page(
    shared: &SharedState,
    caller: &Caller,
    cursor: Cursor,
) -> Result<(Vec<Resource>, Option<Cursor>), ErrorData> {
    let lists_runs = RUN_LISTING_TOOLSETS
        .into_iter()
        .any(|toolset| shared.has(toolset));
    let after = match cursor {
        Cursor::Offset(offset) => {
            let (page, next) = pages::static_page(static_resources(shared).await, offset);
            let next = next.or_else(|| lists_runs.then_some(Cursor::Runs(None)));
            return Ok((page, next));
        }
        Cursor::Runs(after) => after,
    };
    if !lists_runs {
        return Ok((Vec::new(), None));
    }
    let filter = RunFilter {
        after,
        limit: PAGE_ITEMS,
        ..RunFilter::default()
    };
    let found = visible_runs(&shared.engine, caller, filter, PAGE_ITEMS).await;
    let found = found.map_err(|fault| ErrorData::internal_error(fault.to_string(), None))?;
    let last = found.rows.last().map(|row| row.run.clone());
    let next = last
        .filter(|_| found.more)
        .map(|last| Cursor::Runs(Some(last)));
    Ok((found.rows.iter().map(run_resource).collect(), next))
}

async fn static_resources(shared: &SharedState) -> Vec<Resource> {
    let catalog = shared.catalog();
    let declared = catalog
        .server
        .content
        .iter()
        .flat_map(|content| &content.resources);
    let declared = declared.filter(|it| it.variables().is_empty());
    let mut all: Vec<_> = declared.map(declared_resource).collect();
    all.extend(shared.toolset_resources());
    all.extend(crate::skills::resources(shared));
    all.extend(own_resources::static_resources(shared).await);
    all
}

fn run_resource(row: &RunRow) -> Resource {
    let (workflow, status) = (&row.index_row.workflow, row.index_row.status.as_str());
    Resource::new(own_resources::run_uri(&row.run), row.run.as_str())
        .with_title(format!("{workflow} ({status})"))
        .with_description(format!(
            "A run of {workflow}, started {}",
            crate::reply::timestamp(row.index_row.started_ms)
        ))
        .with_mime_type("application/json")
}
