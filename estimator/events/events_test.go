package events_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/estimator/events"
	pb "millrace/internal/base/tfproto"
	"millrace/tfrecord"
)

// read returns the events of the only file in a folder.
func read(t *testing.T, dir string) []*pb.Event {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("event files %q, %v, want one", names, err)
	}
	var all []*pb.Event
	for record, err := range tfrecord.Records(names[0], nil) {
		if err != nil {
			t.Fatal(err)
		}
		e := &pb.Event{}
		if err := proto.Unmarshal(record.Data, e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func create(t *testing.T, dir string, o *events.Options) *events.Writer {
	t.Helper()
	w, err := events.Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestScalars(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "events", "train")
	w := create(t, dir, nil)
	if err := w.Scalars(7, map[string]float64{"loss": 0.25, "accuracy": 1}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	all := read(t, dir)
	if len(all) != 2 || all[0].GetFileVersion() != "brain.Event:2" {
		t.Fatalf("events %v, want a version and a summary", all)
	}
	e := all[1]
	values := e.GetSummary().GetValue()
	if e.Step != 7 || e.WallTime < 1.6e9 || len(values) != 2 || values[0].Tag != "accuracy" || values[1].Tag != "loss" {
		t.Fatalf("event %v, want accuracy and loss of step 7", e)
	}
	loss := values[1]
	if got := loss.GetTensor().GetFloatVal(); len(got) != 1 || got[0] != 0.25 || loss.Metadata.PluginData.PluginName != "scalars" {
		t.Errorf("loss %v, want the scalar 0.25", loss)
	}
}

// TensorBoard drops later steps of older files only if a file says that the run began
// again.
func TestGoOn(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, &events.Options{Step: 500})
	e := read(t, dir)[1]
	if e.GetSessionLog().GetStatus() != pb.SessionLog_START || e.Step != 501 {
		t.Errorf("second event %v, want a start at step 501", e)
	}
}

func TestGraphAndTrace(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, nil)
	if err := errors.Join(w.Graph([]byte("graph")), w.RunMetadata(3, "step 3", []byte("trace")), w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	all := read(t, dir)
	if trace := all[2].GetTaggedRunMetadata(); string(all[1].GetGraphDef()) != "graph" || all[1].Step != 0 || trace.GetTag() != "step 3" || string(trace.GetRunMetadata()) != "trace" || all[2].Step != 3 {
		t.Errorf("events %v, want the graph and the trace of step 3", all[1:])
	}
}

// The recorded histograms are Python's.
func TestHistogramsOfPython(t *testing.T) {
	text, err := os.ReadFile("testdata/histograms.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]struct {
		Values  []float64
		Plugin  string
		Buckets [][3]float64
	}
	if err := json.Unmarshal(text, &recorded); err != nil || len(recorded) != 4 {
		t.Fatal(len(recorded), err)
	}
	for name, want := range recorded {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := create(t, dir, nil)
			if err := errors.Join(w.Histogram(3, name, events.NewHistogram(want.Values)), w.Close()); err != nil {
				t.Fatal(err)
			}
			got := read(t, dir)[1].GetSummary().GetValue()[0]
			if got.Metadata.PluginData.PluginName != want.Plugin {
				t.Errorf("plugin %q, want %q", got.Metadata.PluginData.PluginName, want.Plugin)
			}
			numbers := got.GetTensor().GetDoubleVal()
			if len(numbers) != 3*len(want.Buckets) {
				t.Fatalf("%d numbers, want %d buckets", len(numbers), len(want.Buckets))
			}
			for i, v := range numbers {
				if w := want.Buckets[i/3][i%3]; math.Abs(v-w) > 1e-12*math.Max(1, math.Abs(w)) {
					t.Errorf("bucket %d: %v, want %v", i/3, numbers[i/3*3:i/3*3+3], want.Buckets[i/3])
					break
				}
			}
		})
	}
}

func TestHistogramOfExtremes(t *testing.T) {
	h := events.NewHistogram([]float64{-math.MaxFloat64, math.MaxFloat64, 1e307, math.NaN(), math.Inf(1)})
	var n int64
	for _, b := range h.Buckets {
		if math.IsNaN(b.Left) || math.IsInf(b.Left, 0) || b.Left > b.Right {
			t.Errorf("bucket %+v", b)
		}
		n += b.Count
	}
	if n != 3 || h.NaNs != 2 || h.Buckets[0].Count != 1 || h.Buckets[15].Count != 1 || h.Buckets[29].Count != 1 {
		t.Errorf("%d values in buckets, %d not finite: %+v", n, h.NaNs, h.Buckets)
	}
	if empty := events.NewHistogram([]float32{float32(math.NaN())}); len(empty.Buckets) != 0 || empty.NaNs != 1 {
		t.Errorf("only a NaN: %+v", empty)
	}
}

func TestFolderThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := events.Create(path, nil)
	if !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, want an error of class ErrIO that names the path", err)
	}
}

// A summary that TensorFlow serialized is written as it is.
func TestSummary(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, nil)
	want := &pb.Summary{Value: []*pb.Summary_Value{{Tag: "fraction_of_32_full", Value: &pb.Summary_Value_SimpleValue{SimpleValue: 0.5}}}}
	data, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Summary(3, data); err != nil {
		t.Fatal(err)
	}
	if err := w.Summary(4, []byte("no summary")); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("bytes that are no summary: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all := read(t, dir)
	if len(all) != 2 || all[1].Step != 3 || !proto.Equal(all[1].GetSummary(), want) {
		t.Errorf("events %v, want the summary", all)
	}
}

// A histogram is a row of three numbers for each bucket. The file has the name of the
// host, so that hosts may share a folder.
func TestHistogramTensor(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, nil)
	h := &events.Histogram{Buckets: []events.Bucket{{Left: 0, Right: 1, Count: 2}, {Left: 1, Right: 3, Count: 5}}}
	if err := errors.Join(w.Histogram(4, "weights", h), w.Close()); err != nil {
		t.Fatal(err)
	}
	tensor := read(t, dir)[1].GetSummary().GetValue()[0].GetTensor()
	if dim := tensor.GetTensorShape().GetDim(); len(dim) != 2 || dim[0].Size != 2 || dim[1].Size != 3 || !slices.Equal(tensor.GetDoubleVal(), []float64{0, 1, 2, 1, 3, 5}) {
		t.Errorf("tensor %v, want [2, 3] of buckets", tensor)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Skip("the host has no name: ", err)
	}
	if names, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*."+host+".*.v2")); err != nil || len(names) != 1 {
		t.Errorf("files with the name of %s: %q, %v", host, names, err)
	}
}

// A failed write is an error that names the file, from every call.
func TestFailedWrites(t *testing.T) {
	w := create(t, t.TempDir(), nil)
	calls := func(name string) map[string]error {
		return map[string]error{
			"Scalars": w.Scalars(1, map[string]float64{name: 1}), "Histogram": w.Histogram(1, name, &events.Histogram{}),
			"RunMetadata": w.RunMetadata(1, name, nil),
		}
	}
	check := func(when string, all map[string]error) {
		t.Helper()
		for call, err := range all {
			if e := (*millrace.Error)(nil); !errors.As(err, &e) || e.Class != millrace.ErrIO || !strings.Contains(e.File, "tfevents") {
				t.Errorf("%s, %s: got %v", when, call, err)
			}
		}
	}
	check("a name that is no text", calls("\xff"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("closed", calls("x"))
	check("closed", map[string]error{"Graph": w.Graph(nil), "Flush": w.Flush()})
}

// Hyperparameters are encoded as TensorBoard's own messages encode them; recorded from
// tensorboard.plugins.hparams 2.21, with the time 1.5.
func TestHyperparameters(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, nil)
	if err := w.Hyperparameters(map[string]any{"batch_size": 32.0, "optimizer": "adam", "use_ema": true}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all := read(t, dir)
	value := all[len(all)-1].GetSummary().GetValue()[0]
	plugin := value.GetMetadata().GetPluginData()
	if value.GetTag() != "_hparams_/session_start_info" || plugin.GetPluginName() != "hparams" {
		t.Errorf("value %v", value)
	}
	want, err := hex.DecodeString("1a460a170a0a62617463685f73697a6512091100000000000040400a130a096f7074696d697a657212061a046164616d0a0d0a077573655f656d611202200129000000000000f83f")
	if err != nil {
		t.Fatal(err)
	}
	content := slices.Clone(plugin.GetContent())
	copy(content[max(0, len(content)-8):], want[len(want)-8:]) // the time
	if !bytes.Equal(content, want) {
		t.Errorf("content %x\nwant    %x", content, want)
	}
}
