"""An OTLP receiver over the published messages: prints its port, then what it gets, line by line."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


def attributes(pairs):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def spans(body):
    for group in trace.ExportTraceServiceRequest.FromString(body).resource_spans:
        for span in (span for scope in group.scope_spans for span in scope.spans):
            yield {
                "resource": attributes(group.resource.attributes),
                "trace": span.trace_id.hex(),
                "span": span.span_id.hex(),
                "parent": span.parent_span_id.hex(),
                "state": span.trace_state,
                "name": span.name,
                "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
                "status": Status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_"),
                "says": span.status.message,
                "attributes": attributes(span.attributes),
                "began": span.start_time_unix_nano,
                "ended": span.end_time_unix_nano,
            }


def measured(body):
    for group in metrics.ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for metric in (metric for scope in group.scope_metrics for metric in scope.metrics):
            points = getattr(metric, metric.WhichOneof("data")).data_points
            counts = [getattr(point, "count", None) or getattr(point, "as_int", 0) for point in points]
            yield {"metric": metric.name, "unit": metric.unit, "counts": counts}


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        known = {"/v1/traces": spans, "/v1/metrics": measured}
        assert self.headers["content-type"] == "application/x-protobuf"
        for got in known[self.path](body):
            got["authorization"] = self.headers["authorization"]
            print(json.dumps(got), flush=True)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
