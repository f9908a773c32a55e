package dataset_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// parity lists pipelines by the names of the same pipelines in
// testdata/parity/dataset.py.
var parity = map[string]func(s *graph.Scope) *dataset.Dataset{
	"shuffle": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 10, 1).Shuffle(4, &dataset.ShuffleOptions{Seed: dataset.DefaultSeed, Seed2: 3})
	},
	"random": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Random(s, &dataset.RandomOptions{Seed: dataset.DefaultSeed, Seed2: 5}).Take(4)
	},
	"sample": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Sample(s, ranges(s, 0, 8, 100, 108, 200, 208),
			&dataset.SampleOptions{Weights: []float64{0.5, 0.3, 0.2}, Seed: dataset.DefaultSeed, Seed2: 7})
	},
	"sample_uniform_stop": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Sample(s, ranges(s, 0, 3, 100, 108), &dataset.SampleOptions{Seed: dataset.DefaultSeed, Seed2: 9, StopOnEmpty: true})
	},
	"choose": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Choose(s, choices(s), ranges(s, 0, 3, 10, 13, 20, 23), &dataset.ChooseOptions{StopOnEmpty: true})
	},
	"choose_skip": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Choose(s, choices(s), ranges(s, 0, 3, 10, 13, 20, 23), nil)
	},
	"ragged_batch":       func(s *graph.Scope) *dataset.Dataset { return varied(s, 6).RaggedBatch(2, false) },
	"ragged_batch_twice": func(s *graph.Scope) *dataset.Dataset { return varied(s, 6).RaggedBatch(2, false).Batch(2, false) },
	"ragged_batch_rank2": raggedRank2,
	"sparse_batch":       func(s *graph.Scope) *dataset.Dataset { return varied(s, 6).SparseBatch(2, []int64{6}) },
	"sparse_batch_rebatched": func(s *graph.Scope) *dataset.Dataset {
		return varied(s, 6).SparseBatch(2, []int64{6}).Unbatch().Batch(3, false)
	},
	"sparse_batched_batched": func(s *graph.Scope) *dataset.Dataset {
		return dataset.MapOf(dataset.Range(s, 0, 6, 1), "sparse", func(s *graph.Scope, i out) graph.SparseTensor {
			at := graph.Reshape(s, graph.FloorMod(s, i, s.Const(int64(3))), s.Const([]int64{1, 1}))
			return graph.SparseTensor{Indices: at, Values: graph.Cast(s, graph.ExpandDims(s, i, 0), tfbridge.Int32), Shape: s.Const([]int64{4})}
		}, nil).Batch(2, false).Batch(2, false)
	},
	"sparse_slices": func(s *graph.Scope) *dataset.Dataset {
		return dataset.FromColumns(s, dataset.Sparse[int32]{
			Indices: [][]int64{{0, 0}, {0, 2}, {2, 1}}, Values: []int32{1, 2, 3}, Shape: []int64{3, 3},
		})
	},
	"ragged_slices":         func(s *graph.Scope) *dataset.Dataset { return dataset.FromColumns(s, twiceRagged()) },
	"ragged_slices_batched": func(s *graph.Scope) *dataset.Dataset { return dataset.FromColumns(s, twiceRagged()).Batch(2, false) },
	"bucket": func(s *graph.Scope) *dataset.Dataset {
		return varied(s, 14).BucketByLength("b", &dataset.Buckets{Length: size, Boundaries: []int64{2, 5}, Sizes: []int64{2, 3, 4}})
	},
	"bucket_drop": func(s *graph.Scope) *dataset.Dataset {
		return varied(s, 14).BucketByLength("b", &dataset.Buckets{Length: size, Boundaries: []int64{2, 5}, Sizes: []int64{2, 3, 4}, Drop: true})
	},
	"bucket_boundary": func(s *graph.Scope) *dataset.Dataset {
		return varied(s, 6).BucketByLength("b", &dataset.Buckets{Length: size, Boundaries: []int64{2, 6}, Sizes: []int64{2, 2, 4}, ToBoundary: true})
	},
	"group_by_reducer": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 10, 1).GroupByReducer("sum", &dataset.Reducer{
			Key:  func(s *graph.Scope, args outs) out { return graph.FloorMod(s, args[0], s.Const(int64(3))) },
			Init: func(s *graph.Scope, key out) outs { return outs{s.Const(int64(0))} },
			Reduce: func(s *graph.Scope, state, args outs) outs {
				return outs{graph.Add(s, state[0], args[0])}
			},
		})
	},
	"unique": func(s *graph.Scope) *dataset.Dataset {
		return dataset.FromRows(s, []int32{3, 1, 3, 2, 1, 5}).Unique()
	},
	"rebatch": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 7, 1).Batch(3, false).Rebatch(2, false)
	},
	"window":       windows,
	"window_pairs": windowPairs,
	"enumerate_nested": func(s *graph.Scope) *dataset.Dataset {
		return dataset.FromColumns(s, map[string]any{"b": []int32{1, 2}, "a": []string{"x", "y"}}).Enumerate(5)
	},
	"scan": func(s *graph.Scope) *dataset.Dataset {
		return dataset.ScanOf(dataset.Range(s, 0, 5, 1), "sum", int64(0), func(s *graph.Scope, state, x out) (out, out) {
			return graph.Add(s, state, x), graph.Mul(s, state, x)
		})
	},
	"shard": func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 0, 10, 1).Shard(3, 1) },
	"interleave": func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 4, 1).Interleave("i", tens, &dataset.InterleaveOptions{CycleLength: 2, BlockLength: 2})
	},
	"padded": func(s *graph.Scope) *dataset.Dataset {
		return dataset.MapOf(dataset.Range(s, 1, 5, 1), "fields", func(s *graph.Scope, i out) map[string]out {
			return map[string]out{"v": graph.Fill(s, graph.ExpandDims(s, i, 0), i), "n": i}
		}, nil).PaddedBatch(2, &dataset.PaddedBatchOptions{Values: outs{{}, s.Const(int64(-1))}})
	},
}

