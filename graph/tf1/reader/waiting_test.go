package reader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// Goroutines that share a reader get each record once, also if one of them waits for
// the name of the next file. The counts and a reset do not wait for it.
func TestReadsWhileOneWaits(t *testing.T) {
	const records, files = 30, 3
	s := graphtest.NewScope(t)
	names := queue.NewFIFO(s, files, fileNames, nil)
	var want []string
	var more []*tfbridge.Operation
	for i := range files {
		name := fmt.Sprint("file", i)
		more = append(more, names.Enqueue(s, s.Const(writeRecords(t, name, records))))
		for k := range records {
			want = append(want, fmt.Sprint(name, " ", k))
		}
	}
	end := names.Close(s, false)
	r := reader.NewTFRecord(s, nil)
	_, value := r.Read(s, names)
	count, completed, reset := r.NumRecordsProduced(s), r.NumWorkUnitsCompleted(s), r.Reset(s)
	session := graphtest.NewSession(t, s, nil)
	read, err := session.PrepareRun(nil, []tfbridge.Output{value}, nil, &tfbridge.RunOptions{Inline: true, Unlimited: true})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	taken := make(chan int, records*files)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				out, err := read.Run(context.Background(), nil)
				if err != nil {
					if !errors.Is(err, tfbridge.OutOfRange) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				got = append(got, out[0].Value().(string))
				taken <- len(got)
				mu.Unlock()
				out[0].Close()
			}
		})
	}
	run := func(op *tfbridge.Operation) {
		t.Helper()
		if _, err := session.Run(nil, nil, []*tfbridge.Operation{op}); err != nil {
			t.Error(err)
		}
	}
	for i, op := range more {
		run(op)
		for n := 0; n < records*(i+1); {
			n = <-taken
		}
		out, err := session.Run(nil, []tfbridge.Output{count}, nil) // the goroutines wait now or soon
		if err != nil {
			t.Fatal(err)
		}
		if n := out[0].Value(); n != int64(records*(i+1)) {
			t.Errorf("%v records were counted, want %d", n, records*(i+1))
		}
		out[0].Close()
	}
	run(end)
	wg.Wait()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got)\n%s", diff)
	}
	for _, want := range []int64{files, 0} {
		out, err := session.Run(nil, []tfbridge.Output{completed}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := out[0].Value(); n != want {
			t.Errorf("%v files were completed, want %d", n, want)
		}
		out[0].Close()
		run(reset)
	}
}

// A negative number of records is an error, and 0 reads none.
func TestReadUpToNone(t *testing.T) {
	g := newReading(t, []string{writeRecords(t, "file", 2)}, func(s *graph.Scope) *reader.Reader { return reader.NewTFRecord(s, nil) })
	if _, values := g.r.ReadUpTo(g.s, g.files, g.s.Const(int64(-1))); values.Op == nil {
		t.Fatal(g.s.Err())
	} else if _, err := g.fetch(values); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("-1 records: got %v, want code InvalidArgument", err)
	}
	_, values := g.r.ReadUpTo(g.s, g.files, g.s.Const(int64(0)))
	if got, err := g.fetch(values); err != nil || len(got[0].([]string)) != 0 {
		t.Errorf("0 records: got %v, %v", got, err)
	}
}
