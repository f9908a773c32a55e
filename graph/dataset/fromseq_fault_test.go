package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

var errOwn = errors.New("own error")

// after yields the numbers from 0 up to but excluding n, and then does something.
func after(n int64, then func(yield func(int64, error) bool)) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		then(yield)
	}
}

func fails(err error) func(func(int64, error) bool) {
	return func(yield func(int64, error) bool) { yield(0, err) }
}

// A fault of a sequence is reported once, with the number of its element, after the
// elements before it.
func TestFromSeqFails(t *testing.T) {
	tests := []struct {
		name string
		then func(yield func(int64, error) bool)
		is   []error
		text []string
	}{
		{"error", fails(errOwn), []error{errOwn, millrace.ErrIO}, []string{"own error"}},
		{"class", fails(millrace.Errorf(millrace.ErrCorrupt, "bad bytes")), []error{millrace.ErrCorrupt}, []string{"bad bytes"}},
		{"cut", fails(io.ErrUnexpectedEOF), []error{millrace.ErrTruncated, io.ErrUnexpectedEOF}, nil},
		{"slow peer", fails(os.ErrDeadlineExceeded), []error{millrace.ErrTransient}, nil},
		{"end of other data", fails(tfbridge.OutOfRange), []error{millrace.ErrIO}, nil},
		{"panic", func(func(int64, error) bool) { panic("ouch") }, []error{millrace.ErrInternal}, []string{"panic: ouch", "fromseq_fault_test.go"}},
		{"goroutine ends", func(func(int64, error) bool) { runtime.Goexit() }, []error{millrace.ErrInternal}, []string{"goroutine"}},
	}
	for _, test := range tests {
		for _, n := range []int64{0, 3} {
			t.Run(fmt.Sprintf("%s after %d", test.name, n), func(t *testing.T) {
				d := dataset.FromSeq(newScope(t), after(n, test.then), &dataset.SeqOptions{Name: "live"})
				it, sess := openSeq(t, d)
				for i := range n {
					if got := fetchSeq(t, it, sess); got != i {
						t.Fatalf("got %v, want %d", got, i)
					}
				}
				_, err := sess.Run(nil, it.Element, nil)
				for _, is := range test.is {
					if !errors.Is(err, is) {
						t.Errorf("got %v, want it to be %v", err, is)
					}
				}
				if err == nil || errors.Is(err, tfbridge.OutOfRange) {
					t.Fatalf("got %v", err)
				}
				for _, text := range append(test.text, fmt.Sprintf("live: record %d: ", n)) {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("got %v, want it to hold %q", err, text)
					}
				}
				for range 2 {
					if _, err := sess.Run(nil, it.Element, nil); !errors.Is(err, tfbridge.OutOfRange) {
						t.Errorf("afterwards: got %v, want the end", err)
					}
				}
			})
		}
	}
}

