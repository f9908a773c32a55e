package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"millrace/tfrecord/example"
)

// The contents of the other kinds of records.
const (
	imageRecords = 20_000
	imagePixels  = 28 * 28
	stepsRecords = 4_000
	stepFloats   = 40
	fewestSteps  = 5
	mostSteps    = 200
)

// makeKinds writes the configs of all kinds, and the records unless they exist.
func makeKinds(kinds []*recordKind) error {
	for _, k := range kinds {
		features := []string{"x", "y"}
		switch k.kind {
		case "images":
			if err := makeFolder(k.folder, dataFiles, imageRecords/dataFiles, imageManifest(), imageRecord); err != nil {
				return err
			}
		case "steps":
			features = features[:1]
			if err := makeFolder(k.folder, dataFiles, stepsRecords/dataFiles, stepsManifest(), stepsRecord); err != nil {
				return err
			}
		}
		args := loaderArgs(k.folder, k.batch, recordEpochs, features...)
		if k.kind == "steps" {
			args["padding"] = true
		}
		k.config = filepath.Join(filepath.Dir(k.folder), fmt.Sprintf("records-%s.json", k.key()))
		if err := writeJSON(k.config, object{"type": "independent", "args": args}); err != nil {
			return err
		}
	}
	return nil
}

// imageRecord returns an Example of raw pixels and a class.
func imageRecord(rng *rand.Rand) []byte {
	pixels := make([]byte, imagePixels)
	for i := range pixels {
		pixels[i] = byte(rng.Uint32())
	}
	return example.Marshal([]example.Named{
		{Name: "x", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{pixels}}},
		{Name: "y", Feature: example.Feature{Kind: example.Int64, Ints: []int64{rng.Int64N(10)}}},
	})
}

func imageManifest() object {
	return object{"compression": nil, "allow_var_len": false, "features": []object{
		{"name": "x", "dtype": "uint8", "shape": []int{28, 28}, "deserialize_type": "raw", "deserialize_args": object{"endian": "little", "len": 1}},
		{"name": "y", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
	}}
}

// stepsRecord returns a SequenceExample of one list of floats.
func stepsRecord(rng *rand.Rand) []byte {
	var steps []example.Feature
	for range fewestSteps + rng.IntN(mostSteps-fewestSteps+1) {
		steps = append(steps, example.Feature{Kind: example.Float, Floats: samples(rng, stepFloats)})
	}
	return example.MarshalSequence(nil, []example.NamedList{{Name: "x", Features: steps}})
}

func stepsManifest() object {
	return object{"compression": nil, "allow_var_len": true, "features": []object{
		{"name": "x", "dtype": "float32", "shape": []int{stepFloats}, "deserialize_type": "float", "var_len": true},
	}}
}
