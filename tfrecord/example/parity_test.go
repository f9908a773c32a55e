package example

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// values are the parsed features "i", "f" and "s".
type values struct {
	I []int64  `json:"i"`
	F []uint32 `json:"f"` // bits
	S []string `json:"s"` // hexadecimal

	Kind string `json:"kind,omitempty"` // the kind of a feature whose kind does not match its name
}

// parse parses a record with this package.
func parse(record []byte) (*values, error) {
	f, err := Parse(record)
	if err != nil {
		return nil, err
	}
	v := &values{I: []int64{}, F: []uint32{}, S: []string{}}
	for name, kind := range map[string]Kind{"i": Int64, "f": Float, "s": Bytes} {
		got, err := f.Get(name)
		if err != nil {
			return nil, err
		}
		if got.Kind != None && got.Kind != kind {
			return nil, fmt.Errorf("feature %q is of kind %s", name, got.Kind)
		}
		v.I = append(v.I, got.Ints...)
		for _, x := range got.Floats {
			v.F = append(v.F, math.Float32bits(x))
		}
		for _, x := range got.Bytes {
			v.S = append(v.S, hex.EncodeToString(x))
		}
	}
	return v, nil
}

// oddity reports one of the errors that only this package sees.
func oddity(err error) bool {
	for _, text := range []string{
		"exceeds 64 bits", "after a packed list", "given twice", "given again", "a second list", "does not recognise",
		"a group", "where a feature's name or value begins", // a tag in two bytes
	} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// TestParity compares this package with TensorFlow 2.21's parser and protobuf on odd
// records (testdata/parity/examples.py). TensorFlow must accept every record that this
// package accepts, with the same values. This package must accept the records that both
// others accept with the same values, except for oddities. It must never accept a
// record that ends TensorFlow's process.
func TestParity(t *testing.T) {
	file, err := os.Open("testdata/parity/examples.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	accepted := 0
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		var c struct {
			Record    string
			TF, Proto *values
			Died      bool // TensorFlow's process ended
		}
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		record, err := hex.DecodeString(c.Record)
		if err != nil {
			t.Fatal(err)
		}
		agree := c.TF != nil && c.Proto != nil && cmp.Equal(c.TF, c.Proto)
		got, err := parse(record)
		if err == nil {
			accepted++
		}
		if c.Died && err == nil {
			t.Errorf("line %d: accepted", n)
		}
		if err == nil && (c.TF == nil || !cmp.Equal(got, c.TF)) || err != nil && agree && !oddity(err) {
			t.Errorf("line %d: %q\n got %+v, %v\n TF %+v\n protobuf %+v", n, record, got, err, c.TF, c.Proto)
		}
	}
	if accepted < 300 {
		t.Errorf("only %d records accepted", accepted)
	}
}
