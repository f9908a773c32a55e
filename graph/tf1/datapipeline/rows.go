package datapipeline

import (
	"iter"
	"math/rand/v2"
	"slices"

	"millrace/tfbridge"
)

// The feeding provider makes batches in Go, from sequences copied into Go's memory.
// Each stage is a sequence of values that an error ends:
//
//	sequences -> shuffle -> rows -> shuffle -> batches

// sequence is a sequence of a dataset.
type sequence struct {
	tag  string
	idx  int32
	data map[string]array
}

// array is the data of one key: numbers as bytes, or strings.
type array struct {
	dims    []int
	bytes   []byte
	strings []string
}

// newArray copies a tensor.
func newArray(t *tfbridge.Tensor) (array, error) {
	a := array{}
	for _, n := range t.Shape() {
		a.dims = append(a.dims, int(n))
	}
	if t.DataType() == tfbridge.String {
		values, err := t.Strings()
		a.strings = values
		return a, err
	}
	bytes, err := t.Bytes()
	a.bytes = slices.Clone(bytes)
	return a, err
}

// row is one row of a batch: a chunk of a sequence, or the whole sequence.
type row struct {
	seq   *sequence
	start int // the first frame, without context
}

// window returns the frames of a key that belong to a row, context included. Frames before
// 0 and after the end of the sequence are zeros.
func (c *Chunking) window(r row, key string) (begin, end int) {
	end = r.seq.data[key].dims[0]
	if c.Size > 0 {
		end = min(r.start+c.Size, end)
	}
	return r.start - c.Context[key].Left, end + c.Context[key].Right
}

// cut yields the rows of sequences. The length of a sequence is the length of its data for
// key.
func (c *Chunking) cut(sequences iter.Seq2[*sequence, error], key string) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for seq, err := range sequences {
			if err != nil {
				yield(row{}, err)
				return
			}
			if c.Size == 0 {
				if !yield(row{seq, 0}, nil) {
					return
				}
				continue
			}
			for start := 0; start < seq.data[key].dims[0]; start += c.step() {
				if !yield(row{seq, start}, nil) {
					return
				}
			}
		}
	}
}

// shuffled yields values in random order: it fills a buffer, draws a value from it, and
// refills it. A buffer of 0 or 1 keeps the order.
func shuffled[T any](values iter.Seq2[T, error], buffer int, random *rand.Rand) iter.Seq2[T, error] {
	if buffer <= 1 {
		return values
	}
	return func(yield func(T, error) bool) {
		var held []T
		for value, err := range values {
			if err != nil {
				yield(value, err)
				return
			}
			if len(held) < buffer {
				held = append(held, value)
				continue
			}
			i := random.IntN(len(held))
			drawn := held[i]
			if held[i] = value; !yield(drawn, nil) {
				return
			}
		}
		random.Shuffle(len(held), func(i, k int) { held[i], held[k] = held[k], held[i] })
		for _, value := range held {
			if !yield(value, nil) {
				return
			}
		}
	}
}
