package ops

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// The tests of this file follow TensorFlow's document on new file formats with its
// MyReaderDataset. The template is that class, with inputs, an attribute and files. A
// file has "MyReader!" ten times.

// encode returns records in the template's format.
func encode(records ...string) []byte {
	var b []byte
	for _, record := range records {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(record)))
		b = append(b, record...)
	}
	return b
}

// write writes a file and returns its name.
func write(t *testing.T, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "records")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// ten returns a file with "MyReader!" ten times.
func ten(t *testing.T) string {
	return write(t, encode(slices.Repeat([]string{"MyReader!"}, 10)...))
}

var stringSpecs = []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}

// myReaderDataset is the class MyReaderDataset of the document's program: it makes the
// node, and declares the elements.
func myReaderDataset(s *graph.Scope, filenames ...string) *dataset.Dataset {
	variant := s.Op1("MyReaderDataset", nil, s.Const(filenames), s.Const(int64(16)))
	return dataset.FromVariant(s, variant, stringSpecs)
}

// reader is an iterator in its own session.
type reader struct {
	session *tfbridge.Session
	it      *dataset.Iterator
}

// open makes an iterator over a dataset.
func open(t *testing.T, d *dataset.Dataset) *reader {
	t.Helper()
	it := d.Iterator("it")
	if err := d.Scope().Err(); err != nil {
		t.Fatal(err)
	}
	r := &reader{it: it}
	r.init(t, d.Scope().Graph())
	return r
}

// init gives the reader a session, and starts its iterator.
func (r *reader) init(t *testing.T, g *tfbridge.Graph) {
	t.Helper()
	session, err := tfbridge.NewSession(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if _, err := session.Run(nil, nil, []*tfbridge.Operation{r.it.Init}); err != nil {
		t.Fatal(err)
	}
	r.session = session
}

// next returns the next record.
func (r *reader) next() (string, error) {
	got, err := r.session.Run(nil, r.it.Element, nil)
	if err != nil {
		return "", err
	}
	defer got[0].Close()
	return got[0].Value().(string), nil
}

// newScope returns a scope of a graph that the test closes.
func newScope(t *testing.T) *graph.Scope {
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	return s
}

// TestDocument is the document's program, line for line.
func TestDocument(t *testing.T) {
	load(t) // tf.load_op_library("./my_reader_dataset_op.so")

	s := newScope(t)
	reader := open(t, myReaderDataset(s, ten(t))) // make_one_shot_iterator, tf.Session
	var printed []string
	for {
		next, err := reader.next() // sess.run(next_element)
		if errors.Is(err, tfbridge.OutOfRange) {
			break // except tf.errors.OutOfRangeError
		}
		if err != nil {
			t.Fatal(err)
		}
		printed = append(printed, next)
	}
	if want := slices.Repeat([]string{"MyReader!"}, 10); !slices.Equal(printed, want) {
		t.Errorf("got %q, want %q", printed, want)
	}
	if _, err := reader.next(); !errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("asked again after the end: %v, want OUT_OF_RANGE", err)
	}
}

// The debug string of a dataset is TensorFlow's text for its value.
func TestDebugString(t *testing.T) {
	load(t)
	s := newScope(t)
	variant := myReaderDataset(s, "a.rec").Variant()
	text, err := graph.NewTensor(s, s.Op1("StringFormat", map[string]any{"template": "of {}", "placeholder": "{}"}, tfbridge.OutputList{variant})).Eval(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if got, want := fmt.Sprint(text.Value()), "MyReaderDatasetOp::Dataset"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %q in it", got, want)
	}
}

// Eight goroutines that pull one iterator get ten elements in all.
func TestConcurrentNext(t *testing.T) {
	load(t)
	reader := open(t, myReaderDataset(newScope(t), ten(t)))
	var elements atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				got, err := reader.next()
				if errors.Is(err, tfbridge.OutOfRange) {
					return
				}
				if err != nil || got != "MyReader!" {
					t.Errorf("%q, %v", got, err)
					return
				}
				elements.Add(1)
			}
		})
	}
	wg.Wait()
	if n := elements.Load(); n != 10 {
		t.Errorf("8 goroutines got %d elements in all, want 10", n)
	}
}

// Other datasets can read from the template's.
func TestDerivedDatasets(t *testing.T) {
	load(t)
	s := newScope(t)
	name := write(t, encode("a", "b", "c"))
	d := myReaderDataset(s, name).Repeat(2).Map("twice", func(s *graph.Scope, in []tfbridge.Output) []tfbridge.Output {
		return s.Op("StringJoin", nil, tfbridge.OutputList{in[0], in[0]})
	}, nil).Batch(4, false)
	got, err := dataset.ToSlice[[]string](t.Context(), d, nil)
	if want := "[[aa bb cc aa] [bb cc]]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
}

