package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"millrace/loaders/chunks"
	"millrace/tfrecord/example"
)

// The sequences of chunked_sequence: utterances, as RETURNN trains on them.
const (
	speechRecords  = 2000
	speechFiles    = 4
	speechFeatures = 40
	speechShortest = 100 // frames
	speechLongest  = 1500
	speechEpochs   = 40   // many, so that the start of the session is negligible
	speechFrames   = 5000 // frames of a batch
)

var speechCut = chunks.Cut{Size: 50, Step: 25}

// Targets of chunked_sequence, as ratios of frames/s.
const (
	returnnTarget   = 10
	chunkCopyTarget = 0.4
)

const (
	returnnScript       = "bench/bench_returnn.py"
	returnnRequirements = "bench/returnn-requirements.txt"
)

// speech measures chunked_sequence.
type speech struct {
	millrace
	folder  string // folder of the records
	returnn string // the interpreter with RETURNN
	lengths string // JSON list of the frames of each sequence
	config  string
	cut     []int64 // frames of each sequence
	frames  int64   // frames of all chunks
	rows    int64   // chunks
}

// prepareSpeech makes the program, the data and RETURNN's environment.
func prepareSpeech(ctx context.Context, s settings) (*speech, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	q := &speech{
		millrace: millrace{files: layout(dir, s.records), program: s.millrace},
		folder:   filepath.Join(dir, "speech"),
		lengths:  filepath.Join(dir, "speech.json"), config: filepath.Join(dir, "speech-chunks.json"),
	}
	if err := q.make(); err != nil {
		return nil, fmt.Errorf("make data of speech: %w", err)
	}
	if err := q.prepare(ctx); err != nil {
		return nil, err
	}
	if q.returnn, err = environment(ctx, filepath.Join(dir, "venv-returnn"), returnnRequirements); err != nil {
		return nil, fmt.Errorf("virtual environment: %w", err)
	}
	return q, nil
}

// make writes the sequences unless they exist, and the settings of both sides.
func (q *speech) make() error {
	rng := rand.New(rand.NewPCG(5, 6))
	for range speechRecords {
		n := speechShortest + rng.Int64N(speechLongest-speechShortest+1)
		q.cut = append(q.cut, n)
		for k := range speechCut.Rows(n) {
			begin, end := speechCut.Row(k, n)
			q.frames += end - begin
			q.rows++
		}
	}
	if err := os.MkdirAll(filepath.Dir(q.folder), 0o777); err != nil {
		return err
	}
	if err := writeJSON(q.lengths, q.cut); err != nil {
		return err
	}
	next := 0
	record := func(rng *rand.Rand) []byte {
		n := q.cut[next]
		next++
		return example.Marshal([]example.Named{
			{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: samples(rng, int(n)*speechFeatures)}},
		})
	}
	manifest := object{"compression": nil, "allow_var_len": false, "features": []object{
		{"name": "x", "dtype": "float32", "shape": []int{-1, speechFeatures}, "deserialize_type": "float"},
	}}
	if err := makeFolder(q.folder, speechFiles, speechRecords/speechFiles, manifest, record); err != nil {
		return err
	}
	args := loaderArgs(q.folder, 0, speechEpochs, "x")
	delete(args, "target_batch_size")
	delete(args, "drop_remainder")
	args["chunk_size"], args["chunk_step"], args["batch_size"] = speechCut.Size, speechCut.Step, speechFrames
	return writeJSON(q.config, object{"type": "chunked_sequence", "args": args})
}

// run measures only chunked_sequence.
func (q *speech) run(ctx context.Context, s settings, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		r.Speech, err = q.measure(ctx)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-chunks.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, speechRows()), nil
}

// measure takes one round. It measures the copy right before and right after Millrace,
// and uses the faster one.
func (q *speech) measure(ctx context.Context) (r speechRound, err error) {
	if err := readAnew(q.folder); err != nil {
		return r, err
	}
	r.Copy = q.copyRate()
	if r.Ours, err = q.bench(ctx, q.config); err != nil {
		return r, err
	}
	r.Copy = max(r.Copy, q.copyRate())
	if want := q.rows * speechEpochs; r.Ours.Records != want {
		return r, fmt.Errorf("millrace cut %d chunks, want %d", r.Ours.Records, want)
	}
	r.Frames = r.Ours.RecordsPerS * float64(q.frames) / float64(q.rows)
	if err := runJSON(ctx, &r.Returnn, q.returnn, returnnScript, q.lengths, "--size", strconv.FormatInt(speechCut.Size, 10),
		"--step", strconv.FormatInt(speechCut.Step, 10), "--frames", strconv.Itoa(speechFrames),
		"--features", strconv.Itoa(speechFeatures), "--epochs", "2"); err != nil {
		return r, err
	}
	if r.Returnn.Frames != q.frames {
		return r, fmt.Errorf("RETURNN cut chunks of %d frames, want %d", r.Returnn.Frames, q.frames)
	}
	return r, nil
}

// copyRate copies the same chunks out of memory into batches, on this one
// thread, and returns frames/s.
func (q *speech) copyRate() float64 {
	var total int64
	for _, n := range q.cut {
		total += n
	}
	from := make([]float32, total*speechFeatures)
	for i := range from {
		from[i] = float32(i)
	}
	var to [prefetch][speechFrames * speechFeatures]float32
	pass := func() {
		at, batch, begin := int64(0), 0, int64(0)
		for _, n := range q.cut {
			for k := range speechCut.Rows(n) {
				first, end := speechCut.Row(k, n)
				if at+speechCut.Size > speechFrames {
					at, batch = 0, (batch+1)%len(to)
				}
				copy(to[batch][at*speechFeatures:], from[(begin+first)*speechFeatures:(begin+end)*speechFeatures])
				at += speechCut.Size
			}
			begin += n
		}
	}
	pass()
	started := time.Now()
	for range speechEpochs {
		pass()
	}
	return float64(q.frames*speechEpochs) / time.Since(started).Seconds()
}

// speechRows are the comparisons of chunked_sequence.
func speechRows() []row {
	frames := func(v float64) string { return fmt.Sprintf("%.0f frames/s", v) }
	ours := func(r round) float64 { return r.Speech.Frames }
	return []row{
		{"chunks of 50 every 25 of 40 floats, against RETURNN's batch generator", ours,
			func(r round) float64 { return r.Speech.Returnn.FramesPerS }, frames, target{atLeast: returnnTarget}},
		{"the same, against memcpy", ours,
			func(r round) float64 { return r.Speech.Copy }, frames, target{atLeast: chunkCopyTarget}},
	}
}
