package dtype

import (
	"errors"
	"testing"

	"millrace"
)

func TestShapes(t *testing.T) {
	tests := []struct {
		s    Shape
		text string
		rank int
		full bool
	}{
		{Shape{}, "?", -1, false},
		{ScalarShape(), "[]", 0, true},
		{MakeShape(), "[]", 0, true},
		{MakeShape(2, -1), "[2, ?]", 2, false},
		{MakeShape(2, 0), "[2, 0]", 2, true},
	}
	for _, tt := range tests {
		if got := tt.s.String(); got != tt.text {
			t.Errorf("String: got %s, want %s", got, tt.text)
		}
		if got := tt.s.NumDimensions(); got != tt.rank {
			t.Errorf("NumDimensions of %v: got %d, want %d", tt.s, got, tt.rank)
		}
		if got := tt.s.IsFullySpecified(); got != tt.full {
			t.Errorf("IsFullySpecified of %v: got %v, want %v", tt.s, got, tt.full)
		}
		if dims, err := tt.s.ToSlice(); (err != nil) != (tt.rank < 0) || len(dims) != max(tt.rank, 0) {
			t.Errorf("ToSlice of %v: got %v, %v", tt.s, dims, err)
		}
	}
	if s := MakeShape(2, 3); s.Size(1) != 3 || s.Size(2) != -1 || s.Size(-1) != -1 {
		t.Errorf("Size of %v: got %d, %d, %d", s, s.Size(1), s.Size(2), s.Size(-1))
	}
}

func TestShapeCheck(t *testing.T) {
	tests := []struct {
		s   Shape
		err error
	}{
		{Shape{}, nil},
		{ScalarShape(), nil},
		{MakeShape(-1, 3), nil},
		{MakeShape(-2), millrace.ErrSchema},
		{MakeShape(1<<40, -1, 1<<40), millrace.ErrLimit},
		{MakeShape(make([]int64, MaxRank+1)...), millrace.ErrLimit},
	}
	for _, tt := range tests {
		if err := tt.s.Check(); (tt.err == nil) != (err == nil) || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("Check of %v: got %v, want %v", tt.s, err, tt.err)
		}
	}
}

func TestAccepts(t *testing.T) {
	tests := []struct {
		s    Shape
		dims []int64
		want bool
	}{
		{Shape{}, []int64{1, 2}, true},
		{ScalarShape(), nil, true},
		{ScalarShape(), []int64{1}, false},
		{MakeShape(-1, 3), []int64{7, 3}, true},
		{MakeShape(-1, 3), []int64{7, 4}, false},
	}
	for _, tt := range tests {
		if got := tt.s.Accepts(tt.dims); got != tt.want {
			t.Errorf("Accepts of %v and %v: got %v", tt.s, tt.dims, got)
		}
	}
}

func TestIsCompatibleWith(t *testing.T) {
	tests := []struct {
		a, b Shape
		want bool
	}{
		{Shape{}, MakeShape(2), true},
		{ScalarShape(), ScalarShape(), true},
		{ScalarShape(), MakeShape(-1), false},
		{MakeShape(-1, 3), MakeShape(2, -1), true},
		{MakeShape(-1, 3), MakeShape(-1, 4), false},
	}
	for _, tt := range tests {
		if tt.a.IsCompatibleWith(tt.b) != tt.want || tt.b.IsCompatibleWith(tt.a) != tt.want {
			t.Errorf("IsCompatibleWith of %v and %v is not %v both ways", tt.a, tt.b, tt.want)
		}
	}
}

func TestShapesAreEqual(t *testing.T) {
	shapes := []Shape{{}, ScalarShape(), MakeShape(-1), MakeShape(2), MakeShape(2, 3)}
	for i, a := range shapes {
		for j, b := range shapes {
			if a.Equal(b) != (i == j) {
				t.Errorf("Equal of %v and %v: got %v", a, b, a.Equal(b))
			}
		}
	}
}

// A shape does not share memory with the slices passed to it or returned by it.
func TestShapesAreCopies(t *testing.T) {
	dims := []int64{2, 3}
	s := MakeShape(dims...)
	dims[0] = 7
	s.Dims()[1] = 7
	if s.String() != "[2, 3]" {
		t.Errorf("the shape became %v", s)
	}
	if (Shape{}).Dims() != nil || ScalarShape().Dims() == nil {
		t.Error("Dims tells no scalar from an unknown shape")
	}
}

func TestTensorSpecText(t *testing.T) {
	tests := []struct {
		spec TensorSpec
		want string
	}{
		{TensorSpec{}, "DataType(0)[...]"},
		{TensorSpec{Name: "x", DType: Float, Shape: MakeShape(2, -1)}, "float32[2, ?]"},
		{TensorSpec{DType: String, Shape: ScalarShape()}, "string[]"},
		{TensorSpec{DType: Int64}, "int64[...]"},
	}
	for _, tt := range tests {
		if got := tt.spec.String(); got != tt.want {
			t.Errorf("%#v\n got %s\nwant %s", tt.spec, got, tt.want)
		}
	}
}

func TestMostSpecificCompatible(t *testing.T) {
	unknown := Shape{}
	tests := []struct{ a, b, want Shape }{
		{MakeShape(2, 3), MakeShape(2, 3), MakeShape(2, 3)},
		{MakeShape(2, 3), MakeShape(2, 4), MakeShape(2, -1)},
		{MakeShape(-1, 3), MakeShape(2, 3), MakeShape(-1, 3)},
		{ScalarShape(), ScalarShape(), ScalarShape()},
		{ScalarShape(), MakeShape(1), unknown},
		{unknown, MakeShape(2), unknown},
	}
	for _, tt := range tests {
		for _, got := range []Shape{tt.a.MostSpecificCompatible(tt.b), tt.b.MostSpecificCompatible(tt.a)} {
			if !got.Equal(tt.want) {
				t.Errorf("MostSpecificCompatible of %v and %v is %v, want %v", tt.a, tt.b, got, tt.want)
			}
		}
	}
}
