package prometheus_test

import (
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"millrace/observe"
	"millrace/observe/prometheus"
)

func TestCounts(t *testing.T) {
	registry := client.NewPedanticRegistry()
	l, err := prometheus.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	l.Opened(observe.Opened{Source: "a.json", Files: 2})
	l.Scanned(observe.Scanned{Source: "a.json", Duration: 2 * time.Second})
	for step := range int64(3) {
		l.Batch(observe.Batch{Source: "a.json", Step: step + 1, Rows: 5, Duration: 15 * time.Microsecond})
	}
	l.Stall(observe.Stall{Source: "a.json", Step: 1, Duration: time.Second})
	l.BadRecord(observe.BadRecord{Source: "a.json"})
	l.Retry(observe.Retry{Source: "a.json"})
	l.Closed(observe.Closed{Source: "a.json"})
	want := `
# HELP millrace_bad_records_total Records that could not be read.
# TYPE millrace_bad_records_total counter
millrace_bad_records_total{source="a.json"} 1
# HELP millrace_rows_total Examples in batches.
# TYPE millrace_rows_total counter
millrace_rows_total{signature="",source="a.json"} 15
# HELP millrace_scan_seconds_total Time spent scanning data files before the first batch.
# TYPE millrace_scan_seconds_total counter
millrace_scan_seconds_total{source="a.json"} 2
# HELP millrace_stall_seconds_total Time that loops waited for a batch.
# TYPE millrace_stall_seconds_total counter
millrace_stall_seconds_total{signature="",source="a.json"} 1
`
	err = testutil.GatherAndCompare(registry, strings.NewReader(want),
		"millrace_bad_records_total", "millrace_rows_total", "millrace_scan_seconds_total", "millrace_stall_seconds_total")
	if err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 9 {
		t.Errorf("%d metrics, %v; want 9", n, err)
	}
	if _, err := prometheus.New(registry); err == nil {
		t.Error("a second listener of one registry is no error")
	}
}
