//! `tramline loop`: a message, the plan made for it, and what came of it.

use super::{Common, Done, Exit, Reach, Stopped, ending, input, output};
use crate::wire::{self, Origin};
use tramline_core::ids::RunId;
use tramline_engine::loop_runner::{Mend, Request, Response, Standing, Terms};

/// Plan tool calls for a message, run them and tell what came of it.
#[derive(clap::Args)]
pub(super) struct Loop {
    /// What is wanted
    #[arg(value_name = "MESSAGE", required_unless_present = "run")]
    message: Option<String>,
    /// The conversation this belongs to; its messages are remembered
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// A plan to run as it is: JSON, @file or - for standard input
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Only these tools: server:tool or server:*
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// What becomes of the plan when a step fails: continue, stop, replan
    #[arg(long, value_name = "WAY", default_value = "replan")]
    on_error: Mend,
    /// Save the plan as a workflow of this name once it is done
    #[arg(long, value_name = "NAME")]
    save_as: Option<String>,
    /// Refuse a plan with anything wrong about it
    #[arg(long)]
    strict: bool,
    /// Answer the question of an earlier loop with the plan
    #[arg(long, value_name = "HANDLE", requires = "plan")]
    handle: Option<String>,
    /// How an earlier loop stands, by its run; goes on with it if nobody does
    #[arg(long, value_name = "RUN", value_parser = super::runs::run_id)]
    run: Option<RunId>,
    #[command(flatten)]
    reach: Reach,
}

pub(super) async fn main(common: Common, verb: Loop) -> Done {
    let config = common.config(&verb.reach)?;
    let house = wire::open(&config, [])?;
    let terms = Terms {
        origin: Origin::brought(&[], &config).to_value(),
        by: Some("command line".into()),
        ..Terms::default()
    };
    let answered = tokio::select! {
        response = answer(&house, verb, &terms) => Some(response),
        () = ending::requested() => None,
    };
    house.close().await;
    let Some(response) = answered else {
        let message = "interrupted; `tramline runs` shows the run, and `tramline loop --run RUN` \
                       continues it";
        let exit = Exit::Interrupted;
        return Err(Stopped {
            exit,
            message: message.to_owned(),
        });
    };
    let response = response?;
    if common.json {
        output::line(&serde_json::Value::from(&response.to_value()));
    } else {
        show(&response);
    }
    Ok(match response.standing {
        Standing::Complete => Exit::Done,
        Standing::Failed | Standing::Aborted | Standing::Expired => Exit::Failed,
        // Asked for a plan after a step failed, or before anything was done.
        Standing::PlanRequest if !response.results.is_empty() => Exit::Failed,
        Standing::Refused | Standing::PlanRequest => Exit::BadInput,
        Standing::Rejected => Exit::Rejected,
        Standing::Waiting => Exit::Paused,
    })
}

async fn answer(house: &wire::House, verb: Loop, terms: &Terms) -> Result<Response, Stopped> {
    let runner = house.runner();
    if let Some(run) = &verb.run {
        return Ok(runner.follow(run, terms).await?);
    }
    let plan = verb.plan.as_deref().map(input::whole).transpose()?;
    if let (Some(handle), Some(plan)) = (&verb.handle, &plan) {
        return Ok(runner.submit(handle, plan, terms).await?);
    }
    let mut request = Request::new(verb.message.unwrap_or_default());
    request.session = verb.session.map(Into::into);
    request.plan = plan;
    request.on_error = verb.on_error;
    request.strict = verb.strict;
    request.save_as = verb.save_as.map(Into::into);
    if !verb.tools.is_empty() {
        request.available = Some(verb.tools.into_iter().map(Into::into).collect());
    }
    Ok(runner.run_for(request, terms).await?)
}

/// Tells people: each step on a line, then the summary or the last output.
fn show(response: &Response) {
    for result in &response.results {
        match &result.error {
            None => output::say(&format!("done    {}", result.tool)),
            Some(error) => output::say(&format!("failed  {}: {error}", result.tool)),
        }
    }
    for problem in &response.problems {
        output::say(&format!("note    {problem}"));
    }
    if let Some(run) = response.runs.last() {
        output::say(&format!("run     {run}"));
    }
    let saved = response.saved.as_ref();
    let field = |key| saved.and_then(|saved| saved.get(key)?.as_str());
    match (field("node_type"), field("error")) {
        (Some(called), _) => output::say(&format!("saved   {called}")),
        (None, Some(error)) => output::say(&format!("note    not saved: {error}")),
        (None, None) => {}
    }
    if let Some(handle) = &response.handle {
        let why = match response.results.is_empty() {
            true => "no complete plan was found",
            false => "a step failed",
        };
        let says = "`--json` shows what is open. Give a plan for it with";
        output::say(&format!(
            "{why}; {says} --handle {handle} --plan @plan.json"
        ));
    }
    if response.standing == Standing::Waiting {
        output::say("it waits for a person; `tramline runs show` tells for what");
    }
    let last = response
        .results
        .iter()
        .rev()
        .find(|one| one.error.is_none());
    match (&response.summary, last) {
        (Some(summary), _) => output::result(summary),
        (None, Some(last)) => output::json(&last.output.to_json_pretty()),
        (None, None) => {}
    }
}
