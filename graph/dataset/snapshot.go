package dataset

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// ShardFunc makes the number of a shard, an int64 scalar from 0, from the
// components of an element.
type ShardFunc func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output

// ReaderFunc makes one dataset from the datasets of the shards. The elements of shards
// are datasets; [Dataset.Interleave] with [Inner] reads them in turns.
type ReaderFunc func(s *graph.Scope, shards *Dataset) *Dataset

// SnapshotOptions are the options of [Dataset.Snapshot].
type SnapshotOptions struct {
	Compression string     // "AUTO", "SNAPPY", "GZIP" or "NONE"; default "AUTO"
	Shards      int64      // files written at a time, elements by turns; default 1
	Shard       ShardFunc  // which file an element goes to; nil: by turns
	Reader      ReaderFunc // how files are read; nil: in turns, which is the order of writing unless Shard is set
}

// Snapshot writes the elements to files in a directory while they are read. The next time,
// in this or another process, it reads them from there instead of from d. The first pass
// must run to its end. The files belong to the dataset that wrote them; another pipeline
// before Snapshot writes new ones. It wraps SnapshotDatasetV2.
func (d *Dataset) Snapshot(directory string, o *SnapshotOptions) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &SnapshotOptions{}
	}
	const what = "Dataset.Snapshot"
	limit.Between(0, limit.Parallel).Check(d.scope, what+": shards", o.Shards)
	packing := snapshotCompression(d.scope, what, o.Compression, "AUTO")
	if directory == "" {
		return d.fail(what, "the directory has no name")
	}
	if d.scope.Err() != nil {
		return &Dataset{scope: d.scope}
	}
	shards := max(o.Shards, 1)
	from, shard := d, o.Shard
	if shard == nil {
		from = d.Enumerate(0)
		shard = func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			return graph.FloorMod(s, args[0], s.Const(shards))
		}
	}
	write := from.shardFunction(what, shard)
	read := from.readerFunction(what, o.Reader, shards)
	if d.scope.Err() != nil {
		return &Dataset{scope: d.scope}
	}
	snapshot := from.same("SnapshotDatasetV2", attrs{
		"compression": packing, "reader_func": read.Attr(), "shard_func": write.Attr(),
	}, d.scope.Const(directory), read.Inputs(), write.Inputs())
	if from == d {
		return snapshot
	}
	return snapshot.Map("element", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output { return args[1:] }, nil).shapedAs(d)
}

// Inner returns the dataset that an element of shards consists of, for the functions of
// [Dataset.FlatMap] and [Dataset.Interleave].
func (d *Dataset) Inner() DatasetFunc {
	d = d.orNone()
	t := d.Spec()
	return func(s *graph.Scope, args []tfbridge.Output) *Dataset {
		if t.Kind != KindDataset {
			s.UpdateErr("Dataset.Inner", millrace.Errorf(millrace.ErrModel, "elements are %v, not datasets", t))
			return &Dataset{scope: s}
		}
		return FromVariantOf(s, args[0], t.Parts[0])
	}
}

// snapshotCompression returns the name that TensorFlow's snapshots know.
func snapshotCompression(s *graph.Scope, what, name, standard string) string {
	switch name {
	case "":
		return standard
	case "NONE":
		return ""
	case "AUTO", "SNAPPY", "GZIP":
	default:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "unknown compression %q: must be \"AUTO\", \"SNAPPY\", \"GZIP\" or \"NONE\"", name))
	}
	return name
}

// shardFunction makes a function from components to the number of a shard.
func (d *Dataset) shardFunction(what string, fn ShardFunc) *graph.Func {
	f := d.function("shard", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{fn(s, args)}
	})
	if len(f.Out) == 1 && (f.Out[0].DType != tfbridge.Int64 || f.Out[0].Shape.NumDimensions() > 0) {
		d.fail(what, "the function of shards gives a %v, not an int64", f.Out[0])
	}
	return f
}

// readerFunction makes a function from a dataset of shards to one dataset with elements
// of d's structure.
func (d *Dataset) readerFunction(what string, fn ReaderFunc, shards int64) *graph.Func {
	if fn == nil {
		fn = func(s *graph.Scope, all *Dataset) *Dataset {
			return all.Interleave("shards", all.Inner(), &InterleaveOptions{CycleLength: shards})
		}
	}
	outer := DatasetSpec(d.Spec())
	in := []graph.Spec{{DType: tfbridge.Variant, Shape: tfbridge.ScalarShape()}}
	return d.scope.Func("reader", in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		all := fn(s, FromVariantOf(s, args[0], outer))
		if !usable(s, what+": Reader", all) {
			return nil
		}
		if _, err := d.Spec().common(all.Spec()); err != nil {
			s.UpdateErr(what+": Reader", err)
			return nil
		}
		return []tfbridge.Output{all.read()}
	})
}

// Cache keeps the elements of the first pass for later passes: in memory, or if filename
// is not empty in files whose names begin with it. The first pass must run to the end.
func (d *Dataset) Cache(filename string) *Dataset {
	d = d.orNone()
	cache := d.scope.Op1("DummyMemoryCache", nil)
	return d.same("CacheDatasetV2", nil, d.scope.Const(filename), cache)
}
