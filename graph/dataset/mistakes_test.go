package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Go values that cannot become an element or rows give an error that names the part,
// and why.
func TestWrongValues(t *testing.T) {
	type sparse = dataset.Sparse[int32]
	type ragged = dataset.Ragged[int32]
	flatten := func(value any) func(s *graph.Scope) {
		return func(s *graph.Scope) { dataset.Flatten(s, value) }
	}
	tests := map[string]func(s *graph.Scope){
		`field "A": a chan int`:                                    flatten(struct{ A chan int }{}),
		`entry "a": a chan int`:                                    flatten(map[string]chan int{"a": nil}),
		"a *int is nil":                                            flatten((*int)(nil)),
		"a *tfbridge.Tensor is nil":                                flatten((*tfbridge.Tensor)(nil)),
		"a map[int]int of 1 entries":                               flatten(map[int]int{1: 1}),
		"a map[string]int of 0 entries":                            flatten(map[string]int{}),
		"struct {} has no exported fields":                         flatten(struct{}{}),
		"a part is nil":                                            flatten([]any{nil}),
		"a part of a sparse tensor is not set":                     flatten(graph.SparseTensor{}),
		"a part of a ragged tensor is not set":                     flatten(graph.RaggedTensor{}),
		"dataset 0 is nil":                                         flatten(&dataset.Dataset{}),
		"a sparse tensor has 1 indices, 0 values":                  flatten(sparse{Indices: [][]int64{{0}}, Shape: []int64{3}}),
		"0 values and 0 dimensions":                                flatten(sparse{}),
		"index 0 of a sparse tensor is [0 0]":                      flatten(sparse{Indices: [][]int64{{0, 0}}, Values: []int32{1}, Shape: []int64{3}}),
		"index 0 of a sparse tensor is [-1]":                       flatten(sparse{Indices: [][]int64{{-1}}, Values: []int32{1}, Shape: []int64{3}}),
		"index 0 of a sparse tensor is [3]":                        flatten(sparse{Indices: [][]int64{{3}}, Values: []int32{1}, Shape: []int64{3}}),
		"a ragged tensor has no splits":                            flatten(ragged{Values: []int32{1}}),
		"values of a ragged tensor have shape [-1]":                flatten(ragged{Splits: [][]int64{{0, 1}}, Values: []int32{1}, Inner: []int64{-1}}),
		"splits 0 of a ragged tensor are not from 0 to i":          flatten(ragged{Splits: [][]int64{{}}, Values: []int32{1}}),
		"not from 0 to its 1 rows":                                 flatten(ragged{Splits: [][]int64{{1, 1}}, Values: []int32{1}}),
		"not from 0 to its 3 rows":                                 flatten(ragged{Splits: [][]int64{{0, 2, 1, 3}}, Values: []int32{1, 2, 3}}),
		"not from 0 to its 2 rows":                                 flatten(ragged{Splits: [][]int64{{0, 1}}, Values: []int32{1, 2, 3, 4}, Inner: []int64{2}}),
		"not from 0 to its 0 rows":                                 flatten(ragged{Splits: [][]int64{{0, 1}}, Values: []int32{1, 2, 3}, Inner: []int64{2}}),
		"splits 0 of a ragged tensor are not from 0 to its 2 rows": flatten(ragged{Splits: [][]int64{{0, 1}, {0, 1, 2}}, Values: []int32{1, 2}}),
		"the value has no parts":                                   func(s *graph.Scope) { dataset.FromColumns(s, []any{}) },
		"a func() cannot be part of a row":                         func(s *graph.Scope) { dataset.FromRows(s, []func(){nil}) },
		"row 1 has a nil *int":                                     func(s *graph.Scope) { dataset.FromRows(s, []*int{new(int), nil}) },
		"row 1 has a string, those before it a int64":              func(s *graph.Scope) { dataset.FromRows(s, []any{int64(1), "a"}) },
		"no row tells what a interface {} holds":                   func(s *graph.Scope) { dataset.FromRows(s, []any{}) },
		`field "A": a func()`:                                      func(s *graph.Scope) { dataset.FromRows(s, []struct{ A func() }{{}}) },
		`entry "a": a func()`:                                      func(s *graph.Scope) { dataset.FromRows(s, []map[string]func(){{"a": nil}}) },
		"row 1 has other keys than row 0":                          func(s *graph.Scope) { dataset.FromRows(s, []map[string]int{{"a": 1}, {"b": 1}}) },
		"row 2 has other keys than row 0": func(s *graph.Scope) {
			dataset.FromRows(s, []map[string]int{{"a": 1}, {"a": 1}, {"a": 1, "b": 2}})
		},
		"no row tells the rank of a dataset.Sparse": func(s *graph.Scope) { dataset.FromRows(s, []sparse{}) },
		"no row tells the rank of a dataset.Ragged": func(s *graph.Scope) { dataset.FromRows(s, []ragged{}) },
		"row 1 has 2 dimensions, those before it 1": func(s *graph.Scope) {
			dataset.FromRows(s, []sparse{{Shape: []int64{3}}, {Shape: []int64{3, 3}}})
		},
		"row 1 has another rank or shape of values": func(s *graph.Scope) {
			dataset.FromRows(s, []ragged{{Splits: [][]int64{{0}}}, {Splits: [][]int64{{0}}, Inner: []int64{2}}})
		},
		"2 components are no int64[]": func(s *graph.Scope) {
			dataset.Bind[out](s, dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape()), outs{s.Const(int64(1)), s.Const(int64(2))})
		},
		"cannot hold int64[]; use tfbridge.Output": func(s *graph.Scope) {
			dataset.Bind[string](s, dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape()), outs{s.Const(int64(1))})
		},
	}
	for want, build := range tests {
		s := newScope(t)
		build(s)
		if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// Impossible structures are refused where they are used.
func TestWrongStructures(t *testing.T) {
	number := dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())
	for want, structure := range map[string]*dataset.Structure{
		"a part of the structure is nil":                 dataset.TupleSpec(number, nil),
		"1 names for 2 fields":                           {Kind: dataset.KindFields, Keys: []string{"a"}, Parts: []*dataset.Structure{number, number}},
		`the fields ["b" "a"] are not sorted`:            {Kind: dataset.KindFields, Keys: []string{"b", "a"}, Parts: []*dataset.Structure{number, number}},
		"a dataset has one structure of elements, not 0": {Kind: dataset.KindDataset},
		"a ragged part of rank -1 with splits of int64":  {Kind: dataset.KindRagged, RaggedRank: -1, Splits: tfbridge.Int64},
		"a ragged part of rank 1 with splits of float32": {Kind: dataset.KindRagged, RaggedRank: 1, Splits: tfbridge.Float},
		"no structure has kind -1":                       {Kind: -1},
		"no structure has kind 6":                        {Kind: dataset.KindFields + 1},
	} {
		s := newScope(t)
		dataset.FromVariantOf(s, s.Const(int64(1)), structure)
		if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if err := dataset.Decode(structure, nil, new(int)); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("decode: got %v\nwant %s", err, want)
		}
	}
}

