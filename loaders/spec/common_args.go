package spec

import (
	"encoding/json"

	"millrace/loaders/decl"
	"millrace/loaders/processing/batches"
)

// CommonArgs are the arguments of all loader types.
type CommonArgs struct {
	decl.Object
	FaultArgs
	Dataset            DatasetConfig     `json:"dataset" decl:"required,unless=mixture" doc:"The dataset to load."`
	Epochs             *int64            `json:"epochs" decl:"required,null,min=1" doc:"How many times the dataset is read; null repeats it without end."`
	EmptyFiles         string            `json:"empty_files" decl:"default=allow,enum=allow|error" doc:"Whether a local file without records is an error."`
	NumParallelReads   int64             `json:"num_parallel_reads" decl:"default=1,min=1,limit=1000" doc:"How many files are read at the same time, at most num_mix_files."`
	NumParallelParses  int64             `json:"num_parallel_parses" decl:"default=1,min=1,limit=1000" doc:"How many records or batches are parsed at the same time."`
	NumReadBufferBytes int64             `json:"num_read_buffer_bytes" decl:"required,min=0,limit=8589934592" doc:"The read buffer of each file in bytes; 0 means no buffer."`
	NumPrefetch        int64             `json:"num_prefetch" decl:"required,min=0,limit=100000000" doc:"How many batches are prepared ahead at the end of the pipeline."`
	PrimaryFeatures    []PrimaryConfig   `json:"primary_features" decl:"required,nonempty,most=65536" doc:"The features to read."`
	SecondaryFeatures  []SecondaryConfig `json:"secondary_features" decl:"most=65536" doc:"Tensors that are made instead of read."`
	ProcessingSteps    []StepConfig      `json:"processing_steps" decl:"most=65536" doc:"Steps that change, make and remove tensors, in this order."`
	DecodeLimit        int64             `json:"decode_limit" decl:"default=268435456,min=1,limit=1099511627776" doc:"How many bytes a step may make of one image or sound when it decodes it. More is an error, or a bad record."`
	Mode               string            `json:"mode" decl:"enum=train|eval" doc:"Whether the data are to be trained on or to be evaluated, which steps may depend on. The default is train; the flag --mode and the commands that train, evaluate, predict and serve decide before this key."`
	Service            ServiceConfig     `json:"service" decl:"" doc:"A data service whose workers read and process the data. The batches are the same. It needs an order that is computed: shuffle_mode exact or block, shard, range or mixture."`
	Seed               int64             `json:"seed" decl:"" doc:"The seed of all random choices: shuffles, orders and window sizes. Without it each run draws a fresh one."`
}

// common returns the arguments themselves, for the types that embed them.
func (a *CommonArgs) common() *CommonArgs { return a }

// examples returns nil, the result for types that do not embed ExampleArgs.
func (a *CommonArgs) examples() *ExampleArgs { return nil }

// rows leaves the tensors as they are, for the types whose windows are cut
// before the processing steps.
func (a *CommonArgs) rows(*checker) {}

// ExampleArgs are the arguments of the loader types whose batches have a number
// of examples.
type ExampleArgs struct {
	CommonArgs
	TargetBatchSize  int64 `json:"target_batch_size" decl:"required,min=1,limit=2147483647" doc:"How many examples a batch has."`
	DropRemainder    bool  `json:"drop_remainder" decl:"required" doc:"Whether to drop a last batch that has fewer examples. It has no effect if epochs is null, unless batches end with their epochs."`
	BatchWithinEpoch bool  `json:"batch_within_epoch" decl:"default=false" doc:"Whether an epoch's end ends its last batch, as in Keras's fit and in a batch before a repeat of tf.data: that batch has fewer examples, or is dropped if drop_remainder says so. Otherwise it continues with the next epoch's examples."`

	Shuffle                   bool  `json:"shuffle" decl:"default=false" doc:"Whether to shuffle the data, anew in each epoch. It needs the three sizes below."`
	NumShuffleBufferElements  int64 `json:"num_shuffle_buffer_elements" decl:"" doc:"The size of the shuffle buffer for records, or for windows with a sequence loader: 1 to 100000000. Required if shuffle is true, otherwise ignored."`
	NumFilenamesShuffleBuffer int64 `json:"num_filenames_shuffle_buffer" decl:"" doc:"The size of the shuffle buffer for file names: 1 to 100000000. Required if shuffle is true, otherwise ignored."`
	NumMixFiles               int64 `json:"num_mix_files" decl:"" doc:"How many files are read in turns, one record at a time: 1 to 1000. Required if shuffle is true, otherwise ignored."`
	SloppyInterleave          bool  `json:"sloppy_interleave" decl:"default=false" doc:"Whether files may overtake one another where TensorFlow mixes them, so that the same seed may give another order. An order that is computed stays as it is."`
	NumInterleaveOut          int64 `json:"num_interleave_out_buffer_elements" decl:"default=1,min=0,limit=100000000" doc:"How many records are buffered for each file that is being read. 0 means 1."`
	NumInterleaveIn           int64 `json:"num_interleave_in_buffer_elements" decl:"default=1,min=0,limit=1000" doc:"How many files are opened ahead of those being read."`

	Padding         decl.Either[bool, []PaddingConfig] `json:"padding" decl:"most=65536" doc:"How to pad. true, or a list with at least one entry, pads every tensor; false and [] pad none."`
	BucketByLength  BucketConfig                       `json:"bucket_by_length" decl:"" doc:"Puts examples of similar length into one batch, so that less of it is padding. A bucket keeps the order of its examples and gives a batch as soon as it is full; at the end the rest comes bucket by bucket."`
	BatchSteps      []batches.BatchStepConfig          `json:"batch_steps" decl:"most=64" doc:"Steps that are carried out on whole batches, in this order: those that draw random numbers in mode train, and savedmodel in every mode."`
	BatchByElements int64                              `json:"batch_by_elements" decl:"min=1,limit=1099511627776" doc:"How many elements of the bucket's tensor a batch may have, padded to the bucket's boundary. A batch has as many examples as fit, at least one and at most target_batch_size. The boundaries go on after the last one, each twice the one before. It needs bucket_by_length."`
}

// examples returns the arguments themselves.
func (a *ExampleArgs) examples() *ExampleArgs { return a }

// padding returns how the config says that tensors are padded.
func (a *ExampleArgs) padding() *decl.Either[bool, []PaddingConfig] { return &a.Padding }

// PaceKeys are the arguments that decide how fast batches come, how much memory the
// pipeline takes, or when a run fails, and no batch: two configs that differ only in them
// give the same batches, unless sloppy_interleave has the threads decide the order.
var PaceKeys = []string{
	"num_parallel_reads", "num_parallel_parses", "num_read_buffer_bytes", "num_prefetch",
	"num_interleave_out_buffer_elements", "num_interleave_in_buffer_elements", "multi_load", "empty_files",
	"decode_limit", "service",
}

// PlaceKeys are the arguments that locate data, and those that saved states already
// contain.
var PlaceKeys = []string{"dataset", "seed"}

// textOfArgs returns the arguments of a config as JSON by key, nil if they have no form as
// JSON.
func textOfArgs(args any) map[string]string {
	parts := []any{args}
	if a, ok := args.(interface{ own() any }); ok {
		parts = append(parts, a.own())
	}
	texts := make(map[string]string)
	for _, part := range parts {
		text, err := json.Marshal(part)
		if err != nil {
			return nil
		}
		var byKey map[string]json.RawMessage
		if json.Unmarshal(text, &byKey) != nil {
			return nil
		}
		for key, value := range byKey {
			texts[key] = string(value)
		}
	}
	return texts
}
