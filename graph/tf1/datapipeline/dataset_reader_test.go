package datapipeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// unknown is a dataset that does not know how many sequences it has, or estimates it.
type unknown struct {
	*datapipeline.StaticDataset
	estimate int64
}

func (d unknown) NumSeqs() (int64, bool) { return d.estimate, false }

// A reader yields the sequences of an epoch in order, with the requested special keys, and
// then an element that marks the end of the epoch.
func TestDatasetReader(t *testing.T) {
	var got []map[string]any
	keep := func(_ context.Context, e datapipeline.Element) error {
		values := map[string]any{}
		for key, tensor := range e {
			values[key] = tensor.Value()
		}
		got = append(got, values)
		return nil
	}
	d := unknown{recording("train", 2, 0), 0}
	r, err := datapipeline.NewDatasetReader(speech, d, keep, &datapipeline.DatasetReaderOptions{WithSeqTag: true, WithSeqIdx: true, WithEpochEnd: true})
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsRunning() {
		t.Error("before Loop the reader will not put data into its pipe")
	}
	want := []map[string]any{
		{"data": [][]float32{{1, -1}, {2, -2}}, "data/size0": int32(2), "classes": []int32{1, 2}, "classes/size0": int32(2),
			"speaker": "speaker-0", "seq_tag": "seq-0", "seq_idx": int32(0), "epoch_end": false},
		{"data": [][]float32{}, "data/size0": int32(0), "classes": []int32{}, "classes/size0": int32(0),
			"speaker": "speaker-1", "seq_tag": "seq-1", "seq_idx": int32(1), "epoch_end": false},
		{"data": [][]float32{}, "data/size0": int32(0), "classes": []int32{}, "classes/size0": int32(0),
			"speaker": "", "seq_tag": "", "seq_idx": int32(2), "epoch_end": true},
	}
	for epoch := range int64(2) { // the second starts at seq_idx 0 again
		got = nil
		if err := r.Loop(t.Context(), epoch); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("epoch %d: (-want +got)\n%s", epoch, diff)
		}
		if r.IsRunning() || r.Err() != nil {
			t.Errorf("after Loop the reader is running, or failed with %v", r.Err())
		}
	}
}

