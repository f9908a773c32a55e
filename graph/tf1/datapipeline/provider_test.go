package datapipeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/leak"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// frameByFrame are options that make every frame a row, two rows a batch.
var frameByFrame = datapipeline.Options{
	Chunking: datapipeline.Chunking{Size: 1}, Batching: datapipeline.Batching{BatchSize: 1000, MaxSeqs: 2}, Capacity: 2,
}

// rowsOf returns the tags of the rows of batches with their first classes.
func rowsOf(batches []batch) []string {
	var rows []string
	for _, b := range batches {
		for i, tag := range b["seq_tag"].([]string) {
			rows = append(rows, fmt.Sprint(tag, b["classes"].([][]int32)[i]))
		}
	}
	return rows
}

// Progress never falls, is 0 at the start and 1 only at the end, also if the estimated
// number of sequences is too small or too large. The counters count the batches taken.
func TestProgress(t *testing.T) {
	s := graphtest.NewScope(t)
	for _, r := range newReaders(t, s, providers(t, s, speech, &frameByFrame)...) {
		d := recording("train", 4, 3, 0, 5)
		for _, dataset := range []datapipeline.Dataset{d, unknown{d, 0}, unknown{d, 2}, unknown{d, 100}} {
			r.start(t, dataset, datapipeline.Epoch{Train: true})
			if r.CompleteFrac() != 0 || r.HaveReachedEnd() || r.DatasetName() != "train" {
				t.Errorf("%T at the start: %v, %v, %q", r.DataProvider, r.CompleteFrac(), r.HaveReachedEnd(), r.DatasetName())
			}
			last, frames := 0.0, int64(0)
			for {
				b, err := r.next(t)
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					break
				}
				frac := r.CompleteFrac()
				if frac < last || frac >= 1 || r.HaveReachedEnd() {
					t.Errorf("%T: %v after %v, at the end: %v", r.DataProvider, frac, last, r.HaveReachedEnd())
				}
				last = frac
				if frames += int64(len(b["seq_idx"].([]int32))); r.NumFrames()["classes"] != frames {
					t.Errorf("%T: %v frames, want %d", r.DataProvider, r.NumFrames(), frames)
				}
			}
			if r.CompleteFrac() != 1 || !r.HaveReachedEnd() || frames != 12 {
				t.Errorf("%T at the end: %v, %v, %d frames", r.DataProvider, r.CompleteFrac(), r.HaveReachedEnd(), frames)
			}
			if _, err := r.FeedDict(t.Context()); !errors.Is(err, tfbridge.OutOfRange) {
				t.Errorf("%T: FeedDict at the end: %v", r.DataProvider, err)
			}
			if more, err := r.HaveMoreData(t.Context()); more || err != nil {
				t.Errorf("%T: HaveMoreData at the end: %v, %v", r.DataProvider, more, err)
			}
			if err := errors.Join(r.StopThreads(), r.StopThreads()); err != nil {
				t.Error(err)
			}
		}
	}
}

// An early stop leaves no goroutine and no batch, and does not count as the end of the
// data. Then the provider reads another dataset, from its first sequence. 1,000 rounds
// in "make soak".
func TestStopHalfway(t *testing.T) {
	s := graphtest.NewScope(t)
	readers := newReaders(t, s, providers(t, s, speech, &frameByFrame)...)
	want := [][]string{nil, nil}
	for _, r := range readers { // TensorFlow's first runs start goroutines that stay
		want[0] = rowsOf(r.all(t, recording("train", 3, 30), datapipeline.Epoch{Train: true}))
		want[1] = rowsOf(r.all(t, recording("dev", 5, 6), datapipeline.Epoch{}))
	}
	leak.Check(t, tfbridge.Live)
	for round := range soak.Repeat(3, 1000, 1) {
		for _, r := range readers {
			train := round%2 == 0
			d, rows := recording("train", 3, 30), want[0]
			if !train {
				d, rows = recording("dev", 5, 6), want[1]
			}
			r.start(t, d, datapipeline.Epoch{Train: train})
			var got []batch
			for range len(rows) / 4 {
				b, err := r.next(t)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b)
			}
			if err := r.StopThreads(); err != nil {
				t.Fatal(err)
			}
			if rows := rows[:min(len(rows), len(rowsOf(got)))]; !slices.Equal(rowsOf(got), rows) {
				t.Errorf("round %d: %T gave %v, want %v", round, r.DataProvider, rowsOf(got), rows)
			}
			if r.HaveReachedEnd() {
				t.Errorf("round %d: %T is at the end", round, r.DataProvider)
			}
		}
	}
}

// waiting is a dataset that waits for its context after its sequences.
type waiting struct{ *datapipeline.StaticDataset }

func (d waiting) Sequences(ctx context.Context, epoch int64) iter.Seq2[*datapipeline.Sequence, error] {
	return func(yield func(*datapipeline.Sequence, error) bool) {
		for seq, err := range d.StaticDataset.Sequences(ctx, epoch) {
			if !yield(seq, err) {
				return
			}
		}
		<-ctx.Done()
	}
}

