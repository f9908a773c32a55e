package train_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/train"
	pb "millrace/internal/base/tfproto"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// Each queue has a summary of its fill level, as a share of its capacity without the
// elements that stay. The names are Python's.
func TestFullness(t *testing.T) {
	s := graphtest.NewScope(t)
	one := []tfbridge.Output{s.Const(int64(1))}
	files := train.StringInputProducer(s, s.Const([]string{"x", "y", "z"}), &train.ProducerOptions{NumEpochs: 2, Capacity: 8})
	train.Batch(s, dense(files.Dequeue(s)...), 2, &train.BatchOptions{Capacity: 4})
	train.ShuffleBatch(s, dense(one...), 2, &train.ShuffleBatchOptions{Capacity: 30, MinAfterDequeue: 10})
	merged := train.MergedSummary(s)
	session := graphtest.NewSession(t, s, nil)
	runners := train.QueueRunners(s)
	enqueue := func(r *train.QueueRunner, n int) {
		for range n {
			if _, err := session.Run(nil, nil, r.EnqueueOps()[:1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	values := func() map[string]float32 {
		value, err := fetch(t, session, merged)
		if err != nil {
			t.Fatal(err)
		}
		summary := &pb.Summary{}
		if err := proto.Unmarshal([]byte(value.(string)), summary); err != nil {
			t.Fatal(err)
		}
		byTag := map[string]float32{}
		for _, v := range summary.Value {
			byTag[v.Tag] = v.GetSimpleValue()
		}
		return byTag
	}
	check := func(want map[string]float32) {
		t.Helper()
		if diff := cmp.Diff(want, values()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	const names, batch, shuffled = "input_producer/fraction_of_8_full", "batch/fraction_of_4_full", "shuffle_batch/fraction_over_10_of_20_full"
	check(map[string]float32{names: 0, batch: 0, shuffled: 0})
	enqueue(runners[0], 2)
	enqueue(runners[2], 5)
	check(map[string]float32{names: 0.75, batch: 0, shuffled: 0})
	enqueue(runners[2], 10)
	check(map[string]float32{names: 0.75, batch: 0, shuffled: 0.25})
}

// The stages of a pipeline are visible as operations of its graph.
func TestStages(t *testing.T) {
	s := graphtest.NewScope(t)
	p := &pipelines{s, t.TempDir()}
	files := train.StringInputProducer(s, s.Const(p.paths("a", "b")), &train.ProducerOptions{NumEpochs: 2})
	batch := examplePipeline(p, files, 3)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, op := range s.Graph().Operations() {
		count[op.Type()]++
	}
	stages := []struct {
		stage, op string
		want      int
	}{
		{"names", "Const", -1},
		{"shuffled names", "RandomShuffle", 1},
		{"limit of epochs", "ResourceCountUpTo", 1},
		{"queue of names", "FIFOQueueV2", 1},
		{"readers", "TFRecordReaderV2", 3},
		{"decoders", "DecodeRaw", 3},
		{"preprocessing", "Mul", -1},
		{"queue of examples", "RandomShuffleQueueV2", 1},
		{"names are enqueued", "QueueEnqueueManyV2", 1},
		{"examples are enqueued", "QueueEnqueueV2", 3},
	}
	for _, st := range stages {
		if got := count[st.op]; got != st.want && (st.want >= 0 || got == 0) {
			t.Errorf("%s: %d operations of type %s, want %d", st.stage, got, st.op, st.want)
		}
	}
	if got := batch.Op.Type(); got != "QueueDequeueManyV2" {
		t.Errorf("the batch comes from a %s", got)
	}
	// The second stage reads from the queue of the first, one copy for each reader.
	var ends []string
	for _, r := range train.QueueRunners(s) {
		ends = append(ends, r.Name())
	}
	if diff := cmp.Diff([]string{"input_producer/FIFOQueueV2", "shuffle_batch_join/RandomShuffleQueueV2"}, ends); diff != "" {
		t.Errorf("stages (-want +got)\n%s", diff)
	}
	if got := len(train.QueueRunners(s)[1].EnqueueOps()); got != 3 {
		t.Errorf("%d enqueue operations of the second stage, want 3", got)
	}
}

// examplePipeline reads examples by n readers, decodes and scales them, and batches
// them shuffled.
func examplePipeline(p *pipelines, files *queue.Queue, n int) tfbridge.Output {
	var examples []train.Tensors
	for _, record := range p.readersOf(files, n) {
		decoded := graph.DecodeRaw(p.Scope, record, tfbridge.Uint8, nil)
		scaled := graph.Mul(p.Scope, graph.Cast(p.Scope, decoded, tfbridge.Float), p.Const(float32(0.5)))
		examples = append(examples, dense(scaled))
	}
	o := &train.ShuffleBatchOptions{MinAfterDequeue: 10}
	o.Shapes = []tfbridge.Shape{tfbridge.MakeShape(2)}
	return train.ShuffleBatchJoin(p.Scope, examples, 4, o).Dense[0]
}
