//! `tramline eval`: evaluates an expression or rule on a value, optionally with an explanation.

use super::{CliError, CliResult, CommonArgs, Exit, input, output, position, runs};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::io::IsTerminal;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tramline_engine::{Fault, JournalPoint, LoadedRun, clock};
use tramline_expr::Value;
use tramline_expr::{ExprError, Expression, Host, HostFunctions, Limits, Rule};
use tramline_workflow::explanation::ExplanationNode;
use tramline_workflow::ids::RunId;
use tramline_workflow::inspect::RunInspector;
use tramline_workflow::scope::{self, EvalMoment};

mod repl;
mod tree;

/// The longest time for one evaluation.
const EVALUATION_TIME: Duration = Duration::from_secs(5);

/// Evaluate a JSONata expression or a JSON Logic rule.
#[derive(clap::Args)]
pub(super) struct Eval {
    /// The expression; without one, a prompt opens
    #[arg(value_name = "EXPR")]
    expression: Option<String>,
    /// Treat the expression as a JSON Logic rule
    #[arg(long)]
    logic: bool,
    /// The input value: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
    /// Evaluate in the scope of this run, with its history
    #[arg(long, value_name = "RUN", value_parser = runs::run_id, conflicts_with = "input")]
    run: Option<RunId>,
    /// Use the state of the run after this step or event
    #[arg(long, value_name = "STEP|event:SEQ", value_parser = position::parse_position, requires = "run")]
    at: Option<JournalPoint>,
    /// Show how the value was computed, part by part
    #[arg(long)]
    explain: bool,
}

/// One evaluation.
pub(super) struct Evaluation<'a> {
    pub(super) source: &'a str,
    pub(super) input: &'a EvalInput,
    pub(super) logic: bool,
    pub(super) explain: bool,
    pub(super) json: bool,
}

/// The input of an evaluation.
pub(super) enum EvalInput {
    /// A value, with only the language's built-in functions.
    Value(Value),
    /// A run's scope, with the history functions.
    Run(Box<RunInspector>),
}

impl EvalInput {
    fn value(&self) -> &Value {
        match self {
            Self::Value(value) => value,
            Self::Run(look) => look.scope(),
        }
    }

    fn functions(&self) -> &HostFunctions {
        static NONE: LazyLock<HostFunctions> = LazyLock::new(HostFunctions::none);
        match self {
            Self::Value(_) => &NONE,
            Self::Run(_) => scope::functions(),
        }
    }

    fn host(&self) -> Box<dyn Host + '_> {
        let now_ms = clock::now_ms();
        match self {
            Self::Value(_) => Box::new(PlainHost { now_ms }),
            Self::Run(look) => Box::new(look.host(EvalMoment {
                now_ms,
                seed: clock::random(),
            })),
        }
    }
}

pub(super) async fn main(common: CommonArgs, verb: Eval) -> CliResult {
    let over = match &verb.run {
        Some(run) => EvalInput::Run(Box::new(inspect_stored_run(&common, run, verb.at).await?)),
        None => {
            let given = verb.input.as_deref();
            EvalInput::Value(given.map_or(Ok(Value::Null), input::read_input)?)
        }
    };
    match &verb.expression {
        Some(source) => Ok(evaluate(&Evaluation {
            source,
            input: &over,
            logic: verb.logic,
            explain: verb.explain,
            json: common.json,
        })),
        None if std::io::stdin().is_terminal() => repl::main(&common, &verb, over),
        None => Err(CliError::bad_input(
            "give an expression, for example: tramline eval '1 + 1'",
        )),
    }
}

/// Loads a run from the data directory for inspection.
async fn inspect_stored_run(
    common: &CommonArgs,
    run: &RunId,
    at: Option<JournalPoint>,
) -> Result<RunInspector, CliError> {
    let engine = runs::open(common)?.engine;
    let loaded = match at {
        Some(at) => engine.load_at(run, at).await?,
        None => engine.load(run).await?,
    };
    inspect_run(&loaded)
}

/// Inspects a loaded run.
pub(super) fn inspect_run(loaded: &LoadedRun) -> Result<RunInspector, CliError> {
    let run = loaded.run.id.clone();
    RunInspector::at(run.clone(), &loaded.entries).map_err(|illegal| {
        let message = illegal.to_string();
        Fault::Damaged { run, message }.into()
    })
}

