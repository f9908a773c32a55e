package rpc

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/metadata"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
)

// A request continues the trace that its metadata names.
func TestTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	conn := start(t, &Options{Tracer: trace.NewTracerProvider(trace.WithSyncer(spans))}, "constant")
	const id = "0af7651916cd43dd8448eb211c80319c"
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-"+id+"-b7ad6b7169203331-01")
	q := &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: map[string]*tfproto.TensorProto{"x": floats(1)}}
	if err := conn.Invoke(ctx, "/tensorflow.serving.PredictionService/Predict", q, &servingproto.PredictResponse{}); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range spans.GetSpans() {
		names[s.Name] = s.SpanContext.TraceID().String() == id
	}
	if !names["Predict"] || !names["batch"] {
		t.Errorf("spans, and whether they are of the client's trace: %v", names)
	}
}
