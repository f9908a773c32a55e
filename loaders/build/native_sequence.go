package build

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// nativeSequences decodes batches of records with lists with the native
// operations.
func (b *builder) nativeSequences() *dataset.Dataset {
	tensors := b.plan.Engine().NativeTensors()
	q := b.nativeSequence(b.nativeColumns())
	if tensors {
		q = b.nativeSequence(b.nativeComponents())
	}
	var d *dataset.Dataset
	switch {
	case b.plan.Bucket != nil:
		d = native.BucketSequences(b.records(), q, b.nativeBuckets())
	case b.plan.Engine().ComputesOrder() && b.ordersNatively():
		d = native.OrderedSequences(b.scope, b.nativeOrder(), q, b.orderedOptions())
	case b.plan.Engine().JoinFiles().Applied:
		paths, counts := b.countedFiles()
		d = native.Sequences(b.scope, b.scope.Const(paths), b.scope.Const(counts), q, b.nativeOptions())
	default:
		d = native.ParseSequences(b.records(), b.plan.BatchSize, q, b.parseOptions())
	}
	if tensors {
		return d
	}
	return d.Map("assemble", b.assembleNative, b.mapOptions())
}

// nativeBuckets returns how the native operation puts records into buckets.
func (b *builder) nativeBuckets() *native.BucketOptions {
	bucket := b.plan.Bucket
	return &native.BucketOptions{
		Of:         slices.Index(b.plan.SortedFeatures(), b.plan.FeatureOf(bucket.Tensor)),
		Boundaries: bucket.Boundaries, Sizes: bucket.Sizes, Drop: b.dropRemainder(),
		Positions: b.plan.Engine().HoldsPositions(), Held: b.held, Next: b.firstPosition(),
		DecodeOptions: b.placedFiles(b.scope),
	}
}

// nativeSequence asks the native operations for components of records with
// lists.
func (b *builder) nativeSequence(components []native.Component) *native.Sequence {
	return &native.Sequence{Examples: !b.plan.Manifest.AllowVarLen, Features: b.nativeFeatures(), Components: components}
}

// nativeComponents asks the native operation for the plan's tensors.
func (b *builder) nativeComponents() []native.Component {
	p := b.plan
	features := p.SortedFeatures()
	var components []native.Component
	for i, t := range p.Tensors {
		c := native.Component{Part: native.Values, Size: -1}
		of := t.Name
		if m := p.MeasureOf(t.Name); m != nil {
			of, c.Part = m.Tensor, nativeMeasures()[m.Kind]
		}
		if m := p.MeasureOf(of); m != nil { // the elements of a mask
			of, c.Part = m.Tensor, native.Lengths
		}
		f := p.FeatureOf(of)
		c.Feature = slices.Index(features, f)
		if of == t.Name && f.VarLen {
			c.Part = native.Padded
			c.Fill = b.constant(b.scope, p.Padding[i].Value, t.DType)
		}
		if p.Padding != nil && (c.Part == native.Padded || c.Part == native.Mask) {
			c.Size = p.Padding[i].Shape[0]
		}
		components = append(components, c)
	}
	return components
}

// nativeMeasures returns what the native operation calls each measure.
func nativeMeasures() map[spec.MeasureKind]native.Part {
	return map[spec.MeasureKind]native.Part{
		spec.Lengths: native.Lengths, spec.Mask: native.Mask, spec.ElementCount: native.Elements,
	}
}

// nativeColumns asks the native operation for columns of the sorted features.
func (b *builder) nativeColumns() []native.Component {
	var components []native.Component
	for i, f := range b.plan.SortedFeatures() {
		components = append(components, native.Component{Feature: i, Part: native.Values, Size: -1})
		if f.VarLen {
			components = append(components, native.Component{Feature: i, Part: native.Splits, Size: -1})
		}
	}
	return components
}

// assembleNative makes the plan's tensors of the native operation's columns.
func (b *builder) assembleNative(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	return b.assemble(s, b.decodeColumns(s, b.columnsOf(args)))
}

// columnsOf returns the columns of the sorted features, given what
// [builder.nativeColumns] asks for.
func (b *builder) columnsOf(components []tfbridge.Output) []column {
	var columns []column
	for _, f := range b.plan.SortedFeatures() {
		if len(components) == 0 {
			return nil // the scope has failed
		}
		c := column{values: components[0]}
		components = components[1:]
		if f.VarLen && len(components) > 0 {
			c.splits, components = components[0], components[1:]
		}
		columns = append(columns, c)
	}
	return columns
}
