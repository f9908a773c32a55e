package native_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// corruptFeatures are the features of [corrupt.Example].
func corruptFeatures() []native.Feature {
	return []native.Feature{
		{Key: "id", Kind: native.Int},
		{Key: "vals", Kind: native.Float, Shape: []int64{3}},
	}
}

// writeFile writes a file and returns its path.
func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.tfrecords")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// nativeFiles reads files of the Examples of package corrupt.
func nativeFiles(t testing.TB, names []string, counts []int64, o *native.ExamplesOptions) *dataset.Dataset {
	s := newScope(t)
	return native.Examples(s, s.Const(names), s.Const(counts), corruptFeatures(), o)
}

// wideFeatures is a feature of every kind and how TensorFlow decodes it.
func wideFeatures() []native.Feature {
	return []native.Feature{
		{Key: "b", Kind: native.Raw, DType: tfbridge.Int16, Shape: []int64{2, 3}, Strings: 2, BigEndian: true},
		{Key: "c", Kind: native.Raw, DType: tfbridge.Complex64, Shape: []int64{1}, BigEndian: true},
		{Key: "f", Kind: native.Float, Shape: []int64{2, 2}},
		{Key: "i", Kind: native.Int},
		{Key: "l", Kind: native.Raw, DType: tfbridge.Double, Shape: nil},
		{Key: "s", Kind: native.Bytes, Shape: []int64{2}},
	}
}

// wideRecord is a record with the features above, and another feature between them.
func wideRecord(r *rand.Rand) []byte {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	list := []example.Named{
		{Name: "b", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{random(6), random(6)}}},
		{Name: "c", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{random(8)}}},
		{Name: "f", Feature: example.Feature{Kind: example.Float, Floats: []float32{
			math.Float32frombits(r.Uint32()), r.Float32(), float32(math.Inf(1)), 0}}},
		{Name: "i", Feature: example.Feature{Kind: example.Int64, Ints: []int64{int64(r.Uint64()) >> r.IntN(64)}}},
		{Name: "l", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{random(8)}}},
		{Name: "other", Feature: example.Feature{Kind: example.Int64, Ints: []int64{1, 2, 3}}},
		{Name: "s", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{random(r.IntN(40)), nil}}},
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return example.Marshal(list)
}

// parsed decodes batches of serialized Examples with TensorFlow's operations.
func parsed(d *dataset.Dataset, features []native.Feature) *dataset.Dataset {
	return d.Map("parse", func(s *graph.Scope, args []out) []out {
		wanted := &graph.ExampleFeatures{}
		for _, f := range features {
			dense := graph.DenseFeature{Key: f.Key, DType: tfbridge.String, Shape: tfbridge.MakeShape(f.Shape...)}
			switch {
			case f.Kind == native.Int:
				dense.DType = tfbridge.Int64
			case f.Kind == native.Float:
				dense.DType = tfbridge.Float
			case f.Kind == native.Raw && f.Strings > 1:
				dense.Shape = tfbridge.MakeShape(f.Strings)
			case f.Kind == native.Raw:
				dense.Shape = tfbridge.ScalarShape()
			}
			wanted.Dense = append(wanted.Dense, dense)
		}
		values := graph.ParseExampleV2(s, args[0], wanted).Dense
		for i, f := range features {
			if f.Kind == native.Raw {
				flat := graph.DecodeRaw(s, values[i], f.DType, &graph.DecodeRawOptions{BigEndian: f.BigEndian})
				shape := append([]int64{}, f.Shape...)
				rows := graph.Subscript(s, graph.Shape(s, args[0]), graph.Until(1))
				values[i] = graph.Reshape(s, flat, graph.ConcatV2(s, outs{rows, s.Const(shape)}, 0))
			}
		}
		return values
	}, nil)
}

// bits returns the elements of a dataset in a form that compares bits.
func bits(t testing.TB, d *dataset.Dataset) ([]string, error) {
	t.Helper()
	var elements []string
	for element, err := range d.All(t.Context(), nil) {
		if err != nil {
			return elements, err
		}
		var b bytes.Buffer
		for _, x := range element {
			fmt.Fprintf(&b, "%v%v ", x.DataType(), x.Shape())
			if x.DataType() == tfbridge.String {
				fmt.Fprintf(&b, "%q ", x.Value())
				continue
			}
			raw, err := x.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%x ", raw)
		}
		elements = append(elements, b.String())
	}
	return elements, nil
}

// wideFiles writes a file of wide records for each size, and returns the files' names.
func wideFiles(t testing.TB, sizes ...int64) (names []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range sizes {
		records := make([][]byte, n)
		for i := range records {
			records[i] = wideRecord(r)
		}
		names = append(names, writeFile(t, corrupt.Frame(records...)))
	}
	return names
}
