package batching

import (
	"context"
	"time"

	"millrace"
)

/*
Who is let in

A queue that takes more than the machine can do answers nobody in time: the wait grows until
each request is given up shortly before, or while, it is computed, and all work is for nothing.
So a request is refused when it comes if it would be late:

	wait = (rows that wait before it + half of those that run) * cost of a row
	late:  wait + its own cost > 3/4 of the time to its deadline, or wait > MaxQueueDelay

The cost of a row is its share of the machine (see costs.go), and so is the wait the time until
its turn with all threads at work. The quarter is for what the estimate does not know. What is
refused costs nothing: the client may try another server at once. What is let in is computed in
order, and in time.

What was considered: CoDel drops requests after they have waited, and needs a target that suits
the model; serving the newest first answers some in time and starves the others.

Requests with a lower priority wait behind all others, and may fill half of the queue. Their rows do
not count for the wait of the others.
*/

// Priority is the priority of a request; larger numbers are served first. Any number is
// allowed.
type Priority int

// Usual priorities.
const (
	LowPriority    Priority = -1 // background work: waits until all others are served
	NormalPriority Priority = 0
)

// PriorityHeader is the header of HTTP, or the metadata of gRPC, by which a client gives a
// request a low priority: "low". It cannot raise one.
const PriorityHeader = "millrace-priority"

// lowShare is what part of the queue requests of low priority may fill.
const lowShare = 2

// priorityKey is the key of the priority in a context.
type priorityKey struct{}

// WithPriority returns a context whose requests have a priority.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, p)
}

// PriorityOf returns the priority of requests with a context.
func PriorityOf(ctx context.Context) Priority {
	p, _ := ctx.Value(priorityKey{}).(Priority)
	return p
}

// enoughBatches is how many batches must have been measured before requests are refused
// because of their expected wait.
const enoughBatches = 4

// errLate are the errors for requests that would be late. They are shared values, like
// the error of a full queue.
var (
	errMissed  = millrace.Errorf(millrace.ErrOverloaded, "the requests that wait would not leave enough time before the deadline of this one; try again later")
	errDelayed = millrace.Errorf(millrace.ErrOverloaded, "the requests that wait would take longer than max_queue_delay; try again later")
)

// late returns an error if a request would wait too long. A zero deadline stands for
// none.
func (q *queue) late(rows int64, priority Priority, deadline time.Time) error {
	if q.options.MaxQueueDelay == 0 && deadline.IsZero() || q.costs.batches < enoughBatches {
		return nil
	}
	ahead := q.rows
	switch {
	case priority > NormalPriority:
		ahead = 0 // most of them wait for it
	case priority == NormalPriority:
		ahead -= q.later
	}
	wait := time.Duration((float64(ahead) + float64(q.inBatches)/2) * q.costs.row)
	switch {
	case q.options.MaxQueueDelay > 0 && wait > q.options.MaxQueueDelay:
		return errDelayed
	case deadline.IsZero():
		return nil
	}
	if own := time.Duration(float64(rows) * q.costs.row); wait+own > time.Until(deadline)*3/4 {
		return errMissed
	}
	return nil
}
