package dtype

import (
	"fmt"
	"math"
	"testing"
)

// Every half precision number goes to float32 and back.
func TestFloat16RoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		h := Float16(i)
		f := h.Float32()
		if f != f {
			if back := NewFloat16(f).Float32(); back == back {
				t.Fatalf("NaN %#04x came back as %v", i, back)
			}
			continue
		}
		if got := NewFloat16(f); got != h {
			t.Fatalf("%#04x is %v and came back as %#04x", i, f, got)
		}
	}
}

// Between two neighbours the nearer one is taken, the even one in the middle.
func TestFloat16Rounds(t *testing.T) {
	for i := range 0x7bff {
		low, high := Float16(i), Float16(i+1)
		middle := (low.Float32() + high.Float32()) / 2 // exact in float32
		even := low
		if i%2 == 1 {
			even = high
		}
		below := math.Nextafter32(middle, 0)
		above := math.Nextafter32(middle, math.MaxFloat32)
		if NewFloat16(middle) != even || NewFloat16(below) != low || NewFloat16(above) != high || NewFloat16(-middle) != even|0x8000 {
			t.Fatalf("around %v: %#04x %#04x %#04x", middle, NewFloat16(below), NewFloat16(middle), NewFloat16(above))
		}
	}
	if got := NewFloat16(65520).Float32(); !math.IsInf(float64(got), 1) {
		t.Errorf("65520 is %v, want +Inf", got)
	}
	if got := NewFloat16(65519).Float32(); got != 65504 {
		t.Errorf("65519 is %v, want 65504", got)
	}
}

func TestBFloat16(t *testing.T) {
	for i := range 1 << 16 {
		b := BFloat16(i)
		f := b.Float32()
		if f == f && NewBFloat16(f) != b {
			t.Fatalf("%#04x is %v and came back as %#04x", i, f, NewBFloat16(f))
		}
		if f != f && NewBFloat16(f).Float32() == NewBFloat16(f).Float32() {
			t.Fatalf("NaN %#04x is no NaN any more", i)
		}
	}
	if got := NewBFloat16(1 + 1.0/256).Float32(); got != 1 { // 1 + 1/256 lies in the middle, and 1 is even
		t.Errorf("got %v, want 1", got)
	}
	if got := NewBFloat16(math.MaxFloat32).Float32(); !math.IsInf(float64(got), 1) {
		t.Errorf("got %v, want +Inf", got)
	}
}

func ExampleNewFloat16() {
	fmt.Println(NewFloat16(1.0/3).Float32(), NewBFloat16(1.0/3).Float32())
	// Output: 0.33325195 0.33398438
}
