package loaders

// A batch costs tf.data a fixed time whatever is in it (waking threads,
// calling functions), so records are parsed several batches at a time and cut
// into batches afterwards, which copies nothing. Measured in
// docs/performance.md; more than eight batches gain nothing.
const (
	groupBatches = 8
	groupBytes   = 1 << 20 // of serialized records, so that large ones stay few
)

// groupSize returns how many records are parsed at once: whole batches.
func (b *builder) groupSize() int64 {
	size := b.plan.BatchSize
	if b.plan.Type != Independent {
		return b.chunkSize()
	}
	if !b.plan.applied(rewriteGroupBatches) {
		return size
	}
	records, _ := b.scan.Records()
	average := max(b.scan.bytes()/max(records, 1), 1)
	batches := groupBytes / average / size
	return size * min(max(batches, 1), groupBatches)
}

// carefulSize returns how many records are parsed at once to find the last
// batch before a bad record.
func (b *builder) carefulSize() int64 {
	if b.plan.Type != Independent {
		return 1
	}
	return b.plan.BatchSize
}

// groupBatches decides whether several batches are parsed at once.
func (p *Plan) groupBatches() Rewrite {
	r := Rewrite{Name: rewriteGroupBatches}
	switch {
	case p.native().Applied:
		r.Why = "a batch costs the native operation no fixed time"
	case p.Window != nil:
		r.Why = "windows are cut from chunks of a file, whatever the batch"
	case !p.parseBatches().Applied:
		r.Why = "records are parsed one by one"
	case p.Manifest.AllowVarLen:
		r.Why = "feature lists are padded batch by batch"
	case p.remote():
		r.Why = "the size of remote records is not known"
	default:
		r.Applied, r.Why = true, "up to 8 batches or 1 MiB of records are parsed at once and cut into batches afterwards"
	}
	return r
}

// remote reports whether TensorFlow alone can look at some of the files.
func (p *Plan) remote() bool {
	for _, f := range p.Files {
		if f.Remote {
			return true
		}
	}
	return false
}
