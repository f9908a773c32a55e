package run

import (
	"testing"

	"millrace/graph"
	"millrace/internal/test/fixture"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// scanned returns the pipeline of a dataset, without a graph.
func scanned(t *testing.T, d *fixture.Dataset) *Pipeline {
	t.Helper()
	d.Save(t)
	checked, problems := spec.Check(d.Config(), nil)
	if checked == nil {
		t.Fatal(problems)
	}
	p := plan.New(checked, nil)
	scan, err := p.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return NewPipeline(&build.Parts{Plan: p, Scan: scan})
}

// opened returns the pipeline of a dataset in a graph, and a session of it, which
// the test closes. Without the native library, records are parsed several batches
// at once.
func opened(t *testing.T, d *fixture.Dataset) (*Pipeline, *tfbridge.Session) {
	t.Helper()
	pl := scanned(t, d)
	s, sess := newGraph(t, func(s *graph.Scope) {
		parts, err := build.Build(s, pl.Plan, pl.Scan)
		if err != nil {
			t.Fatal(err)
		}
		pl = NewPipeline(parts)
	})
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return pl, sess
}

// openTensors returns how many tensors are open.
func openTensors() int64 { return tfbridge.LiveKinds()["tensor"] }

// newGraph returns a graph with what add adds, and a session of it.
func newGraph(t *testing.T, add func(*graph.Scope)) (*graph.Scope, *tfbridge.Session) {
	t.Helper()
	g := tfbridge.NewGraph()
	t.Cleanup(func() { g.Close() })
	s := graph.NewScopeWithGraph(g)
	add(s)
	sess, err := tfbridge.NewSession(g, &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	return s, sess
}

// records returns a dataset of one file with so many records, for one epoch.
func records(t *testing.T, n int64) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, n)...)
	return d
}
