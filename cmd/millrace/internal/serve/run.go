package serve

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"millrace/cmd/millrace/internal/cli"
	"millrace/serving"
	"millrace/serving/budget"
	"millrace/serving/configfile"
	"millrace/serving/metrics"
	"millrace/serving/tracing"
)

// serve serves models until ctx ends, and then drains.
func (p *program) serve(ctx context.Context, flags *serveFlags, ignored []flagRow) (err error) {
	p.SetGrace(flags.drainDelay + flags.drain + cli.Grace)
	p.Warm()
	s := &modelServer{flags: flags, program: p, log: p.logger(flags.jsonLog), registry: prometheus.NewRegistry(), ended: make(chan error, 3)}
	for _, flag := range ignored {
		s.log.Info("flag without meaning", slog.String("flag", flag.name), slog.String("reason", flag.nothing))
	}
	if flags.configFile != "" {
		s.noteHangups()
	}
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
	if err := s.readSettings(); err != nil {
		return err
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
	if flags.socket != "" { // before the sandbox, which has no rule for UNIX sockets
		if s.socket, err = listenUnix(flags.socket); err != nil {
			return err
		}
		defer s.socket.Close()
	}
	if err := s.bind(); err != nil {
		return err
	}
	defer s.ports.Close()
	needs := flags.needs(configs, options.Loaders)
	needs.Bound = s.ports.descriptors()
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
	s.registry.MustRegister(metrics.NewLoadCollector(s.load), metrics.NewTrafficCollector(s.traffic))
	options.Logger, options.OnBatch, options.OnRun = s.log, s.metrics.Batch, s.metrics.Run
	options.OnExamples, options.OnLog, options.OnWarmup = s.metrics.Examples, s.metrics.Logged, s.metrics.Warmup
	if s.models, err = serving.New(ctx, configs, options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.models.Close()) }()
	defer tuneGo(s.models.Memory.Limit())() // after batching has counted the processors
	if err := s.listen(); err != nil {
		return errors.Join(err, s.finish())
	}
	if flags.configFile != "" {
		s.rereadWhenAsked(ctx)
	}
	select {
	case err := <-s.ended:
		return errors.Join(err, s.finish())
	case <-ctx.Done():
		s.models.Drain()
		s.log.Info("draining", slog.String("cause", context.Cause(ctx).Error()))
		return errors.Join(s.delay(), s.finish())
	}
}

// readSettings reads the settings of the interfaces from flags.
func (s *modelServer) readSettings() (err error) {
	if s.flags.sslFile != "" {
		if s.tls, err = configfile.ReadTLS(s.flags.sslFile); err != nil {
			return err
		}
	}
	if s.flags.monitoringFile != "" {
		if s.monitoring, err = configfile.ReadMonitoring(s.flags.monitoringFile); err != nil {
			return err
		}
	}
	if err := s.channel.parse(s.flags.grpcArgs); err != nil {
		return err
	}
	for _, key := range s.channel.unknown {
		s.log.Info("channel argument without meaning", slog.String("argument", key), slog.String("reason", "gRPC for Go has nothing like it"))
	}
	return nil
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

// load returns the amount of work that the server has, false before the server exists.
func (s *modelServer) load() (serving.Load, bool) {
	if s.models == nil {
		return serving.Load{}, false
	}
	return s.models.Load(), true
}

// traffic returns the figures of shadow copies and caches, nil before the server
// exists.
func (s *modelServer) traffic() map[string]serving.Traffic {
	if s.models == nil {
		return nil
	}
	return serving.TrafficOf(s.models)
}

// serves reports whether there is a model of this name.
func (s *modelServer) serves(name string) bool { return s.models != nil && s.models.Serves(name) }
