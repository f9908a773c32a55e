package cases_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"millrace/internal/test/cases"
)

// cutter cuts windows out of the files of a case as a pipeline would.
type cutter struct {
	p   *cases.Properties
	rng *rand.Rand
}

// units returns the records of a file, or their elements, each as a batch of one with
// the values along the first axis of the tensor.
func (c *cutter) units(t *testing.T, records []json.RawMessage) []batchJSON {
	if c.p.Loader == "continuous_sequence" {
		return split(decode(t, records))
	}
	return decode(t, records)
}

// windows cuts one file.
func (c *cutter) windows(units []batchJSON) []batchJSON {
	var out []batchJSON
	for start := 0; len(units)-start >= c.p.MinWindow; {
		n, left := c.p.MinWindow+c.rng.IntN(c.p.MaxWindow-c.p.MinWindow+1), len(units)-start
		last := n > left || (n == left && c.p.Stride == nil)
		if n > left && c.p.Tail == "drop" {
			return out
		}
		n = min(n, left)
		w := make(batchJSON)
		for _, u := range units[start : start+n] {
			for k, t := range u {
				if w[k] == nil {
					w[k] = &tensorJSON{t.DType, append([]int{1, 0}, t.Shape[1:]...), []json.RawMessage{}}
				}
				w[k].Shape[1] += t.Shape[0]
				w[k].Values = append(w[k].Values, t.Values...)
			}
		}
		out = append(out, w)
		if last {
			return out
		}
		if c.p.Stride != nil {
			n = *c.p.Stride
		}
		start += n
	}
	return out
}

// pad fills the windows of one batch up to the longest.
func pad(rows []batchJSON) {
	fill := map[string]string{"bool": "false", "string": `""`}
	for k := range rows[0] {
		longest, width := 0, 1
		for _, r := range rows {
			longest = max(longest, r[k].Shape[1])
		}
		for _, d := range rows[0][k].Shape[2:] {
			width *= d
		}
		for _, r := range rows {
			zero := "0"
			if f, ok := fill[r[k].DType]; ok {
				zero = f
			}
			for len(r[k].Values) < longest*width {
				r[k].Values = append(r[k].Values, json.RawMessage(zero))
			}
			r[k].Shape[1] = longest
		}
	}
}

// output cuts the windows of a case and makes batches of them.
func (c *cutter) output(t *testing.T) []batchJSON {
	enough := 1 << 20
	if c.p.Take != nil {
		enough = *c.p.Take * c.p.BatchSize
	}
	var rows []batchJSON
	for pass := 0; (c.p.Epochs == nil || pass < *c.p.Epochs) && len(rows) < enough; pass++ {
		for _, f := range c.p.Files {
			rows = append(rows, c.windows(c.units(t, f.Records))...)
		}
	}
	rows = rows[:min(len(rows), enough)]
	if c.p.Order == "any" {
		c.rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	var batches []batchJSON
	for len(rows) > 0 {
		n := min(len(rows), c.p.BatchSize)
		if c.p.Padded {
			pad(rows[:n])
		}
		batches = append(batches, join(rows[:n], []int{n})...)
		rows = rows[n:]
	}
	return batches
}

func TestCompareWindows(t *testing.T) {
	for _, name := range cases.All(t) {
		c := cases.Read(t, name)
		if c.Mode != "windows" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cut := &cutter{&c.Properties, rand.New(rand.NewPCG(1, 2))}
			if err := cases.Compare(c, encode(t, cut.output(t)), nil, 0); err != nil {
				t.Errorf("windows cut by the rules: %v", err)
			}
			for name, damage := range damages {
				batches := cut.output(t)
				if !damage(&c.Properties, batches) {
					continue
				}
				if cases.Compare(c, encode(t, batches), nil, 0) == nil {
					t.Errorf("%s: passes", name)
				}
			}
		})
	}
}

// damages are ways to break the rules. Each function reports whether it was applicable.
var damages = map[string]func(p *cases.Properties, batches []batchJSON) bool{
	"first batch again": func(p *cases.Properties, b []batchJSON) bool {
		b[1%len(b)] = b[0]
		return len(b) > 2
	},
	"first value": func(p *cases.Properties, b []batchJSON) bool {
		b[0][p.Key].Values[0] = json.RawMessage("77777")
		return true
	},
	"other dtype": func(p *cases.Properties, b []batchJSON) bool {
		b[0][p.Key].DType = "float64"
		return true
	},
	"a tensor is missing": func(p *cases.Properties, b []batchJSON) bool {
		for k := range b[0] {
			if k != p.Key {
				delete(b[0], k)
				return true
			}
		}
		return false
	},
}
