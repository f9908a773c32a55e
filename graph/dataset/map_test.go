package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

var mapOptions = map[string]*dataset.MapOptions{
	"sequential": nil,
	"parallel":   {Parallel: 3},
	"autotuned":  {Parallel: dataset.Autotune},
	"sloppy":     {Parallel: 1, Sloppy: true},
}

func TestMap(t *testing.T) {
	for name, o := range mapOptions {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			ten := s.Const([]int64{10})
			d := dataset.Range(s, 0, 3, 1).Map("f", func(s *graph.Scope, args outs) outs {
				return outs{graph.Mul(s, args[0], ten), graph.AsString(s, args[0])}
			}, o)
			want := []any{[]any{[]int64{0}, "0"}, []any{[]int64{10}, "1"}, []any{[]int64{20}, "2"}}
			if diff := cmp.Diff(want, all(t, d)); diff != "" {
				t.Errorf("elements (-want +got)\n%s", diff)
			}
			checkSpecs(t, d, "int64[1]", "string[]")
		})
	}
}

// notThree fails for 3 and passes other elements on.
func notThree(s *graph.Scope, args outs) outs {
	ok := graph.NotEqual(s, args[0], s.Const(int64(3)))
	graph.Assert(s, ok, outs{s.Const("three is bad:"), args[0]}, nil)
	return args
}

func TestAssertInMap(t *testing.T) {
	for name, o := range mapOptions {
		for _, optimized := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				s := newScope(t)
				d := dataset.Range(s, 0, 6, 1).Map("check", notThree, o).
					WithOptions(&dataset.Options{NoOptimization: !optimized})
				got, err := tryAll(t, d)
				if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "three is bad:") {
					t.Errorf("error\n got %v\nwant the Assert's", err)
				}
				if diff := cmp.Diff(values(0, 1, 2), got); diff != "" {
					t.Errorf("elements before (-want +got)\n%s", diff)
				}
			})
		}
	}
}

func TestAssertBeforeBatch(t *testing.T) {
	// TensorFlow fuses map and batch into one operation.
	s := newScope(t)
	d := dataset.Range(s, 0, 6, 1).Map("check", notThree, &dataset.MapOptions{Parallel: 2}).Batch(2, true)
	got, err := tryAll(t, d)
	if err == nil || !strings.Contains(err.Error(), "three is bad:") {
		t.Errorf("error\n got %v\nwant the Assert's", err)
	}
	if diff := cmp.Diff([]any{[]int64{0, 1}}, got); diff != "" {
		t.Errorf("elements before (-want +got)\n%s", diff)
	}
}

