package dataset_test

import (
	"errors"
	"reflect"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// failsAs checks that a dataset, and what is made of it, has the failure of a scope,
// and only that one.
func failsAs(t *testing.T, name string, s *graph.Scope, d *dataset.Dataset) {
	t.Helper()
	if s.Err() == nil {
		t.Errorf("%s: the scope has no failure", name)
		return
	}
	for _, d := range []*dataset.Dataset{d, d.Take(1).Prefetch(1)} {
		errs := 0
		for _, err := range d.All(t.Context(), nil) {
			if errs++; err == nil || err.Error() != s.Err().Error() {
				t.Errorf("%s: got %v, the scope has %v", name, err, s.Err())
			}
		}
		if errs != 1 || d.Variant().Op != nil || d.Specs()[0].DType != 0 {
			t.Errorf("%s: %d errors, variant %v", name, errs, d.Variant())
		}
	}
}

// A method that fails gives a dataset with that failure, and one that is called after
// a failure keeps it.
func TestMethodsKeepFailures(t *testing.T) {
	methods := reflect.TypeFor[*dataset.Dataset]()
	for i := range methods.NumMethod() {
		for _, before := range []bool{true, false} {
			s, d := newScope(t), (*dataset.Dataset)(nil)
			if d = dataset.Range(s, 0, 3, 1); before {
				d = d.Batch(0, false)
			}
			name, want := methods.Method(i).Name, s.Err()
			f := reflect.ValueOf(d).Method(i)
			args := make([]reflect.Value, f.Type().NumIn())
			for j := range args {
				if args[j] = reflect.Zero(f.Type().In(j)); f.Type().In(j) == reflect.TypeFor[*graph.Scope]() {
					args[j] = reflect.ValueOf(s)
				}
			}
			call := f.Call
			if f.Type().IsVariadic() {
				call = f.CallSlice
			}
			after := dataset.FromVariant(s, tfbridge.Output{}, nil)
			if f.Type().NumOut() > 0 && f.Type().Out(0) == methods {
				after = call(args)[0].Interface().(*dataset.Dataset)
			}
			if before && (s.Err() == nil || s.Err().Error() != want.Error()) {
				t.Errorf("%s: the failure %v became %v", name, want, s.Err())
			}
			if s.Err() != nil {
				failsAs(t, name, s, after)
			}
		}
	}
}

// A function that fails returns a dataset with that failure. After another failure it
// does nothing.
func TestFunctionsKeepFailures(t *testing.T) {
	type d = dataset.Dataset
	ten := func(s *graph.Scope) *d { return dataset.Range(s, 0, 10, 1) }
	two := func(s *graph.Scope) []*d { return []*d{ten(s), ten(s)} }
	text := func(s *graph.Scope) out { return s.Const("x") }
	wrong := &dataset.Structure{Kind: -1}
	group := func(key, size any) func(s *graph.Scope) *d {
		return func(s *graph.Scope) *d {
			return ten(s).GroupByWindow("g", &dataset.Grouping{
				Key:    func(s *graph.Scope, _ outs) out { return s.Const(key) },
				Size:   func(s *graph.Scope, _ out) out { return s.Const(size) },
				Reduce: func(_ *graph.Scope, _ out, window *d) *d { return window.Batch(2, false) },
			})
		}
	}
	broken := func(s *graph.Scope, args outs) outs { return outs{s.Op1("NoSuchOperation", nil)} }
	for name, build := range map[string]func(s *graph.Scope) *d{
		"FromVariantOf":           func(s *graph.Scope) *d { return dataset.FromVariantOf(s, text(s), wrong) },
		"FromRows":                func(s *graph.Scope) *d { return dataset.FromRows(s, []chan int{nil}) },
		"FromValue":               func(s *graph.Scope) *d { return dataset.FromValue(s, make(chan int)) },
		"FromValue of nothing":    func(s *graph.Scope) *d { return dataset.FromValue(s, []any{}) },
		"FromColumns":             func(s *graph.Scope) *d { return dataset.FromColumns(s, []any{}) },
		"FromColumns of a scalar": func(s *graph.Scope) *d { return dataset.FromColumns(s, 1) },
		"FromColumns of a chan":   func(s *graph.Scope) *d { return dataset.FromColumns(s, make(chan int)) },
		"FromTensors":             func(s *graph.Scope) *d { return dataset.FromTensors(s) },
		"FromSlices":              func(s *graph.Scope) *d { return dataset.FromSlices(s) },
		"FromSlices of a scalar":  func(s *graph.Scope) *d { return dataset.FromSlices(s, text(s)) },
		"FromFunc":                func(s *graph.Scope) *d { return dataset.FromFunc[int64](s, nil, nil) },
		"FromSeq of no type":      func(s *graph.Scope) *d { return dataset.FromSeq(s, seqOf(make(chan int)), nil) },
		"FromChan": func(s *graph.Scope) *d {
			return dataset.FromChan(s, make(chan int64), &dataset.SeqOptions{Replayable: true})
		},
		"Range":          func(s *graph.Scope) *d { return dataset.Range(s, 0, 1, 0) },
		"Zip":            func(s *graph.Scope) *d { return dataset.Zip(s) },
		"Zip of nil":     func(s *graph.Scope) *d { return dataset.Zip(s, nil) },
		"Choose":         func(s *graph.Scope) *d { return dataset.Choose(s, nil, two(s), nil) },
		"Choose of none": func(s *graph.Scope) *d { return dataset.Choose(s, ten(s), nil, nil) },
		"Sample":         func(s *graph.Scope) *d { return dataset.Sample(s, nil, nil) },
		"Sample by too many": func(s *graph.Scope) *d {
			return dataset.Sample(s, two(s), &dataset.SampleOptions{Weights: []float64{1}})
		},
		"Sample by a failed": func(s *graph.Scope) *d {
			return dataset.Sample(s, two(s), &dataset.SampleOptions{WeightsOf: ten(s).Batch(0, false)})
		},
		"Sample by nil":  func(s *graph.Scope) *d { return dataset.Sample(s, two(s), &dataset.SampleOptions{WeightsOf: &d{}}) },
		"CSV":            func(s *graph.Scope) *d { return dataset.CSV(s, text(s), nil, nil) },
		"MakeCSVDataset": func(s *graph.Scope) *d { return dataset.MakeCSVDataset(s, []string{"nowhere"}, 2, nil) },
		"TFRecords": func(s *graph.Scope) *d {
			return dataset.TFRecords(s, text(s), &dataset.TFRecordsOptions{Compression: "x"})
		},
		"TextLines": func(s *graph.Scope) *d {
			return dataset.TextLines(s, text(s), &dataset.TextLinesOptions{BufferBytes: -1})
		},
		"FixedLength": func(s *graph.Scope) *d { return dataset.FixedLengthRecords(s, text(s), 0, nil) },
		"SQL":         func(s *graph.Scope) *d { return dataset.SQL(s, text(s), text(s)) },
		"Load":        func(s *graph.Scope) *d { return dataset.Load(s, "nowhere", nil) },
		"Load as":     func(s *graph.Scope) *d { return dataset.Load(s, "x", &dataset.LoadOptions{Spec: wrong}) },
		"Load packed": func(s *graph.Scope) *d {
			return dataset.Load(s, "x", &dataset.LoadOptions{Spec: dataset.DenseSpec(tfbridge.Int64, tfbridge.Shape{}), Compression: "x"})
		},
		"Generate": func(s *graph.Scope) *d { return dataset.Generate(s, "g", outs{text(s)}, nil) },
		"MapOf":    func(s *graph.Scope) *d { return dataset.MapOf[out, out](ten(s), "m", nil, nil) },
		"ScanOf":   func(s *graph.Scope) *d { return dataset.ScanOf[out, out, out](ten(s), "m", 1, nil) },
		"Map":      func(s *graph.Scope) *d { return ten(s).Map("m", broken, nil) },
		"FlatMap":  func(s *graph.Scope) *d { return ten(s).FlatMap("m", func(*graph.Scope, outs) *d { return nil }) },
		"FlatMap of": func(s *graph.Scope) *d {
			return ten(s).FlatMap("m", dataset.DatasetOf[string](ten(s), func(s *graph.Scope, _ string) *d { return ten(s) }))
		},
		"FlatMap of inner": func(s *graph.Scope) *d { return ten(s).FlatMap("m", ten(s).Inner()) },
		"Interleave": func(s *graph.Scope) *d {
			return ten(s).Interleave("m", func(*graph.Scope, outs) *d { return nil }, nil)
		},
		"Scan": func(s *graph.Scope) *d {
			return ten(s).Scan("m", outs{text(s)}, func(_ *graph.Scope, _, args outs) (outs, outs) { return args, args })
		},
		"GroupByWindow":     group("a", int64(1)),
		"GroupByWindow of":  group(int64(1), "a"),
		"GroupByWindow for": group([]int64{1}, int64(1)),
		"GroupByReducer": func(s *graph.Scope) *d {
			return ten(s).GroupByReducer("g", &dataset.Reducer{
				Key:    func(_ *graph.Scope, args outs) out { return args[0] },
				Init:   func(s *graph.Scope, _ out) outs { return outs{s.Const(int64(0))} },
				Reduce: func(s *graph.Scope, _, _ outs) outs { return outs{text(s)} },
			})
		},
		"Snapshot": func(s *graph.Scope) *d { return ten(s).Snapshot("x", &dataset.SnapshotOptions{Compression: "x"}) },
		"Snapshot by": func(s *graph.Scope) *d {
			return ten(s).Snapshot("x", &dataset.SnapshotOptions{Shard: func(s *graph.Scope, _ outs) out { return text(s) }})
		},
		"Concatenate":       func(s *graph.Scope) *d { return ten(s).Concatenate(ten(s).Enumerate(0)) },
		"Concatenate texts": func(s *graph.Scope) *d { return ten(s).Concatenate(dataset.FromTensors(s, text(s))) },
		"ZipWindow":         func(s *graph.Scope) *d { return ten(s).ZipWindow(s, nil) },
		"RejectionResample": func(s *graph.Scope) *d { return ten(s).RejectionResample("r", tenth, nil, nil) },
		"ParseExample":      func(s *graph.Scope) *d { return ten(s).ParseExample(&graph.ExampleFeatures{}, nil) },
		"SparseBatch":       func(s *graph.Scope) *d { return ten(s).SparseBatch(0, nil) },
		"PaddedBatch": func(s *graph.Scope) *d {
			return ten(s).PaddedBatch(1, &dataset.PaddedBatchOptions{Shapes: [][]int64{{1}}})
		},
		"Unbatch": func(s *graph.Scope) *d { return ten(s).Unbatch() },
		"Rebatch": func(s *graph.Scope) *d { return ten(s).Rebatch(2, false) },
		"PadToCardinality": func(s *graph.Scope) *d {
			return dataset.FromSlices(s, s.Placeholder(tfbridge.Int64, tfbridge.Shape{})).PadToCardinality(3)
		},
	} {
		s := newScope(t)
		failsAs(t, name, s, build(s))
		s = newScope(t)
		s.UpdateErr("before", errors.New("the first"))
		first := s.Err().Error()
		failsAs(t, name+" after a failure", s, build(s))
		if s.Err().Error() != first {
			t.Errorf("%s: the failure %s became %v", name, first, s.Err())
		}
	}
}
