package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

const lateCommand = "late"

// loadLate is a process that loads libraries of operations while other goroutines make
// and run graphs and sessions. It then uses the operations in a graph and a session
// that existed before. TestMain calls it with the paths of the two libraries and of a
// file of records.
func loadLate(args []string) error {
	s := graph.NewScope()
	defer s.Graph().Close()
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := loadBesideGraphs(args[:2]); err != nil {
		return err
	}

	// A dataset of one library, and an operation of the other in its function, in the
	// earlier graph and session.
	d := myReaderDataset(s, args[2]).Map("decode", func(s *graph.Scope, in []tfbridge.Output) []tfbridge.Output {
		return s.Op("DecodeMyReader", map[string]any{"num_values": int64(0)}, in[0], s.Const([]string{}))[:1]
	}, nil)
	it := d.Iterator("it")
	if err := s.Err(); err != nil {
		return err
	}
	if _, err := session.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		return err
	}
	got, err := session.Run(nil, it.Element, nil)
	if err != nil {
		return err
	}
	defer got[0].Close()
	fmt.Println("label:", got[0].Value())

	// An attribute that the operation lacks is refused, as for TensorFlow's own.
	s.Op1("DecodeMyReader", map[string]any{"values": int64(0)}, s.Const([]string{}), s.Const([]string{}))
	fmt.Println("refused:", s.Err())
	return nil
}

// loadBesideGraphs loads libraries while goroutines make graphs.
func loadBesideGraphs(libraries []string) error {
	ctx, stop := context.WithCancel(context.Background())
	started := make(chan struct{}, 4)
	errs := make([]error, cap(started))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for first := true; first || ctx.Err() == nil; first = false {
				if first {
					started <- struct{}{}
				}
				s := graph.NewScope()
				d := dataset.Range(s, 0, 8, 1).Map("same", func(_ *graph.Scope, in []tfbridge.Output) []tfbridge.Output { return in }, nil)
				got, err := dataset.ToSlice[int64](context.Background(), d.Batch(2, false).Unbatch(), nil)
				if err == nil && len(got) != 8 {
					err = fmt.Errorf("got %v", got)
				}
				errs[i] = errors.Join(errs[i], err)
				s.Graph().Close()
			}
		})
	}
	for range cap(started) {
		<-started
	}
	var err error
	for _, library := range libraries {
		_, e := tfbridge.LoadLibrary(library)
		err = errors.Join(err, e)
	}
	stop()
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

// Libraries may be loaded late, while goroutines make graphs and run them. Their
// operations are then available by name in earlier graphs, functions and sessions.
// TensorFlow itself requires that its runtime is not used meanwhile; see
// docs/robustness.md.
func TestLoadLate(t *testing.T) {
	testruntime.Need(t)
	reader, err := myReader()
	if err != nil {
		t.Fatal(err)
	}
	record, err := myRecord()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a deadlock would last forever
	defer cancel()
	out, err := exec.CommandContext(ctx, program, lateCommand, reader, record, write(t, encode("\x07\x00\x00\x00\x00\x00\x00\x00"))).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "label: 7\n") || !strings.Contains(string(out), `has no attribute "values"`) {
		t.Errorf("%v\n%s", err, out)
	}
}
