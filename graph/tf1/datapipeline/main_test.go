package datapipeline_test

import (
	"fmt"
	"os"
	"testing"

	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	tfmain.WithoutOneDNN()
	os.Exit(tfmain.Run(m))
}

// speech describes the data of the tests: two numbers and a class per frame, and a speaker
// per sequence.
var speech = &datapipeline.ExternData{Data: map[string]datapipeline.Data{
	"data":    {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 2)},
	"classes": {DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)},
	"speaker": {DType: tfbridge.String, Shape: tfbridge.ScalarShape()},
}}

// spoken returns a sequence of n frames. Frame t of sequence i is 100 i + t + 1, so
// that no frame is zero.
func spoken(i, n int) *datapipeline.Sequence {
	data, classes := make([][]float32, n), make([]int32, n)
	for t := range n {
		v := 100*i + t + 1
		data[t], classes[t] = []float32{float32(v), -float32(v)}, int32(v)
	}
	return &datapipeline.Sequence{Tag: fmt.Sprintf("seq-%d", i), Data: map[string]any{
		"data": data, "classes": classes, "speaker": fmt.Sprintf("speaker-%d", i%2),
	}}
}

// recording returns a dataset of sequences of these lengths.
func recording(name string, lengths ...int) *datapipeline.StaticDataset {
	d := &datapipeline.StaticDataset{DatasetName: name}
	for i, n := range lengths {
		d.Seqs = append(d.Seqs, spoken(i, n))
	}
	return d
}

// batch is a batch as a run fetched it: Go values by name.
type batch map[string]any

// reader runs a provider's batches through a session.
type reader struct {
	datapipeline.DataProvider
	session *tfbridge.Session
	names   []string
	fetches []tfbridge.Output
}

// newReader returns a reader of all tensors of a provider.
func newReader(t testing.TB, s *graph.Scope, p datapipeline.DataProvider) *reader {
	t.Helper()
	return newReaders(t, s, p)[0]
}

// newReaders returns readers of providers of one graph, with one session.
func newReaders(t testing.TB, s *graph.Scope, providers ...datapipeline.DataProvider) []*reader {
	t.Helper()
	var readers []*reader
	for _, p := range providers {
		r := &reader{DataProvider: p}
		for name, output := range p.Data() {
			r.names, r.fetches = append(r.names, name), append(r.fetches, graph.Identity(s, output))
		}
		readers = append(readers, r)
	}
	session := graphtest.NewSession(t, s, graphtest.Unoptimized(t))
	for _, r := range readers {
		r.session = session
	}
	return readers
}

// start begins an epoch.
func (r *reader) start(t testing.TB, d datapipeline.Dataset, epoch datapipeline.Epoch) {
	t.Helper()
	if err := r.InitDataset(d, &epoch); err != nil {
		t.Fatal(err)
	}
	if err := r.StartThreads(t.Context(), r.session); err != nil {
		t.Fatal(err)
	}
}

// next returns the next batch; nil at the end.
func (r *reader) next(t testing.TB) (batch, error) {
	t.Helper()
	if more, err := r.HaveMoreData(t.Context()); err != nil || !more {
		return nil, err
	}
	feeds, err := r.FeedDict(t.Context())
	if err != nil {
		return nil, err
	}
	values, err := r.session.RunContext(t.Context(), feeds, r.fetches, nil)
	if err != nil {
		return nil, err
	}
	b := batch{}
	for i, v := range values {
		b[r.names[i]] = v.Value()
		v.Close()
	}
	return b, nil
}

// all reads an epoch to its end.
func (r *reader) all(t testing.TB, d datapipeline.Dataset, epoch datapipeline.Epoch) []batch {
	t.Helper()
	r.start(t, d, epoch)
	defer func() {
		if err := r.StopThreads(); err != nil {
			t.Error(err)
		}
	}()
	var batches []batch
	for {
		b, err := r.next(t)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return batches
		}
		batches = append(batches, b)
	}
}
