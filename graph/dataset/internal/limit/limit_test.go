package limit_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// none is the class that means success.
const none millrace.Class = ""

// Both ends of a range belong to it. A size beyond it is an error that names the
// operation, the size and the bound.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		size  int64
		class millrace.Class
		words string
	}{
		{-3, millrace.ErrModel, "-3 is less than -2"},
		{-2, none, ""}, {0, none, ""}, {5, none, ""},
		{6, millrace.ErrLimit, "6 is more than 5"},
		{math.MaxInt64, millrace.ErrLimit, "is more than 5"},
	} {
		s := graphtest.NewScope(t)
		limit.Between(-2, 5).Check(s, "the operation", tt.size)
		checkError(t, s.Err(), tt.class, tt.words)
	}
}

// checkError compares an error with the wanted class and text.
func checkError(t *testing.T, err error, class millrace.Class, words string) {
	t.Helper()
	switch {
	case class == none && err != nil:
		t.Errorf("got %v, want none", err)
	case class != none && (!errors.Is(err, class) || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "the operation")):
		t.Errorf("got %v, want one of class %v of the operation with %q", err, class, words)
	}
}

// A batch that is allocated as a whole may have fewer elements.
func TestBatchSize(t *testing.T) {
	if whole, any := limit.BatchSize(true), limit.BatchSize(false); whole != 100_000_000 || any != 1<<31-1 {
		t.Errorf("got %d and %d elements", whole, any)
	}
}

// A padded batch may take at most 1 TiB, whichever dimension exceeds it. Unknown
// dimensions count as 1.
func TestFits(t *testing.T) {
	spec := func(d tfbridge.DataType, dims ...int64) graph.Spec {
		return graph.Spec{DType: d, Shape: tfbridge.MakeShape(dims...)}
	}
	for _, tt := range []struct {
		name  string
		n     int64
		spec  graph.Spec
		class millrace.Class
		words string
	}{
		{"1 TiB", 1 << 8, spec(tfbridge.Float, 1<<10, 1<<20), none, ""},
		{"1 TiB of bytes", 1, spec(tfbridge.Uint8, 1<<9, 1<<31), none, ""},
		{"1 TiB by a last dimension of 1", 1 << 8, spec(tfbridge.Float, 1<<10, 1<<20, 1), none, ""},
		{"one element more", 1<<8 + 1, spec(tfbridge.Float, 1<<10, 1<<20), millrace.ErrLimit, "257 elements padded to"},
		{"twice that", 1 << 9, spec(tfbridge.Float, 1<<10, 1<<20), millrace.ErrLimit, "more than 1099511627776 bytes"},
		{"elements alone", 1<<37 + 1, spec(tfbridge.Double), millrace.ErrLimit, "more than"},
		{"as many elements as there is room for", 1 << 37, spec(tfbridge.Double), none, ""},
		{"too large before a dimension that is not known", 1 << 38, spec(tfbridge.Double, -1), millrace.ErrLimit, "more than"},
		{"too large before a dimension of 1", 1 << 38, spec(tfbridge.Double, 1), millrace.ErrLimit, "more than"},
		{"dimensions that are not known", 1 << 20, spec(tfbridge.Float, -1, -1), none, ""},
		{"no elements along a dimension", 1 << 20, spec(tfbridge.Float, 0, 4), none, ""},
		{"the largest dimension", 1, spec(tfbridge.Uint8, 1<<31), none, ""},
		{"a dimension too large", 1, spec(tfbridge.Uint8, 1<<31+1), millrace.ErrLimit, "dimension: 2147483649 is more than 2147483648"},
		{"a negative dimension", 1, spec(tfbridge.Uint8, -2), millrace.ErrModel, "dimension: -2 is less than -1"},
		{"strings, which count as a byte", 1 << 40, spec(tfbridge.String), none, ""},
		{"strings, one more", 1<<40 + 1, spec(tfbridge.String), millrace.ErrLimit, "more than"},
		{"products that overflow", math.MaxInt64, spec(tfbridge.Float, 1<<31, 1<<31), millrace.ErrLimit, "more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			limit.Fits(s, "the operation", tt.n, tt.spec)
			checkError(t, s.Err(), tt.class, tt.words)
		})
	}
}

// A number that is known only when the graph runs may be at most the bound.
func TestAtMost(t *testing.T) {
	s := graphtest.NewScope(t)
	in := s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	out := limit.AtMost(s, "the operation", in, 7)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, n := range []int64{-1, 6, 7, 8, math.MaxInt64} {
		fed, err := tfbridge.NewTensor(n)
		if err != nil {
			t.Fatal(err)
		}
		defer fed.Close()
		got, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{in: fed}, []tfbridge.Output{out}, nil)
		if n > 7 {
			if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "the operation") {
				t.Errorf("%d: %v, want an error of the operation", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		if got[0].Value() != n {
			t.Errorf("%d becomes %v", n, got[0].Value())
		}
		got[0].Close()
	}
}

// Nothing is added to a graph that has failed, nor for an unset number.
func TestAtMostAfterAFailure(t *testing.T) {
	s := graphtest.NewScope(t)
	if out := limit.AtMost(s, "the operation", tfbridge.Output{}, 7); out.Op != nil || s.Err() != nil {
		t.Errorf("of nothing: %v, %v", out, s.Err())
	}
	in := s.Const(int64(1))
	s.UpdateErr("before", errors.New("it failed"))
	nodes := len(s.Graph().Operations())
	if out := limit.AtMost(s, "the operation", in, 7); out != in || len(s.Graph().Operations()) != nodes {
		t.Errorf("after a failure: %v, want what was given", out)
	}
}
