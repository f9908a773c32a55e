package remote

import (
	"container/list"
	"sync"
)

// The sizes of blocks and requests.
const (
	blockBytes = 256 << 10
	mostBlocks = 32 // the most blocks of a request
)

// blockKey identifies a block by its object's name and version, and its number.
type blockKey struct {
	name, version string
	number        int64
}

// block is a part of an object. Its data does not change once ready is closed.
type block struct {
	key   blockKey
	data  []byte
	err   error // why there is no data
	ready chan struct{}
	used  *list.Element // the entry in blocks.idle; nil before the block is ready
}

// blocks are the blocks of all files. Their total size has a limit.
type blocks struct {
	mu     sync.Mutex
	limit  int64
	bytes  int64 // total size, blocks being filled included
	peak   int64 // the most bytes that there were
	blocks map[blockKey]*block
	idle   *list.List // ready blocks, the least recently used first
}

func newBlocks(limit int64) *blocks {
	return &blocks{limit: limit, blocks: map[blockKey]*block{}, idle: list.New()}
}

// find returns a block, nil if there is none.
func (b *blocks) find(k blockKey) *block {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.blocks[k]
	if found != nil && found.used != nil {
		b.idle.MoveToBack(found.used)
	}
	return found
}

// add makes up to most consecutive blocks of an object, from k on, which are to be filled.
// It ends at a block that exists, at the end of the object, and where the limit is reached.
func (b *blocks) add(k blockKey, size int64, most int) (run []*block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range most {
		n := min(blockBytes, size-k.number*blockBytes)
		if n <= 0 || b.blocks[k] != nil || !b.reserve(n) {
			break
		}
		made := &block{key: k, data: make([]byte, n), ready: make(chan struct{})}
		b.blocks[k] = made
		run = append(run, made)
		k.number++
	}
	return run
}

// keep adds the first block of an object.
func (b *blocks) keep(k blockKey, size int64, data []byte) {
	for _, made := range b.add(k, size, 1) {
		copy(made.data, data)
		b.done(made, nil)
	}
}

// reserve makes room for n bytes by dropping blocks.
func (b *blocks) reserve(n int64) bool {
	for b.bytes+n > b.limit {
		oldest := b.idle.Front()
		if oldest == nil {
			return false
		}
		b.drop(oldest.Value.(*block))
	}
	b.bytes += n
	b.peak = max(b.peak, b.bytes)
	return true
}

// drop removes a block.
func (b *blocks) drop(x *block) {
	if x.used != nil {
		b.idle.Remove(x.used)
		x.used = nil
	}
	delete(b.blocks, x.key)
	b.bytes -= int64(len(x.data))
}

// done marks a block as filled, or drops it after an error.
func (b *blocks) done(x *block, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.err = err; err != nil {
		b.drop(x)
	} else {
		x.used = b.idle.PushBack(x)
	}
	close(x.ready)
}
