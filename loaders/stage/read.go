package stage

import (
	"fmt"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
	"millrace/loaders/permutation"
	"millrace/loaders/spec"
	"millrace/loaders/stage/order"
	"millrace/tfrecord"
)

// Reading says how files are read, in any order.
type Reading struct {
	Compression tfrecord.Compression
	Parallel    int64 // files read at the same time
	BufferBytes int64 // size of each file's buffer
}

// Read reads records from the files, one file after the other or several in turns.
type Read struct {
	Reading
	MixFiles int64 // files read in turns, one record at a time; 0 = one after the other
	Sloppy   bool  // the order of the files may change

	OpenAhead int64 // files opened before they are read
	Buffered  int64 // records buffered for each open file
}

// ReadByPlace reads records in an order that is computed before.
type ReadByPlace struct {
	Reading
	spec.RecordOrder
	Datasets int // number of datasets that records are drawn from by weight; 0 = one dataset
}

func read(c engine.Choice) []Stage {
	reading := Reading{c.Manifest.Compression, c.ParallelReads, c.ReadBufferBytes}
	if c.Records != nil {
		return []Stage{ReadByPlace{reading, *c.Records, len(c.Mixture)}}
	}
	r := Read{Reading: reading, Sloppy: engine.AnyOrder(c), OpenAhead: c.InterleaveIn, Buffered: c.InterleaveOut}
	if c.Shuffle != nil {
		r.MixFiles = c.Shuffle.MixFiles
	}
	return []Stage{r}
}

// Explain says in which order files are read.
func (r Read) Explain() Explained {
	what := "one file after another"
	if r.MixFiles > 1 {
		what = fmt.Sprintf("%s files in turns, one record at a time", figures.Count(r.MixFiles))
	}
	if r.Sloppy {
		what += ", in whatever order they come"
	}
	if r.Parallel > 1 {
		what += fmt.Sprintf(", up to %s at the same time", figures.Count(r.Parallel))
	}
	if r.BufferBytes == 0 {
		return Explained{Name: "read", What: what + ", without a buffer"}
	}
	return Explained{Name: "read", What: fmt.Sprintf("%s, buffers of %s bytes", what, figures.Count(r.BufferBytes))}
}

// Explain says which records are read, and in which order.
func (r ReadByPlace) Explain() Explained {
	what := "all records"
	switch {
	case r.End >= 0:
		what = fmt.Sprintf("records %d to %d", r.Start, r.End-1)
	case r.Start > 0:
		what = fmt.Sprintf("records from %d on", r.Start)
	}
	switch r.Shuffling {
	case permutation.Exact:
		what += ", shuffled exactly"
	case permutation.Block:
		what += fmt.Sprintf(", in shuffled blocks of which %s records are mixed", figures.Count(r.Mixed))
	}
	if r.Datasets > 0 {
		what += fmt.Sprintf(", drawn from %d datasets by weight", r.Datasets)
	}
	if r.Shards > 1 {
		what += fmt.Sprintf(", of each epoch the shard with index %d of %d", r.Shard, r.Shards)
	}
	return Explained{Name: "read", What: what + ", by their place"}
}

// count returns the records, or the windows, of the order.
func (r ReadByPlace) count(in Count, d Data) (Count, bool) {
	in.Elements = order.New(d.Spec, d.Found).EpochRecords()
	return in, true
}
