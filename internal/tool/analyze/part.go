package analyze

import (
	"encoding/json"
	"fmt"
	"slices"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/loaders/processing"
)

// # One analysis by several processes
//
// Each process reads a shard and writes a part. A part holds sums, counts and samples, because the
// statistics of all data cannot be computed from the statistics of the shards. Parts are merged in the
// order of the shards, in the way in which one process merges the parts of its goroutines.

// PartFormat is the format of a file with a part of an analysis.
const PartFormat = "millrace statistics part 1"

// Shard says which part of the data an analysis reads.
type Shard struct {
	Index int64 `json:"index"` // from 0
	Count int64 `json:"count"`
}

// Part is what an analysis of a shard has collected. [Merge] makes statistics of all parts. Its JSON
// keys stay as they are.
type Part struct {
	Format   string        `json:"format"`
	Shard    Shard         `json:"shard"`
	Examples int64         `json:"examples"`
	Filtered int64         `json:"filtered"`
	Tensors  []*tensorPart `json:"tensors"`
	Leaks    *leaksPart    `json:"leaks"`
}

// tensorPart has the fields of a collector.
type tensorPart struct {
	Name      string         `json:"name"`
	DType     string         `json:"dtype"`
	Shape     []int64        `json:"shape"`
	Examples  int64          `json:"examples"`
	Empty     int64          `json:"empty"`
	Positions []momentsPart  `json:"positions,omitempty"`
	All       numbersPart    `json:"all"`
	Lengths   numbersPart    `json:"lengths"`
	Bytes     numbersPart    `json:"bytes"`
	Exact     []uint64       `json:"exact,omitempty"`    // distinct values
	Counting  []byte         `json:"counting,omitempty"` // HyperLogLog, if there were too many
	Words     []wordPartFile `json:"words,omitempty"`
	Dropped   int64          `json:"dropped,omitempty"`
}

type momentsPart struct {
	N      int64      `json:"n"`
	Sum    [2]float64 `json:"sum"`
	Square [2]float64 `json:"square"`
	Min    float64    `json:"min"`
	Max    float64    `json:"max"`
}

type numbersPart struct {
	Moments  momentsPart `json:"moments"`
	Levels   [][]float64 `json:"levels,omitempty"` // levels of the sketch
	Sampled  int         `json:"sampled,omitempty"`
	Zeros    int64       `json:"zeros,omitempty"`
	NaN      int64       `json:"nan,omitempty"`
	Infinite int64       `json:"infinite,omitempty"`
}

// wordPartFile is a string, as bytes since it need not be UTF-8, and its count.
type wordPartFile struct {
	Text  []byte `json:"text"`
	Count int64  `json:"count"`
}

func (m *moments) part() momentsPart {
	return momentsPart{m.n, [2]float64{m.sum.hi, m.sum.lo}, [2]float64{m.square.hi, m.square.lo}, m.min, m.max}
}

func (p *momentsPart) moments() moments {
	return moments{p.N, sum{p.Sum[0], p.Sum[1]}, sum{p.Square[0], p.Square[1]}, p.Min, p.Max}
}

func (n *numbers) part() numbersPart {
	return numbersPart{n.moments.part(), n.sketch.levels, n.sketch.sampled, n.zeros, n.notANumber, n.huge}
}

func (p *numbersPart) numbers() numbers {
	return numbers{p.Moments.moments(), sketch{levels: p.Levels, sampled: p.Sampled}, p.Zeros, p.NaN, p.Infinite}
}

func (c *collector) part() *tensorPart {
	p := &tensorPart{
		Name: c.name, DType: c.dtype.String(), Shape: append([]int64{}, c.shape...), Examples: c.examples, Empty: c.empty,
		All: c.all.part(), Lengths: c.lengths.part(), Bytes: c.bytes.part(), Counting: c.distinct.counting,
	}
	for i := range c.positions {
		p.Positions = append(p.Positions, c.positions[i].part())
	}
	for value := range c.distinct.exact {
		p.Exact = append(p.Exact, value)
	}
	slices.Sort(p.Exact)
	list, dropped := c.words.sorted()
	p.Dropped = dropped
	for _, w := range list {
		p.Words = append(p.Words, wordPartFile{[]byte(w.Text), w.Count})
	}
	return p
}