// Without options there are no special keys. The components are sorted, as queues take
// them.
func TestQueueComponents(t *testing.T) {
	for _, test := range []struct {
		o    *datapipeline.DatasetReaderOptions
		want string
	}{
		{nil, "classes int32[?], classes/size0 int32[], data float32[?, 2], data/size0 int32[], speaker string[]"},
		{&datapipeline.DatasetReaderOptions{WithSeqTag: true, WithEpochEnd: true},
			"classes int32[?], classes/size0 int32[], data float32[?, 2], data/size0 int32[], epoch_end bool[], seq_tag string[], speaker string[]"},
		{&datapipeline.DatasetReaderOptions{WithSeqIdx: true},
			"classes int32[?], classes/size0 int32[], data float32[?, 2], data/size0 int32[], seq_idx int32[], speaker string[]"},
	} {
		r, err := datapipeline.NewDatasetReader(speech, recording("train"), func(context.Context, datapipeline.Element) error { return nil }, test.o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range r.QueueComponents() {
			got = append(got, c.Name+" "+c.String())
			if speech.DTypeForKey(c.Name) != c.DType || !speech.ShapeForKey(c.Name).Equal(c.Shape) {
				t.Errorf("key %s is %v %v, the component %v", c.Name, speech.DTypeForKey(c.Name), speech.ShapeForKey(c.Name), c)
			}
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("%+v\n got %s\nwant %s", test.o, got, test.want)
		}
	}
	for _, key := range []string{"other", "data/size1", "other/size0"} {
		if got := speech.DTypeForKey(key); got != 0 {
			t.Errorf("key %s is %v", key, got)
		}
	}
}

// broken is a dataset that fails: its last sequence is yielded with an error, or
// panics.
type broken struct {
	*datapipeline.StaticDataset
	err   error
	panic any
}

func (d broken) Sequences(ctx context.Context, epoch int64) iter.Seq2[*datapipeline.Sequence, error] {
	return func(yield func(*datapipeline.Sequence, error) bool) {
		for i, seq := range d.Seqs {
			var err error
			if i == len(d.Seqs)-1 {
				if err = d.err; d.panic != nil {
					panic(d.panic)
				}
			}
			if !yield(seq, err) {
				return
			}
		}
	}
}

// The error of a sequence names dataset, tag, position and key. The next dataset is
// read normally.
func TestBrokenDataset(t *testing.T) {
	s := graphtest.NewScope(t)
	o := datapipeline.Options{Chunking: datapipeline.Chunking{Size: 2}, Batching: datapipeline.Batching{BatchSize: 1}}
	readers := newReaders(t, s, providers(t, s, speech, &o)...)
	unread := errors.New("the disk is gone")
	with := func(change func(data map[string]any)) datapipeline.Dataset {
		d := recording("train", 3, 4)
		change(d.Seqs[1].Data)
		return d
	}
	for name, test := range map[string]struct {
		dataset datapipeline.Dataset
		class   error
		want    string
	}{
		"error":     {broken{StaticDataset: recording("train", 3, 4), err: unread}, unread, `dataset train: sequence "seq-1" (seq_idx 1): the disk is gone`},
		"panic":     {broken{StaticDataset: recording("train", 3, 4), panic: "no"}, millrace.ErrInternal, `dataset train: sequence without a tag (seq_idx 1): `},
		"missing":   {with(func(data map[string]any) { delete(data, "speaker") }), millrace.ErrSchema, `sequence "seq-1" (seq_idx 1): it has no key "speaker"`},
		"unknown":   {with(func(data map[string]any) { data["more"] = 1.0 }), millrace.ErrSchema, `it has a key "more", which is not among the keys ["classes" "data" "speaker"]`},
		"data type": {with(func(data map[string]any) { data["classes"] = []int64{1, 2, 3, 4} }), millrace.ErrSchema, `key "classes" is int64 [4], must be int32 [?]`},
		"shape":     {with(func(data map[string]any) { data["data"] = [][]float32{{1}} }), millrace.ErrSchema, `key "data" is float32 [1 1], must be float32 [?, 2]`},
		"no tensor": {with(func(data map[string]any) { data["classes"] = 5 }), millrace.ErrSchema, `key "classes": `},
		"lengths":   {with(func(data map[string]any) { data["classes"] = []int32{1, 2, 3} }), millrace.ErrSchema, `sequence "seq-1" (seq_idx 1): key "classes" has 3 frames and key "data" has 4`},
		"nil":       {&datapipeline.StaticDataset{DatasetName: "train", Seqs: []*datapipeline.Sequence{spoken(0, 1), nil}}, millrace.ErrSchema, `dataset train: sequence without a tag (seq_idx 1): it is nil`},
	} {
		for _, r := range readers {
			r.start(t, test.dataset, datapipeline.Epoch{Train: true})
			err := error(nil)
			for b := (batch{}); err == nil && b != nil; {
				b, err = r.next(t)
			}
			if err == nil || !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %T:\n got %v\nwant %s", name, r.DataProvider, err, test.want)
			}
			if r.HaveReachedEnd() {
				t.Errorf("%s: %T has reached the end of a broken dataset", name, r.DataProvider)
			}
			if err := r.StopThreads(); err != nil {
				t.Errorf("%s: %T: the error comes twice: %v", name, r.DataProvider, err)
			}
		}
	}
}

// providers returns a provider of each type in one graph.
func providers(t testing.TB, s *graph.Scope, e *datapipeline.ExternData, o *datapipeline.Options) []datapipeline.DataProvider {
	t.Helper()
	fed, err := datapipeline.NewFeedDictDataProvider(s, e, &datapipeline.FeedDictOptions{Options: *o})
	if err != nil {
		t.Fatal(err)
	}
	single, err := datapipeline.NewFeedDictDataProvider(s, e, &datapipeline.FeedDictOptions{Options: *o, SingleThreaded: true})
	if err != nil {
		t.Fatal(err)
	}
	queues, err := datapipeline.NewQueueDataProvider(s, e, o)
	if err != nil {
		t.Fatal(err)
	}
	return []datapipeline.DataProvider{fed, single, queues}
}

