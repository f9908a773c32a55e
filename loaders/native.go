package loaders

import (
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
)

// native decides whether records are decoded, or windows cut from them, by our
// own operations in place of TensorFlow's parser, and read by them too where
// files come one after another.
func (p *Plan) native() Rewrite {
	r := Rewrite{Name: rewriteNative}
	switch {
	case p.Bucket != nil:
		r.Why = "examples are put into buckets one by one"
	case p.NativeLibrary == "":
		r.Why = "the library of dataset operations is not built for this runtime (make native)"
	case p.Window != nil:
		r.Applied, r.Why = p.nativeWindows()
	case p.valueless():
		r.Why = "the elements of a feature list have no values"
	default:
		r.Applied, r.Why = true, p.nativeWork()
	}
	return r
}

// nativeWork says what one of our operations does for batches of records.
func (p *Plan) nativeWork() string {
	padded := p.Manifest.AllowVarLen && p.Padding != nil && p.nativeTensors()
	switch all := p.joinFiles().Applied && p.nativeFiles(); {
	case all && padded:
		return "files are read, checked, decoded and padded to batches by one operation"
	case all:
		return "files are read, checked and decoded into batches by one operation"
	case padded:
		return "records are decoded and padded to batches by one operation"
	}
	return "records are decoded into batches by one operation"
}

// nativeWindows decides whether our own operation cuts the windows.
func (p *Plan) nativeWindows() (applied bool, why string) {
	isString := func(f *Feature) bool { return f.Kind == String }
	_, direct := p.unpadded(true)
	switch {
	case p.Manifest.AllowVarLen:
		return false, "windows of SequenceExamples are cut by TensorFlow's operations"
	case !p.nativeFiles():
		return false, "windows are cut natively from local files that are not compressed, with a read buffer"
	case p.Window.Tail == tailPad:
		return false, "windows are padded by TensorFlow's operations"
	case slices.ContainsFunc(p.Features, isString):
		return false, "windows of strings are cut by TensorFlow's operations"
	case !p.equalWindows() && !direct:
		return false, "windows of several sizes are cast and processed batch by batch"
	}
	return true, "files are read, checked and cut into windows by one operation"
}

// nativeFiles reports whether the native operations can read the files
// themselves.
func (p *Plan) nativeFiles() bool {
	return p.Manifest.Compression == "" && !p.remote() && p.ReadBufferBytes > 0
}

// needNative checks that the library that the plan was made with is there.
func (p *Plan) needNative() error {
	if !p.native().Applied {
		return nil
	}
	path, err := native.Library()
	if err == nil && path == "" {
		err = millrace.Errorf(millrace.ErrRuntime,
			"the library %s was there when the config was checked and is not for the runtime that was opened", millrace.Quote(p.NativeLibrary))
	}
	return err
}

// nativeRecords decodes batches with the native operations, which read the
// files themselves if they can.
func (b *builder) nativeRecords() *dataset.Dataset {
	if b.plan.Manifest.AllowVarLen {
		return b.nativeSequences()
	}
	if !b.plan.joinFiles().Applied || !b.plan.nativeFiles() {
		return b.nativeBatches(native.Parse(b.records(), b.plan.BatchSize, b.nativeFeatures(), b.dropRemainder()))
	}
	paths, counts := b.countedFiles()
	return b.nativeBatches(native.Examples(b.scope, b.scope.Const(paths), b.scope.Const(counts), b.nativeFeatures(), b.nativeOptions()))
}

func (b *builder) nativeOptions() *native.ExamplesOptions {
	return &native.ExamplesOptions{
		BatchSize: b.plan.BatchSize, Epochs: b.plan.Epochs, Drop: b.dropRemainder(), BufferBytes: b.plan.ReadBufferBytes,
	}
}

// countedFiles returns the paths of the files and the numbers of their records.
func (b *builder) countedFiles() (paths []string, counts []int64) {
	for i, f := range b.plan.Files {
		paths, counts = append(paths, f.Path), append(counts, b.scan.count(i))
	}
	return paths, counts
}

// nativeFeatures asks the native operations for the requested features.
func (b *builder) nativeFeatures() []native.Feature {
	kinds := map[Kind]native.Kind{
		Int: native.Int, Float: native.Float, String: native.Bytes, Raw: native.Raw,
	}
	var features []native.Feature
	for _, f := range b.plan.sortedFeatures() {
		feature := native.Feature{
			Key: f.Name, Kind: kinds[f.Kind], DType: f.DType, Shape: f.TensorShape(),
			Strings: f.Len, BigEndian: f.Endian == "big", List: f.VarLen,
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
	b.decodedRaw = true
	if order, ok := b.plan.direct(true); ok {
		b.order = order
		return d
	}
	return d.Map("finish", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return b.finish(s, args, []int64{-1})
	}, b.mapOptions())
}

// nativeWindowBatches builds the sequence loaders up to their batches with
// windows that the native operation cuts.
func (b *builder) nativeWindowBatches() *dataset.Dataset {
	equal := b.plan.equalWindows()
	var d *dataset.Dataset
	if b.plan.Shuffle == nil {
		o := b.nativeWindowOptions()
		o.Epochs, o.Threads = b.plan.Epochs, b.plan.ParallelParses
		if equal {
			o.BatchSize, o.Drop = b.plan.BatchSize, b.dropRemainder()
		}
		paths, counts := b.countedFiles()
		d = native.Windows(b.scope, b.scope.Const(paths), b.scope.Const(counts), b.nativeFeatures(), o)
	} else {
		d = b.epochs(b.windowPass)
	}
	if !equal {
		return b.batch(b.asTensors(d))
	}
	if b.plan.Shuffle != nil {
		d = d.Batch(b.plan.BatchSize, b.dropRemainder())
	}
	return b.nativeBatches(d)
}

// asTensors puts the features of decoded elements in the order of the plan's
// tensors.
func (b *builder) asTensors(d *dataset.Dataset) *dataset.Dataset {
	order, _ := b.plan.unpadded(true)
	if slices.IsSorted(order) && len(order) == len(b.plan.Features) {
		return d
	}
	return d.Map("order", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		ordered := make([]tfbridge.Output, len(order))
		for i, from := range order {
			ordered[i] = graph.Identity(s, args[from])
		}
		return ordered
	}, inline)
}

// nativeFileWindows cuts the windows of one file of an epoch, one by one.
func (b *builder) nativeFileWindows(s *graph.Scope, epoch tfbridge.Output, file []tfbridge.Output) *dataset.Dataset {
	o := b.nativeWindowOptions()
	o.Epochs, o.FirstEpoch, o.FirstFile = 1, epoch, file[2]
	return native.Windows(s, graph.ExpandDims(s, file[0], 0), graph.ExpandDims(s, file[1], 0), b.nativeFeatures(), o)
}

func (b *builder) nativeWindowOptions() *native.WindowsOptions {
	w := b.plan.Window
	return &native.WindowsOptions{
		Min: w.Min, Max: w.Max, Stride: w.Stride, KeepTail: w.Tail != tailDrop,
		WholeRecords: b.plan.Type == DiscreteSequence, Seed: b.plan.Seed, BufferBytes: b.plan.ReadBufferBytes,
	}
}
