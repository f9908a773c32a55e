package batching

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// tracerName is the name of the library in spans.
const tracerName = "millrace/serving/batching"

// trace adds spans of a request that is done below the span of its context: the time in
// the queue, and the batches with their runs. They are made afterwards, from times that
// are recorded anyway, so a request without a trace has no cost.
func (r *request) trace(ctx context.Context) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return
	}
	tracer := parent.TracerProvider().Tracer(tracerName)
	for _, p := range r.parts {
		b := p.batch
		_, queue := tracer.Start(ctx, "queue", trace.WithTimestamp(r.enqueued))
		queue.End(trace.WithTimestamp(b.formed))
		batchCtx, span := tracer.Start(ctx, "batch", trace.WithTimestamp(b.formed), trace.WithAttributes(
			attribute.String("millrace.signature", b.queue.signature.key), attribute.Int("millrace.batch.requests", len(b.parts)),
			attribute.Int64("millrace.batch.rows", b.rows), attribute.Int64("millrace.batch.padding", b.size-b.rows)))
		if !b.called.IsZero() {
			_, run := tracer.Start(batchCtx, "run", trace.WithTimestamp(b.called))
			run.End(trace.WithTimestamp(b.returned))
		}
		span.End(trace.WithTimestamp(b.ended))
	}
}
