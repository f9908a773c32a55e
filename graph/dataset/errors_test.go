package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Wrong arguments are failures of the scope at the time of the call. The failure names the
// call.
func TestWrongArguments(t *testing.T) {
	ten := func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 0, 10, 1) }
	ragged := func(s *graph.Scope) *dataset.Dataset {
		return dataset.FromRows(s, []dataset.Ragged[int32]{dataset.RaggedRows([][]int32{{1}, {2, 3}})})
	}
	name := func(s *graph.Scope) tfbridge.Output { return s.Const("file") }
	tests := []struct {
		name  string
		build func(s *graph.Scope)
		want  string
	}{
		{"zip of nothing", func(s *graph.Scope) { dataset.Zip(s) }, "Zip"},
		{"zip of nil", func(s *graph.Scope) { dataset.Zip(s, ten(s), nil) }, "dataset 1 is nil"},
		{"zip of a zero", func(s *graph.Scope) { dataset.Zip(s, &dataset.Dataset{}) }, "dataset 0 is nil"},
		{"concatenate nil", func(s *graph.Scope) { ten(s).Concatenate(nil) }, "Concatenate"},
		{"map nil", func(s *graph.Scope) { ten(s).Map("m", nil, nil) }, `"m" is nil`},
		{"map to nothing", func(s *graph.Scope) {
			ten(s).Map("m", func(*graph.Scope, outs) outs { return nil }, nil)
		}, "MapDataset"},
		{"parallel by none", func(s *graph.Scope) { ten(s).MapParallel("m", 0, double) }, "MapParallel"},
		{"filter nil", func(s *graph.Scope) { ten(s).Filter("f", nil) }, `"f" is nil`},
		{"filter by number", func(s *graph.Scope) { ten(s).Filter("f", key) }, "not a bool"},
		{"take while nil", func(s *graph.Scope) { ten(s).TakeWhile("f", nil) }, `"f" is nil`},
		{"flat map nil", func(s *graph.Scope) { ten(s).FlatMap("f", nil) }, `"f" is nil`},
		{"flat map to nil", func(s *graph.Scope) {
			ten(s).FlatMap("f", func(*graph.Scope, outs) *dataset.Dataset { return nil })
		}, "returned no dataset"},
		{"interleave to a zero", func(s *graph.Scope) {
			ten(s).Interleave("f", func(*graph.Scope, outs) *dataset.Dataset { return &dataset.Dataset{} }, nil)
		}, "Interleave"},
		{"scan nil", func(s *graph.Scope) { ten(s).Scan("f", outs{s.Const(int64(1))}, nil) }, "Scan"},
		{"reduce nil", func(s *graph.Scope) { ten(s).Reduce("f", outs{s.Const(int64(1))}, nil) }, "Reduce"},
		{"reduce nothing", func(s *graph.Scope) {
			ten(s).Reduce("f", nil, func(_ *graph.Scope, state, _ outs) outs { return state })
		}, "no tensors"},
		{"reduce to another type", func(s *graph.Scope) {
			ten(s).Reduce("f", outs{s.Const(int64(0))}, func(s *graph.Scope, _, _ outs) outs { return outs{s.Const("x")} })
		}, "is a int64[], then a string[]"},
		{"batch of 0", func(s *graph.Scope) { ten(s).Batch(0, false) }, "less than 1"},
		{"batch of -1", func(s *graph.Scope) { ten(s).BatchParallel(-1, false, 2) }, "BatchParallel"},
		{"padded batch of ragged", func(s *graph.Scope) { ragged(s).PaddedBatch(2, nil) }, "PaddedBatch"},
		{"unbatch scalars", func(s *graph.Scope) { ten(s).Unbatch() }, "scalar"},
		{"unbatch windows", func(s *graph.Scope) { ten(s).Window(s.Const(int64(2)), nil).Unbatch() }, "Unbatch"},
		{"sparse batch of another rank", func(s *graph.Scope) { ten(s).SparseBatch(2, []int64{3}) }, "SparseBatch"},
		{"sparse batch of ragged", func(s *graph.Scope) { ragged(s).SparseBatch(2, []int64{3}) }, "SparseBatch"},
		{"sample of nothing", func(s *graph.Scope) { dataset.Sample(s, nil, nil) }, "Sample"},
		{"sample with other weights", func(s *graph.Scope) {
			dataset.Sample(s, ranges(s, 0, 1), &dataset.SampleOptions{Weights: []float64{1, 2}})
		}, "2 weights for 1 datasets"},
		{"sample with a negative weight", func(s *graph.Scope) {
			dataset.Sample(s, ranges(s, 0, 1, 2, 3), &dataset.SampleOptions{Weights: []float64{1, -2}})
		}, "weight 1 is -2"},
		{"sample of other types", func(s *graph.Scope) {
			dataset.Sample(s, []*dataset.Dataset{ten(s), dataset.FromRows(s, []string{"a"})}, nil)
		}, "not alike"},
		{"choose by strings", func(s *graph.Scope) { dataset.Choose(s, dataset.FromRows(s, []string{"a"}), ranges(s, 0, 1), nil) }, "Choose"},
		{"choose by nil", func(s *graph.Scope) { dataset.Choose(s, nil, ranges(s, 0, 1), nil) }, "Choose"},
		{"group by nil", func(s *graph.Scope) { ten(s).GroupByWindow("g", nil) }, "GroupByWindow"},
		{"reduce groups by nil", func(s *graph.Scope) { ten(s).GroupByReducer("g", nil) }, "GroupByReducer"},
		{"bucket by nil", func(s *graph.Scope) { ten(s).BucketByLength("g", nil) }, "BucketByLength"},
		{"buckets without sizes", func(s *graph.Scope) {
			ten(s).BucketByLength("g", &dataset.Buckets{Length: size, Boundaries: []int64{3}})
		}, "1 boundaries"},
		{"buckets padded twice", func(s *graph.Scope) {
			ten(s).BucketByLength("g", &dataset.Buckets{
				Length: size, Boundaries: []int64{3}, Sizes: []int64{1, 1}, ToBoundary: true,
				Batch: func(window *dataset.Dataset, size out) *dataset.Dataset { return window.BatchOutput(size, false) },
			})
		}, "beside Batch"},
		{"unique pairs", func(s *graph.Scope) { ten(s).Enumerate(0).Unique() }, "Unique"},
		{"compression", func(s *graph.Scope) { dataset.TextLines(s, name(s), &dataset.TextLinesOptions{Compression: "gzip"}) }, `TextLines: unknown compression "gzip"`},
		{"records of 0 bytes", func(s *graph.Scope) { dataset.FixedLengthRecords(s, name(s), 0, nil) }, "FixedLengthRecords"},
		{"csv without fields", func(s *graph.Scope) { dataset.CSV(s, name(s), nil, nil) }, "CSV: there are no fields"},
		{"csv of images", func(s *graph.Scope) {
			dataset.CSV(s, name(s), []dataset.CSVField{{DType: tfbridge.Uint8}}, nil)
		}, "field 0 is a uint8"},
		{"csv default", func(s *graph.Scope) {
			dataset.CSV(s, name(s), []dataset.CSVField{{DType: tfbridge.Int64, Default: "x"}}, nil)
		}, "its default x a string[]"},
		{"csv default of no type", func(s *graph.Scope) {
			dataset.CSV(s, name(s), []dataset.CSVField{{DType: tfbridge.Int64, Default: struct{}{}}}, nil)
		}, "struct {}"},
		{"csv columns", func(s *graph.Scope) {
			dataset.CSV(s, name(s), []dataset.CSVField{{DType: tfbridge.Int64}}, &dataset.CSVOptions{Columns: []int64{1, 2}})
		}, "2 columns for 1 fields"},
		{"sql without columns", func(s *graph.Scope) { dataset.SQL(s, name(s), name(s)) }, "SQL"},
		{"slices of nothing", func(s *graph.Scope) { dataset.FromSlices(s) }, "FromSlices"},
		{"tensors of nothing", func(s *graph.Scope) { dataset.FromTensors(s) }, "FromTensors"},
		{"a value of nothing", func(s *graph.Scope) { dataset.FromValue(s, nil) }, "nil"},
		{"a channel", func(s *graph.Scope) { dataset.FromValue(s, make(chan int)) }, "chan int"},
		{"columns of other sizes", func(s *graph.Scope) {
			dataset.FromColumns(s, map[string]any{"a": []int64{1}, "b": []int64{1, 2}})
		}, "component 1 has 2 rows"},
		{"columns of scalars", func(s *graph.Scope) { dataset.FromColumns(s, map[string]int64{"a": 1}) }, "scalar"},
		{"splits", func(s *graph.Scope) {
			dataset.FromValue(s, dataset.Ragged[int32]{Splits: [][]int64{{0, 5}}, Values: []int32{1}})
		}, "splits 0"},
		{"indices", func(s *graph.Scope) {
			dataset.FromValue(s, dataset.Sparse[int32]{Indices: [][]int64{{9}}, Values: []int32{1}, Shape: []int64{3}})
		}, "index 0"},
		{"two fields of a name", func(s *graph.Scope) {
			dataset.FromRows(s, []struct {
				A int64 `tf:"x"`
				B int64 `tf:"x"`
			}{{1, 2}})
		}, `named "x"`},
		{"a field that is not there", func(s *graph.Scope) {
			dataset.MapOf(ten(s).Enumerate(0), "m", func(s *graph.Scope, e struct{ A, B, C out }) out { return e.A }, nil)
		}, "3 fields for 2 parts"},
		{"an output not set", func(s *graph.Scope) {
			dataset.MapOf(ten(s), "m", func(s *graph.Scope, e out) out { return out{} }, nil)
		}, "not set"},
		{"reduce by nil", func(s *graph.Scope) { dataset.ReduceOf[out, out](ten(s), "r", int64(0), nil) }, `function "r" is nil`},
		{"scan by nil", func(s *graph.Scope) { dataset.ScanOf[out, out, out](ten(s), "r", int64(0), nil) }, `function "r" is nil`},
		{"rows of maps without rows", func(s *graph.Scope) { dataset.FromRows(s, []map[string]int64{}) }, "0 rows of map[string]int64"},
		{"rows of maps of numbers", func(s *graph.Scope) { dataset.FromRows(s, []map[int]int64{{1: 1}}) }, "1 rows of map[int]int64"},
		{"rows with an index outside", func(s *graph.Scope) {
			dataset.FromRows(s, []dataset.Sparse[int32]{{Indices: [][]int64{{9}}, Values: []int32{1}, Shape: []int64{3}}})
		}, "index 0"},
		{"a failed dataset", func(s *graph.Scope) { dataset.Flatten(s, ten(s).Batch(0, true)) }, "batch size"},
		{"a dataset that is nil", func(s *graph.Scope) { dataset.Flatten(s, (*dataset.Dataset)(nil)) }, "nil"},
		{"a failed dataset on a device", func(s *graph.Scope) { ten(s).Batch(0, true).CopyToDevice("/cpu:0").Take(1) }, "batch size"},
		{"resample to less than nothing", func(s *graph.Scope) { ten(s).RejectionResample("r", tenth, []float64{1, -1}, nil) }, "at least 0"},
		{"resample from nothing", func(s *graph.Scope) {
			ten(s).RejectionResample("r", tenth, []float64{1, 1}, &dataset.ResampleOptions{Initial: []float64{1, 0}})
		}, "above 0"},
		{"resample from others", func(s *graph.Scope) {
			ten(s).RejectionResample("r", tenth, []float64{1, 1}, &dataset.ResampleOptions{Initial: []float64{1}})
		}, "2 classes in the target, 1 to begin with"},
		{"snapshot nowhere", func(s *graph.Scope) { ten(s).Snapshot("", nil) }, "Snapshot"},
		{"load nothing", func(s *graph.Scope) { dataset.Load(s, t.TempDir(), nil) }, "Load: no saved dataset"},
		{"load of nil", func(s *graph.Scope) { dataset.Load(s, "x", &dataset.LoadOptions{Spec: dataset.TupleSpec(nil)}) }, "nil"},
		{"device", func(s *graph.Scope) { ten(s).PrefetchToDevice("", 1) }, "PrefetchToDevice"},
		{"resample to nothing", func(s *graph.Scope) { ten(s).RejectionResample("r", tenth, nil, nil) }, "RejectionResample"},
		{"options", func(s *graph.Scope) { ten(s).WithOptions(&dataset.Options{CPUBudget: -1}) }, "CPUBudget is -1"},
		{"threads", func(s *graph.Scope) { ten(s).WithOptions(&dataset.Options{PrivateThreads: 1 << 30}) }, "PrivateThreads is 1073741824"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScope(t)
			test.build(s)
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error\n got %v\nwant one with %s", err, test.want)
			}
		})
	}
}