// A context that is done ends the wait for a batch, and the threads.
func TestContexts(t *testing.T) {
	s := graphtest.NewScope(t)
	providers := providers(t, s, speech, &frameByFrame)
	for _, r := range newReaders(t, s, providers[0], providers[2]) { // the third makes batches only on demand
		r.start(t, waiting{recording("train", 1)}, datapipeline.Epoch{Train: true})
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if more, err := r.HaveMoreData(ctx); more || !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("%T: %v, %v", r.DataProvider, more, err)
		}
		if err := r.StopThreads(); err != nil {
			t.Error(err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		if err := r.StartThreads(ctx, r.session); err != nil {
			t.Fatal(err)
		}
		cancel()
		if more, err := r.HaveMoreData(t.Context()); more || !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("%T: after the end of the threads' context: %v, %v", r.DataProvider, more, err)
		}
		if err := r.StopThreads(); err != nil {
			t.Error(err)
		}
	}
}

// What a provider refuses: to start without a dataset, to start twice, another dataset
// while threads run, and a session of another graph.
func TestProviderOrder(t *testing.T) {
	s := graphtest.NewScope(t)
	d, train := recording("train", 3), &datapipeline.Epoch{Train: true}
	for _, r := range newReaders(t, s, providers(t, s, speech, &frameByFrame)...) {
		refused := func(what string, err error, want string) {
			t.Helper()
			if !errors.Is(err, millrace.ErrModel) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%T: %s: %v", r.DataProvider, what, err)
			}
		}
		refused("start without a dataset", r.StartThreads(t.Context(), r.session), "InitDataset")
		refused("no dataset", r.InitDataset(nil, train), "nil")
		refused("no epoch", r.InitDataset(d, nil), "nil")
		if more, err := r.HaveMoreData(t.Context()); more || err != nil {
			t.Errorf("%T: data before the start: %v, %v", r.DataProvider, more, err)
		}
		r.start(t, d, *train)
		refused("start twice", r.StartThreads(t.Context(), r.session), "running")
		refused("init while running", r.InitDataset(d, train), "StopThreads")
		if err := r.StopThreads(); err != nil {
			t.Error(err)
		}
		if q, ok := r.DataProvider.(*datapipeline.QueueDataProvider); ok {
			other := graphtest.NewScope(t)
			other.Const(true)
			refused("another graph", q.StartThreads(t.Context(), graphtest.NewSession(t, other, graphtest.Unoptimized(t))), "each graph needs a provider of its own")
		}
	}
}

// DataKeys select the keys to read of a sequence. The other keys of the data are
// skipped, and a key that the data do not have is an error.
func TestDataKeys(t *testing.T) {
	part := &datapipeline.ExternData{Data: speech.Data, DataKeys: []string{"data"}}
	s := graphtest.NewScope(t)
	d := recording("train", 2)
	for _, r := range newReaders(t, s, providers(t, s, part, &frameByFrame)...) {
		for key := range r.Data() {
			if strings.HasPrefix(key, "classes") || strings.HasPrefix(key, "speaker") {
				t.Errorf("%T: the data has the key %q", r.DataProvider, key)
			}
		}
		batches := r.all(t, d, datapipeline.Epoch{Train: true})
		if len(batches) != 1 || batches[0]["data"] == nil || batches[0]["classes"] != nil {
			t.Errorf("%T: got the batches %v, want one with the key data alone", r.DataProvider, batches)
		}
	}
	read, err := datapipeline.NewDatasetReader(part, recording("train", 1), func(context.Context, datapipeline.Element) error { return nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Loop(t.Context(), 0); err != nil {
		t.Errorf("a sequence with more keys than are read: %v", err)
	}
	fewer := &datapipeline.ExternData{Data: map[string]datapipeline.Data{"data": speech.Data["data"]}}
	read, err = datapipeline.NewDatasetReader(fewer, recording("train", 1), func(context.Context, datapipeline.Element) error { return nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Loop(t.Context(), 0); !errors.Is(err, millrace.ErrSchema) {
		t.Errorf("a key that the data do not have: got %v", err)
	}
}

// Threads names the running threads of the queue provider. Two goroutines may request
// data. No run is fed.
func TestQueueDataProviderThreads(t *testing.T) {
	s := graphtest.NewScope(t)
	p, err := datapipeline.NewQueueDataProvider(s, speech, &frameByFrame)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, s, p)
	if got := p.Threads(); len(got) != 0 {
		t.Errorf("before the start: %q", got)
	}
	r.start(t, waiting{recording("train", 2)}, datapipeline.Epoch{Train: true})
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			if more, err := p.HaveMoreData(t.Context()); !more || err != nil {
				t.Errorf("%v, %v", more, err)
			}
		})
	}
	asking.Wait()
	if diff := cmp.Diff([]string{"DatasetReader", "CpuToDefaultDevStage"}, p.Threads()); diff != "" {
		t.Errorf("threads (-want +got)\n%s", diff)
	}
	if feeds, err := p.FeedDict(t.Context()); err != nil || len(feeds) != 0 {
		t.Errorf("feeds %v, %v", feeds, err)
	}
	if err := p.StopThreads(); err != nil {
		t.Error(err)
	}
	if got := p.Threads(); len(got) != 0 {
		t.Errorf("after the stop: %q", got)
	}
}

