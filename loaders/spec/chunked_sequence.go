package spec

import (
	"millrace/loaders/chunks"
	"millrace/loaders/decl"
	"millrace/tfrecord"
)

// ChunkedArgs are the arguments of a loader of type chunked_sequence.
type ChunkedArgs struct {
	CommonArgs
	PartArgs
	Mode             string    `json:"mode" decl:"default=train,enum=train|eval" doc:"What the batches are for. eval: rows are whole sequences unless chunk_eval is true, every epoch passes once over all sequences, and nothing is drawn at random."`
	SequenceFeatures []string  `json:"sequence_features" decl:"nonempty,most=65536" doc:"The to_name of each primary feature that has a time axis. Without it they are those of variable length; if there are none, all that have a first axis."`
	ChunkSize        *int64    `json:"chunk_size" decl:"null,min=1,limit=2147483647" doc:"How many frames a chunk has; null means that a row is a whole sequence."`
	ChunkStep        *int64    `json:"chunk_step" decl:"null,min=1,limit=2147483647" doc:"How many frames after the start of a chunk the next one starts; null means chunk_size."`
	Tail             string    `json:"tail" decl:"default=keep,enum=keep|drop" doc:"What happens to chunks at the end of a sequence that are shorter than chunk_size. keep: they stay, shorter. drop: they are left out."`
	ChunkEval        bool      `json:"chunk_eval" decl:"default=false" doc:"Whether chunks are cut in mode eval, too."`
	ContextWindow    Value     `json:"context_window" decl:"" doc:"How many frames are added on each side of a row of the default input, the first sequence of primary_features: an integer from 0 to 1000000. An object gives it by sequence, each as an integer or as [left, right]. The default is 0."`
	ContextSize      int64     `json:"context_size" decl:"min=0,limit=1000000" doc:"The context of the default input as a sum of both sides: left is half of it rounded down, right the rest. The size of a convolution's kernel minus 1 keeps the length of its output at that of the row. It excludes context_window."`
	Aligned          bool      `json:"aligned" decl:"" doc:"Whether all sequences of a record must have one length. The default is true if rows are chunks, which need it, and else false."`
	BatchSize        int64     `json:"batch_size" decl:"required,min=1,limit=2147483647" doc:"How many frames a batch has at most: for every sequence the longest row times the number of rows, context and padding counted. A single row may exceed it."`
	MaxSeqs          *int64    `json:"max_seqs" decl:"null,min=1,limit=2147483647" doc:"How many rows a batch has at most; null means any number."`
	Padding          rowPad    `json:"padding" decl:"most=65536" doc:"How to pad. Batches are always padded: true, the default, pads to the longest row of the batch, a list with at least one entry gives fixed sizes and values."`
	SeqOrdering      string    `json:"seq_ordering" decl:"default=default" doc:"The order of the sequences of an epoch: default (as the files have them), reverse, sorted or sorted_reverse (by length), random, laplace:N (a random permutation cut into N bins, by turns of rising and falling length), laplace:.N (about N sequences a bin) or laplace, which is laplace:2."`
	PartitionEpoch   int64     `json:"partition_epoch" decl:"default=1,min=1,limit=2147483647" doc:"Into how many parts the data are divided; an epoch takes one of them."`
	ShuffleSeqs      *int64    `json:"shuffle_seqs" decl:"null,min=1,limit=100000000" doc:"The size of the shuffle buffer of sequences; null and 1 mean none."`
	ShuffleChunks    *int64    `json:"shuffle_chunks" decl:"null,min=1,limit=100000000" doc:"The size of the shuffle buffer of rows; null and 1 mean none."`
	Recurrent        bool      `json:"recurrent" decl:"default=true" doc:"Whether the model depends on the order of frames. Then single frames must not be shuffled."`
	WithSeqTag       tagOutput `json:"with_seq_tag" decl:"" doc:"Whether batches have the vector seq_tag of strings: with true the place of each row's record, PATH:N; with the name of a feature of the manifest its value, a single string."`
	WithSeqIdx       bool      `json:"with_seq_idx" decl:"default=false" doc:"Whether batches have the int32 vector seq_idx: the position of each row's sequence in the order of the epoch, before shuffle_seqs."`
	WithChunkStart   bool      `json:"with_chunk_start" decl:"default=false" doc:"Whether batches have the int32 vector chunk_start: the first frame of each row in its sequence, without context."`
	WithSizes        bool      `json:"with_sizes" decl:"default=false" doc:"Whether batches have an int32 vector NAME/size0 for each sequence and each other tensor of variable length: its frames in each row, with context and without padding."`
	WithEpochEnd     bool      `json:"with_epoch_end" decl:"default=false" doc:"Whether batches have the bool vector epoch_end: true in the last row of an epoch."`
}

type (
	rowPad    = decl.Either[bool, []PaddingConfig]
	tagOutput = decl.Either[bool, string]
)

// recordOrder returns which records are read. Key seq_ordering determines their order.
func (a *ChunkedArgs) recordOrder() *OrderArgs { return &OrderArgs{PartArgs: a.PartArgs} }

// padding returns how the config says that tensors are padded.
func (a *ChunkedArgs) padding() *rowPad { return &a.Padding }

