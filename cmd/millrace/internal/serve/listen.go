package serve

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/alts"

	"millrace/serving/metrics"
	"millrace/serving/page"
	restapi "millrace/serving/rest"
	"millrace/serving/rpc"
)

// The paths that orchestrators request, to find out whether the process lives, and
// whether it can answer requests.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// listen begins to answer requests.
func (s *modelServer) listen() error {
	s.pacer = newMonitorPacer()
	var listeners []net.Listener
	onePort := s.flags.access.onePort
	if s.flags.port != 0 && !onePort {
		l, err := s.open("grpc", portFlag)
		if err != nil {
			return err
		}
		listeners = append(listeners, l)
	}
	if s.socket != nil {
		listeners = append(listeners, s.socket)
	}
	if len(listeners) > 0 || onePort {
		s.rpc = rpc.NewServer(s.models, s.access.rpc(s.rpcOptions(), onePort))
	}
	for _, l := range listeners {
		go func() { s.ended <- s.rpc.Serve(l) }()
	}
	if s.flags.restPort != 0 {
		l, err := s.open("http", restPortFlag)
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
	if s.socket != nil {
		s.log.Info("listening", slog.String("interface", "grpc_socket"), slog.String("address", s.flags.socket))
	}
	return nil
}

// open begins to listen at the port of a flag, which the log names.
func (s *modelServer) open(name, flag string) (net.Listener, error) {
	l, err := s.ports[flag].listen()
	if err != nil {
		return nil, s.portError(flag, err)
	}
	s.log.Info("listening", slog.String("interface", name), slog.String("address", l.Addr().String()))
	return l, nil
}

// rpcOptions returns the options of the gRPC server.
func (s *modelServer) rpcOptions() *rpc.Options {
	o := &rpc.Options{
		Logger: s.log, MaxTime: cmp.Or(s.flags.grpcTime, -1), TLS: s.tls, Tracer: s.tracer, SerializeAsTensorContent: s.flags.tensorBytes,
		MaxThreads: s.flags.grpcThreads, NoHealth: !s.flags.health, MaxRecvMsgBytes: s.channel.received, ServerOptions: s.channel.options,
		OnRequest: func(r rpc.Request) {
			s.pacer.request()
			s.metrics.Request(metrics.Request{Entrypoint: "GRPC", Method: r.Method, Model: r.Model, Version: r.Version, Code: r.Code, Took: r.Took})
		},
	}
	if s.flags.alts {
		o.ServerOptions = append(o.ServerOptions, grpc.Creds(alts.NewServerCreds(alts.DefaultServerOptions())))
	}
	return o
}

// webOptions returns the options of the HTTP server.
func (s *modelServer) webOptions() *restapi.ServerOptions {
	mux := http.NewServeMux()
	mux.Handle("/", page.NewHandler(s.models))
	figures := promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
	mux.Handle("GET /metrics", figures)
	mux.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET "+readyPath, s.ready)
	at := s.metricsPath()
	other := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at != "" && r.URL.Path == at { // a path of any form, which a pattern of mux might refuse
			figures.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
	return &restapi.ServerOptions{Other: other, Options: restapi.Options{
		Timeout: time.Duration(s.flags.restTimeout) * time.Millisecond, NumThreads: s.flags.restThreads,
		MaxBodyBytes: s.flags.maxBody, EnableCORS: s.flags.cors, Logger: s.log, Tracer: s.tracer,
		OnRequest: func(r restapi.Request) {
			s.pacer.request()
			s.metrics.Request(metrics.Request{Entrypoint: "REST", Method: r.Method, Model: r.Model, Version: r.Version, Code: r.Code, Took: r.Took})
		},
	}}
}

// metricsPath returns TensorFlow Serving's path of the metrics from the file of
// --monitoring_config_file; "" if that file switches them off. The metrics are also at
// /metrics.
func (s *modelServer) metricsPath() string {
	switch {
	case s.monitoring == nil:
		return "/monitoring/prometheus/metrics"
	case !s.monitoring.Prometheus:
		return ""
	}
	return cmp.Or(s.monitoring.Path, "/monitoring/prometheus/metrics")
}

// ready answers 200 if the server can answer requests, 503 with the reason otherwise.
func (s *modelServer) ready(w http.ResponseWriter, _ *http.Request) {
	if err := s.models.Ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
