//! What the variables mean, and which values are rejected.

use super::*;
use tramline_workflow::trace_context::TraceContext;

fn read(pairs: &[(&str, &str)]) -> Result<TelemetrySettings, InvalidVariable> {
    TelemetrySettings::read(|name| {
        let found = pairs.iter().find(|(it, _)| *it == name);
        found.map(|(_, text)| (*text).to_owned())
    })
}

#[test]
fn nothing_is_on_unless_something_says_so() {
    assert!(!read(&[]).unwrap().is_on());
    let disabled = [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:1"),
        ("OTEL_METRICS_EXPORTER", "prometheus"),
    ];
    assert!(!read(&disabled).unwrap().is_on());
    let none = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:1"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ];
    assert!(!read(&none).unwrap().is_on());
}

#[test]
fn a_receiver_gets_the_spans() {
    let settings = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:1/otel/"),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20a=b, x-y=z",
        ),
        ("OTEL_SERVICE_NAME", "mine"),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "service.name=other,deployment.environment.name=a%2Cb",
        ),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "10"),
    ])
    .unwrap();
    let traces = settings.traces.clone().unwrap();
    assert_eq!(traces.to.url, "http://x:1/otel/v1/traces");
    let headers = [("authorization", "Bearer a=b"), ("x-y", "z")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(traces.to.headers, headers);
    assert_eq!((traces.queue, traces.batch), (10, 10));
    assert!(!format!("{settings:?}").contains("Bearer"));
    assert_eq!(settings.resource[0], ("service.name".into(), "mine".into()));
    assert_eq!(settings.resource[1].1, "a,b");
    assert!(settings.metrics.is_none() && !settings.prometheus);
    let own = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://y/here")];
    assert_eq!(read(&own).unwrap().traces.unwrap().to.url, "https://y/here");
}

#[test]
fn what_cannot_be_done_names_its_variable() {
    for (variable, text) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "no pair"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_METRICS_EXPORTER", "console"),
        ("OTEL_TRACES_SAMPLER", "sometimes"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
        ("OTEL_PROPAGATORS", "b3"),
        ("TRAMLINE_TELEMETRY_CONTENT", "some"),
    ] {
        let on = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:1");
        let refused = read(&[on, (variable, text)]).unwrap_err();
        assert_eq!(refused.variable, variable);
    }
    let refused = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")]).unwrap_err();
    assert_eq!(refused.variable, "OTEL_EXPORTER_OTLP_ENDPOINT");
}

#[test]
fn samplers_decide_by_the_trace_and_by_the_caller() {
    let sampler = |rule: &str, share: &str| {
        let on = ("OTEL_TRACES_EXPORTER", "otlp");
        let settings = read(&[
            on,
            ("OTEL_TRACES_SAMPLER", rule),
            ("OTEL_TRACES_SAMPLER_ARG", share),
        ]);
        settings.unwrap().traces.unwrap().sampler
    };
    let half = sampler("traceidratio", "0.5");
    assert!(half.samples(1, None) && !half.samples((1 << 56) - 1, None));
    let caller = |sampled| TraceContext {
        trace: 1,
        span: 1,
        sampled,
        state: None,
        baggage: None,
    };
    let parent = sampler("parentbased_traceidratio", "0");
    assert!(parent.samples(1, Some(&caller(true))) && !parent.samples(1, None));
    assert!(!sampler("", "").samples(1, Some(&caller(false))));
    assert!(sampler("always_on", "").samples(1, Some(&caller(false))));
}