// check finds the sequences and the rules by which they become rows.
func (a *ChunkedArgs) check(c *checker) {
	c.spec.BatchSize = a.BatchSize
	k := &Chunks{Mode: a.Mode, Partition: 1, ShuffleSeqs: 1, ShuffleChunks: 1}
	c.spec.Chunks = k
	a.paddingOn(c)
	a.rules(c, k)
	a.order(c, k)
	a.parts(c, k)
	a.reserved(c)
	a.sequences(c)
}

// paddingOn pads unless the config says how, and refuses not to.
func (a *ChunkedArgs) paddingOn(c *checker) {
	if p := &a.Padding; a.Has("padding") && !a.Bad("padding") && !c.pads() {
		c.inConfig.Report(a.Key("padding"), "batches of rows are always padded: must be true or a list with at least one entry")
	} else if p.A == nil && p.B == nil {
		yes := true
		p.A = &yes
	}
}

// rules fills in how sequences are cut and batched.
func (a *ChunkedArgs) rules(c *checker, k *Chunks) {
	for _, key := range []string{"chunk_step", "tail"} {
		if given := a.Has(key) && (key == "tail" || a.ChunkStep != nil); given && a.ChunkSize == nil && !a.Bad(key, "chunk_size") {
			c.inConfig.Report(a.Key(key), "has no meaning without chunk_size: a row is a whole sequence then")
		}
	}
	if a.ChunkSize != nil && (a.Mode != "eval" || a.ChunkEval) {
		k.Cut = chunks.Cut{Size: *a.ChunkSize, Step: *a.ChunkSize, DropTail: a.Tail == TailDrop}
		if a.ChunkStep != nil {
			k.Cut.Step = *a.ChunkStep
		}
	}
	if k.Cut.Step > k.Cut.Size && !a.Bad("chunk_step", "chunk_size") {
		c.inConfig.Warn(a.Key("chunk_step"), "%d is more than chunk_size (%d): the frames between two chunks are left out", k.Cut.Step, k.Cut.Size)
	}
	k.Aligned = !k.Cut.Whole()
	if a.Has("aligned") && !a.Bad("aligned") {
		if k.Aligned && !a.Aligned {
			c.inConfig.Report(a.Key("aligned"), "must be true with chunk_size: all sequences of a record are cut at the same frames")
		}
		k.Aligned = a.Aligned
	}
	if a.MaxSeqs != nil {
		k.MaxSeqs = *a.MaxSeqs
	}
}

// order fills in in which order sequences and rows come.
func (a *ChunkedArgs) order(c *checker, k *Chunks) {
	order, err := chunks.ParseOrder(a.SeqOrdering)
	if err != nil && !a.Bad("seq_ordering") {
		c.inConfig.Report(a.Key("seq_ordering"), "%s is no order: %v", decl.Quote(a.SeqOrdering), err)
	}
	if a.Mode == "eval" && order.Drawn() {
		order = chunks.Order{Kind: chunks.Default}
	}
	k.Order = order
	if err == nil && !order.IsDefault() {
		a.places(c)
	}
	if a.Mode == "eval" {
		return
	}
	k.Partition = max(a.PartitionEpoch, 1)
	if k.Partition > 1 && c.spec.HasRemoteFiles() {
		c.inConfig.Report(a.Key("partition_epoch"), "parts of the data need the number of records, which of remote files without an index is not known")
	}
	if a.ShuffleSeqs != nil {
		k.ShuffleSeqs = *a.ShuffleSeqs
	}
	if a.ShuffleChunks != nil {
		k.ShuffleChunks = *a.ShuffleChunks
	}
	if k.Cut.Size == 1 && k.ShuffleChunks > 1 && a.Recurrent && !a.Bad("recurrent") {
		c.inConfig.Report(a.Key("shuffle_chunks"), "chunks of one frame are shuffled, which a model that depends on the order of frames must not see: set recurrent to false, or a chunk_size above 1")
	}
}

// parts fills in which sequences are read.
func (a *ChunkedArgs) parts(c *checker, k *Chunks) {
	keys := a.keys()
	if len(keys) == 0 {
		return
	}
	orderPart{c}.checkParts(&a.PartArgs)
	for _, key := range keys {
		orderPart{c}.placesKnown(key)
	}
	if len(a.Mixture) > 0 && k.Partition > 1 {
		c.inConfig.Report(a.Key("partition_epoch"), "divides the records of one dataset, and there is a mixture of several")
	}
}

// places refuses an order for files that do not allow reading a record by its location.
func (a *ChunkedArgs) places(c *checker) {
	if compression := c.spec.Manifest.Compression; compression != tfrecord.None {
		c.inConfig.Report(a.Key("seq_ordering"), "%s reads records by their place, which data compressed with %s do not allow; use default, with shuffle_seqs", decl.Quote(a.SeqOrdering), compression)
		return
	}
	if c.spec.HasRemoteFiles() {
		c.inConfig.Report(a.Key("seq_ordering"), "%s reads records by their place, which remote files without an index do not allow; use default, with shuffle_seqs", decl.Quote(a.SeqOrdering))
	}
}
