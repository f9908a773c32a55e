package build_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/build/feed"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// fed is the result of one call of a feed.
type fed struct {
	token     *tfbridge.Tensor
	delivered int64 // the second result: the state after the call
	records   []string
	places    []int64
}

// caller calls a feed like TensorFlow: with tensors, one of which is the token from the
// previous call.
type caller struct {
	t    *testing.T
	feed feed.Func
	all  []*tfbridge.Tensor // to be closed
}

// scalar returns a scalar that the caller closes.
func (c *caller) scalar(n int64) *tfbridge.Tensor {
	c.t.Helper()
	x, err := tfbridge.NewTensor(n)
	if err != nil {
		c.t.Fatal(err)
	}
	c.all = append(c.all, x)
	return x
}

// try calls the feed with numbers and tokens.
func (c *caller) try(ctx context.Context, args ...any) (got fed, err error) {
	c.t.Helper()
	tensors := make([]*tfbridge.Tensor, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case *tfbridge.Tensor:
			tensors[i] = arg
		case int:
			tensors[i] = c.scalar(int64(arg))
		case int64:
			tensors[i] = c.scalar(arg)
		}
	}
	out, err := c.feed(ctx, tensors)
	if err != nil {
		if out != nil {
			c.t.Errorf("a call that fails returns %v", out)
		}
		return fed{}, err
	}
	for _, x := range out {
		if x != tensors[0] && x != tensors[1] { // tokens are passed through
			c.all = append(c.all, x)
		}
	}
	got.token, got.delivered = out[0], out[1].Value().(int64)
	got.records, err = out[2].Strings()
	if len(out) > 3 {
		if want := fmt.Sprint([]int{len(got.records), 3}); fmt.Sprint(out[3].Shape()) != want {
			c.t.Errorf("places of shape %v, want %s", out[3].Shape(), want)
		}
		places, err := tfbridge.View[int64](out[3])
		if err != nil {
			c.t.Fatal(err)
		}
		got.places = append(got.places, places...)
	}
	return got, err
}

