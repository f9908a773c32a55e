package serve

import (
	"crypto/tls"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"millrace/serving"
	"millrace/serving/configfile"
	"millrace/serving/metrics"
	restapi "millrace/serving/rest"
	"millrace/serving/rpc"
)

// modelServer is a server of models with its interfaces.
type modelServer struct {
	flags      *serveFlags
	program    *program
	log        *slog.Logger
	tls        *tls.Config // TLS of gRPC; nil: no TLS
	access     access
	channel    channelArguments
	monitoring *configfile.Monitoring // nil: metrics are at the usual path
	socket     net.Listener           // nil: none
	ports      ports
	models     *serving.Server
	registry   *prometheus.Registry
	metrics    *metrics.Metrics
	pacer      *monitorPacer
	tracer     trace.TracerProvider // nil: no traces
	web        *restapi.Server      // nil: no HTTP
	rpc        *rpc.Server          // nil: no gRPC
	hangups    chan struct{}        // gets one for each SIGHUP
	ended      chan error           // gets the errors with which web and rpc end
}
