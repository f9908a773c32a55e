package spec

import (
	"cmp"
	"net"
	"slices"
	"strconv"

	"millrace/loaders/decl"
	"millrace/loaders/permutation"
	"millrace/loaders/processing"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// OrderArgs say which records or windows are read, and in which order. They need an index
// of the files with the location of each record.
type OrderArgs struct {
	ShuffleMode string `json:"shuffle_mode" decl:"default=buffer,enum=buffer|block|exact" doc:"How to shuffle. buffer: file names, files and records are mixed in buffers of the three sizes. exact: each epoch reads all records, or all windows, in one uniformly drawn order, and the three sizes are not used. block: blocks of consecutive records or windows come in a uniformly drawn order, and num_shuffle_buffer_elements records of them are mixed; the other two sizes are not used. exact and block need shuffle, and uncompressed local files."`
	PartArgs
}

// PartArgs say which records are read. They need an index of the files with the location
// of each record.
type PartArgs struct {
	Shard ShardConfig `json:"shard" decl:"" doc:"Reads one part of each epoch's order. The parts together are the whole, and their sizes differ by one at most. It needs uncompressed local files, and exact or block shuffling, or none."`
	Range RangeConfig `json:"range" decl:"" doc:"Reads some of the records, counted over all files before they are shuffled. It needs what shard needs."`

	Mixture []MixtureConfig `json:"mixture" decl:"nonempty,most=1000" doc:"In place of dataset: several datasets, from which examples are drawn by their weights. It needs what shard needs. The manifests must agree on the features that are read."`
	Until   string          `json:"until" decl:"default=first,enum=first|all" doc:"When an epoch of a mixture ends. first: when an example is drawn from a dataset of which none is left. all: when each dataset was read to its end; those that end before begin again."`
}

// MixtureConfig is one entry of "mixture": a dataset and its weight.
type MixtureConfig struct {
	decl.Object
	Dataset DatasetConfig `json:"dataset" decl:"required" doc:"The dataset to draw from."`
	Weight  float64       `json:"weight" decl:"required,above=0" doc:"How often an example is drawn from it, in proportion to the sum of all weights."`
}

// ShardConfig is "shard": which part of each epoch to read.
type ShardConfig struct {
	decl.Object
	Count int64 `json:"count" decl:"required,min=1,limit=1000000" doc:"How many parts there are."`
	Index int64 `json:"index" decl:"required,min=0" doc:"Which part to read: from 0 to count - 1."`
}

// RangeConfig is "range": which records to read.
type RangeConfig struct {
	decl.Object
	Start int64  `json:"start" decl:"default=0,min=0" doc:"The first record."`
	End   *int64 `json:"end" decl:"null,min=0" doc:"The record behind the last one. Without it, or with null, all records from start on are read."`
}

// The values of shuffle_mode for orders that are computed.
const (
	exactMode = "exact"
	blockMode = "block"
)

// recordOrder returns the arguments themselves.
func (o *OrderArgs) recordOrder() *OrderArgs { return o }

// given reports whether the arguments require reading each record by its location.
func (o *OrderArgs) given() bool { return o != nil && (o.computed() || len(o.keys()) > 0) }

// mixed reports whether the config has a mixture in place of a dataset.
func (o *OrderArgs) mixed() bool { return o != nil && len(o.Mixture) > 0 }

// keys returns the names of the arguments that the config sets.
func (a *PartArgs) keys() (keys []string) {
	if a.Shard.At != nil {
		keys = append(keys, "shard")
	}
	if a.Range.At != nil {
		keys = append(keys, "range")
	}
	if len(a.Mixture) > 0 {
		keys = append(keys, "mixture")
	}
	return keys
}

// computed reports whether the config asks for a computed order instead of shuffle
// buffers.
func (o *OrderArgs) computed() bool {
	return o != nil && (o.ShuffleMode == exactMode || o.ShuffleMode == blockMode)
}

// orderPart checks which records are read, and in which order.
type orderPart struct{ *checker }

// checkOrder checks the arguments that need the locations of records.
func (c orderPart) checkOrder(o *OrderArgs) {
	if !o.given() {
		return
	}
	order := c.checkParts(&o.PartArgs)
	keys := o.keys()
	if o.computed() {
		keys = append([]string{"shuffle_mode"}, keys...)
		c.shuffleMode(o.ShuffleMode, order)
	}
	c.windowsKnown(keys[0])
	for _, key := range keys {
		c.placesKnown(key)
		if c.examples.Shuffle && order.Shuffling == permutation.None {
			c.inConfig.Report(c.args.Key(key), "needs shuffle_mode exact or block, or shuffle to be false")
		}
	}
}

// checkParts checks which records are read, and returns them in the order of the data.
func (c orderPart) checkParts(a *PartArgs) *RecordOrder {
	order := &RecordOrder{Shuffling: permutation.None, Shards: 1, End: -1, UntilAll: len(a.Mixture) > 0 && a.Until == "all"}
	if a.Shard.At != nil {
		c.shard(&a.Shard, order)
	}
	if a.Range.At != nil {
		c.recordRange(&a.Range, order)
	}
	if len(a.Mixture) > 0 && a.Range.At != nil {
		c.inConfig.Report(c.args.Key("range"), "counts the records of one dataset, and there is a mixture of several")
	}
	c.spec.Records = order
	return order
}

// shuffleMode fills in an order that is computed.
func (c orderPart) shuffleMode(mode string, order *RecordOrder) {
	if !c.examples.Shuffle && !c.args.Bad("shuffle") {
		c.inConfig.Report(c.args.Key("shuffle_mode"), "%s needs shuffle to be true", mode)
	}
	order.Shuffling = permutation.Shuffling(mode)
	if order.Shuffling != permutation.Block {
		return
	}
	const key = "num_shuffle_buffer_elements"
	switch order.Mixed = c.examples.NumShuffleBufferElements; {
	case c.args.Bad(key):
	case !c.args.Has(key):
		c.inConfig.Report(c.args.Key("shuffle_mode"), "block needs the key %s", key)
	default:
		low, high := int64(1), int64(maxShuffle)
		c.inConfig.InRange(c.args.Key(key), order.Mixed, decl.Range{Min: &low, Limit: &high})
	}
}

func (c orderPart) shard(s *ShardConfig, order *RecordOrder) {
	if s.Bad("count", "index") {
		return
	}
	if s.Index >= s.Count {
		c.inConfig.Report(s.Key("index"), "must be less than count (%d), got %d", s.Count, s.Index)
	}
	order.Shard, order.Shards = s.Index, s.Count
}

func (c orderPart) recordRange(r *RangeConfig, order *RecordOrder) {
	if r.Bad("start", "end") {
		return
	}
	order.Start = r.Start
	if r.End == nil {
		return
	}
	if order.End = *r.End; order.End < order.Start {
		c.inConfig.Report(r.Key("end"), "must be at least start (%d), got %d", order.Start, order.End)
	}
}

// windowsKnown reports a key that needs the locations of windows if these depend on the
// content of the records.
func (c orderPart) windowsKnown(key string) {
	w := c.spec.Window
	if w == nil || c.args.Bad("min_window", "max_window") {
		return
	}
	at := c.args.Key(key)
	if w.Min != w.Max {
		c.inConfig.Report(at, "needs windows of one size, whose places are known before the data are read: min_window must be max_window")
	}
	for _, f := range c.spec.Features {
		if w.Unit == Positions && f.VarLen {
			c.inConfig.Report(at, "needs the places of windows, which are not known where records differ in length, as those of feature %s may", decl.Quote(f.Name))
			return
		}
	}
}

// placesKnown reports a key that needs the locations of records if they are unknown.
func (c orderPart) placesKnown(key string) {
	at := c.args.Key(key)
	if c.spec.Manifest.Compression != tfrecord.None {
		c.inConfig.Report(at, "needs the places of records, which are not known in compressed files; the manifest says %s", c.spec.Manifest.Compression)
		return
	}
	for _, f := range c.spec.Files {
		if f.Remote {
			c.inConfig.Report(at, "needs the places of records, which are not known in the remote file %s; %s", decl.QuotePath(PrintablePath(f.Path)), needIndex(f.Path))
			return
		}
	}
}

// ServiceConfig is "service": a data service whose workers read and process the data.
type ServiceConfig struct {
	decl.Object
	Address        string `json:"address" decl:"nonempty" doc:"Where its dispatcher listens: HOST:PORT. Required unless there is a worker in this process; without it that has a dispatcher in this process, too."`
	Order          string `json:"order" decl:"default=same,enum=same|any" doc:"same: the batches are those of one machine, in its order. any: blocks come as they arrive, each record once in each epoch, and another run has other batches. A slow worker then delays nobody. Epochs may overlap by up to buffered_blocks, and saved states say which records are missing."`
	BlockBytes     int64  `json:"block_bytes" decl:"default=1048576,min=1,limit=1073741824" doc:"About how many bytes of examples a worker makes at a time. A block of fewer bytes costs more for each example, and a larger one takes more memory."`
	BufferedBlocks int64  `json:"buffered_blocks" decl:"default=64,min=1,limit=65536" doc:"How many blocks may arrive, or with order any be delivered, before the one that is next in the order. When so many have, this process reads that block itself."`
	WaitMS         int64  `json:"wait_ms" decl:"default=10000,min=0,limit=86400000" doc:"How long to wait for any block, in milliseconds, before this process reads the next one itself."`

	Worker ServiceWorkerConfig `json:"worker" decl:"" doc:"A worker in the process that reads. What it makes is taken from memory, without the network and without a copy. The other workers of the service work, too, unless only says otherwise."`
}

// ServiceWorkerConfig is "worker" of a service: a worker in this process.
type ServiceWorkerConfig struct {
	decl.Object
	TrustedNetwork bool   `json:"trusted_network" decl:"required" doc:"Must be true. It says that only machines of the service reach this one: the worker listens on every interface, without encryption or authentication, and runs what anybody sends."`
	Host           string `json:"host" decl:"nonempty" doc:"The name or address by which the dispatcher and other clients reach this machine. The default is its name, and localhost without an address."`
	Port           int64  `json:"port" decl:"default=0,min=0,limit=65535" doc:"Where the worker listens; 0 is any free port."`
	Only           bool   `json:"only" decl:"default=false" doc:"Whether to read from this worker alone, although the dispatcher has others."`
}

// servicePart checks whether workers can read what the config asks for.
type servicePart struct{ *checker }

// service refuses a loader whose batches do not follow from positions in a computed order.
func (c servicePart) service() {
	a := &c.args.Service
	if a.At == nil || c.args.Bad("service") {
		return
	}
	w := &a.Worker
	switch {
	case !a.Has("address") && w.At == nil:
		c.inConfig.Report(a.At, "needs the key address, or worker")
	case w.At != nil && !w.TrustedNetwork && !w.Bad("trusted_network"):
		c.inConfig.Report(w.Key("trusted_network"), "must be true: this process would listen on every interface%s, without encryption or authentication, and run what anybody sends; close its ports to all but the machines of the service", atPort(w.Port))
	}
	if host, port, err := net.SplitHostPort(a.Address); a.Has("address") && !a.Bad("address") {
		if n, e := strconv.ParseUint(port, 10, 16); cmp.Or(err, e) != nil || n == 0 || host == "" {
			c.inConfig.Report(a.Key("address"), "must be HOST:PORT, got %s", decl.Quote(a.Address))
		}
	}
	if why := c.notServed(); why != "" {
		c.inConfig.Report(c.args.Key("service"), "workers make blocks of an order that is computed before the data are read, and %s", why)
	}
	c.spec.Service = &Service{Address: a.Address, BlockBytes: a.BlockBytes, BufferedBlocks: a.BufferedBlocks, WaitMS: a.WaitMS, AnyOrder: a.Order == "any"}
	if w.At != nil {
		c.spec.Service.Worker = &ServiceWorker{Host: w.Host, Port: w.Port, Only: w.Only || a.Address == ""}
	}
}

// atPort names a port for a message.
func atPort(port int64) string {
	if port == 0 {
		return ""
	}
	return " at port " + strconv.FormatInt(port, 10)
}

// notServed returns why no worker can make blocks of the config's batches, "" if one can.
func (c servicePart) notServed() string {
	s := c.spec
	switch {
	case s.Chunks != nil:
		return "a chunked_sequence has none"
	case s.Records == nil && c.examples.Shuffle:
		return "buffers shuffle these; set shuffle_mode to exact or block"
	case s.Records == nil:
		return "these come from one file after another; give the key range, such as {\"start\": 0}, which reads all of them by their place"
	case c.examples.BucketByLength.At != nil:
		return "batches of buckets do not follow from it"
	case s.BadRecords != nil:
		return "skipped records (bad_records) are not known then"
	case slices.ContainsFunc(s.Steps, Step.Filters):
		return "what a filter keeps is not known then"
	case s.WithinEpoch:
		return "batches that end with their epochs (batch_within_epoch) do not follow from blocks"
	case len(s.BatchedSteps) > 0:
		return "a savedmodel needs whole batches, which workers do not make"
	case len(s.BatchSteps) > 0:
		return "batch_steps need whole batches, which workers do not make"
	case s.HasURLs():
		return "files of stores are read in Go; copy them to disks that all workers see"
	}
	for _, t := range c.tensors {
		if t.shaped && slices.Contains(c.batchedShape(t), -1) {
			return "the rows of " + decl.Quote(t.Name) + " of shape " + processing.FormatShape(c.batchedShape(t)) + " differ in size; pad them to one"
		}
		if t.typed && t.DType == tfbridge.Variant {
			return "the tensor " + decl.Quote(t.Name) + " has no rows"
		}
	}
	return ""
}