// ranges returns datasets of numbers from each first up to each second.
func ranges(s *graph.Scope, bounds ...int64) []*dataset.Dataset {
	var all []*dataset.Dataset
	for i := 0; i < len(bounds); i += 2 {
		all = append(all, dataset.Range(s, bounds[i], bounds[i+1], 1))
	}
	return all
}

func choices(s *graph.Scope) *dataset.Dataset {
	return dataset.FromRows(s, []int64{2, 0, 1, 1, 2, 0, 0, 0, 2, 1})
}

// varied returns the vectors [1], [2 2], [3 3 3] and so on, up to n - 1 elements.
func varied(s *graph.Scope, n int64) *dataset.Dataset {
	return dataset.Range(s, 1, n, 1).Map("repeat", func(s *graph.Scope, args outs) outs {
		return outs{graph.Fill(s, graph.ExpandDims(s, args[0], 0), args[0])}
	}, nil)
}

func size(s *graph.Scope, args outs) out { return graph.Size(s, args[0]) }

func tens(s *graph.Scope, args outs) *dataset.Dataset {
	return dataset.Range(s, 0, 3, 1).Map("add", func(s *graph.Scope, i outs) outs {
		return outs{graph.Add(s, i[0], graph.Mul(s, args[0], s.Const(int64(10))))}
	}, nil)
}

func raggedRank2(s *graph.Scope) *dataset.Dataset {
	return dataset.Range(s, 1, 4, 1).Map("fill", func(s *graph.Scope, args outs) outs {
		i := args[0]
		shape := graph.Pack(s, outs{i, s.Const(int64(2)), graph.Add(s, i, s.Const(int64(1)))}, 0)
		x := graph.Fill(s, shape, i)
		return outs{graph.EnsureShape(s, x, tfbridge.MakeShape(-1, 2, -1))}
	}, nil).RaggedBatch(2, false)
}

func twiceRagged() dataset.Ragged[int32] {
	return dataset.Ragged[int32]{Splits: [][]int64{{0, 2, 2, 5}, {0, 1, 3, 6, 6, 7}}, Values: []int32{1, 2, 3, 4, 5, 6, 7}}
}

func windows(s *graph.Scope) *dataset.Dataset {
	d := dataset.Range(s, 0, 7, 1)
	w := d.Window(s.Const(int64(3)), &dataset.WindowOptions{Shift: s.Const(int64(2))})
	return w.FlatMap("batch", func(s *graph.Scope, args outs) *dataset.Dataset {
		return d.ZipWindow(s, args).Batch(3, false)
	})
}

func windowPairs(s *graph.Scope) *dataset.Dataset {
	w := dataset.Zip(s, ranges(s, 0, 5, 10, 15)...).Window(s.Const(int64(2)), nil)
	return w.FlatMap("pairs", dataset.DatasetOf(w, func(s *graph.Scope, pair []*dataset.Dataset) *dataset.Dataset {
		return dataset.Zip(s, pair[0].Batch(2, false), pair[1].Batch(2, false))
	}))
}

// recorded returns Python's results by the names of pipelines.
func recorded(t *testing.T, file string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("testdata/parity/" + file)
	if err != nil {
		t.Fatal(err)
	}
	elements := map[string]any{}
	if err := json.Unmarshal(raw, &elements); err != nil {
		t.Fatal(err)
	}
	return elements
}

func TestParity(t *testing.T) {
	recorded := recorded(t, "dataset.json")
	for name, build := range parity {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			d := build(s)
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			want, ok := recorded[name]
			if !ok {
				t.Fatal("nothing was recorded")
			}
			if diff := cmp.Diff(want, plain(t, collect[any](t, d))); diff != "" {
				t.Errorf("elements of %v (-Python +got)\n%s", d.Spec(), diff)
			}
		})
	}
}

// plain returns elements as JSON has them, ragged tensors as lists.
func plain(t testing.TB, v any) any {
	t.Helper()
	text, err := json.Marshal(bare(v))
	if err != nil {
		t.Fatal(err)
	}
	var back any
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func bare(v any) any {
	switch v := v.(type) {
	case []any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = bare(v[i])
		}
		return items
	case map[string]any:
		fields := map[string]any{}
		for key, x := range v {
			fields[key] = bare(x)
		}
		return fields
	case dataset.Sparse[int64]:
		return map[string]any{"indices": v.Indices, "values": v.Values, "shape": v.Shape}
	case dataset.Sparse[string]:
		return map[string]any{"indices": v.Indices, "values": v.Values, "shape": v.Shape}
	case dataset.Sparse[int32]:
		return map[string]any{"indices": v.Indices, "values": v.Values, "shape": v.Shape}
	case dataset.Ragged[int64]:
		return nested(v.Splits, v.Values)
	case dataset.Ragged[int32]:
		return nested(v.Splits, v.Values)
	}
	return v
}

// nested returns a ragged tensor as lists of lists.
func nested[T any](splits [][]int64, values []T) any {
	level := make([]any, len(values))
	for i := range values {
		level[i] = values[i]
	}
	for i := len(splits) - 1; i >= 0; i-- {
		rows := make([]any, len(splits[i])-1)
		for row := range rows {
			rows[row] = append([]any{}, level[splits[i][row]:splits[i][row+1]]...)
		}
		level = rows
	}
	return level
}
