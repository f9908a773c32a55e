package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"millrace/tfrecord/example"
)

// Processing steps next to the same functions of TensorFlow in Python, tuned by hand.
//
// The kernels are the same on both sides. What differs is what runs around them: calls of a
// function for each example, copies, and pixels that are decoded and not used.

// The sizes of what the steps work on.
const (
	photoWidth, photoHeight = 500, 375
	cropSize                = 224
	soundRate, soundSeconds = 16_000, 4
	vocabulary              = 30_000
	sentence                = 80 // words
)

// stepOf is an entry of "processing_steps".
func stepOf(tensor, kind string, args object) object {
	s := object{"tensor": tensor, "type": kind}
	if args != nil {
		s["args"] = args
	}
	return s
}

var (
	photoSteps = []object{
		stepOf("x", "decode_image", nil),
		stepOf("x", "random_resized_crop", object{"size": []int{cropSize, cropSize}}),
		stepOf("x", "random_flip_left_right", nil),
		stepOf("x", "normalize", object{"mean": []float64{124, 116, 104}, "std": []float64{58, 57, 57}}),
	}
	soundSteps = []object{
		stepOf("x", "decode_wav", object{"channels": 1}),
		stepOf("x", "reshape", object{"shape": []int{soundRate * soundSeconds}}),
		stepOf("x", "stft", object{"frame_length": 400, "frame_step": 160, "fft_length": 512}),
		stepOf("x", "mel", object{"bins": 80, "sample_rate": soundRate}),
		stepOf("x", "log", object{"offset": 1e-6}),
		stepOf("x", "time_mask", object{"masks": 2, "longest": 40}),
		stepOf("x", "freq_mask", object{"masks": 2, "longest": 15}),
	}
	textSteps = []object{
		stepOf("x", "lower", nil), stepOf("x", "split", nil),
		stepOf("x", "lookup", object{"vocabulary": words()}),
		stepOf("x", "slice", object{"slice": "[:64]"}),
	}
)

// everyStep is the table of the processing steps.
var everyStep = sweepTable{"steps", "bench/bench_python_steps.py", []sweepSetting{
	{name: "photos, cropped at random; Python decodes whole", data: "photos", goal: 1.5, job: object{"ways": "photos", "batch": 64},
		args: object{"target_batch_size": 64, "processing_steps": photoSteps}},
	{name: "photos, cropped at random; Python decodes the part", data: "photos", goal: 1, job: object{"ways": "photos_in_part", "batch": 64},
		args: object{"target_batch_size": 64, "processing_steps": photoSteps}},
	{name: "texts to numbers of words", data: "texts", goal: 5, job: object{"ways": "texts", "words": vocabulary},
		args: object{"padding": true, "processing_steps": textSteps}},
	{name: "64 floats, normalized, float16", data: "tables", goal: 8, job: object{"ways": "tables"},
		args: object{"processing_steps": []object{
			stepOf("x", "normalize", object{"mean": 0.5, "std": 0.25}), stepOf("x", "cast", object{"dtype": "float16"})}}},
	{name: "64 floats, log1p", data: "tables", job: object{"ways": "logarithms"},
		args: object{"processing_steps": []object{stepOf("x", "abs", nil), stepOf("x", "log1p", nil)}}},
	{name: "sounds to spectrograms", data: "sounds", goal: 1.2, job: object{"ways": "sounds", "batch": 32},
		args: object{"target_batch_size": 32, "processing_steps": soundSteps}},
	{name: "a tenth is kept", data: "tables", goal: 8, job: object{"ways": "filtered"},
		args: object{"processing_steps": []object{{"type": "filter", "args": object{"conditions": []object{{"tensor": "y", "op": "lt", "value": 10}}}}}}},
}, stepData}

// stepData are the data sets of the steps by name.
var stepData = map[string]sweepSet{
	"photos": {records: 400, features: object{"x": textFeature, "y": number}, record: photoRecord},
	"sounds": {records: 400, features: object{"x": textFeature, "y": number}, record: soundRecord},
	"texts":  {records: 20_000, features: object{"x": textFeature, "y": number}, record: sentenceRecord},
	"tables": {records: 100_000, features: object{"x": floatFeature(floats), "y": number}, record: tableRecord},
}

// bytesRecord returns a record of bytes and a number.
func bytesRecord(data []byte, n int) []byte {
	return example.Marshal([]example.Named{
		{Name: "x", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{data}}},
		{Name: "y", Feature: example.Feature{Kind: example.Int64, Ints: []int64{int64(n % 100)}}},
	})
}

