package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// reading is an element with two components, "at" and "value".
type reading struct {
	Value [2]float32 `tf:"value"`
	At    int64      `tf:"at"`
}

// readings stands for live data.
func readings(yield func(reading, error) bool) {
	for i := range 5 {
		if !yield(reading{At: int64(i), Value: [2]float32{float32(i), 0.5}}, nil) {
			return
		}
	}
}

// Structs become elements with a component for every field, by name.
func ExampleFromSeq() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromSeq(s, iter.Seq2[reading, error](readings), nil).Batch(2, false)
	fmt.Println(d.Specs())
	for element, err := range d.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element[0].Value(), element[1].Value())
	}
	// Output:
	// [int64[?] float32[?, 2]]
	// [0 1] [[0 0.5] [1 0.5]]
	// [2 3] [[2 0.5] [3 0.5]]
	// [4] [[4 0.5]]
}

// A sequence that can begin anywhere can be saved and restored.
func ExampleFromFunc() {
	s := graph.NewScope()
	defer s.Graph().Close()
	squares := func(ctx context.Context, from int64) iter.Seq2[int64, error] {
		return func(yield func(int64, error) bool) {
			for i := from; ctx.Err() == nil && yield(i*i, nil); i++ {
			}
		}
	}
	d := dataset.FromFunc(s, squares, &dataset.SeqOptions{Replayable: true})
	for element, err := range d.Take(4).All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(element[0].Value(), " ")
	}
	// Output: 0 1 4 9
}

func ExampleFromChan() {
	s := graph.NewScope()
	defer s.Graph().Close()
	words := make(chan string)
	go func() {
		defer close(words)
		words <- "live"
		words <- "data"
	}()
	for element, err := range dataset.FromChan(s, words, nil).All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element[0].Value())
	}
	// Output:
	// live
	// data
}

// Many goroutines may push to a feed. A push after the end returns an error.
func ExampleFromFeed() {
	s := graph.NewScope()
	defer s.Graph().Close()
	f := dataset.NewFeed[float32](nil)
	for _, v := range []float32{1, 2, 3} {
		if err := f.Push(context.Background(), v); err != nil {
			log.Fatal(err)
		}
	}
	f.Close()
	fmt.Println(errors.Is(f.Push(context.Background(), 4), millrace.ErrClosed))
	for element, err := range dataset.FromFeed(s, f, &dataset.SeqOptions{Batch: 2}).All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element[0].Value())
	}
	// Output:
	// true
	// [1 2]
	// [3]
}

// Elements may be tensors of any shape. Their type must be given in advance.
func ExampleFromSeq_tensors() {
	s := graph.NewScope()
	defer s.Graph().Close()
	tensors := func(yield func(*tfbridge.Tensor, error) bool) {
		for n := int64(1); n <= 2; n++ {
			t, err := tfbridge.NewTensorFromSlice([]int64{n}, make([]float32, n))
			more := yield(t, err)
			t.Close() // the element is a copy
			if !more || err != nil {
				return
			}
		}
	}
	d := dataset.FromSeq(s, iter.Seq2[*tfbridge.Tensor, error](tensors), &dataset.SeqOptions{
		Spec: graph.Spec{DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)},
	})
	for element, err := range d.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element[0].Value())
	}
	// Output:
	// [0]
	// [0 0]
}
