package batching

import (
	"cmp"
	"slices"
	"time"

	"millrace"
)

// Options are the options of a Batcher. Nil and the zero value mean the defaults,
// which are TensorFlow Serving's.
type Options struct {
	// MaxBatchSize is the largest number of rows of a batch. A request with more rows
	// runs alone. 0: 1000.
	MaxBatchSize int
	// BatchTimeout is how long a request may wait for others while a thread is
	// free. 0: not at all.
	BatchTimeout time.Duration
	// MaxEnqueuedBatches limits the waiting requests: together they have at most as
	// many rows as this many batches of MaxBatchSize. Predict refuses further ones with
	// an error of class millrace.ErrOverloaded. 0: 10.
	MaxEnqueuedBatches int
	// MaxQueueDelay is the longest expected wait of a request; Predict refuses requests
	// whose expected wait, from the cost of the rows before it, is longer. A request
	// that would miss its deadline is always refused. 0: no limit.
	MaxQueueDelay time.Duration
	// AllowedBatchSizes are the sizes with which the model is run, in increasing order;
	// the last one is the largest batch. A batch of another size is filled up with
	// copies of a row, whose results are dropped. Nil: any size.
	AllowedBatchSizes []int
	// PadVariableLengthInputs joins tensors that differ in other dimensions than
	// the first. Each is padded with its first element to the longest of the
	// batch. Without it only requests of equal shape share a batch.
	PadVariableLengthInputs bool
	// Greedy puts all waiting requests into each batch. Without it a Batcher measures
	// the cost of a row in batches of each size, and makes no batch larger than is
	// useful: where batching saves no time, requests run alone and at once.
	Greedy bool
	// SharedInputs are inputs that belong to a batch and not to its rows, such as a
	// scalar temperature. Only requests with the same values of them share a batch,
	// which has them once. Names that a signature does not have are ignored. Nil: every
	// input has rows.
	SharedInputs []string
	// Ragged and Sparse are inputs that belong together as ragged or sparse tensors: their
	// requests are joined along the rows. Without them such requests run alone. A
	// signature need not have them.
	Ragged []RaggedInput
	Sparse []SparseInput
	// EnableLargeBatchSplitting lets a request continue in the next batch when it
	// does not fit into one.
	EnableLargeBatchSplitting bool
	// MaxExecutionBatchSize is the largest number of rows of a batch if
	// EnableLargeBatchSplitting is set; MaxBatchSize is then used only for
	// MaxEnqueuedBatches. 0: MaxBatchSize.
	MaxExecutionBatchSize int

	// Scheduler runs the batches. Batchers of one scheduler share its threads. Nil: a
	// separate one, with a thread for each processor.
	Scheduler *Scheduler
	// OnBatch is called after each batch, in the goroutine that ran it. It may be nil.
	OnBatch func(BatchInfo)
}

// BatchInfo describes a batch that was run.
type BatchInfo struct {
	Requests int           // number of requests in the batch
	Rows     int           // rows of the requests
	Padding  int           // rows added to reach an allowed batch size
	Waited   time.Duration // wait of the oldest request, from Predict until the batch was formed
	Took     time.Duration // to join, run and split
	Err      error         // nil if it succeeded
}

// The defaults of TensorFlow Serving.
const (
	DefaultMaxBatchSize       = 1000
	defaultMaxEnqueuedBatches = 10
)

// Check returns an error of class millrace.ErrConfig that names an option with an
// invalid value.
func (o *Options) Check() error {
	_, err := o.complete()
	return err
}

// complete returns the options with defaults filled in, or an error of class
// millrace.ErrConfig that names an option with an invalid value.
func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	c.MaxBatchSize = cmp.Or(c.MaxBatchSize, DefaultMaxBatchSize)
	c.MaxEnqueuedBatches = cmp.Or(c.MaxEnqueuedBatches, defaultMaxEnqueuedBatches)
	c.MaxExecutionBatchSize = cmp.Or(c.MaxExecutionBatchSize, c.MaxBatchSize)
	c.AllowedBatchSizes = slices.Clone(c.AllowedBatchSizes)
	return c, c.check()
}

// check returns an error for an option with an invalid value.
func (o *Options) check() error {
	wrong := func(format string, args ...any) error { return millrace.Errorf(millrace.ErrConfig, format, args...) }
	switch {
	case o.MaxBatchSize < 1:
		return wrong("max_batch_size is %d, it must be at least 1", o.MaxBatchSize)
	case o.BatchTimeout < 0:
		return wrong("batch_timeout is %v, it must not be negative", o.BatchTimeout)
	case o.MaxQueueDelay < 0:
		return wrong("max_queue_delay is %v, it must not be negative", o.MaxQueueDelay)
	case o.MaxEnqueuedBatches < 1:
		return wrong("max_enqueued_batches is %d, it must be at least 1", o.MaxEnqueuedBatches)
	case o.MaxExecutionBatchSize < 1 || o.MaxExecutionBatchSize > o.MaxBatchSize:
		return wrong("max_execution_batch_size is %d, it must be from 1 to max_batch_size (%d)", o.MaxExecutionBatchSize, o.MaxBatchSize)
	case !o.EnableLargeBatchSplitting && o.MaxExecutionBatchSize != o.MaxBatchSize:
		return wrong("max_execution_batch_size is %d, which needs enable_large_batch_splitting", o.MaxExecutionBatchSize)
	}
	last := 0
	for _, size := range o.AllowedBatchSizes {
		if size <= last {
			return wrong("allowed_batch_sizes has %d after %d, the sizes must increase and be at least 1", size, last)
		}
		last = size
	}
	if last != 0 && last != o.MaxExecutionBatchSize {
		return wrong("allowed_batch_sizes ends with %d, it must end with the largest batch (%d)", last, o.MaxExecutionBatchSize)
	}
	return nil
}

// allowed returns the number of rows with which a batch of rows is run.
func (o *Options) allowed(rows int64) int64 {
	for _, size := range o.AllowedBatchSizes {
		if int64(size) >= rows {
			return int64(size)
		}
	}
	return rows
}

// RaggedInput names the inputs that are one ragged tensor.
type RaggedInput struct {
	Values    string
	RowSplits []string // the outermost first
}

// SparseInput names the inputs that are one sparse tensor.
type SparseInput struct{ Indices, Values, DenseShape string }

// names returns the inputs.
func (r RaggedInput) names() []string { return append([]string{r.Values}, r.RowSplits...) }
func (s SparseInput) names() []string { return []string{s.Indices, s.Values, s.DenseShape} }
