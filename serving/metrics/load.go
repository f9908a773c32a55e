package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/serving"
)

// loadCollector collects a server's current amount of work, for autoscalers.
type loadCollector struct {
	load                                           func() (serving.Load, bool)
	flight, waiting, rows, oldest, memory, version *prometheus.Desc
}

// NewLoadCollector returns a collector of the load of a server: requests in flight, the length and
// age of the queues of batches, the share of the memory for requests that is in use, and the state of
// each version. load reports false before the server exists.
func NewLoadCollector(load func() (serving.Load, bool)) prometheus.Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_serving_"+name, help, labels, nil)
	}
	batch := []string{"model", "version", "signature"}
	return &loadCollector{
		load:    load,
		flight:  describe("requests_in_flight", "Requests for predictions that are being answered."),
		waiting: describe("batch_queue_requests", "Requests that wait for a batch.", batch...),
		rows:    describe("batch_queue_rows", "Rows of the requests that wait for a batch.", batch...),
		oldest:  describe("batch_queue_oldest_seconds", "How long the oldest request that waits for a batch has waited.", batch...),
		memory:  describe("request_memory_ratio", "Share of the memory for requests that is in use."),
		version: describe("model_version_state", "1 for the state that a version is in.", "model", "version", "state"),
	}
}

// Describe sends the descriptions of the metrics.
func (c *loadCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.flight, c.waiting, c.rows, c.oldest, c.memory, c.version} {
		to <- d
	}
}

// Collect sends the metrics.
func (c *loadCollector) Collect(to chan<- prometheus.Metric) {
	l, ok := c.load()
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(c.flight, float64(l.Requests))
	gauge(c.memory, l.MemoryRatio)
	for _, q := range l.Queues {
		labels := []string{q.Model, strconv.FormatInt(q.Version, 10), q.Signature}
		gauge(c.waiting, float64(q.Requests), labels...)
		gauge(c.rows, float64(q.Rows), labels...)
		gauge(c.oldest, q.Oldest.Seconds(), labels...)
	}
	for _, v := range l.Versions {
		gauge(c.version, 1, v.Model, strconv.FormatInt(v.Version, 10), v.State.String())
	}
}
