package report_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/tool/report"
)

// runDir writes a RUN_DIR with a log.
func runDir(t *testing.T, log string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "first")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"run.json": `{"seed":7,"note":"</script><b>"}`, "log.ndjson": log} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const log = `{"step":20,"loss":2.5,"learning_rate":0.1,"steps_per_s":10,"examples_per_s":320,"input_wait":0.25}
{"step":40,"loss":"NaN","learning_rate":0.1,"steps_per_s":10,"examples_per_s":320,"input_wait":0.25}
{"step":40,"evaluation":{"accuracy":0.5,"matrix":[[3,1],[0,4]]},"examples":8,"seconds":0.1,"best":true}
{"step":60,"loss":1.5,"learning_rate":0.1,"steps_per_s":10,"examples_per_s":320,"input_wait":0.25}
{"step":80,"lo`

func read(t *testing.T, dir string) *report.Run {
	t.Helper()
	r, err := report.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRead(t *testing.T) {
	r := read(t, runDir(t, log))
	loss := r.Training["loss"].Points
	if len(loss) != 3 || loss[0] != (report.Point{Step: 20, Value: 2.5}) || !math.IsNaN(loss[1].Value) || loss[2].Value != 1.5 {
		t.Errorf("losses %v", loss)
	}
	if p, ok := r.Evaluation["accuracy"].Last(); !ok || p != (report.Point{Step: 40, Value: 0.5}) {
		t.Errorf("accuracy %v", p)
	}
	if m := r.Matrices["matrix"]; len(m) != 1 || m[0].Counts[1][1] != 4 {
		t.Errorf("matrices %v", m)
	}
	if r.Steps() != 60 || r.Finish != nil || r.Name != "first" {
		t.Errorf("last step %d, end %v, name %q", r.Steps(), r.Finish, r.Name)
	}
}

func TestReadFaults(t *testing.T) {
	damaged := runDir(t, "{\"step\":1,\"loss\":2}\n{\"step\":2,\n{\"step\":3}\n")
	for name, test := range map[string]struct{ dir, want string }{
		"no run":       {t.TempDir(), "no run"},
		"damaged line": {damaged, "line 2"},
	} {
		_, err := report.Read(test.dir)
		if !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error of class ErrIO with %q", name, err, test.want)
		}
	}
}

func TestPage(t *testing.T) {
	runs := []*report.Run{read(t, runDir(t, log)), read(t, runDir(t, log))}
	var page bytes.Buffer
	if err := report.Write(&page, runs); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	// The charts of loss, learning rate, accuracy and three of throughput.
	if n := strings.Count(text, `<svg class="chart"`); n != 6 {
		t.Errorf("%d charts, want 6", n)
	}
	// A NaN cuts the curve of the loss in two, in the colors of both runs.
	for _, want := range []string{runs[0].Dir, runs[1].Dir, "not finished", "#0072B2", "#D55E00", "matrix of", "&lt;/script&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	for _, foreign := range []string{"http://", "https://", "<script", "NaN\"", "<b>"} {
		if strings.Contains(strings.ReplaceAll(text, `"http://www.w3.org/`, ""), foreign) {
			t.Errorf("the page holds %q", foreign)
		}
	}
}

// The picture of the input pipeline has the times of a profile, or the stages of the
// plan if there is no profile.
func TestInput(t *testing.T) {
	stages := `{"stages":[{"name":"shuffle","what":"records in a buffer of 30"}]`
	for name, test := range map[string]struct {
		input        string
		want, absent string
	}{
		"planned": {stages + `}`, "records in a buffer of 30", "of the time</span>"},
		"timed": {stages + `,"batches":200,"times":[{"name":"Shuffle","datasets":2,"elements":1000,"seconds":0.003,"buffered":30},
			{"name":"Prefetch","datasets":1,"elements":0,"seconds":0.001,"buffered":0}]}`,
			"<b>Shuffle</b><span>1,000 elements</span><span>2 of them</span><span>3µs each</span><span>30 buffered</span><span>75.0% of the time</span>",
			"records in a buffer"},
	} {
		dir := runDir(t, log)
		if err := os.WriteFile(filepath.Join(dir, "input.json"), []byte(test.input), 0o666); err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := report.Write(&page, []*report.Run{read(t, dir)}); err != nil {
			t.Fatal(err)
		}
		if text := page.String(); !strings.Contains(text, test.want) || strings.Contains(text, test.absent) {
			t.Errorf("%s: want %q and not %q in\n%s", name, test.want, test.absent, text[strings.Index(text, "Input pipeline"):])
		}
	}
}

// Charts with one point, with equal values, or without finite values are drawn too.
func TestOddCurves(t *testing.T) {
	for name, log := range map[string]string{
		"one point":  `{"step":1,"loss":3}` + "\n",
		"equal":      `{"step":1,"loss":0}` + "\n" + `{"step":2,"loss":0}` + "\n",
		"not finite": `{"step":1,"loss":"NaN"}` + "\n" + `{"step":2,"loss":"-Infinity"}` + "\n",
		"huge":       `{"step":1,"loss":-1e308}` + "\n" + `{"step":2,"loss":1e308}` + "\n",
		"close":      `{"step":1,"loss":1e16}` + "\n" + `{"step":2,"loss":10000000000000002}` + "\n",
		"tiny":       `{"step":1,"loss":0}` + "\n" + `{"step":2,"loss":5e-324}` + "\n",
		"none":       "",
	} {
		var page bytes.Buffer
		if err := report.Write(&page, []*report.Run{read(t, runDir(t, log))}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Steps are whole numbers, also below a curve of two points.
func TestStepTicks(t *testing.T) {
	r := read(t, runDir(t, `{"step":220,"evaluation":{"accuracy":0.25},"examples":8,"seconds":0.1}
{"step":440,"evaluation":{"accuracy":0.5},"examples":8,"seconds":0.1}
`))
	var page bytes.Buffer
	if err := report.Write(&page, []*report.Run{r}); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); !strings.Contains(text, ">325</text>") || strings.Contains(text, ">325.0") {
		t.Error("the axis of steps has no label 325, or one with decimals")
	}
}

// A log with a hole may claim to be any size.
func TestLogWithHole(t *testing.T) {
	for _, size := range []int64{1 << 40, 200 << 20} {
		dir := runDir(t, log)
		if err := os.Truncate(filepath.Join(dir, "log.ndjson"), size); err != nil {
			t.Fatal(err)
		}
		if _, err := report.Read(dir); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "log.ndjson") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
