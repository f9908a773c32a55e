package datapipeline

import (
	"maps"
	"sync"
)

// progress counts how much of a dataset a provider has delivered. Its methods may be
// called concurrently.
type progress struct {
	mu           sync.Mutex
	dataset      Dataset
	lastSeqIdx   int64
	seqCounter   int64
	batchCounter int64
	frac         float64
	frames       map[string]int64
	reachedEnd   bool
}

// begin starts counting for an epoch of a dataset.
func (p *progress) begin(dataset Dataset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dataset, p.frames = dataset, map[string]int64{}
	p.lastSeqIdx, p.seqCounter, p.batchCounter, p.frac, p.reachedEnd = -1, 0, 0, 0, false
}

// took counts a batch that the consumer took.
func (p *progress) took(b batchInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastSeqIdx = max(p.lastSeqIdx, b.lastSeqIdx)
	p.seqCounter += b.rows
	p.batchCounter++
	for key, n := range b.frames {
		p.frames[key] += n
	}
	// The last sequence may continue in the next batch, so it does not count yet. Only
	// the end of the data is 1, because an estimate may be too small.
	total, _ := p.dataset.NumSeqs()
	total = max(total, p.lastSeqIdx+1)
	p.frac = max(p.frac, float64(p.lastSeqIdx)/float64(total))
}

// end records that the consumer took all batches of the epoch.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frac, p.reachedEnd = 1, true
}

// DatasetName returns the name of the dataset, "" before InitDataset.
func (p *progress) DatasetName() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dataset == nil {
		return ""
	}
	return p.dataset.Name()
}

// HaveReachedEnd reports whether the dataset came to its end and all its batches were
// taken. It is false after an early stop.
func (p *progress) HaveReachedEnd() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reachedEnd
}

// CompleteFrac returns how much of the epoch was taken: 0 at the start and 1 at the
// end. It never falls, also where the dataset's number of sequences is an estimate.
func (p *progress) CompleteFrac() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frac
}

// NumFrames returns the number of frames, by key, of the batches taken, for the keys
// with a time axis. Context counts, padding does not.
func (p *progress) NumFrames() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.frames)
}

// LastSeqIdx returns the largest position of a sequence in the batches taken, -1 if
// there is none.
func (p *progress) LastSeqIdx() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastSeqIdx
}

// SeqCounter returns the number of rows of the batches taken.
func (p *progress) SeqCounter() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seqCounter
}

// BatchCounter returns the number of batches taken.
func (p *progress) BatchCounter() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.batchCounter
}
