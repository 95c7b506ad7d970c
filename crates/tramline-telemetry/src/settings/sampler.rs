//! Which traces are recorded: a rule over their ids, the same in every process.

use super::InvalidVariable;
use super::env::{EnvVars, invalid};
use tramline_workflow::trace_context::TraceContext;

/// Which traces are recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// The share of traces that are recorded if no caller decided.
    pub share: f64,
    /// Whether a caller's decision counts.
    pub parent_based: bool,
}

/// Number of low bits of a trace id that decide about sampling.
const BITS: u32 = 56;

impl Sampler {
    /// Whether a trace is recorded, given the caller's trace context if there is one.
    pub fn samples(&self, trace: u128, upstream: Option<&TraceContext>) -> bool {
        if let Some(upstream) = upstream.filter(|_| self.parent_based) {
            return upstream.sampled;
        }
        let most = 1u64 << BITS;
        let low = (trace & u128::from(most - 1)) as u64;
        (low as f64) < self.share * most as f64
    }
}

const RULES: [&str; 6] = [
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
];

pub(super) fn read(words: &EnvVars<'_>) -> Result<Sampler, InvalidVariable> {
    const RULE: &str = "OTEL_TRACES_SAMPLER";
    const SHARE: &str = "OTEL_TRACES_SAMPLER_ARG";
    let wanted = words.list(RULE, &RULES)?;
    let rule = match wanted.as_slice() {
        [] => "parentbased_always_on",
        [one] => one,
        _ => return Err(invalid(RULE, "name one sampler".to_owned())),
    };
    let (parent, rule) = match rule.strip_prefix("parentbased_") {
        Some(rule) => (true, rule),
        None => (false, rule),
    };
    let share = match rule {
        "always_off" => 0.0,
        "traceidratio" => match words.text(SHARE) {
            None => 1.0,
            Some(text) => {
                let share = text
                    .parse()
                    .ok()
                    .filter(|share| (0.0..=1.0).contains(share));
                let says = || invalid(SHARE, "write a share from 0 to 1".to_owned());
                share.ok_or_else(says)?
            }
        },
        _ => 1.0,
    };
    Ok(Sampler {
        share,
        parent_based: parent,
    })
}
