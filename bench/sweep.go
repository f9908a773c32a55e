package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// The sweep: every setting of the config, each next to Python's fastest pipeline for it.
//
// The question: ratios of the settings that a target names say nothing of the others. A user has
// one of them, and whether it is slow nobody knows.
//
// The answer: a table of settings in which every key of the config is (a test sees to that), each
// of them measured with Python's in turn. The report is sorted by ratio, so that the slowest
// setting comes first.

// A run of few epochs is mostly its start: the session, its threads, the first batch. Python's rates
// are of passes after one that counts for nothing. So ours reads until that is little.
const (
	sweepEpochs = 5
	mostEpochs  = 400
	leastRun    = 1.5 // seconds that a run takes
	sweepTarget = 3.0 // the lowest ratio of most settings
)

// everySetting is the table of the sweep.
var everySetting = sweepTable{"sweep", "bench/bench_python_sweep.py", sweepSettings, sweepData}

// sweepTable is what a sweep measures.
type sweepTable struct {
	name     string // its folder
	script   string // Python's side
	settings []sweepSetting
	data     map[string]sweepSet
}

// sweep measures all settings of a table.
type sweep struct {
	sides
	script   string
	settings []*sweepRow
}

// sweepRow is a setting with what was measured.
type sweepRow struct {
	sweepSetting
	config string
	folder string // its data
	set    sweepSet
	epochs int
	job    object
	ours   []float64 // rows/s, by rounds
	theirs []float64
	way    string // Python's fastest
}

// prepareSweep makes the files.
func prepareSweep(ctx context.Context, s sides, table sweepTable, filter string) (*sweep, error) {
	w := &sweep{sides: s, script: table.script}
	dir := filepath.Join(s.millrace.dir, table.name)
	for i, x := range table.settings {
		if !strings.Contains(x.name, filter) {
			continue
		}
		d, folder := table.data[x.data], filepath.Join(dir, x.data)
		if err := d.make(folder); err != nil {
			return nil, fmt.Errorf("make data %s: %w", x.data, err)
		}
		r := &sweepRow{sweepSetting: x, config: filepath.Join(dir, fmt.Sprintf("%02d.json", i)), job: with(d.job(folder), x.job), folder: folder, set: d, epochs: sweepEpochs}
		if names, ok := r.job["names"].([]string); ok {
			maps.DeleteFunc(r.job["features"].(object), func(name string, _ any) bool { return !slices.Contains(names, name) })
		}
		if err := r.write(); err != nil {
			return nil, err
		}
		w.settings = append(w.settings, r)
	}
	if len(w.settings) == 0 {
		return nil, fmt.Errorf("no setting has %q in its name", filter)
	}
	return w, nil
}

// write writes the config.
func (r *sweepRow) write() error {
	return writeJSON(r.config, r.loaderConfig(r.folder, r.set, r.epochs))
}

// loaderConfig returns the loader of a setting.
func (x sweepSetting) loaderConfig(folder string, d sweepSet, epochs int) object {
	args := with(loaderArgs(folder, batchSize, epochs, slices.Sorted(maps.Keys(d.features))...), object{"seed": 1}, x.args)
	if x.loader == "chunked_sequence" {
		delete(args, "target_batch_size")
		delete(args, "drop_remainder")
	}
	kind := cmp.Or(x.loader, "independent")
	if kind != "independent" {
		args["primary_features"] = features("x")
	}
	return object{"type": kind, "args": args}
}

// measure takes one round of a setting: Python's right after ours.
func (w *sweep) measure(ctx context.Context, r *sweepRow) error {
	f, err := w.millrace.bench(ctx, r.config)
	if err == nil && f.Seconds < leastRun/2 && r.epochs < mostEpochs {
		r.epochs = min(int(float64(r.epochs)*leastRun/f.Seconds)+1, mostEpochs)
		if err = r.write(); err == nil {
			f, err = w.millrace.bench(ctx, r.config)
		}
	}
	if err != nil {
		return err
	}
	job := with(r.job, object{"units": float64(f.Records) / float64(r.epochs), "way": r.way})
	got, err := rates(ctx, &w.python, []object{job}, w.script, "rates")
	if err != nil {
		return err
	}
	r.way = got[0].Way
	r.ours, r.theirs = append(r.ours, f.RecordsPerS), append(r.theirs, got[0].RecordsPerS)
	return nil
}