// photoRecord has a JPEG of soft shapes with some noise, as large as a photo of that size.
func photoRecord(n int, rng *rand.Rand) []byte {
	m := image.NewRGBA(image.Rect(0, 0, photoWidth, photoHeight))
	fx, fy := 10+rng.Float64()*40, 10+rng.Float64()*40
	for y := range photoHeight {
		for x := range photoWidth {
			v := 128 + 60*math.Sin(float64(x)/fx) + 50*math.Cos(float64(y)/fy)
			at := func(shift float64) uint8 { return uint8(min(max(v+shift+rng.Float64()*24-12, 0), 255)) }
			m.SetRGBA(x, y, color.RGBA{at(0), at(10), at(-10), 255})
		}
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, m, &jpeg.Options{Quality: 85}); err != nil {
		panic(err) // a buffer takes all bytes
	}
	return bytesRecord(out.Bytes(), n)
}

// soundRecord has a WAV file of some seconds of noise and tones, mono, 16 bits.
func soundRecord(n int, rng *rand.Rand) []byte {
	const samples = soundRate * soundSeconds
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), 36+2*samples)
	out = append(out, "WAVEfmt "...)
	out = binary.LittleEndian.AppendUint32(out, 16)
	for _, v := range []uint16{1, 1, soundRate, 0, 2 * soundRate & 0xffff, 0, 2, 16} {
		out = binary.LittleEndian.AppendUint16(out, v)
	}
	out = append(out, "data"...)
	out = binary.LittleEndian.AppendUint32(out, 2*samples)
	pitch := 0.01 + rng.Float64()*0.2
	for i := range samples {
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(8000*math.Sin(float64(i)*pitch)+2000*rng.NormFloat64())))
	}
	return bytesRecord(out, n)
}

// words returns the vocabulary.
func words() []string {
	list := make([]string, vocabulary)
	for i := range list {
		list[i] = fmt.Sprintf("word%d", i)
	}
	return list
}

func sentenceRecord(n int, rng *rand.Rand) []byte {
	var list []string
	for range sentence/2 + rng.IntN(sentence) {
		list = append(list, fmt.Sprintf("Word%d", rng.IntN(vocabulary*21/20)))
	}
	return bytesRecord([]byte(strings.Join(list, " ")), n)
}

func tableRecord(n int, rng *rand.Rand) []byte {
	return exampleOf(randomFloats(rng), int64(n%100))
}

// "millrace analyze" next to a pass with NumPy, over a gigabyte of records of 64 floats and a label.
// Python reads them in the fastest way, and computes the same statistics batch by batch; its quantiles
// are of a sample. A round takes a minute.
const (
	analyzedRecords = 3_600_000
	analyzeTarget   = 8.0
	analyzeMemory   = 500e6 // bytes
	analyzeScript   = "bench/bench_python_analyze.py"
)

// runAnalyze measures and reports. It returns whether the targets are met.
func runAnalyze(ctx context.Context, s sides, rounds int, out io.Writer) (bool, error) {
	folder := filepath.Join(s.millrace.dir, "analyze")
	d := stepData["tables"]
	d.records = analyzedRecords
	if err := d.make(folder); err != nil {
		return false, fmt.Errorf("make data: %w", err)
	}
	config := filepath.Join(s.millrace.dir, "analyze.json")
	if err := writeJSON(config, sweepSetting{}.loaderConfig(folder, d, 1)); err != nil {
		return false, err
	}
	var ours, theirs, memory, ratios []float64
	for range rounds {
		perS, bytes, err := s.millrace.analyze(ctx, config)
		if err != nil {
			return false, err
		}
		got, err := rates(ctx, &s.python, []object{with(d.job(folder), object{"units": analyzedRecords})}, analyzeScript)
		if err != nil {
			return false, err
		}
		ours, theirs = append(ours, perS), append(theirs, got[0].RecordsPerS)
		memory, ratios = append(memory, bytes), append(ratios, perS/got[0].RecordsPerS)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fast, small := target{atLeast: analyzeTarget}, target{atMost: analyzeMemory}
	ratio, peak := middle(ratios), middle(memory)
	fmt.Fprintln(w, "\tmillrace\tpython\tratio\ttarget\t")
	fmt.Fprintf(w, "analyze, records of 64 floats\t%s\t%s\t%.3g\t%g\t%s\n", rate(middle(ours)), rate(middle(theirs)), ratio, analyzeTarget, fast.verdict(ratio >= analyzeTarget))
	fmt.Fprintf(w, "peak of memory\t%s\t\t\t%s\t%s\n", megabyte(peak), megabyte(analyzeMemory), small.verdict(peak <= analyzeMemory))
	return ratio >= analyzeTarget && peak <= analyzeMemory, w.Flush()
}

// analyze returns how many records "millrace analyze" reads in a second, with its start, and the peak
// of its memory in bytes.
func (m *millrace) analyze(ctx context.Context, config string) (perS, bytes float64, err error) {
	cmd := exec.CommandContext(ctx, m.program, "analyze", config, "--out", config+".stats", "--overwrite")
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("millrace analyze: %w", err)
	}
	took := time.Since(begun).Seconds()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, fmt.Errorf("the system does not say how much memory a process took")
	}
	return analyzedRecords / took, float64(usage.Maxrss) * kilobyte, nil
}

const kilobyte = 1 << 10 // the unit of Linux for the peak of memory
