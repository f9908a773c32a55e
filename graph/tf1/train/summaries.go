package train

import (
	"fmt"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// summaries is the key of the collection, as in TensorFlow.
const summaries = "summaries"

// fullness describes the summary of a queue's fill level: the share of its capacity,
// not counting the elements that a dequeue leaves in the queue.
type fullness struct {
	name            string
	capacity        int
	minAfterDequeue int
}

// fullName is the name of the summary of a queue that keeps the order.
func fullName(capacity int) string { return fmt.Sprintf("fraction_of_%d_full", capacity) }

// shuffleFullness is the fullness of a queue that shuffles.
func shuffleFullness(capacity, minAfterDequeue int) fullness {
	return fullness{
		name:     fmt.Sprintf("fraction_over_%d_of_%d_full", minAfterDequeue, capacity-minAfterDequeue),
		capacity: capacity, minAfterDequeue: minAfterDequeue,
	}
}

// addFullness adds a summary of a queue: 0 if a dequeue has to wait, 1 if the
// goroutines that fill it have to. It should stay above 0; otherwise the queue needs
// more goroutines.
func addFullness(s *graph.Scope, q *queue.Queue, f fullness) {
	size := q.Size(s)
	if f.minAfterDequeue > 0 {
		size = graph.Maximum(s, s.Const(int32(0)), graph.Sub(s, size, s.Const(int32(f.minAfterDequeue))))
	}
	share := graph.Mul(s, graph.Cast(s, size, tfbridge.Float), s.Const(float32(1/float64(f.capacity-f.minAfterDequeue))))
	summary := s.AddOperation(tfbridge.OpSpec{Type: "ScalarSummary", Name: f.name, Input: []tfbridge.Input{s.Const(s.Prefix() + f.name), share}})
	if summary != nil {
		s.AddToCollection(summaries, summary.Output(0))
	}
}

// Summaries returns the outputs of the summaries of the graph: scalar strings, each a
// serialized tensorflow.Summary. The summaries of this package contain the fill level
// of each queue, from 0 to 1.
func Summaries(s *graph.Scope) []tfbridge.Output {
	var all []tfbridge.Output
	for _, o := range s.Collection(summaries) {
		all = append(all, o.(tfbridge.Output))
	}
	return all
}

// MergedSummary adds an operation that computes all summaries of the graph, and
// returns one serialized tensorflow.Summary, a scalar string. Write it to an event
// file by the method Summary of [millrace/estimator/events.Writer]; TensorBoard shows
// it. A graph without summaries is the scope's failure.
//
// It wraps MergeSummary.
func MergedSummary(s *graph.Scope) tfbridge.Output {
	return s.Op1("MergeSummary", nil, tfbridge.OutputList(Summaries(s)))
}
