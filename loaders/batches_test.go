package loaders_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// column copies a tensor's values.
func column[T any](t *testing.T, b *loaders.Batch, name string) []T {
	t.Helper()
	v, err := tfbridge.View[T](b.Tensor(name))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(v)
}

func count(n int64) (ids []int64) {
	for i := range n {
		ids = append(ids, i)
	}
	return ids
}

func TestBatchesStartAnewAtEachRange(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
	d.WriteRecords(t, "b.tfrecords", fixture.Records(5, 7)...)
	d.Save(t)
	l, err := loaders.Open(d.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		var ids []int64
		var rows []int64
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, column[int64](t, b, "id")...)
			rows = append(rows, b.Rows())
		}
		if diff := cmp.Diff(count(7), ids); diff != "" {
			t.Errorf("ids (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]int64{2, 2, 2, 1}, rows); diff != "" {
			t.Errorf("rows (-want +got)\n%s", diff)
		}
		for range l.Batches(t.Context()) {
			break // leaves prefetched batches
		}
	}
}

// A loader that was checked for a model reports which tensors are inputs of the model.
func TestInputsAndTargets(t *testing.T) {
	testruntime.Need(t)
	l, err := loaders.Open("../examples/digits/predict.json", &loaders.Options{Check: &loaders.CheckOptions{
		Model: &loaders.ModelNames{Inputs: []string{"image"}, Outputs: []string{"scores"}}, Keep: []string{"label"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		inputs, targets := b.Inputs(), b.Targets()
		if len(inputs) != 1 || inputs["image"] != b.Tensor("image") || len(targets) != 1 || targets["label"] != b.Tensor("label") {
			t.Errorf("inputs %v, targets %v, want the image and the label", inputs, targets)
		}
		break
	}
	other, err := loaders.Open("../examples/digits/predict.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for b, err := range other.Batches(t.Context()) {
		if err != nil || b.Inputs() != nil || b.Targets() != nil {
			t.Errorf("without a model: inputs %v, targets %v, error %v", b.Inputs(), b.Targets(), err)
		}
		break
	}
}

func TestKeptBatchOutlivesTheLoader(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 6)...)
	d.Save(t)
	l, err := loaders.Open(d.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var kept []*loaders.Batch
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Keep()
		kept = append(kept, b)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, b := range kept {
		ids = append(ids, column[int64](t, b, "id")...)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(count(6), ids); diff != "" {
		t.Errorf("ids (-want +got)\n%s", diff)
	}
}

func TestCancelledLoopEndsWithAnErrorAndTheNextOneIsWhole(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.Args["epochs"] = nil
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 6)...)
	d.Save(t)
	l, err := loaders.Open(d.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		var last error
		n := 0
		for b, err := range l.Batches(ctx) {
			if last = err; err != nil {
				break
			}
			if n == 0 && column[int64](t, b, "id")[0] != 0 {
				t.Fatal("the first batch of a new loop is not the first of the data")
			}
			if n++; n == 3 {
				cancel()
			}
		}
		cancel()
		if !errors.Is(last, millrace.ErrCanceled) || !errors.Is(last, context.Canceled) {
			t.Fatalf("got %v, want a cancellation", last)
		}
	}
}

func TestOneLoopAtATime(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 6)...)
	d.Save(t)
	l, err := loaders.Open(d.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range l.Batches(t.Context()) {
			if !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("a loop inside a loop: got %v", err)
			}
		}
	}
}

// Close may be called at any time: then every reader gets its batches or an error, and
// never a false end of the data.
func TestCloseWhileReading(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.Args["epochs"] = nil
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 6)...)
	d.Save(t)
	for range 20 {
		l, err := loaders.Open(d.Config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		started := make(chan struct{})
		var ended error
		wg.Go(func() {
			var once sync.Once
			for _, err := range l.Batches(t.Context()) {
				once.Do(func() { close(started) })
				ended = err
			}
		})
		<-started
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if !errors.Is(ended, millrace.ErrClosed) {
			t.Fatalf("got %v, want ErrClosed", ended)
		}
	}
}

// Close may also be called while a loop begins. Every loop then ends with ErrClosed, at
// whatever point it was.
func TestCloseWhileLoopsBegin(t *testing.T) {
	testruntime.Need(t)
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 6)...)
	d.Save(t)
	for round := range 100 {
		l, err := loaders.Open(d.Config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		begun, ended := make(chan struct{}), make(chan error)
		go func() {
			close(begun)
			var err error
			for err == nil {
				_, err = firstBatch(t, l)
			}
			ended <- err
		}()
		<-begun
		for range 50 * round {
			runtime.Gosched()
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, millrace.ErrClosed) {
			t.Errorf("round %d: got %v, want ErrClosed", round, err)
		}
	}
}

// firstBatch starts a loop and leaves it after the first batch.
func firstBatch(t *testing.T, l *loaders.Loader) (rows int64, err error) {
	for batch, err := range l.Batches(t.Context()) {
		if err != nil {
			return 0, err
		}
		return batch.Rows(), nil
	}
	return 0, errors.New("the data ended before the first batch")
}
