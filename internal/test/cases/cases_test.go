package cases_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/internal/test/cases"
)

// A tensorJSON is a tensor as cases write it.
type tensorJSON struct {
	DType  string            `json:"dtype"`
	Shape  []int             `json:"shape"`
	Values []json.RawMessage `json:"values"`
}

type batchJSON map[string]*tensorJSON

func decode(t *testing.T, raw []json.RawMessage) []batchJSON {
	t.Helper()
	out := make([]batchJSON, len(raw))
	for i, r := range raw {
		if err := json.Unmarshal(r, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func encode(t *testing.T, batches []batchJSON) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, batch := range batches {
		line, err := json.Marshal(batch)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// split cuts batches into rows, each a batch of one.
func split(batches []batchJSON) []batchJSON {
	var rows []batchJSON
	for _, b := range batches {
		n := 0
		for _, t := range b {
			n = t.Shape[0]
		}
		for i := range n {
			r := make(batchJSON)
			for k, t := range b {
				w := len(t.Values) / n
				r[k] = &tensorJSON{t.DType, append([]int{1}, t.Shape[1:]...), t.Values[i*w : (i+1)*w]}
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// join is the inverse of split for batches of the given sizes.
func join(rows []batchJSON, sizes []int) []batchJSON {
	var out []batchJSON
	for _, n := range sizes {
		b := make(batchJSON)
		for _, r := range rows[:n] {
			for k, t := range r {
				if b[k] == nil {
					b[k] = &tensorJSON{t.DType, append([]int{n}, t.Shape[1:]...), []json.RawMessage{}}
				}
				b[k].Values = append(b[k].Values, t.Values...)
			}
		}
		out, rows = append(out, b), rows[n:]
	}
	return out
}

func TestPrepare(t *testing.T) {
	dir := cases.Prepare(t, "batch-1")
	data, err := os.ReadFile(filepath.Join(dir, "loader.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(dir+"/data")) || bytes.Contains(data, []byte("${CASE}")) {
		t.Errorf("the folder's path is not put in:\n%s", data)
	}
	if filepath.Base(dir) != "batch-1" || cases.Model(dir) != "" || cases.IsSequence(t, dir) {
		t.Errorf("Prepare(batch-1) gives %s", dir)
	}
}

// TestExpectations compares the expectations of the cases with themselves.
func TestExpectations(t *testing.T) {
	for _, name := range cases.All(t) {
		c := cases.Read(t, name)
		switch c.Mode {
		case "exact":
			checkExact(t, c)
		case "multiset":
			checkMultiset(t, c)
		}
	}
}

func checkExact(t *testing.T, c *cases.Case) {
	t.Helper()
	batches := decode(t, c.Batches)
	out := encode(t, batches)
	if err := cases.Compare(c, out, nil, 0); err != nil {
		t.Errorf("%s: its own batches: %v", c.Name, err)
	}
	if cases.Compare(c, out, []byte("x"), 1) == nil {
		t.Errorf("%s: a nonzero exit code passes", c.Name)
	}
	if len(batches) == 0 {
		return
	}
	if cases.Compare(c, encode(t, batches[1:]), nil, 0) == nil {
		t.Errorf("%s: a missing batch passes", c.Name)
	}
	if cases.Compare(c, encode(t, append(batches, batches[0])), nil, 0) == nil {
		t.Errorf("%s: one batch more passes", c.Name)
	}
}

func checkMultiset(t *testing.T, c *cases.Case) {
	t.Helper()
	p, epoch := c.Properties, split(decode(t, c.Batches))
	total := 0
	for _, n := range p.BatchSizes {
		total += n
	}
	var rows []batchJSON
	for seed := uint64(1); len(rows) < total; seed++ {
		rng := rand.New(rand.NewPCG(seed, 0))
		part := slices.Clone(epoch)
		if p.FilesContiguous && seed == 1 {
			slices.Reverse(part)
		} else if p.FilesContiguous {
			// Later epochs in file order: other than the first.
		} else if p.Shuffled || p.FileKey != "" {
			rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
		rows = append(rows, part...)
	}
	rows = rows[:total]
	if err := cases.Compare(c, encode(t, join(rows, p.BatchSizes)), nil, 0); err != nil {
		t.Errorf("%s: its own rows shuffled: %v", c.Name, err)
	}
	if len(rows) < len(epoch) || len(epoch) < 2 {
		return
	}
	rows[0] = rows[len(epoch)-1]
	if cases.Compare(c, encode(t, join(rows, p.BatchSizes)), nil, 0) == nil {
		t.Errorf("%s: a repeated row passes", c.Name)
	}
}

func TestCompareExact(t *testing.T) {
	expect := func(tensor string) *cases.Case {
		return &cases.Case{Name: "c", Mode: "exact", Batches: []json.RawMessage{json.RawMessage(`{"x":` + tensor + `}`)}}
	}
	tensor := func(dtype, values string) string {
		n := strings.Count(strings.ReplaceAll(values, "],[", "];["), ",") + 1
		if strings.HasPrefix(dtype, "complex") {
			n = 1
		}
		return `{"dtype":"` + dtype + `","shape":[` + string(rune('0'+n)) + `],"values":[` + values + `]}`
	}
	tests := []struct {
		name, dtype, want, got string
		same                   bool
	}{
		{"int64 beyond float64", "int64", "9007199254740993", "9007199254740993", true},
		{"int64 off by one", "int64", "9007199254740993", "9007199254740992", false},
		{"uint64", "uint64", "18446744073709551615", "18446744073709551615", true},
		{"out of range", "uint8", "255", "256", false},
		{"fraction", "int32", "1", "1.0", false},
		{"float32 digits", "float32", "0.1", "0.100000001490116", true},
		{"float32 differs", "float32", "0.1", "0.10000001", false},
		{"float64 digits", "float64", "0.1", "0.100000001490116", false},
		{"float16 digits", "float16", "0.1", "0.09997559", true},
		{"float16 overflow", "float16", `"Infinity"`, "65520", true},
		{"float16 largest", "float16", "65504", "65519.9", true},
		{"float16 subnormal", "float16", "5.960464477539063e-08", "6e-8", true},
		{"bfloat16 digits", "bfloat16", "0.1", "0.10009766", true},
		{"bfloat16 differs", "bfloat16", "0.1", "0.099", false},
		{"bfloat16 overflow", "bfloat16", `"Infinity"`, "3.4e38", true},
		{"nan", "float32", `"NaN"`, `"NaN"`, true},
		{"nan and number", "float32", `"NaN"`, `0`, false},
		{"infinities", "float32", `"Infinity"`, `"-Infinity"`, false},
		{"zeros", "float32", `0`, `-0.0`, true},
		{"overflow", "float64", `"-Infinity"`, "-1e999", true},
		{"other text", "float32", `"NaN"`, `"nan"`, false},
		{"bool", "bool", `true,false`, `true,false`, true},
		{"bool differs", "bool", `true`, `false`, false},
		{"bool as number", "bool", `true`, `1`, false},
		{"bool null", "bool", `false`, `null`, false},
		{"string", "string", `"AAE="`, `"AAE="`, true},
		{"string differs", "string", `"AAE="`, `"AAI="`, false},
		{"string unpadded", "string", `"AAE="`, `"AAE"`, false},
		{"string with a line break", "string", `"AAE="`, `"AAE=\n"`, false},
		{"complex", "complex64", `[0.1,2]`, `[0.100000001,2]`, true},
		{"complex differs", "complex64", `[0.1,2]`, `[0.1,3]`, false},
		{"complex nan", "complex128", `["NaN",2]`, `["NaN",2.0]`, true},
		{"complex short", "complex128", `[1,2]`, `[1]`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := cases.Compare(expect(tensor(tt.dtype, tt.want)), []byte(`{"x":`+tensor(tt.dtype, tt.got)+"}"), nil, 0)
			if (err == nil) != tt.same {
				t.Errorf("Compare(%s, %s) = %v", tt.want, tt.got, err)
			}
		})
	}
}

func TestCompareShapes(t *testing.T) {
	c := &cases.Case{Name: "c", Mode: "exact", Batches: []json.RawMessage{
		json.RawMessage(`{"x":{"dtype":"int8","shape":[2,1],"values":[1,2]}}`)}}
	tests := []struct {
		name, got string
		same      bool
	}{
		{"same", `{"x":{"dtype":"int8","shape":[2,1],"values":[1,2]}}`, true},
		{"blank lines", "\n  \n" + `{"x":{"dtype":"int8","shape":[2,1],"values":[1,2]}}` + "\n\n", true},
		{"other shape", `{"x":{"dtype":"int8","shape":[1,2],"values":[1,2]}}`, false},
		{"other dtype", `{"x":{"dtype":"int16","shape":[2,1],"values":[1,2]}}`, false},
		{"too few values", `{"x":{"dtype":"int8","shape":[2,1],"values":[1]}}`, false},
		{"negative size", `{"x":{"dtype":"int8","shape":[-2,-1],"values":[1,2]}}`, false},
		{"no shape", `{"x":{"dtype":"int8","values":[1,2]}}`, false},
		{"other name", `{"y":{"dtype":"int8","shape":[2,1],"values":[1,2]}}`, false},
		{"one more", `{"x":{"dtype":"int8","shape":[2,1],"values":[1,2]},"y":{"dtype":"int8","shape":[1],"values":[1]}}`, false},
		{"nothing in it", `{}`, false},
		{"not JSON", `x`, false},
		{"nothing", ``, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := cases.Compare(c, []byte(tt.got), nil, 0); (err == nil) != tt.same {
				t.Errorf("Compare = %v", err)
			}
		})
	}
}

func TestCompareError(t *testing.T) {
	c := &cases.Case{Name: "err-zeta", Mode: "error", ErrorContains: []string{"Zeta", "one|two"}}
	tests := []struct {
		name, stderr string
		exit         int
		same         bool
	}{
		{"both", "zETA is Two", 2, true},
		{"exit code 0", "zeta one", 0, false},
		{"no text", " \n", 2, false},
		{"one is missing", "zeta", 2, false},
		{"only in the folder's name", "/tmp/err-zeta/x: one", 2, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := cases.Compare(c, nil, []byte(tt.stderr), tt.exit); (err == nil) != tt.same {
				t.Errorf("Compare = %v", err)
			}
		})
	}
}
