package spec

import (
	"regexp"
	"slices"

	"millrace/loaders/decl"
	"millrace/tfbridge"
)

// reservedSize matches the names of sizes, including the names that sizes of further axes
// would have.
var reservedSize = regexp.MustCompile(`/size[0-9]+$`)

// reserved refuses the names of all automatic outputs, even unrequested ones.
func (a *ChunkedArgs) reserved(c *checker) {
	check := func(o *decl.Object, name string) {
		names := []RowOutputKind{SeqTag, SeqIdx, ChunkStart, EpochEnd}
		if o.At == nil || o.Bad("to_name") || !slices.Contains(names, RowOutputKind(name)) && !reservedSize.MatchString(name) {
			return
		}
		c.inConfig.Report(o.Key("to_name"), "%s is reserved for an automatic output", decl.Quote(name))
	}
	for i := range a.PrimaryFeatures {
		check(&a.PrimaryFeatures[i].Object, a.PrimaryFeatures[i].ToName)
	}
	for i := range a.SecondaryFeatures {
		check(&a.SecondaryFeatures[i].Object, a.SecondaryFeatures[i].ToName)
	}
}

// outputs adds the automatic outputs that the config asks for.
func (a *ChunkedArgs) outputs(c *checker) {
	a.tagOutput(c)
	if a.WithSeqIdx {
		a.output(c, "with_seq_idx", RowOutput{To: string(SeqIdx), Kind: SeqIdx}, tfbridge.Int32)
	}
	if a.WithChunkStart {
		a.output(c, "with_chunk_start", RowOutput{To: string(ChunkStart), Kind: ChunkStart}, tfbridge.Int32)
	}
	if a.WithSizes {
		for _, t := range slices.Clone(c.tensors) {
			varies := t.shaped && len(t.Shape) > 0 && t.Shape[0] < 0 && t.measure == nil
			if t.sequence || varies {
				a.output(c, "with_sizes", RowOutput{To: t.Name + string(RowSize), Kind: RowSize, Of: t.Name}, tfbridge.Int32)
			}
		}
	}
	if a.WithEpochEnd {
		a.output(c, "with_epoch_end", RowOutput{To: string(EpochEnd), Kind: EpochEnd}, tfbridge.Bool)
	}
}

// output adds the tensor of an automatic output. Method reserved has reported names that
// are taken.
func (a *ChunkedArgs) output(c *checker, key string, o RowOutput, d tfbridge.DataType) {
	if _, taken := c.byName[o.To]; taken || a.Bad(key) {
		return
	}
	t := c.addTensor(a.Key(key), o.To, nil)
	t.made, t.automatic = true, true
	t.DType, t.typed, t.shaped = d, true, true
	c.spec.Chunks.Outputs = append(c.spec.Chunks.Outputs, o)
}

// tagOutput adds the names of sequences.
func (a *ChunkedArgs) tagOutput(c *checker) {
	tag := &a.WithSeqTag
	switch {
	case a.Bad("with_seq_tag") || tag.A == nil && tag.B == nil || tag.A != nil && !*tag.A:
		return
	case tag.B != nil && !a.tagFeature(c, *tag.B):
		return
	}
	a.output(c, "with_seq_tag", RowOutput{To: string(SeqTag), Kind: SeqTag}, tfbridge.String)
}

// tagFeature finds the feature that names sequences, and has it read.
func (a *ChunkedArgs) tagFeature(c *checker, name string) bool {
	if c.features == nil {
		return false
	}
	at := a.Key("with_seq_tag")
	state, ok := c.features[name]
	switch {
	case !ok && c.unnamed:
		return false
	case !ok:
		d := c.inConfig.Report(at, "no feature named %s in the manifest", decl.Quote(name))
		d.Hint = nearOrAll("features", name, c.featureNames)
		return false
	case !state.shaped:
		return false
	case state.Kind != String || len(state.TensorShape()) > 0:
		c.inConfig.Report(at, "feature %s is no single string", decl.Quote(name))
		return false
	}
	f := &state.Feature
	if i := slices.IndexFunc(c.spec.Features, func(g *Feature) bool { return g.Name == name }); i >= 0 {
		f = c.spec.Features[i]
	} else {
		c.spec.Features = append(c.spec.Features, f)
		slices.SortFunc(c.spec.Features, func(a, b *Feature) int { return a.Index - b.Index })
	}
	c.spec.Chunks.TagFeature = f
	return true
}