// Shuffling mixes the frames of different sequences in training. Each frame is returned
// once. Evaluation keeps the order. Frames are chunks of size 1, so there is no other
// option for them.
func TestShuffle(t *testing.T) {
	s := graphtest.NewScope(t)
	o := frameByFrame
	o.ShuffleChunks, o.Seed, o.ChunkEval = 10, 5, true
	seqs := datapipeline.Options{Batching: datapipeline.Batching{BatchSize: 1}, ShuffleSeqs: 5, Seed: 6}
	a, b := providers(t, s, speech, &o), providers(t, s, speech, &seqs)
	readers := newReaders(t, s, a[0], a[2], b[0], b[2])
	for i, r := range readers {
		d := recording("train", 3, 2, 4, 1, 2, 2, 1, 2)
		ordered := rowsOf(r.all(t, d, datapipeline.Epoch{}))
		if !slices.IsSortedFunc(ordered, func(a, b string) int { return strings.Compare(a[:5], b[:5]) }) {
			t.Errorf("%d %T: evaluation changes the order: %v", i, r.DataProvider, ordered)
		}
		for epoch := range int64(2) {
			mixed := rowsOf(r.all(t, d, datapipeline.Epoch{Train: true, Number: epoch}))
			if slices.Equal(mixed, ordered) {
				t.Errorf("%d %T: training keeps the order %v", i, r.DataProvider, mixed)
			}
			slices.Sort(mixed)
			if diff := cmp.Diff(slices.Sorted(slices.Values(ordered)), mixed); diff != "" {
				t.Errorf("%d %T: (-ordered +shuffled)\n%s", i, r.DataProvider, diff)
			}
		}
	}
}

// Outside of training a row is a whole sequence, unless ChunkEval is set. In training it is
// a chunk.
func TestEvaluationTakesWholeSequences(t *testing.T) {
	chunking := datapipeline.Chunking{Size: 2}
	for _, tt := range []struct {
		chunkEval, train bool
		want             string
	}{
		{false, false, "[5 3]"}, {true, false, "[2 2 1 2 1]"}, {false, true, "[2 2 1 2 1]"},
	} {
		s := graphtest.NewScope(t)
		o := &datapipeline.Options{Chunking: chunking, Batching: datapipeline.Batching{BatchSize: 1000}, ChunkEval: tt.chunkEval}
		for _, r := range newReaders(t, s, providers(t, s, speech, o)...) {
			var sizes []int32
			for _, b := range r.all(t, recording("train", 5, 3), datapipeline.Epoch{Train: tt.train}) {
				sizes = append(sizes, b[datapipeline.Size("data", 0)].([]int32)...)
			}
			if got := fmt.Sprint(sizes); got != tt.want {
				t.Errorf("%T, ChunkEval %t, training %t: rows of %s frames, want %s", r.DataProvider, tt.chunkEval, tt.train, got, tt.want)
			}
		}
	}
}

// While there is no room for a batch, the driver waits in Go, and none of its runs
// waits in TensorFlow. A waiting run would put its batch into the queue as soon as a
// batch is dequeued; the driver only continues when the staging area has taken one.
func TestDriverWaitsForRoom(t *testing.T) {
	for _, train := range []bool{true, false} { // batches of blocks, and of other rows
		s := graphtest.NewScope(t)
		o := frameByFrame
		o.Capacity = 1
		p, err := datapipeline.NewQueueDataProvider(s, speech, &o)
		if err != nil {
			t.Fatal(err)
		}
		taken := []tfbridge.Output{datapipeline.Batches(p)[datapipeline.SeqIdx]}
		r := newReader(t, s, p)
		r.start(t, recording("train", slices.Repeat([]int{3}, 30)...), datapipeline.Epoch{Train: train})
		for staged, queued := 0, 0; staged < 2 || queued < 1; {
			if staged, err = datapipeline.StagingSize(p, r.session); err == nil {
				queued, err = datapipeline.BatchQueueSize(p, r.session)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		take, err := r.session.PrepareRun(nil, taken, nil, &tfbridge.RunOptions{Timeout: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{nil, tfbridge.DeadlineExceeded} {
			values, err := take.Run(t.Context(), nil)
			if !errors.Is(err, want) {
				t.Errorf("training %t: batch %d past the staging area: %v, want %v", train, i, err, want)
			}
			for _, v := range values {
				v.Close()
			}
		}
		if err := p.StopThreads(); err != nil {
			t.Error(err)
		}
	}
}
