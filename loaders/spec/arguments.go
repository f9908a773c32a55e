package spec

import (
	"slices"
	"strings"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/permutation"
	"millrace/loaders/processing"
	"millrace/tfrecord"
)

// Limits above which TensorFlow would end the process or run out of memory.
const (
	MaxDimension  = 1 << 31 // size of a dimension
	maxBatchBytes = 1 << 40 // bytes of a tensor of a batch
	bigBatchBytes = 1 << 32 // size of a batch's tensors above which a warning is reported
	maxShuffle    = 100_000_000
	maxMixFiles   = 1000
)

// scalarPart checks the arguments that do not depend on others, and the sizes of shuffle
// buffers.
type scalarPart struct{ *checker }

// scalars copies the arguments that do not depend on others.
func (c scalarPart) scalars() {
	a, p := c.args, c.spec
	if a.Epochs != nil {
		p.Epochs = *a.Epochs
	}
	p.RefuseEmpty = a.EmptyFiles == "error"
	p.ParallelReads, p.ParallelParses = a.NumParallelReads, a.NumParallelParses
	p.ReadBufferBytes, p.Prefetch, p.DecodeLimit = a.NumReadBufferBytes, a.NumPrefetch, a.DecodeLimit
	if c.examples != nil {
		c.exampleScalars(c.examples)
	}
}

// exampleScalars copies the arguments of types whose batches have a fixed number of
// examples.
func (c scalarPart) exampleScalars(a *ExampleArgs) {
	p := c.spec
	p.BatchSize, p.DropRemainder, p.WithinEpoch = a.TargetBatchSize, a.DropRemainder, a.BatchWithinEpoch
	p.Sloppy = a.SloppyInterleave
	p.InterleaveIn = a.NumInterleaveIn
	p.InterleaveOut = max(a.NumInterleaveOut, 1) // TensorFlow refuses 0
	c.wholeBatches(a)
	if a.Shuffle && !a.Bad("shuffle") && !c.ordered.computed() {
		c.shuffle(a)
	}
}

// wholeBatches refuses sizes that TensorFlow reserves memory for at once.
func (c scalarPart) wholeBatches(a *ExampleArgs) {
	if a.Bad("target_batch_size", "drop_remainder", "epochs") || !a.DropRemainder && a.Epochs != nil {
		return
	}
	high := int64(maxShuffle)
	c.inConfig.InRange(a.Key("target_batch_size"), a.TargetBatchSize, decl.Range{Limit: &high})
}

// shuffleSize is one of the sizes that shuffling needs.
type shuffleSize struct {
	key   string
	value int64
	limit int64
}

func shuffleSizes(a *ExampleArgs) []shuffleSize {
	return []shuffleSize{
		{"num_shuffle_buffer_elements", a.NumShuffleBufferElements, maxShuffle},
		{"num_filenames_shuffle_buffer", a.NumFilenamesShuffleBuffer, maxShuffle},
		{"num_mix_files", a.NumMixFiles, maxMixFiles},
	}
}

// shuffle checks the sizes that are required and used only here.
func (c scalarPart) shuffle(a *ExampleArgs) {
	low, missing := int64(1), []string(nil)
	for _, s := range shuffleSizes(a) {
		switch {
		case c.args.Bad(s.key):
		case !c.args.Has(s.key):
			missing = append(missing, s.key)
		default:
			c.inConfig.InRange(c.args.Key(s.key), s.value, decl.Range{Min: &low, Limit: &s.limit})
		}
	}
	if len(missing) > 0 {
		c.inConfig.Report(c.args.Key("shuffle"), "needs the keys %s", strings.Join(missing, ", "))
	}
	c.spec.Shuffle = &Shuffle{
		Elements:  a.NumShuffleBufferElements,
		Filenames: a.NumFilenamesShuffleBuffer,
		MixFiles:  a.NumMixFiles,
	}
}

// interleave limits the number of files that are read at the same time to the number of
// files.
func (c scalarPart) interleave() {
	cycle := int64(1)
	if s := c.spec.Shuffle; s != nil {
		s.MixFiles = max(1, min(s.MixFiles, int64(len(c.spec.Files))))
		cycle = s.MixFiles
	}
	if c.ordered.given() {
		return // records are read by their place
	}
	if c.spec.ParallelReads <= cycle || c.examples == nil {
		c.spec.ParallelReads = min(c.spec.ParallelReads, cycle)
		return
	}
	if len(c.spec.Files) > 0 && !c.args.Bad("num_parallel_reads", "num_mix_files") {
		c.inConfig.Warn(c.args.Key("num_parallel_reads"), "%d is used as %d, because no more files are read in turns (num_mix_files with shuffle, or else 1)", c.spec.ParallelReads, cycle)
	}
	c.spec.ParallelReads = cycle
}

// sizePart checks how large tensors and buffers become.
type sizePart struct{ *checker }

// sizes refuses tensors that fit into no memory, and warns of tensors that fit into few
// machines. [plan.Plan.Scan] compares them with the memory of this machine.
func (c sizePart) sizes() {
	if c.args.Bad("target_batch_size") {
		return
	}
	rows := c.leastRows()
	for _, t := range c.tensors {
		if !t.shaped || !t.typed {
			continue
		}
		shape := c.batchedShape(t)
		bytes, ok := ByteSize(t.DType, rows, shape)
		if ok && bytes <= maxBatchBytes {
			if bytes >= bigBatchBytes {
				c.inConfig.Warn(c.sizeOf(t), "a batch of %d of shape %s takes %s of memory", rows, processing.FormatShape(shape), figures.Size(bytes))
			}
			continue
		}
		d := c.inConfig.Report(c.sizeOf(t), "a batch of %d of shape %s is larger than %d bytes", rows, processing.FormatShape(shape), int64(maxBatchBytes))
		d.Class = millrace.ErrLimit
	}
}

