package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

const (
	batchSize  = 128
	floats     = 64
	dataFiles  = 4
	prefetch   = 4
	readBuffer = 256 << 10
)

// files holds the paths of a benchmark's files.
type files struct {
	dir     string // folder of all files
	data    string // records and manifest
	read    string // loader config of the reading benchmark
	predict string // loader config of the predicting one
	first   string // loader config of a single pass
	model   string // SavedModel
}

// layout returns the paths for a number of records.
func layout(dir string, records int) files {
	return files{
		dir:     dir,
		data:    filepath.Join(dir, fmt.Sprintf("data-%d", records)),
		read:    filepath.Join(dir, "read.json"),
		predict: filepath.Join(dir, "predict.json"),
		first:   filepath.Join(dir, "first.json"),
		model:   filepath.Join(dir, "model"),
	}
}

// make writes the configs, and the records unless they exist.
func (f files) make(records, epochs int) error {
	if !made(f.data) {
		rng := rand.New(rand.NewPCG(1, 2))
		if err := makeRecords(f.data, records, func(n int) []byte { return record(n, rng) }); err != nil {
			return err
		}
	}
	for path, config := range map[string]any{
		f.read:    f.config(epochs, "x", "y"),
		f.first:   f.config(1, "x", "y"),
		f.predict: f.config(epochs, "x"),
	} {
		if err := writeJSON(path, config); err != nil {
			return err
		}
	}
	return nil
}

// manifestName is the name of a folder's manifest, which is written last.
const manifestName = "__manifest__.json"

// made reports whether a folder has all its records.
func made(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, manifestName))
	return err == nil
}

// makeRecords writes records and their manifest to a folder.
func makeRecords(folder string, records int, record func(n int) []byte) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for i := range dataFiles {
		from, to := records*i/dataFiles, records*(i+1)/dataFiles
		path := filepath.Join(folder, fmt.Sprintf("part-%05d-of-%05d.tfrecords", i, dataFiles))
		if err := writeRecords(path, from, to, record); err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(folder, manifestName), manifestJSON())
}

// writeRecords writes the Examples numbered from up to to.
func writeRecords(path string, from, to int, record func(n int) []byte) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := tfrecord.NewWriter(file, tfrecord.None)
	for n := from; n < to; n++ {
		if err := w.Write(record(n)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return file.Close()
}

// record returns an Example of random floats and its number.
func record(n int, rng *rand.Rand) []byte { return exampleOf(randomFloats(rng), int64(n)) }

// randomFloats returns the floats of an Example.
func randomFloats(rng *rand.Rand) []float32 {
	x := make([]float32, floats)
	for i := range x {
		x[i] = rng.Float32()*2 - 1 // exact, so the same on every machine
	}
	return x
}

// exampleOf returns an Example of floats and an integer.
func exampleOf(x []float32, y int64) []byte {
	return example.Marshal([]example.Named{
		{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: x}},
		{Name: "y", Feature: example.Feature{Kind: example.Int64, Ints: []int64{y}}},
	})
}

// object is a JSON object.
type object = map[string]any

func manifestJSON() object {
	return object{
		"compression":   nil,
		"allow_var_len": false,
		"features": []object{
			{"name": "x", "dtype": "float32", "shape": []int{floats}, "deserialize_type": "float"},
			{"name": "y", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		},
	}
}

// config returns a loader config for some of the features.
func (f files) config(epochs int, features ...string) object {
	return object{"type": "independent", "args": loaderArgs(f.data, batchSize, epochs, features...)}
}

// loaderArgs returns the arguments that every type of loader has.
func loaderArgs(folder string, batch, epochs int, features ...string) object {
	var primary []object
	for _, name := range features {
		primary = append(primary, object{"from_name": name, "to_name": name})
	}
	return object{
		"dataset":               object{"type": "dir", "args": object{"data_dir": folder}},
		"target_batch_size":     batch,
		"drop_remainder":        false,
		"epochs":                epochs,
		"num_parallel_parses":   2,
		"num_read_buffer_bytes": readBuffer,
		"num_prefetch":          prefetch,
		"primary_features":      primary,
	}
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o666)
}
