package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"millrace"
	"millrace/diag"
)

func TestExitCode(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{&usageError{"millrace", "x"}, 2},
		{millrace.Errorf(millrace.ErrConfig, "x"), 2},
		{millrace.Errorf(millrace.ErrSchema, "x"), 3},
		{fmt.Errorf("more: %w", millrace.Errorf(millrace.ErrTruncated, "x")), 3},
		{millrace.Errorf(millrace.ErrModel, "%w", millrace.Errorf(millrace.ErrCorrupt, "x")), 4},
		{millrace.Errorf(millrace.ErrUnsafeModel, "x"), 4},
		{millrace.Errorf(millrace.ErrCheckpoint, "x"), 5},
		{millrace.Errorf(millrace.ErrLimit, "x"), 6},
		{millrace.Errorf(millrace.ErrIO, "%w", syscall.ENOSPC), 7},
		{millrace.Errorf(millrace.ErrRuntime, "x"), 7},
		{millrace.Errorf(millrace.ErrInternal, "x"), 70},
		{fs.ErrNotExist, 70},
		{diag.List{{Msg: "w", Severity: diag.Warning, Class: millrace.ErrConfig}, {Msg: "x", Class: millrace.ErrLimit}}, 6},
		{errors.Join(millrace.Errorf(millrace.ErrIO, "x"), millrace.Errorf(millrace.ErrConfig, "x")), 7},
	}
	for _, test := range tests {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("exitCode(%v)\n got %d\nwant %d", test.err, got, test.want)
		}
	}
}

// TestFinish prints each problem on a line, without control characters for a terminal.
func TestFinish(t *testing.T) {
	tests := []struct {
		name  string
		cause error // why the context ended
		err   error
		code  int
		want  string
	}{
		{"nothing", nil, nil, 0, ""},
		{"done before a signal", SignalError{syscall.SIGINT}, nil, 0, ""},
		{"lines", nil, millrace.Errorf(millrace.ErrModel, "a\nb\tc\x1b[31md"), 4, "a; b c\uFFFD[31md\n"},
		{"list", nil, diag.List{{File: "a", Msg: "one", Class: millrace.ErrConfig}, {File: "b", Msg: "two"}}, 2, "a: one\nb: two\n"},
		{"joined", nil, errors.Join(millrace.Errorf(millrace.ErrIO, "one"), diag.List{{Msg: "two"}, {Msg: "three"}}), 7, "two\nthree\n"},
		{"joined errors", nil, errors.Join(millrace.Errorf(millrace.ErrIO, "one"), millrace.Errorf(millrace.ErrConfig, "two")), 7, "one\ntwo\n"},
		{"printed", nil, Silent{millrace.Errorf(millrace.ErrCorrupt, "one")}, 3, ""},
		{"internal", nil, errors.New("one"), 70, "one\ninternal error, please report\n"},
		{"stopped", SignalError{syscall.SIGTERM}, millrace.Errorf(millrace.ErrCanceled, "one"), 143, "stopped by SIGTERM; o.npz is not written\n"},
		{"stopped otherwise", SignalError{syscall.SIGINT}, millrace.Errorf(millrace.ErrIO, "one"), 130, "one\nstopped by SIGINT; o.npz is not written\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if test.cause != nil {
				cancel(test.cause)
			}
			defer cancel(nil)
			var stderr bytes.Buffer
			p := &Program{Stderr: &stderr}
			p.SetUnfinished("o.npz is not written")
			if code := p.finish(ctx, test.err); code != test.code || stderr.String() != test.want {
				t.Errorf("got %d %q\nwant %d %q", code, &stderr, test.code, test.want)
			}
		})
	}
}

// TestPanic turns a panic into a message and an exit code.
func TestPanic(t *testing.T) {
	var stderr bytes.Buffer
	p := &Program{Stderr: &stderr}
	code := p.guard(func() int { panic("lost\nmarbles") })
	if want := "internal error, please report: lost; marbles\n"; code != 70 || stderr.String() != want {
		t.Errorf("got %d %q", code, &stderr)
	}
}

// The start of a command takes longer than its batches, so after only one batch there
// is no rate.
func TestStatus(t *testing.T) {
	began := time.Now()
	tests := []struct {
		total, first, done int64 // first: what the first batch had
		after              time.Duration
		want               string
	}{
		{0, 5, 5, time.Second, "5 records"},
		{0, 5, 15, time.Second, "15 records, 10/s"},
		{100, 0, 0, 0, "0 of 100 records"},
		{4000, 500, 1500, 2 * time.Second, "1,500 of 4,000 records, 500/s, 5s left"},
		{4000, 1000, 4000, 2 * time.Second, "4,000 of 4,000 records, 1,500/s"},
		{1e9, 1000, 2000, time.Second, "2,000 of 1,000,000,000 records, 1,000/s, 277h46m38s left"},
	}
	for _, test := range tests {
		m := &Meter{began: began}
		m.total.Store(test.total)
		if test.done > 0 {
			m.first.Store(&point{began, test.first})
		}
		m.done.Store(test.done)
		if got := m.status(began.Add(test.after)); got != test.want {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
}
