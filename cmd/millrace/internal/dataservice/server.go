package dataservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/sandbox"
	"millrace/tfbridge"
)

// server is a command that runs a server of the data service until a signal.
type server struct {
	*cli.Program
	name    string // the command's
	port    int
	metrics int // port; 0: none
	trusted bool
	log     *slog.Logger
}

// add adds the flags that both servers have.
func (s *server) add(c *cobra.Command, port int) {
	c.Flags().IntVar(&s.port, "port", port, "listen at `PORT`, on every interface")
	c.Flags().IntVar(&s.metrics, "metrics-port", 0, "answer /metrics, /healthz and /readyz by HTTP at `PORT` (0: not at all)")
	c.Flags().BoolVar(&s.trusted, "trusted-network", false, "run although whoever reaches the port can run code in this process")
}

// check refuses flags that contradict each other, and a server that nobody has called
// trusted.
func (s *server) check() error {
	for name, port := range map[string]int{"port": s.port, "metrics-port": s.metrics} {
		if port < 0 || port > math.MaxUint16 || name == "port" && port == 0 {
			return millrace.Errorf(millrace.ErrConfig, "--%s is %d; a port is 1 to %d", name, port, math.MaxUint16)
		}
	}
	if s.port == s.metrics {
		return millrace.Errorf(millrace.ErrConfig, "--port and --metrics-port are both %d", s.port)
	}
	if !s.trusted {
		return millrace.Errorf(millrace.ErrConfig, "the %s would listen at port %d on every interface, without encryption or authentication, and run what anybody sends; close the port to all but the machines of the service and add --trusted-network", s.name, s.port)
	}
	return nil
}

// starter starts the server of TensorFlow.
type starter = func() (*tfbridge.DataServer, error)

// run confines the process, starts the server, and stops it when ctx is done. first and second
// name the counts of the server.
func (s *server) run(ctx context.Context, needs *sandbox.Policy, start starter, first, second string) error {
	s.log = slog.New(slog.NewTextHandler(s.Stderr, nil))
	var listener net.Listener
	if s.metrics != 0 {
		l, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(s.metrics)))
		if err != nil {
			return millrace.Errorf(millrace.ErrIO, "--metrics-port %d: %w", s.metrics, err)
		}
		defer l.Close()
		listener = l
	}
	needs.Connect, needs.Listen = true, append(needs.Listen, uint16(s.port))
	if err := s.Confine(needs); err != nil {
		return err
	}
	if _, err := tfbridge.Open(s.RuntimeOptions()); err != nil {
		return err
	}
	started, err := start()
	if err != nil {
		return err
	}
	if listener != nil {
		web := &http.Server{Handler: s.pages(started, first, second), ReadHeaderTimeout: 10 * time.Second}
		go web.Serve(listener)
		defer web.Close()
	}
	s.log.Info("ready", slog.String("server", s.name), slog.Int("port", started.Port()), slog.String("tensorflow", tfbridge.Version()))
	<-ctx.Done()
	s.log.Info("stopping", slog.String("cause", fmt.Sprint(context.Cause(ctx))))
	return started.Stop()
}

// pages returns the handler of /healthz, /readyz and /metrics.
func (s *server) pages(started *tfbridge.DataServer, first, second string) http.Handler {
	registry := prometheus.NewRegistry()
	gauge := func(name, help string, pick func(a, b int64) int64) {
		if name == "" {
			return
		}
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "millrace_service_" + name, Help: help}, func() float64 {
			a, b, err := started.Counts()
			if err != nil {
				return math.NaN()
			}
			return float64(pick(a, b))
		}))
	}
	gauge(first, "What the "+s.name+" of the data service has: "+first+".", func(a, _ int64) int64 { return a })
	gauge(second, "What the "+s.name+" of the data service has: "+second+".", func(_, b int64) int64 { return b })
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := started.Counts(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// checkAddress returns an error unless a flag's value is HOST:PORT.
func checkAddress(flag, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		var n uint64
		if n, err = strconv.ParseUint(port, 10, 16); err == nil && (n == 0 || host == "") {
			err = errors.New("no host or no port")
		}
	}
	if err != nil {
		return millrace.Errorf(millrace.ErrConfig, "--%s is %s; it is HOST:PORT", flag, millrace.Quote(address))
	}
	return nil
}
