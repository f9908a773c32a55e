package native_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/tfbridge"
)

// TestAgreesOnOddRecords mutates records: the native decoder accepts what
// TensorFlow's parser accepts, with the same values.
func TestAgreesOnOddRecords(t *testing.T) {
	needLibrary(t)
	const rounds = 500
	features := corruptFeatures()
	s := newScope(t)
	record := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	wanted := &graph.ExampleFeatures{Dense: []graph.DenseFeature{
		{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
		{Key: "vals", DType: tfbridge.Float, Shape: tfbridge.MakeShape(3)},
	}}
	general := graph.ParseExampleV2(s, graph.ExpandDims(s, record, 0), wanted).Dense
	it := native.Parse(dataset.FromTensors(s, record), 1, features, nil).Iterator("it")
	p := newParsers(t, s, record, general, it)
	r := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for i := range rounds {
		data := mutated(r, corrupt.Example(i%128))
		want, got := p.parse(t, data)
		for k := range want {
			a, _ := want[k].Bytes()
			b, _ := got[k].Bytes()
			if !bytes.Equal(a, b) {
				t.Fatalf("record %x, component %d: TensorFlow %x, native %x", data, k, a, b)
			}
		}
		if want != nil {
			accepted++
		}
		closeAll(want, got)
	}
	if accepted < rounds/20 || accepted > rounds*19/20 {
		t.Errorf("%d of %d records are accepted; the mutations test little", accepted, rounds)
	}
}

// parsers are TensorFlow's parser and ours, of one record that is fed.
type parsers struct {
	sess    *tfbridge.Session
	record  out
	general outs
	it      *dataset.Iterator
}

func newParsers(t *testing.T, s *graph.Scope, record out, general outs, it *dataset.Iterator) *parsers {
	t.Helper()
	sess, err := tfbridge.NewSession(s.Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	return &parsers{sess, record, general, it}
}

// parse returns the record as both parsers decode it, nil if both refuse it. The test
// fails if only one of them does.
func (p *parsers) parse(t *testing.T, data []byte) (want, got []*tfbridge.Tensor) {
	t.Helper()
	fed, err := tfbridge.NewStringTensor(nil, [][]byte{data})
	if err != nil {
		t.Fatal(err)
	}
	defer fed.Close()
	feeds := map[out]*tfbridge.Tensor{p.record: fed}
	want, wantErr := p.sess.Run(feeds, p.general, nil)
	if _, err := p.sess.Run(feeds, nil, []*tfbridge.Operation{p.it.Init}); err != nil {
		t.Fatal(err)
	}
	got, gotErr := p.sess.Run(nil, p.it.Element, nil)
	if (wantErr == nil) != (gotErr == nil) {
		t.Fatalf("record %x: TensorFlow says %v, native %v", data, wantErr, gotErr)
	}
	if gotErr != nil && !errors.Is(gotErr, tfbridge.InvalidArgument) {
		t.Fatalf("record %x: got %v", data, gotErr)
	}
	return want, got
}

func closeAll(lists ...[]*tfbridge.Tensor) {
	for _, x := range slices.Concat(lists...) {
		x.Close()
	}
}

// mutated changes a record in one place or a few. It avoids changes that make
// TensorFlow write past the end of its memory: longer lists of unpacked floats.
func mutated(r *rand.Rand, data []byte) []byte {
	if r.IntN(4) == 0 { // makes features of several messages
		data = append(append([]byte{}, data...), corrupt.Example(r.IntN(128))...)
	}
	data = append([]byte{}, data...)
	for range 1 + r.IntN(2) {
		at := r.IntN(len(data))
		switch r.IntN(7) {
		case 0:
			data[at] ^= 1 << r.IntN(8)
		case 1:
			data[at] = byte(r.Uint32())
		case 2:
			data[at] += byte(r.IntN(5)) - 2
		case 3:
			data = append(data[:at], append([]byte{byte(r.Uint32())}, data[at:]...)...)
		case 4:
			data = append(data[:at], data[at+1:]...)
		case 5:
			data = data[:at]
		case 6:
			data = append(data, byte(r.IntN(64)), byte(r.Uint32()))
		}
		if len(data) == 0 {
			break
		}
	}
	return data
}