// An invalid ExternData or invalid options are errors.
func TestOptions(t *testing.T) {
	key := func(dt tfbridge.DataType, dims ...int64) datapipeline.Data {
		return datapipeline.Data{DType: dt, Shape: tfbridge.MakeShape(dims...)}
	}
	data := func(more ...any) *datapipeline.ExternData {
		e := &datapipeline.ExternData{Data: map[string]datapipeline.Data{"data": key(tfbridge.Float, -1)}}
		for i := 0; i < len(more); i += 2 {
			e.Data[more[i].(string)] = more[i+1].(datapipeline.Data)
		}
		return e
	}
	fine := datapipeline.Batching{BatchSize: 1}
	chunking := func(c datapipeline.Chunking) datapipeline.Options {
		return datapipeline.Options{Chunking: c, Batching: fine}
	}
	around := func(key string, left int) datapipeline.Options {
		return chunking(datapipeline.Chunking{Context: map[string]datapipeline.Context{key: {Left: left}}})
	}
	for i, test := range []struct {
		e    *datapipeline.ExternData
		o    datapipeline.Options
		want string
	}{
		{nil, chunking(datapipeline.Chunking{}), "no keys"},
		{data("seq_tag", key(tfbridge.String)), chunking(datapipeline.Chunking{}), `"seq_tag", which is reserved`},
		{data("seq_idx", key(tfbridge.Int32)), chunking(datapipeline.Chunking{}), `"seq_idx", which is reserved`},
		{data("epoch_end", key(tfbridge.Bool)), chunking(datapipeline.Chunking{}), `"epoch_end", which is reserved`},
		{data("x/size0", key(tfbridge.Int32)), chunking(datapipeline.Chunking{}), `"x/size0"`},
		{data("x", key(tfbridge.Variant)), chunking(datapipeline.Chunking{}), "must be a number, a bool or a string"},
		{data("x", datapipeline.Data{DType: tfbridge.Float}), chunking(datapipeline.Chunking{}), "unknown number of dimensions"},
		{data("data", key(tfbridge.Float, 3)), chunking(datapipeline.Chunking{}), "no time axis"},
		{&datapipeline.ExternData{Data: data().Data, DefaultInput: "audio"}, chunking(datapipeline.Chunking{}), `the default input "audio" is not among`},
		{&datapipeline.ExternData{Data: data("x", key(tfbridge.Float)).Data, DataKeys: []string{"x"}}, chunking(datapipeline.Chunking{}), `the default input "data" is not among the keys ["x"]`},
		{&datapipeline.ExternData{Data: data().Data, DataKeys: []string{"data", "audio"}}, chunking(datapipeline.Chunking{}), `DataKeys has "audio", which is not among the keys ["data"]`},
		{&datapipeline.ExternData{Data: data().Data, DataKeys: []string{"data", "data"}}, chunking(datapipeline.Chunking{}), `DataKeys has "data" twice`},
		{data(), datapipeline.Options{}, "the batch size is 0"},
		{data(), datapipeline.Options{Batching: datapipeline.Batching{BatchSize: 1, MaxSeqs: -1}}, "-1, must not be negative"},
		{data(), chunking(datapipeline.Chunking{Size: -1}), "the chunk size is -1"},
		{data(), chunking(datapipeline.Chunking{Step: 2}), "2 without a chunk size"},
		{data(), around("classes", 1), `key "classes", which is not among`},
		{data("x", key(tfbridge.Float)), around("x", 1), "no time axis"},
		{data(), around("data", -1), "from 0 to 1000000"},
		{data(), around("data", 1_000_001), "from 0 to 1000000"},
		{data(), datapipeline.Options{Batching: fine, ShuffleSeqs: -1}, "none may be negative"},
		{data(), datapipeline.Options{Batching: fine, ShuffleChunks: -1}, "none may be negative"},
		{data(), datapipeline.Options{Batching: fine, Capacity: -1}, "none may be negative"},
	} {
		s := graphtest.NewScope(t)
		_, fed := datapipeline.NewFeedDictDataProvider(s, test.e, &datapipeline.FeedDictOptions{Options: test.o})
		_, queues := datapipeline.NewQueueDataProvider(s, test.e, &test.o)
		for _, err := range []error{fed, queues} {
			if !errors.Is(err, millrace.ErrModel) || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("%d: got %v, want %q", i, err, test.want)
			}
		}
	}
	for _, dims := range [][]int64{{-1, 2}, {2, -1}} {
		e := data("x", key(tfbridge.Float, dims...))
		if got, want := e.Data["x"].HasTimeAxis(), dims[0] < 0; got != want {
			t.Errorf("shape %v has a time axis: %v", dims, got)
		}
	}
	if keys := data("a", key(tfbridge.Float)).Keys(); !slices.Equal(keys, []string{"a", "data"}) {
		t.Errorf("keys %v", keys)
	}
}
