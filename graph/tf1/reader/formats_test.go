package reader_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/tfbridge"
)

// write writes files into a folder of the test and returns their paths.
func write(t testing.TB, contents ...string) []string {
	t.Helper()
	dir, paths := t.TempDir(), []string(nil)
	for i, content := range contents {
		path := filepath.Join(dir, fmt.Sprintf("f%d", i))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// reading is a reader in a session whose queue holds file names and is closed.
type reading struct {
	t       testing.TB
	s       *graph.Scope
	r       *reader.Reader
	files   *queue.Queue
	session *tfbridge.Session
}

// newReading returns a reading of a reader that build adds. More operations may be
// added to its scope.
func newReading(t testing.TB, paths []string, build func(s *graph.Scope) *reader.Reader) *reading {
	t.Helper()
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	g := &reading{t: t, s: s, r: build(s), files: queue.NewFIFO(s, 100, fileNames, nil)}
	enqueue, end := g.files.EnqueueMany(s, s.Const(paths)), g.files.Close(s, false)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	g.session = session
	g.do(enqueue)
	g.do(end)
	return g
}

// do runs a target.
func (g *reading) do(op *tfbridge.Operation) {
	g.t.Helper()
	if _, err := g.session.RunContext(g.t.Context(), nil, nil, []*tfbridge.Operation{op}); err != nil {
		g.t.Fatal(err)
	}
}

// fetch runs outputs and returns their values.
func (g *reading) fetch(outputs ...tfbridge.Output) ([]any, error) {
	g.t.Helper()
	if err := g.s.Err(); err != nil {
		g.t.Fatal(err)
	}
	tensors, err := g.session.RunContext(g.t.Context(), nil, outputs, nil)
	var values []any
	for _, tensor := range tensors {
		values = append(values, tensor.Value())
		tensor.Close()
	}
	return values, err
}

// all reads records until an error, as "file:key value" with the file's base name.
func (g *reading) all() ([]string, error) {
	g.t.Helper()
	key, value := g.r.Read(g.s, g.files)
	var records []string
	for {
		kv, err := g.fetch(key, value)
		if err != nil {
			return records, err
		}
		records = append(records, fmt.Sprintf("%s %v", filepath.Base(kv[0].(string)), kv[1]))
	}
}

// Each reader returns the records of its format, with their keys, and ends.
func TestReaders(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		build func(s *graph.Scope) *reader.Reader
		want  []string
	}{
		{"lines", []string{"a\nb\r\n\nc", "", "d\n"}, func(s *graph.Scope) *reader.Reader { return reader.NewTextLine(s, nil) },
			[]string{"f0:1 a", "f0:2 b", "f0:3 ", "f0:4 c", "f2:1 d"}},
		{"lines behind a header", []string{"h\na", "h\nb\n", "h"}, func(s *graph.Scope) *reader.Reader {
			return reader.NewTextLine(s, &reader.TextLineOptions{SkipHeaderLines: 1})
		}, []string{"f0:2 a", "f1:2 b"}},
		{"fixed", []string{"abcdef", "gh"}, func(s *graph.Scope) *reader.Reader { return reader.NewFixedLengthRecord(s, 2, nil) },
			[]string{"f0:0 ab", "f0:1 cd", "f0:2 ef", "f1:0 gh"}},
		{"fixed with header, footer and hop", []string{"HabcdefFF"}, func(s *graph.Scope) *reader.Reader {
			return reader.NewFixedLengthRecord(s, 2, &reader.FixedLengthRecordOptions{HeaderBytes: 1, FooterBytes: 2, HopBytes: 3})
		}, []string{"f0:0 ab", "f0:1 de"}},
		{"whole files", []string{"abc", ""}, func(s *graph.Scope) *reader.Reader { return reader.NewWholeFile(s, nil) },
			[]string{"f0 abc", "f1 "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := newReading(t, write(t, tt.files...), tt.build).all()
			if !errors.Is(err, tfbridge.OutOfRange) {
				t.Errorf("the end is %v, want code OutOfRange", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// ReadUpTo returns the remaining records of a file if it has fewer, the counters count,
// and Reset starts over.
func TestProgress(t *testing.T) {
	g := newReading(t, write(t, "a\nb\nc\n", "d\n"), func(s *graph.Scope) *reader.Reader { return reader.NewTextLine(s, nil) })
	keys, values := g.r.ReadUpTo(g.s, g.files, g.s.Const(int64(2)))
	records, units, reset := g.r.NumRecordsProduced(g.s), g.r.NumWorkUnitsCompleted(g.s), g.r.Reset(g.s)
	for _, want := range [][]any{
		{[]string{"a", "b"}, int64(2), int64(0)},
		{[]string{"c"}, int64(3), int64(1)},
		{[]string{"d"}, int64(4), int64(2)},
	} {
		kv, err := g.fetch(keys, values)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := g.fetch(records, units)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, append([]any{kv[1]}, counts...)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if len(kv[0].([]string)) != len(kv[1].([]string)) {
			t.Errorf("%d keys for %d values", len(kv[0].([]string)), len(kv[1].([]string)))
		}
	}
	if _, err := g.fetch(keys); !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("the end is %v, want code OutOfRange", err)
	}
	g.do(reset)
	if counts, err := g.fetch(records, units); err != nil || counts[0] != int64(0) || counts[1] != int64(0) {
		t.Errorf("after a reset the counts are %v, %v", counts, err)
	}
}

// A saved state restores the counts of a reader in another session, and a damaged state
// is an error.
func TestState(t *testing.T) {
	build := func(s *graph.Scope) *reader.Reader { return reader.NewIdentity(s, nil) }
	first := newReading(t, []string{"a", "b", "c"}, build)
	_, value := first.r.Read(first.s, first.files)
	for range 2 {
		if _, err := first.fetch(value); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := first.fetch(first.r.SerializeState(first.s))
	if err != nil {
		t.Fatal(err)
	}
	second := newReading(t, []string{"c"}, build)
	restore := second.r.RestoreState(second.s, second.s.Const(saved[0]))
	records := second.r.NumRecordsProduced(second.s)
	second.do(restore)
	if counts, err := second.fetch(records); err != nil || counts[0] != int64(2) {
		t.Errorf("the restored reader counts %v, %v; want 2", counts, err)
	}
	broken := second.r.RestoreState(second.s, second.s.Const("no state"))
	_, err = second.session.RunContext(t.Context(), nil, nil, []*tfbridge.Operation{broken})
	if !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("a damaged state: got %v, want code InvalidArgument", err)
	}
	lines := newReading(t, nil, func(s *graph.Scope) *reader.Reader { return reader.NewTextLine(s, nil) })
	if _, err := lines.fetch(lines.r.SerializeState(lines.s)); !errors.Is(err, tfbridge.Unimplemented) {
		t.Errorf("the state of a reader of lines: got %v, want code Unimplemented", err)
	}
}

// header returns a record's header with a valid checksum.
func header(n uint64) string {
	b := binary.LittleEndian.AppendUint64(nil, n)
	crc := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return string(binary.LittleEndian.AppendUint32(b, (crc>>15|crc<<17)+0xa282ead8))
}

// Damage in a TFRecord file is always an error that names the location. The first three
// files end the process in TensorFlow's reader, or look like the end of a file to it.
func TestDamagedRecords(t *testing.T) {
	whole, err := os.ReadFile(writeRecords(t, "whole", 1))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, tail string
		class      millrace.Class
	}{
		{"length of 2^40", header(1<<40) + strings.Repeat("x", 90), millrace.ErrTruncated},
		{"length of 2^62", header(1<<62) + strings.Repeat("x", 90), millrace.ErrTruncated},
		{"cut header", header(5)[:10], millrace.ErrTruncated},
		{"length of 2^64-20", header(1<<64-20) + strings.Repeat("x", 90), millrace.ErrTruncated},
		{"zeros", strings.Repeat("\x00", 30), millrace.ErrCorrupt},
		{"cut record", string(whole[:len(whole)-3]), millrace.ErrTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			paths := write(t, string(whole)+tt.tail, string(whole))
			g := newReading(t, paths, func(s *graph.Scope) *reader.Reader { return reader.NewTFRecord(s, nil) })
			got, err := g.all()
			if diff := cmp.Diff([]string{"f0:0 whole 0"}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			var e *millrace.Error
			if !errors.As(err, &e) || e.File != paths[0] || e.Record != 1 || e.Offset != int64(len(whole)) {
				t.Errorf("got %v, want file %s, record 1 at %d", err, paths[0], len(whole))
			}
			if again, second := g.all(); len(again) > 0 || second == nil || second.Error() != err.Error() {
				t.Errorf("a second read: got %q, %v; want %v", again, second, err)
			}
			g.do(g.r.Reset(g.s))
			if got, _ := g.all(); len(got) != 1 {
				t.Errorf("after a reset the reader returned %q, want the record of the next file", got)
			}
		})
	}
}

// A missing file fails one read; the next one opens the next file.
func TestMissingFile(t *testing.T) {
	path := writeRecords(t, "there", 1)
	g := newReading(t, []string{filepath.Join(t.TempDir(), "missing"), path}, func(s *graph.Scope) *reader.Reader {
		return reader.NewTFRecord(s, nil)
	})
	if _, err := g.all(); !errors.Is(err, tfbridge.NotFound) {
		t.Errorf("got %v, want code NotFound", err)
	}
	if got, err := g.all(); len(got) != 1 || !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("then: got %q, %v; want one record and code OutOfRange", got, err)
	}
}

// Arguments that cannot work are refused while building, in an error with the reader's
// name.
func TestRefused(t *testing.T) {
	name := reader.Options{Name: "mine"}
	text := func(s *graph.Scope) *reader.Reader {
		return reader.NewTextLine(s, &reader.TextLineOptions{Options: name})
	}
	fixed := func(n int64, o reader.FixedLengthRecordOptions) func(s *graph.Scope) {
		o.Options = name
		return func(s *graph.Scope) { reader.NewFixedLengthRecord(s, n, &o) }
	}
	names := func(s *graph.Scope) *queue.Queue { return queue.NewFIFO(s, 1, fileNames, nil) }
	tests := []struct {
		name, want string
		build      func(s *graph.Scope)
	}{
		{"no length", "RecordBytes is 0", fixed(0, reader.FixedLengthRecordOptions{})},
		{"length", "RecordBytes is 4611686018427387904", fixed(1<<62, reader.FixedLengthRecordOptions{})},
		{"header", "HeaderBytes is -1", fixed(1, reader.FixedLengthRecordOptions{HeaderBytes: -1})},
		{"footer", "FooterBytes is", fixed(1, reader.FixedLengthRecordOptions{FooterBytes: 1 << 40})},
		{"hop", "HopBytes is -1", fixed(1, reader.FixedLengthRecordOptions{HopBytes: -1})},
		{"encoding", `Encoding is "gzip"`, fixed(1, reader.FixedLengthRecordOptions{Encoding: "gzip"})},
		{"compression", `CompressionType is "LZ4"`, func(s *graph.Scope) {
			reader.NewTFRecord(s, &reader.TFRecordOptions{Options: name, CompressionType: "LZ4"})
		}},
		{"header lines", "SkipHeaderLines is -1", func(s *graph.Scope) {
			reader.NewTextLine(s, &reader.TextLineOptions{Options: name, SkipHeaderLines: -1})
		}},
		{"queue of numbers", "file names are one scalar string each", func(s *graph.Scope) {
			text(s).Read(s, queue.NewFIFO(s, 1, []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}, nil))
		}},
		{"no queue", "the queue of file names is nil", func(s *graph.Scope) { text(s).Read(s, nil) }},
		{"number of records", "must be a scalar int64", func(s *graph.Scope) { text(s).ReadUpTo(s, names(s), s.Const(int32(1))) }},
		{"state", "must be a scalar string", func(s *graph.Scope) { text(s).RestoreState(s, s.Const(int32(1))) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graph.NewScope()
			defer s.Graph().Close()
			tt.build(s)
			if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `reader "mine`) {
				t.Errorf("got %v, want %s and the reader's name", err, tt.want)
			}
		})
	}
}
