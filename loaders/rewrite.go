package loaders

import "slices"

// The names of the rewrites.
const (
	rewriteParseBatches = "parse_batches" // batch serialized records, then parse a batch at once
	rewriteGroupBatches = "group_batches" // parse several batches at once
	rewriteShuffleBytes = "shuffle_bytes" // shuffle serialized records, then parse
	rewriteJoinFiles    = "join_files"    // one reader for all files instead of an interleave
	rewriteShareParse   = "share_parse"   // parse a feature once for all its names
	rewriteStaticPad    = "static_pad"    // pad whole batches to shapes known in advance
)

// Rewrites lists what the optimiser did to the order of the stages and why.
// None of them changes a batch.
func (p *Plan) Rewrites() []Rewrite {
	rewrites := []Rewrite{p.parseBatches(), p.groupBatches(), p.shuffleBytes(), p.joinFiles(), p.shareParse()}
	if p.Padding != nil {
		rewrites = append(rewrites, p.staticPad())
	}
	return rewrites
}

// applied reports whether the plan is built with a rewrite.
func (p *Plan) applied(name string) bool {
	return slices.ContainsFunc(p.Rewrites(), func(r Rewrite) bool { return r.Name == name && r.Applied })
}

// parseBatches decides whether serialized records are batched before they are
// parsed. That needs shapes that are the same for every record: a batch of
// Examples is then one tensor a feature, and every later stage works on it
// with one more axis in front.
func (p *Plan) parseBatches() Rewrite {
	r := Rewrite{Name: rewriteParseBatches}
	switch {
	case p.Type != Independent:
		r.Why = "windows are cut from parsed records"
	case p.Manifest.AllowVarLen:
		r.Why = "records are SequenceExamples, whose tensors differ in length"
	default:
		r.Applied, r.Why = true, "every tensor has the same shape in every record"
	}
	return r
}

func (p *Plan) shuffleBytes() Rewrite {
	r := Rewrite{Name: rewriteShuffleBytes}
	switch {
	case p.Shuffle == nil:
		r.Why = "records are not shuffled"
	case p.Type != Independent:
		r.Why = "windows are shuffled, not records"
	default:
		r.Applied, r.Why = true, "parsing is a function of the record alone, so the order is the same and the buffer smaller"
	}
	return r
}

func (p *Plan) joinFiles() Rewrite {
	r := Rewrite{Name: rewriteJoinFiles}
	switch {
	case p.Type != Independent:
		r.Why = "windows do not cross files"
	case p.Shuffle != nil:
		r.Why = "file names are shuffled and files mixed"
	default:
		r.Applied, r.Why = true, "files are read one after another"
	}
	return r
}

func (p *Plan) shareParse() Rewrite {
	r := Rewrite{Name: rewriteShareParse}
	if len(p.Primaries) == len(p.Features) {
		r.Why = "every feature has one name"
		return r
	}
	r.Applied, r.Why = true, "a feature has several names"
	return r
}

func (p *Plan) staticPad() Rewrite {
	r := Rewrite{Name: rewriteStaticPad}
	if !p.parseBatches().Applied {
		r.Why = "shapes are known only when a record is parsed"
		return r
	}
	r.Applied, r.Why = true, "every shape is known in advance"
	return r
}
