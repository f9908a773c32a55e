// Package preflight finds what would end the process when TensorFlow is opened
// or first used: limits of the system that leave too little, and environment
// variables that TensorFlow cannot parse. TensorFlow aborts where a caller
// would want an error, so the look comes first.
package preflight

// Check reports the first thing that would end the process. getenv looks up an
// environment variable, "" if it is not set.
func Check(getenv func(string) string) error {
	if err := checkLimits(); err != nil {
		return err
	}
	for _, v := range flagVariables {
		if err := v.check(getenv(v.name)); err != nil {
			return err
		}
	}
	return nil
}
