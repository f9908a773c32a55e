package dataset_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// savable are pipelines of one transformation each, of at least three elements, whose
// iterators can be saved at any point. Files is a directory with a.txt and b.txt, of
// three lines each, and scratch a directory for new files.
func savable(files, scratch string) map[string]func(s *graph.Scope) *dataset.Dataset {
	text := filepath.Join(files, "a.txt")
	ten := func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 0, 10, 1) }
	builds := map[string]func(s *graph.Scope) *dataset.Dataset{
		"TextLines": func(s *graph.Scope) *dataset.Dataset {
			return dataset.TextLines(s, s.Const([]string{text, filepath.Join(files, "b.txt")}), nil)
		},
		"FixedLengthRecords": func(s *graph.Scope) *dataset.Dataset {
			return dataset.FixedLengthRecords(s, s.Const(text), 2, nil)
		},
		"CSV": func(s *graph.Scope) *dataset.Dataset {
			return dataset.CSV(s, s.Const(text), []dataset.CSVField{{Name: "n", DType: tfbridge.Int64}}, nil)
		},
		"Files": func(s *graph.Scope) *dataset.Dataset {
			return dataset.Files(s, s.Const(filepath.Join(files, "*.txt")), &dataset.FilesOptions{Shuffle: true, Seed: 3}).Repeat(3)
		},
		"Random": func(s *graph.Scope) *dataset.Dataset {
			return dataset.Random(s, &dataset.RandomOptions{Seed: 3}).Take(5)
		},
		"RandomVary": func(s *graph.Scope) *dataset.Dataset {
			return dataset.Random(s, &dataset.RandomOptions{Seed: 3, Vary: true}).Take(3).Repeat(2)
		},
		"Generate":  fibonacci,
		"FromRows":  func(s *graph.Scope) *dataset.Dataset { return dataset.FromRows(s, []string{"a", "b", "c", "d"}) },
		"Map":       func(s *graph.Scope) *dataset.Dataset { return ten(s).Map("double", double, nil) },
		"Parallel":  func(s *graph.Scope) *dataset.Dataset { return ten(s).MapParallel("double", 2, double) },
		"Filter":    func(s *graph.Scope) *dataset.Dataset { return ten(s).Filter("odd", odd) },
		"TakeWhile": func(s *graph.Scope) *dataset.Dataset { return ten(s).TakeWhile("all", always) },
		"Scan":      func(s *graph.Scope) *dataset.Dataset { return sums(s, ten(s)) },
		"FlatMap":   func(s *graph.Scope) *dataset.Dataset { return ten(s).FlatMap("tens", tens) },
		"Interleave": func(s *graph.Scope) *dataset.Dataset {
			return ten(s).Interleave("tens", tens, &dataset.InterleaveOptions{CycleLength: 3})
		},
		"InterleaveParallel": func(s *graph.Scope) *dataset.Dataset {
			return ten(s).Interleave("tens", tens, &dataset.InterleaveOptions{CycleLength: 3, Parallel: 2})
		},
		"Batch":         func(s *graph.Scope) *dataset.Dataset { return ten(s).Batch(3, false) },
		"BatchParallel": func(s *graph.Scope) *dataset.Dataset { return ten(s).BatchParallel(3, false, 2) },
		"PaddedBatch":   func(s *graph.Scope) *dataset.Dataset { return varied(s, 8).PaddedBatch(2, nil) },
		"RaggedBatch":   func(s *graph.Scope) *dataset.Dataset { return varied(s, 8).RaggedBatch(2, false) },
		"SparseBatch":   func(s *graph.Scope) *dataset.Dataset { return varied(s, 8).SparseBatch(2, []int64{-1}) },
		"Unbatch":       func(s *graph.Scope) *dataset.Dataset { return ten(s).Batch(3, false).Unbatch() },
		"Rebatch":       func(s *graph.Scope) *dataset.Dataset { return ten(s).Batch(4, false).Rebatch(3, false) },
		"Window":        windows,
		"GroupByWindow": func(s *graph.Scope) *dataset.Dataset {
			return ten(s).GroupByWindow("parity", &dataset.Grouping{Key: key, Size: two, Reduce: batches})
		},
		"GroupByReducer": parity["group_by_reducer"],
		"BucketByLength": parity["bucket"],
		"Take":           func(s *graph.Scope) *dataset.Dataset { return ten(s).Take(5) },
		"Skip":           func(s *graph.Scope) *dataset.Dataset { return ten(s).Skip(5) },
		"Shard":          func(s *graph.Scope) *dataset.Dataset { return ten(s).Shard(3, 0) },
		"Zip":            func(s *graph.Scope) *dataset.Dataset { return dataset.Zip(s, ten(s), ten(s).Skip(2)) },
		"Concatenate":    func(s *graph.Scope) *dataset.Dataset { return ten(s).Take(2).Concatenate(ten(s).Take(2)) },
		"Enumerate":      func(s *graph.Scope) *dataset.Dataset { return ten(s).Enumerate(4) },
		"Sample":         parity["sample"],
		"RejectionResample": func(s *graph.Scope) *dataset.Dataset {
			return dataset.Range(s, 0, 40, 1).RejectionResample("r", tenth, []float64{1, 1}, &dataset.ResampleOptions{Seed: 3})
		},
		"SampleStop": parity["sample_uniform_stop"],
		"Choose":     parity["choose"],
		"Shuffle": func(s *graph.Scope) *dataset.Dataset {
			return ten(s).Shuffle(4, &dataset.ShuffleOptions{Seed: 2}).Repeat(2)
		},
		"GlobalShuffle": func(s *graph.Scope) *dataset.Dataset { return ten(s).GlobalShuffle(&dataset.ShuffleOptions{Seed: 2}) },
		"Repeat":        func(s *graph.Scope) *dataset.Dataset { return ten(s).Take(2).Repeat(3) },
		"Cache":         func(s *graph.Scope) *dataset.Dataset { return ten(s).Take(3).Cache("").Repeat(3) },
		"CacheFile": func(s *graph.Scope) *dataset.Dataset {
			return ten(s).Take(3).Cache(filepath.Join(scratch, "cache")).Repeat(3)
		},
		"Prefetch":          func(s *graph.Scope) *dataset.Dataset { return ten(s).Prefetch(3) },
		"Unique":            parity["unique"],
		"IgnoreErrors":      func(s *graph.Scope) *dataset.Dataset { return ten(s).IgnoreErrors() },
		"AssertCardinality": func(s *graph.Scope) *dataset.Dataset { return ten(s).AssertCardinality(s.Const(int64(10))) },
		"WithOptions":       func(s *graph.Scope) *dataset.Dataset { return ten(s).WithOptions(&dataset.Options{PrivateThreads: 1}) },
		"Structured": func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromRows(s, everyKind()).Shuffle(2, &dataset.ShuffleOptions{Seed: 1})
		},
		"Load": func(s *graph.Scope) *dataset.Dataset { return dataset.Load(s, "testdata/parity/saved", nil) },
	}
	return builds
}

