package spec

import (
	"millrace/loaders/decl"
	"millrace/tfrecord"
)

// OrderArgs say which records are read and in which order, where an index of the
// files tells where each record is.
type OrderArgs struct {
	ShuffleMode string      `json:"shuffle_mode" decl:"default=buffer,enum=buffer|exact" doc:"How to shuffle. buffer: file names, files and records are mixed in buffers of the three sizes. exact: each epoch reads all records in one uniformly drawn order, and the three sizes are not used. It needs shuffle, and uncompressed local files."`
	Shard       ShardConfig `json:"shard" decl:"" doc:"Reads one part of each epoch's order. The parts together are the whole, and their sizes differ by one at most. It needs uncompressed local files, and exact shuffling or none."`
	Range       RangeConfig `json:"range" decl:"" doc:"Reads some of the records, counted over all files before they are shuffled. It needs what shard needs."`
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

// exactMode is the value of shuffle_mode for exact shuffling.
const exactMode = "exact"

// recordOrder returns the arguments themselves.
func (o *OrderArgs) recordOrder() *OrderArgs { return o }

// given reports whether records are to be read by their place.
func (o *OrderArgs) given() bool {
	return o != nil && (o.exact() || o.Shard.At != nil || o.Range.At != nil)
}

// exact reports whether the config asks for exact shuffling, which needs no sizes.
func (o *OrderArgs) exact() bool { return o != nil && o.ShuffleMode == exactMode }

// checkOrder checks what needs the places of records.
func (c *checker) checkOrder(o *OrderArgs) {
	if !o.given() {
		return
	}
	order := &RecordOrder{Exact: o.exact(), Shards: 1, End: -1}
	var keys []string
	if order.Exact {
		keys = append(keys, "shuffle_mode")
		if !c.examples.Shuffle && !c.args.Bad("shuffle") {
			c.inConfig.Report(c.args.Key("shuffle_mode"), "exact needs shuffle to be true")
		}
	}
	if o.Shard.At != nil {
		keys = append(keys, "shard")
		c.shard(&o.Shard, order)
	}
	if o.Range.At != nil {
		keys = append(keys, "range")
		c.recordRange(&o.Range, order)
	}
	c.spec.Records = order
	for _, key := range keys {
		c.placesKnown(key, order)
	}
}

func (c *checker) shard(s *ShardConfig, order *RecordOrder) {
	if s.Bad("count", "index") {
		return
	}
	if s.Index >= s.Count {
		c.inConfig.Report(s.Key("index"), "must be less than count (%d), got %d", s.Count, s.Index)
	}
	order.Shard, order.Shards = s.Index, s.Count
}

func (c *checker) recordRange(r *RangeConfig, order *RecordOrder) {
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

// placesKnown reports a key that needs the places of records where they are not
// known, or are given up by a shuffle in buffers.
func (c *checker) placesKnown(key string, order *RecordOrder) {
	at := c.args.Key(key)
	if c.spec.Manifest.Compression != tfrecord.None {
		c.inConfig.Report(at, "needs the places of records, which are not known in compressed files; the manifest says %s", c.spec.Manifest.Compression)
		return
	}
	for _, f := range c.spec.Files {
		if f.Remote {
			c.inConfig.Report(at, "needs the places of records, which are not known in the remote file %s", decl.Quote(PrintablePath(f.Path)))
			return
		}
	}
	if c.examples.Shuffle && !order.Exact {
		c.inConfig.Report(at, "needs shuffle_mode exact, or shuffle to be false")
	}
}
