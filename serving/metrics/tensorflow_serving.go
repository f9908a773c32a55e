package metrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/serving"
	"millrace/tfbridge"
)

// tensorflowServing are metrics by TensorFlow Serving's names, with its labels, units and buckets, so
// that its dashboards and alerts keep working. Their names have colons, which Prometheus otherwise keeps for rules.
type tensorflowServing struct {
	requests  *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	runtime   *prometheus.HistogramVec
	queuing   *prometheus.HistogramVec
	wrapped   prometheus.Counter
	padding   *prometheus.HistogramVec
	input     prometheus.Histogram
	processed prometheus.Histogram
	examples  *prometheus.HistogramVec
	example   *prometheus.CounterVec
	logged    *prometheus.CounterVec
	warmup    *prometheus.HistogramVec
	replayed  *prometheus.CounterVec
}

// threadPool is the name of the pool that runs batches, as TensorFlow Serving's server names it.
const threadPool = "model_server_batch_threads"

// newTensorFlowServing returns the metrics and registers them.
func newTensorFlowServing(r *registering) *tensorflowServing {
	latencies := prometheus.ExponentialBuckets(10, 1.8, 33) // microseconds, up to 20 minutes
	rows := prometheus.ExponentialBuckets(1, 2, 14)
	name := func(s string) string { return ":tensorflow:serving:" + s }
	histogram := func(s, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name(s), Help: help, Buckets: buckets}
	}
	m := &tensorflowServing{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("request_count"), Help: "The total number of requests."}, []string{"model_name", "status"}),
		latency: prometheus.NewHistogramVec(histogram("request_latency", "Microseconds to answer a request.", latencies),
			[]string{"model_name", "API", "entrypoint"}),
		runtime: prometheus.NewHistogramVec(histogram("runtime_latency", "Microseconds of a run of TensorFlow.", latencies),
			[]string{"model_name", "API", "runtime"}),
		queuing: prometheus.NewHistogramVec(histogram("batching_session:queuing_latency", "Microseconds that the oldest request of a batch waited.",
			prometheus.ExponentialBuckets(100, 1.2, 52)), []string{"thread_pool_name"}),
		wrapped:   prometheus.NewCounter(prometheus.CounterOpts{Name: name("batching_session:wrapped_run_count"), Help: "Batches that were run."}),
		padding:   prometheus.NewHistogramVec(histogram("batching_session:padding_size", "Rows added to a batch.", rows), []string{"execution_batch_size"}),
		input:     prometheus.NewHistogram(histogram("batching_session:input_batch_size", "Rows of a request in a batch, on average.", rows)),
		processed: prometheus.NewHistogram(histogram("batching_session:processed_batch_size", "Rows of a batch, with those that were added.", rows)),
	}
	counter := func(s, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name(s), Help: help}, labels)
	}
	m.examples = prometheus.NewHistogramVec(histogram("request_example_counts", "Examples of a request.", prometheus.ExponentialBuckets(1, 2, 15)), []string{"model"})
	m.example = counter("request_example_count_total", "The total number of Examples.", "model")
	m.logged = counter("request_log_count", "Requests that the sampling of the request log chose.", "model_name", "status_code")
	m.warmup = prometheus.NewHistogramVec(histogram("model_warmup_latency", "Microseconds of the warmup requests of a version.", latencies), []string{"model_path", "status"})
	m.replayed = counter("model_warmup_records_read", "Warmup requests that were run.", "model_path", "status")
	for _, c := range []prometheus.Collector{m.examples, m.example, m.logged, m.warmup, m.replayed, m.requests, m.latency, m.runtime, m.queuing, m.wrapped, m.padding, m.input, m.processed} {
		r.add(c)
	}
	return m
}

// request returns the function that counts requests of a kind. As in TensorFlow
// Serving, latencies include only successful requests.
func (m *tensorflowServing) request(k kind) (requests prometheus.Counter, latency prometheus.Observer) {
	if k.code == tfbridge.OK {
		latency = m.latency.WithLabelValues(k.model, k.method, k.entrypoint)
	}
	return m.requests.WithLabelValues(k.model, statusName(k.code)), latency
}

// statusName returns TensorFlow's name of a code: INVALID_ARGUMENT.
func statusName(c tfbridge.Code) string {
	return strings.ToUpper(strings.ReplaceAll(c.Error(), " ", "_"))
}

// run counts a run of one request.
func (m *tensorflowServing) run(i serving.RunInfo) {
	m.runtime.WithLabelValues(i.Model, i.API, "TF1").Observe(float64(i.Took.Microseconds()))
}

// batch counts a batch.
func (m *tensorflowServing) batch(i serving.BatchInfo) {
	m.run(serving.RunInfo{Model: i.Model, API: i.API, Took: i.Took})
	m.queuing.WithLabelValues(threadPool).Observe(float64(i.Waited.Microseconds()))
	m.wrapped.Inc()
	size := i.Rows + i.Padding
	m.padding.WithLabelValues(strconv.Itoa(size)).Observe(float64(i.Padding))
	m.processed.Observe(float64(size))
	m.input.Observe(float64(i.Rows) / float64(max(i.Requests, 1)))
}

// Examples counts the Examples of a request to classify or to regress.
func (m *Metrics) Examples(model string, n int) {
	m.theirs.examples.WithLabelValues(model).Observe(float64(n))
	m.theirs.example.WithLabelValues(model).Add(float64(n))
}

// Logged counts a request that the sampling of a request log chose.
func (m *Metrics) Logged(model string, code tfbridge.Code) {
	m.theirs.logged.WithLabelValues(model, statusName(code)).Inc()
}

// Warmup counts the warmup requests of a version.
func (m *Metrics) Warmup(i serving.WarmupInfo) {
	status := statusName(serving.CodeOf(i.Err))
	m.theirs.warmup.WithLabelValues(i.Path, status).Observe(float64(i.Took.Microseconds()))
	m.theirs.replayed.WithLabelValues(i.Path, status).Add(float64(i.Records))
}
