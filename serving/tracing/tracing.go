// Package tracing makes OpenTelemetry spans of a server's requests. Package
// tracing/otlp sends them to a collector.
//
// Packages rest and rpc make a span of each request, which continues the trace that a
// client names in a traceparent (W3C Trace Context). As its children package batching
// adds the time in the queue, the batch, and the run of the model.
//
//	predict                    the request
//	    queue                  until a batch is formed
//	    batch                  to join, run and split
//	        run                the model alone
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"millrace/tfbridge"
)

// Begin starts the span of a request, as a child of the span that its carrier names. A
// nil provider makes none.
func Begin(ctx context.Context, p trace.TracerProvider, carrier propagation.TextMapCarrier, name string) (context.Context, trace.Span) {
	if p == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx = propagation.TraceContext{}.Extract(ctx, carrier)
	return p.Tracer("millrace/serving").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
}

// End ends the span of a request for a model. A code that stands for a server error
// marks the span as an error.
func End(span trace.Span, model string, code tfbridge.Code, err error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("millrace.model", model), attribute.Int("rpc.grpc.status_code", int(code)))
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, code.Error())
	}
	span.End()
}
