package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

const (
	chunk        = 10_000 // samples of a record
	chunkRecords = 500    // records of a file
	chunkFiles   = 8
	chunkEpochs  = 100 // many, so that the start of the session is negligible
	copyPasses   = 10
	windowBatch  = 32
	longWindow   = 10_000
	padRecords   = 20_000
	padFiles     = 4
	padEpochs    = 5
	padBatch     = 64
	frame        = 8 // floats of a frame
	shortestList = 5
	longestList  = 50
	passSamples  = chunk * chunkRecords * chunkFiles // samples of a pass
)

// windowKind is windows of one size, and their targets.
type windowKind struct {
	size   int
	slide  float64 // target: multiple of the rate of Python's slide over samples; 0 = not measured
	chunks float64 // target: multiple of the rate of Python's chunks cut up; 0 = none
	copies float64 // target: fraction of the rate of copies in memory
}

var windowKinds = []windowKind{
	{size: 100, slide: 20, chunks: 20, copies: 0.2},
	{size: 1_000, chunks: 30, copies: 0.6},
	{size: 4_000, chunks: 30, copies: 0.6},
	{size: longWindow, slide: 20, copies: 0.5},
}

// sequenceFiles are the files of the sequence loaders. Two folders hold the
// same samples in two forms.
type sequenceFiles struct {
	floats string // Examples of lists of floats
	raw    string // Examples of the bytes of float32s
	padded string // SequenceExamples of lists of several lengths
	dir    string // folder of the configs
}

func sequenceLayout(dir string) sequenceFiles {
	return sequenceFiles{
		floats: filepath.Join(dir, "windows-float"), raw: filepath.Join(dir, "windows-raw"),
		padded: filepath.Join(dir, "lists"), dir: dir,
	}
}

// windowConfig returns the path of the config for windows of a size over a
// folder and a number of epochs.
func (f sequenceFiles) windowConfig(folder string, size, epochs int) string {
	return filepath.Join(f.dir, fmt.Sprintf("%s-%d-%d.json", filepath.Base(folder), size, epochs))
}

func (f sequenceFiles) paddedConfig(epochs int) string {
	return filepath.Join(f.dir, fmt.Sprintf("lists-%d.json", epochs))
}

// make writes the configs, and the records unless they exist.
func (f sequenceFiles) make() error {
	for _, folder := range []struct {
		path           string
		files, records int // records of a file
		manifest       object
		record         func(rng *rand.Rand) []byte
	}{
		{f.floats, chunkFiles, chunkRecords, chunkManifest(object{"deserialize_type": "float"}), floatChunk},
		{f.raw, chunkFiles, chunkRecords, chunkManifest(object{
			"deserialize_type": "raw", "deserialize_args": object{"endian": "little", "len": 1}}), rawChunk},
		{f.padded, padFiles, padRecords / padFiles, listsManifest(), lists},
	} {
		if err := makeFolder(folder.path, folder.files, folder.records, folder.manifest, folder.record); err != nil {
			return err
		}
	}
	return f.makeConfigs()
}

// makeFolder writes the files of a folder and then its manifest.
func makeFolder(folder string, files, records int, manifest object, record func(rng *rand.Rand) []byte) error {
	path := filepath.Join(folder, "__manifest__.json")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range files {
		name := filepath.Join(folder, fmt.Sprintf("part-%05d-of-%05d.tfrecords", i, files))
		if err := writeSequences(name, records, rng, record); err != nil {
			return err
		}
	}
	return writeJSON(path, manifest)
}

func writeSequences(path string, records int, rng *rand.Rand, record func(rng *rand.Rand) []byte) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := tfrecord.NewWriter(file, tfrecord.None)
	for range records {
		if err := w.Write(record(rng)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return file.Close()
}

// samples returns random floats, exact on every machine.
func samples(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = rng.Float32()*2 - 1
	}
	return x
}

func floatChunk(rng *rand.Rand) []byte {
	return example.Marshal([]example.Named{
		{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: samples(rng, chunk)}},
	})
}

func rawChunk(rng *rand.Rand) []byte {
	var raw []byte
	for _, v := range samples(rng, chunk) {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return example.Marshal([]example.Named{
		{Name: "x", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{raw}}},
	})
}

// lists returns a SequenceExample with tokens and the same number of frames.
func lists(rng *rand.Rand) []byte {
	var tokens, frames []example.Feature
	for range shortestList + rng.IntN(longestList-shortestList+1) {
		tokens = append(tokens, example.Feature{Kind: example.Int64, Ints: []int64{rng.Int64N(30_000)}})
		frames = append(frames, example.Feature{Kind: example.Float, Floats: samples(rng, frame)})
	}
	return example.MarshalSequence(nil, []example.NamedList{{Name: "tokens", Features: tokens}, {Name: "frames", Features: frames}})
}

func chunkManifest(how object) object {
	feature := object{"name": "x", "dtype": "float32", "shape": []int{chunk}}
	for k, v := range how {
		feature[k] = v
	}
	return object{"compression": nil, "allow_var_len": false, "features": []object{feature}}
}

func listsManifest() object {
	return object{"compression": nil, "allow_var_len": true, "features": []object{
		{"name": "tokens", "dtype": "int64", "shape": []int{}, "deserialize_type": "int", "var_len": true},
		{"name": "frames", "dtype": "float32", "shape": []int{frame}, "deserialize_type": "float", "var_len": true},
	}}
}

// makeConfigs writes the loader configs: one with a single epoch, to compare
// values, and one with the epochs to measure.
func (f sequenceFiles) makeConfigs() error {
	configs := map[string]object{
		f.paddedConfig(1):         f.paddedLoader(1),
		f.paddedConfig(padEpochs): f.paddedLoader(padEpochs),
	}
	for _, folder := range []string{f.floats, f.raw} {
		for _, kind := range windowKinds {
			for _, epochs := range []int{1, chunkEpochs} {
				configs[f.windowConfig(folder, kind.size, epochs)] = windowLoader(folder, kind.size, epochs)
			}
		}
	}
	for path, config := range configs {
		if err := writeJSON(path, config); err != nil {
			return err
		}
	}
	return nil
}

// windowLoader returns the config of a loader that cuts consecutive windows.
func windowLoader(folder string, size, epochs int) object {
	args := loaderArgs(folder, windowBatch, epochs, "x")
	args["min_window"], args["max_window"] = size, size
	args["stride"] = nil
	return object{"type": "continuous_sequence", "args": args}
}

// paddedLoader returns the config of a loader that pads records to the longest
// in their batch.
func (f sequenceFiles) paddedLoader(epochs int) object {
	args := loaderArgs(f.padded, padBatch, epochs, "tokens", "frames")
	args["padding"] = true
	return object{"type": "independent", "args": args}
}
