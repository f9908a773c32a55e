package analyze

import (
	"context"
	"errors"
	"sync"

	"millrace/loaders"
	"millrace/tfbridge"
)

// Statistics are the statistics of a dataset. Its JSON keys stay as they are.
type Statistics struct {
	Format   string             `json:"format"`
	Examples int64              `json:"examples"`
	Filtered int64              `json:"filtered,omitempty"` // examples that filters did not keep
	Tensors  map[string]*Tensor `json:"tensors"`

	Determines []Determination `json:"determines,omitempty"` // scalars that determine others
}

// Format is the format of a file of statistics.
const Format = "millrace statistics 1"

// Words returns the strings of a tensor, the most frequent ones first, and whether it is a tensor
// of strings.
func (s *Statistics) Words(tensor string) ([]Word, bool) {
	t, ok := s.Tensors[tensor]
	if !ok || t.DType != "string" {
		return nil, false
	}
	return t.words, true
}

// collecting is how many goroutines collect. Each takes every eighth batch, so that the result
// does not depend on which of them is fastest.
const collecting = 8

// Run reads one epoch of a plan that [Plan] made, and returns its statistics.
func Run(ctx context.Context, l *loaders.Loader, o *loaders.RunOptions) (*Statistics, error) {
	found, all, pairs, err := collect(ctx, l, o)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		found.Tensors[c.name] = c.result()
	}
	found.Determines = pairs.result()
	return found, nil
}

// RunShard reads the shard of a plan, and returns what it has collected for [Merge].
func RunShard(ctx context.Context, l *loaders.Loader, shard Shard, o *loaders.RunOptions) (*Part, error) {
	found, all, pairs, err := collect(ctx, l, o)
	if err != nil {
		return nil, err
	}
	p := &Part{Format: PartFormat, Shard: shard, Examples: found.Examples, Filtered: found.Filtered, Leaks: pairs.part()}
	for _, c := range all {
		p.Tensors = append(p.Tensors, c.part())
	}
	return p, nil
}

// collect reads one epoch, and returns the collectors of all tensors.
func collect(ctx context.Context, l *loaders.Loader, o *loaders.RunOptions) (*Statistics, []*collector, *leaks, error) {
	specs := specsOf(l.Plan())
	shared := make([]*words, len(specs))
	for i := range shared {
		shared[i] = newWords(mostWords)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	var workers [collecting]worker
	for i := range workers {
		w := &workers[i]
		w.batches = make(chan *loaders.Batch, 1)
		for k, s := range specs {
			w.collectors = append(w.collectors, newCollector(s, shared[k]))
		}
		w.leaks = newLeaks(specs)
		wait.Go(func() { w.work(cancel) })
	}
	found := &Statistics{Format: Format, Tensors: map[string]*Tensor{}}
	err := found.read(ctx, l, o, &workers)
	for i := range workers {
		close(workers[i].batches)
	}
	wait.Wait()
	for i := range workers {
		if workers[i].err != nil {
			return nil, nil, nil, workers[i].err // it canceled the reading
		}
	}
	if err != nil {
		return nil, nil, nil, err
	}
	for i := 1; i < collecting; i++ {
		workers[0].leaks.join(workers[i].leaks)
	}
	var joined []*collector
	for k := range specs {
		all := workers[0].collectors[k]
		for i := 1; i < collecting; i++ {
			all.join(workers[i].collectors[k])
		}
		all.settle()
		joined = append(joined, all)
	}
	found.Filtered = l.Filtered()
	return found, joined, workers[0].leaks, nil
}

// read hands the batches to the workers in turns.
func (s *Statistics) read(ctx context.Context, l *loaders.Loader, o *loaders.RunOptions, workers *[collecting]worker) error {
	next := 0
	for batch, err := range l.Run(ctx, o) {
		if err != nil {
			return err
		}
		s.Examples += batch.Rows()
		batch.Keep()
		workers[next].batches <- batch
		next = (next + 1) % collecting
	}
	return nil
}

// worker collects the statistics of some of the batches.
type worker struct {
	batches    chan *loaders.Batch
	collectors []*collector
	leaks      *leaks
	err        error
}

// work takes batches until there are no more. After an error it only closes them.
func (w *worker) work(fail func()) {
	for batch := range w.batches {
		if w.err == nil {
			if w.err = w.take(batch); w.err != nil {
				fail()
			}
		}
		w.err = errors.Join(w.err, batch.Close())
	}
}

func (w *worker) take(batch *loaders.Batch) error {
	for _, c := range w.collectors {
		var counts []int64
		if c.count != "" {
			var err error
			if counts, err = tfbridge.View[int64](batch.Tensor(c.count)); err != nil {
				return err
			}
		}
		if err := c.take(batch.Tensor(c.name), batch.Rows(), counts); err != nil {
			return err
		}
	}
	return w.leaks.take(batch.Tensor)
}
