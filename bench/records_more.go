package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"time"

	"millrace/graph"
	"millrace/graph/dataset"
	graphimage "millrace/graph/image"
	"millrace/loaders"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// More measurements of records: decoding images, the time to open many records, and the
// size of a state.
const (
	jpegRecords = 1_000
	jpegSize    = 224 // pixels
	jpegResized = 160
	jpegBatch   = 64
	jpegPasses  = 13

	manyFiles   = 1_000
	manyRecords = 10_000 // records of a file

	largeRecords = 2_000
	largeBytes   = 100_000
)

// Targets of these measurements.
const (
	jpegTarget      = 1.1
	jpegAloneTarget = 0.9
	openTarget      = 2.0 // seconds
	stateTarget     = 4096
	bufferedTarget  = 10
)

// recordsMore makes these measurements.
type recordsMore struct {
	sides
	exact, buffered    string // configs of shuffling
	jpegs, many, large string // folders
	opening, shuffling string // configs
}

// prepareMore makes what is missing.
func prepareMore(ctx context.Context, s sides) (*recordsMore, error) {
	dir := s.millrace.dir
	m := &recordsMore{
		sides: s, exact: filepath.Join(dir, "records-exact.json"), buffered: filepath.Join(dir, "records-buffered.json"),
		jpegs: filepath.Join(dir, "jpegs"), many: filepath.Join(dir, "many"), large: filepath.Join(dir, "large"),
		opening: filepath.Join(dir, "records-opening.json"), shuffling: filepath.Join(dir, "records-state.json"),
	}
	one := object{"compression": nil, "allow_var_len": false, "features": []object{
		{"name": "x", "dtype": "string", "shape": []int{}, "deserialize_type": "string"}}}
	if err := makeFolder(m.jpegs, 1, jpegRecords, one, jpegRecord); err != nil {
		return nil, err
	}
	if err := makeFolder(m.large, 1, largeRecords, one, func(rng *rand.Rand) []byte { return textRecord(make([]byte, largeBytes)) }); err != nil {
		return nil, err
	}
	number := object{"compression": nil, "allow_var_len": false, "features": []object{
		{"name": "x", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"}}}
	if err := makeFolder(m.many, manyFiles, manyRecords, number, numberRecord); err != nil {
		return nil, err
	}
	exact := loaderArgs(s.millrace.data, batchSize, recordEpochs, "x", "y")
	maps.Copy(exact, object{"shuffle": true, "shuffle_mode": "exact", "seed": 1})
	buffered := loaderArgs(s.millrace.data, batchSize, recordEpochs, "x", "y")
	maps.Copy(buffered, object{"shuffle": true, "seed": 1, "num_filenames_shuffle_buffer": 16, "num_shuffle_buffer_elements": 10_000, "num_mix_files": 4})
	opening := loaderArgs(m.many, 1024, 1, "x")
	maps.Copy(opening, object{"shuffle": true, "shuffle_mode": "exact", "seed": 1, "range": object{"start": 0, "end": 100_000}})
	shuffling := loaderArgs(m.large, 10, 1, "x")
	maps.Copy(shuffling, object{"shuffle": true, "seed": 1, "num_filenames_shuffle_buffer": 1, "num_shuffle_buffer_elements": 1000, "num_mix_files": 1})
	for path, args := range map[string]object{m.exact: exact, m.buffered: buffered, m.opening: opening, m.shuffling: shuffling} {
		if err := writeJSON(path, object{"type": "independent", "args": args}); err != nil {
			return nil, err
		}
	}
	return m, exec.CommandContext(ctx, s.millrace.program, "index", m.many).Run()
}

// jpegRecord returns an Example of a JPEG: soft colours with some noise, which take as many
// bytes as a photograph.
func jpegRecord(rng *rand.Rand) []byte {
	img := image.NewRGBA(image.Rect(0, 0, jpegSize, jpegSize))
	r, g := rng.IntN(200), rng.IntN(200)
	for y := range jpegSize {
		for x := range jpegSize {
			noise := rng.IntN(24)
			img.Set(x, y, color.RGBA{uint8(r + (x+noise)/6), uint8(g + (y+noise)/6), uint8((x + y + 2*noise) / 3), 255})
		}
	}
	var text bytes.Buffer
	if err := jpeg.Encode(&text, img, &jpeg.Options{Quality: 90}); err != nil {
		panic(err) // writing to a buffer does not fail
	}
	return textRecord(text.Bytes())
}

// textRecord returns an Example of bytes.
func textRecord(text []byte) []byte {
	return example.Marshal([]example.Named{{Name: "x", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{text}}}})
}

// numberRecord returns a small Example.
func numberRecord(rng *rand.Rand) []byte {
	return example.Marshal([]example.Named{{Name: "x", Feature: example.Feature{Kind: example.Int64, Ints: []int64{rng.Int64N(100)}}}})
}

// measure takes one round.
func (m *recordsMore) measure(ctx context.Context) (r moreRound, err error) {
	if r.JPEG, err = m.images(ctx, false); err != nil {
		return r, err
	}
	if r.JPEGAlone, err = m.images(ctx, true); err != nil {
		return r, err
	}
	if r.Opening, err = m.millrace.bench(ctx, m.opening); err != nil {
		return r, err
	}
	if r.State, err = m.state(ctx); err != nil {
		return r, err
	}
	var theirs struct {
		Bytes float64 `json:"bytes"`
	}
	err = runJSON(ctx, &theirs, m.python.program, recordsScript, "state", m.large)
	r.StatePython = theirs.Bytes
	return r, err
}

// images returns the rate in JPEGs/s at which a dataset with two threads decodes images
// for a model: those of a file, or of memory, without reading, batches and prefetching.
func (m *recordsMore) images(ctx context.Context, alone bool) (float64, error) {
	s := graph.NewScope()
	defer s.Graph().Close()
	paths, err := filepath.Glob(filepath.Join(m.jpegs, "*.tfrecords"))
	if err != nil {
		return 0, err
	}
	features := &graph.ExampleFeatures{Dense: []graph.DenseFeature{{Key: "x", DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}}
	d := dataset.TFRecords(s, s.Const(paths), nil).Batch(jpegBatch, false).ParseExample(features, nil).Unbatch()
	if alone {
		d = d.Cache("")
	}
	d = d.Repeat(jpegPasses).Map("image", func(s *graph.Scope, x []tfbridge.Output) []tfbridge.Output {
		i := graphimage.Decode(s, x[0], &graphimage.DecodeOptions{Channels: 3}).Resize(jpegResized, jpegResized, nil).FlipLeftRight()
		if alone {
			corner := s.Op1("Slice", nil, i.Output(), s.Const([]int32{0, 0, 0}), s.Const([]int32{1, 1, 3}))
			return []tfbridge.Output{corner} // without the pixels no operation would run
		}
		return []tfbridge.Output{i.Output()}
	}, &dataset.MapOptions{Parallel: 2, Inline: true})
	d = d.Batch(jpegBatch, false).Prefetch(prefetch).WithOptions(&dataset.Options{NoAutotune: true})
	n, first, begun := int64(0), int64(0), time.Now()
	for batch, err := range d.All(ctx, nil) {
		if err != nil {
			return 0, fmt.Errorf("images: %w", err)
		}
		if n += batch[0].Shape()[0]; n <= jpegRecords {
			first, begun = n, time.Now() // the first pass does not count
		}
	}
	if n != jpegPasses*jpegRecords {
		return 0, fmt.Errorf("%d images came, want %d", n, jpegPasses*jpegRecords)
	}
	return float64(n-first) / time.Since(begun).Seconds(), nil
}

// state returns the size of a state in the middle of a shuffled epoch.
func (m *recordsMore) state(ctx context.Context) (float64, error) {
	l, err := loaders.Open(m.shuffling, nil)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	for batch, err := range l.Run(ctx, &loaders.RunOptions{SaveEvery: 1}) {
		if err != nil {
			return 0, err
		}
		if state := batch.State(); state != nil {
			return float64(len(state)), nil
		}
	}
	return 0, errors.New("no batch has a state")
}

func imagesRate(v float64) string { return fmt.Sprintf("%.0f images/s", v) }
func kilobytes(v float64) string  { return fmt.Sprintf("%.1f kB", v/1e3) }

// moreRows are the comparisons of these measurements.
func moreRows() []row {
	images := func(r round) float64 { return r.Records.JPEG }
	return []row{
		{"JPEGs decoded, resized, flipped, against Python", images,
			func(r round) float64 { return r.Records.JPEGPython.RecordsPerS }, imagesRate, target{atLeast: jpegTarget}},
		{"the same, against the same operations on images in memory", images,
			func(r round) float64 { return r.Records.JPEGAlone }, imagesRate, target{atLeast: jpegAloneTarget}},
		{"first of 10 million records in 1,000 indexed files, and its target",
			func(r round) float64 { return r.Records.Opening.FirstBatchS },
			func(round) float64 { return openTarget }, seconds, target{atMost: 1}},
		{"state of a shuffle of 1,000 x 100 KB, and its target",
			func(r round) float64 { return r.Records.State },
			func(round) float64 { return stateTarget }, kilobytes, target{atMost: 1}},
		{"the same, against Python's",
			func(r round) float64 { return r.Records.State },
			func(r round) float64 { return r.Records.StatePython }, kilobytes, target{}},
	}
}