// A type that does not fit is an error that describes the element.
func TestDecodeMismatch(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 3, 1)
	if _, err := dataset.First[string](t.Context(), d, nil); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), "string cannot hold int64[]; use int64") {
		t.Errorf("a number as a string: %v", err)
	}
	if _, err := dataset.First[struct {
		A int `tf:"a"`
	}](t.Context(), dataset.FromValue(s, map[string]int64{"b": 1}), nil); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `no part named "a" for field A of struct`) {
		t.Errorf("another field: %v", err)
	}
	if _, err := dataset.First[int](t.Context(), d.Take(0), nil); !errors.Is(err, millrace.ErrTruncated) {
		t.Errorf("first of none: %v", err)
	}
	for _, err := range dataset.Iterate[int](t.Context(), nil, nil) {
		if !errors.Is(err, millrace.ErrModel) {
			t.Errorf("of nil: %v", err)
		}
	}
}

// Numbers decode to wider Go types that represent each of their values.
func TestDecodeWidens(t *testing.T) {
	type row struct {
		Small   []int32         `tf:"small"`
		Byte    uint8           `tf:"byte"`
		Half    dtype.Float16   `tf:"half"`
		Brain   dtype.BFloat16  `tf:"brain"`
		Real    [][]float32     `tf:"real"`
		Complex complex64       `tf:"complex"`
		Bits    []dtype.Float16 `tf:"bits"`
	}
	type wide struct {
		Small   []int       `tf:"small"`
		Byte    int16       `tf:"byte"`
		Half    float32     `tf:"half"`
		Brain   float64     `tf:"brain"`
		Real    [][]float64 `tf:"real"`
		Complex complex128  `tf:"complex"`
		Bits    []uint16    `tf:"bits"`
	}
	half := dtype.NewFloat16(0.5)
	s := newScope(t)
	d := dataset.FromRows(s, []row{{[]int32{1, -2}, 255, half, dtype.NewBFloat16(-2), [][]float32{{0.1}}, 1i, []dtype.Float16{half}}})
	got, err := dataset.First[wide](t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := wide{[]int{1, -2}, 255, 0.5, -2, [][]float64{{float64(float32(0.1))}}, 1i, []uint16{uint16(half)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// An error of decoding names the field that does not fit and the type that would fit.
func TestDecodeNamesTheField(t *testing.T) {
	type inner struct {
		Words []string `tf:"words"`
	}
	type row struct {
		ID   int64    `tf:"id"`
		Pair [2]int32 `tf:"pair"`
		In   inner    `tf:"in"`
	}
	s := newScope(t)
	d := dataset.FromRows(s, []row{{ID: 1, In: inner{[]string{"a", "b"}}}})
	narrow := func() error {
		type target struct {
			ID int32 `tf:"id"`
		}
		_, err := dataset.First[target](t.Context(), d, nil)
		return err
	}
	nested := func() error {
		type within struct {
			Words []int `tf:"words"`
		}
		type target struct {
			In within `tf:"in"`
		}
		_, err := dataset.First[target](t.Context(), d, nil)
		return err
	}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"narrower", narrow(), "field ID of dataset_test.target: int32 cannot hold int64[]; use int64"},
		{"nested", nested(), "field In of dataset_test.target: field Words of dataset_test.within: []int cannot hold string[2]; use []string"},
		{"array", decodeError[struct {
			Pair [3]int32 `tf:"pair"`
		}](t, d), "[3]int32 cannot hold int32[2] with 2 elements; use []int32"},
		{"unsigned", decodeError[struct {
			Pair []uint64 `tf:"pair"`
		}](t, d), "[]uint64 cannot hold int32[2]; use []int32"},
		{"inexact", decodeError[struct {
			Pair []float32 `tf:"pair"`
		}](t, d), "[]float32 cannot hold int32[2]; use []int32"},
		{"misspelt", decodeError[struct {
			Pair []int32 `tf:"pari"`
		}](t, d), `did you mean "pair"?`},
		{"map", decodeError[map[string]string](t, d), `entry "id" of map[string]string: string cannot hold int64[]; use int64`},
	}
	for _, tt := range tests {
		if !errors.Is(tt.err, millrace.ErrModel) || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %s", tt.name, tt.err, tt.want)
		}
	}
}

// decodeError returns the error of decoding the first element of d.
func decodeError[T any](t *testing.T, d *dataset.Dataset) error {
	_, err := dataset.First[T](t.Context(), d, nil)
	return err
}
