package figures

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are the factors of a size by the first letter of the unit: 1,000 for k in kB.
const units = "kMGTP"

// ParseSize reads a number of bytes as people write it: "65536", "200KB", "1.5 GB",
// "64MiB", "2G". K, M, G, T and P mean powers of 1,000, with an i powers of 1,024. The case
// of letters and the B are optional. A number without a unit may be negative.
func ParseSize(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	unit := strings.TrimLeft(text, "0123456789.")
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, unit), 64)
	factor, ok := factorOf(strings.TrimSpace(unit))
	if err != nil || !ok {
		return 0, fmt.Errorf("%q is not a size: want a number of bytes such as 65536, 200KB, 64MiB or 1.5GB", text)
	}
	n := math.Round(number * factor)
	if n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is more than 9,223,372,036,854,775,807 bytes", text)
	}
	return int64(n), nil
}

// factorOf returns the number of bytes of a unit: "", "B", "KB", "K", "KiB", "Ki".
func factorOf(unit string) (float64, bool) {
	unit = strings.TrimSuffix(strings.ToLower(unit), "b")
	if unit == "" {
		return 1, true
	}
	power := strings.Index(strings.ToLower(units), unit[:1]) + 1
	switch rest := unit[1:]; {
	case power == 0:
		return 0, false
	case rest == "":
		return math.Pow(1000, float64(power)), true
	case rest == "i":
		return math.Pow(1024, float64(power)), true
	}
	return 0, false
}
