package loaders_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	stagecheck "millrace/loaders/stage/check"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// castCase is a feature that is cast with a check, values that the cast keeps, and
// values that it would change.
type castCase struct {
	dtype, stored string
	keeps, loses  []float64 // integers beyond 1<<53 are in ints
	ints          []int64   // more values that the cast keeps
	losesInts     []int64
}

var castCases = []castCase{
	{dtype: "int8", stored: "int", keeps: []float64{-128, 127}, loses: []float64{-129, 128}},
	{dtype: "int16", stored: "int", keeps: []float64{-1 << 15, 1<<15 - 1}, loses: []float64{-1<<15 - 1, 1 << 15}},
	{dtype: "int32", stored: "int", keeps: []float64{-1 << 31, 1<<31 - 1}, loses: []float64{-1<<31 - 1, 1 << 31}},
	{dtype: "int64", stored: "int", ints: []int64{math.MinInt64, math.MaxInt64}},
	{dtype: "uint8", stored: "int", keeps: []float64{0, 255}, loses: []float64{-1, 256}},
	{dtype: "uint16", stored: "int", keeps: []float64{0, 1<<16 - 1}, loses: []float64{-1, 1 << 16}},
	{dtype: "uint32", stored: "int", keeps: []float64{0, 1<<32 - 1}, loses: []float64{-1, 1 << 32}},
	{dtype: "uint64", stored: "int", keeps: []float64{0}, ints: []int64{math.MaxInt64}, loses: []float64{-1}, losesInts: []int64{math.MinInt64}},
	{dtype: "bool", stored: "int", keeps: []float64{0, 1}, loses: []float64{2, -1}},
	{dtype: "float16", stored: "int", keeps: []float64{0, 2048, 2050, -65504}, loses: []float64{2049, 65505, 65536, -131072}},
	{dtype: "bfloat16", stored: "int", keeps: []float64{256, 258, -1 << 40}, loses: []float64{257, -513}},
	{dtype: "float32", stored: "int", keeps: []float64{1 << 24, 1<<24 + 2}, ints: []int64{math.MinInt64}, loses: []float64{1<<24 + 1}, losesInts: []int64{math.MaxInt64}},
	{dtype: "float64", stored: "int", keeps: []float64{1 << 53}, losesInts: []int64{1<<53 + 1}},
	{dtype: "int8", stored: "float", keeps: []float64{-128, 127, 0}, loses: []float64{1.5, 128, -129, math.NaN(), math.Inf(1)}},
	{dtype: "uint8", stored: "float", keeps: []float64{0, 255}, loses: []float64{-1, 256, 0.25}},
	{dtype: "bool", stored: "float", keeps: []float64{0, 1}, loses: []float64{2, 0.5}},
	{dtype: "float16", stored: "float", keeps: []float64{65504, -65504, 0x1p-24, 1 + 0x1p-10, 0x1p-14, math.NaN(), math.Inf(-1), 0},
		loses: []float64{65520, 65536, 0x1p-25, 1 + 0x1p-11, 0x1.8p-24}},
	{dtype: "bfloat16", stored: "float", keeps: []float64{1 + 0x1p-7, 0x1p100, math.NaN(), math.Inf(1)}, loses: []float64{1 + 0x1p-8, 0x1.FFp127}},
	{dtype: "float64", stored: "float", keeps: []float64{math.MaxFloat32, 0x1p-149, math.NaN()}},
}

// features returns the values as features of records: first those that are kept, then
// those that are lost.
func (c *castCase) features() (kept, lost []example.Feature) {
	of := func(v float64) example.Feature {
		if c.stored == "int" {
			return fixture.Ints(int64(v))
		}
		return fixture.Floats(float32(v))
	}
	for _, v := range c.keeps {
		kept = append(kept, of(v))
	}
	for _, v := range c.ints {
		kept = append(kept, fixture.Ints(v))
	}
	for _, v := range c.loses {
		lost = append(lost, of(v))
	}
	for _, v := range c.losesInts {
		lost = append(lost, fixture.Ints(v))
	}
	return kept, lost
}

// dataset returns a dataset of records with the features.
func (c *castCase) dataset(t *testing.T, features ...example.Feature) *fixture.Dataset {
	d := fixture.New(t)
	list := d.Manifest["features"].([]fixture.Object)
	list[1] = fixture.Object{"name": "x", "dtype": c.dtype, "shape": []int{}, "deserialize_type": c.stored, "checked_cast": true}
	d.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}, {"from_name": "x", "to_name": "x"}}
	d.Args["target_batch_size"] = 1
	var records [][]byte
	for i, f := range features {
		records = append(records, example.Marshal([]example.Named{{Name: "id", Feature: fixture.Ints(int64(i))}, {Name: "x", Feature: f}}))
	}
	d.WriteRecords(t, "a.tfrecords", records...)
	return d
}

// A checked cast keeps the values that its dtype holds and refuses others, in the graph
// as well as in the strict reading that finds the record. The error names the value.
func TestCheckedCasts(t *testing.T) {
	testruntime.Need(t)
	for _, c := range castCases {
		t.Run(c.dtype+" from "+c.stored, func(t *testing.T) {
			kept, lost := c.features()
			ids, err := read(t, c.dataset(t, append(kept, lost...)...))
			if diff := cmp.Diff(count(int64(len(kept))), ids); diff != "" {
				t.Errorf("delivered (-want +got)\n%s", diff)
			}
			if len(lost) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			checkCastFault(t, err, int64(len(kept)), c.dtype)
			for _, f := range lost {
				d := c.dataset(t, f)
				d.Save(t)
				plan, problems := loaders.Check(d.Config(), nil)
				if plan == nil {
					t.Fatal(problems)
				}
				checkCastFault(t, stagecheck.FindBadRecord(t.Context(), plan.Spec), 0, c.dtype)
			}
		})
	}
}

// checkCastFault checks an error about a value that a cast would lose.
func checkCastFault(t *testing.T, err error, record int64, dtype string) {
	t.Helper()
	var e *millrace.Error
	if !errors.As(err, &e) || e.Class != millrace.ErrSchema || e.Record != record || e.Feature != "x" ||
		!strings.Contains(e.Msg, fmt.Sprintf("does not fit %s (checked_cast)", dtype)) {
		t.Errorf("got %v, want a value of record %d that does not fit %s", err, record, dtype)
	}
}
