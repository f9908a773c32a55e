package dataset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

func ExampleDataset_All() {
	s := graph.NewScope()
	defer s.Graph().Close()
	for element, err := range dataset.Range(s, 0, 4, 1).Batch(2, false).All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		numbers, err := tfbridge.View[int64](element[0]) // valid until the next iteration
		fmt.Println(numbers, err)
	}
	// Output:
	// [0 1] <nil>
	// [2 3] <nil>
}

// Saved datasets have the format of Python's tf.data.Dataset.save.
func ExampleDataset_Save() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromColumns(s, map[string]any{
		"id":    []int64{1, 2},
		"words": dataset.RaggedRows([][]string{{"a"}, {"b", "c"}}),
	})
	name := filepath.Join(dir, "saved")
	if err := d.Save(context.Background(), name, &dataset.SaveOptions{Compression: "GZIP"}); err != nil {
		log.Fatal(err)
	}
	loaded := dataset.Load(s, name, &dataset.LoadOptions{Compression: "GZIP"})
	fmt.Println(loaded.Spec())
	show[map[string]any](loaded)
	// Output:
	// {id: int64[], words: ragged string[?]}
	// map[id:1 words:[a]]
	// map[id:2 words:[b c]]
}

// This was saved by Python.
func ExampleLoad() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[struct {
		A int32   `tf:"a"`
		B []int32 `tf:"b"`
		C struct {
			Clicks dataset.Sparse[int32]
			Weight float32
		} `tf:"c"`
	}](dataset.Load(s, "testdata/parity/saved", nil))
	// Output:
	// {1 [1 2] {{[[0]] [1] [2]} 1}}
	// {2 [3] {{[[1]] [2] [2]} 2}}
	// {3 [] {{[] [] [2]} 3}}
}

func ExampleDataset_Reduce() {
	s := graph.NewScope()
	defer s.Graph().Close()
	zero := []tfbridge.Output{s.Const(int64(0))}
	sum := dataset.Range(s, 1, 101, 1).Reduce("sum", zero, func(s *graph.Scope, state, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, state[0], args[0])}
	})
	fmt.Println(fetch(s, sum...)...)
	// Output: 5050
}

func ExampleDataset_Cardinality() {
	s := graph.NewScope()
	defer s.Graph().Close()
	ten := dataset.Range(s, 0, 10, 1)
	counts := fetch(s, ten.Batch(4, false).Cardinality(), ten.Repeat(-1).Cardinality(), ten.Filter("all", always).Cardinality())
	fmt.Println(counts[0], counts[1] == int64(dataset.InfiniteCardinality), counts[2] == int64(dataset.UnknownCardinality))
	// Output: 3 true true
}

func ExampleDataset_SingleElement() {
	s := graph.NewScope()
	defer s.Graph().Close()
	fmt.Println(fetch(s, dataset.Range(s, 0, 5, 1).Batch(5, true).SingleElement()...)...)
	// Output: [0 1 2 3 4]
}

func ExampleDataset_At() {
	s := graph.NewScope()
	defer s.Graph().Close()
	fmt.Println(fetch(s, dataset.Range(s, 0, 1000, 3).Map("double", double, nil).At(s.Const(int64(100)))...)...)
	// Output: 600
}

func ExampleDataset_Spec() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromColumns(s, map[string]any{"image": [][]uint8{{1, 2}}, "label": []string{"x"}})
	fmt.Println(d.Batch(8, false).Enumerate(0).Spec())
	// Output: (int64[], {image: uint8[?, 2], label: string[?]})
}

func ExampleDataset_Specs() {
	s := graph.NewScope()
	defer s.Graph().Close()
	fmt.Println(dataset.Range(s, 0, 3, 1).Enumerate(0).Batch(2, true).Specs())
	// Output: [int64[2] int64[2]]
}

// A function's body takes part in the graph around it.
func ExampleDataset_In() {
	s := graph.NewScope()
	defer s.Graph().Close()
	inner := dataset.Range(s, 0, 2, 1)
	line(dataset.Range(s, 0, 2, 1).FlatMap("inner", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		return inner.In(s).Repeat(2)
	}))
	// Output: [0 1 0 1 0 1 0 1]
}

func ExampleDataset_Scope() {
	s := graph.NewScope()
	defer s.Graph().Close()
	fmt.Println(dataset.Range(s, 0, 2, 1).Scope() == s)
	// Output: true
}

func ExampleDataset_Finalize() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 2, 1).WithOptions(nil).Finalize())
	// Output: [0 1]
}

// A dataset is a tensor, which can be passed as one.
func ExampleFromVariant() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.Range(s, 0, 3, 1)
	line(dataset.FromVariant(s, graph.Identity(s, d.Variant()), d.Specs()))
	// Output: [0 1 2]
}

func ExampleFromVariantOf() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromColumns(s, map[string][]int64{"n": {1, 2}})
	show[map[string]int](dataset.FromVariantOf(s, d.Variant(), d.Spec()))
	// Output:
	// map[n:1]
	// map[n:2]
}

func ExampleDataset_Variant() {
	s := graph.NewScope()
	defer s.Graph().Close()
	fmt.Println(graph.SpecOf(dataset.Range(s, 0, 3, 1).Variant()))
	// Output: variant[]
}

func ExampleDataset_CopyToDevice() {
	s := graph.NewScope()
	defer s.Graph().Close()
	line(dataset.Range(s, 0, 3, 1).CopyToDevice("/cpu:0").Prefetch(1))
	// Output: [0 1 2]
}

func ExampleDataset_ParseExample() {
	record := example.Marshal([]example.Named{
		{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{7}}},
		{Name: "tags", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte("a"), []byte("b")}}},
	})
	s := graph.NewScope()
	defer s.Graph().Close()
	features := &graph.ExampleFeatures{
		Dense:  []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}},
		Ragged: []graph.RaggedFeature{{Key: "tags", DType: tfbridge.String}},
	}
	d := dataset.FromRows(s, []string{string(record)}).Batch(1, false).ParseExample(features, nil)
	fmt.Println(dataset.ParsedOrder(features), d.Spec())
	show[struct {
		ID   []int64    `tf:"id"`
		Tags [][]string `tf:"tags"`
	}](d)
	// Output:
	// [id tags] {id: int64[?], tags: ragged string[?, ?]}
	// {[7] [[a b]]}
}
