package dataset_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// line prints the elements of a dataset of numbers on one line.
func line(d *dataset.Dataset) {
	all, err := dataset.ToSlice[int64](context.Background(), d, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(all)
}

func ExampleDataset_Map() {
	s := graph.NewScope()
	defer s.Graph().Close()
	offset := s.Const(int64(100)) // captured
	line(dataset.Range(s, 0, 4, 1).Map("add", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, args[0], offset)}
	}, nil))
	// Output: [100 101 102 103]
}

func ExampleDataset_MapParallel() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 4, 1).MapParallel("square", dataset.Autotune, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Mul(s, args[0], args[0])}
	}))
	// Output: [0 1 4 9]
}

func ExampleDataset_Filter() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 10, 1).Filter("small", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Less(s, args[0], s.Const(int64(3)))
	}))
	// Output: [0 1 2]
}

func ExampleDataset_TakeWhile() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 10, 1).Repeat(-1).TakeWhile("small", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Less(s, args[0], s.Const(int64(3)))
	}))
	// Output: [0 1 2]
}

func ExampleDataset_FlatMap() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.FromRows(s, []int64{3, 7}).FlatMap("twice", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return dataset.FromTensors(s, args[0]).Repeat(2)
	}))
	// Output: [3 3 7 7]
}

func ExampleDataset_Batch() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[[]int](dataset.Range(s, 0, 5, 1).Batch(2, false))
	// Output:
	// [0 1]
	// [2 3]
	// [4]
}

func ExampleDataset_BatchOutput() {
	s := graph.NewScope()
	defer s.Graph().Close()
	n := s.Const(int64(3)) // could be a placeholder
	show[[]int](dataset.Range(s, 0, 5, 1).BatchOutput(n, true))
	// Output: [0 1 2]
}

func ExampleDataset_BatchParallel() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[[]int](dataset.Range(s, 0, 4, 1).BatchParallel(2, true, 2))
	// Output:
	// [0 1]
	// [2 3]
}

func ExampleDataset_Unbatch() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.FromRows(s, [][]int64{{1, 2}, {3, 4}}).Unbatch())
	// Output: [1 2 3 4]
}

func ExampleDataset_Rebatch() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[[]int](dataset.Range(s, 0, 6, 1).Batch(2, false).Rebatch(4, false))
	// Output:
	// [0 1 2 3]
	// [4 5]
}

// Elements of any lengths.
func ExampleDataset_RaggedBatch() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromRows(s, [][]string{{"a"}, {"b", "c"}, {}}).RaggedBatch(2, false)
	fmt.Println(d.Spec())
	show[[][]string](d)
	// Output:
	// ragged string[?, ?]
	// [[a] [b c]]
	// [[]]
}

func ExampleDataset_SparseBatch() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromRows(s, [][]int32{{7}, {8, 9}}).SparseBatch(2, []int64{3})
	show[dataset.Sparse[int32]](d)
	// Output: {[[0 0] [1 0] [1 1]] [7 8 9] [2 3]}
}

func ExampleDataset_BucketByLength() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromRows(s, [][]int64{{1}, {2, 2, 2}, {3, 3}, {4}, {5, 5, 5, 5}})
	show[[][]int64](d.BucketByLength("length", &dataset.Buckets{
		Length:     func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output { return graph.Size(s, args[0]) },
		Boundaries: []int64{2}, // one bucket for lengths up to 2, one for all others
		Sizes:      []int64{2, 2},
	}))
	// Output:
	// [[1 0] [3 3]]
	// [[2 2 2 0] [5 5 5 5]]
	// [[4]]
}

func ExampleDataset_GroupByWindow() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[[]int64](dataset.Range(s, 0, 7, 1).GroupByWindow("parity", &dataset.Grouping{
		Key: func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			return graph.FloorMod(s, args[0], s.Const(int64(2)))
		},
		Size: func(s *graph.Scope, key tfbridge.Output) tfbridge.Output { return s.Const(int64(2)) },
		Reduce: func(s *graph.Scope, key tfbridge.Output, window *dataset.Dataset) *dataset.Dataset {
			return window.Batch(2, false)
		},
	}))
	// Output:
	// [0 2]
	// [1 3]
	// [4 6]
	// [5]
}

func ExampleDataset_GroupByReducer() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[int64](dataset.Range(s, 0, 10, 1).GroupByReducer("sums", &dataset.Reducer{
		Key: func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			return graph.FloorMod(s, args[0], s.Const(int64(2)))
		},
		Init: func(s *graph.Scope, key tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{s.Const(int64(0))}
		},
		Reduce: func(s *graph.Scope, state, args []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{graph.Add(s, state[0], args[0])}
		},
	}))
	// Output:
	// 20
	// 25
}

// Windows are datasets, of one component each; ZipWindow combines them to elements
// again.
func ExampleDataset_Window() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.Range(s, 0, 5, 1)
	windows := d.Window(s.Const(int64(3)), &dataset.WindowOptions{Shift: s.Const(int64(1)), Drop: true})
	fmt.Println(windows.Spec())
	show[[]int64](windows.FlatMap("batch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return d.ZipWindow(s, args).Batch(3, true)
	}))
	// Output:
	// dataset int64[]
	// [0 1 2]
	// [1 2 3]
	// [2 3 4]
}

func ExampleDataset_ZipWindow() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromColumns(s, map[string]any{"a": []int64{1, 2, 3}, "b": []string{"x", "y", "z"}})
	windows := d.Window(s.Const(int64(2)), nil)
	show[map[string]any](windows.FlatMap("batch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return d.ZipWindow(s, args).Batch(2, false)
	}))
	// Output:
	// map[a:[1 2] b:[x y]]
	// map[a:[3] b:[z]]
}

