// Package preflight finds conditions under which TensorFlow would abort the
// process when it is opened or first used: limits of the system that are too
// low, and environment variables that TensorFlow cannot parse. The caller gets
// an error instead.
package preflight

// Check returns an error for the first condition that would end the process.
// getenv looks up an environment variable, "" if it is not set.
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
