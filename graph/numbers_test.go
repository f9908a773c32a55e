package graph

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"millrace/tfbridge"
)

type celsius float64

// A Go value becomes the signature's data type if the value of every element stays the
// same.
func TestInputOf(t *testing.T) {
	half, bfloat := tfbridge.NewFloat16(0.5), tfbridge.NewBFloat16(0.5)
	tests := []struct {
		dt          tfbridge.DataType
		value, want any
	}{
		{tfbridge.Int64, []int{1, -2}, []int64{1, -2}},
		{tfbridge.Int64, [][]int{{1}, {}, nil}, [][]int64{{1}, {}, {}}},
		{tfbridge.Int64, [2]int{1, 2}, []int64{1, 2}},
		{tfbridge.Int64, []int(nil), []int64{}},
		{tfbridge.Int8, []int64{-128, 127}, []int8{-128, 127}},
		{tfbridge.Uint8, []int{0, 255}, []uint8{0, 255}},
		{tfbridge.Uint64, []uint{1 << 63}, []uint64{1 << 63}},
		{tfbridge.Uint64, []float64{1 << 63}, []uint64{1 << 63}},
		{tfbridge.Int32, []float64{3, -0x80000000}, []int32{3, -0x80000000}},
		{tfbridge.Float, []float64{0.5, math.Inf(1)}, []float32{0.5, float32(math.Inf(1))}},
		{tfbridge.Float, []celsius{36.5}, []float32{36.5}},
		{tfbridge.Float, []int{1 << 24}, []float32{1 << 24}},
		{tfbridge.Double, []int{1<<53 - 1, math.MinInt64}, []float64{1<<53 - 1, math.MinInt64}},
		{tfbridge.Half, []float32{0.5}, []tfbridge.Float16{half}},
		{tfbridge.Bfloat16, []float64{0.5}, []tfbridge.BFloat16{bfloat}},
		{tfbridge.Float, []tfbridge.Float16{half}, []float32{0.5}},
		{tfbridge.Complex64, []float64{0.5}, []complex64{0.5}},
		{tfbridge.Double, []complex128{0.5}, []float64{0.5}},
		{tfbridge.String, []byte("mill"), "mill"},
		{tfbridge.String, [][]byte{[]byte("mill"), nil}, []string{"mill", ""}},
		{tfbridge.Float, 0.1, float32(0.1)}, // a constant of Go's is rounded
		// Values that are not numbers stay unchanged; the comparison of types refuses
		// them.
		{tfbridge.Float, []string{"1"}, []string{"1"}},
		{tfbridge.Bool, []int{1}, []int{1}},
		{tfbridge.String, []float32{1}, []float32{1}},
	}
	for _, tt := range tests {
		got, err := inputOf(tt.dt, tt.value)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("inputOf(%v, %T %v)\n got %T %v, %v\nwant %T %v", tt.dt, tt.value, tt.value, got, got, err, tt.want, tt.want)
		}
	}
	if got, err := inputOf(tfbridge.Float, []float64{math.NaN()}); err != nil || !math.IsNaN(float64(got.([]float32)[0])) {
		t.Errorf("NaN became %v, %v", got, err)
	}
}

// An element that the data type does not hold is named, and nothing is rounded.
func TestInputOfRefuses(t *testing.T) {
	tests := []struct {
		dt    tfbridge.DataType
		value any
		want  string
	}{
		{tfbridge.Float, [][]float64{{0.5}, {0.5, 0.1}}, "element [1][1] is 0.1, which float32 does not hold exactly"},
		{tfbridge.Float, []float64{1e300}, "element [0] is 1e+300, which float32"},
		{tfbridge.Float, []int{1<<24 + 1}, "element [0] is 16777217, which float32"},
		{tfbridge.Double, []int{0, math.MaxInt64}, "element [1] is 9223372036854775807, which float64"},
		{tfbridge.Uint8, []int{1, 256}, "element [1] is 256, which uint8"},
		{tfbridge.Uint64, []int{-1}, "element [0] is -1, which uint64"},
		{tfbridge.Int8, []int{-129}, "element [0] is -129, which int8"},
		{tfbridge.Int64, []uint64{1 << 63}, "element [0] is 9223372036854775808, which int64"},
		{tfbridge.Int64, []float64{1 << 63}, "element [0] is 9.223372036854776e+18, which int64"},
		{tfbridge.Int64, []float64{0.5}, "element [0] is 0.5, which int64"},
		{tfbridge.Int64, []float64{math.NaN()}, "element [0] is NaN, which int64"},
		{tfbridge.Half, []float32{65536}, "element [0] is 65536, which float16"},
		{tfbridge.Double, []complex128{1i}, "element [0] is (0+1i), which float64"},
	}
	for _, tt := range tests {
		got, err := inputOf(tt.dt, tt.value)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("inputOf(%v, %v)\n got %v, %v\nwant %q", tt.dt, tt.value, got, err, tt.want)
		}
	}
}
