package batching

import (
	"slices"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"millrace/tfbridge"
)

// A request with a span has the time in the queue, its batch and the run below it.
func TestTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(spans))
	ctx, request := p.Tracer("test").Start(t.Context(), "request")
	b := newBatcher(t, &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}, Options{AllowedBatchSizes: []int{4}, MaxBatchSize: 4})
	if a := <-ask(ctx, b, []float32{1, 2}); a.err != nil {
		t.Fatal(a.err)
	}
	request.End()
	var names []string
	for _, s := range spans.GetSpans() {
		names = append(names, s.Name)
		parent := request.SpanContext().SpanID()
		if s.Name == "run" {
			continue
		}
		if s.Name != "request" && s.Parent.SpanID() != parent {
			t.Errorf("%s is below %s", s.Name, s.Parent.SpanID())
		}
		if s.EndTime.Before(s.StartTime) {
			t.Errorf("%s ends before it begins", s.Name)
		}
		if s.Name == "batch" && (s.Attributes[2].Value.AsInt64() != 2 || s.Attributes[3].Value.AsInt64() != 2) {
			t.Errorf("batch of %v", s.Attributes)
		}
	}
	if want := []string{"queue", "run", "batch", "request"}; !slices.Equal(names, want) {
		t.Errorf("spans %q, want %q", names, want)
	}
}
