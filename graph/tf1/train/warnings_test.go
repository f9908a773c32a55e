package train_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"millrace/graph"
	"millrace/graph/tf1/reader"
	"millrace/graph/tf1/train"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// joined adds a pipeline of n readers of the two files of lines.
func joined(t *testing.T, s *graph.Scope, n int) {
	t.Helper()
	files := train.StringInputProducer(s, s.Const([]string{"testdata/none1", "testdata/none2"}), &train.ProducerOptions{NumEpochs: 1})
	var lists []train.Tensors
	for range n {
		_, line := reader.NewTextLine(s, nil).Read(s, files)
		lists = append(lists, train.Tensors{Dense: []tfbridge.Output{line}})
	}
	train.BatchJoin(s, lists, 2, nil)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestWarnOfMoreReadersThanFiles(t *testing.T) {
	for n, want := range map[int]int{1: 0, 2: 0, 3: 1} {
		s := graphtest.NewScope(t)
		joined(t, s, n)
		got := train.Warnings(s)
		if len(got) != want || want > 0 && !strings.Contains(got[0], "3 readers share 2 files") {
			t.Errorf("%d readers of 2 files: warnings %q, want %d", n, got, want)
		}
	}
	// Two reads of one reader take the same file.
	s := graphtest.NewScope(t)
	files := train.StringInputProducer(s, s.Const([]string{"testdata/none"}), nil)
	r := reader.NewTextLine(s, nil)
	r.Read(s, files)
	r.Read(s, files)
	if got := train.Warnings(s); len(got) > 0 {
		t.Errorf("one reader, read twice: warnings %q", got)
	}
}

func TestMonitoredSessionLogsWarnings(t *testing.T) {
	s := graphtest.NewScope(t)
	joined(t, s, 3)
	var log bytes.Buffer
	m, err := train.NewMonitoredSession(t.Context(), s, &train.MonitoredSessionOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	m.Close() // the files are missing, so a reader's error may come first
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "3 readers share 2 files") {
		t.Errorf("log:\n%s", log.String())
	}
}
