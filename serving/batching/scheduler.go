package batching

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Scheduler runs the batches of one or more Batchers, a given number at a time,
// and takes them from each in turn. Many goroutines may use it. It needs no
// Close: it has goroutines only while there are batches.
type Scheduler struct {
	threads  int
	requests sync.Pool // *request values that have ended

	mu    sync.Mutex // guards the fields below, and the queues
	busy  int        // goroutines that run batches, or are about to
	began bool       // one of them has not taken its first batch yet
	ring  []*queue   // the queues in which requests wait
	turn  int        // index in ring of the queue that is asked first
	share machineShare
	timer *time.Timer
}

// NewScheduler returns a scheduler that runs as many batches at a time as
// threads, TensorFlow Serving's num_batch_threads. 0: one for each processor.
func NewScheduler(threads int) *Scheduler {
	if threads < 1 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Scheduler{threads: threads}
}

// submit makes a request wait in a queue. If mine is true, the caller calls workOnce.
func (s *Scheduler) submit(q *queue, r *request) (mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := q.add(r); err != nil {
		return false, err
	}
	if !q.inRing {
		q.inRing = true
		s.ring = append(s.ring, q)
	}
	if !s.begin() {
		return false, nil
	}
	if q.waiting == 1 && len(s.ring) == 1 && q.brief(q.rows) {
		return true, nil
	}
	go s.work()
	return false, nil
}

// dispatch has a goroutine run batches if there are a free thread and a ready group.
// The caller holds s.mu.
func (s *Scheduler) dispatch() {
	if s.begin() {
		go s.work()
	}
}

// begin takes a thread if one is free and a group is ready. The caller holds s.mu.
func (s *Scheduler) begin() bool {
	if s.busy == s.threads || s.began {
		return false // the goroutine that begins starts the next one
	}
	if _, g, wait := s.ready(time.Now()); g == nil {
		s.wake(wait)
		return false
	}
	s.busy++
	s.began = true
	return true
}

// work runs batches as long as there are any. Before it forms a batch that is not full,
// it lets other runnable goroutines run, so that requests that have arrived get into
// the batch. If there are none that takes no time. Before a full batch it would lose
// time, because hundreds of goroutines are runnable when requests are refused.
func (s *Scheduler) work() {
	s.letIn()
	s.mu.Lock()
	s.began = false
	b := s.next()
	s.dispatch() // the rows that did not fit may make a batch
	s.mu.Unlock()
	for b != nil {
		if !s.run(b) {
			return
		}
		s.letIn()
		s.mu.Lock()
		b = s.next()
		s.mu.Unlock()
	}
}

// run runs a batch, and reports whether the caller still has its thread.
func (s *Scheduler) run(b *batch) bool {
	stop := func() bool { return true }
	if b.inPlace {
		stop = context.AfterFunc(b.ctx, func() { s.desert(b) })
	}
	b.run()
	stop()
	b.cancel(nil)
	if b.queue.options.OnBatch != nil {
		b.queue.options.OnBatch(b.info())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.over = true; !b.deserted {
		b.queue.costs.record(b, s.share.end(b.ended)-b.began)
		b.queue.count(b)
	}
	b.queue.ended(b)
	return !b.deserted
}

// workOnce runs the next batch in the calling goroutine, which has a thread, unless the batch has
// become too large. Another goroutine runs the batches after it.
func (s *Scheduler) workOnce(q *queue) {
	s.mu.Lock()
	if q.lone < manyLone {
		s.mu.Unlock()
		s.letIn()
		s.mu.Lock()
	}
	if !q.brief(q.rows) {
		s.mu.Unlock()
		go s.work()
		return
	}
	s.began = false
	b := s.next()
	s.dispatch() // rows that did not fit need another one
	s.mu.Unlock()
	if b == nil || !s.run(b) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.dispatch()
}

// desert gives the thread of a batch that runs in place, and that all requests have left, to
// other batches.
func (s *Scheduler) desert(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.over {
		return
	}
	b.deserted = true
	s.share.end(time.Now())
	b.queue.count(b)
	s.busy--
	s.dispatch()
}

// letIn lets other goroutines run, unless a full batch waits.
func (s *Scheduler) letIn() {
	s.mu.Lock()
	_, g, _ := s.ready(time.Now())
	full := g != nil && g.full(g.most)
	s.mu.Unlock()
	if !full {
		runtime.Gosched()
	}
}

// next forms the next batch. If no group is ready it returns nil, and the caller's
// thread is free. The caller holds s.mu.
func (s *Scheduler) next() *batch {
	now := time.Now()
	i, g, wait := s.ready(now)
	if g == nil {
		s.busy--
		s.wake(wait)
		return nil
	}
	s.turn = (i + 1) % len(s.ring)
	b := s.ring[i].take(g, now)
	b.began = s.share.begin(now)
	return b
}

// ready returns a group that is ready, and the index of its queue in the ring. Of
// several queues with such a group it takes the one whose turn it is. If no group is
// ready it returns nil, and the time until one is, or 0 if nothing waits. The caller
// holds s.mu.
func (s *Scheduler) ready(now time.Time) (int, *group, time.Duration) {
	s.prune()
	var soonest time.Duration
	for n := range s.ring {
		i := (s.turn + n) % len(s.ring)
		g, wait := s.ring[i].ready(now)
		if g != nil {
			return i, g, 0
		}
		if soonest == 0 || wait < soonest {
			soonest = wait
		}
	}
	return 0, nil, soonest
}

// prune removes the queues in which nothing waits from the ring.
func (s *Scheduler) prune() {
	kept := s.ring[:0]
	turn := s.turn
	for i, q := range s.ring {
		if q.inRing = q.waiting > 0; q.inRing {
			kept = append(kept, q)
		} else if i < s.turn {
			turn--
		}
	}
	clear(s.ring[len(kept):])
	s.ring, s.turn = kept, turn
}

// wake lets the groups be checked again after some time, 0 for never.
func (s *Scheduler) wake(after time.Duration) {
	switch {
	case after == 0:
	case s.timer == nil:
		s.timer = time.AfterFunc(after, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.dispatch()
		})
	default:
		s.timer.Reset(after)
	}
}

// newRequest returns a request without inputs. It reuses memory, because a server makes
// tens of thousands of requests a second, and each run of the collector delays hundreds
// of answers.
func (s *Scheduler) newRequest() *request {
	r, ok := s.requests.Get().(*request)
	if !ok {
		r = &request{done: make(chan struct{}, 1)}
	}
	*r = request{rows: -1, enqueued: time.Now(), done: r.done, pool: &s.requests}
	r.inputs, r.parts, r.key = r.room.inputs[:0], r.room.parts[:0], r.room.key[:0]
	return r
}
