package example_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/tfrecord/example"
)

// A Builder writes the same bytes as Marshal, whatever earlier Examples contained:
// other features, other kinds for the same names, other lengths.
func TestBuilderRemembersNothingWrong(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var b example.Builder
	for record := range 3000 {
		var want []example.Named
		b.Reset()
		for i := range rng.IntN(5) {
			name := fmt.Sprint("feature ", (i+rng.IntN(20)/19)%4)
			n := []int{1, 1, 1, 0, 2, 40, 200}[rng.IntN(7)]
			f := example.Feature{Kind: []example.Kind{example.Int64, example.Float, example.Bytes}[(i+rng.IntN(20)/19)%3]}
			for range n {
				switch f.Kind {
				case example.Int64:
					f.Ints = append(f.Ints, int64(rng.Uint64()>>rng.IntN(64)))
				case example.Float:
					f.Floats = append(f.Floats, rng.Float32())
				default:
					f.Bytes = append(f.Bytes, make([]byte, rng.IntN(3)))
				}
			}
			want = append(want, example.Named{Name: name, Feature: f})
			switch f.Kind {
			case example.Int64:
				b.Ints(name, f.Ints...)
			case example.Float:
				b.Floats(name, f.Floats...)
			default:
				b.Bytes(name, f.Bytes...)
			}
		}
		if got := b.Record(); !bytes.Equal(got, example.Marshal(want)) {
			t.Fatalf("record %d, %+v:\n got %x\nwant %x", record, want, got, example.Marshal(want))
		}
	}
}
