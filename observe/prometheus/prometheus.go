// Package prometheus counts the events of loaders and models for Prometheus:
//
//	listener, err := prometheus.New(registry)
//	if err != nil {
//		return err
//	}
//	loader, err := loaders.Open("loader.json", &loaders.Options{Observe: listener})
//
// It is a separate package, so that other programs do not link Prometheus's client.
package prometheus

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/observe"
)

// New registers the metrics and returns a listener that counts in them. The
// listener may serve many loaders and models at a time: the label "source" is
// the path of the loader config or the model's folder; the label "signature" is
// the model's signature, empty for a loader alone. A second listener for the
// same registry is an error.
//
//	millrace_opened_total, millrace_closed_total   loaders and models
//	millrace_scan_seconds_total                    scanning data files
//	millrace_step_seconds                          histogram of session runs
//	millrace_rows_total                            examples in batches
//	millrace_stall_seconds_total, millrace_stalls_total   waiting for a batch
//	millrace_bad_records_total, millrace_retries_total
func New(registry prometheus.Registerer) (*observe.Listener, error) {
	m := &metrics{registry: registry}
	opened, closed := m.counter("opened_total", "Loaders and models opened.", "source"), m.counter("closed_total", "Loaders and models closed.", "source")
	scans := m.counter("scan_seconds_total", "Time spent scanning data files before the first batch.", "source")
	steps := m.histogram("step_seconds", "Duration of the session runs that gave a batch.", "source", "signature")
	rows := m.counter("rows_total", "Examples in batches.", "source", "signature")
	waited := m.counter("stall_seconds_total", "Time that loops waited for a batch.", "source", "signature")
	stalls := m.counter("stalls_total", "Batches that a loop had to wait for.", "source", "signature")
	bad := m.counter("bad_records_total", "Records that could not be read.", "source")
	retries := m.counter("retries_total", "Steps that were repeated after a failure.", "source", "signature")
	if m.err != nil {
		return nil, m.err
	}
	return &observe.Listener{
		Opened:  func(e observe.Opened) { opened.WithLabelValues(e.Source).Inc() },
		Scanned: func(e observe.Scanned) { scans.WithLabelValues(e.Source).Add(e.Duration.Seconds()) },
		Batch: func(e observe.Batch) {
			steps.WithLabelValues(e.Source, e.Signature).Observe(e.Duration.Seconds())
			rows.WithLabelValues(e.Source, e.Signature).Add(float64(e.Rows))
		},
		Stall: func(e observe.Stall) {
			waited.WithLabelValues(e.Source, e.Signature).Add(e.Duration.Seconds())
			stalls.WithLabelValues(e.Source, e.Signature).Inc()
		},
		BadRecord: func(e observe.BadRecord) { bad.WithLabelValues(e.Source).Inc() },
		Retry:     func(e observe.Retry) { retries.WithLabelValues(e.Source, e.Signature).Inc() },
		Closed:    func(e observe.Closed) { closed.WithLabelValues(e.Source).Inc() },
	}, nil
}

// metrics registers metrics and keeps the first failure.
type metrics struct {
	registry prometheus.Registerer
	err      error
}

func (m *metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "millrace", Name: name, Help: help}, labels)
	m.register(name, c)
	return c
}

// stepBuckets reach from a small batch of the native reader to a large model.
var stepBuckets = prometheus.ExponentialBuckets(10e-6, 4, 12) // 10 microseconds to 42 seconds

func (m *metrics) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "millrace", Name: name, Help: help, Buckets: stepBuckets}, labels)
	m.register(name, h)
	return h
}

func (m *metrics) register(name string, c prometheus.Collector) {
	if m.err != nil {
		return
	}
	if err := m.registry.Register(c); err != nil {
		m.err = fmt.Errorf("register millrace_%s: %w", name, err)
	}
}
