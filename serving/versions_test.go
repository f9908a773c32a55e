package serving

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
	"millrace/serving/batching"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

const testdata = "../testdata/models/"

// put makes a folder a version of a model, complete and in one step.
func put(t *testing.T, base, model string, number int) string {
	t.Helper()
	whole := filepath.Join(base, "new"+strconv.Itoa(number))
	dir := filepath.Join(base, strconv.Itoa(number))
	if err := errors.Join(os.CopyFS(whole, os.DirFS(testdata+model)), os.Rename(whole, dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start returns a server of one model m that scans its base path continuously.
func start(t *testing.T, config ModelConfig, o Options) *Server {
	t.Helper()
	testruntime.Need(t)
	o.FileSystemPollWait, o.Logger = time.Millisecond, slog.New(slog.DiscardHandler)
	if o.LoadRetryInterval == 0 {
		o.LoadRetryInterval = time.Millisecond
	}
	config.Name = "m"
	s, err := New(t.Context(), []ModelConfig{config}, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// text returns the states of m as text, the highest version first: "2 AVAILABLE, 1
// END".
func (s *Server) text() string {
	all, err := s.Status(ModelSpec{Name: "m"})
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, v := range all {
		part := strconv.FormatInt(v.Version, 10) + " " + v.State.String()
		if v.Err != nil {
			part += " with an error"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// await waits until m has the given states.
func await(t *testing.T, s *Server, want string) {
	t.Helper()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if s.text() == want {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("the states are %s, want %s", s.text(), want)
		case <-time.After(time.Minute):
			t.Fatalf("the states are %s, want %s", s.text(), want)
		}
	}
}

// predict asks a version of m for y of x.
func predict(t *testing.T, s *Server, spec ModelSpec, x float32) (number int64, y float32, err error) {
	spec.Name = "m"
	v, err := s.Acquire(spec)
	if err != nil {
		return 0, 0, err
	}
	defer v.Release()
	outputs, err := v.Predict(t.Context(), "", map[string]any{"x": []float32{x}})
	if err != nil {
		return v.Number, 0, err
	}
	defer outputs["y"].Close()
	values, err := tfbridge.View[float32](outputs["y"])
	return v.Number, values[0], err
}

// A new version replaces the old one. A broken version does not, and its error gives
// the reason.
func TestVersionsComeAndGo(t *testing.T) {
	base := t.TempDir()
	put(t, base, "constant", 1)
	s := start(t, ModelConfig{BasePath: base}, Options{MaxNumLoadRetries: -1})
	if n, y, err := predict(t, s, ModelSpec{}, 1); n != 1 || y != 3 || err != nil {
		t.Errorf("version 1: got %d, %v, %v", n, y, err)
	}
	held, err := s.Acquire(ModelSpec{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	put(t, base, "examples", 2)
	await(t, s, "2 AVAILABLE, 1 UNLOADING")
	if n, y, err := predict(t, s, ModelSpec{}, 1); n != 2 || y != 2 || err != nil {
		t.Errorf("version 2: got %d, %v, %v", n, y, err)
	}
	if _, _, err := predict(t, s, ModelSpec{Version: 1}, 1); CodeOf(err) != tfbridge.NotFound {
		t.Errorf("version 1 after its end: %v", err)
	}
	outputs, err := held.Predict(t.Context(), "", map[string]any{"x": []float32{1}})
	if err != nil || outputs["y"].Value().([]float32)[0] != 3 {
		t.Errorf("who still has version 1: %v, %v", outputs, err)
	}
	outputs["y"].Close()
	held.Release()
	await(t, s, "2 AVAILABLE, 1 END")

	if err := os.Mkdir(filepath.Join(base, "3"), 0o755); err != nil {
		t.Fatal(err)
	}
	await(t, s, "3 END with an error, 2 AVAILABLE, 1 END")
	if n, _, err := predict(t, s, ModelSpec{}, 1); n != 2 || err != nil {
		t.Errorf("beside a broken version: got %d, %v", n, err)
	}
	if all, err := s.Status(ModelSpec{Name: "m", Version: 3}); err != nil || len(all) != 1 || !errors.Is(all[0].Err, millrace.ErrModel) {
		t.Errorf("the status of the broken version: %v, %v", all, err)
	}
	if err := os.Remove(filepath.Join(base, "3")); err != nil {
		t.Fatal(err)
	}
	put(t, base, "constant", 4)
	await(t, s, "4 AVAILABLE, 3 END with an error, 2 END, 1 END")
	put(t, base, "constant", 3) // lower than the latest: not wanted
	if err := os.RemoveAll(filepath.Join(base, "4")); err != nil {
		t.Fatal(err)
	}
	await(t, s, "4 END, 3 AVAILABLE, 2 END, 1 END")
}

// Loading a version whose files come late is repeated.
func TestLoadRetries(t *testing.T) {
	base := t.TempDir()
	put(t, base, "constant", 1)
	s := start(t, ModelConfig{BasePath: base}, Options{MaxNumLoadRetries: 1 << 30})
	if err := os.Mkdir(filepath.Join(base, "2"), 0o755); err != nil {
		t.Fatal(err)
	}
	await(t, s, "2 LOADING with an error, 1 AVAILABLE")
	if err := os.CopyFS(filepath.Join(base, "2"), os.DirFS(testdata+"constant")); err != nil {
		t.Fatal(err)
	}
	await(t, s, "2 AVAILABLE, 1 END")
}

func TestVersionPolicies(t *testing.T) {
	tests := []struct {
		name   string
		policy VersionPolicy
		want   string
	}{
		{"latest", VersionPolicy{}, "12 AVAILABLE"},
		{"latest 2", VersionPolicy{Latest: 2}, "12 AVAILABLE, 3 AVAILABLE"},
		{"all", VersionPolicy{All: true}, "12 AVAILABLE, 3 AVAILABLE, 2 AVAILABLE"},
		{"specific", VersionPolicy{Specific: []int64{2, 7}}, "2 AVAILABLE"},
	}
	base := t.TempDir()
	for _, n := range []int{2, 3, 12} {
		put(t, base, "constant", n)
	}
	for _, name := range []string{"tmp", "-1", "5"} {
		if err := os.WriteFile(filepath.Join(base, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range tests {
		s := start(t, ModelConfig{BasePath: base, VersionPolicy: tt.policy}, Options{})
		if got := s.text(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Labels name versions, and follow the configuration.
func TestLabels(t *testing.T) {
	base := t.TempDir()
	put(t, base, "constant", 1)
	put(t, base, "constant", 2)
	config := ModelConfig{Name: "m", BasePath: base, VersionPolicy: VersionPolicy{All: true}, VersionLabels: map[string]int64{"stable": 1, "canary": 2}}
	s := start(t, config, Options{})
	for label, want := range config.VersionLabels {
		if n, _, err := predict(t, s, ModelSpec{Label: label}, 1); n != want || err != nil {
			t.Errorf("label %s: got version %d, %v, want %d", label, n, err, want)
		}
	}
	for _, spec := range []ModelSpec{{Label: "other"}, {Label: "stable", Version: 1}} {
		if _, _, err := predict(t, s, spec, 1); CodeOf(err) != tfbridge.InvalidArgument {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	config.VersionLabels = map[string]int64{"stable": 2}
	if err := s.ReplaceConfig(t.Context(), []ModelConfig{config}); err != nil {
		t.Fatal(err)
	}
	if n, _, err := predict(t, s, ModelSpec{Label: "stable"}, 1); n != 2 || err != nil {
		t.Errorf("the label that moved: got version %d, %v", n, err)
	}
	config.VersionLabels = map[string]int64{"stable": 7}
	if err := s.ReplaceConfig(t.Context(), []ModelConfig{config}); CodeOf(err) != tfbridge.FailedPrecondition {
		t.Errorf("a label of no version: %v", err)
	}
}

// Another configuration adds models and removes others.
func TestReplaceConfig(t *testing.T) {
	s := start(t, ModelConfig{BasePath: testdata + "constant"}, Options{})
	both := []ModelConfig{{Name: "m", BasePath: testdata + "constant"}, {Name: "other", BasePath: testdata + "linear"}}
	if err := s.ReplaceConfig(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	if got := s.Models(); !slices.Equal(got, []string{"m", "other"}) {
		t.Errorf("models %q", got)
	}
	if err := s.ReplaceConfig(t.Context(), both[1:]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := predict(t, s, ModelSpec{}, 1); CodeOf(err) != tfbridge.NotFound {
		t.Errorf("a model that was removed: %v", err)
	}
	await(t, s, "1 END")
	if err := s.ReplaceConfig(t.Context(), []ModelConfig{{Name: "m"}}); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("a model without a base path: %v", err)
	}
	if err := s.ReplaceConfig(t.Context(), both[:1]); err != nil {
		t.Fatal(err)
	}
	if _, y, err := predict(t, s, ModelSpec{}, 1); y != 3 || err != nil {
		t.Errorf("a model that came back: %v, %v", y, err)
	}
}

// A configuration with a wrong base path is refused at once, and the earlier models
// stay.
func TestReplaceConfigWithWrongPath(t *testing.T) {
	s := start(t, ModelConfig{BasePath: testdata + "constant"}, Options{})
	for name, path := range map[string]string{"missing": testdata + "missing", "empty": t.TempDir()} {
		err := s.ReplaceConfig(t.Context(), []ModelConfig{{Name: "m", BasePath: path}})
		if !errors.Is(err, millrace.ErrConfig) || CodeOf(err) != tfbridge.NotFound {
			t.Errorf("a base path that is %s: %v", name, err)
		}
	}
	if _, y, err := predict(t, s, ModelSpec{}, 1); y != 3 || err != nil {
		t.Errorf("after refused configurations: %v, %v", y, err)
	}
}

func TestNewFails(t *testing.T) {
	testruntime.Need(t)
	empty, broken := t.TempDir(), t.TempDir()
	put(t, broken, "writes_file", 1)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name    string
		ctx     context.Context
		configs []ModelConfig
		want    millrace.Class
	}{
		{"no name", t.Context(), []ModelConfig{{BasePath: empty}}, millrace.ErrConfig},
		{"two of a name", t.Context(), []ModelConfig{{Name: "m", BasePath: empty}, {Name: "m", BasePath: empty}}, millrace.ErrConfig},
		{"a remote base path", t.Context(), []ModelConfig{{Name: "m", BasePath: "gs://bucket/m"}}, millrace.ErrConfig},
		{"no base path", t.Context(), []ModelConfig{{Name: "m", BasePath: filepath.Join(empty, "none")}}, millrace.ErrIO},
		{"an unsafe model", t.Context(), []ModelConfig{{Name: "m", BasePath: broken}}, millrace.ErrUnsafeModel},
		{"no versions, and nobody waits", canceled, []ModelConfig{{Name: "m", BasePath: empty}}, millrace.ErrCanceled},
	}
	for _, tt := range tests {
		o := &Options{Logger: slog.New(slog.DiscardHandler), FileSystemPollWait: time.Millisecond}
		if _, err := New(tt.ctx, tt.configs, o); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want class %v", tt.name, err, tt.want)
		}
	}
	once := &Options{Logger: slog.New(slog.DiscardHandler), FileSystemPollWait: -1}
	if _, err := New(t.Context(), []ModelConfig{{Name: "m", BasePath: empty}}, once); CodeOf(err) != tfbridge.NotFound {
		t.Errorf("no versions, and nobody looks: %v", err)
	}
}

// A server waits for the first version of a model.
func TestFirstVersionComesLate(t *testing.T) {
	testruntime.Need(t)
	base := t.TempDir()
	said := make(chan struct{}, 100)
	log := slog.New(slog.NewTextHandler(writer(func(line string) {
		if strings.Contains(line, "no versions") {
			said <- struct{}{}
		}
	}), nil))
	go func() {
		<-said
		put(t, base, "constant", 1)
	}()
	s, err := New(t.Context(), []ModelConfig{{Name: "m", BasePath: base}}, &Options{Logger: log, FileSystemPollWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, y, err := predict(t, s, ModelSpec{}, 1); y != 3 || err != nil {
		t.Errorf("got %v, %v", y, err)
	}
}

// writer is a function as an io.Writer.
type writer func(string)

func (w writer) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

// writeWarmup gives a version warmup requests.
func writeWarmup(t *testing.T, dir string, logs ...*servingproto.PredictionLog) {
	t.Helper()
	extra := filepath.Join(dir, "assets.extra")
	if err := os.Mkdir(extra, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(extra, "tf_serving_warmup_requests"))
	if err != nil {
		t.Fatal(err)
	}
	w := tfrecord.NewWriter(f, tfrecord.None)
	for _, log := range logs {
		record, err := proto.Marshal(log)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// predictLog is a warmup request for y of x.
func predictLog(name string) *servingproto.PredictionLog {
	return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_PredictLog{PredictLog: &servingproto.PredictLog{
		Request: &servingproto.PredictRequest{Inputs: map[string]*tfproto.TensorProto{name: {
			Dtype: tfproto.DataType_DT_FLOAT, FloatVal: []float32{1},
			TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 3}}},
		}}},
	}}}
}

// exampleInput is an Example with x.
func exampleInput(x float32) *servingproto.Input {
	feature := &tfproto.Feature{Kind: &tfproto.Feature_FloatList{FloatList: &tfproto.FloatList{Value: []float32{x}}}}
	e := &tfproto.Example{Features: &tfproto.Features{Feature: map[string]*tfproto.Feature{"x": feature}}}
	return &servingproto.Input{Kind: &servingproto.Input_ExampleList{ExampleList: &servingproto.ExampleList{Examples: []*tfproto.Example{e}}}}
}

// Warmup requests run before a version is available. If one fails the version does not
// become available.
func TestWarmup(t *testing.T) {
	base := t.TempDir()
	classify := &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_ClassifyLog{ClassifyLog: &servingproto.ClassifyLog{
		Request: &servingproto.ClassificationRequest{ModelSpec: &servingproto.ModelSpec{SignatureName: "classify"}, Input: exampleInput(1)}}}}
	regress := &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_RegressLog{RegressLog: &servingproto.RegressLog{
		Request: &servingproto.RegressionRequest{ModelSpec: &servingproto.ModelSpec{SignatureName: "regress"}, Input: exampleInput(1)}}}}
	multi := &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_MultiInferenceLog{MultiInferenceLog: &servingproto.MultiInferenceLog{
		Request: &servingproto.MultiInferenceRequest{Input: exampleInput(1), Tasks: []*servingproto.InferenceTask{
			{ModelSpec: &servingproto.ModelSpec{Name: "m", SignatureName: "regress"}, MethodName: "tensorflow/serving/regress"}}}}}}
	writeWarmup(t, put(t, base, "examples", 1), predictLog("x"), classify, regress, multi, &servingproto.PredictionLog{})
	var rows atomic.Int64
	o := Options{MaxNumLoadRetries: -1, Batching: &batching.Options{}, OnBatch: func(i BatchInfo) {
		if i.Model == "m" && i.Version == 1 {
			rows.Add(int64(i.Rows))
		}
	}}
	s := start(t, ModelConfig{BasePath: base}, o)
	if got := rows.Load(); got != 6 {
		t.Errorf("%d rows ran before the version was available, want 3 of Predict and 1 of each other request", got)
	}
	session := &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_SessionRunLog{SessionRunLog: &servingproto.SessionRunLog{}}}
	for i, bad := range []*servingproto.PredictionLog{predictLog("z"), session} {
		hidden := t.TempDir()
		writeWarmup(t, put(t, hidden, "examples", i+2), bad)
		number := strconv.Itoa(i + 2)
		if err := os.CopyFS(filepath.Join(base, "tmp"), os.DirFS(filepath.Join(hidden, number))); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(base, "tmp"), filepath.Join(base, number)); err != nil {
			t.Fatal(err)
		}
		await(t, s, []string{"2 END with an error, 1 AVAILABLE", "3 END with an error, 2 END with an error, 1 AVAILABLE"}[i])
	}
	all, err := s.Status(ModelSpec{Name: "m", Version: 2})
	var e *millrace.Error
	if err != nil || !errors.As(all[0].Err, &e) || e.Record != 0 || !strings.HasSuffix(e.File, warmupFile) {
		t.Errorf("the failure names its place: %v, %v", all, err)
	}
}

// No request fails while versions are added and removed.
func TestReloadsUnderLoad(t *testing.T) {
	reloads := soak.Rounds(10, 100)
	base := t.TempDir()
	put(t, base, "constant", 1)
	s := start(t, ModelConfig{BasePath: base}, Options{Batching: &batching.Options{}})
	stop := make(chan struct{})
	var asked atomic.Int64
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, y, err := predict(t, s, ModelSpec{}, float32(i)); err != nil || y != float32(2*i+1) {
					t.Errorf("got %v, %v", y, err)
					return
				}
				asked.Add(1)
			}
		})
	}
	want := "1 AVAILABLE"
	for n := 2; n <= reloads+1; n++ {
		put(t, base, "constant", n)
		want = strconv.Itoa(n) + " AVAILABLE, " + strings.Replace(want, "AVAILABLE", "END", 1)
		await(t, s, want)
	}
	close(stop)
	group.Wait()
	if asked.Load() == 0 {
		t.Error("nobody asked")
	}
}

// A version has the batching parameters in its folder. Without any its requests run
// alone.
func TestModelBatching(t *testing.T) {
	base := t.TempDir()
	put(t, base, "constant", 1)
	put(t, base, "constant", 2)
	var batches atomic.Int64
	scheduler := batching.NewScheduler(1)
	s := start(t, ModelConfig{BasePath: base, VersionPolicy: VersionPolicy{All: true}}, Options{
		Batching: &batching.Options{MaxBatchSize: 1, Scheduler: scheduler},
		ModelBatching: func(dir string) (*batching.Options, error) {
			if filepath.Base(dir) == "1" {
				return nil, nil
			}
			return &batching.Options{MaxBatchSize: 2}, nil
		},
		OnBatch: func(BatchInfo) { batches.Add(1) },
	})
	for n, want := range map[int64]int64{1: 0, 2: 1} {
		batches.Store(0)
		v, err := s.Acquire(ModelSpec{Name: "m", Version: n})
		if err != nil {
			t.Fatal(err)
		}
		outputs, err := v.Predict(t.Context(), "", map[string]any{"x": []float32{1, 2}})
		v.Release()
		if err != nil || batches.Load() != want {
			t.Errorf("version %d: %v, %d batches, want %d", n, err, batches.Load(), want)
		}
		for _, y := range outputs {
			y.Close()
		}
	}
}

// A model's own setting turns batching off, and its batchers have its shared inputs.
func TestModelSwitches(t *testing.T) {
	var batches atomic.Int64
	for _, off := range []bool{false, true} {
		batches.Store(0)
		c := ModelConfig{BasePath: testdata + "constant", Unbatched: off}
		s := start(t, c, Options{Batching: &batching.Options{SharedInputs: []string{"other"}}, OnBatch: func(BatchInfo) { batches.Add(1) }})
		if _, y, err := predict(t, s, ModelSpec{}, 2); err != nil || y != 5 || (batches.Load() == 0) != off {
			t.Errorf("unbatched %v: got %v, %v, and %d batches", off, y, err, batches.Load())
		}
	}
	shared := start(t, ModelConfig{BasePath: testdata + "constant", SharedInputs: []string{"x"}}, Options{Batching: &batching.Options{}, OnBatch: func(BatchInfo) { batches.Add(1) }})
	batches.Store(0)
	if _, y, err := predict(t, shared, ModelSpec{}, 2); err != nil || y != 5 || batches.Load() != 0 {
		t.Errorf("with no input that has rows: got %v, %v, and %d batches", y, err, batches.Load())
	}
}

// Requests above the limit are refused, and accepted again when others are done.
func TestMaxConcurrentRequests(t *testing.T) {
	s := start(t, ModelConfig{BasePath: testdata + "constant"}, Options{MaxConcurrentRequests: 2})
	var held []*Version
	for range 2 {
		v, err := s.Acquire(ModelSpec{Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, v)
	}
	if _, _, err := predict(t, s, ModelSpec{}, 1); !errors.Is(err, millrace.ErrOverloaded) || CodeOf(err) != tfbridge.Unavailable {
		t.Errorf("the third request: %v", err)
	}
	held[0].Release()
	if _, y, err := predict(t, s, ModelSpec{}, 1); y != 3 || err != nil {
		t.Errorf("after one was done: %v, %v", y, err)
	}
	held[1].Release()
}

// Close answers the requests in flight, and refuses others.
func TestCloseWaits(t *testing.T) {
	s := start(t, ModelConfig{BasePath: testdata + "constant"}, Options{})
	v, err := s.Acquire(ModelSpec{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	await(t, s, "1 UNLOADING")
	if _, err := s.Acquire(ModelSpec{Name: "m"}); !errors.Is(err, millrace.ErrClosed) || CodeOf(err) != tfbridge.Unavailable {
		t.Errorf("a request after Close: %v", err)
	}
	outputs, err := v.Predict(t.Context(), "", map[string]any{"x": []float32{1}})
	if err != nil {
		t.Fatal(err)
	}
	outputs["y"].Close()
	select {
	case <-closed:
		t.Error("Close did not wait")
	default:
	}
	v.Release()
	<-closed
	if got := s.text(); got != "1 END" {
		t.Errorf("afterwards: %s", got)
	}
}
