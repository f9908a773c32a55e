package examples

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/target"
	"millrace/loaders/processing/tensors"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// lists makes batches of records with lists. decode requests the components from a
// native operation: the plan's tensors, or columns from which these are assembled.
func (b *Builder) lists(decode func(*native.Sequence) *dataset.Dataset) *dataset.Dataset {
	tensors := b.Engine.NativeTensors()
	q := b.parser.Native(b.parser.NativeColumns())
	if tensors {
		q = b.parser.Native(b.components())
	}
	d := decode(q)
	if tensors {
		return d
	}
	return d.Map("assemble", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return b.processor.Assemble(s, b.parser.DecodeColumns(s, b.parser.ColumnsOf(args)))
	}, b.MapOptions())
}

// nativeLists reads the files, and decodes batches.
func (b *Builder) nativeLists(q *native.Sequence) *dataset.Dataset {
	if b.Engine.ComputesOrder() {
		return native.OrderedSequences(b.Scope, b.NativeOrder(), q, b.orderedOptions())
	}
	paths, counts := b.CountedFiles()
	return native.Sequences(b.Scope, b.Scope.Const(paths), b.Scope.Const(counts), q, b.nativeOptions())
}

// parseLists decodes a stream of records to batches, by buckets or in their order.
func (b *Builder) parseLists(d *dataset.Dataset, q *native.Sequence) *dataset.Dataset {
	bucket, bucketed := stage.Find[stage.Bucket](b.Stages)
	if !bucketed {
		return native.ParseSequences(d, b.batch.Size, q, b.parseOptions())
	}
	return native.BucketSequences(d, q, &native.BucketOptions{
		Of: b.Parse.IndexOf(bucket.Tensor), Boundaries: bucket.Boundaries, Sizes: bucket.Sizes, Drop: b.batch.Full(),
		Positions: b.HoldsPositions(), Held: b.Held, Next: b.FirstPosition(),
		DecodeOptions: b.Located(b.Scope),
	})
}

// components requests the plan's tensors from the native operation.
func (b *Builder) components() []native.Component {
	measures := map[string]stage.Measure{}
	for _, m := range stage.All[stage.Measure](b.Stages) {
		measures[m.To] = m
	}
	most := map[string]int64{}
	for _, x := range stage.All[stage.Step](b.Stages) {
		most[x.Writes] = x.Action.(*tensors.Slice).First() // NativeTensors allows no other steps
	}
	var components []native.Component
	for i, t := range b.Out.Tensors {
		c := native.Component{Part: native.Values, Size: -1}
		of := t.Name
		if m, ok := measures[t.Name]; ok {
			of, c.Part = m.Tensor, nativeMeasures()[m.Kind]
		}
		if m, ok := measures[of]; ok { // the elements of a mask
			of, c.Part = m.Tensor, native.Lengths
		}
		c.Feature = b.Parse.IndexOf(of)
		if of == t.Name && b.Parse.Features[c.Feature].VarLen {
			c.Part = native.Padded
			c.Fill = target.Constant(b.Scope, b.Out.Padding[i].Value, t.DType)
		}
		if b.Out.Padding != nil && (c.Part == native.Padded || c.Part == native.Mask) {
			c.Size = b.Out.Padding[i].Shape[0]
		}
		c.Most = most[of]
		components = append(components, c)
	}
	return components
}

// nativeMeasures returns the native operation's names for the measures.
func nativeMeasures() map[spec.MeasureKind]native.Part {
	return map[spec.MeasureKind]native.Part{
		spec.Lengths: native.Lengths, spec.Mask: native.Mask, spec.ElementCount: native.Elements,
	}
}
