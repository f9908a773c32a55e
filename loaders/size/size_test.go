package size_test

import (
	"testing"

	"millrace/internal/base/machine"
	"millrace/loaders/size"
)

// Sums and products of sizes end at the largest number.
func TestSizesDoNotOverflow(t *testing.T) {
	const most = machine.Unlimited - 1
	for _, tt := range []struct{ a, b, sum, product int64 }{
		{0, 0, 0, 0}, {2, 3, 5, 6}, {most, 0, most, 0}, {0, most, most, 0}, {most, 1, machine.Unlimited, most}, {most, most, most, most},
		{most / 2, 2, most/2 + 2, most / 2 * 2}, {2, most / 2, most/2 + 2, most / 2 * 2}, {most/2 + 1, 2, most/2 + 3, most}, {1 << 40, 1 << 40, 1 << 41, most},
	} {
		if sum := size.Add(tt.a, tt.b); sum != tt.sum && tt.sum != machine.Unlimited {
			t.Errorf("%d and %d are %d, want %d", tt.a, tt.b, sum, tt.sum)
		}
		if product := size.Multiply(tt.a, tt.b); product != tt.product {
			t.Errorf("%d times %d is %d, want %d", tt.a, tt.b, product, tt.product)
		}
	}
}
