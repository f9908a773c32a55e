package otlp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/serving/tracing"
	"millrace/tfbridge"
)

// traceparent is the header of a client with a sampled trace.
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// A span continues the client's trace and arrives at the collector, and the log has its
// id.
func TestSpan(t *testing.T) {
	got := make(chan *collector.ExportTraceServiceRequest, 1)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		m := &collector.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(body, m)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		got <- m
	}))
	defer web.Close()
	p, err := NewProvider(t.Context(), &Options{Endpoint: web.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := tracing.Begin(t.Context(), p, propagation.MapCarrier{"traceparent": traceparent}, "predict")
	var log bytes.Buffer
	slog.New(tracing.NewLogHandler(slog.NewTextHandler(&log, nil))).With("a", 1).ErrorContext(ctx, "failed")
	tracing.End(span, "m", tfbridge.Unavailable, errors.New("full"))
	if err := p.Shutdown(context.WithoutCancel(ctx)); err != nil {
		t.Fatal(err)
	}
	sent := (<-got).ResourceSpans[0]
	one := sent.ScopeSpans[0].Spans[0]
	if one.Name != "predict" || one.Status.Message != "unavailable" || len(one.Attributes) != 2 || sent.Resource.Attributes[0].Value.GetStringValue() != "millrace" {
		t.Errorf("sent %v", sent)
	}
	if id := span.SpanContext().TraceID().String(); !strings.HasPrefix(traceparent[3:], id) || !strings.Contains(log.String(), "trace_id="+id+" span_id="+span.SpanContext().SpanID().String()) {
		t.Errorf("trace %s, log %s", id, &log)
	}
}

func TestNoProvider(t *testing.T) {
	ctx, span := tracing.Begin(t.Context(), nil, propagation.MapCarrier{"traceparent": traceparent}, "predict")
	tracing.End(span, "m", tfbridge.OK, nil)
	if span.IsRecording() || ctx != t.Context() {
		t.Error("there is a span without a provider")
	}
	if _, err := NewProvider(t.Context(), &Options{Protocol: "smoke"}); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("another protocol: %v", err)
	}
}
