//! The near-miss set: saved workflows, requests that match them, and requests that nearly do.
//!
//! One half is for fitting, the other is held out. No workflow, verb or object is in both.

/// The half that word lists and weights may be tuned on.
const FIT: &str = include_str!("../data/near_misses_fit.txt");
/// The half that is only measured.
const HELD_OUT: &str = include_str!("../data/near_misses_held_out.txt");

/// A third part, written after fitting.
const INDEPENDENT: &str = include_str!("../data/near_misses_independent.txt");

/// A part of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// For tuning.
    Fit,
    /// For the figures.
    HeldOut,
    /// Also for the figures, by another author.
    Independent,
}

/// Why a request matches a workflow or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// It matches, in similar words.
    Same,
    /// It matches, in other words.
    Paraphrase,
    /// It asks for the opposite.
    Opposite,
    /// It is about another object.
    Object,
    /// It names another place or system.
    Place,
    /// It says that the thing must not be done.
    Negation,
    /// It asks about the thing.
    Question,
}

impl RequestKind {
    /// The kinds of near misses, with their names.
    pub const NEAR_MISSES: [(Self, &'static str); 5] = [
        (Self::Opposite, "opposite"),
        (Self::Object, "object"),
        (Self::Place, "place"),
        (Self::Negation, "negation"),
        (Self::Question, "question"),
    ];

    /// Whether the workflow is the right answer.
    pub fn is_match(self) -> bool {
        match self {
            Self::Same | Self::Paraphrase => true,
            Self::Opposite | Self::Object | Self::Place | Self::Negation | Self::Question => false,
        }
    }
}

/// A workflow with requests.
#[derive(Clone, Debug, Default)]
pub struct NearMissWorkflow {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The names of its inputs.
    pub inputs: Vec<&'static str>,
    /// Its verb and the opposite.
    pub verbs: Vec<&'static str>,
    /// Its object, and the other object that a near miss names.
    pub objects: Vec<&'static str>,
    /// The requests.
    pub requests: Vec<(RequestKind, &'static str)>,
}

/// The workflows of a half. A line that is not understood is returned as an error.
pub fn workflows(half: Half) -> Result<Vec<NearMissWorkflow>, String> {
    parse(match half {
        Half::Fit => FIT,
        Half::HeldOut => HELD_OUT,
        Half::Independent => INDEPENDENT,
    })
}

/// The workflows of a text in the format of the set.
pub fn parse(text: &'static str) -> Result<Vec<NearMissWorkflow>, String> {
    let mut all: Vec<NearMissWorkflow> = Vec::new();
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(workflow) = header(line) {
            all.push(workflow);
        } else {
            let understood = all.last_mut().and_then(|last| add(last, line));
            understood.ok_or_else(|| format!("not understood: {line}"))?;
        }
    }
    Ok(all)
}

fn header(line: &'static str) -> Option<NearMissWorkflow> {
    let mut parts = line.split('|').map(str::trim);
    let (name, description, inputs) = (parts.next()?, parts.next()?, parts.next()?);
    Some(NearMissWorkflow {
        name,
        description,
        inputs: list(inputs, ','),
        ..NearMissWorkflow::default()
    })
}

fn add(workflow: &mut NearMissWorkflow, line: &'static str) -> Option<()> {
    let (kind, rest) = match line.split_once(':') {
        _ if line.starts_with("= ") => (Some(RequestKind::Same), &line[2..]),
        _ if line.starts_with("~ ") => (Some(RequestKind::Paraphrase), &line[2..]),
        Some(("verbs", verbs)) => {
            workflow.verbs = list(verbs, '/');
            return Some(());
        }
        Some(("objects", objects)) => {
            workflow.objects = list(objects, ',');
            return Some(());
        }
        Some((kind, rest)) => {
            let known = RequestKind::NEAR_MISSES.iter();
            let known = known.clone().find(|(_, name)| *name == kind);
            (known.map(|(kind, _)| *kind), rest)
        }
        None => (None, ""),
    };
    workflow.requests.push((kind?, rest.trim()));
    Some(())
}

fn list(text: &'static str, separator: char) -> Vec<&'static str> {
    let parts = text.split(separator).map(str::trim);
    parts.filter(|part| !part.is_empty()).collect()
}
