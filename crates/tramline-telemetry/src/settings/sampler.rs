//! Which traces are recorded: a rule over their ids, the same in every process.

use super::BadSetting;
use super::words::{Words, bad};
use tramline_core::upstream::Upstream;

/// Which traces are recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Of those that no caller decided about, this share.
    pub share: f64,
    /// Whether what a caller decided counts.
    pub parent: bool,
}

/// What is sampled is told by so many low bits of a trace's id.
const BITS: u32 = 56;

impl Sampler {
    /// Whether a trace is recorded, for who may have been called from within another.
    pub fn takes(&self, trace: u128, upstream: Option<&Upstream>) -> bool {
        if let Some(upstream) = upstream.filter(|_| self.parent) {
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

pub(super) fn read(words: &Words<'_>) -> Result<Sampler, BadSetting> {
    const RULE: &str = "OTEL_TRACES_SAMPLER";
    const SHARE: &str = "OTEL_TRACES_SAMPLER_ARG";
    let wanted = words.list(RULE, &RULES)?;
    let rule = match wanted.as_slice() {
        [] => "parentbased_always_on",
        [one] => one,
        _ => return Err(bad(RULE, "name one sampler".to_owned())),
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
                let says = || bad(SHARE, "write a share from 0 to 1".to_owned());
                share.ok_or_else(says)?
            }
        },
        _ => 1.0,
    };
    Ok(Sampler { share, parent })
}
