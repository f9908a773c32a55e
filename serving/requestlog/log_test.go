package requestlog

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"millrace/tfrecord"
)

// open opens a log in a folder.
func open(t *testing.T, prefix string, o Options) *Log {
	t.Helper()
	o.FilenamePrefix, o.SamplingRate, o.Logger = prefix, 1, slog.New(slog.DiscardHandler)
	l, err := Open(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// message is a message of n.
func message(n int64) proto.Message { return wrapperspb.Int64(n) }

// records returns the records of all files that match a pattern, in the order of
// their names.
func records(t *testing.T, pattern string) (all [][]byte) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		for r, err := range tfrecord.Records(path, nil) {
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			all = append(all, slices.Clone(r.Data))
		}
	}
	return all
}

// A file is complete when it is large enough, or the log is closed. Examples are in
// separate files.
func TestLog(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "requests")
	l := open(t, prefix, Options{MaxFileBytes: 40})
	for i := range int64(5) {
		l.Add(message(1+i), [][]byte{{byte(i)}})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Add(message(9), nil) // too late
	if written, dropped := l.Counts(); written != 5 || dropped != 1 {
		t.Errorf("%d written, %d dropped", written, dropped)
	}
	var got []int64
	for _, r := range records(t, prefix+"-2*"+complete) {
		m := &wrapperspb.Int64Value{}
		if err := proto.Unmarshal(r, m); err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Value)
	}
	slices.Sort(got) // names sort by time, and then by their length
	if !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
		t.Errorf("logged %v", got)
	}
	if n := len(records(t, prefix+examplesInfix+"-*"+complete)); n != 5 {
		t.Errorf("%d examples", n)
	}
	if files, _ := filepath.Glob(prefix + "-2*"); len(files) != 2 {
		t.Errorf("files %q", files)
	}
}

// A killed process leaves a file that ends within a record. The next log completes it;
// it does not touch a file that another log is writing.
func TestKilled(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "requests")
	var torn strings.Builder
	w := tfrecord.NewWriter(&torn, tfrecord.None)
	for _, r := range []string{"first", "second", "third"} {
		if err := w.Write([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"-1": torn.String()[:torn.Len()-3], "-2": "", "-3": torn.String()[:5]} {
		if err := os.WriteFile(prefix+name+partial, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first := open(t, prefix, Options{})
	if got := records(t, prefix+"-1"+complete); len(got) != 2 || string(got[1]) != "second" {
		t.Errorf("recovered %q", got)
	}
	second := open(t, prefix, Options{})
	if files, _ := filepath.Glob(prefix + "-*" + partial); len(files) != 2 {
		t.Errorf("the files of two logs are %q", files)
	}
	first.Add(message(1), nil)
	first.Close()
	second.Close()
	if files, _ := filepath.Glob(prefix + "-*"); len(files) != 2 {
		t.Errorf("in the end there are %q", files)
	}
}

// A request does not wait for a slow log: the message is dropped.
func TestFullQueue(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "requests"), Options{QueueBytes: 1})
	l.Add(message(1<<40), nil)
	if _, dropped := l.Counts(); dropped != 1 {
		t.Errorf("%d dropped, want 1", dropped)
	}
	if n := l.waiting.Load(); n != 0 {
		t.Errorf("%d bytes wait for nothing", n)
	}
}

func TestOpenFails(t *testing.T) {
	for _, o := range []Options{
		{FilenamePrefix: filepath.Join(t.TempDir(), "none", "x")},
		{FilenamePrefix: filepath.Join(t.TempDir(), "x"), SamplingRate: 1.5},
		{FilenamePrefix: filepath.Join(t.TempDir(), "x"), SamplingRate: math.NaN()},
	} {
		if _, err := Open(&o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
