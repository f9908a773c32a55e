package datapipeline_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// levels are the queues and connectors of a provider, created separately.
type levels struct {
	sequences, chunks *datapipeline.TFDataQueues
	chunker           *datapipeline.TFChunkingQueueRunner
	batches           *datapipeline.TFBatchingQueue
	stage             *datapipeline.CpuToDefaultDevStage
	session           *tfbridge.Session
}

// newLevels connects queues for evaluation. The elements also have seq_idx.
func newLevels(t testing.TB, s *graph.Scope, chunking datapipeline.Chunking, batching datapipeline.Batching) *levels {
	t.Helper()
	special := &datapipeline.TFDataQueuesOptions{Special: []string{datapipeline.SeqIdx}}
	l := &levels{sequences: datapipeline.NewTFDataQueues(s, speech, special), chunks: datapipeline.NewTFDataQueues(s, speech, special)}
	l.chunker = datapipeline.NewTFChunkingQueueRunner(s, speech, l.sequences.EvalQueue.Dequeue,
		&datapipeline.TFChunkingQueueRunnerOptions{Chunking: chunking, TargetQueue: l.chunks.EvalQueue})
	l.batches = datapipeline.NewTFBatchingQueue(s, speech, l.chunks, &datapipeline.TFBatchingQueueOptions{Batching: batching, Capacity: 3})
	l.stage = datapipeline.NewCpuToDefaultDevStage(s, speech, l.batches.Output, 2)
	l.session = graphtest.NewSession(t, s, graphtest.Unoptimized(t))
	return l
}

// read puts the sequences of a dataset, and the end of the epoch, into level 1.
func (l *levels) read(t testing.TB, d datapipeline.Dataset) {
	r, err := datapipeline.NewDatasetReader(speech, d, func(ctx context.Context, e datapipeline.Element) error {
		return l.sequences.Enqueue(ctx, l.session, false, e)
	}, &datapipeline.DatasetReaderOptions{WithSeqIdx: true, WithEpochEnd: true})
	if err == nil {
		err = r.Loop(t.Context(), 0)
	}
	if err != nil {
		t.Error(err)
	}
}

// Each level by itself: the end of the epoch stops each loop and passes to the next level.
// A sequence may have more chunks than the queue of chunks has room. Every row is in one
// batch, in order, and all batches keep to the budget. The queue of batches and the staging
// area stay within their capacity, and end empty.
func TestLevels(t *testing.T) {
	s := graphtest.NewScope(t)
	around := map[string]datapipeline.Context{"data": {Left: 1}}
	l := newLevels(t, s, datapipeline.Chunking{Size: 3, Step: 2, Context: around}, datapipeline.Batching{BatchSize: 30, MaxSeqs: 6})
	data := l.stage.Data()
	names := l.stage.Names()
	if want := []string{"classes", "classes/size0", "data", "data/size0", "seq_idx", "speaker"}; !slices.Equal(names, want) {
		t.Errorf("the stage has %q, want %q", names, want)
	}
	random := rand.New(rand.NewPCG(55, 1))
	lengths := []int{0, 230}
	for range 12 {
		lengths = append(lengths, random.IntN(9))
	}
	go l.read(t, recording("dev", lengths...))
	go l.chunker.Loop(t.Context(), l.session)
	go l.batches.Loop(t.Context(), l.session, false)
	var want [][2]int // sequence and first class of each chunk
	for i, n := range lengths {
		for start := 0; start < n; start += 2 {
			want = append(want, [2]int{i, 100*i + start + 1})
		}
	}
	var got [][2]int
	batches := 0
	for {
		have, err := datapipeline.HaveIncomingData(t.Context(), l.session, l.batches, l.batches)
		if err != nil {
			t.Fatal(err)
		}
		if !have {
			break
		}
		if n, err := l.batches.BatchQueueSize(t.Context(), l.session); err != nil || n > 3 {
			t.Errorf("%d batches wait, %v; want at most 3", n, err)
		}
		b := fetchBatch(t, l.session, l.batches.Output)
		batches++
		sizes, indices := b["data/size0"].([]int32), b["seq_idx"].([]int32)
		if rows, longest := len(sizes), slices.Max(sizes); rows > 6 || rows > 1 && rows*int(longest) > 30 {
			t.Errorf("a batch of %d rows, of which the longest has %d frames", rows, longest)
		}
		for i := range sizes {
			got = append(got, [2]int{int(indices[i]), int(b["classes"].([][]int32)[i][0])})
			if sizes[i] != b["classes/size0"].([]int32)[i]+1 {
				t.Errorf("%d frames of data with a context of 1, %v of classes", sizes[i], b["classes/size0"])
			}
		}
	}
	if !slices.Equal(got, want) || batches < len(want)/6 {
		t.Errorf("%d batches of rows\n%v\nwant\n%v", batches, got, want)
	}
	if l.chunker.IsRunning() || l.batches.IsRunning() || l.chunker.Err() != nil || l.batches.Err() != nil {
		t.Errorf("at the end: %v, %v", l.chunker.Err(), l.batches.Err())
	}
	if l.stage.HaveData() || len(data) != len(names) {
		t.Errorf("the stage has data before its loop")
	}
}

