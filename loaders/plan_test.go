package loaders_test

import (
	"path/filepath"
	"strings"
	"testing"

	"millrace/loaders"
	"millrace/tfbridge"
	"millrace/tfrecord"

	"github.com/google/go-cmp/cmp"
)

// TestPlan compares the whole plan of a config that has every key.
func TestPlan(t *testing.T) {
	manifest := strings.Replace(fullManifest, `"features": [`,
		`"features": [{"name": "y", "dtype": "string", "shape": [2], "var_len": true, "deserialize_type": "string"},`, 1)
	loader := strings.NewReplacer(
		`{"from_name": "x", "to_name": "x"}`, `{"from_name": "x", "to_name": "x"}, {"from_name": "y", "to_name": "s"}, {"from_name": "x", "to_name": "again"}`,
		`"shape": [2], "dtype": "int8"`, `"shape": "s", "dtype": "x"`,
		`"slice": "[:]"`, `"slice": "[1:-1]"`, `"batch_by_elements": 3,`, ``,
	).Replace(fullLoader)
	config := dataset(t, loader, manifest)
	got, problems := loaders.Check(config, nil)
	if got == nil {
		t.Fatal(problems)
	}
	dir := filepath.Dir(config)
	one, minusOne := int64(1), int64(-1)
	x := &loaders.Feature{Name: "x", Kind: loaders.Raw, DType: tfbridge.Int32, Shape: []int64{}, VarLen: true, Endian: "big", Len: 1, Index: 1}
	y := &loaders.Feature{Name: "y", Kind: loaders.String, DType: tfbridge.String, Shape: []int64{2}, VarLen: true, Len: 1, Index: 0}
	spec := func(name string, d tfbridge.DataType, shape ...int64) loaders.TensorSpec {
		return loaders.TensorSpec{Name: name, DType: d, Shape: shape}
	}
	want := &loaders.Plan{
		Path: config, ManifestPath: filepath.Join(dir, "data", "__manifest__.json"), Type: loaders.ContinuousSequence,
		Manifest:  &loaders.ManifestPlan{Compression: tfrecord.GZIP, AllowVarLen: true, SHA256: got.Manifest.SHA256},
		Files:     []loaders.DataFile{{Path: filepath.Join(dir, "data", "a.tfrecords")}},
		BatchSize: 2, Epochs: 1, ParallelReads: 1, ParallelParses: 1, InterleaveIn: 1, InterleaveOut: 1, Seed: 1, SeedGiven: true,
		Shuffle:   &loaders.ShufflePlan{Elements: 1, Filenames: 1, MixFiles: 1},
		Features:  []*loaders.Feature{y, x},
		Primaries: []loaders.Primary{{From: x, To: "x"}, {From: y, To: "s"}, {From: x, To: "again"}},
		Secondaries: []loaders.Const{
			{To: "c", ShapeFrom: "s", Shape: []int64{-1, 2}, DType: tfbridge.Int32, Value: int64(1)},
		},
		Steps: []loaders.Slice{{
			Tensor: "x", Text: "[1:-1]", Indices: []loaders.SliceIndex{{Begin: &one, End: &minusOne}},
			In: spec("x", tfbridge.Int32, -1), Out: spec("x", tfbridge.Int32, -1),
		}},
		Padding: []loaders.Pad{
			{Tensor: "x", Shape: []int64{-1}, Value: int64(1)},
			{Tensor: "s", Shape: []int64{-1, -1}, Value: ""},
			{Tensor: "again", Shape: []int64{-1}, Value: int64(0)},
			{Tensor: "c", Shape: []int64{-1, -1}, Value: int64(0)},
			{Tensor: "n", Shape: []int64{}, Value: int64(0)},
			{Tensor: "m", Shape: []int64{-1}, Value: false},
		},
		Measures: []loaders.Measure{
			{To: "n", Kind: loaders.Lengths, Tensor: "x"}, {To: "m", Kind: loaders.Mask, Tensor: "x"},
		},
		Bucket: &loaders.Bucket{Tensor: "x", Boundaries: []int64{1, 2}, Sizes: []int64{2, 2, 2}},
		Window: &loaders.Window{Min: 1, Max: 2, Stride: 1, Tail: "keep"},
		Tensors: []loaders.TensorSpec{
			spec("x", tfbridge.Int32, -1), spec("s", tfbridge.String, -1, 2), spec("again", tfbridge.Int32, -1), spec("c", tfbridge.Int32, -1, 2),
			{Name: "n", DType: tfbridge.Int64, Shape: []int64{}}, spec("m", tfbridge.Bool, -1),
		},
	}
	got.NativeLibrary = "" // it depends on what is built
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
	if got.Primaries[0].From != got.Primaries[2].From || got.Primaries[0].From != got.Features[1] {
		t.Error("a feature that is read under two names is not one feature")
	}
}
