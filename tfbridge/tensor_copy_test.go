package tfbridge

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

func TestCopyElements(t *testing.T) {
	testruntime.Need(t)
	from := newTestTensor(t, [][]int32{{1, 2}, {3, 4}})
	to, err := AllocateTensor(Int32, []int64{3, 2})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := errors.Join(to.CopyElements(2, from, 0, 4), to.CopyElements(0, from, 2, 2)); err != nil {
		t.Fatal(err)
	}
	if got, _ := View[int32](to); !slices.Equal(got, []int32{3, 4, 1, 2, 3, 4}) {
		t.Errorf("numbers: got %v", got)
	}
}

// Strings are copied, and their bytes are counted; the bytes of overwritten strings no
// longer are.
func TestCopyStrings(t *testing.T) {
	testruntime.Need(t)
	long := strings.Repeat("long", 100)
	from := newTestTensor(t, []string{long, "b", long + "!"})
	to, err := AllocateTensor(String, []int64{4})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	before := LiveBytes()
	err = errors.Join(to.CopyElements(1, from, 0, 3), to.CopyElements(0, to, 2, 1), to.CopyElements(3, to, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := to.Strings(); !slices.Equal(got, []string{"b", long, "b", "b"}) {
		t.Errorf("strings: got %q", got)
	}
	if got := LiveBytes() - before; got != int64(len(long)) {
		t.Errorf("the strings hold %d bytes more, want %d", got, len(long))
	}
}

func TestCopyElementsRefuses(t *testing.T) {
	testruntime.Need(t)
	to, from := newTestTensor(t, []int64{1, 2, 3}), newTestTensor(t, []int64{1, 2})
	closed := newTestTensor(t, []int64{1})
	closed.Close()
	tests := []struct {
		name         string
		from         *Tensor
		at, start, n int64
		want         millrace.Class
	}{
		{"another type", newTestTensor(t, []int32{1}), 0, 0, 1, millrace.ErrSchema},
		{"a closed tensor", closed, 0, 0, 1, millrace.ErrClosed},
		{"no tensor", nil, 0, 0, 1, millrace.ErrClosed},
		{"before the first", from, 0, -1, 1, millrace.ErrSchema},
		{"behind the last", from, 0, 1, 2, millrace.ErrSchema},
		{"before the target", from, -1, 0, 1, millrace.ErrSchema},
		{"behind the target", from, 2, 0, 2, millrace.ErrSchema},
		{"fewer than none", from, 0, 0, -1, millrace.ErrSchema},
		{"sums that overflow", from, 0, 1<<63 - 1, 1<<63 - 1, millrace.ErrSchema},
		{"over itself", to, 1, 0, 2, millrace.ErrSchema},
	}
	for _, tt := range tests {
		if err := to.CopyElements(tt.at, tt.from, tt.start, tt.n); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want class %v", tt.name, err, tt.want)
		}
	}
	if got, _ := View[int64](to); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("after the refusals: %v", got)
	}
}