// textFiles returns the directory that savable reads.
func textFiles(t *testing.T) string {
	t.Helper()
	files := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(files, name), []byte("1\n2\n3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// A restored iterator continues with the same elements, whatever was read before.
func TestSaveAndRestoreEach(t *testing.T) {
	for name, build := range savable(textFiles(t), t.TempDir()) {
		t.Run(name, func(t *testing.T) {
			whole := start(t, build).parts(100)
			if len(whole) < 2 {
				t.Fatalf("%d elements", len(whole))
			}
			first, second := start(t, build), start(t, build)
			for n := 0; ; n++ {
				state, err := first.it.SaveState(t.Context(), first.sess)
				if err != nil {
					t.Fatal(err)
				}
				if n%2 == 1 || n == len(whole) { // skips some points to save time
					if err := second.it.RestoreState(t.Context(), second.sess, state); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(whole[n:], second.parts(100)); diff != "" {
						t.Fatalf("rest after %d elements (-want +got)\n%s", n, diff)
					}
				}
				if len(first.parts(1)) == 0 {
					return
				}
			}
		})
	}
}

func fibonacci(s *graph.Scope) *dataset.Dataset {
	first := outs{s.Const(int64(1)), s.Const(int64(1))}
	return dataset.Generate(s, "fibonacci", first, func(s *graph.Scope, at outs) (outs, outs, out) {
		return outs{at[1], graph.Add(s, at[0], at[1])}, outs{at[0]}, graph.Less(s, at[0], s.Const(int64(50)))
	})
}

func odd(s *graph.Scope, args outs) out { return graph.Equal(s, key(s, args), s.Const(int64(1))) }

func always(s *graph.Scope, args outs) out { return s.Const(true) }

func key(s *graph.Scope, args outs) out { return graph.FloorMod(s, args[0], s.Const(int64(2))) }

func two(s *graph.Scope, key out) out { return s.Const(int64(2)) }

func batches(s *graph.Scope, key out, window *dataset.Dataset) *dataset.Dataset {
	return window.Batch(2, false)
}

func sums(s *graph.Scope, d *dataset.Dataset) *dataset.Dataset {
	return dataset.ScanOf(d, "sums", int64(0), func(s *graph.Scope, sum, x out) (out, out) {
		next := graph.Add(s, sum, x)
		return next, next
	})
}
