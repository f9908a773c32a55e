package dataset_test

import (
	"context"
	"fmt"
	"log"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// show prints the elements of a dataset as Go values.
func show[T any](d *dataset.Dataset) {
	for element, err := range dataset.Iterate[T](context.Background(), d, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(element)
	}
}

func ExampleIterate() {
	s := graph.NewScope()
	defer s.Graph().Close()
	type animal struct {
		Name string   `tf:"name"`
		Legs int      `tf:"legs"`
		Eats []string `tf:"eats"`
	}
	d := dataset.FromRows(s, []animal{
		{"cow", 4, []string{"grass"}},
		{"hen", 2, []string{"grain", "worms"}},
	})
	fmt.Println(d.Spec())
	for a, err := range dataset.Iterate[animal](context.Background(), d.Repeat(1), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a.Name, "eats", a.Eats)
	}
	// Output:
	// {eats: string[?], legs: int64[], name: string[]}
	// cow eats [grass]
	// hen eats [grain worms]
}

// The function's argument names the fields that it needs; its result is what
// elements become.
func ExampleMapOf() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromColumns(s, map[string]any{
		"x": []float32{1, 2, 3}, "y": []float32{10, 20, 30}, "id": []int64{7, 8, 9},
	})
	type point struct {
		X tfbridge.Output `tf:"x"`
		Y tfbridge.Output `tf:"y"`
	}
	type sum struct {
		Total tfbridge.Output `tf:"total"`
		Unit  string          `tf:"unit"`
	}
	d = dataset.MapOf(d, "sum", func(s *graph.Scope, p point) sum {
		return sum{Total: graph.Add(s, p.X, p.Y), Unit: "m"}
	}, nil)
	fmt.Println(d.Spec())
	show[map[string]any](d)
	// Output:
	// {total: float32[], unit: string[]}
	// map[total:11 unit:m]
	// map[total:22 unit:m]
	// map[total:33 unit:m]
}

func ExamplePredicateOf() {
	s := graph.NewScope()
	defer s.Graph().Close()
	type row struct {
		Name string `tf:"name"`
		Age  int64  `tf:"age"`
	}
	d := dataset.FromRows(s, []row{{"Ann", 17}, {"Bob", 18}, {"Cid", 40}})
	type ages struct {
		Age tfbridge.Output `tf:"age"`
	}
	show[row](d.Filter("adult", dataset.PredicateOf(d, func(s *graph.Scope, a ages) tfbridge.Output {
		return graph.GreaterEqual(s, a.Age, s.Const(int64(18)))
	})))
	// Output:
	// {Bob 18}
	// {Cid 40}
}

func ExampleDatasetOf() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromRows(s, []dataset.Ragged[int64]{
		dataset.RaggedRows([][]int64{{1}, {2, 3}}),
		dataset.RaggedRows([][]int64{{4, 5, 6}}),
	})
	rows := d.FlatMap("values", dataset.DatasetOf(d, func(s *graph.Scope, r graph.RaggedTensor) *dataset.Dataset {
		return dataset.FromSlices(s, r.Values)
	}))
	show[int64](rows.Batch(6, false).Map("all", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.ReduceSum(s, args[0])}
	}, nil))
	// Output: 21
}

func ExampleScanOf() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.ScanOf(dataset.Range(s, 1, 5, 1), "sums", int64(0), func(s *graph.Scope, sum, x tfbridge.Output) (tfbridge.Output, tfbridge.Output) {
		next := graph.Add(s, sum, x)
		return next, next
	})
	show[int64](d)
	// Output:
	// 1
	// 3
	// 6
	// 10
}

func ExampleReduceOf() {
	s := graph.NewScope()
	defer s.Graph().Close()
	type stats struct {
		Count tfbridge.Output `tf:"count"`
		Sum   tfbridge.Output `tf:"sum"`
	}
	zero := map[string]int64{"count": 0, "sum": 0}
	last := dataset.ReduceOf(dataset.Range(s, 1, 101, 1), "stats", zero, func(s *graph.Scope, at stats, x tfbridge.Output) stats {
		return stats{graph.Add(s, at.Count, s.Const(int64(1))), graph.Add(s, at.Sum, x)}
	})
	fmt.Println(fetch(s, last.Count, last.Sum)...)
	// Output: 100 5050
}

