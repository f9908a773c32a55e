package spec

import (
	"maps"
	"slices"

	"millrace/diag"
	"millrace/loaders/loadertype"
	"millrace/loaders/permutation"
	"millrace/loaders/processing"
	"millrace/loaders/processing/batches"
	"millrace/remote"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// Spec is a checked loader config: every default filled in, every name
// resolved, every shape that is known before the data is read worked out.
// [Check] makes it. It is read-only and may be shared between goroutines.
type Spec struct {
	Path         string // the loader config
	ManifestPath string
	ListPath     string // "" for a dataset of type dir
	ListSHA256   string // digest of the list's bytes, in hexadecimal
	Type         LoaderType
	Manifest     *Manifest
	Mixture      []MixturePart // nil = one dataset; the manifest of the first is the one above
	Files        []DataFile    // files in the order they are read unless names are shuffled

	BatchSize       int64 // examples, or of a ChunkedSequence frames
	DropRemainder   bool
	WithinEpoch     bool  // no batch has examples of two epochs
	Epochs          int64 // 0 = endless
	RefuseEmpty     bool  // a local file without records is an error
	ParallelReads   int64 // at most the interleave's cycle length
	ParallelParses  int64
	ReadBufferBytes int64
	Prefetch        int64        // batches
	DecodeLimit     int64        // bytes that a step may make of one image or sound
	Shuffle         *Shuffle     // nil = off
	Records         *RecordOrder // nil = the files one after the other, or mixed as Shuffle says
	Service         *Service     // nil = this process reads the data
	Sloppy          bool
	InterleaveIn    int64
	InterleaveOut   int64 // at least 1
	Seed            int64
	SeedGiven       bool // false: Seed was drawn for this plan

	Features    []*Feature // the requested features, each once, in the manifest's order
	Primaries   []Primary
	Secondaries []Const
	Mode        string    // ModeTrain or ModeEval
	Steps       []Step    // the steps that apply in Mode
	Measures    []Measure // made after the steps

	// BatchedSteps are the steps that see the batches that a run delivers: a savedmodel per batch, and
	// the steps after it. Unbatched describes the tensors before them; nil: all steps see examples.
	BatchedSteps []Step
	Unbatched    *Unbatched

	BatchSteps []batches.Step
	Bucket     *Bucket // nil = batches of consecutive examples
	Padding    []Pad   // nil = no padding; else one entry for each of Tensors, in their order
	MultiLoad  bool

	Window *Window // set for ContinuousSequence and DiscreteSequence, else nil
	Chunks *Chunks // set for ChunkedSequence, else nil

	// Special is the stage that only the config's loader type has, nil for none. Millrace's own
	// operations leave a config with it to TensorFlow, and states hold what tf.data saves.
	Special loadertype.Stage

	BadRecords        *BadRecords // nil = the first bad record ends a run
	RefuseDuplicates  bool        // a record that has the key of a feature twice is bad
	AllowEmptyRecords *bool       // nil = a record of 0 bytes is bad where records are checked

	// Args are the arguments of the config with the defaults filled in, as JSON by key. What
	// they mean is in the other fields; these name what differs between two configs.
	Args map[string]string

	Tensors  []TensorSpec // what an element holds at the end: primaries, then secondaries
	Model    *ModelNames  // the model that the tensors were checked for; nil: any
	Warnings diag.List
}

// Unbatched describes the tensors of the examples that are joined to batches, where steps follow that
// see batches.
type Unbatched struct {
	Tensors []TensorSpec
	Padding []Pad // nil = no padding; else one entry for each of Tensors
}

// Examples describes the tensors of the examples that are joined to batches, and how they are padded.
func (s *Spec) Examples() Unbatched {
	if s.Unbatched != nil {
		return *s.Unbatched
	}
	return Unbatched{s.Tensors, s.Padding}
}

// OfExamples returns a copy without the steps that see batches.
func (s *Spec) OfExamples() *Spec {
	q, e := *s, s.Examples()
	q.Tensors, q.Padding, q.Unbatched, q.BatchedSteps, q.BatchSteps = e.Tensors, e.Padding, nil, nil, nil
	return &q
}

// Manifest is what the manifest says about all records.
type Manifest struct {
	Compression tfrecord.Compression
	AllowVarLen bool   // records are SequenceExamples
	SHA256      string // digest of the manifest's bytes, in hexadecimal
}

// DataFile is one TFRecord file of the dataset.
type DataFile struct {
	Path     string // absolute, or with a scheme
	Name     string // relative to the folder of a dataset of type dir, or as a list has it
	Remote   bool   // the path has a scheme, and no index says where its records are: they are not counted
	ListLine int    // its line in the list file, from 1; 0 for a dataset of type dir
	Size     int64  // bytes when the plan was made, -1 if only TensorFlow can look at it
}

// Shuffle holds the sizes of the three ways of mixing records.
type Shuffle struct {
	Elements  int64 // records or windows buffered
	Filenames int64 // file names buffered
	MixFiles  int64 // files read in turns, one record at a time; at most the number of files
}

// RecordOrder says that each record is read by its location, in an order that is computed
// for each epoch. Then nothing else shuffles records.
type RecordOrder struct {
	Shuffling  permutation.Shuffling
	Mixed      int64 // records that are mixed with each other in block shuffling
	Start, End int64 // only these records, End excluded; -1 = to the end
	Shard      int64 // which part of the order, below Shards
	Shards     int64 // at least 1
	UntilAll   bool  // an epoch of a mixture ends when each dataset was read to its end
}

// MixturePart is one of the datasets of a mixture.
type MixturePart struct {
	ManifestPath string  `json:"manifest"`
	Files        int     `json:"files"` // a part of Spec.Files, in the same order
	Weight       float64 `json:"weight"`
}

// Primary takes a feature into the pipeline under a name.
type Primary struct {
	From *Feature
	To   string
}

// Const is a secondary feature of type const.
type Const struct {
	To        string
	Shape     []int64 // the static shape; -1 where ShapeFrom's dimension is unknown
	ShapeFrom string  // the primary whose shape is copied, "" if Shape was written out
	DType     tfbridge.DataType
	Value     any // as [Pad.Value]
}

// Measure is a secondary feature of type lengths or mask: the size of a tensor
// after the processing steps and before padding.
type Measure struct {
	To      string
	Kind    MeasureKind
	Tensor  string // a primary
	Axis    int
	Records bool // lengths of the records that a discrete window joins, before the steps
}

// MeasureKind says what is made of a tensor's size. Its values are those of
// the key "type" of a secondary feature.
type MeasureKind string

// The kinds of measure.
const (
	Lengths MeasureKind = "lengths" // int64, the size itself
	Mask    MeasureKind = "mask"    // bool, true along the whole size, padded with false

	ElementCount MeasureKind = "elements" // int64, how many elements the tensor has; no config names it, package plan adds it to measure padding
)

// BadRecords says how many bad records a run may skip.
type BadRecords struct {
	Number int64   // the limit; -1: Share is the limit
	Share  float64 // share of the records, from 0 to 1
	Text   string  // the limit in the words of the config
}

// Limit returns how many of the given number of records may be skipped.
func (b *BadRecords) Limit(records int64) int64 {
	if b.Number >= 0 {
		return b.Number
	}
	return int64(b.Share * float64(records))
}

// Service is the data service of a loader.
type Service struct {
	Address        string `json:"address"`
	BlockBytes     int64  `json:"block_bytes"`
	BufferedBlocks int64  `json:"buffered_blocks"`
	WaitMS         int64  `json:"wait_ms"`
	AnyOrder       bool   `json:"any_order"` // blocks come as they arrive

	Worker *ServiceWorker `json:"worker,omitempty"` // nil: none in this process
}

// ServiceWorker is a worker of a data service in the process that reads.
type ServiceWorker struct {
	Host string `json:"host,omitempty"` // others reach this machine by it; "": its name
	Port int64  `json:"port"`           // 0: any free one
	Only bool   `json:"only"`           // no other worker is read from
}

// ModelNames are the input and output tensors of a model.
type ModelNames struct {
	Inputs  []string
	Outputs []string
	Specs   map[string]TensorSpec // tensors by name, where dtype and shape are known; a nil Shape is of unknown rank
}

// Pad is the padding of one tensor.
type Pad struct {
	Tensor string
	Shape  []int64 // -1 = the longest in the batch
	Value  any     // a value of the tensor's dtype: int64, uint64, float64, bool, string or complex128
}

// Bucket says how examples are put into buckets by their length. A batch holds
// examples of one bucket.
type Bucket struct {
	Tensor     string  `json:"tensor"` // the primary that is measured, after steps and before padding
	Axis       int     `json:"axis"`
	Boundaries []int64 `json:"boundaries"`         // greatest length of each bucket but the last
	Sizes      []int64 `json:"sizes"`              // examples in a batch of each bucket
	Elements   int64   `json:"elements,omitempty"` // padded elements of the tensor that Sizes follow from; 0 = the batch size
}

// TensorSpec is a tensor as far as it is known before the data is read.
type TensorSpec = processing.Tensor

// FeatureOf returns the feature that a primary tensor is read from, or nil for other
// tensors.
func (s *Spec) FeatureOf(name string) *Feature {
	for _, primary := range s.Primaries {
		if primary.To == name {
			return primary.From
		}
	}
	return nil
}

// Tensor returns the tensor of a name, a zero TensorSpec if there is none.
func (s *Spec) Tensor(name string) TensorSpec {
	for _, t := range s.Tensors {
		if t.Name == name {
			return t
		}
	}
	return TensorSpec{}
}

// SortedFeatures returns the requested features by name, which is the order
// in which TensorFlow's parsers give their outputs.
func (s *Spec) SortedFeatures() []*Feature {
	byName := map[string]*Feature{}
	for _, f := range s.Features {
		byName[f.Name] = f
	}
	sorted := make([]*Feature, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		sorted = append(sorted, byName[name])
	}
	return sorted
}

// HasLists reports whether records may hold lists of any length: SequenceExamples do, and
// Examples with a VarLen feature.
func (s *Spec) HasLists() bool {
	return s.Manifest.AllowVarLen || slices.ContainsFunc(s.Features, func(f *Feature) bool { return f.VarLen })
}

// HasURLs reports whether some files have a scheme in their path.
func (s *Spec) HasURLs() bool {
	return slices.ContainsFunc(s.Files, func(f DataFile) bool { return remote.IsURL(f.Path) })
}

// HasRemoteFiles reports whether some files have a scheme in their path and no index, so
// that their records are not counted.
func (s *Spec) HasRemoteFiles() bool {
	for _, f := range s.Files {
		if f.Remote {
			return true
		}
	}
	return false
}

// BatchCount returns how many batches a run has whose epochs have n examples together, dropped ones
// included. It is for batches of a number of examples without buckets.
func (s *Spec) BatchCount(n int64) int64 {
	epochs := int64(1)
	if s.WithinEpoch {
		epochs = max(s.Epochs, 1)
	}
	return epochs * s.batchesOf(n/epochs)
}

// batchesOf returns how many batches are made of consecutive examples.
func (s *Spec) batchesOf(examples int64) int64 {
	if s.DropRemainder {
		return examples / s.BatchSize
	}
	return (examples + s.BatchSize - 1) / s.BatchSize
}

// BatchRows returns how many examples every batch has, -1 if they may differ.
func (s *Spec) BatchRows() int64 {
	switch {
	case s.Chunks != nil:
		return -1
	case !s.DropRemainder && (s.Epochs > 0 || s.WithinEpoch):
		return -1
	case s.Bucket != nil && slices.Min(s.Bucket.Sizes) != s.BatchSize:
		return -1
	}
	return s.BatchSize
}
