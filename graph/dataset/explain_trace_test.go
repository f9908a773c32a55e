package dataset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/explain"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// Are the times of Explain true? A traced run of TensorFlow (RunOptions.Trace) knows
// nothing of stages, but it times IteratorGetNextSync, in which all stages of a
// pipeline without background threads do their work, one inside of the other:
//
//	trace    |------------------ IteratorGetNextSync ------------------|
//	stages    |------------------------- Batch -----------------------|
//	           |------------- Map -----------||--------- Map --------|
//	            |- Map -|  |- operations -|    |- Map -|  |- oper... |
//	                     ^ until a thread takes the function
//
// A stage's time in Explain is without that of the stages below. So the times of all
// stages should add up to the time of the same element in the trace. Explain's are a
// little less: tf.data counts the operations of a function, not the wait for a thread
// to run them. On a busy machine that wait is sometimes long, so the test passes if a
// few elements agree.
//
// The time of one stage is the difference between the traces of the pipeline that ends
// with this stage and the pipeline that ends before it. That takes a pass for each, and
// therefore a benchmark.

// products maps by multiplying matrices of a size, three times.
func products(size int64) func(s *graph.Scope, a outs) outs {
	return func(s *graph.Scope, a outs) outs {
		x := s.Op1("Fill", nil, s.Const([]int64{size, size}), graph.Cast(s, a[0], tfbridge.Float))
		for range 3 {
			x = s.Op1("MatMul", nil, x, x)
		}
		return outs{graph.Cast(s, graph.Sum(s, x, s.Const([]int64{0, 1})), tfbridge.Int64)}
	}
}

// traced is an iterator whose elements are taken in traced runs.
type traced struct {
	next  *tfbridge.Callable
	model tfbridge.Output
	sess  *tfbridge.Session
	seen  explain.Model
	bytes int64         // size of the elements
	time  time.Duration // duration by the trace
}

// newTraced starts an iterator in its own session.
func newTraced(t testing.TB, d *dataset.Dataset) *traced {
	t.Helper()
	s := d.Scope().SubScope("traced")
	it := d.In(s).Iterator("it")
	r := &traced{model: s.Op1("IteratorGetModelProto", nil, it.Resource)}
	next := it.NextInline()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	r.sess = sess
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		t.Fatal(err)
	}
	r.next, err = sess.PrepareRun(nil, next, nil, &tfbridge.RunOptions{Inline: true, Trace: tfbridge.FullTrace})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// take takes elements.
func (r *traced) take(t testing.TB, n int) {
	t.Helper()
	for range n {
		element, trace, err := r.next.RunTraced(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.bytes += 8 * element[0].NumElements() // int64
		element[0].Close()
		for _, device := range trace.Devices {
			for _, node := range device.Nodes {
				if strings.Contains(node.Label, "= IteratorGetNextSync(") {
					r.time += node.Duration
				}
			}
		}
	}
}

// measure stores what Explain's model reports for the stages that r reads.
func (r *traced) measure(t testing.TB, run *explain.Stage) {
	t.Helper()
	model, err := r.sess.Run(nil, []tfbridge.Output{r.model}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model[0].Close()
	if err := r.seen.Add([]byte(model[0].Value().(string))); err != nil {
		t.Fatal(err)
	}
	r.seen.Measure(run)
}

// explained returns the stages of d as TensorFlow runs them.
func explained(t testing.TB, d *dataset.Dataset) *explain.Stage {
	t.Helper()
	e, err := d.Explain(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.Run
}

// All stages together took the time that the trace has of the same element, within 10%.
// They returned the elements and bytes that the runs fetched.
func TestExplainAgreesWithTrace(t *testing.T) {
	d := dataset.Range(graphtest.NewScope(t), 0, 1000, 1).Map("one", products(400), nil).Map("two", products(300), nil).
		Batch(2, true).WithOptions(&dataset.Options{NoOptimization: true})
	run, r := explained(t, d), newTraced(t, d)
	const wanted, most = 3, 200
	var agreed, batches int64
	var sum, last, lastTrace time.Duration
	for agreed < wanted && batches < most {
		r.take(t, 1)
		batches++
		r.measure(t, run)
		last, sum = sum, 0
		for _, stage := range run.All() {
			sum += stage.Measured.Time
		}
		if ratio := (sum - last).Seconds() / (r.time - lastTrace).Seconds(); ratio > 0.9 && ratio < 1.1 {
			agreed++
		}
		lastTrace = r.time
	}
	if agreed < wanted {
		t.Errorf("of %d elements %d agree: the stages took %v, by the trace %v", batches, agreed, sum, r.time)
	}
	for i, want := range []int64{2 * batches, 2 * batches, 2 * batches, batches} {
		stage := run.All()[i]
		if m := stage.Measured; m.Elements != want || m.Bytes != r.bytes {
			t.Errorf("%s: %d elements, %d bytes; want %d, %d", stage.Name(), m.Elements, m.Bytes, want, r.bytes)
		}
	}
}

// BenchmarkExplainBesideTrace reports for each stage the ratio of its time in Explain
// to its time in the trace, and the difference for one element.
func BenchmarkExplainBesideTrace(b *testing.B) {
	const elements = 50
	s := graph.NewScope()
	defer s.Graph().Close()
	prefixes := []*dataset.Dataset{dataset.Range(s, 0, 1<<40, 1)}
	for i, size := range []int64{600, 400, 500} {
		last := prefixes[len(prefixes)-1]
		prefixes = append(prefixes, last.Map(fmt.Sprint("map", i), products(size), nil))
	}
	var passes []*traced
	for i, d := range prefixes {
		prefixes[i] = d.WithOptions(&dataset.Options{NoOptimization: true})
		passes = append(passes, newTraced(b, prefixes[i]))
	}
	for b.Loop() {
		for range elements { // the two datasets take turns, so that both meet the same load
			for _, pass := range passes {
				pass.take(b, 1)
			}
		}
	}
	last := len(passes) - 1
	run := explained(b, prefixes[last])
	passes[last].measure(b, run)
	stages := run.All()
	for i := 1; i <= last; i++ {
		byTrace := passes[i].time - passes[i-1].time
		time := stages[i].Measured.Time
		b.ReportMetric(time.Seconds()/byTrace.Seconds(), fmt.Sprintf("map%d/trace", i))
		b.ReportMetric(float64((byTrace-time).Microseconds())/float64(stages[i].Measured.Elements), fmt.Sprintf("map%d-short-µs", i))
	}
}