// Elements that do not fit are refused before TensorFlow sees them.
func TestFromSeqElements(t *testing.T) {
	spec := func(dt tfbridge.DataType, dims ...int64) dataset.SeqOptions {
		o := dataset.SeqOptions{Name: "live"}
		o.Spec.DType, o.Spec.Shape = dt, tfbridge.MakeShape(dims...)
		return o
	}
	tests := []struct {
		name string
		o    dataset.SeqOptions
		good any
		bad  any
		is   error
	}{
		{"nil", spec(tfbridge.Int64), int64(1), nil, millrace.ErrSchema},
		{"nil tensor", spec(tfbridge.Int64), int64(1), (*tfbridge.Tensor)(nil), millrace.ErrSchema},
		{"type", spec(tfbridge.Int64), int64(1), float32(1), millrace.ErrSchema},
		{"no type", spec(tfbridge.Int64), int64(1), struct{}{}, millrace.ErrSchema},
		{"rank", spec(tfbridge.Int64), int64(1), []int64{1}, millrace.ErrSchema},
		{"shape", spec(tfbridge.Float, 2), []float32{1, 2}, []float32{1}, millrace.ErrSchema},
		{"ragged", spec(tfbridge.Float, -1, -1), [][]float32{{1}}, [][]float32{{1}, {1, 2}}, millrace.ErrSchema},
		{"ragged strings", spec(tfbridge.String, -1, -1), [][]string{{"a"}}, [][]string{{"a"}, {"b", "c"}}, millrace.ErrSchema},
		{"empty", spec(tfbridge.Float, -1), []float32{1}, []float32{}, millrace.ErrSchema},
		{"huge", spec(tfbridge.Float, -1), []float32{1}, make([]float32, 100), millrace.ErrLimit},
		{"huge text", spec(tfbridge.String), "a", strings.Repeat("a", 400), millrace.ErrLimit},
		{"huge texts", spec(tfbridge.String, -1), []string{"a"}, []string{"a", strings.Repeat("a", 400)}, millrace.ErrLimit},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.o.MaxBytes = 600
			d := dataset.FromSeq(newScope(t), seqOf(test.good, test.bad, test.good), &test.o)
			got, err := tryAll(t, d)
			if diff := cmp.Diff([]any{test.good}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !errors.Is(err, test.is) || !strings.Contains(err.Error(), "live: record 1: ") {
				t.Errorf("got %v, want %v at record 1", err, test.is)
			}
		})
	}
	t.Run("field", func(t *testing.T) {
		o := &dataset.SeqOptions{}
		seq := seqOf(&struct{ X, Y []int64 }{[]int64{1}, []int64{2}}, &struct{ X, Y []int64 }{[]int64{1}, nil})
		_, err := tryAll(t, dataset.FromSeq(newScope(t), seq, o))
		var own *millrace.Error
		if !errors.As(err, &own) || own.Record != 1 || own.Feature != "Y" || own.Class != millrace.ErrSchema {
			t.Errorf("got %#v", own)
		}
	})
}

