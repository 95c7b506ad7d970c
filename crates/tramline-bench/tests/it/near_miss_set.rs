//! The halves of the near-miss set have nothing in common, and they are as large as their figures need.

use std::collections::BTreeSet;
use tramline_bench::near_miss_set::{Half, NearMissWorkflow, RequestKind, workflows};

fn halves() -> [Vec<NearMissWorkflow>; 2] {
    [Half::Fit, Half::HeldOut].map(|half| workflows(half).unwrap())
}

#[test]
fn no_workflow_verb_or_object_is_in_both_halves() {
    type Part = fn(&NearMissWorkflow) -> Vec<&'static str>;
    let parts: [Part; 3] = [
        |workflow| vec![workflow.name],
        |workflow| workflow.verbs.clone(),
        |workflow| workflow.objects.clone(),
    ];
    let halves = halves();
    for part in parts {
        let [fit, held_out] = &halves;
        let fit: BTreeSet<&str> = fit.iter().flat_map(part).collect();
        let held_out: BTreeSet<&str> = held_out.iter().flat_map(part).collect();
        let shared: Vec<_> = fit.intersection(&held_out).collect();
        assert!(shared.is_empty(), "{shared:?} in both halves");
    }
}

#[test]
fn what_is_named_occurs_in_the_texts() {
    for workflow in halves().concat() {
        let requests = workflow.requests.iter().map(|(_, request)| *request);
        let texts: Vec<&str> = requests.chain([workflow.description]).collect();
        let texts = texts.join(" ").to_lowercase();
        assert_eq!(workflow.verbs.len(), 2, "{}", workflow.name);
        assert_eq!(workflow.objects.len(), 2, "{}", workflow.name);
        for words in workflow.verbs.iter().chain(&workflow.objects) {
            for word in words.split(' ') {
                let stem = &word[..word.len().min(4)].to_lowercase();
                assert!(texts.contains(stem.as_str()), "{word} in {}", workflow.name);
            }
        }
    }
}

#[test]
fn each_half_has_enough_requests() {
    for half in halves() {
        let requests = half.iter().flat_map(|workflow| &workflow.requests);
        let count = |wanted: &dyn Fn(RequestKind) -> bool| {
            requests.clone().filter(|(kind, _)| wanted(*kind)).count()
        };
        let near = count(&|kind| !kind.is_match());
        let same = count(&|kind| kind == RequestKind::Same);
        let paraphrases = count(&|kind| kind == RequestKind::Paraphrase);
        assert!(near >= 100, "{near} near misses");
        assert!(same + paraphrases >= near && paraphrases >= same);
        for (kind, name) in RequestKind::NEAR_MISSES {
            assert!(count(&|other| other == kind) >= 20, "{name}");
        }
    }
}