// ratio returns the median of a setting's ratios.
func (r *sweepRow) ratio() float64 {
	var ratios []float64
	for i := range r.ours {
		ratios = append(ratios, r.ours[i]/r.theirs[i])
	}
	return middle(ratios)
}

// middle returns the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// report prints the settings, the slowest first, and returns whether all reach the target.
func (w *sweep) report(out io.Writer) bool {
	slices.SortFunc(w.settings, func(a, b *sweepRow) int { return cmp.Compare(a.ratio(), b.ratio()) })
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "setting\tmillrace\tpython\tratio\ttarget\tPython's fastest\t")
	missed := 0
	for _, r := range w.settings {
		met := r.ratio() >= r.target()
		if !met {
			missed++
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3g\t%.3g, %s\t%s\t\n", r.name, rate(middle(r.ours)), rate(middle(r.theirs)), r.ratio(), r.target(), target{atLeast: r.target()}.verdict(met), r.way)
	}
	t.Flush()
	worst := w.settings[0]
	fmt.Fprintf(out, "\nthe worst of %d settings: %s, %.3g times Python; %d missed their targets\n", len(w.settings), worst.name, worst.ratio(), missed)
	return missed == 0
}

// sweepSetting is a setting of the config that the sweep measures: what differs from a plain
// loader over one of the data sets, and how Python does the same.
type sweepSetting struct {
	name   string
	data   string  // name in sweepData
	loader string  // "" is independent
	args   object  // they replace a plain loader's
	job    object  // likewise, for Python's script
	goal   float64 // the lowest ratio; 0 is sweepTarget
}

// target returns the lowest ratio.
func (x sweepSetting) target() float64 { return cmp.Or(x.goal, sweepTarget) }

// with returns an object with the keys of others.
func with(all ...object) object {
	merged := object{}
	for _, o := range all {
		maps.Copy(merged, o)
	}
	return merged
}

// Parts of settings.
var (
	exactOrder = object{"shuffle": true, "shuffle_mode": "exact"}
	blockOrder = object{"shuffle": true, "shuffle_mode": "block", "num_shuffle_buffer_elements": 10_000}
	inBuffers  = object{"shuffle": true, "num_shuffle_buffer_elements": 10_000, "num_filenames_shuffle_buffer": 16, "num_mix_files": 4}
	buffers    = object{"buffer": 10_000, "mixed": 4}
	all        = object{"buffer": 200_000} // all records: the exact order of a user of tf.data
	padded     = object{"padding": true}
	measured   = object{"padding": true, "secondary_features": []object{
		{"to_name": "n", "type": "lengths", "args": object{"tensor": "tokens"}},
		{"to_name": "has", "type": "mask", "args": object{"tensor": "tokens"}},
	}}
	asLists = object{"ways": "lists"}
)

// windowsOf returns the arguments for windows of one size.
func windowsOf(size int, more ...object) object {
	return with(append([]object{{"min_window": size, "max_window": size, "stride": nil}}, more...)...)
}

// windowJob returns the job for windows of one size.
func windowJob(size int, more ...object) object {
	return with(append([]object{{"ways": "windows", "window": size}}, more...)...)
}

// chunksOf returns the arguments of a chunked_sequence.
func chunksOf(more ...object) object {
	return with(append([]object{{"batch_size": 16_000, "chunk_size": 100, "padding": true}}, more...)...)
}

