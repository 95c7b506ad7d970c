//! `tramline loop`: a message, the plan made for it, and its results.

use super::{
    AccessArgs, CliError, CliResult, CommonArgs, Exit, audit_record, input, output, shutdown,
};
use crate::app::{self, RunOrigin};
use tramline_planner::loop_runner::{
    CallerContext, LoopRequest, LoopResponse, LoopStatus, OnFailure,
};
use tramline_workflow::ids::RunId;

/// Plan tool calls for a message, run them and print the results.
#[derive(clap::Args)]
pub(super) struct LoopArgs {
    /// The request
    #[arg(value_name = "MESSAGE", required_unless_present = "run")]
    message: Option<String>,
    /// The chat session this belongs to; its messages are remembered
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// A plan to run as given: JSON, @file or - for standard input
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Only use these tools: server:tool or server:*
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// What to do when a step fails: continue, stop, replan
    #[arg(long, value_name = "WAY", default_value = "replan")]
    on_error: OnFailure,
    /// Save the plan as a workflow with this name when it completes
    #[arg(long, value_name = "NAME")]
    save_as: Option<String>,
    /// Reject a plan with any problem
    #[arg(long)]
    strict: bool,
    /// Answer the plan request of an earlier loop
    #[arg(long, value_name = "HANDLE", requires = "plan")]
    handle: Option<String>,
    /// Show the state of an earlier loop by its run, and resume it if no process drives it
    #[arg(long, value_name = "RUN", value_parser = super::runs::run_id)]
    run: Option<RunId>,
    #[command(flatten)]
    reach: AccessArgs,
}

pub(super) async fn main(common: CommonArgs, verb: LoopArgs) -> CliResult {
    let config = common.config(&verb.reach)?;
    let house = app::open(&config, [])?;
    let terms = CallerContext {
        origin: RunOrigin::of_submitted(&[], &config).to_value(),
        caller: Some("command line".into()),
        ..CallerContext::default()
    };
    let run = verb.run.clone();
    let given = verb.recorded();
    let work = answer_loop(&common, &house, verb, &terms);
    let command = ("loop", run.as_ref());
    let done =
        audit_record::run_recorded(&house.engine, command, Some(given), Box::pin(work)).await;
    house.close().await;
    done
}

impl LoopArgs {
    /// The options as recorded in the audit log.
    fn recorded(&self) -> serde_json::Value {
        let mut told = serde_json::Map::new();
        let options = [
            ("message", &self.message),
            ("session", &self.session),
            ("plan", &self.plan),
            ("handle", &self.handle),
            ("save_as", &self.save_as),
        ];
        for (key, value) in options {
            if let Some(value) = value {
                told.insert(key.into(), value.as_str().into());
            }
        }
        told.into()
    }
}

async fn answer_loop(
    common: &CommonArgs,
    house: &app::App,
    verb: LoopArgs,
    terms: &CallerContext,
) -> CliResult {
    let answered = tokio::select! {
        response = run_loop(house, verb, terms) => Some(response),
        () = shutdown::wait_for_request() => None,
    };
    let Some(response) = answered else {
        let message = "interrupted; `tramline runs` shows the run, and `tramline loop --run RUN` \
                       continues it";
        let exit = Exit::Interrupted;
        return Err(CliError {
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
    Ok(match response.status {
        LoopStatus::Complete => Exit::Done,
        LoopStatus::Failed | LoopStatus::Aborted | LoopStatus::Expired => Exit::Failed,
        // A plan is requested after a step failed, or before anything was done.
        LoopStatus::PlanRequest if !response.results.is_empty() => Exit::Failed,
        LoopStatus::Refused | LoopStatus::PlanRequest => Exit::BadInput,
        LoopStatus::Rejected => Exit::Rejected,
        LoopStatus::Paused => Exit::Paused,
    })
}

async fn run_loop(
    house: &app::App,
    verb: LoopArgs,
    terms: &CallerContext,
) -> Result<LoopResponse, CliError> {
    let runner = house.loop_runner();
    if let Some(run) = &verb.run {
        return Ok(runner.wait_for(run, terms).await?);
    }
    let plan = verb.plan.as_deref().map(input::read_input).transpose()?;
    if let (Some(handle), Some(plan)) = (&verb.handle, &plan) {
        return Ok(runner.submit(handle, plan, terms).await?);
    }
    let mut request = LoopRequest::new(verb.message.unwrap_or_default());
    request.session = verb.session.map(Into::into);
    request.plan = plan;
    request.on_error = verb.on_error;
    request.strict = verb.strict;
    request.save_as = verb.save_as.map(Into::into);
    if !verb.tools.is_empty() {
        request.available_tools = Some(verb.tools.into_iter().map(Into::into).collect());
    }
    Ok(runner.run_for(request, terms).await?)
}

/// Prints each step on a line, then the summary or the last output.
fn show(response: &LoopResponse) {
    for result in &response.results {
        match &result.error {
            None => output::status_line(&format!("done    {}", result.tool)),
            Some(error) => output::status_line(&format!("failed  {}: {error}", result.tool)),
        }
    }
    for problem in &response.problems {
        output::status_line(&format!("note    {problem}"));
    }
    if let Some(run) = response.runs.last() {
        output::status_line(&format!("run     {run}"));
    }
    let saved = response.saved.as_ref();
    let field = |key| saved.and_then(|saved| saved.get(key)?.as_str());
    match (field("node_type"), field("error")) {
        (Some(called), _) => output::status_line(&format!("saved   {called}")),
        (None, Some(error)) => output::status_line(&format!("note    not saved: {error}")),
        (None, None) => {}
    }
    if let Some(handle) = &response.handle {
        let why = match response.results.is_empty() {
            true => "no complete plan was found",
            false => "a step failed",
        };
        let says = "`--json` shows the open steps. Submit a plan for them with";
        output::status_line(&format!(
            "{why}; {says} --handle {handle} --plan @plan.json"
        ));
    }
    if response.status == LoopStatus::Paused {
        output::status_line("it waits for a person; `tramline runs show` shows the question");
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
