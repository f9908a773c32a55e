package effect

import (
	"strings"
	"testing"
)

// The table can be parsed, and Of returns its rows.
func TestTable(t *testing.T) {
	all, err := rows()
	if err != nil {
		t.Fatal(err)
	}
	for op, r := range all {
		if r.Fresh && (r.Alias || len(r.Writes) > 0) {
			t.Errorf("%s is fresh, and shares a buffer", op)
		}
		if r.Pure && (r.State || r.Calls || r.Prints || r.Limited()) {
			t.Errorf("%s is pure, and is not", op)
		}
	}
	if r, ok := Of("InplaceUpdate"); !ok || len(r.Writes) != 1 || r.Writes[0] != 0 {
		t.Errorf("InplaceUpdate: %+v, %v", r, ok)
	}
	if _, ok := Of("NoSuchOperation"); ok {
		t.Error("an operation of no TensorFlow has a row")
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ table, want string }{
		{"A pure\nA pure", "A has two rows"},
		{"A", "A has an empty row"},
		{"A nothing", `no effect "nothing"`},
		{"A writes:x", "names no input"},
		{"A writes", "names no input"},
		{"A parses", `no effect "parses"`},
		{"A parses:T parses:T", `no effect "parses:T"`},
		{"A pure:0", `no effect "pure:0"`},
	} {
		if _, err := parse(tt.table); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("parse(%q)\n got %v\nwant %s", tt.table, err, tt.want)
		}
	}
}
