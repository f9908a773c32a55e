//go:build !asan

package ops

// Without go test -asan the templates are compiled without sanitizers.
const variant = ""

var sanitize, goFlags []string