// An error has file, record and offset, through a Map too. The error is sticky.
func TestErrorPlace(t *testing.T) {
	load(t)
	whole := encode("one", "two", "three")
	tooLong := encode("one", "two")
	tooLong[7+3] = 0x7f
	for _, tt := range []struct {
		name           string
		data           []byte
		class          millrace.Class
		record, offset int64
	}{
		{"within a record", whole[:17], millrace.ErrTruncated, 2, 14},
		{"within a length", whole[:9], millrace.ErrTruncated, 1, 7},
		{"length beyond the maximum", tooLong, millrace.ErrCorrupt, 1, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := write(t, tt.data)
			d := myReaderDataset(newScope(t), name).Map("same", func(_ *graph.Scope, in []tfbridge.Output) []tfbridge.Output { return in }, nil)
			reader := open(t, d)
			for range tt.record {
				if _, err := reader.next(); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				_, err := reader.next()
				var e *millrace.Error
				if !errors.As(err, &e) || e.Class != tt.class || e.File != name || e.Record != tt.record || e.Offset != tt.offset || !errors.Is(err, tfbridge.DataLoss) {
					t.Errorf("got %v, want one of class %q about record %d at offset %d", err, tt.class, tt.record, tt.offset)
				}
			}
		})
	}
	if _, err := open(t, myReaderDataset(newScope(t), "no/such/file")).next(); !errors.Is(err, tfbridge.NotFound) {
		t.Errorf("no such file: %v, want NOT_FOUND", err)
	}
}

// The kernel's checks fail when the iterator is made, and the checks of the operation's
// definition when the node is added.
func TestArguments(t *testing.T) {
	load(t)
	for _, tt := range []struct {
		name   string
		attrs  map[string]any
		buffer any
		specs  []graph.Spec
		built  bool // the graph can be built
		want   string
	}{
		{"vector for a scalar", nil, []int64{1, 2}, stringSpecs, true, "buffer_size"},
		{"out of range", nil, int64(0), stringSpecs, true, "buffer_size is 0, want 1 to"},
		{"attribute below its minimum", map[string]any{"max_record_bytes": int64(0)}, int64(16), stringSpecs, false, "max_record_bytes"},
		{"attribute of another name", map[string]any{"max_bytes": int64(1)}, int64(16), stringSpecs, false, `has no attribute "max_bytes"`},
		{"other types than in C++", nil, int64(16), []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}, true, "component 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			variant := s.Op1("MyReaderDataset", tt.attrs, s.Const([]string{"f"}), s.Const(tt.buffer))
			if (s.Err() == nil) != tt.built {
				t.Fatalf("while building: %v", s.Err())
			}
			err := s.Err()
			if tt.built {
				it := dataset.FromVariant(s, variant, tt.specs).Iterator("it")
				session, e := tfbridge.NewSession(s.Graph(), nil)
				if e != nil {
					t.Fatal(e)
				}
				defer session.Close()
				_, err = session.Run(nil, nil, []*tfbridge.Operation{it.Init})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// The attribute reaches the kernel, and survives the rewriting of graphs, for which the
// dataset is serialized.
func TestAttribute(t *testing.T) {
	load(t)
	s := newScope(t)
	name := write(t, encode("12345", "123456"))
	variant := s.Op1("MyReaderDataset", map[string]any{"max_record_bytes": int64(5)}, s.Const([]string{name}), s.Const(int64(16)))
	def := s.Op1("DatasetToGraphV2", nil, variant)
	again := s.Op1("DatasetFromGraph", nil, def)
	reader := open(t, dataset.FromVariant(s, again, stringSpecs))
	if got, err := reader.next(); err != nil || got != "12345" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := reader.next(); err == nil || !strings.Contains(err.Error(), "at most 5 are allowed") {
		t.Errorf("got %v, want an error with the attribute's value", err)
	}
}

const restoreCommand = "restore"

// restoreHere is another process: it loads the library, restores the state and prints
// the remaining elements. TestMain calls it with the paths of the library, of the state
// and of the records.
func restoreHere(args []string) error {
	if _, err := tfbridge.LoadLibrary(args[0]); err != nil {
		return err
	}
	state, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	r := &reader{it: myReaderDataset(s, args[2]).Iterator("it")}
	if r.session, err = tfbridge.NewSession(s.Graph(), nil); err != nil {
		return err
	}
	defer r.session.Close()
	if _, err := r.session.Run(nil, nil, []*tfbridge.Operation{r.it.Init}); err != nil {
		return err
	}
	if err := r.it.RestoreState(context.Background(), r.session, state); err != nil {
		return err
	}
	for {
		record, err := r.next()
		if errors.Is(err, tfbridge.OutOfRange) {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Println("left:", record)
	}
}

// A state saved after four elements is restored in another process, which gets the
// other six.
func TestStateCrossesProcesses(t *testing.T) {
	library := load(t)
	name := write(t, encode("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"))
	reader := open(t, myReaderDataset(newScope(t), name))
	for range 4 {
		if _, err := reader.next(); err != nil {
			t.Fatal(err)
		}
	}
	state, err := reader.it.SaveState(t.Context(), reader.session)
	if err != nil {
		t.Fatal(err)
	}
	if want := "::MyReader"; !strings.Contains(string(state), want) {
		t.Errorf("no key of the state has the iterator's prefix %s", want)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, restoreCommand, library.Path, write(t, state), name).CombinedOutput()
	var left []string
	for line := range strings.Lines(string(out)) {
		if record, ok := strings.CutPrefix(line, "left: "); ok {
			left = append(left, strings.TrimSpace(record))
		}
	}
	if want := []string{"4", "5", "6", "7", "8", "9"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("the other process: %v\n%s\nwant %q", err, out, want)
	}
}
