package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/serving"
	"millrace/serving/budget"
	"millrace/serving/configfile"
	"millrace/serving/metrics"
	"millrace/serving/page"
	restapi "millrace/serving/rest"
	"millrace/serving/rpc"
	"millrace/serving/tracing"
)

// modelServer is a server of models and what answers requests from it.
type modelServer struct {
	flags    *serveFlags
	log      *slog.Logger
	tls      *tls.Config // of gRPC; nil: no TLS
	access   access
	models   *serving.Server
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	tracer   trace.TracerProvider // nil: no traces
	web      *restapi.Server      // nil: no HTTP
	rpc      *rpc.Server          // nil: no gRPC
	ended    chan error           // takes the end of web and rpc
}

// serve serves models until ctx ends, and then drains.
func (p *program) serve(ctx context.Context, flags *serveFlags) (err error) {
	p.SetGrace(flags.drain + cli.Grace)
	p.Warm()
	s := &modelServer{flags: flags, log: p.logger(flags.jsonLog), registry: prometheus.NewRegistry(), ended: make(chan error, 2)}
	configs, err := flags.configs()
	if err != nil {
		return err
	}
	options, err := flags.options(p)
	if err != nil {
		return err
	}
	if options.Loaders, err = flags.plans(p, configs); err != nil {
		return err
	}
	if flags.sslFile != "" {
		if s.tls, err = configfile.ReadTLS(flags.sslFile); err != nil {
			return err
		}
	}
	if s.access, err = flags.access.open(configs); err != nil {
		return err
	}
	stopTraces, err := s.trace(ctx)
	if err != nil {
		return err
	}
	defer stopTraces()
	if s.metrics, err = metrics.New(s.registry, s.serves); err != nil {
		return err
	}
	needs := flags.needs(configs, options.Loaders)
	needs.Connect = s.tracer != nil
	if err := p.Confine(needs); err != nil {
		return err
	}
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.registry.MustRegister(s.loggedRequests()...)
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "millrace", Subsystem: "serving", Name: "stuck_runs", Help: "Runs that TensorFlow has not ended although their requests were answered.",
	}, s.stuckRuns))
	s.registry.MustRegister(s.requestMemory()...)
	options.Logger, options.OnBatch = s.log, s.metrics.Batch
	if s.models, err = serving.New(ctx, configs, options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.models.Close()) }()
	defer tuneGo(s.models.Memory.Limit())() // after batching has counted the processors
	if err := s.listen(); err != nil {
		return errors.Join(err, s.finish())
	}
	if flags.configFile != "" && flags.configPoll > 0 {
		go s.reread(ctx)
	}
	select {
	case err := <-s.ended:
		return errors.Join(err, s.finish())
	case <-ctx.Done():
		s.log.Info("draining", slog.String("cause", context.Cause(ctx).Error()))
		return s.finish()
	}
}

// logger returns the logger of a server.
func (p *program) logger(json bool) *slog.Logger {
	if json {
		return slog.New(tracing.NewLogHandler(slog.NewJSONHandler(p.Stderr, nil)))
	}
	return slog.New(tracing.NewLogHandler(slog.NewTextHandler(p.Stderr, nil)))
}

// loggedRequests returns the metrics of the request log.
func (s *modelServer) loggedRequests() []prometheus.Collector {
	count := func(name, help string, of func(written, dropped int64) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "millrace", Subsystem: "serving", Name: name, Help: help}, func() float64 {
			if s.models == nil {
				return 0
			}
			return float64(of(s.models.LoggedRequests()))
		})
	}
	return []prometheus.Collector{
		count("logged_requests_total", "Requests written to the request log.", func(written, _ int64) int64 { return written }),
		count("dropped_log_requests_total", "Sampled requests that the request log had no room for, or could not write.", func(_, dropped int64) int64 { return dropped }),
	}
}

// requestMemory returns the metrics of the memory of requests.
func (s *modelServer) requestMemory() []prometheus.Collector {
	value := func(of func(*budget.Budget) int64) func() float64 {
		return func() float64 {
			if s.models == nil {
				return 0
			}
			return float64(of(s.models.Memory))
		}
	}
	gauge := func(name, help string, of func(*budget.Budget) int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "millrace", Subsystem: "serving", Name: name, Help: help}, value(of))
	}
	return []prometheus.Collector{
		gauge("request_memory_bytes", "Memory that the requests in flight take.", (*budget.Budget).InUse),
		gauge("request_memory_limit_bytes", "Memory that requests may take together.", (*budget.Budget).Limit),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "millrace", Subsystem: "serving", Name: "request_memory_refusals_total",
			Help: "Requests that were refused for the memory that they would take."}, value((*budget.Budget).Refused)),
	}
}

