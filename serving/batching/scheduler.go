package batching

import (
	"runtime"
	"sync"
	"time"
)

// Scheduler runs the batches of one or more Batchers, a given number at a time,
// and takes them from each in turn. Many goroutines may use it. It needs no
// Close: it has goroutines only while there are batches.
type Scheduler struct {
	threads int

	mu    sync.Mutex // guards what follows, and the queues
	busy  int        // batches that run
	ring  []*queue   // the queues in which requests wait
	turn  int        // index in ring of the queue that is asked first
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

// submit makes a request wait in a queue.
func (s *Scheduler) submit(q *queue, r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := q.add(r); err != nil {
		return err
	}
	if !q.inRing {
		q.inRing = true
		s.ring = append(s.ring, q)
	}
	s.dispatch()
	return nil
}

// dispatch starts batches while there are free threads and ready groups. The
// caller holds s.mu.
func (s *Scheduler) dispatch() {
	for s.busy < s.threads {
		b, wait := s.next(time.Now())
		if b == nil {
			s.wake(wait)
			return
		}
		s.busy++
		go s.work(b)
	}
}

// work runs a batch, and others as long as there are any.
func (s *Scheduler) work(b *batch) {
	for b != nil {
		b.run()
		if b.queue.options.OnBatch != nil {
			b.queue.options.OnBatch(b.info())
		}
		s.mu.Lock()
		b.queue.ended(b)
		var wait time.Duration
		if b, wait = s.next(time.Now()); b == nil {
			s.busy--
			s.wake(wait)
		}
		s.mu.Unlock()
	}
}

// next forms the next batch. If no group is ready it returns nil, and how long it
// takes until one is, or 0 if none waits. The caller holds s.mu.
func (s *Scheduler) next(now time.Time) (*batch, time.Duration) {
	s.prune()
	var soonest time.Duration
	for i := range s.ring {
		q := s.ring[(s.turn+i)%len(s.ring)]
		b, wait := q.form(now)
		if b != nil {
			s.turn = (s.turn + i + 1) % len(s.ring)
			return b, 0
		}
		if soonest == 0 || wait < soonest {
			soonest = wait
		}
	}
	return nil, soonest
}

// prune takes the queues in which nothing waits out of the ring.
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

// wake has the groups looked at again after some time, 0 for never.
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
