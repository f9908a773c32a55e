package dataset_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// nothings returns five elements that are tensors of zeros, of a static or unknown
// shape.
func nothings(s *graph.Scope, dt tfbridge.DataType, known bool, dims ...int64) *dataset.Dataset {
	return dataset.Range(s, 0, 5, 1).Map("zeros", func(s *graph.Scope, args outs) outs {
		x := graph.Fill(s, s.Const(dims), s.Zeros(dt))
		if !known {
			x = graph.Reshape(s, x, graph.Add(s, s.Const(dims), graph.Mul(s, args[0], s.Const(int64(0)))))
		}
		return outs{x}
	}, nil)
}

// lives lists, for every operation that accepts some, elements without bytes and absurd
// numbers.
func lives() []life {
	all := append(livesWithoutBytes(), livesOfNumbers()...)
	slices.SortStableFunc(all, func(a, b life) int { return strings.Compare(a.name, b.name) })
	return all
}

func livesWithoutBytes() []life {
	var all []life
	over := func(name string, then func(*dataset.Dataset) *dataset.Dataset, dims ...int64) {
		for _, dt := range []tfbridge.DataType{tfbridge.Float, tfbridge.String, tfbridge.Bool} {
			for _, known := range []bool{true, false} {
				all = append(all, life{fmt.Sprintf("%s of %v%v, known %v", name, dt, dims, known), func(s *graph.Scope, _ func(int64) out) *dataset.Dataset {
					return then(nothings(s, dt, known, dims...))
				}})
			}
		}
	}
	for _, dims := range [][]int64{{3, 0}, {0, 3}, {0, 0}, {3, 2, 0}} {
		over("unbatch", (*dataset.Dataset).Unbatch, dims...)
		over("rebatch", func(d *dataset.Dataset) *dataset.Dataset { return d.Rebatch(2, false) }, dims...)
	}
	for _, dims := range [][]int64{{0}, {2, 0}} {
		over("batch", func(d *dataset.Dataset) *dataset.Dataset { return d.Batch(2, false) }, dims...)
		over("batch parallel", func(d *dataset.Dataset) *dataset.Dataset { return d.BatchParallel(2, false, 2) }, dims...)
		over("batch unbatch", func(d *dataset.Dataset) *dataset.Dataset { return d.Batch(2, false).Unbatch() }, dims...)
		over("padded batch", func(d *dataset.Dataset) *dataset.Dataset {
			return d.PaddedBatch(2, &dataset.PaddedBatchOptions{Shapes: [][]int64{slices.Repeat([]int64{-1}, len(dims))}})
		}, dims...)
		over("ragged batch", func(d *dataset.Dataset) *dataset.Dataset { return d.RaggedBatch(2, false) }, dims...)
		over("ragged batch unbatch", func(d *dataset.Dataset) *dataset.Dataset { return d.RaggedBatch(2, false).Unbatch() }, dims...)
		over("sparse batch", func(d *dataset.Dataset) *dataset.Dataset { return d.SparseBatch(2, dims) }, dims...)
		over("shuffle", func(d *dataset.Dataset) *dataset.Dataset { return d.Shuffle(3, nil) }, dims...)
		over("cache", func(d *dataset.Dataset) *dataset.Dataset { return d.Cache("") }, dims...)
		over("prefetch", func(d *dataset.Dataset) *dataset.Dataset { return d.Prefetch(2) }, dims...)
		over("unique", (*dataset.Dataset).Unique, dims...)
		over("window", func(d *dataset.Dataset) *dataset.Dataset {
			return d.Window(d.Scope().Const(int64(2)), nil).FlatMap("w", func(s *graph.Scope, args outs) *dataset.Dataset {
				return dataset.FromVariant(s, args[0], d.Specs()).Batch(2, false)
			})
		}, dims...)
	}
	return all
}

func livesOfNumbers() []life {
	var all []life
	for _, n := range []int64{math.MinInt64, -1, 0, 1 << 33, 1 << 60, math.MaxInt64} {
		for name, build := range fedLives() {
			all = append(all, life{fmt.Sprintf("%s fed %d", name, n), func(s *graph.Scope, feed func(int64) out) *dataset.Dataset {
				return build(dataset.Range(s, 0, 5, 1), feed(n))
			}})
		}
		for name, build := range numberLives() {
			all = append(all, life{fmt.Sprintf("%s %d", name, n), func(s *graph.Scope, _ func(int64) out) *dataset.Dataset {
				return build(dataset.Range(s, 0, 5, 1), n)
			}})
		}
	}
	return all
}

