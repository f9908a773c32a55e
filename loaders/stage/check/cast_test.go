package check

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// fits reports whether a checked cast to a dtype takes values.
func fits(t *testing.T, d tfbridge.DataType, list example.Feature) bool {
	t.Helper()
	err := checkValues(&spec.Feature{DType: d, CheckedCast: true}, list)
	if e, ok := err.(*millrace.Error); err != nil && (!ok || e.Class != millrace.ErrSchema) {
		t.Fatalf("error %v, want one of the schema", err)
	}
	return err == nil
}

// edges returns numbers about the powers of two, where dtypes end and where
// floats begin to leave integers out.
func edges() (all []int64) {
	for power := range 63 {
		for _, n := range []int64{1 << power, 3 << max(power-1, 0), 1<<power + 1<<max(power-11, 0), 1<<power + 1<<max(power-12, 0)} {
			all = append(all, n-1, n, n+1, -n-1, -n, -n+1)
		}
	}
	return append(all, 65503, 65504, 65505, 65519, 65520, 65535, math.MaxInt64, math.MaxInt64-1, math.MinInt64, math.MinInt64+1)
}

// Integers fit a dtype if it has them: between the least and the greatest of an
// integer dtype, and those that a float of so many bits holds to the last digit.
func TestCastIntegers(t *testing.T) {
	bits := map[tfbridge.DataType]uint{tfbridge.Half: 11, tfbridge.Bfloat16: 8, tfbridge.Float: 24, tfbridge.Double: 53}
	for _, d := range []tfbridge.DataType{
		tfbridge.Int8, tfbridge.Int16, tfbridge.Int32, tfbridge.Int64, tfbridge.Uint8, tfbridge.Uint16, tfbridge.Uint32, tfbridge.Uint64,
		tfbridge.Bool, tfbridge.Half, tfbridge.Bfloat16, tfbridge.Float, tfbridge.Double,
	} {
		least, greatest, integer := d.IntRange()
		for _, n := range edges() {
			want := n >= least && (n < 0 || uint64(n) <= greatest)
			switch {
			case d == tfbridge.Bool:
				want = n == 0 || n == 1
			case !integer:
				rounded := new(big.Float).SetPrec(bits[d]).SetMode(big.ToNearestEven).SetInt64(n)
				want = rounded.Acc() == big.Exact && (d != tfbridge.Half || n >= -65504 && n <= 65504)
			}
			if got := fits(t, d, example.Feature{Kind: example.Int64, Ints: []int64{0, n}}); got != want {
				t.Errorf("%d as %v: fits: %v, want %v", n, d, got, want)
			}
		}
	}
}

// halves returns all finite values of float16, as its bits say.
func halves() map[float32]bool {
	all := map[float32]bool{}
	for bits := range 1 << 16 {
		exponent, fraction := bits>>10&31, float64(bits&1023)
		value := math.Ldexp(fraction, -24)
		if exponent > 0 {
			value = math.Ldexp(1024+fraction, exponent-25)
		}
		if exponent < 31 {
			all[float32(math.Copysign(value, float64(1-bits>>15*2)))] = true
		}
	}
	return all
}

// Floats fit float16 and bfloat16 if these have them, to the last bit. NaN and
// infinity fit all floats.
func TestCastFloats(t *testing.T) {
	half := halves()
	odd := []float32{float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 65520, 65536, 1e38, 0x1p-25, 0x3p-25, 0x1p-149}
	values := slices.Clone(odd)
	for v := range half {
		values = append(values, v, math.Nextafter32(v, 1e9), math.Nextafter32(v, -1e9))
	}
	for _, v := range values {
		special := v != v || math.IsInf(float64(v), 0)
		one := example.Feature{Kind: example.Float, Floats: []float32{0, v}}
		if got, want := fits(t, tfbridge.Half, one), special || half[v]; got != want {
			t.Errorf("%v as float16: fits: %v, want %v", v, got, want)
		}
		if got, want := fits(t, tfbridge.Bfloat16, one), special || math.Float32bits(v)<<16 == 0; got != want {
			t.Errorf("%v as bfloat16: fits: %v, want %v", v, got, want)
		}
		if !fits(t, tfbridge.Double, one) || !fits(t, tfbridge.Float, one) {
			t.Errorf("%v does not fit a float of its size", v)
		}
	}
}

// Floats fit an integer dtype if they are one of its integers.
func TestCastFloatsToIntegers(t *testing.T) {
	values := []float32{0, 0.5, -0.5, 1.5, 1e30, -1e30, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	for power := range 65 {
		edge := math.Ldexp(1, power)
		for _, v := range []float32{float32(edge), float32(edge - 1), float32(edge + 1), math.Nextafter32(float32(edge), 0), float32(edge) + 0.5} {
			values = append(values, v, -v)
		}
	}
	for _, d := range []tfbridge.DataType{
		tfbridge.Int8, tfbridge.Int16, tfbridge.Int32, tfbridge.Int64, tfbridge.Uint8, tfbridge.Uint16, tfbridge.Uint32, tfbridge.Uint64, tfbridge.Bool,
	} {
		least, greatest, _ := d.IntRange()
		if d == tfbridge.Bool {
			least, greatest = 0, 1
		}
		from, to := new(big.Float).SetInt64(least), new(big.Float).SetUint64(greatest)
		for _, v := range values {
			want := false
			if v == v {
				x := new(big.Float).SetFloat64(float64(v))
				want = x.IsInt() && x.Cmp(from) >= 0 && x.Cmp(to) <= 0
			}
			if got := fits(t, d, example.Feature{Kind: example.Float, Floats: []float32{v}}); got != want {
				t.Errorf("%v as %v: fits: %v, want %v", v, d, got, want)
			}
		}
	}
}

// The error of a cast shows the value as the record has it.
func TestCastFault(t *testing.T) {
	f := &spec.Feature{DType: tfbridge.Int8, CheckedCast: true}
	for want, list := range map[string]example.Feature{
		"the value 300 does not fit int8 (checked_cast)": {Kind: example.Int64, Ints: []int64{1, 300, 400}},
		"the value 0.1 does not fit int8 (checked_cast)": {Kind: example.Float, Floats: []float32{1, 0.1, 0.2}},
	} {
		if err := checkValues(f, list); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
