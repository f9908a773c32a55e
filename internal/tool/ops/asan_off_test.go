//go:build !asan

package ops

// Without go test -asan nothing is sanitized.
const variant = ""

var sanitize, goFlags []string