// The stage stays within its capacity, also with strings, and ends empty.
func TestStage(t *testing.T) {
	s := graphtest.NewScope(t)
	o := frameByFrame
	o.Capacity = 1
	p, err := datapipeline.NewQueueDataProvider(s, speech, &o)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, s, p)
	for range 2 {
		r.start(t, recording("train", 20), datapipeline.Epoch{Train: true})
		for batches := range 10 {
			b, err := r.next(t)
			if err != nil {
				t.Fatal(err)
			}
			// The model computes with one batch while two wait.
			if n, err := datapipeline.StagingSize(p, r.session); err != nil || n > 2 {
				t.Errorf("%d batches in the area, %v", n, err)
			}
			if got := b["speaker"].([]string); got[0] != "speaker-0" || batches*2+1 != int(b["classes"].([][]int32)[0][0]) {
				t.Errorf("batch %d: %v", batches, b)
			}
		}
		if b, err := r.next(t); b != nil || err != nil {
			t.Errorf("after the last batch: %v, %v", b, err)
		}
		if n, err := datapipeline.StagingSize(p, r.session); err != nil || n != 0 {
			t.Errorf("%d batches are left, %v", n, err)
		}
		if err := p.StopThreads(); err != nil {
			t.Error(err)
		}
	}
}

// A convolution without padding over frames with context gives the same result for a frame
// in a chunk and in the whole sequence, and one frame per target.
func TestContextMatchesConvolution(t *testing.T) {
	s := graphtest.NewScope(t)
	o := datapipeline.Options{
		Chunking: datapipeline.Chunking{Size: 4, Step: 3, Context: map[string]datapipeline.Context{"data": {Left: 2, Right: 2}}},
		Batching: datapipeline.Batching{BatchSize: 100},
	}
	p, err := datapipeline.NewQueueDataProvider(s, speech, &o)
	if err != nil {
		t.Fatal(err)
	}
	data := p.Data()
	kernel, err := tfbridge.NewTensorFromSlice([]int64{5, 1, 2, 1}, []float32{1, 0, 3, 1, 5, 2, 7, 0, 11, 4})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	image := graph.ExpandDims(s, data["data"], 2)
	conv := s.Op1("Conv2D", map[string]any{"strides": []int64{1, 1, 1, 1}, "padding": "VALID"}, image, s.Const(kernel))
	outputs := map[string]tfbridge.Output{
		"conv": graph.Squeeze(s, conv, 2, 3), "classes": graph.Identity(s, data["classes"]), "size": graph.Identity(s, data["classes/size0"]),
	}
	r := &reader{DataProvider: p, session: graphtest.NewSession(t, s, graphtest.Unoptimized(t))}
	computed := map[bool]map[int32]float32{} // per mode, the output for each frame, by the frame's class
	for _, train := range []bool{false, true} {
		computed[train] = map[int32]float32{}
		r.start(t, recording("data", 10, 3, 7), datapipeline.Epoch{Train: train})
		for {
			if more, err := p.HaveMoreData(t.Context()); err != nil {
				t.Fatal(err)
			} else if !more {
				break
			}
			if _, err := p.FeedDict(t.Context()); err != nil {
				t.Fatal(err)
			}
			b := fetchBatch(t, r.session, outputs)
			for i, n := range b["size"].([]int32) {
				row, classes := b["conv"].([][]float32)[i], b["classes"].([][]int32)[i]
				if len(row) != len(classes) {
					t.Fatalf("%d outputs for %d targets", len(row), len(classes))
				}
				for k := range n {
					computed[train][classes[k]] = row[k]
				}
			}
		}
		if err := p.StopThreads(); err != nil {
			t.Error(err)
		}
	}
	if len(computed[false]) != 20 || len(computed[true]) != 20 {
		t.Errorf("%d and %d frames, want 20", len(computed[false]), len(computed[true]))
	}
	for class, want := range computed[false] {
		if got := computed[true][class]; got != want || want == 0 {
			t.Errorf("frame %d gives %v in a chunk, %v in its sequence", class, got, want)
		}
	}
}

