package optimizer

import (
	"math"

	"millrace"
)

// errorf returns an error about a wrong argument.
func errorf(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrConfig, format, args...)
}

// fraction checks that a hyperparameter is between 0 and 1.
func fraction(name string, value float64) error {
	if !(value >= 0 && value <= 1) {
		return errorf("%s is %v; it must be between 0 and 1", name, value)
	}
	return nil
}

// notNegative checks that a hyperparameter is not negative.
func notNegative(name string, value float64) error {
	if !(value >= 0) || math.IsInf(value, 0) {
		return errorf("%s is %v; it must be 0 or positive", name, value)
	}
	return nil
}

// positive checks a number of steps.
func positive(name string, n int64) error {
	if n <= 0 {
		return errorf("%s is %d; it must be positive", name, n)
	}
	return nil
}
