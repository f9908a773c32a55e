package loaders

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// native decides whether Examples are decoded by our own operation in place of
// TensorFlow's parser, and read by it too where files come one after another.
func (p *Plan) native() Rewrite {
	r := Rewrite{Name: rewriteNative}
	switch {
	case !p.parseBatches().Applied:
		r.Why = p.parseBatches().Why
	case p.NativeLibrary == "":
		r.Why = "the library of dataset operations is not built for this runtime (make native)"
	case p.nativeSource():
		r.Applied, r.Why = true, "files are read, checked and decoded into batches by one operation"
	default:
		r.Applied, r.Why = true, "records are decoded into batches by one operation"
	}
	return r
}

// nativeSource reports whether the native operation can read the files itself.
func (p *Plan) nativeSource() bool {
	return p.joinFiles().Applied && p.Manifest.Compression == "" && !p.remote() && p.ReadBufferBytes > 0
}

// loadNative loads the library that the plan was made with.
func (p *Plan) loadNative() error {
	if !p.native().Applied {
		return nil
	}
	path, err := dataset.LoadNative()
	if err == nil && path == "" {
		err = millrace.Errorf(millrace.ErrRuntime,
			"the library %s was there when the config was checked and is not for the runtime that was opened", millrace.Quote(p.NativeLibrary))
	}
	return err
}

// nativeExamples reads the files with the native operation.
func (b *builder) nativeExamples() *dataset.Dataset {
	paths, counts := make([]string, len(b.plan.Files)), make([]int64, len(b.plan.Files))
	for i, f := range b.plan.Files {
		paths[i], counts[i] = f.Path, b.scan.count(i)
	}
	return dataset.NativeExamples(b.scope, b.scope.Const(paths), b.scope.Const(counts), b.nativeFeatures(), &dataset.NativeExamplesOptions{
		BatchSize: b.plan.BatchSize, Epochs: b.plan.Epochs, Drop: b.dropRemainder(), BufferBytes: b.plan.ReadBufferBytes,
	})
}

// nativeFeatures asks the native operations for the requested features.
func (b *builder) nativeFeatures() []dataset.NativeFeature {
	kinds := map[Kind]dataset.NativeKind{
		Int: dataset.NativeInt, Float: dataset.NativeFloat, String: dataset.NativeBytes, Raw: dataset.NativeRaw,
	}
	var features []dataset.NativeFeature
	for _, f := range b.plan.sortedFeatures() {
		features = append(features, dataset.NativeFeature{
			Key: f.Name, Kind: kinds[f.Kind], DType: f.DType, Shape: f.TensorShape(),
			Strings: f.Len, BigEndian: f.Endian == "big",
		})
	}
	return features
}

// nativeBatches turns decoded batches into the plan's tensors.
func (b *builder) nativeBatches(d *dataset.Dataset) *dataset.Dataset {
	b.decodedRaw = true
	if order, ok := b.direct(); ok {
		b.order = order
		return d
	}
	return d.Map("finish", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return b.finish(s, args, []int64{-1})
	}, b.mapOptions())
}
