package tfbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"millrace"
)

func TestRunTraced(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, MakeShape(-1))
	y := b.out("Mul", "product", nil, x, x)
	s := b.session()
	in := []*Tensor{b.tensor([]float32{1, 2, 3})}
	c, err := s.PrepareRun([]Output{x}, []Output{y}, nil, &RunOptions{Trace: FullTrace, PartitionGraphs: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, ctx := range []context.Context{context.Background(), ctx} {
		out, m, err := c.RunTraced(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		out[0].Close()
		found := false
		for _, d := range m.Devices {
			for _, n := range d.Nodes {
				if n.Name == "product" {
					found = strings.Contains(d.Device, "CPU:0") && !n.Start.IsZero() && n.Duration >= 0 && n.opType() == "Mul"
				}
			}
		}
		if !found {
			t.Errorf("no product in %+v", m.Devices)
		}
		if len(m.PartitionGraphs) == 0 || !bytes.Contains(m.PartitionGraphs[0], []byte("product")) {
			t.Errorf("%d partition graphs", len(m.PartitionGraphs))
		}
		checkTimeline(t, m)
	}
	if _, _, err := c.RunTraced(ctx, nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("too few values: %v", err)
	}
	plain, err := s.Prepare([]Output{x}, []Output{y}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := plain.RunTraced(ctx, in); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("not prepared to be traced: %v", err)
	}
	cancel()
	if _, _, err := c.RunTraced(ctx, in); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
}

// checkTimeline reads a timeline as a viewer would.
func checkTimeline(t *testing.T, m *RunMetadata) {
	t.Helper()
	var text bytes.Buffer
	if err := m.WriteTimeline(&text); err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(text.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	processes, products := 0, 0
	for _, e := range trace.TraceEvents {
		switch {
		case e.Phase == "M" && e.Name == "process_name":
			processes++
		case e.Phase != "X" || e.Micros < 0 || e.Duration < 0:
			t.Errorf("event %+v", e)
		case e.Name == "Mul" && e.Args["name"] == "product":
			products++
		}
	}
	if processes != len(m.Devices) || products == 0 {
		t.Errorf("timeline %s", &text)
	}
	if err := m.WriteTimeline(fullDisk{}); !errors.Is(err, millrace.ErrIO) {
		t.Errorf("a write that fails: %v", err)
	}
}

// fullDisk is a writer that always fails.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

// Metadata that is not a message is an error.
func TestMetadataDamaged(t *testing.T) {
	for _, raw := range []string{"\x0a\x05", "\x0a\x02\x0a\x09", "\xff"} {
		if _, err := parseMetadata([]byte(raw)); !errors.Is(err, millrace.ErrInternal) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}
