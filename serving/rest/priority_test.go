package rest

import (
	"net/http/httptest"
	"testing"

	"millrace/serving/batching"
)

// A client may lower the priority of its request, and not raise it.
func TestPriorityHeader(t *testing.T) {
	for value, want := range map[string]batching.Priority{"low": batching.LowPriority, "high": 0, "7": 0, "": 0} {
		r := httptest.NewRequest("POST", "/v1/models/m:predict", nil)
		r.Header.Set(batching.PriorityHeader, value)
		c := &call{exchange: &netExchange{nil, r}, ctx: t.Context()}
		c.lowerPriority()
		if got := batching.PriorityOf(c.ctx); got != want {
			t.Errorf("%q: priority %d, want %d", value, got, want)
		}
	}
}