// sizeOf returns the node of the config that determines a tensor's size: the shape of its
// padding, or its entry.
func (c sizePart) sizeOf(t *tensorState) *jsonpos.Node {
	if t.padding != nil && t.padding.Shape != nil {
		return t.padding.Key("shape")
	}
	return t.at
}

// ragged warns of tensors that may not fit into one batch.
func (c sizePart) ragged() {
	if c.pads() || c.spec.BatchSize == 1 {
		return
	}
	for _, t := range c.tensors {
		for _, d := range t.Shape {
			if d < 0 && t.shaped {
				w := c.inConfig.Warn(t.at, "examples of shape %s can differ in size and share no batch then", processing.FormatShape(t.Shape))
				w.Hint = "set padding, or a target_batch_size of 1"
				break
			}
		}
	}
}

// memory compares the least size of the pipeline's buffers with the limit.
func (c sizePart) memory() {
	if c.o.MemoryLimit <= 0 {
		return
	}
	total, largest := int64(0), memoryTerm{}
	for _, t := range c.memoryTerms() {
		if t.bytes > largest.bytes {
			largest = t
		}
		total = addSaturated(total, t.bytes)
	}
	if total <= c.o.MemoryLimit {
		return
	}
	d := c.inConfig.Report(largest.at, "the pipeline's buffers need at least %d bytes, the limit is %d; %s alone is %d",
		total, c.o.MemoryLimit, largest.what, largest.bytes)
	d.Class = millrace.ErrLimit
}

// memoryTerm is one buffer of the pipeline.
type memoryTerm struct {
	what  string
	bytes int64
	at    *jsonpos.Node
}

// memoryTerms returns the pipeline's buffers with the least size of each, given what is
// known of the tensors.
func (c sizePart) memoryTerms() []memoryTerm {
	element := int64(0)
	for _, t := range c.tensors {
		if t.shaped && t.typed {
			bytes, ok := ByteSize(t.DType, 1, c.batchedShape(t))
			if !ok {
				bytes = 1 << 62
			}
			element = addSaturated(element, bytes)
		}
	}
	p := c.spec
	batch := multiplySaturated(element, c.leastRows())
	cycle, size := int64(1), c.args.Key("target_batch_size")
	if c.examples == nil {
		size = c.args.Key("batch_size")
	}
	terms := []memoryTerm{
		{"the batch", batch, size},
		{"num_prefetch", multiplySaturated(batch, p.Prefetch), c.args.Key("num_prefetch")},
	}
	if s := p.Shuffle; s != nil {
		cycle = s.MixFiles
		terms = append(terms, memoryTerm{
			"num_shuffle_buffer_elements", multiplySaturated(element, s.Elements), c.args.Key("num_shuffle_buffer_elements"),
		})
	}
	if o := p.Records; o != nil && o.Shuffling == permutation.Block {
		terms = append(terms, memoryTerm{
			"num_shuffle_buffer_elements", multiplySaturated(element, o.Mixed), c.args.Key("num_shuffle_buffer_elements"),
		})
	}
	return append(terms, memoryTerm{
		"num_read_buffer_bytes", multiplySaturated(p.ReadBufferBytes, cycle), c.args.Key("num_read_buffer_bytes"),
	})
}

func addSaturated(a, b int64) int64 {
	return min(a, 1<<62) + min(b, 1<<62-1)
}

func multiplySaturated(a, b int64) int64 {
	if a > 0 && b > (1<<62)/a {
		return 1 << 62
	}
	return a * b
}

// epochPart checks whether batches can end with their epochs.
type epochPart struct{ *checker }

// epochs refuses batch_within_epoch where nobody knows how many examples an epoch has before its
// end, although a state or the rest of a batch would need that.
func (c epochPart) epochs() {
	if !c.spec.WithinEpoch || c.args.Bad("batch_within_epoch") {
		return
	}
	at := c.args.Key("batch_within_epoch")
	s := c.spec
	switch filters := slices.ContainsFunc(s.Steps, Step.Filters); {
	case c.examples.BucketByLength.At != nil:
		c.inConfig.Report(at, "buckets hold examples beyond the end of an epoch; leave out bucket_by_length or this key")
	case filters && s.BadRecords != nil:
		c.inConfig.Report(at, "a filter and skipped records leave the end of an epoch unknown; leave out bad_records, the filter or this key")
	case s.DropRemainder && s.BadRecords != nil:
		c.inConfig.Report(at, "skipped records leave the rest of an epoch unknown, which drop_remainder would drop; set drop_remainder to false")
	case filters && !c.numbersExamples():
		c.inConfig.Report(at, "with a filter it needs files that are read by their place: shuffle, or the key range, such as {\"start\": 0}, over local files without compression")
	}
}

// numbersExamples reports whether examples have numbers by which they can be read.
func (c epochPart) numbersExamples() bool {
	s := c.spec
	return s.Records != nil || s.Shuffle != nil && s.Window == nil && !s.Sloppy && s.Manifest.Compression == tfrecord.None && !s.HasRemoteFiles()
}
