package serve

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"

	"millrace/serving/tracing/otlp"
)

// trace starts sending traces, if a flag or the environment names a collector. stop
// sends the remaining ones.
func (s *modelServer) trace(ctx context.Context) (stop func(), err error) {
	const traces, all = "OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"
	if s.flags.otlp == "" && os.Getenv(traces+"ENDPOINT") == "" && os.Getenv(all+"ENDPOINT") == "" || os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return func() {}, nil
	}
	o := &otlp.Options{Endpoint: s.flags.otlp, Protocol: cmp.Or(os.Getenv(traces+"PROTOCOL"), os.Getenv(all+"PROTOCOL"))}
	provider, err := otlp.NewProvider(ctx, o)
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		s.log.Warn("traces", slog.String("error", err.Error()))
	}))
	s.tracer = provider
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			s.log.Warn("traces", slog.String("error", err.Error()))
		}
	}, nil
}
