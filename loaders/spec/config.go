package spec

import "millrace/loaders/decl"

// Config is a loader config as it is written. [ReadConfig] reads one.
type Config struct {
	decl.Object
	Type LoaderType `json:"type" decl:"required" doc:"How records become examples."`
	Args any        `json:"args" decl:"required,variant=type" doc:"Arguments of the loader."` // *IndependentArgs, *ContinuousArgs or *DiscreteArgs
}

// Variants lists the arguments of each loader type.
func (*Config) Variants(string) []decl.Variant {
	var variants []decl.Variant
	for _, t := range loaderTypes {
		variants = append(variants, decl.Variant{Name: string(t.name), Doc: t.doc, New: func() any { return t.newArgs() }})
	}
	return variants
}

// CommonArgs returns the arguments that all loader types have, nil if args
// are missing or no object.
func (c *Config) CommonArgs() *CommonArgs {
	if a, ok := c.Args.(loaderArgs); ok {
		return a.common()
	}
	return nil
}

// CommonArgs are the arguments of all loader types.
type CommonArgs struct {
	decl.Object
	Dataset            DatasetConfig `json:"dataset" decl:"required" doc:"The dataset to load."`
	TargetBatchSize    int64         `json:"target_batch_size" decl:"required,min=1,limit=2147483647" doc:"Examples in a batch."`
	DropRemainder      bool          `json:"drop_remainder" decl:"required" doc:"Whether a last batch that is not full is dropped. Without effect if epochs is null."`
	Epochs             *int64        `json:"epochs" decl:"required,null,min=1" doc:"Passes over the dataset; null repeats it without end."`
	NumParallelReads   int64         `json:"num_parallel_reads" decl:"default=1,min=1,limit=1000" doc:"Files read at the same time; at most num_mix_files."`
	NumParallelParses  int64         `json:"num_parallel_parses" decl:"default=1,min=1,limit=1000" doc:"Records or batches parsed at the same time."`
	NumReadBufferBytes int64         `json:"num_read_buffer_bytes" decl:"required,min=0,limit=8589934592" doc:"Size of the read buffer of each file; 0 reads without a buffer."`
	NumPrefetch        int64         `json:"num_prefetch" decl:"required,min=0,limit=100000000" doc:"Batches prepared ahead at the end of the pipeline."`

	Shuffle                   bool  `json:"shuffle" decl:"default=false" doc:"Whether the data is shuffled, anew in each epoch."`
	NumShuffleBufferElements  int64 `json:"num_shuffle_buffer_elements" decl:"" doc:"Records (or windows) that are buffered to shuffle them. Required if shuffle is true."`
	NumFilenamesShuffleBuffer int64 `json:"num_filenames_shuffle_buffer" decl:"" doc:"File names that are buffered to shuffle them. Required if shuffle is true."`
	NumMixFiles               int64 `json:"num_mix_files" decl:"" doc:"Files that are read in turns, one record at a time. Required if shuffle is true."`
	SloppyInterleave          bool  `json:"sloppy_interleave" decl:"default=false" doc:"Whether files may overtake one another, for speed."`
	NumInterleaveOut          int64 `json:"num_interleave_out_buffer_elements" decl:"default=1,min=0,limit=100000000" doc:"Records buffered for each file that is being read."`
	NumInterleaveIn           int64 `json:"num_interleave_in_buffer_elements" decl:"default=1,min=0,limit=1000" doc:"Files opened ahead of those being read."`

	PrimaryFeatures   []PrimaryConfig                    `json:"primary_features" decl:"required,nonempty,most=65536" doc:"The features to read."`
	SecondaryFeatures []SecondaryConfig                  `json:"secondary_features" decl:"most=65536" doc:"Tensors made after the primary features."`
	ProcessingSteps   []StepConfig                       `json:"processing_steps" decl:"most=65536" doc:"Steps on single tensors, done in this order."`
	Padding           decl.Either[bool, []PaddingConfig] `json:"padding" decl:"most=65536" doc:"true, or a list with an entry, pads every tensor; false or [] pads none."`
	BucketByLength    BucketConfig                       `json:"bucket_by_length" decl:"" doc:"Has examples of similar length share a batch, so that less is padded. Each bucket keeps its order and gives a batch as soon as it has one; what is left at the end comes bucket by bucket."`
	BatchByElements   int64                              `json:"batch_by_elements" decl:"min=1,limit=1099511627776" doc:"With bucket_by_length: a batch has as many examples as fit into this many elements of its tensor, padded to the bucket's boundary; at least one and at most target_batch_size. After the last boundary further ones follow, each twice the one before."`
	Seed              int64                              `json:"seed" decl:"" doc:"Makes all random choices repeatable. Absent: a fresh one each time."`
}

// common returns the arguments themselves, for the types that embed them.
func (a *CommonArgs) common() *CommonArgs { return a }
