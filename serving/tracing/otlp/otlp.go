// Package otlp sends OpenTelemetry traces to a collector.
package otlp

import (
	"context"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"millrace"
)

// serviceName is the default name of the service; OTEL_SERVICE_NAME replaces it.
var serviceName = attribute.String("service.name", "millrace")

// Options are the options of a provider. For unset options OpenTelemetry's environment
// variables are used: OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER,
// OTEL_SERVICE_NAME and so on.
type Options struct {
	// Endpoint is the URL of a collector. "": OTEL_EXPORTER_OTLP_ENDPOINT.
	Endpoint string
	// Protocol is "grpc" or "http/protobuf". "": "http/protobuf".
	Protocol string
}

// NewProvider returns a provider that sends spans to a collector, a few seconds later
// and many at a time. A collector that does not answer delays no request. The caller
// calls Shutdown, which sends the remaining spans.
func NewProvider(ctx context.Context, o *Options) (*trace.TracerProvider, error) {
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrConfig, "OpenTelemetry: %w", err)
	}
	name := resource.NewSchemaless(serviceName)
	about, err := resource.Merge(name, resource.Environment())
	if err != nil {
		about = name
	}
	return trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about)), nil
}

// client returns a client for the collector.
func (o *Options) client() (otlptrace.Client, error) {
	endpoint := strings.TrimSuffix(o.Endpoint, "/")
	if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, millrace.Errorf(millrace.ErrConfig, "OpenTelemetry: the endpoint %s is no URL of a collector, such as http://localhost:4318", millrace.Quote(o.Endpoint))
	}
	switch o.Protocol {
	case "", "http/protobuf":
		var options []otlptracehttp.Option
		if endpoint != "" {
			options = append(options, otlptracehttp.WithEndpointURL(endpoint+"/v1/traces"))
		}
		return otlptracehttp.NewClient(options...), nil
	case "grpc":
		var options []otlptracegrpc.Option
		if endpoint != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(endpoint))
		}
		return otlptracegrpc.NewClient(options...), nil
	}
	return nil, millrace.Errorf(millrace.ErrConfig, "OpenTelemetry: the protocol is %s, want grpc or http/protobuf", millrace.Quote(o.Protocol))
}
