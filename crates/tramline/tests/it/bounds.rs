//! What could run forever or fill the disk ends, with the real program.

use crate::support::Tramline;
use std::fmt::Write;

/// Definitions that each apply the next one ten times: 10^12 checks.
fn ladder() -> String {
    let mut definitions = String::new();
    for level in 0..12 {
        let next = format!("{{$ref: '#/$defs/d{}'}}", level + 1);
        let ten = vec![next; 10].join(", ");
        write!(definitions, "d{level}: {{allOf: [{ten}]}}, ").unwrap();
    }
    format!(
        "version: '1.0'\nserver: {{name: s, version: '1'}}\ntools:\n  - name: t\n    description: d\n    \
         inputSchema: {{type: object, allOf: [{{$ref: '#/$defs/d0'}}], $defs: {{{definitions}d12: {{type: object}}}}}}\n    \
         nodes:\n      - {{id: entry, type: entry, next: exit}}\n      - {{id: exit, type: exit}}\n"
    )
}

#[test]
fn a_schema_that_never_ends_is_refused_where_it_is_read() {
    let place = Tramline::new();
    let file = place.data.path().join("g.yaml");
    std::fs::write(&file, ladder()).unwrap();
    let file = file.to_str().unwrap();
    let done = place.run(&["run", file, "t", "--input", r#"{"a": 1}"#]);
    assert_ne!(done.code(), 0);
    assert!(done.err().contains("T0018"), "{}", done.err());
    assert!(done.err().contains("unfold"), "{}", done.err());
}

#[test]
fn a_full_disk_quota_refuses_runs_and_says_what_to_do() {
    let place = Tramline::new();
    let file = place.data.path().join("g.yaml");
    let text = "version: '1.0'\nserver: {name: s, version: '1'}\ntools:\n  - name: t\n    description: d\n    \
        inputSchema: {type: object}\n    nodes:\n      - {id: entry, type: entry, next: exit}\n      \
        - {id: exit, type: exit}\n";
    std::fs::write(&file, text).unwrap();
    let config = place.data.path().join("tramline.yaml");
    std::fs::write(&config, "quota: { disk_bytes: 1000 }\n").unwrap();
    let (file, config) = (file.to_str().unwrap(), config.to_str().unwrap());
    let done = place.run(&["run", "--config", config, file, "t"]);
    assert_ne!(done.code(), 0);
    let said = done.err() + &done.out();
    assert!(
        said.contains("quota.disk_bytes") && said.contains("runs rm"),
        "{said}"
    );
    assert_eq!(place.run(&["run", file, "t"]).code(), 0);
}