// collector returns what the part was made of, with the words in a separate table. The error says what
// is wrong with a part that was not written by this package.
func (p *tensorPart) collector() (*collector, error) {
	d, ok := processing.Loadable(p.DType)
	if !ok {
		return nil, fmt.Errorf("tensor %s: no dtype named %s", millrace.Quote(p.Name), millrace.Quote(p.DType))
	}
	c := newCollector(known{name: p.Name, dtype: d, shape: p.Shape}, newWords(mostWords))
	if len(c.positions) != len(p.Positions) || len(p.Counting) != 0 && len(p.Counting) != 1<<distinctLog || len(p.Exact) > mostExact {
		return nil, fmt.Errorf("tensor %s: the part does not fit its shape", millrace.Quote(p.Name))
	}
	for _, n := range []*numbersPart{&p.All, &p.Lengths, &p.Bytes} {
		if len(n.Levels) > mostLevels || n.Sampled < 0 || n.Sampled > len(n.Levels) {
			return nil, fmt.Errorf("tensor %s: the sketch of its quantiles has %d levels", millrace.Quote(p.Name), len(n.Levels))
		}
	}
	for i := range p.Positions {
		c.positions[i] = p.Positions[i].moments()
	}
	c.examples, c.empty, c.all, c.lengths, c.bytes = p.Examples, p.Empty, p.All.numbers(), p.Lengths.numbers(), p.Bytes.numbers()
	for _, value := range p.Exact {
		c.distinct.add(value)
	}
	if len(p.Counting) > 0 {
		c.distinct = distinct{counting: p.Counting}
	}
	for _, w := range p.Words {
		c.words.addCounted(string(w.Text), w.Count, p.Dropped)
	}
	return c, nil
}

const (
	mostLevels = 62      // a value stands for 2 to the power of its level
	mostPart   = 1 << 30 // bytes of a file
)

// ReadPart reads a file that an analysis of a shard has written.
func ReadPart(path string) (*Part, error) {
	p := &Part{}
	if err := read(path, p, "read a part of statistics"); err != nil {
		return nil, err
	}
	if p.Format != PartFormat {
		return nil, notWritten(path, "this is not a part of statistics; millrace analyze --shard writes one")
	}
	return p, nil
}

// read reads a file of JSON into v, which keeps its zero value if the file has another form.
func read[T any](path string, v *T, doing string) error {
	text, err := regularfile.ReadFile(path, mostPart)
	if err != nil {
		e := millrace.Errorf(millrace.ErrIO, "%s: %w", doing, err)
		e.File = path
		return e
	}
	if json.Unmarshal(text, v) != nil {
		var zero T
		*v = zero
	}
	return nil
}

// notWritten returns an error for a file that analyze has not written.
func notWritten(path, why string) error {
	e := millrace.Errorf(millrace.ErrConfig, "%s", why)
	e.File = path
	return e
}

// Merge makes statistics of the parts of all shards, in any order. It is an error of class
// millrace.ErrConfig if one is missing, or is there twice, or if they are parts of different tensors.
func Merge(parts []*Part) (*Statistics, error) {
	wrong := func(format string, args ...any) (*Statistics, error) {
		return nil, millrace.Errorf(millrace.ErrConfig, format, args...)
	}
	if len(parts) == 0 {
		return wrong("there are no parts to merge")
	}
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b *Part) int { return int(a.Shard.Index - b.Shard.Index) })
	found := &Statistics{Format: Format, Tensors: map[string]*Tensor{}}
	var all []*collector
	var pairs *leaks
	for i, p := range parts {
		switch {
		case p.Shard.Count != int64(len(parts)):
			return wrong("%d parts, and one of them is part %d of %d: all are needed", len(parts), p.Shard.Index, p.Shard.Count)
		case p.Shard.Index != int64(i):
			return wrong("the part %d of %d is missing, and another is there twice", i, len(parts))
		case len(p.Tensors) != len(parts[0].Tensors):
			return wrong("the parts have different tensors, so they are parts of different configs")
		}
		found.Examples, found.Filtered = found.Examples+p.Examples, found.Filtered+p.Filtered
		var columns []known
		for k, t := range p.Tensors {
			c, err := t.collector()
			if err != nil {
				return wrong("part %d: %w", i, err)
			}
			columns = append(columns, c.known)
			if i == 0 {
				all = append(all, c)
				continue
			}
			first := all[k]
			if first.name != c.name || first.dtype != c.dtype || !slices.Equal(first.shape, c.shape) {
				return wrong("part %d has the tensor %s where part 0 has %s, so they are parts of different configs", i, millrace.Quote(c.name), millrace.Quote(first.name))
			}
			first.join(c)
			first.words.merge(c.words)
		}
		if here := p.Leaks.leaks(columns); pairs == nil {
			pairs = here
		} else if len(here.columns) == len(pairs.columns) {
			pairs.join(here)
		}
	}
	found.Determines = pairs.result()
	for _, c := range all {
		found.Tensors[c.name] = c.result()
	}
	return found, nil
}