// call is try for calls without an error.
func (c *caller) call(args ...any) fed {
	c.t.Helper()
	got, err := c.try(c.t.Context(), args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return got
}

// close closes the arguments and results of the calls.
func (c *caller) close() {
	for _, x := range c.all {
		x.Close()
	}
}

// openIn returns how many files of a folder the process holds open.
func openIn(t *testing.T, dir string) (n int) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || fds == nil {
		t.Skip("no /proc: ", err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// feeding returns a caller of a feed of a dataset, and the dataset's plan and scan.
// At the end of the test every file must be closed and every tensor freed.
func feeding(t *testing.T, d *fixture.Dataset, native bool, of func(*loaders.Plan, *loaders.Scan) feed.Func) *caller {
	t.Helper()
	p := checked(t, d, native)
	scan, err := p.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	freed := leak.Objects(t, tfbridge.Live)
	c := &caller{t: t, feed: of(p, scan)}
	t.Cleanup(func() {
		c.close()
		freed()
		if n := openIn(t, d.Path("")); n != 0 {
			t.Errorf("%d files are open", n)
		}
	})
	return c
}

// sourceOf returns the source of a plan's records.
func sourceOf(p *loaders.Plan, found *loaders.Scan) *feed.Source {
	t := target.New(nil, p.Stages(), p.Engine())
	t.Spec, t.Scan = p.Spec, found
	return t.Feed()
}

func fileFeed(p *loaders.Plan, scan *loaders.Scan) feed.Func {
	return feed.Files(sourceOf(p, scan))
}

// small are arguments for a buffer that holds two records of [numbered].
func small(args fixture.Object) fixture.Object {
	all := fixture.Object{"num_read_buffer_bytes": len(numbered(0)) + len(numbered(1))}
	for key, value := range args {
		all[key] = value
	}
	return all
}

// badRecord lacks "tokens", which TensorFlow would take for no values.
var badRecord = example.Marshal(nil)

// records returns records from begin up to but without end of [newExamples].
func records(begin, end int) (all []string) {
	for n := begin; n < end; n++ {
		all = append(all, string(numbered(n)))
	}
	return all
}

// Each call gives the next records of a file, as many as fit the buffer, and none at
// the end. The file stays open from call to call.
func TestFileFeed(t *testing.T) {
	testruntime.Need(t)
	d := newExamples(t, "", []string{"x"}, small(nil), 5, 5)
	c := feeding(t, d, false, fileFeed)
	first := c.call(0, 0, 0)
	state, got := first, first.records
	if len(got) != 2 {
		t.Errorf("the first call gives %d records, want 2", len(got))
	}
	for range 3 {
		next := c.call(0, state.token, state.delivered)
		if next.token != first.token || openIn(t, d.Path("")) != 1 {
			t.Error("the file was opened again")
		}
		got = append(got, next.records...)
		if next.delivered != int64(len(got)) {
			t.Errorf("%d records were delivered, the call says %d", len(got), next.delivered)
		}
		state = next
	}
	if diff := cmp.Diff(records(0, 5), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// A token is valid only for its file, and for the position that it has reached.
	if got := c.call(1, first.token, 5); got.token == first.token || len(got.records) != 0 {
		t.Errorf("another file goes on after %d records", got.delivered)
	}
	if diff := cmp.Diff(records(3, 5), c.call(0, first.token, 3).records); diff != "" {
		t.Errorf("after a restored state (-want +got)\n%s", diff)
	}
	if got := c.call(1, 0, 0).records; len(got) == 0 || got[0] != records(5, 6)[0] {
		t.Errorf("the other file begins with %q", got)
	}
}

// A call that fails names the place, returns nothing and leaves no file open.
func TestFileFeedFaults(t *testing.T) {
	testruntime.Need(t)
	d := newExamples(t, "", []string{"tokens"}, small(fixture.Object{"padding": true}), 3, 1)
	c := feeding(t, d, false, fileFeed)
	if _, err := c.try(t.Context(), 1, 0, 3); !errors.Is(err, millrace.ErrTruncated) || !strings.Contains(err.Error(), "has 1 records, and is to be read from record 3 on") {
		t.Errorf("a state behind the end: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.try(canceled, 0, 0, 2); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("a canceled call that skips records: %v", err)
	}
	float, err := tfbridge.NewTensor(float32(1))
	if err != nil {
		t.Fatal(err)
	}
	defer float.Close()
	if _, err := c.try(t.Context(), 0, 0, float); err == nil {
		t.Error("a number of records that is a float32 is taken")
	}
	// The records before a bad one come first. Then the error is permanent.
	d.WriteRecords(t, "1.tfrecords", numbered(8), badRecord, numbered(9))
	good := c.call(1, 0, 0)
	if diff := cmp.Diff([]string{string(numbered(8))}, good.records); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := c.try(t.Context(), 1, good.token, 1); !errors.Is(err, millrace.ErrSchema) || !strings.Contains(err.Error(), "record 1 (offset") {
		t.Errorf("a record without its feature: %v", err)
	}
	if err := os.Remove(d.Path("0.tfrecords")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.try(t.Context(), 0, 0, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
	if n := openIn(t, d.Path("")); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

// offsets returns the places of records as a feed gives them: file, ordinal, offset.
func offsets(scan *loaders.Scan, at ...[2]int64) (all []int64) {
	for _, p := range at {
		all = append(all, p[0], p[1], scan.Indexes[p[0]].Layout.Offset(p[1]))
	}
	return all
}

// The sequences of an epoch come in its order, with their places: in the order of the
// data, or after each record for Millrace's own operations.
func TestSequenceFeed(t *testing.T) {
	testruntime.Need(t)
	var scan *loaders.Scan
	of := func(p *loaders.Plan, found *loaders.Scan) feed.Func {
		scan = found
		return feed.Sequences(sourceOf(p, found))
	}
	args := fixture.Object{"batch_size": 9, "seq_ordering": "sorted", "num_read_buffer_bytes": 1}
	d := newLists(t, "chunked_sequence", args, []int{3, 1}, []int{2, 5})
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprint("native ", native), func(t *testing.T) {
			c := feeding(t, d, native, of)
			state := fed{}
			var places []int64
			for i := range 5 {
				var token any = 0
				if state.token != nil {
					token = state.token
				}
				next := c.call(0, token, state.delivered)
				if i > 0 && next.token != state.token || i < 4 && (len(next.records) != 1 || next.delivered != int64(i+1)) {
					t.Fatalf("call %d gives %d records, %d were delivered", i, len(next.records), next.delivered)
				}
				state = next
				if !native {
					places = append(places, next.places...)
					continue
				}
				for _, r := range next.records {
					for at := len(r) - 24; at < len(r); at += 8 {
						places = append(places, int64(binary.NativeEndian.Uint64([]byte(r[at:]))))
					}
				}
			}
			if want := offsets(scan, [2]int64{0, 1}, [2]int64{1, 0}, [2]int64{0, 0}, [2]int64{1, 1}); len(state.records) != 0 || !cmp.Equal(want, places) {
				t.Errorf("places %v, want %v, then %d records", places, want, len(state.records))
			}
			if n := openIn(t, d.Path("")); n != 2 {
				t.Errorf("%d files are open, want 2", n)
			}
			for _, again := range []fed{c.call(0, state.token, 3), c.call(1, state.token, 4), c.call(0, 0, 3)} {
				if again.token == state.token {
					t.Errorf("a reader that is elsewhere goes on")
				}
			}
			canceled, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := c.try(canceled, 0, 0, 0); !errors.Is(err, millrace.ErrCanceled) {
				t.Errorf("a canceled call: %v", err)
			}
			float, err := tfbridge.NewTensor(float32(1))
			if err != nil {
				t.Fatal(err)
			}
			defer float.Close()
			if _, err := c.try(t.Context(), float, 0, 0); err == nil {
				t.Errorf("an epoch that is a float32 is taken")
			}
		})
	}
}

// Sequences in the order of the data keep only one file open; in another order at most
// 16. Files must not have changed since the scan.
func TestSequenceFeedFiles(t *testing.T) {
	testruntime.Need(t)
	files := make([][]int, 20)
	for i := range files {
		files[i] = []int{len(files) - i}
	}
	for order, want := range map[string]int{"default": 1, "sorted": 16} {
		d := newLists(t, "chunked_sequence", fixture.Object{"batch_size": 30, "seq_ordering": order}, files...)
		c := feeding(t, d, false, func(p *loaders.Plan, scan *loaders.Scan) feed.Func {
			return feed.Sequences(sourceOf(p, scan))
		})
		all := c.call(0, 0, 0)
		if len(all.records) != 20 || openIn(t, d.Path("")) != want {
			t.Errorf("%s: %d files are open after %d records, want %d", order, openIn(t, d.Path("")), len(all.records), want)
		}
		d.WriteRecords(t, "7.tfrecords")
		if _, err := c.try(t.Context(), 0, 0, 0); err != nil {
			t.Errorf("%s: the records before a fault are lost: %v", order, err)
		}
		at := map[string]int{"default": 17, "sorted": 12}[order] // files are in the order of their names
		if _, err := c.try(t.Context(), 0, 0, at); !errors.Is(err, millrace.ErrTruncated) {
			t.Errorf("%s: a file that has lost its record: %v", order, err)
		}
	}
}

// Records by position come in the order of the plan, a group at a time or as many as
// fit the buffer, over all epochs.
func TestPlaceFeed(t *testing.T) {
	testruntime.Need(t)
	of := func(p *loaders.Plan, scan *loaders.Scan) feed.Func {
		return feed.InOrder(sourceOf(p, scan))
	}
	d := newExamples(t, "", []string{"x"}, small(fixture.Object{"range": fixture.Object{"start": 1, "end": 6}, "epochs": 2}), 3, 0, 4)
	want := append(records(1, 6), records(1, 6)...)
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprint("native ", native), func(t *testing.T) {
			c := feeding(t, d, native, of)
			text := func(all []string) (short []string) {
				for _, r := range all {
					if native {
						r = r[:len(r)-24]
					}
					short = append(short, r)
				}
				return short
			}
			first := c.call(0, 0, 4)
			rest := c.call(first.token, 4, 100)
			if rest.token != first.token || first.delivered != 4 || rest.delivered != 10 || openIn(t, d.Path("")) != 2 {
				t.Errorf("groups end at %d and %d, %d files are open", first.delivered, rest.delivered, openIn(t, d.Path("")))
			}
			if diff := cmp.Diff(want, append(text(first.records), text(rest.records)...)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if end := c.call(rest.token, 10, 4); len(end.records) != 0 || end.token != first.token {
				t.Errorf("%d records behind the last", len(end.records))
			}
			buffered := c.call(rest.token, 3, 0)
			if diff := cmp.Diff(want[3:5], text(buffered.records)); buffered.token == first.token || buffered.delivered != 5 || diff != "" {
				t.Errorf("a buffer (-want +got)\n%s", diff)
			}
			canceled, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := c.try(canceled, 0, 0, 4); !errors.Is(err, millrace.ErrCanceled) {
				t.Errorf("a canceled call: %v", err)
			}
			float, err := tfbridge.NewTensor(float32(1))
			if err != nil {
				t.Fatal(err)
			}
			defer float.Close()
			if _, err := c.try(t.Context(), 0, float, 4); err == nil {
				t.Errorf("a position that is a float32 is taken")
			}
			if _, err := c.try(t.Context(), 0, 0, float); err == nil {
				t.Errorf("a number of records that is a float32 is taken")
			}
		})
	}
}

// A group with a bad record fails as a whole, so its batches come from smaller groups;
// a buffer gives the records before it. The error is that record's.
func TestPlaceFeedFaults(t *testing.T) {
	testruntime.Need(t)
	d := newExamples(t, "", []string{"tokens"}, small(fixture.Object{"padding": true, "range": fixture.Object{"start": 0}}), 3, 3)
	d.WriteRecords(t, "1.tfrecords", numbered(3), badRecord, numbered(5))
	c := feeding(t, d, false, func(p *loaders.Plan, scan *loaders.Scan) feed.Func {
		return feed.InOrder(sourceOf(p, scan))
	})
	bad := func(err error) bool {
		var e *millrace.Error
		return errors.As(err, &e) && e.Class == millrace.ErrSchema && e.File == d.Path("1.tfrecords") && e.Record == 1
	}
	if _, err := c.try(t.Context(), 0, 2, 4); !bad(err) {
		t.Errorf("a group with a bad record: %v", err)
	}
	good := c.call(0, 3, 0)
	if diff := cmp.Diff(records(3, 4), good.records); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, records := range []int{0, 1} {
		if _, err := c.try(t.Context(), good.token, 4, records); !bad(err) {
			t.Errorf("the bad record, %d at once: %v", records, err)
		}
	}
	if diff := cmp.Diff(records(5, 6), c.call(0, 5, 1).records); diff != "" {
		t.Errorf("behind it (-want +got)\n%s", diff)
	}
	open := c.call(0, 0, 1)
	if err := os.Truncate(d.Path("0.tfrecords"), 20); err != nil {
		t.Fatal(err)
	}
	if _, err := c.try(t.Context(), open.token, 1, 1); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "0.tfrecords") {
		t.Errorf("an open file that loses its records: %v", err)
	}
	for damage, class := range map[string]error{"gone": os.ErrNotExist, "cut": millrace.ErrIO} {
		path := d.Path("0.tfrecords")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if damage == "cut" {
			d.WriteRecords(t, "0.tfrecords", numbered(0))
		}
		if _, err := c.try(t.Context(), 0, 2, 1); !errors.Is(err, class) {
			t.Errorf("a file that is %s: %v", damage, err)
		}
		d.WriteRecords(t, "0.tfrecords", numbered(0))
	}
	if n := openIn(t, d.Path("")); n != 1 { // the file of the token that continued
		t.Errorf("%d files are open, want 1", n)
	}
}
