//! `tramline eval`: an expression or a rule over a value, with how it came about if asked.

use super::{Common, Done, Exit, Stopped, input, moment, output, runs};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::io::IsTerminal;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tramline_core::Value;
use tramline_core::explained::Explained;
use tramline_core::expr::{ExprError, Expression, Host, HostFunctions, Limits, Rule};
use tramline_core::ids::RunId;
use tramline_core::look::Look;
use tramline_core::scope::{self, Moment};
use tramline_engine::{At, Fault, Loaded, clock};

mod repl;
mod tree;

/// How long one evaluation may take.
const EVALUATION_TIME: Duration = Duration::from_secs(5);

/// Evaluate a JSONata expression or a JSON Logic rule.
#[derive(clap::Args)]
pub(super) struct Eval {
    /// The expression; without one, a prompt asks for them
    #[arg(value_name = "EXPR")]
    expression: Option<String>,
    /// It is a JSON Logic rule
    #[arg(long)]
    logic: bool,
    /// The value it is evaluated over: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
    /// Evaluate over the scope of this run, with its history
    #[arg(long, value_name = "RUN", value_parser = runs::run_id, conflicts_with = "input")]
    run: Option<RunId>,
    /// As the run stood after this step, or after this event
    #[arg(long, value_name = "STEP|event:SEQ", value_parser = moment::at, requires = "run")]
    at: Option<At>,
    /// Show how the value came about, part by part
    #[arg(long)]
    explain: bool,
}

/// What one evaluation needs.
pub(super) struct Task<'a> {
    pub(super) source: &'a str,
    pub(super) over: &'a Over,
    pub(super) logic: bool,
    pub(super) explain: bool,
    pub(super) json: bool,
}

/// What is evaluated over.
pub(super) enum Over {
    /// A value, without functions beside the language's own.
    Value(Value),
    /// A run's scope, with the history functions.
    Run(Box<Look>),
}

impl Over {
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
            Self::Value(_) => Box::new(Surroundings { now_ms }),
            Self::Run(look) => Box::new(look.host(Moment {
                now_ms,
                seed: clock::random(),
            })),
        }
    }
}

pub(super) async fn main(common: Common, verb: Eval) -> Done {
    let over = match &verb.run {
        Some(run) => Over::Run(Box::new(look(&common, run, verb.at).await?)),
        None => {
            let given = verb.input.as_deref();
            Over::Value(given.map_or(Ok(Value::Null), input::whole)?)
        }
    };
    match &verb.expression {
        Some(source) => Ok(evaluate(&Task {
            source,
            over: &over,
            logic: verb.logic,
            explain: verb.explain,
            json: common.json,
        })),
        None if std::io::stdin().is_terminal() => repl::main(&common, &verb, over),
        None => Err(Stopped::bad(
            "give an expression, for example: tramline eval '1 + 1'",
        )),
    }
}

/// A look at a run of the data directory.
async fn look(common: &Common, run: &RunId, at: Option<At>) -> Result<Look, Stopped> {
    let engine = runs::open(common)?.engine;
    let loaded = match at {
        Some(at) => engine.load_at(run, at).await?,
        None => engine.load(run).await?,
    };
    look_at(&loaded)
}

/// A look at a run that was loaded.
pub(super) fn look_at(loaded: &Loaded) -> Result<Look, Stopped> {
    let run = loaded.run.id.clone();
    Look::at(run.clone(), &loaded.entries).map_err(|illegal| {
        let message = illegal.to_string();
        Fault::Damaged { run, message }.into()
    })
}

/// Evaluates and prints.
pub(super) fn evaluate(task: &Task<'_>) -> Exit {
    if task.logic {
        rule(task)
    } else {
        expression(task)
    }
}

fn expression(task: &Task<'_>) -> Exit {
    let compiled = match Expression::compile(task.source, task.over.functions()) {
        Ok(compiled) => compiled,
        Err(error) => return wrong(task, &error, Exit::BadInput),
    };
    let host = task.over.host();
    let (result, told) = if task.explain {
        compiled.explain(task.over.value(), &*host, &limits())
    } else {
        (
            compiled.evaluate(task.over.value(), &*host, &limits()),
            None,
        )
    };
    let tree = told.map(|told| Explained::expression(task.source, &told));
    match result {
        Ok(value) => right(task, value.as_ref(), tree.as_ref()),
        Err(error) => {
            if let (Some(tree), false) = (&tree, task.json) {
                tree::draw(tree);
            }
            wrong(task, &error, Exit::Failed)
        }
    }
}

fn rule(task: &Task<'_>) -> Exit {
    let bad = |message: String| {
        tell_wrong(task, &serde_json::json!({ "message": message }), &message);
        Exit::BadInput
    };
    let source = match Value::from_json(task.source) {
        Ok(source) => source,
        Err(error) => return bad(format!("the rule is not JSON: {error}")),
    };
    let compiled = match Rule::compile(&source, task.over.functions()) {
        Ok(compiled) => compiled,
        Err(flaw) => {
            return bad(format!(
                "at `{}`: {} ({})",
                flaw.path, flaw.error, flaw.error.code
            ));
        }
    };
    let host = task.over.host();
    let tree = task
        .explain
        .then(|| Explained::rule(&compiled.explain(task.over.value(), &*host, &limits())));
    match compiled.evaluate(task.over.value(), &*host, &limits()) {
        Ok(value) => right(task, Some(&value), tree.as_ref()),
        Err(error) => wrong(task, &error, Exit::Failed),
    }
}

fn limits() -> Limits {
    Limits {
        deadline: Some(Instant::now() + EVALUATION_TIME),
        ..Limits::default()
    }
}

fn right(task: &Task<'_>, value: Option<&Value>, tree: Option<&Explained>) -> Exit {
    if task.json {
        let tree = tree.map(Explained::to_value);
        output::line(
            &serde_json::json!({ "value": value, "defined": value.is_some(), "explanation": tree }),
        );
        return Exit::Done;
    }
    if let Some(tree) = tree {
        tree::draw(tree);
    }
    match value {
        Some(value) => output::json(&value.to_json_pretty()),
        None => output::say("undefined"),
    }
    Exit::Done
}

fn wrong(task: &Task<'_>, error: &ExprError, exit: Exit) -> Exit {
    let shown = serde_json::json!({
        "code": error.code, "message": error.message, "position": error.position,
        "span": error.span.as_ref().map(|span| [span.start, span.end]),
    });
    let framed = match (&error.span, task.logic) {
        (Some(span), false) => frame(task.source, error, span.clone()),
        _ => format!("{error} ({})", error.code),
    };
    tell_wrong(task, &shown, &framed);
    exit
}

fn tell_wrong(task: &Task<'_>, shown: &serde_json::Value, words: &str) {
    if task.json {
        output::line(&serde_json::json!({ "error": shown }));
    } else if words.contains('\n') {
        output::say_lines(words);
    } else {
        output::complain(words);
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

/// The clock and the dice of this process; no functions beside the language's own.
struct Surroundings {
    now_ms: i64,
}

impl Host for Surroundings {
    fn call(&self, _: usize, _: &[Option<Value>]) -> Result<Option<Value>, String> {
        Err("there are no functions beside the language's own here".to_owned())
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn random(&self) -> f64 {
        (clock::random() >> 11) as f64 / (1u64 << 53) as f64
    }
}
