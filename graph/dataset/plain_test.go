package dataset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/dtype"
	"millrace/graph/dataset"
)

// Half-precision numbers are not mistaken for the uint16 that Go stores them in.
func TestHalfPrecisionKeepsItsType(t *testing.T) {
	type named uint16
	type row struct {
		Half  []dtype.Float16
		Brain dtype.BFloat16
		Plain named
	}
	rows := []row{{[]dtype.Float16{dtype.NewFloat16(1.5)}, dtype.NewBFloat16(-2), 7}}
	s := newScope(t)
	d := dataset.FromRows(s, rows)
	if got, want := d.Spec().String(), "{Brain: bfloat16[], Half: float16[1], Plain: uint16[]}"; got != want {
		t.Errorf("structure\n got %s\nwant %s", got, want)
	}
	for got, err := range dataset.Iterate[row](t.Context(), d, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows[0], got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}
