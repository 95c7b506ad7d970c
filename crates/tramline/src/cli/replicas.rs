//! `tramline replicas`: the processes that share a store.

use super::{CliError, CliResult, CommonArgs, Exit, output, runs};
use tramline_engine::Fault;

/// List the replicas that share the store, with their leases.
#[derive(clap::Args)]
pub(super) struct Replicas {}

pub(super) async fn main(common: CommonArgs, _verb: Replicas) -> CliResult {
    let house = runs::open(&common)?;
    let store = house.engine.store();
    if store.good_until().is_none() {
        return Err(CliError::bad_input(
            "this data directory belongs to one machine, so it has no replicas: name a shared store with --store",
        ));
    }
    let replicas = store.replicas().await.map_err(Fault::from)?;
    if common.json {
        let all = replicas.iter().map(|one| {
            serde_json::json!({
                "name": one.name,
                "alive": one.lease_left_ms > 0,
                "lease_left_ms": one.lease_left_ms,
                "joined_ms": one.joined_ms,
                "pools": one.pools,
                "version": one.version,
                "driven": one.driven,
            })
        });
        output::line(&all.collect::<Vec<_>>());
        return Ok(Exit::Done);
    }
    if replicas.is_empty() {
        output::status_line("no replica has joined this store in the last hour");
    }
    for one in &replicas {
        let state = match one.lease_left_ms {
            left if left > 0 => format!("alive, lease for {:.1} s", left as f64 / 1_000.0),
            left => format!("gone for {:.0} s", left.unsigned_abs() as f64 / 1_000.0),
        };
        output::text_line(&format!(
            "{}  {state}, drives {}, pools {}, version {}",
            output::field(&one.name),
            one.driven,
            output::field(&one.pools.join(",")),
            output::field(&one.version),
        ));
    }
    Ok(Exit::Done)
}
