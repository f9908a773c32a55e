// Package metrics counts the requests and batches of a model server for
// Prometheus.
package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"millrace"
	"millrace/serving"
	"millrace/tfbridge"
)

// Metrics are the metrics of one server. Many goroutines may use them.
type Metrics struct {
	serves   func(model string) bool
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	batches  *prometheus.CounterVec
	rows     *prometheus.HistogramVec
	padding  *prometheus.CounterVec
	waited   *prometheus.HistogramVec
	running  *prometheus.HistogramVec
	fill     *prometheus.HistogramVec
	theirs   *tensorflowServing

	mu    sync.RWMutex // guards the fields below
	known map[kind]*series
}

// kind is the labels by which requests are counted.
type kind struct {
	entrypoint, method, model string
	version                   int64 // 0 if no version was found
	code                      tfbridge.Code
}

// series counts the requests of a kind. Finding it by its labels would cost a
// request more than counting.
type series struct {
	requests prometheus.Counter
	latency  prometheus.Observer

	theirRequests prometheus.Counter
	theirLatency  prometheus.Observer // nil for requests that failed
}

// New returns metrics that a registry collects, and with them the memory of
// TensorFlow's tensors that Go holds. serves reports whether a model of that name
// exists: requests for unknown models are counted without a model, so that clients
// cannot create any number of time series. It is an error if the registry has such
// metrics already.
func New(registry prometheus.Registerer, serves func(model string) bool) (*Metrics, error) {
	r := &registering{registry: registry}
	batch := []string{"model", "version", "signature"}
	seconds := prometheus.ExponentialBuckets(1e-4, 2, 18) // 0.1 ms to 13 s
	m := &Metrics{
		serves:   serves,
		known:    map[kind]*series{},
		requests: r.counter("requests_total", "Requests that were answered, by status code.", "entrypoint", "method", "model", "version", "code"),
		latency:  r.histogram("request_duration_seconds", "Time to answer a request.", seconds, "entrypoint", "method", "model", "version"),
		batches:  r.counter("batches_total", "Batches that were run.", "model", "version", "signature", "ok"),
		rows:     r.histogram("batch_rows", "Rows of requests in a batch.", prometheus.ExponentialBuckets(1, 2, 12), batch...),
		padding:  r.counter("batch_padding_rows_total", "Rows added to reach an allowed batch size.", batch...),
		waited:   r.histogram("batch_queue_seconds", "Time that the oldest request of a batch waited.", seconds, batch...),
		fill:     r.histogram("batch_fill_ratio", "Rows of requests in a batch, as a share of the rows that it may have.", prometheus.LinearBuckets(0.1, 0.1, 10), batch...),
		theirs:   newTensorFlowServing(r),
		running:  r.histogram("batch_duration_seconds", "Time to join, run and split a batch.", seconds, batch...),
	}
	r.add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "millrace", Name: "tensor_bytes", Help: "Memory of the tensors that Go holds."},
		func() float64 { return float64(tfbridge.LiveBytes()) }))
	return m, r.err
}

// registering makes metrics and registers them. It keeps the first error.
type registering struct {
	registry prometheus.Registerer
	err      error
}

func (r *registering) add(c prometheus.Collector) {
	if err := r.registry.Register(c); err != nil && r.err == nil {
		r.err = millrace.Errorf(millrace.ErrConfig, "register metrics: %w", err)
	}
}

func (r *registering) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "millrace", Subsystem: "serving", Name: name, Help: help}, labels)
	r.add(c)
	return c
}

func (r *registering) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "millrace", Subsystem: "serving", Name: name, Help: help, Buckets: buckets}, labels)
	r.add(h)
	return h
}

// Request describes a request that was answered.
type Request struct {
	Entrypoint string // "REST" or "GRPC"
	Method     string
	Model      string
	Version    int64 // 0: no version was found
	Code       tfbridge.Code
	Took       time.Duration
}

// Request counts a request.
func (m *Metrics) Request(r Request) {
	if !m.serves(r.Model) {
		r.Model, r.Version = "", 0
	}
	s := m.series(kind{r.Entrypoint, r.Method, r.Model, r.Version, r.Code})
	s.requests.Inc()
	s.latency.Observe(r.Took.Seconds())
	s.theirRequests.Inc()
	if s.theirLatency != nil {
		s.theirLatency.Observe(float64(r.Took.Microseconds()))
	}
}

// Run counts a run that is not a batch.
func (m *Metrics) Run(i serving.RunInfo) { m.theirs.run(i) }

// series returns the series of a kind.
func (m *Metrics) series(k kind) *series {
	m.mu.RLock()
	s := m.known[k]
	m.mu.RUnlock()
	if s != nil {
		return s
	}
	version := ""
	if k.version != 0 {
		version = strconv.FormatInt(k.version, 10)
	}
	s = &series{
		requests: m.requests.WithLabelValues(k.entrypoint, k.method, k.model, version, k.code.Error()),
		latency:  m.latency.WithLabelValues(k.entrypoint, k.method, k.model, version),
	}
	s.theirRequests, s.theirLatency = m.theirs.request(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[k] = s
	return s
}

// Batch counts a batch.
func (m *Metrics) Batch(i serving.BatchInfo) {
	version := strconv.FormatInt(i.Version, 10)
	m.batches.WithLabelValues(i.Model, version, i.Signature, strconv.FormatBool(i.Err == nil)).Inc()
	m.rows.WithLabelValues(i.Model, version, i.Signature).Observe(float64(i.Rows))
	m.padding.WithLabelValues(i.Model, version, i.Signature).Add(float64(i.Padding))
	m.waited.WithLabelValues(i.Model, version, i.Signature).Observe(i.Waited.Seconds())
	m.running.WithLabelValues(i.Model, version, i.Signature).Observe(i.Took.Seconds())
	if i.MostRows > 0 {
		m.fill.WithLabelValues(i.Model, version, i.Signature).Observe(float64(i.Rows) / float64(i.MostRows))
	}
	m.theirs.batch(i)
}