// stuckRuns returns how many runs are stuck.
func (s *modelServer) stuckRuns() float64 {
	if s.models == nil {
		return 0
	}
	return float64(len(s.models.StuckRuns()))
}

// serves reports whether there is a model of this name.
func (s *modelServer) serves(name string) bool { return s.models != nil && s.models.Serves(name) }

// listen begins to answer requests.
func (s *modelServer) listen() error {
	onePort := s.flags.access.onePort
	if s.flags.port != 0 || onePort {
		o := &rpc.Options{Logger: s.log, MaxTime: cmp.Or(s.flags.grpcTime, -1), TLS: s.tls, Tracer: s.tracer, SerializeAsTensorContent: s.flags.tensorBytes, OnRequest: func(r rpc.Request) {
			s.metrics.Request(metrics.Request{Entrypoint: "GRPC", Method: r.Method, Model: r.Model, Code: r.Code, Took: r.Took})
		}}
		s.rpc = rpc.NewServer(s.models, s.access.rpc(o, onePort))
	}
	if s.rpc != nil && !onePort {
		l, err := s.open("grpc", "port", s.flags.port)
		if err != nil {
			return err
		}
		go func() { s.ended <- s.rpc.Serve(l) }()
	}
	if s.flags.restPort != 0 {
		l, err := s.open("http", "rest_api_port", s.flags.restPort)
		if err != nil {
			return err
		}
		if onePort {
			var toRPC net.Listener
			toRPC, l = s.access.split(l)
			s.log.Info("listening", slog.String("interface", "grpc"), slog.String("address", l.Addr().String()))
			go func() { s.ended <- s.rpc.Serve(toRPC) }()
		}
		s.web = restapi.NewServer(s.models, s.access.rest(s.webOptions(), s.models, onePort))
		go func() { s.ended <- s.web.Serve(l) }()
	}
	return nil
}

// open opens the port of a flag. Port -1 is any free one, which the log tells.
func (s *modelServer) open(name, flag string, port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(s.flags.host, strconv.Itoa(max(port, 0))))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, millrace.Errorf(millrace.ErrIO, "--%s %d: another process listens there; give another port, -1 for any free one, or 0 for none", flag, port)
	case err != nil:
		return nil, millrace.Errorf(millrace.ErrIO, "--%s %d: %w", flag, port, err)
	}
	s.log.Info("listening", slog.String("interface", name), slog.String("address", l.Addr().String()))
	return l, nil
}

// webOptions returns the options of the HTTP server.
func (s *modelServer) webOptions() *restapi.ServerOptions {
	mux := http.NewServeMux()
	mux.Handle("/", page.NewHandler(s.models))
	figures := promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
	mux.Handle("GET /metrics", figures)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /monitoring/prometheus/metrics", figures) // TensorFlow Serving's path
	return &restapi.ServerOptions{Other: mux, Options: restapi.Options{
		Timeout:      time.Duration(s.flags.restTimeout) * time.Millisecond,
		MaxBodyBytes: s.flags.maxBody, EnableCORS: s.flags.cors, Logger: s.log, Tracer: s.tracer,
		OnRequest: func(r restapi.Request) {
			s.metrics.Request(metrics.Request{Entrypoint: "REST", Method: r.Method, Model: r.Model, Code: r.Code, Took: r.Took})
		},
	}}
}

// ready answers 200 if the server can answer requests, 503 with the reason otherwise.
func (s *modelServer) ready(w http.ResponseWriter, _ *http.Request) {
	if err := s.models.Ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// reread reads the config file of models again and again.
func (s *modelServer) reread(ctx context.Context) {
	ticker := time.NewTicker(time.Duration(s.flags.configPoll) * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		configs, err := configfile.ReadModels(s.flags.configFile)
		if err == nil {
			err = s.models.ReplaceConfig(ctx, configs)
		}
		if err != nil {
			s.log.Error("model config file", slog.String("error", err.Error()))
		}
	}
}

// finish refuses new requests and waits until those in flight are answered.
func (s *modelServer) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.flags.drain)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if s.rpc != nil {
			s.rpc.GracefulStop()
		}
	}()
	var err error
	if s.web != nil {
		if err = s.web.Shutdown(ctx); err != nil {
			err = millrace.Errorf(millrace.ErrCanceled, "requests were still running after %v: %w", s.flags.drain, err)
		}
	}
	select {
	case <-stopped:
	case <-ctx.Done():
		s.rpc.Stop()
		<-stopped
	}
	return err
}
