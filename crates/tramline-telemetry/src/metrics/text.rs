//! Metrics in the Prometheus text format.

use super::{MetricFamily, MetricKind, MetricSeries, Metrics};
use std::fmt::Write as _;
use tramline_expr::Str;

/// All metrics as text.
pub(crate) fn text(metrics: &Metrics) -> String {
    let mut out = String::new();
    for family in metrics.all() {
        let series = family.read();
        if !series.is_empty() {
            // Writing to a `String` cannot fail.
            let _ = write_family(&mut out, family, &series);
        }
    }
    out
}

fn write_family(
    out: &mut String,
    family: &MetricFamily,
    series: &[(Vec<Str>, MetricSeries)],
) -> std::fmt::Result {
    let (suffix, kind) = match family.kind {
        MetricKind::Counter => ("_total", "counter"),
        MetricKind::Gauge => ("", "gauge"),
        MetricKind::Histogram(_) => ("_seconds", "histogram"),
    };
    let name = format!("{}{suffix}", prometheus_name(family.name));
    writeln!(out, "# HELP {name} {}", family.help)?;
    writeln!(out, "# TYPE {name} {kind}")?;
    for (values, cell) in series {
        let labels = labels(family.labels, values);
        match family.kind {
            MetricKind::Counter | MetricKind::Gauge => {
                writeln!(out, "{name}{} {}", braced(&labels, None), cell.count)?;
            }
            MetricKind::Histogram(bounds) => {
                let mut up_to = 0;
                for (bound, count) in bounds.iter().zip(&cell.buckets) {
                    up_to += count;
                    let labels = braced(&labels, Some(&bound.to_string()));
                    writeln!(out, "{name}_bucket{labels} {up_to}")?;
                }
                let all = braced(&labels, Some("+Inf"));
                writeln!(out, "{name}_bucket{all} {}", cell.count)?;
                let labels = braced(&labels, None);
                writeln!(out, "{name}_sum{labels} {}", cell.sum)?;
                writeln!(out, "{name}_count{labels} {}", cell.count)?;
            }
        }
    }
    Ok(())
}

/// A name in Prometheus spelling.
fn prometheus_name(name: &str) -> String {
    name.replace('.', "_")
}

/// The non-empty labels, each as `name="value"`.
fn labels(names: &[&str], values: &[Str]) -> Vec<String> {
    let said = names.iter().zip(values).filter(|(_, it)| !it.is_empty());
    said.map(|(name, value)| {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        format!("{}=\"{value}\"", prometheus_name(name))
    })
    .collect()
}

fn braced(labels: &[String], bound: Option<&str>) -> String {
    let bound = bound.map(|bound| format!("le=\"{bound}\""));
    let all: Vec<_> = labels.iter().cloned().chain(bound).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", all.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn names_labels_and_bounds_are_spelt_as_prometheus_does() {
        let metrics = Metrics::new();
        let took = Duration::from_millis(15);
        let values = ["tools/call", "say \"hi\"", "pipe", "s", ""];
        metrics.calls.observe(&values, took);
        metrics.ended.add(&["completed"], 2);
        let text = text(&metrics);
        let line = |line: &str| assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        line("# TYPE mcp_client_operation_duration_seconds histogram");
        line(
            "mcp_client_operation_duration_seconds_bucket{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"say \\\"hi\\\"\",network_transport=\"pipe\",tramline_server=\"s\",le=\"0.02\"} 1",
        );
        line("tramline_runs_ended_total{status=\"completed\"} 2");
        line("tramline_runs_live 0");
        line("tramline_retries_total 0");
    }
}
