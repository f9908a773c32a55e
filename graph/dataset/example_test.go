package dataset_test

import (
	"context"
	"fmt"
	"log"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func Example() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.Range(s, 0, 10, 1).
		Filter("odd", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			return graph.Equal(s, graph.FloorMod(s, args[0], s.Const(int64(2))), s.Const(int64(1)))
		}).
		Map("square", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{args[0], graph.Mul(s, args[0], args[0])}
		}, &dataset.MapOptions{Parallel: 2}).
		Batch(3, false)
	fmt.Println(d.Specs())
	for element, err := range d.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element[0].Value(), element[1].Value())
	}
	// Output:
	// [int64[?] int64[?]]
	// [1 3 5] [1 9 25]
	// [7 9] [49 81]
}

// Files are read two at a time, taking turns.
func ExampleDataset_Interleave() {
	s := graph.NewScope()
	defer s.Graph().Close()
	names := dataset.FromSlices(s, s.Const([]string{"a", "b", "c"}))
	d := names.Interleave("lines", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		// A dataset.TFRecords(s, args[0], nil), were there files.
		return dataset.Range(s, 1, 3, 1).Map("name", func(s *graph.Scope, i []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.StringJoin(s, "", args[0], graph.AsString(s, i[0]))}
		}, nil)
	}, &dataset.InterleaveOptions{CycleLength: 2, Parallel: 2})
	for element, err := range d.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(element[0].Value(), " ")
	}
	// Output: a1 b1 a2 b2 c1 c2
}

// Every repetition has another order; the seed gives the same orders in every process.
func ExampleDataset_Shuffle() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.Range(s, 0, 6, 1).Shuffle(6, &dataset.ShuffleOptions{Seed: 1, Seed2: 2}).Repeat(2).Batch(6, true)
	for element, err := range d.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element[0].Value())
	}
	// Output:
	// [4 5 2 0 1 3]
	// [1 0 2 3 4 5]
}

func ExampleDataset_PaddedBatch() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.Range(s, 1, 4, 1).
		Map("repeat", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.Fill(s, graph.ExpandDims(s, args[0], 0), args[0])}
		}, nil).
		PaddedBatch(3, &dataset.PaddedBatchOptions{Values: []tfbridge.Output{s.Const(int64(-1))}})
	for element, err := range d.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element[0].Value())
	}
	// Output: [[1 -1 -1] [2 2 -1] [3 3 3]]
}

// An iterator's position can be saved, and restored in another process.
func ExampleIterator() {
	s := graph.NewScope()
	defer s.Graph().Close()
	it := dataset.Range(s, 0, 5, 1).Batch(2, false).Iterator("numbers")
	g, err := s.Finalize()
	if err != nil {
		log.Fatal(err)
	}
	sess, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		log.Fatal(err)
	}
	for {
		element, end, err := it.Next(context.Background(), sess)
		if err != nil {
			log.Fatal(err)
		}
		if end {
			break
		}
		fmt.Println(element[0].Value())
		element[0].Close()
	}
	// Output:
	// [0 1]
	// [2 3]
	// [4]
}

func ExampleIterator_RestoreState() {
	s := graph.NewScope()
	defer s.Graph().Close()
	it := dataset.Range(s, 0, 5, 1).Batch(2, false).Iterator("numbers")
	g, err := s.Finalize()
	if err != nil {
		log.Fatal(err)
	}
	sess, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	next := func() {
		element, err := sess.Run(nil, it.Element, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element[0].Value())
		element[0].Close()
	}
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		log.Fatal(err)
	}
	next()
	state, err := it.SaveState(context.Background(), sess)
	if err != nil {
		log.Fatal(err)
	}
	next()
	if err := it.RestoreState(context.Background(), sess, state); err != nil {
		log.Fatal(err)
	}
	next()
	// Output:
	// [0 1]
	// [2 3]
	// [2 3]
}
