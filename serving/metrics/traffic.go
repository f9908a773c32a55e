package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"millrace/serving"
)

// trafficCollector collects the counts of shadow copies and caches.
type trafficCollector struct {
	traffic                        func() map[string]serving.Traffic
	copies, hits, misses, occupied *prometheus.Desc
}

// NewTrafficCollector returns a collector of [serving.TrafficOf] by model: shadow copies by their result,
// hits and misses of caches, and the memory of caches. traffic returns nil before the server exists.
func NewTrafficCollector(traffic func() map[string]serving.Traffic) prometheus.Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_serving_"+name, help, labels, nil)
	}
	return &trafficCollector{
		traffic:  traffic,
		copies:   describe("shadow_requests_total", "Copies of requests for the version of the shadow, by result: ran, failed or dropped.", "model", "result"),
		hits:     describe("cache_hits_total", "Requests that were answered from the model's cache.", "model"),
		misses:   describe("cache_misses_total", "Requests that the model's cache had no answer for.", "model"),
		occupied: describe("cache_bytes", "Memory of the model's cache.", "model"),
	}
}

// Describe sends the descriptions of the metrics.
func (c *trafficCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.copies, c.hits, c.misses, c.occupied} {
		to <- d
	}
}

// Collect sends the metrics.
func (c *trafficCollector) Collect(to chan<- prometheus.Metric) {
	for model, t := range c.traffic() {
		count := func(d *prometheus.Desc, value int64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
		}
		count(c.copies, t.ShadowRan, model, "ran")
		count(c.copies, t.ShadowFailed, model, "failed")
		count(c.copies, t.ShadowDropped, model, "dropped")
		count(c.hits, t.CacheHits, model)
		count(c.misses, t.CacheMisses, model)
		to <- prometheus.MustNewConstMetric(c.occupied, prometheus.GaugeValue, float64(t.CacheBytes), model)
	}
}
