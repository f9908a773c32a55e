package export_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"millrace/dtype"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/export"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

const tables = "../../testdata/models/tables"

// numbered gives 0, 1, 2 and so on in batches of two, each number with the word "0",
// "1" or "2".
func numbered() estimator.Source {
	return estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 1000, 1).Map("number", func(s *graph.Scope, n []tfbridge.Output) []tfbridge.Output {
			word := s.Op1("AsString", nil, graph.FloorMod(s, n[0], s.Const(int64(3))))
			return []tfbridge.Output{word, n[0]}
		}, nil).Batch(2, true)
	}, "word", "id")
}

// Changes of tables in a training are in its checkpoints, as of one moment, and in the
// export. Tables made from assets do not change.
func TestTables(t *testing.T) {
	checkpoints := t.TempDir()
	// The second training resumes with another model object. It reads its data from the
	// start again, because this source cannot save its position.
	for _, steps := range []int64{6, 7} {
		m, err := estimator.LoadModel(tables, &estimator.ModelOptions{Signatures: []string{"train"}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := estimator.Train(t.Context(), m, numbered(), checkpoints, &estimator.TrainOptions{Steps: steps, CheckpointEvery: 3})
		m.Close()
		if err != nil || r.Step != steps {
			t.Fatal(r, err)
		}
	}
	wantKeys(t, filepath.Join(checkpoints, "ckpt-3"), []int64{0, 1, 2, 3, 4, 5})
	wantKeys(t, filepath.Join(checkpoints, "ckpt-7"), []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	c, err := checkpoint.Load(checkpoints, 7)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "export")
	if err := export.Write(tables, c, out); err != nil {
		t.Fatal(err)
	}
	m, err := graph.LoadModel(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got, err := m.Call(t.Context(), "serving_default", map[string]any{"word": []string{"0", "1", "2", "a", "b"}, "id": []int64{0, 3, 5, 7, 12}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, v := range got {
			v.Close()
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		switch name {
		case "count": // counts of the numbers 0 to 11, 0 and 1, modulo 3; the model had "a" before
			wantValues(t, name, got[name], []int64{5, 5, 4, 7, 0})
		case "value": // 5 had 0.5 before; 12 was not there
			wantValues(t, name, got[name], []float32{0, 1.5, 2.5, 3.5, -1})
		case "known": // the numbers are not in the vocabulary
			wantValues(t, name, got[name], []int64{2, 2, 2, 0, 1})
		}
	}
	if len(got) != 3 {
		t.Errorf("%d outputs, want 3", len(got))
	}
}

// wantKeys compares the keys of the table of numbers, without empty places.
func wantKeys(t *testing.T, prefix string, want []int64) {
	t.Helper()
	read, err := checkpoint.ReadTensors(prefix, []dtype.TensorSpec{{Name: "values/.ATTRIBUTES/table-keys", DType: dtype.Int64}})
	if err != nil {
		t.Fatal(err)
	}
	defer read[0].Close()
	keys, err := tfbridge.View[int64](read[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, k := range keys {
		if k >= 0 {
			got = append(got, k)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s has the keys %v, want %v", filepath.Base(prefix), got, want)
	}
}

func wantValues[T int64 | float32](t *testing.T, name string, got *tfbridge.Tensor, want []T) {
	t.Helper()
	if v, err := tfbridge.View[T](got); err != nil || !slices.Equal(v, want) {
		t.Errorf("%s: %v, %v, want %v", name, v, err, want)
	}
}
