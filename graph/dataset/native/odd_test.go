package native_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
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
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	r := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for i := range rounds {
		data := mutated(r, corrupt.Example(i%128))
		fed, err := tfbridge.NewStringTensor(nil, [][]byte{data})
		if err != nil {
			t.Fatal(err)
		}
		feeds := map[out]*tfbridge.Tensor{record: fed}
		want, wantErr := sess.Run(feeds, general, nil)
		if _, err := sess.Run(feeds, nil, []*tfbridge.Operation{it.Init}); err != nil {
			t.Fatal(err)
		}
		got, gotErr := sess.Run(nil, it.Next, nil)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("record %x: TensorFlow says %v, native %v", data, wantErr, gotErr)
		}
		if gotErr != nil && !errors.Is(gotErr, tfbridge.InvalidArgument) {
			t.Fatalf("record %x: got %v", data, gotErr)
		}
		for k := range want {
			a, _ := want[k].Bytes()
			b, _ := got[k].Bytes()
			if !bytes.Equal(a, b) {
				t.Fatalf("record %x, component %d: TensorFlow %x, native %x", data, k, a, b)
			}
		}
		if wantErr == nil {
			accepted++
		}
		for _, x := range append(append(want, got...), fed) {
			x.Close()
		}
	}
	if accepted < rounds/20 || accepted > rounds*19/20 {
		t.Errorf("%d of %d records are accepted; the mutations test little", accepted, rounds)
	}
}

// mutated changes a record in one place or a few. It keeps clear of what makes
// TensorFlow write behind its memory: longer lists of unpacked floats.
func mutated(r *rand.Rand, data []byte) []byte {
	if r.IntN(4) == 0 { // features of several messages
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