// Elements wait while the buffered ones exceed the limit, and none is lost.
func TestFromSeqBytes(t *testing.T) {
	seq := func(yield func([]float32, error) bool) {
		for i := range 50 {
			if !yield([]float32{float32(i), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}[:10+i%6], nil) {
				return
			}
		}
	}
	d := dataset.FromSeq(newScope(t), iter.Seq2[[]float32, error](seq), &dataset.SeqOptions{MaxBytes: 200})
	for i, v := range all(t, d) {
		if v := v.([]float32); v[0] != float32(i) || len(v) != 10+i%6 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}

// A large element after a small one waits until the buffer is empty.
func TestFromSeqLargeAfterSmall(t *testing.T) {
	sizes := []int{1, 40, 1, 1, 40, 40, 1}
	seq := func(yield func([]float32, error) bool) {
		for _, n := range sizes {
			if !yield(make([]float32, n), nil) {
				return
			}
		}
	}
	got := all(t, dataset.FromSeq(newScope(t), iter.Seq2[[]float32, error](seq), &dataset.SeqOptions{MaxBytes: 322}))
	for i, v := range got {
		if len(v.([]float32)) != sizes[i] {
			t.Errorf("element %d has %d numbers, want %d", i, len(v.([]float32)), sizes[i])
		}
	}
	if len(got) != len(sizes) {
		t.Errorf("%d elements, want %d", len(got), len(sizes))
	}
}

// The producer may change an element as soon as yield has returned.
func TestFromSeqCopies(t *testing.T) {
	buffer := []int64{0, 0}
	d := dataset.FromSeq(newScope(t), func(yield func([]int64, error) bool) {
		for i := range int64(many / 10) {
			buffer[0], buffer[1] = i, -i
			if !yield(buffer, nil) {
				return
			}
		}
	}, nil)
	for i, v := range all(t, d) {
		if v := v.([]int64); v[0] != int64(i) || v[1] != -int64(i) {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}

// The producer is never further ahead than the size of the buffer.
func TestFromSeqBackPressure(t *testing.T) {
	for _, buffer := range []int{1, 2, 7, 100} {
		t.Run(fmt.Sprint(buffer), func(t *testing.T) {
			var accepted atomic.Int64
			stuck := make(chan struct{}, 1)
			d := dataset.FromSeq(newScope(t), func(yield func(int64, error) bool) {
				for i := int64(0); yield(i, nil); i++ {
					accepted.Add(1)
				}
				close(stuck)
			}, &dataset.SeqOptions{Buffer: buffer}).WithOptions(&dataset.Options{NoOptimization: true, NoAutotune: true})
			it, sess := openSeq(t, d)
			for i := range int64(many / 20) {
				if got := fetchSeq(t, it, sess); got != i {
					t.Fatalf("got %v, want %d", got, i)
				}
				if ahead := accepted.Load() - i - 1; ahead > int64(buffer) {
					t.Fatalf("%d elements ahead after %d, want at most %d", ahead, i+1, buffer)
				}
			}
			sess.Close()
			<-stuck // yield returned false
		})
	}
}

// The end of the consumer's context ends the wait for a producer that blocks,
// and the producer's context; one that ignores it is reported.
func TestFromFuncCanceled(t *testing.T) {
	for _, ignores := range []bool{false, true} {
		t.Run(fmt.Sprint("ignores=", ignores), func(t *testing.T) {
			entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			d := dataset.FromFunc(newScope(t), func(ctx context.Context, _ int64) iter.Seq2[int64, error] {
				return after(2, func(yield func(int64, error) bool) {
					close(entered)
					if ignores {
						<-leave
					} else {
						<-ctx.Done()
					}
					left <- ctx.Err()
				})
			}, &dataset.SeqOptions{Name: "live"})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-entered
				cancel()
			}()
			var err error
			n := 0
			for _, e := range d.All(ctx, nil) {
				if err = e; err == nil {
					n++
				}
			}
			isClass(t, err, millrace.ErrCanceled)
			if ignores != strings.Contains(fmt.Sprint(err), `ignore their context and still run: "live"`) {
				t.Errorf("got %v", err)
			}
			if n > 2 {
				t.Errorf("%d elements", n)
			}
			close(leave)
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("the producer's context: %v", err)
			}
		})
	}
}

// A producer that closes the session, or the feed that it fills, does not wait
// for itself.
func TestFromSeqCloses(t *testing.T) {
	var sess *tfbridge.Session
	closed := make(chan error, 1)
	d := dataset.FromSeq(newScope(t), after(1, func(func(int64, error) bool) { closed <- sess.Close() }), &dataset.SeqOptions{Name: "live"})
	it, opened := openSeq(t, d)
	sess = opened
	for {
		out, err := sess.Run(nil, it.Element, nil)
		if err != nil {
			isClass(t, err, millrace.ErrClosed)
			break
		}
		out[0].Close()
	}
	if err := <-closed; err == nil || !strings.Contains(err.Error(), `"live"`) {
		t.Errorf("Close within the producer: %v", err)
	}
	for range 2 {
		sess.Close()
	}
}

// Many cancelled contexts and new attempts in a row leak nothing, neither end the data
// nor repeat any of it, and the next session gets all elements.
func TestFromSeqCancelStorm(t *testing.T) {
	cycles := max(many/200, 2)
	if os.Getenv("MILLRACE_STORM") != "" {
		cycles = 10_000
	}
	const elements = max(many/10, 100)
	var running atomic.Int64
	d := dataset.FromFunc(newScope(t), func(ctx context.Context, _ int64) iter.Seq2[int64, error] {
		return func(yield func(int64, error) bool) {
			running.Add(1)
			defer running.Add(-1)
			for i := int64(0); i < elements && yield(i, nil); i++ {
			}
		}
	}, &dataset.SeqOptions{Buffer: 8}).Prefetch(4)
	it := d.Iterator("it")
	for i := range cycles {
		sess, err := tfbridge.NewSession(d.Scope().Graph(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
			t.Fatal(err)
		}
		last := int64(-1)
		for range 10 { // attempts, each canceled at another time
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			out, err := sess.RunContext(ctx, nil, it.Element, nil)
			cancel()
			if err != nil {
				isClass(t, err, millrace.ErrCanceled)
				continue
			}
			last = increases(t, out, last)
		}
		out, err := sess.Run(nil, it.Element, nil)
		if err != nil {
			t.Fatalf("cycle %d: after the storm: %v", i, err)
		}
		increases(t, out, last)
		if err := sess.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := running.Load() + tfbridge.Overdue(); n != 0 {
		t.Errorf("%d producers run on", n)
	}
	if got := all(t, d); len(got) != elements {
		t.Errorf("afterwards: %d elements", len(got))
	}
}

// increases returns the number in an element, which must be above last.
func increases(t *testing.T, element []*tfbridge.Tensor, last int64) int64 {
	t.Helper()
	defer element[0].Close()
	n := element[0].Value().(int64)
	if n <= last {
		t.Errorf("%d comes after %d", n, last)
	}
	return n
}
