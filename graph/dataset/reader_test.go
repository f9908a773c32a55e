package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
)

// lineReader reads the lines of a text. Its position is an offset.
type lineReader struct {
	text   string
	offset int
}

func (r *lineReader) Next() (string, error) {
	if r.offset == len(r.text) {
		return "", io.EOF
	}
	line, _, _ := strings.Cut(r.text[r.offset:], "\n")
	r.offset = min(r.offset+len(line)+1, len(r.text))
	return line, nil
}

func (r *lineReader) State() ([]byte, error) { return strconv.AppendInt(nil, int64(r.offset), 10), nil }
func (r *lineReader) Close() error           { return nil }

// A file format in Go. The reader's state makes iterators resumable.
func ExampleFromReader() {
	open := func(_ context.Context, state []byte) (dataset.Reader[string], error) {
		r := &lineReader{text: "one\ntwo\nthree\n"}
		if state == nil {
			return r, nil
		}
		var err error
		r.offset, err = strconv.Atoi(string(state))
		return r, err
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	for line, err := range dataset.Iterate[string](context.Background(), dataset.FromReader(s, open, nil), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(line)
	}
	// Output:
	// one
	// two
	// three
}

// lengths reads slices of the given lengths: element i consists of copies of i. Its
// state is i. It fails at element fail with err, or panics if err is nil.
type lengths struct {
	all    []int
	i      int64
	fail   int64
	err    error
	closed *atomic.Int64
	read   *atomic.Int64
}

func (r *lengths) Next() ([]int64, error) {
	r.read.Add(1)
	switch {
	case r.i == int64(len(r.all)):
		return nil, io.EOF
	case r.i == r.fail && r.err == nil:
		panic("no such thing")
	case r.i == r.fail:
		return nil, r.err
	}
	v := make([]int64, r.all[r.i])
	for j := range v {
		v[j] = r.i
	}
	r.i++
	return v, nil
}

func (r *lengths) State() ([]byte, error) { return strconv.AppendInt(nil, r.i, 10), nil }

func (r *lengths) Close() error {
	r.closed.Add(1)
	return nil
}

// lengthSource makes datasets of lengths, and counts.
type lengthSource struct {
	lengths                      // a copy of it reads
	o                            dataset.ReaderOptions
	opened, restored, shut, read atomic.Int64
}

func (l *lengthSource) dataset(s *graph.Scope) *dataset.Dataset {
	return dataset.FromReader(s, func(_ context.Context, state []byte) (dataset.Reader[[]int64], error) {
		l.opened.Add(1)
		r := l.lengths
		r.closed, r.read = &l.shut, &l.read
		if state != nil {
			l.restored.Add(1)
			if len(state) > 0 {
				var err error
				if r.i, err = strconv.ParseInt(string(state), 10, 64); err != nil {
					return nil, err
				}
			}
		}
		return &r, nil
	}, &l.o)
}

// An iterator that is saved between any two elements continues in another graph, also
// where elements of several shapes end chunks early, and reads only a few elements
// again.
func TestFromReaderState(t *testing.T) {
	for _, chunk := range []int{1, 3, 100} {
		l := &lengthSource{lengths: lengths{all: []int{2, 2, 2, 0, 0, 1, 2, 3, 3, 3, 3, 3, 1}, fail: -1}, o: dataset.ReaderOptions{Chunk: chunk}}
		whole := start(t, l.dataset).next(100)
		if len(whole) != len(l.all) || fmt.Sprint(whole[9]) != "[9 9 9]" {
			t.Fatalf("chunks of %d: got %v", chunk, whole)
		}
		first, second := start(t, l.dataset), start(t, l.dataset)
		for n := range whole {
			state, err := first.it.SaveState(t.Context(), first.sess)
			if err := errors.Join(err, second.it.RestoreState(t.Context(), second.sess, state)); err != nil {
				t.Fatal(err)
			}
			l.read.Store(0)
			if diff := cmp.Diff(whole[n:], second.next(100)); diff != "" {
				t.Errorf("chunks of %d, rest after %d (-want +got)\n%s", chunk, n, diff)
			}
			if again := int(l.read.Load()) - 1 - (len(whole) - n); again > chunk {
				t.Errorf("chunks of %d: after %d elements %d were read again", chunk, n, again)
			}
			first.next(1)
		}
		if l.restored.Load() == 0 {
			t.Error("nothing was restored")
		}
	}
}

// An error comes after the elements before it, once, with its class; then the data
// ends.
func TestFromReaderFails(t *testing.T) {
	place := millrace.Errorf(millrace.ErrCorrupt, "a bad line")
	place.File, place.Record = "lines.txt", 3
	for name, tt := range map[string]struct {
		err   error
		class millrace.Class
		want  string
	}{
		"place":    {place, millrace.ErrCorrupt, "lines.txt: record 3: a bad line"},
		"no class": {errors.New("no cable"), millrace.ErrIO, "cable: no cable"},
		"panic":    {nil, millrace.ErrInternal, "cable: panic: no such thing"},
		"early":    {fmt.Errorf("header: %w", io.EOF), millrace.ErrTruncated, "cable: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lengthSource{lengths: lengths{all: []int{1, 1, 1, 1}, fail: 3, err: tt.err}, o: dataset.ReaderOptions{Name: "cable"}}
			r := start(t, l.dataset)
			if got := r.next(3); len(got) != 3 {
				t.Fatalf("got %v before the error", got)
			}
			_, err := r.sess.Run(nil, r.it.Element, nil)
			if !errors.Is(err, tt.class) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("got %v, want class %v, %q", err, tt.class, tt.want)
			}
			if got := r.next(1); len(got) != 0 {
				t.Errorf("after the error: %v", got)
			}
		})
	}
	s := newScope(t)
	d := dataset.FromReader(s, func(context.Context, []byte) (dataset.Reader[int64], error) { return nil, nil }, nil)
	_, err := tryAll(t, d)
	isClass(t, err, millrace.ErrModel)
	dataset.FromReader[int64](s, nil, nil)
	isClass(t, s.Err(), millrace.ErrModel)
}

// Each iterator has its own reader, and every reader is closed.
func TestFromReaderCloses(t *testing.T) {
	l := &lengthSource{lengths: lengths{all: []int{1, 1, 1}, fail: -1}, o: dataset.ReaderOptions{Workers: 1, Chunk: 1}}
	s := newScope(t)
	d := l.dataset(s).Repeat(2)
	for range 2 {
		if got, err := tryAll(t, d); len(got) != 6 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
	if l.opened.Load() != 4 {
		t.Errorf("%d readers opened, want one for each round", l.opened.Load())
	}
	if _, err := tryAll(t, d.Take(1)); err != nil {
		t.Error(err)
	}
	for l.shut.Load() < l.opened.Load() { // TensorFlow frees an iterator a moment later; the test's deadline ends the wait
		if runtime.Gosched(); t.Context().Err() != nil {
			t.Fatal("readers are open")
		}
	}
}
