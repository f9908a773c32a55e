package build

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// nativeRecords decodes batches with the native operations, which read the
// files themselves if they can.
func (b *builder) nativeRecords() *dataset.Dataset {
	if b.plan.HasLists() {
		return b.nativeSequences()
	}
	if b.plan.Engine().ComputesOrder() {
		if !b.ordersNatively() {
			return b.nativeGroups(b.groupsByPlace())
		}
		return b.nativeBatches(native.OrderedExamples(b.scope, b.nativeOrder(), b.nativeFeatures(), b.orderedOptions()))
	}
	if b.plan.Engine().JudgesRecords() && !b.plan.Engine().JoinFiles().Applied && b.plan.Shuffle == nil {
		return b.nativeGroups(b.fedGroups())
	}
	if !b.plan.Engine().JoinFiles().Applied {
		return b.nativeBatches(native.Parse(b.records(), b.plan.BatchSize, b.nativeFeatures(), b.parseOptions()))
	}
	paths, counts := b.countedFiles()
	return b.nativeBatches(native.Examples(b.scope, b.scope.Const(paths), b.scope.Const(counts), b.nativeFeatures(), b.nativeOptions()))
}

// nativeGroups decodes vectors of records, and makes batches of them.
func (b *builder) nativeGroups(d *dataset.Dataset) *dataset.Dataset {
	d = d.Map("decode", b.decodeGroup, b.mapOptions())
	return b.nativeBatches(d.Rebatch(b.plan.BatchSize, b.dropRemainder()))
}

// fedGroups yields the records of all epochs that Go reads and checks, one file after
// the other, as vectors: see [builder.groupsByPlace].
func (b *builder) fedGroups() *dataset.Dataset {
	return b.files(b.scope).FlatMap("read_file", func(s *graph.Scope, file []tfbridge.Output) *dataset.Dataset {
		return b.fedVectors(s, file[2])
	}).Repeat(b.repeats())
}

// decodeGroup decodes a vector of records that carry their places.
func (b *builder) decodeGroup(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	o := b.placedFiles(s)
	return native.Decode(s, args[0], b.nativeFeatures(), &o)
}

func (b *builder) nativeOptions() *native.ExamplesOptions {
	o := &native.ExamplesOptions{
		BatchSize: b.plan.BatchSize, Size: b.joinedSize(), Epochs: b.plan.Epochs, Drop: b.dropRemainder(),
		Compression: b.plan.Manifest.Compression.TensorFlow(), BufferBytes: b.plan.ReadBufferBytes,
		Threads: max(b.plan.ParallelParses, 2), // the next file is inflated ahead in any case
	}
	if b.plan.Engine().JudgesRecords() {
		o.Judge = b.source().Judge
	}
	return o
}

// joinedSize returns how many rows an element has where a run may take several
// batches in one, and else no output.
func (b *builder) joinedSize() tfbridge.Output {
	if !b.plan.Engine().JoinsBatches() {
		return tfbridge.Output{}
	}
	return b.group
}

// parseOptions returns the options for decoding the records of [builder.records].
func (b *builder) parseOptions() *native.ParseOptions {
	return &native.ParseOptions{Drop: b.dropRemainder(), DecodeOptions: b.placedFiles(b.scope)}
}

// countedFiles returns the paths of the files and the numbers of their records.
func (b *builder) countedFiles() (paths []string, counts []int64) {
	for i, f := range b.plan.Files {
		paths, counts = append(paths, f.Path), append(counts, b.scan.Count(i))
	}
	return paths, counts
}

// nativeFeatures asks the native operations for the requested features.
func (b *builder) nativeFeatures() []native.Feature {
	kinds := map[spec.Kind]native.Kind{
		spec.Int: native.Int, spec.Float: native.Float, spec.String: native.Bytes, spec.Raw: native.Raw,
	}
	var features []native.Feature
	for _, f := range b.plan.SortedFeatures() {
		feature := native.Feature{
			Key: f.Name, Kind: kinds[f.Kind], DType: f.DType, Shape: f.TensorShape(),
			Strings: f.Len, BigEndian: f.Endian == "big", List: f.VarLen, Optional: f.Optional,
			Finite: f.Finite && b.plan.Engine().ChecksNatively(),
		}
		if f.VarLen {
			feature.Shape = f.Shape
		}
		features = append(features, feature)
	}
	return features
}

// nativeBatches turns decoded batches into the plan's tensors.
func (b *builder) nativeBatches(d *dataset.Dataset) *dataset.Dataset {
	if order, ok := b.plan.Engine().ParsingSuffices(true); ok {
		b.order = order
		return d
	}
	return d.Map("finish", b.numbered(func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return b.finish(s, args, []int64{-1})
	}), b.mapOptions())
}

// needNative checks that the library that the plan was made with is there, or
// that the plan does without one.
func needNative(p *plan.Plan) error {
	if !p.Engine().Own {
		return p.Engine().RefuseRemote()
	}
	path, err := native.Library()
	if err == nil && path == "" {
		err = millrace.Errorf(millrace.ErrRuntime,
			"the library %s was there when the config was checked and is not for the runtime that was opened", millrace.Quote(p.NativeLibrary))
	}
	return err
}
