package rest

import (
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A request continues the trace of its client, down to the run of the model.
func TestTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	web := start(t, &Options{Tracer: trace.NewTracerProvider(trace.WithSyncer(spans))}, "constant")
	r, err := http.NewRequest("POST", web.URL+"/v1/models/constant:predict", strings.NewReader(`{"inputs": [1]}`))
	if err != nil {
		t.Fatal(err)
	}
	const id = "0af7651916cd43dd8448eb211c80319c"
	r.Header.Set("traceparent", "00-"+id+"-b7ad6b7169203331-01")
	answer, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	web.Close() // waits for the end of the request, which ends the span
	names := map[string]bool{}
	for _, s := range spans.GetSpans() {
		names[s.Name] = true
		if s.SpanContext.TraceID().String() != id {
			t.Errorf("%s is of trace %s", s.Name, s.SpanContext.TraceID())
		}
	}
	if !names["predict"] || !names["queue"] || !names["run"] {
		t.Errorf("spans %v", names)
	}
}