// sweepSettings lists the settings. Every key of the config is in one of them, or in sweepSkipped.
var sweepSettings = []sweepSetting{
	{name: "plain", data: "floats"},
	{name: "batches of 1,024", data: "floats", args: object{"target_batch_size": 1024}, job: object{"batch": 1024}},
	{name: "batches of 16, dropped", data: "floats", args: object{"target_batch_size": 16, "drop_remainder": true}, job: object{"batch": 16}},
	{name: "exact order", data: "floats", args: exactOrder, job: all},
	{name: "block order", data: "floats", args: blockOrder, job: buffers},
	{name: "shuffled in buffers", data: "floats", args: inBuffers, job: buffers},
	{name: "shuffled in buffers, sloppy", data: "floats", args: with(inBuffers, object{
		"sloppy_interleave": true, "num_parallel_reads": 2, "num_interleave_out_buffer_elements": 16, "num_interleave_in_buffer_elements": 2}),
		job: with(buffers, object{"sloppy": true})},
	{name: "a shard of four", data: "floats", args: object{"shard": object{"index": 0, "count": 4}}, job: object{"shards": 4}},
	{name: "a range", data: "floats", args: object{"range": object{"start": 1000, "end": 90_000}}, job: object{"skip": 1000, "take": 89_000}},
	{name: "bad records are skipped", data: "floats", args: object{"bad_records": object{"skip": 5}}},
	{name: "check_finite", data: "floats", args: object{"check_finite": true}, job: object{"finite": []string{"x"}}},
	{name: "duplicate_features", data: "floats", args: object{"duplicate_features": "error"}},
	{name: "duplicate_features, exact order", data: "floats", args: with(exactOrder, object{"duplicate_features": "error"}), job: all},
	{name: "no empty records", data: "floats", args: object{"allow_empty_records": false}},
	{name: "gzip", data: "gzip"},
	{name: "gzip, shuffled in buffers", data: "gzip", args: inBuffers, job: buffers},
	{name: "raw images", data: "images"},
	{name: "raw images, exact order", data: "images", args: exactOrder, job: all},
	{name: "raw images of 150 KB", data: "large", args: object{"target_batch_size": 32}, job: object{"batch": 32}},
	{name: "raw images of 150 KB, exact order", data: "large", args: with(exactOrder, object{"target_batch_size": 32}), job: with(all, object{"batch": 32})},
	{name: "40 features", data: "wide"},
	{name: "3 of 40 features", data: "wide", args: object{"primary_features": features("f00", "f17", "f39")}, job: object{"names": []string{"f00", "f17", "f39"}}},
	{name: "short texts", data: "texts"},
	{name: "short texts, exact order", data: "texts", args: exactOrder, job: all},
	{name: "tokens, padded", data: "tokens", args: padded, job: asLists},
	{name: "tokens, padded, exact order", data: "tokens", args: with(padded, exactOrder), job: with(asLists, all)},
	{name: "tokens with mask and lengths", data: "tokens", args: measured, job: with(asLists, object{"measured": "tokens"})},
	{name: "tokens cut to 64, padded", data: "tokens", args: with(padded, object{"processing_steps": []object{
		{"tensor": "tokens", "type": "slice", "args": object{"slice": "[:64]"}}}}), job: with(asLists, object{"slice": 64})},
	{name: "tokens in buckets", data: "tokens", args: with(padded, object{"bucket_by_length": object{"tensor": "tokens", "boundaries": []int{50, 100, 150}}}),
		job: object{"ways": "buckets", "bucket_by": "tokens", "boundaries": []int{51, 101, 151}}},
	{name: "tokens by elements", data: "tokens", args: with(padded, object{"batch_by_elements": 12_800,
		"bucket_by_length": object{"tensor": "tokens", "boundaries": []int{50, 100, 200}}}),
		job: object{"ways": "buckets", "bucket_by": "tokens", "boundaries": []int{51, 101, 201}}},
	{name: "SequenceExamples, padded", data: "lists", args: padded, job: asLists},
	{name: "SequenceExamples, padded, exact order", data: "lists", args: with(padded, exactOrder), job: with(asLists, all)},
	{name: "windows of 256", data: "series", loader: "continuous_sequence", args: windowsOf(256), job: windowJob(256)},
	{name: "windows of 256, shuffled", data: "series", loader: "continuous_sequence", args: windowsOf(256, inBuffers), job: windowJob(256, buffers)},
	{name: "windows of 256, exact order", data: "series", loader: "continuous_sequence", args: windowsOf(256, exactOrder), job: windowJob(256, all)},
	{name: "windows of 128 to 512, padded", data: "series", loader: "continuous_sequence",
		args: with(object{"min_window": 128, "max_window": 512, "stride": nil, "tail": "keep"}, padded), job: windowJob(320)},
	{name: "windows of feature lists", data: "steps", loader: "continuous_sequence", args: windowsOf(64), job: windowJob(64)},
	{name: "windows of feature lists, shuffled", data: "steps", loader: "continuous_sequence", args: windowsOf(64, inBuffers), job: windowJob(64, buffers)},
	{name: "windows of 4 records", data: "floats", loader: "discrete_sequence", args: object{"min_window": 4, "max_window": 4}, job: windowJob(4, object{"records": true})},
	{name: "chunks of 100 steps", data: "steps", loader: "chunked_sequence", args: chunksOf(), job: windowJob(100)},
	{name: "chunks of 100 steps, drawn", data: "steps", loader: "chunked_sequence",
		args: chunksOf(object{"seq_ordering": "random", "shuffle_chunks": 1000, "chunk_step": 100, "max_seqs": 160}), job: windowJob(100, object{"buffer": 1000})},
}

