// Package requestlog writes samples of a server's requests to TFRecord files:
// PredictionLog messages, which are TensorFlow Serving's form, and the Examples of
// requests that have some by themselves.
//
//	log, err := requestlog.Open(&requestlog.Options{FilenamePrefix: "/logs/digits", SamplingRate: 0.01})
//	...
//	defer log.Close()
//	if log.Sample() {
//		log.Add(message, examples)
//	}
package requestlog

/*
What a kill leaves behind

	digits-20260102T030405.000000-1234-1.tfrecords            complete
	digits-20260102T040000.000000-1234-2.tfrecords.partial    being written

A file has the suffix .partial until it is complete and on the disk, so a loader
never sees a file that ends within a record. A process that is killed leaves its
.partial files behind. The next Log of the same prefix cuts what is torn off their
ends and gives them their names. A lock tells such a file from one that another
process is writing.

A request waits for nothing: Add puts the message into a queue, and a goroutine
serializes and writes it. What does not fit into the queue is dropped and counted.
*/

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"millrace"
)

// Options are the options of a Log.
type Options struct {
	// FilenamePrefix is the folder of the files and the beginning of their names. The
	// folder must exist.
	FilenamePrefix string
	// SamplingRate is the share of requests that Sample chooses, from 0 to 1.
	SamplingRate float64
	// MaxFileBytes is the size from which on a file is complete. 0: 64 MiB.
	MaxFileBytes int64
	// QueueBytes is the total size of the messages that may wait to be written. 0: 64
	// MiB.
	QueueBytes int64
	// Logger receives messages about files that cannot be written. Nil: slog.Default.
	Logger *slog.Logger
}

// Log writes requests. Many goroutines may use it. [Log.Close] ends it.
type Log struct {
	options Options
	queue   chan entry
	ended   chan struct{} // closed when everything is written

	waiting          atomic.Int64 // bytes of messages in the queue
	written, dropped atomic.Int64 // messages

	mu     sync.RWMutex
	closed bool
}

// entry is a message to be written.
type entry struct {
	message  proto.Message
	examples [][]byte
	size     int64
}

// queueLength is how many messages may wait if they are short.
const queueLength = 4096

// Open returns a Log. Open first completes files with the prefix that a killed process
// left. Errors are of class millrace.ErrConfig or ErrIO.
func Open(o *Options) (*Log, error) {
	c := *o
	if c.SamplingRate < 0 || c.SamplingRate > 1 || c.SamplingRate != c.SamplingRate {
		return nil, millrace.Errorf(millrace.ErrConfig, "sampling_rate is %v, it must be from 0 to 1", c.SamplingRate)
	}
	c.MaxFileBytes = cmp.Or(c.MaxFileBytes, 64<<20)
	c.QueueBytes = cmp.Or(c.QueueBytes, 64<<20)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if err := recoverFiles(c.FilenamePrefix); err != nil {
		return nil, err
	}
	l := &Log{options: c, queue: make(chan entry, queueLength), ended: make(chan struct{})}
	logs := &rotating{prefix: c.FilenamePrefix, max: c.MaxFileBytes}
	examples := &rotating{prefix: c.FilenamePrefix + examplesInfix, max: c.MaxFileBytes}
	if err := logs.open(); err != nil { // report a missing folder at once
		return nil, err
	}
	go l.write(logs, examples)
	return l, nil
}

// Sample reports whether to log a request.
func (l *Log) Sample() bool { return rand.Float64() < l.options.SamplingRate }

// Add logs a message, and Examples that are written separately, too. It does not wait;
// if the queue has no room the message is dropped and Add returns false. The message
// must not change afterwards.
func (l *Log) Add(message proto.Message, examples [][]byte) bool {
	e := entry{message: message, examples: examples, size: int64(proto.Size(message))}
	for _, x := range examples {
		e.size += int64(len(x))
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed || l.waiting.Add(e.size) > l.options.QueueBytes {
		l.drop(e)
		return false
	}
	select {
	case l.queue <- e:
		return true
	default:
		l.drop(e)
		return false
	}
}

// drop counts a message that is not written.
func (l *Log) drop(e entry) {
	if !l.closed {
		l.waiting.Add(-e.size)
	}
	l.dropped.Add(1)
}

// Counts returns how many messages were written and how many dropped.
func (l *Log) Counts() (written, dropped int64) { return l.written.Load(), l.dropped.Load() }

// Close writes the waiting messages, and completes the files. It is idempotent.
func (l *Log) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	<-l.ended
	return nil
}

// write writes messages until the Log is closed.
func (l *Log) write(logs, examples *rotating) {
	defer close(l.ended)
	for e := range l.queue {
		err := l.writeOne(logs, examples, e)
		l.waiting.Add(-e.size)
		if len(l.queue) == 0 && err == nil {
			err = flush(logs, examples)
		}
		if err != nil {
			l.dropped.Add(1)
			l.options.Logger.Error("request log", slog.String("error", err.Error()))
			continue
		}
		l.written.Add(1)
	}
	for _, r := range []*rotating{logs, examples} {
		if err := r.complete(); err != nil {
			l.options.Logger.Error("request log", slog.String("error", err.Error()))
		}
	}
}

// writeOne writes a message.
func (l *Log) writeOne(logs, examples *rotating, e entry) error {
	record, err := proto.Marshal(e.message)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "serialize a request: %w", err)
	}
	if err := logs.write(record); err != nil {
		return err
	}
	for _, x := range e.examples {
		if err := examples.write(x); err != nil {
			return err
		}
	}
	return nil
}

// flush passes the written data to the system, so that a kill loses none of it.
func flush(all ...*rotating) error {
	for _, r := range all {
		if err := r.flush(); err != nil {
			return err
		}
	}
	return nil
}
