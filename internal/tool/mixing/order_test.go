package mixing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
)

// newDataset returns a dataset with counts[i] records in file i. Their "id" numbers all
// records.
func newDataset(t *testing.T, args fixture.Object, counts ...int64) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	first := int64(0)
	for i, n := range counts {
		d.WriteRecords(t, fmt.Sprintf("%d.tfrecords", i), fixture.Records(first, first+n)...)
		first += n
	}
	d.Args["seed"] = 5
	maps.Copy(d.Args, args)
	d.Save(t)
	return d
}

// checked returns the plan of a dataset.
func checked(t *testing.T, d *fixture.Dataset) *loaders.Plan {
	t.Helper()
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	return plan
}

// buffers returns arguments that shuffle in buffers.
func buffers(elements, names, mix int) fixture.Object {
	return fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": elements, "num_filenames_shuffle_buffer": names, "num_mix_files": mix}
}

// The measured order is the order in which the loader delivers the records, and the
// copy of the dataset is removed afterwards.
func TestOrderIsTheLoaders(t *testing.T) {
	testruntime.Need(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	sharded := fixture.Object{"shuffle": true, "shuffle_mode": "exact", "shard": fixture.Object{"count": 3, "index": 1}}
	for name, args := range map[string]fixture.Object{
		"files in order":  {},
		"buffers":         buffers(6, 3, 2),
		"file names only": buffers(1, 4, 1),
		"exact, a shard":  sharded,
		"a range":         {"range": fixture.Object{"start": 3, "end": 31}},
		"blocks":          {"shuffle": true, "shuffle_mode": "block", "num_shuffle_buffer_elements": 64},
	} {
		t.Run(name, func(t *testing.T) {
			plan := checked(t, newDataset(t, args, 7, 0, 20, 13))
			loader, err := loaders.OpenPlan(plan, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer loader.Close()
			var want []int64
			for batch, err := range loader.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, batch.Tensor("id").Value().([]int64)...)
			}
			got, err := epochOrder(t.Context(), plan, loader.Scan(), nil)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v\nwant %v", got, err, want)
			}
		})
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
}

// Configs that cannot be measured are refused with the responsible key.
func TestRefused(t *testing.T) {
	window := newDataset(t, fixture.Object{"min_window": 2, "max_window": 2, "primary_features": []fixture.Object{{"from_name": "xs", "to_name": "xs"}}}, 4)
	window.Type = "discrete_sequence"
	window.Save(t)
	bucket := fixture.Object{"padding": true, "bucket_by_length": fixture.Object{"tensor": "xs", "axis": 0, "boundaries": []int{1}}}
	bucketed := newDataset(t, bucket, 4)
	bucketed.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "xs", "dtype": "float32", "shape": []int{-1}, "deserialize_type": "float"},
	}
	bucketed.Save(t)
	for key, d := range map[string]*fixture.Dataset{
		"type":                  window,
		"args.bucket_by_length": bucketed,
		"":                      newDataset(t, nil, 1),
	} {
		var e *millrace.Error
		if r, err := Measure(t.Context(), checked(t, d), nil); !errors.As(err, &e) || e.Key != key {
			t.Errorf("got %v, %v; want an error about the key %q", r, err, key)
		}
	}
}

// A context that has ended stops the writing of the copy and the computing of an order.
func TestCanceled(t *testing.T) {
	for _, args := range []fixture.Object{buffers(6, 3, 2), {"shuffle": true, "shuffle_mode": "exact"}} {
		plan := checked(t, newDataset(t, args, 7, 20))
		scan, err := plan.Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if order, err := epochOrder(ctx, plan, scan, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v; want that it was canceled", order, err)
		}
	}
}