// features returns primary features with the names of the records.
func features(names ...string) []object {
	var list []object
	for _, name := range names {
		list = append(list, object{"from_name": name, "to_name": name})
	}
	return list
}

// sweepSkipped are keys that the sweep does not have, and why.
var sweepSkipped = map[string]string{
	"batch_within_epoch": "it makes one batch of an epoch smaller",
	"batch_steps":        "they are TensorFlow's own operations on both sides",
	"decode_limit":       "it bounds what steps decode, and costs nothing",
	"service":            "-only service measures it",
	"mode":               "decides which processing steps run; tf.data has no such thing",
	"empty_files":        "decides whether there is an error",
	"mixture":            "-only records measures mixtures",
	"until":              "see mixture",
	"multi_load":         "files of several records side by side; tf.data has no such thing",
	"chunk_eval":         "another chunk_size for evaluation",
	"context_window":     "-only chunks measures chunked_sequence against RETURNN",
	"context_size":       "see context_window", "aligned": "see context_window", "partition_epoch": "see context_window",
	"shuffle_seqs": "see context_window", "recurrent": "see context_window", "with_seq_tag": "see context_window",
	"with_seq_idx": "see context_window", "with_chunk_start": "see context_window", "with_sizes": "see context_window",
	"with_epoch_end": "see context_window", "sequence_features": "see context_window",
}

// sweepKeys returns the keys of the config that the settings and every loader have.
func sweepKeys() []string {
	keys := object{}
	for _, s := range sweepSettings {
		maps.Copy(keys, s.args)
		maps.Copy(keys, loaderArgs("", 1, 1))
		keys["seed"] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

// sweepSet is a data set of the sweep.
type sweepSet struct {
	records  int
	sequence bool   // SequenceExamples
	gzip     bool   // compressed
	features object // the manifest has them, by name
	record   func(n int, rng *rand.Rand) []byte
}

// How the manifest describes features.
func floatFeature(shape ...int) object {
	return object{"dtype": "float32", "shape": append([]int{}, shape...), "deserialize_type": "float", "var_len": false}
}

func listFeature(dtype, kind string, shape ...int) object {
	return object{"dtype": dtype, "shape": append([]int{}, shape...), "deserialize_type": kind, "var_len": true}
}

func rawImage(shape ...int) object {
	return object{"dtype": "uint8", "shape": shape, "deserialize_type": "raw", "deserialize_args": object{"endian": "little", "len": 1}, "var_len": false}
}

var number = object{"dtype": "int64", "shape": []int{}, "deserialize_type": "int", "var_len": false}

var textFeature = object{"dtype": "string", "shape": []int{}, "deserialize_type": "string", "var_len": false}

// sweepData are the data sets by name.
var sweepData = map[string]sweepSet{
	"floats": {records: 100_000, features: object{"x": floatFeature(floats), "y": number}, record: record},
	"gzip":   {records: 50_000, gzip: true, features: object{"x": floatFeature(floats), "y": number}, record: record},
	"images": {records: 50_000, features: object{"x": rawImage(28, 28), "y": number}, record: func(n int, rng *rand.Rand) []byte { return pixelRecord(n, rng, 28*28) }},
	"large":  {records: 600, features: object{"x": rawImage(224, 224, 3), "y": number}, record: func(n int, rng *rand.Rand) []byte { return pixelRecord(n, rng, 224*224*3) }},
	"wide":   {records: 20_000, features: wideFeatures(), record: wideRecord},
	"texts":  {records: 100_000, features: object{"text": textFeature}, record: shortTextRecord},
	"tokens": {records: 30_000, features: object{"tokens": object{"dtype": "int64", "shape": []int{-1}, "deserialize_type": "int", "var_len": false}}, record: tokenRecord},
	"lists":  {records: 20_000, sequence: true, features: object{"tokens": listFeature("int64", "int"), "frames": listFeature("float32", "float", frame)}, record: func(_ int, rng *rand.Rand) []byte { return lists(rng) }},
	"series": {records: 400, features: object{"x": floatFeature(10_000)}, record: seriesRecord},
	"steps":  {records: 4_000, sequence: true, features: object{"x": listFeature("float32", "float", frame)}, record: featureListRecord},
}

func pixelRecord(n int, rng *rand.Rand, size int) []byte {
	pixels := make([]byte, size)
	for i := range pixels {
		pixels[i] = byte(rng.Uint32())
	}
	return example.Marshal([]example.Named{
		{Name: "x", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{pixels}}},
		{Name: "y", Feature: example.Feature{Kind: example.Int64, Ints: []int64{int64(n)}}},
	})
}

func wideName(i int) string { return fmt.Sprintf("f%02d", i) }

func wideFeatures() object {
	all := object{}
	for i := range 40 {
		all[wideName(i)] = floatFeature()
	}
	return all
}

func wideRecord(_ int, rng *rand.Rand) []byte {
	var all []example.Named
	for i := range 40 {
		all = append(all, example.Named{Name: wideName(i), Feature: example.Feature{Kind: example.Float, Floats: samples(rng, 1)}})
	}
	return example.Marshal(all)
}

func shortTextRecord(_ int, rng *rand.Rand) []byte {
	text := make([]byte, 5+rng.IntN(60))
	for i := range text {
		text[i] = byte('a' + rng.IntN(26))
	}
	return example.Marshal([]example.Named{{Name: "text", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{text}}}})
}

