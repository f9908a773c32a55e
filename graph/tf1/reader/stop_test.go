package reader_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/internal/test/leak"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// If reading is stopped halfway through a file, or while a read waits for the next file
// name, no goroutine, handle or open file leaks.
func TestRoundsThatStopHalfway(t *testing.T) {
	path := writeRecords(t, "file", 4)
	round := func() {
		s := graph.NewScope()
		defer s.Graph().Close()
		files := queue.NewFIFO(s, 10, fileNames, nil)
		enqueue := files.Enqueue(s, s.Const(path))
		half, whole := reader.NewTFRecord(s, nil), reader.NewTFRecord(s, nil)
		_, value := half.Read(s, files)
		_, rest := whole.Read(s, files)
		session, err := tfbridge.NewSession(s.Graph(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if _, err := session.RunContext(t.Context(), nil, nil, []*tfbridge.Operation{enqueue}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			out, err := session.RunContext(t.Context(), nil, []tfbridge.Output{value}, nil)
			if err != nil {
				t.Fatal(err)
			}
			out[0].Close()
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := session.RunContext(ctx, nil, []tfbridge.Output{rest}, nil)
			ended <- err
		}()
		cancel()
		if err := <-ended; !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("the read that waited ended with %v", err)
		}
	}
	round() // starts threads that stay for the life of the process
	noneLeft := leak.Objects(t, tfbridge.Live)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range soak.Repeat(10, 1000, 1) {
		round()
	}
	noneLeft()
	if now := openFiles(t); now > files {
		t.Errorf("%d files are open, %d were before", now, files)
	}
	for range 1000 { // goroutines of interrupted runs end a little later
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		runtime.Gosched()
		runtime.GC()
	}
	t.Errorf("%d goroutines are left, %d were before", runtime.NumGoroutine(), goroutines)
}

// openFiles counts the open files of the process.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list open files")
	}
	return len(list)
}