func ExampleDataset_Scan() {
	s := graph.NewScope()
	defer s.Graph().Close()
	first := []tfbridge.Output{s.Const(int64(1))}
	line(dataset.Range(s, 1, 6, 1).Scan("product", first, func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output) {
		product := []tfbridge.Output{graph.Mul(s, state[0], args[0])}
		return product, product
	}))
	// Output: [1 2 6 24 120]
}

func ExampleDataset_Take() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 10, 1).Take(3))
	// Output: [0 1 2]
}

func ExampleDataset_Skip() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 10, 1).Skip(7))
	// Output: [7 8 9]
}

func ExampleDataset_SkipOutput() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 10, 1).SkipOutput(s.Const(int64(8))))
	// Output: [8 9]
}

func ExampleDataset_PrefetchOutput() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 3, 1).PrefetchOutput(s.Const(int64(0))))
	line(dataset.Range(s, 0, 3, 1).PrefetchOutput(s.Const(int64(2))))
	// Output:
	// [0 1 2]
	// [0 1 2]
}

func ExampleDataset_Shard() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 10, 1).Shard(3, 1))
	// Output: [1 4 7]
}

func ExampleZip() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.Zip(s, dataset.Range(s, 0, 3, 1), dataset.FromRows(s, []string{"a", "b"}))
	fmt.Println(d.Spec())
	show[struct {
		Number int
		Letter string
	}](d)
	// Output:
	// (int64[], string[])
	// {0 a}
	// {1 b}
}

func ExampleDataset_Concatenate() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 3, 1).Concatenate(dataset.Range(s, 10, 12, 1)))
	// Output: [0 1 2 10 11]
}

func ExampleDataset_Enumerate() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[[]any](dataset.FromRows(s, []string{"a", "b"}).Enumerate(1))
	// Output:
	// [1 a]
	// [2 b]
}

// What Python's sample_from_datasets(..., weights=[0.5, 0.3, 0.2], seed=7)
// gives.
func ExampleSample() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Sample(s, []*dataset.Dataset{
		dataset.Range(s, 0, 8, 1), dataset.Range(s, 100, 108, 1), dataset.Range(s, 200, 208, 1),
	}, &dataset.SampleOptions{Weights: []float64{0.5, 0.3, 0.2}, Seed: dataset.DefaultSeed, Seed2: 7}).Take(8))
	// Output: [100 0 200 1 2 101 102 201]
}

func ExampleChoose() {
	s := graph.NewScope()
	defer s.Graph().Close()
	choices := dataset.FromRows(s, []int64{1, 1, 0, 1})
	line(dataset.Choose(s, choices, []*dataset.Dataset{dataset.Range(s, 0, 5, 1), dataset.Range(s, 10, 15, 1)}, nil))
	// Output: [10 11 0 12]
}

func ExampleDataset_ShuffleOutput() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 6, 1).ShuffleOutput(6, s.Const(int64(1)), s.Const(int64(2))))
	// Output: [5 1 4 0 3 2]
}

func ExampleDataset_GlobalShuffle() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 6, 1).GlobalShuffle(&dataset.ShuffleOptions{Seed: 1, Seed2: 2}))
	// Output: [3 4 5 1 0 2]
}

func ExampleDataset_Repeat() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 2, 1).Repeat(3))
	// Output: [0 1 0 1 0 1]
}

func ExampleDataset_Cache() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 2, 1).Cache("").Repeat(2))
	// Output: [0 1 0 1]
}

func ExampleDataset_Snapshot() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.Range(s, 0, 4, 1).Snapshot(dir, nil)
	line(d) // writes
	line(d) // reads
	// Output:
	// [0 1 2 3]
	// [0 1 2 3]
}

func ExampleDataset_Inner() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 4, 1).Snapshot(dir, &dataset.SnapshotOptions{
		Shards: 2,
		Reader: func(s *graph.Scope, shards *dataset.Dataset) *dataset.Dataset {
			return shards.FlatMap("read", shards.Inner())
		},
	}))
	// Output: [0 1 2 3]
}

func ExampleDataset_Prefetch() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 3, 1).Prefetch(dataset.Autotune))
	// Output: [0 1 2]
}

func ExampleDataset_PrefetchToDevice() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 3, 1).PrefetchToDevice("/cpu:0", 2))
	// Output: [0 1 2]
}

func ExampleDataset_Unique() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.FromRows(s, []int64{3, 1, 3, 2, 1}).Unique())
	// Output: [3 1 2]
}

func ExampleDataset_IgnoreErrors() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.FromRows(s, []string{"1", "x", "3"}).Map("parse", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return s.Op("StringToNumber", map[string]any{"out_type": tfbridge.Int64}, args[0])
	}, nil).IgnoreErrors())
	// Output: [1 3]
}

func ExampleDataset_AssertCardinality() {
	s := graph.NewScope()
	defer s.Graph().Close()
	_, err := dataset.ToSlice[int64](context.Background(), dataset.Range(s, 0, 3, 1).AssertCardinality(s.Const(int64(4))), nil)
	fmt.Println(err != nil)
	// Output: true
}

func ExampleDataset_AssertNext() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.Range(s, 0, 4, 1).AssertNext("MapAndBatch").
		Map("same", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output { return args }, nil).Batch(2, true)
	show[[]int](d.WithOptions(&dataset.Options{Rewrites: dataset.Rewrites{NoopElimination: dataset.Off}}))
	// Output:
	// [0 1]
	// [2 3]
}

func ExampleDataset_WithOptions() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 3, 1).WithOptions(&dataset.Options{PrivateThreads: 2, NoAutotune: true}))
	// Output: [0 1 2]
}