// fedLives are operations with a size that is fed.
func fedLives() map[string]func(d *dataset.Dataset, n out) *dataset.Dataset {
	return map[string]func(d *dataset.Dataset, n out) *dataset.Dataset{
		"batch":      func(d *dataset.Dataset, n out) *dataset.Dataset { return d.BatchOutput(n, false) },
		"batch drop": func(d *dataset.Dataset, n out) *dataset.Dataset { return d.BatchOutput(n, true) },
		"padded batch": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return d.PaddedBatch(4, &dataset.PaddedBatchOptions{Size: n})
		},
		"padded batch drop": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return d.PaddedBatch(4, &dataset.PaddedBatchOptions{Size: n, Drop: true})
		},
		"skip":   func(d *dataset.Dataset, n out) *dataset.Dataset { return d.SkipOutput(n) },
		"window": func(d *dataset.Dataset, n out) *dataset.Dataset { return d.Window(n, nil).FlatMap("w", inner) },
		"window shift": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return d.Window(d.Scope().Const(int64(2)), &dataset.WindowOptions{Shift: n}).FlatMap("w", inner)
		},
		"window stride": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return d.Window(d.Scope().Const(int64(2)), &dataset.WindowOptions{Stride: n}).FlatMap("w", inner)
		},
		"window all": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return d.Window(n, &dataset.WindowOptions{Stride: n, Shift: n}).FlatMap("w", inner)
		},
		"shuffle seeds":      func(d *dataset.Dataset, n out) *dataset.Dataset { return d.ShuffleOutput(3, n, n) },
		"assert cardinality": func(d *dataset.Dataset, n out) *dataset.Dataset { return d.AssertCardinality(n) },
		"at": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return dataset.FromTensors(d.Scope(), d.At(n)...)
		},
		"group": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return d.GroupByWindow("g", &dataset.Grouping{
				Key:    func(s *graph.Scope, args outs) out { return args[0] },
				Size:   func(s *graph.Scope, key out) out { return n },
				Reduce: func(s *graph.Scope, key out, w *dataset.Dataset) *dataset.Dataset { return w.Batch(2, false) },
			})
		},
		"group batch": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return d.GroupByWindow("g", &dataset.Grouping{
				Key:    func(s *graph.Scope, args outs) out { return n },
				Size:   func(s *graph.Scope, key out) out { return s.Const(int64(2)) },
				Reduce: func(s *graph.Scope, key out, w *dataset.Dataset) *dataset.Dataset { return w.BatchOutput(n, true) },
			})
		},
		"choose": func(d *dataset.Dataset, n out) *dataset.Dataset {
			return dataset.Choose(d.Scope(), d.Map("c", func(s *graph.Scope, _ outs) outs { return outs{n} }, nil), []*dataset.Dataset{d, d}, nil)
		},
	}
}

// numberLives are operations whose size is a Go number.
func numberLives() map[string]func(d *dataset.Dataset, n int64) *dataset.Dataset {
	return map[string]func(d *dataset.Dataset, n int64) *dataset.Dataset{
		"batch":               func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.Batch(n, false) },
		"batch drop":          func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.Batch(n, true) },
		"batch parallel":      func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.BatchParallel(n, false, 2) },
		"batch parallel drop": func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.BatchParallel(n, true, 2) },
		"padded batch":        func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.PaddedBatch(n, nil) },
		"padded batch drop": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.PaddedBatch(n, &dataset.PaddedBatchOptions{Drop: true})
		},
		"map batch": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.MapParallel("m", 2, double).Batch(n, false)
		},
		"map batch drop": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.MapParallel("m", 2, double).Batch(n, true)
		},
		"ragged batch": func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.RaggedBatch(n, true) },
		"sparse batch": func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.SparseBatch(n, []int64{}) },
		"sparse batch vectors": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.Batch(1, true).SparseBatch(n, []int64{-1})
		},
		"sparse batch wide": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.Batch(1, true).SparseBatch(2, []int64{max(n, -1)})
		},
		"rebatch":      func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.Batch(2, false).Rebatch(n, false) },
		"rebatch drop": func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.Batch(2, false).Rebatch(n, true) },
		"take":         (*dataset.Dataset).Take,
		"skip":         (*dataset.Dataset).Skip,
		"repeat":       (*dataset.Dataset).Repeat,
		"shard":        func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.Shard(n, 0) },
		"shard of":     func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.Shard(4, n) },
		"enumerate":    (*dataset.Dataset).Enumerate,
		"prefetch":     (*dataset.Dataset).Prefetch,
		"shuffle":      func(d *dataset.Dataset, n int64) *dataset.Dataset { return d.Shuffle(n, nil) },
		"shuffle seed": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.Shuffle(3, &dataset.ShuffleOptions{Seed: n, Seed2: n})
		},
		"global shuffle": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.GlobalShuffle(&dataset.ShuffleOptions{Seed: n, Seed2: n})
		},
		"range": func(d *dataset.Dataset, n int64) *dataset.Dataset { return dataset.Range(d.Scope(), 0, n, 1) },
		"range down": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return dataset.Range(d.Scope(), math.MaxInt64, n, -3)
		},
		"range step": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return dataset.Range(d.Scope(), math.MinInt64, math.MaxInt64, n)
		},
		"range shuffled": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return dataset.Range(d.Scope(), math.MinInt64, n, 1).GlobalShuffle(nil)
		},
		"counter": func(d *dataset.Dataset, n int64) *dataset.Dataset { return dataset.Counter(d.Scope(), n, n) },
		"random": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return dataset.Random(d.Scope(), &dataset.RandomOptions{Seed: n})
		},
		"interleave": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.Interleave("i", nest, &dataset.InterleaveOptions{CycleLength: n})
		},
		"interleave block": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.Interleave("i", nest, &dataset.InterleaveOptions{CycleLength: 2, BlockLength: n})
		},
		"interleave buffers": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.Interleave("i", nest, &dataset.InterleaveOptions{CycleLength: 2, Parallel: 2, InBuffer: n, OutBuffer: n, BlockLength: 1})
		},
		"interleave parallel block": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.Interleave("i", nest, &dataset.InterleaveOptions{CycleLength: 2, Parallel: 2, BlockLength: n})
		},
		"options": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.WithOptions(&dataset.Options{RAMBudget: n, Parallelism: n, MinParallelism: n})
		},
		"options threads": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.WithOptions(&dataset.Options{CPUBudget: int32(n >> 32), IntraOpThreads: int32(n >> 32)})
		},
		"private threads": func(d *dataset.Dataset, n int64) *dataset.Dataset {
			return d.WithOptions(&dataset.Options{PrivateThreads: int32(n >> 32)})
		},
	}
}

func inner(s *graph.Scope, args outs) *dataset.Dataset {
	return dataset.FromVariant(s, args[0], []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}})
}

func nest(s *graph.Scope, args outs) *dataset.Dataset { return dataset.Range(s, 0, 3, 1) }