// Typed calls report mistakes in their functions and states.
func TestWrongCalls(t *testing.T) {
	type d = dataset.Dataset
	type field = dataset.CSVField
	ten := func(s *graph.Scope) *d { return dataset.Range(s, 0, 10, 1) }
	sparse := dataset.Sparse[int64]{Shape: []int64{1}}
	csv := func(o *dataset.CSVOptions, fields ...field) func(s *graph.Scope) {
		return func(s *graph.Scope) { dataset.CSV(s, s.Const("x"), fields, o) }
	}
	buckets := func(b dataset.Buckets) func(s *graph.Scope) {
		return func(s *graph.Scope) { ten(s).BucketByLength("b", &b) }
	}
	length := func(_ *graph.Scope, args outs) out { return args[0] }
	for want, build := range map[string]func(s *graph.Scope){
		`function "m" is nil`:               func(s *graph.Scope) { dataset.MapOf[out, out](ten(s), "m", nil, nil) },
		`function "g" is nil`:               func(s *graph.Scope) { dataset.Generate(s, "g", outs{s.Const(int64(1))}, nil) },
		"the function of a tfbridge.Output": func(s *graph.Scope) { ten(s).Filter("f", dataset.PredicateOf[out](ten(s), nil)) },
		"the function of a int":             func(s *graph.Scope) { ten(s).FlatMap("f", dataset.DatasetOf[int](ten(s), nil)) },
		`the state of "s" is dataset int64[], a state cannot hold datasets`: func(s *graph.Scope) {
			dataset.ScanOf(ten(s), "s", ten(s), func(s *graph.Scope, state *d, e out) (*d, out) { return state, e })
		},
		`the state of "r" is dataset int64[], a state cannot hold datasets`: func(s *graph.Scope) {
			dataset.ReduceOf(ten(s), "r", ten(s), func(s *graph.Scope, state *d, e out) *d { return state })
		},
		`scan "s": sparse int64[1] and ragged int64[0, ?] are not alike`: func(s *graph.Scope) {
			dataset.ScanOf(ten(s), "s", sparse, func(s *graph.Scope, _ any, e out) (any, out) {
				return graph.RaggedTensor{RowSplits: s.Const([]int64{0}), Values: s.Const([]int64{})}, e
			})
		},
		`reduce "r": sparse int64[1] and int64[] are not alike`: func(s *graph.Scope) {
			dataset.ReduceOf(ten(s), "r", sparse, func(_ *graph.Scope, _ any, e out) any { return e })
		},
		"string cannot hold int64[]": func(s *graph.Scope) {
			dataset.ScanOf(ten(s), "s", int64(0), func(s *graph.Scope, state string, e out) (string, out) { return state, e })
		},
		"int cannot hold int64[]": func(s *graph.Scope) {
			dataset.ReduceOf(ten(s), "r", int64(0), func(s *graph.Scope, state out, e int) out { return state })
		},
		"state has 1 tensors, then 2": func(s *graph.Scope) {
			ten(s).Scan("s", outs{s.Const(int64(1))}, func(_ *graph.Scope, state, _ outs) (outs, outs) { return append(state, state...), state })
		},
		"state 0 is a int32[], then a int64[]": func(s *graph.Scope) {
			ten(s).Scan("s", outs{s.Const(int32(1))}, func(_ *graph.Scope, state, args outs) (outs, outs) { return args, state })
		},
		"2 components of a window for elements of 1": func(s *graph.Scope) { ten(s).ZipWindow(s, outs{s.Const(int64(1)), s.Const(int64(2))}) },
		`delimiter ";;" is more than one byte`:       csv(&dataset.CSVOptions{Delimiter: ";;"}, field{DType: tfbridge.Int64}),
		"columns [-1] are not ascending from 0":      csv(&dataset.CSVOptions{Columns: []int64{-1}}, field{DType: tfbridge.Int64}),
		"columns [1 1] are not ascending from 0":     csv(&dataset.CSVOptions{Columns: []int64{1, 1}}, field{DType: tfbridge.Int64}, field{DType: tfbridge.Int64}),
		`two fields are named "a"`:                   csv(nil, field{Name: "a", DType: tfbridge.Int64}, field{Name: "a", DType: tfbridge.Int64}),
		"field 1: some fields have names":            csv(nil, field{Name: "a", DType: tfbridge.Int64}, field{DType: tfbridge.Int64}),
		"Length gave no output": buckets(dataset.Buckets{
			Length: func(*graph.Scope, outs) out { return out{} }, Boundaries: []int64{3}, Sizes: []int64{1, 1},
		}),
		"boundaries [3 2] are not ascending": buckets(dataset.Buckets{Length: length, Boundaries: []int64{3, 2}, Sizes: []int64{1, 1, 1}}),
		"0 boundaries, at least 1 is needed": buckets(dataset.Buckets{Length: length, Sizes: []int64{1}}),
		"sizes [1 0] of batches":             buckets(dataset.Buckets{Length: length, Boundaries: []int64{3}, Sizes: []int64{1, 0}}),
		"padding that NoPadding leaves out":  buckets(dataset.Buckets{Length: length, Boundaries: []int64{3}, Sizes: []int64{1, 1}, NoPadding: true, ToBoundary: true}),
		`unknown compression "gzip"`:         func(s *graph.Scope) { ten(s).Snapshot("x", &dataset.SnapshotOptions{Compression: "gzip"}) },
		"the function of shards gives a bool": func(s *graph.Scope) {
			ten(s).Snapshot("x", &dataset.SnapshotOptions{Shard: func(s *graph.Scope, _ outs) out { return s.Const(true) }})
		},
		"elements are int64[], not datasets": func(s *graph.Scope) { ten(s).FlatMap("f", ten(s).Inner()) },
		"(int64[], int64[]) and string[] are not alike": func(s *graph.Scope) {
			ten(s).Snapshot("x", &dataset.SnapshotOptions{Reader: func(s *graph.Scope, _ *d) *d { return dataset.FromRows(s, []string{"a"}) }})
		},
		"a feed cannot be replayed": func(s *graph.Scope) {
			dataset.FromFeed(s, dataset.NewFeed[int64](nil), &dataset.SeqOptions{Replayable: true})
		},
		"a channel cannot be replayed": func(s *graph.Scope) { dataset.FromChan(s, make(chan int64), &dataset.SeqOptions{Replayable: true}) },
		"all weights are 0":            func(s *graph.Scope) { dataset.Sample(s, []*d{ten(s)}, &dataset.SampleOptions{Weights: []float64{0}}) },
		"weights are int64[]":          func(s *graph.Scope) { dataset.Sample(s, []*d{ten(s)}, &dataset.SampleOptions{WeightsOf: ten(s)}) },
		"weights are float32[3]": func(s *graph.Scope) {
			dataset.Sample(s, []*d{ten(s), ten(s)}, &dataset.SampleOptions{WeightsOf: dataset.FromRows(s, [][]float32{{1, 2, 3}})})
		},
		"weights are float64[]": func(s *graph.Scope) {
			dataset.Sample(s, []*d{ten(s), ten(s)}, &dataset.SampleOptions{WeightsOf: dataset.FromRows(s, []float64{1})})
		},
		"datasets cannot be batched":                func(s *graph.Scope) { ten(s).Window(s.Const(int64(2)), nil).Batch(2, false) },
		"component 0 is a scalar and has no slices": func(s *graph.Scope) { ten(s).Rebatch(2, false) },
		"slices would be sparse scalars":            func(s *graph.Scope) { dataset.FromValue(s, sparse).Unbatch() },
		"unknown number of dimensions and no padding shape": func(s *graph.Scope) {
			x := s.Placeholder(tfbridge.Int64, tfbridge.Shape{})
			dataset.FromTensors(s, x).PaddedBatch(2, nil)
		},
		"function Key of group": func(s *graph.Scope) {
			ten(s).GroupByReducer("g", &dataset.Reducer{
				Key:    func(s *graph.Scope, _ outs) out { return s.Const("a") },
				Init:   func(s *graph.Scope, _ out) outs { return outs{s.Const(int64(0))} },
				Reduce: func(_ *graph.Scope, state, _ outs) outs { return state },
			})
		},
	} {
		s := newScope(t)
		build(s)
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