// fetch returns the values of outputs.
func fetch(s *graph.Scope, outputs ...tfbridge.Output) []any {
	if err := s.Err(); err != nil {
		log.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	tensors, err := sess.Run(nil, outputs, nil)
	if err != nil {
		log.Fatal(err)
	}
	values := make([]any, len(tensors))
	for i, t := range tensors {
		values[i] = t.Value()
		t.Close()
	}
	return values
}

func ExampleFlatten() {
	s := graph.NewScope()
	defer s.Graph().Close()
	components, spec := dataset.Flatten(s, map[string]any{
		"clicks": dataset.Sparse[float32]{Indices: [][]int64{{2}}, Values: []float32{1}, Shape: []int64{5}},
		"id":     s.Const(int64(3)),
	})
	fmt.Println(len(components), spec)
	// Output: 2 {clicks: sparse float32[5], id: int64[]}
}

func ExampleBind() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromColumns(s, map[string]any{"a": []int64{1, 2}, "b": []int64{3, 4}})
	spec := d.Spec()
	d = d.Map("a", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		fields := dataset.Bind[map[string]tfbridge.Output](s, spec, args)
		return []tfbridge.Output{fields["b"]}
	}, nil)
	show[int64](d)
	// Output:
	// 3
	// 4
}

func ExampleDecode() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromValue(s, []any{"pi", float32(3.14)})
	for element, err := range d.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		var constant struct {
			Name  string
			Value float32
		}
		if err := dataset.Decode(d.Spec(), element, &constant); err != nil {
			log.Fatal(err)
		}
		fmt.Println(constant.Name, constant.Value)
	}
	// Output: pi 3.14
}

func ExampleToSlice() {
	s := graph.NewScope()
	defer s.Graph().Close()
	all, err := dataset.ToSlice[int](context.Background(), dataset.Range(s, 0, 5, 1), nil)
	fmt.Println(all, err)
	// Output: [0 1 2 3 4] <nil>
}

func ExampleFirst() {
	s := graph.NewScope()
	defer s.Graph().Close()
	first, err := dataset.First[string](context.Background(), dataset.FromRows(s, []string{"a", "b"}), nil)
	fmt.Println(first, err)
	// Output: a <nil>
}

func ExampleFromValue() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromValue(s, map[string]any{"matrix": [][]int32{{1, 2}, {3, 4}}, "ok": true})
	fmt.Println(d.Spec())
	show[map[string]any](d)
	// Output:
	// {matrix: int32[2, 2], ok: bool[]}
	// map[matrix:[[1 2] [3 4]] ok:true]
}

func ExampleFromColumns() {
	s := graph.NewScope()
	defer s.Graph().Close()
	type columns struct {
		Label []string               `tf:"label"`
		Words dataset.Ragged[string] `tf:"words"`
	}
	d := dataset.FromColumns(s, columns{
		Label: []string{"x", "y"},
		Words: dataset.RaggedRows([][]string{{"a"}, {"b", "c"}}),
	})
	show[map[string]any](d)
	// Output:
	// map[label:x words:[a]]
	// map[label:y words:[b c]]
}

func ExampleFromRows() {
	s := graph.NewScope()
	defer s.Graph().Close()
	// Lengths differ, so one dimension is unknown, and the rows are ragged.
	d := dataset.FromRows(s, [][][]int32{{{1}, {2, 3}}, {{4}}})
	fmt.Println(d.Spec())
	show[[][]int32](d)
	// Output:
	// ragged int32[?, ?]
	// [[1] [2 3]]
	// [[4]]
}

func ExampleRaggedRows() {
	r := dataset.RaggedRows([][]string{{"a", "b"}, {}, {"c"}})
	fmt.Println(r.Splits, r.Values)
	// Output: [[0 2 2 3]] [a b c]
}

// Sparse elements become sparse batches, of one rank more.
func ExampleSparse() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromRows(s, []dataset.Sparse[float32]{
		{Indices: [][]int64{{1}}, Values: []float32{5}, Shape: []int64{4}},
		{Indices: [][]int64{{0}, {3}}, Values: []float32{6, 7}, Shape: []int64{4}},
	}).Batch(2, true)
	batch, err := dataset.First[dataset.Sparse[float32]](context.Background(), d, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.Indices, batch.Values, batch.Shape)
	// Output: [[0 1] [1 0] [1 3]] [5 6 7] [2 4]
}

// The structure of elements can be declared for datasets that come from elsewhere.
func ExampleStructure() {
	spec := dataset.FieldsSpec(map[string]*dataset.Structure{
		"image":  dataset.DenseSpec(tfbridge.Uint8, tfbridge.MakeShape(-1, 28, 28)),
		"clicks": dataset.SparseSpec(tfbridge.Float, tfbridge.MakeShape(1000)),
		"pair": dataset.TupleSpec(
			dataset.RaggedSpec(tfbridge.String, tfbridge.MakeShape(-1, -1), 1),
			dataset.DatasetSpec(dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())),
		),
	})
	fmt.Println(spec)
	for i, leaf := range spec.Leaves() {
		fmt.Println(i, leaf, "as", spec.Specs()[i])
	}
	// Output:
	// {clicks: sparse float32[1000], image: uint8[?, 28, 28], pair: (ragged string[?, ?], dataset int64[])}
	// 0 sparse float32[1000] as variant[...]
	// 1 uint8[?, 28, 28] as uint8[?, 28, 28]
	// 2 ragged string[?, ?] as variant[...]
	// 3 dataset int64[] as variant[]
}
