package build

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// nativeSequences decodes batches of SequenceExamples with the native
// operations.
func (b *builder) nativeSequences() *dataset.Dataset {
	tensors := b.plan.NativeTensors()
	q := &native.Sequence{Features: b.nativeFeatures(), Components: b.nativeColumns()}
	if tensors {
		q.Components = b.nativeComponents()
	}
	var d *dataset.Dataset
	if b.plan.JoinFiles().Applied && b.plan.NativeFiles() {
		paths, counts := b.countedFiles()
		d = native.Sequences(b.scope, b.scope.Const(paths), b.scope.Const(counts), q, b.nativeOptions())
	} else {
		d = native.ParseSequences(b.records(), b.plan.BatchSize, q, &native.ParseOptions{Drop: b.dropRemainder()})
	}
	if tensors {
		return d
	}
	b.decodedRaw = true
	return d.Map("assemble", b.assembleNative, b.mapOptions())
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
	var columns []column
	for _, f := range b.plan.SortedFeatures() {
		c, lead := column{values: args[0]}, []int64{-1}
		args = args[1:]
		if f.VarLen {
			c.splits, args, lead = args[0], args[1:], nil
		}
		c.values = b.decode(s, f, c.values, lead)
		columns = append(columns, c)
	}
	return b.assemble(s, columns)
}
