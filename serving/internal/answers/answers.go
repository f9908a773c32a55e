// Package answers caches the answers to a model's requests.
package answers

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"millrace/tfbridge"
)

// Cache caches the answers to a model's requests, by a hash of everything on which they
// depend: version, signature, inputs, and the requested outputs. It has a maximum size
// in bytes, and drops the least recently used answers. Many goroutines may use it.
type Cache struct {
	most         int64
	hits, misses atomic.Int64

	mu    sync.Mutex // guards what follows
	used  int64
	known map[Key]*list.Element
	order list.List // holds *kept, the last used first
}

// Key is the hash of a request.
type Key [sha256.Size]byte

// kept is an answer in Go memory.
type kept struct {
	key     Key
	outputs map[string]keptTensor
	size    int64
}

type keptTensor struct {
	dtype tfbridge.DataType
	shape []int64
	raw   []byte
	texts []string
}

// New returns an empty cache, or nil if it has no room.
func New(most int64) *Cache {
	if most <= 0 {
		return nil
	}
	return &Cache{most: most, known: map[Key]*list.Element{}}
}

// Key returns the key of a request. It reports false if an input is not a tensor, or cannot be
// read.
func (a *Cache) Key(version int64, signature string, inputs map[string]any, outputs []string) (Key, bool) {
	h := sha256.New()
	number(h, version)
	text(h, signature)
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		t, ok := inputs[name].(*tfbridge.Tensor)
		if !ok || !t.IsOpen() {
			return Key{}, false
		}
		text(h, name)
		number(h, int64(t.DataType()))
		shape := t.Shape()
		number(h, int64(len(shape)))
		for _, n := range shape {
			number(h, n)
		}
		if t.DataType() == tfbridge.String {
			texts, err := t.Strings()
			if err != nil {
				return Key{}, false
			}
			for _, s := range texts {
				text(h, s)
			}
			continue
		}
		raw, err := t.Bytes()
		if err != nil {
			return Key{}, false
		}
		h.Write(raw)
	}
	sorted := slices.Sorted(slices.Values(outputs))
	for _, name := range sorted {
		text(h, name)
	}
	return Key(h.Sum(nil)), true
}

// number hashes a number.
func number(h hash.Hash, n int64) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

// text hashes a text after its length.
func text(h hash.Hash, s string) {
	number(h, int64(len(s)))
	h.Write([]byte(s))
}

// Find returns the answer to a request, nil if it is not known. The caller closes the tensors.
func (a *Cache) Find(key Key) map[string]*tfbridge.Tensor {
	a.mu.Lock()
	e := a.known[key]
	if e != nil {
		a.order.MoveToFront(e)
	}
	a.mu.Unlock()
	if e == nil {
		a.misses.Add(1)
		return nil
	}
	outputs := map[string]*tfbridge.Tensor{}
	for name, k := range e.Value.(*kept).outputs {
		t, err := k.tensor()
		if err != nil {
			for _, made := range outputs {
				made.Close()
			}
			return nil
		}
		outputs[name] = t
	}
	a.hits.Add(1)
	return outputs
}

// tensor returns a new tensor.
func (k *keptTensor) tensor() (*tfbridge.Tensor, error) {
	if k.dtype == tfbridge.String {
		return tfbridge.NewStringTensor(k.shape, k.texts)
	}
	return tfbridge.NewTensorFromBytes(k.dtype, k.shape, k.raw)
}

// keptBytes is the memory of an answer in addition to its elements, and stringBytes the
// memory of a string.
const keptBytes, keptText = 512, 16

// Add caches a copy of an answer, unless it is longer than an eighth of the cache.
func (a *Cache) Add(key Key, outputs map[string]*tfbridge.Tensor) {
	size := int64(keptBytes)
	for _, t := range outputs {
		size += t.ByteSize() + keptText*t.NumElements()
	}
	if size > a.most/8 {
		return
	}
	k := &kept{key: key, outputs: map[string]keptTensor{}, size: size}
	for name, t := range outputs {
		o := keptTensor{dtype: t.DataType(), shape: t.Shape()}
		var err error
		if o.dtype == tfbridge.String {
			o.texts, err = t.Strings()
		} else if o.raw, err = t.Bytes(); err == nil {
			o.raw = slices.Clone(o.raw)
		}
		if err != nil {
			return
		}
		k.outputs[name] = o
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[key] != nil {
		return
	}
	a.known[key] = a.order.PushFront(k)
	for a.used += size; a.used > a.most; {
		last := a.order.Remove(a.order.Back()).(*kept)
		delete(a.known, last.key)
		a.used -= last.size
	}
}

// Counts returns the numbers of hits and misses, and the bytes in the cache.
func (a *Cache) Counts() (hits, misses, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hits.Load(), a.misses.Load(), a.used
}