/// Evaluates and prints.
pub(super) fn evaluate(task: &Evaluation<'_>) -> Exit {
    if task.logic {
        eval_rule(task)
    } else {
        eval_jsonata(task)
    }
}

fn eval_jsonata(task: &Evaluation<'_>) -> Exit {
    let compiled = match Expression::compile(task.source, task.input.functions()) {
        Ok(compiled) => compiled,
        Err(error) => return print_error(task, &error, Exit::BadInput),
    };
    let host = task.input.host();
    let (result, told) = if task.explain {
        compiled.explain(task.input.value(), &*host, &limits())
    } else {
        (
            compiled.evaluate(task.input.value(), &*host, &limits()),
            None,
        )
    };
    let tree = told.map(|told| ExplanationNode::expression(task.source, &told));
    match result {
        Ok(value) => print_value(task, value.as_ref(), tree.as_ref()),
        Err(error) => {
            if let (Some(tree), false) = (&tree, task.json) {
                tree::print_tree(tree);
            }
            print_error(task, &error, Exit::Failed)
        }
    }
}

fn eval_rule(task: &Evaluation<'_>) -> Exit {
    let bad = |message: String| {
        print_error_text(task, &serde_json::json!({ "message": message }), &message);
        Exit::BadInput
    };
    let source = match Value::from_json(task.source) {
        Ok(source) => source,
        Err(error) => return bad(format!("the rule is not JSON: {error}")),
    };
    let compiled = match Rule::compile(&source, task.input.functions()) {
        Ok(compiled) => compiled,
        Err(flaw) => {
            return bad(format!(
                "at `{}`: {} ({})",
                flaw.path, flaw.error, flaw.error.code
            ));
        }
    };
    let host = task.input.host();
    let tree = task
        .explain
        .then(|| ExplanationNode::rule(&compiled.explain(task.input.value(), &*host, &limits())));
    match compiled.evaluate(task.input.value(), &*host, &limits()) {
        Ok(value) => print_value(task, Some(&value), tree.as_ref()),
        Err(error) => print_error(task, &error, Exit::Failed),
    }
}

fn limits() -> Limits {
    Limits {
        deadline: Some(Instant::now() + EVALUATION_TIME),
        ..Limits::default()
    }
}

fn print_value(
    task: &Evaluation<'_>,
    value: Option<&Value>,
    tree: Option<&ExplanationNode>,
) -> Exit {
    if task.json {
        let tree = tree.map(ExplanationNode::to_value);
        output::line(
            &serde_json::json!({ "value": value, "defined": value.is_some(), "explanation": tree }),
        );
        return Exit::Done;
    }
    if let Some(tree) = tree {
        tree::print_tree(tree);
    }
    match value {
        Some(value) => output::json(&value.to_json_pretty()),
        None => output::status_line("undefined"),
    }
    Exit::Done
}

fn print_error(task: &Evaluation<'_>, error: &ExprError, exit: Exit) -> Exit {
    let shown = serde_json::json!({
        "code": error.code, "message": error.message, "position": error.position,
        "span": error.span.as_ref().map(|span| [span.start, span.end]),
    });
    let framed = match (&error.span, task.logic) {
        (Some(span), false) => frame(task.source, error, span.clone()),
        _ => format!("{error} ({})", error.code),
    };
    print_error_text(task, &shown, &framed);
    exit
}

fn print_error_text(task: &Evaluation<'_>, shown: &serde_json::Value, words: &str) {
    if task.json {
        output::line(&serde_json::json!({ "error": shown }));
    } else if words.contains('\n') {
        output::status_lines(words);
    } else {
        output::print_error(words);
    }
}

fn frame(source: &str, error: &ExprError, span: Range<usize>) -> String {
    let start = span.start.min(source.len());
    let span = start..span.end.clamp(start, source.len());
    let group = Level::ERROR
        .primary_title(error.message.as_str())
        .id(error.code.as_str());
    let snippet = Snippet::source(source).annotation(AnnotationKind::Primary.span(span));
    Renderer::styled()
        .decor_style(DecorStyle::Ascii)
        .render(&[group.element(snippet)])
}

/// The process's clock and random numbers, with only the language's built-in functions.
struct PlainHost {
    now_ms: i64,
}

impl Host for PlainHost {
    fn call(&self, _: usize, _: &[Option<Value>]) -> Result<Option<Value>, String> {
        Err("only the language's built-in functions are available here".to_owned())
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn random(&self) -> f64 {
        (clock::random() >> 11) as f64 / (1u64 << 53) as f64
    }
}