// A feeding provider may enqueue its batches into a queue that shuffles: each comes once,
// and a run is fed only the flag. After an early stop the queue is empty.
func TestFeedIntoTFQueue(t *testing.T) {
	s := graphtest.NewScope(t)
	with := datapipeline.TFDataQueuesOptions{Capacity: 5, WithBatch: true, Special: []string{datapipeline.SeqTag, datapipeline.SeqIdx}}
	q := datapipeline.NewTFDataQueues(s, speech, &with)
	o := datapipeline.FeedDictOptions{Options: frameByFrame, TFQueue: q}
	p, err := datapipeline.NewFeedDictDataProvider(s, speech, &o)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, s, p)
	for range 2 {
		r.start(t, recording("train", 30), datapipeline.Epoch{Train: true})
		if _, err := r.next(t); err != nil {
			t.Fatal(err)
		}
		feeds, err := p.FeedDict(t.Context())
		if _, ok := feeds[q.TrainFlag]; err != nil || len(feeds) != 1 || !ok {
			t.Errorf("feeds %v, %v", feeds, err)
		}
		if err := p.StopThreads(); err != nil {
			t.Fatal(err)
		}
		rows := rowsOf(r.all(t, recording("train", 20), datapipeline.Epoch{Train: true}))
		ordered := slices.Clone(rows)
		if slices.Sort(ordered); len(slices.Compact(ordered)) != 20 || slices.Equal(rows, rowsOf(r.all(t, recording("train", 20), datapipeline.Epoch{}))) {
			t.Errorf("rows %v", rows)
		}
	}
	with.Special = nil
	o.TFQueue = datapipeline.NewTFDataQueues(s, speech, &with)
	if _, err := datapipeline.NewFeedDictDataProvider(s, speech, &o); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("queues without tags: %v", err)
	}
	o.TFQueue, o.SingleThreaded = q, true
	if _, err := datapipeline.NewFeedDictDataProvider(s, speech, &o); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a queue without a thread: %v", err)
	}
	if err := p.StartThreads(t.Context(), nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("no session: %v", err)
	}
}

// A sequence whose keys differ in length cannot be cut; the graph also reports that.
func TestUnalignedSequence(t *testing.T) {
	s := graphtest.NewScope(t)
	l := newLevels(t, s, datapipeline.Chunking{Size: 2}, datapipeline.Batching{BatchSize: 5})
	d := recording("dev", 4)
	d.Seqs[0].Data["classes"] = []int32{1, 2, 3}
	l.read(t, d)
	err := l.chunker.Loop(t.Context(), l.session)
	if !errors.Is(err, tfbridge.InvalidArgument) || l.chunker.Err() != err || l.chunker.IsRunning() {
		t.Errorf("got %v, want code InvalidArgument", err)
	}
	// Whole sequences may have keys of different lengths.
	w := graphtest.NewScope(t)
	whole := newLevels(t, w, datapipeline.Chunking{}, datapipeline.Batching{BatchSize: 5})
	whole.read(t, d)
	if err := whole.chunker.Loop(t.Context(), whole.session); err != nil {
		t.Error(err)
	}
	if err := whole.batches.Loop(t.Context(), whole.session, false); err != nil {
		t.Error(err)
	}
	b := fetchBatch(t, whole.session, whole.batches.Output)
	if got := []int{len(b["data"].([][][]float32)[0]), len(b["classes"].([][]int32)[0])}; !slices.Equal(got, []int{4, 3}) {
		t.Errorf("lengths %v, want 4 and 3", got)
	}
}

// fetchBatch runs outputs once.
func fetchBatch(t testing.TB, session *tfbridge.Session, outputs map[string]tfbridge.Output) batch {
	t.Helper()
	var names []string
	var fetches []tfbridge.Output
	for name, o := range outputs {
		names, fetches = append(names, name), append(fetches, o)
	}
	values, err := session.RunContext(t.Context(), nil, fetches, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := batch{}
	for i, v := range values {
		b[names[i]] = v.Value()
		v.Close()
	}
	return b
}
