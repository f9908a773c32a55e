package loaders_test

import (
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/base/bytecheck"
	"millrace/loaders"
	"millrace/loaders/processing/tensors"
	"millrace/loaders/spec"
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
	x := &spec.Feature{Name: "x", Kind: spec.Raw, DType: tfbridge.Int32, Shape: []int64{}, VarLen: true, Endian: "big", Len: 1, Index: 1}
	y := &spec.Feature{Name: "y", Kind: spec.String, DType: tfbridge.String, Shape: []int64{2}, VarLen: true, Len: 1, Index: 0}
	tensor := func(name string, d tfbridge.DataType, shape ...int64) loaders.TensorSpec {
		return loaders.TensorSpec{Name: name, DType: d, Shape: shape}
	}
	want := &loaders.Plan{Spec: &spec.Spec{
		Path: config, ManifestPath: filepath.Join(dir, "data", "__manifest__.json"), Type: spec.ContinuousSequence,
		Manifest:  &spec.Manifest{Compression: tfrecord.GZIP, AllowVarLen: true, SHA256: got.Manifest.SHA256},
		Files:     []spec.DataFile{{Path: filepath.Join(dir, "data", "a.tfrecords"), Name: "a.tfrecords"}},
		BatchSize: 2, Epochs: 1, DecodeLimit: bytecheck.DefaultLimit, ParallelReads: 1, ParallelParses: 1, InterleaveIn: 1, InterleaveOut: 1, Seed: 1, SeedGiven: true,
		Shuffle:   &spec.Shuffle{Elements: 1, Filenames: 1, MixFiles: 1},
		Features:  []*spec.Feature{y, x},
		Primaries: []spec.Primary{{From: x, To: "x"}, {From: y, To: "s"}, {From: x, To: "again"}},
		Secondaries: []spec.Const{
			{To: "c", ShapeFrom: "s", Shape: []int64{-1, 2}, DType: tfbridge.Int32, Value: int64(1)},
		},
		Mode: spec.ModeTrain,
		Steps: []spec.Step{{
			Type: "slice", Reads: []string{"x"}, Writes: "x", In: []loaders.TensorSpec{tensor("x", tfbridge.Int32, -1)},
			Action: &tensors.Slice{
				Text: "[1:-1]", Indices: []tensors.SliceIndex{{Begin: &one, End: &minusOne}},
				In: tensor("x", tfbridge.Int32, -1), To: tensor("x", tfbridge.Int32, -1),
			},
		}},
		Padding: []spec.Pad{
			{Tensor: "x", Shape: []int64{-1}, Value: int64(1)},
			{Tensor: "s", Shape: []int64{-1, -1}, Value: ""},
			{Tensor: "again", Shape: []int64{-1}, Value: int64(0)},
			{Tensor: "c", Shape: []int64{-1, -1}, Value: int64(0)},
			{Tensor: "n", Shape: []int64{}, Value: int64(0)},
			{Tensor: "m", Shape: []int64{-1}, Value: false},
		},
		Measures: []spec.Measure{
			{To: "n", Kind: spec.Lengths, Tensor: "x"}, {To: "m", Kind: spec.Mask, Tensor: "x"},
		},
		Bucket: &spec.Bucket{Tensor: "x", Boundaries: []int64{1, 2}, Sizes: []int64{2, 2, 2}},
		Window: &spec.Window{Unit: spec.Positions, Min: 1, Max: 2, Stride: 1, Tail: "keep"},
		Tensors: []loaders.TensorSpec{
			tensor("x", tfbridge.Int32, -1), tensor("s", tfbridge.String, -1, 2), tensor("again", tfbridge.Int32, -1), tensor("c", tfbridge.Int32, -1, 2),
			{Name: "n", DType: tfbridge.Int64, Shape: []int64{}}, tensor("m", tfbridge.Bool, -1),
		},
	}}
	got.NativeLibrary = "" // it depends on what is built
	if len(got.Args) == 0 || got.Args["min_window"] != "1" {
		t.Errorf("the arguments for a digest are %v", got.Args)
	}
	got.Args = nil // the text of each key of args
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
	if got.Primaries[0].From != got.Primaries[2].From || got.Primaries[0].From != got.Features[1] {
		t.Error("a feature that is read under two names is not one feature")
	}
}
