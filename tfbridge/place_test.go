package tfbridge

import (
	"slices"
	"testing"

	"millrace"

	"github.com/google/go-cmp/cmp"
)

func TestCutFault(t *testing.T) {
	tests := []struct{ name, msg, query, rest string }{
		{"none", "out of memory", "", "out of memory"},
		{"at the end", "file \"x\": bad [millrace.fault class=schema&file=x]", "class=schema&file=x", "file \"x\": bad"},
		{"in the middle", "in Map: bad [millrace.fault class=schema]\n\t [[{{node x}}]]", "class=schema", "in Map: bad\n\t [[{{node x}}]]"},
		{"the last of two", "feature \" [millrace.fault class=i]\": bad [millrace.fault class=schema]", "class=schema", "feature \" [millrace.fault class=i]\": bad"},
		{"cut", "bad [millrace.fault class=schema", "", "bad [millrace.fault class=schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			query, rest := cutFault(tt.msg)
			if query != tt.query || rest != tt.rest {
				t.Errorf("got %q and %q, want %q and %q", query, rest, tt.query, tt.rest)
			}
		})
	}
}

func TestPlaced(t *testing.T) {
	cause := &Error{Code: DataLoss}
	got := placed("class=truncated&file=%2Fa%00%26&record=3&offset=0&what=it%20ends", cause)
	want := &millrace.Error{Class: millrace.ErrTruncated, Op: "read", File: "/a\x00&", Record: 3, Offset: 0, Msg: "it ends", Code: int(DataLoss), Err: cause}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, query := range []string{"", "class=%", "class=a;b"} {
		if got := placed(query, cause); got != nil {
			t.Errorf("%q: got %v, want nil", query, got)
		}
	}
	if got := placed("class=schema&record=99999999999999999999", cause); got.Record != -1 || got.Offset != -1 {
		t.Errorf("got record %d, offset %d, want -1", got.Record, got.Offset)
	}
}

// TestCheck parses the mark of a check, and the integers after it, from a message of
// Assert. Other messages contain no mark.
func TestCheck(t *testing.T) {
	tests := []struct {
		msg    string
		number int
		values []int64
		ok     bool
	}{
		{"some words: [" + CheckMark(12) + "] [5] [-7]\n\t [[{{node Assert}}]]", 12, []int64{5, -7}, true},
		{"[" + CheckMark(0) + "] [5] [[{{node Assert}}]]", 0, []int64{5}, true},
		{"[" + CheckMark(0) + "] [5] [7", 0, []int64{5}, true},
		{"[" + CheckMark(1) + "]", 1, nil, true},
		{"[" + CheckMark(1), 0, nil, false},
		{"[" + CheckMark(-1) + "] [5]", 0, nil, false},
		{"assertion failed: [5] [7]", 0, nil, false},
		{"", 0, nil, false},
	}
	for _, tt := range tests {
		number, values, ok := (&Error{Msg: tt.msg}).Check()
		if number != tt.number || !slices.Equal(values, tt.values) || ok != tt.ok {
			t.Errorf("%q: got %d, %v, %v", tt.msg, number, values, ok)
		}
	}
}