func tokenRecord(_ int, rng *rand.Rand) []byte {
	tokens := make([]int64, 10+rng.IntN(190))
	for i := range tokens {
		tokens[i] = rng.Int64N(30_000)
	}
	return example.Marshal([]example.Named{{Name: "tokens", Feature: example.Feature{Kind: example.Int64, Ints: tokens}}})
}

func seriesRecord(_ int, rng *rand.Rand) []byte {
	return example.Marshal([]example.Named{{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: samples(rng, 10_000)}}})
}

func featureListRecord(_ int, rng *rand.Rand) []byte {
	var steps []example.Feature
	for range 50 + rng.IntN(300) {
		steps = append(steps, example.Feature{Kind: example.Float, Floats: samples(rng, frame)})
	}
	return example.MarshalSequence(nil, []example.NamedList{{Name: "x", Features: steps}})
}

// make writes the files of a data set to a folder, unless it has them.
func (d sweepSet) make(folder string) error {
	if made(folder) {
		return nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range dataFiles {
		path := filepath.Join(folder, fmt.Sprintf("part-%05d-of-%05d.tfrecords", i, dataFiles))
		if err := d.write(path, d.records*i/dataFiles, d.records*(i+1)/dataFiles, rng); err != nil {
			return err
		}
	}
	var list []object
	for _, name := range slices.Sorted(maps.Keys(d.features)) {
		list = append(list, with(d.features[name].(object), object{"name": name}))
	}
	manifest := object{"compression": nil, "allow_var_len": d.sequence, "features": list}
	if d.gzip {
		manifest["compression"] = "gzip"
	}
	return writeJSON(filepath.Join(folder, manifestName), manifest)
}

// write writes the records of a file.
func (d sweepSet) write(path string, from, to int, rng *rand.Rand) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := tfrecord.NewWriter(file, tfrecord.None)
	if d.gzip {
		w = tfrecord.NewWriter(file, tfrecord.GZIP)
	}
	for n := from; n < to; n++ {
		if err := w.Write(d.record(n, rng)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return file.Close()
}

// job returns what Python has to know of a data set.
func (d sweepSet) job(folder string) object {
	of := object{}
	for name, f := range d.features {
		f := f.(object)
		of[name] = object{"kind": f["deserialize_type"], "shape": f["shape"], "list": f["var_len"] == true || slices.Contains(f["shape"].([]int), -1)}
	}
	j := object{"folder": folder, "features": of, "sequence": d.sequence, "batch": batchSize, "ways": "records"}
	if d.gzip {
		j["compression"] = "GZIP"
	}
	return j
}