func TestOutOfRangeInMapIsNoEnd(t *testing.T) {
	for name, o := range mapOptions {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			empty := dataset.Range(s, 0, 0, 1)
			d := dataset.Range(s, 0, 3, 1).Map("f", func(s *graph.Scope, args outs) outs {
				return s.Op("DatasetToSingleElement", map[string]any{
					"output_types":  graph.DTypes(empty.Specs()),
					"output_shapes": graph.Shapes(empty.Specs()),
				}, dataset.Range(s, 0, 0, 1).Variant())
			}, o)
			if _, err := tryAll(t, d); !errors.Is(err, tfbridge.InvalidArgument) {
				t.Errorf("error\n got %v\nwant invalid argument", err)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	s := newScope(t)
	limit := s.Const(int64(3))
	d := dataset.Range(s, 0, 6, 1).Filter("from", func(s *graph.Scope, args outs) out {
		return graph.GreaterEqual(s, args[0], limit)
	})
	if diff := cmp.Diff(values(3, 4, 5), all(t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	d = dataset.Range(s, 0, 6, 1).TakeWhile("until", func(s *graph.Scope, args outs) out {
		return graph.Less(s, args[0], limit)
	})
	if diff := cmp.Diff(values(0, 1, 2), all(t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	d.Filter("odd", func(s *graph.Scope, args outs) out { return args[0] })
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), `predicate "odd" gives a int64[], not a bool`) {
		t.Errorf("error %v", err)
	}
}

func TestFlatMap(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 1, 4, 1).FlatMap("f", func(s *graph.Scope, args outs) *dataset.Dataset {
		return dataset.FromTensors(s, args[0]).Repeat(2)
	})
	if diff := cmp.Diff(values(1, 1, 2, 2, 3, 3), all(t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
}

func TestNestedFunctions(t *testing.T) {
	// A function within the function, captures through both, and an Assert.
	s := newScope(t)
	limit := s.Const(int64(21))
	d := dataset.Range(s, 1, 4, 1).FlatMap("outer", func(s *graph.Scope, outer outs) *dataset.Dataset {
		ten := s.Const(int64(10))
		return dataset.Range(s, 0, 2, 1).Map("inner", func(s *graph.Scope, inner outs) outs {
			v := graph.Add(s, graph.Mul(s, outer[0], ten), inner[0])
			graph.Assert(s, graph.LessEqual(s, v, limit), outs{s.Const("too large"), v}, nil)
			return outs{v}
		}, nil).Filter("all", func(s *graph.Scope, args outs) out { return s.Const(true) })
	})
	got, err := tryAll(t, d)
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("error\n got %v\nwant the Assert's", err)
	}
	if diff := cmp.Diff(values(10, 11, 20, 21), got); diff != "" {
		t.Errorf("elements before (-want +got)\n%s", diff)
	}
}

func TestCapturedDataset(t *testing.T) {
	s := newScope(t)
	letters := dataset.FromSlices(s, s.Const([]string{"a", "b"}))
	d := dataset.Range(s, 0, 2, 1).FlatMap("f", func(s *graph.Scope, args outs) *dataset.Dataset {
		return dataset.Zip(s, dataset.FromTensors(s, args[0]).Repeat(-1), letters.In(s))
	})
	want := []any{[]any{int64(0), "a"}, []any{int64(0), "b"}, []any{int64(1), "a"}, []any{int64(1), "b"}}
	if diff := cmp.Diff(want, all(t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
}

func TestMistakesInFunctions(t *testing.T) {
	tests := []struct {
		name  string
		build func(d *dataset.Dataset) *dataset.Dataset
		want  string
	}{
		{"nil dataset", func(d *dataset.Dataset) *dataset.Dataset {
			return d.FlatMap("f", func(*graph.Scope, []tfbridge.Output) *dataset.Dataset { return nil })
		}, `function "f" returned no dataset`},
		{"nothing returned", func(d *dataset.Dataset) *dataset.Dataset {
			return d.Map("f", func(*graph.Scope, []tfbridge.Output) []tfbridge.Output { return nil }, nil)
		}, "MapDataset"},
		{"types", func(d *dataset.Dataset) *dataset.Dataset {
			return d.Map("f", func(s *graph.Scope, args outs) outs { return outs{graph.Add(s, args[0], s.Const("x"))} }, nil)
		}, `function "f": add operation "AddV2"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			d := tt.build(dataset.Range(s, 0, 3, 1))
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n got %v\nwant one with %q", err, tt.want)
			}
			// All following calls do nothing, and do not crash.
			d = d.Batch(2, false).Shuffle(3, nil).Prefetch(1).Unbatch().Repeat(2).Concatenate(d).WithOptions(nil)
			d = dataset.Zip(s, d, d.PaddedBatch(2, nil)).Window(s.Const(int64(2)), nil).Cache("").Enumerate(0)
			d = d.Interleave("f", nil, nil).Map("g", nil, nil).Filter("h", nil).Scan("i", nil, nil)
			d = d.ParseExample(&graph.ExampleFeatures{}, nil).AssertCardinality(d.Cardinality())
			if d.Variant().Op != nil {
				t.Errorf("a dataset after an error: %v", d.Variant())
			}
			if _, err := tryAll(t, d); err != s.Err() {
				t.Errorf("All\n got %v\nwant %v", err, s.Err())
			}
		})
	}
}

func TestAssertInOtherFunctions(t *testing.T) {
	tests := map[string]func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset{
		"Filter": func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.Filter("f", func(s *graph.Scope, args outs) out { notThree(s, args); return s.Const(true) })
		},
		"TakeWhile": func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.TakeWhile("f", func(s *graph.Scope, args outs) out { notThree(s, args); return s.Const(true) })
		},
		"FlatMap": func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.FlatMap("f", func(s *graph.Scope, args outs) *dataset.Dataset {
				return dataset.FromTensors(s, notThree(s, args)...)
			})
		},
		"Interleave": func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.Interleave("f", func(s *graph.Scope, args outs) *dataset.Dataset {
				return dataset.FromTensors(s, notThree(s, args)...)
			}, &dataset.InterleaveOptions{CycleLength: 2, Parallel: 2})
		},
		"Scan": func(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
			return d.Scan("f", outs{s.Const("state")}, func(s *graph.Scope, state, args outs) (outs, outs) {
				return state, notThree(s, args)
			})
		},
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			got, err := tryAll(t, build(s, dataset.Range(s, 0, 6, 1)))
			if err == nil || !strings.Contains(err.Error(), "three is bad:") {
				t.Errorf("error\n got %v\nwant the Assert's", err)
			}
			if diff := cmp.Diff(values(0, 1, 2), got); diff != "" {
				t.Errorf("elements before (-want +got)\n%s", diff)
			}
		})
	}
}
