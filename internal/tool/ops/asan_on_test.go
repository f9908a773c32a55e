//go:build asan

package ops

// With go test -asan the templates are compiled with the address sanitizer, too, and
// their own tests run under it.
const variant = "/asan"

var (
	sanitize = []string{"-fsanitize=address", "-fno-omit-frame-pointer"}
	goFlags  = []string{"-asan"}
)
