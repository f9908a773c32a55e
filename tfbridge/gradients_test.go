package tfbridge

import (
	"strings"
	"testing"
)

// fed returns the values of x for a run.
func fed(b *build, x Output, value any) map[Output]*Tensor {
	return map[Output]*Tensor{x: b.tensor(value)}
}

// gradient adds the derivative of the sum of y with respect to x.
func (b *build) gradient(prefix string, y []Output, x Output, dx ...Output) Output {
	b.t.Helper()
	out, err := b.g.AddGradients(prefix, y, []Output{x}, dx)
	if err != nil {
		b.t.Fatal(err)
	}
	return out[0]
}

func TestGradients(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, ScalarShape())
	z := b.placeholder("z", Float, ScalarShape())
	square := b.out("Square", "square", nil, x)             // x^2
	fourth := b.out("Square", "fourth", nil, square)        // x^4
	sum := b.out("AddN", "sum", nil, OutputList{square, z}) // x^2 + z
	both, err := b.g.AddGradients("", []Output{sum}, []Output{x, z}, nil)
	if err != nil {
		t.Fatal(err)
	}
	inner := b.gradient("", []Output{fourth}, square)
	twice, err := b.g.AddGradients("", []Output{square, square}, []Output{x, x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		o    Output
		want float32
	}{
		{"4x^3", b.gradient("", []Output{fourth}, x), 108},
		{"of a sum, 2x", both[0], 6},
		{"of a sum, 1", both[1], 1},
		{"of two, 2x+4x^3", b.gradient("", []Output{square, fourth}, x), 114},
		{"chain rule", b.gradient("", []Output{square}, x, inner), 108},
		{"of itself", b.gradient("", []Output{x}, x), 1},
		{"the same twice", twice[0], 12},
		{"with respect to the same twice", twice[1], 12},
	}
	s := b.session()
	feeds := fed(b, x, float32(3))
	feeds[z] = b.tensor(float32(2))
	for _, tt := range tests {
		if got := tt.o.DataType(); got != Float {
			t.Errorf("%s: type %v", tt.name, got)
		}
		if got := run1(t, s, feeds, tt.o); got != tt.want {
			t.Errorf("%s at x=3: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestGradientNames(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, ScalarShape())
	y := b.out("Square", "y", nil, x)
	for _, tt := range []struct{ prefix, want string }{
		{"", "gradients/"}, {"", "gradients_1/"}, {"mine", "mine/"}, {"mine/deeper", "mine/deeper/"},
	} {
		if got := b.gradient(tt.prefix, []Output{y}, x).Op.Name(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("prefix %q: got the name %s, want %s...", tt.prefix, got, tt.want)
		}
	}
}

func TestGradientsRefuse(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, ScalarShape())
	z := b.placeholder("z", Float, ScalarShape())
	y := b.out("Square", "y", nil, x)
	floor := b.out("Floor", "floor", nil, x)
	whole := b.out("Cast", "whole", map[string]any{"DstT": Int32}, x)
	foreign := newBuild(t).constant("c", float32(1))
	b.gradient("taken", []Output{y}, x)
	tests := []struct {
		name     string
		prefix   string
		y, x, dx []Output
		want     string
	}{
		{"no y", "", nil, []Output{x}, nil, "gradients of 0 outputs with respect to 1"},
		{"no x", "", []Output{y}, nil, nil, "gradients of 1 outputs with respect to 0"},
		{"too many dx", "", []Output{y}, []Output{x}, []Output{x, x}, "2 values in dx for 1 in y"},
		{"type of dx", "", []Output{y}, []Output{x}, []Output{whole}, "dx[0] has type int32, y[0] float32"},
		{"zero y", "", []Output{{}}, []Output{x}, nil, "gradients: y: no operation"},
		{"zero x", "", []Output{y}, []Output{{}}, nil, "gradients: x: no operation"},
		{"zero dx", "", []Output{y}, []Output{x}, []Output{{}}, "gradients: dx"},
		{"foreign x", "", []Output{y}, []Output{foreign}, nil, "c:0 belongs to another graph"},
		{"no such output", "", []Output{y.Op.Output(1)}, []Output{x}, nil, "there is no output 1"},
		{"not reached", "", []Output{y}, []Output{z}, nil, "unreachable"},
		{"no derivative", "", []Output{floor}, []Output{x}, nil, "no derivative with respect to x[0], x:0"},
		{"taken prefix", "taken", []Output{y}, []Output{x}, nil, "taken"},
		{"bad prefix", "a b", []Output{y}, []Output{x}, nil, `"a b" is not a valid prefix`},
		{"NUL prefix", "a\x00b", []Output{y}, []Output{x}, nil, "is not a valid prefix"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := b.g.AddGradients(tt.prefix, tt.y, tt.x, tt.dx)
			if out != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %s", out, err, tt.want)
			}
		})
	}
	if got := run1(t, b.session(), fed(b, x, float32(3)), b.gradient("", []Output{y}, x)); got != float32(6) {
		t.Errorf("the graph afterwards: got %v, want 6", got)
	}
}
