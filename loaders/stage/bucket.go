package stage

import (
	"fmt"
	"strings"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Bucket puts examples of similar length together.
type Bucket struct{ *spec.Bucket }

func bucket(c engine.Choice) []Stage {
	if c.Bucket == nil {
		return nil
	}
	return []Stage{Bucket{c.Bucket}}
}

// maxBounds is how many boundaries a printed plan has.
const maxBounds = 10

// Explain says where the boundaries of the buckets are.
func (b Bucket) Explain() Explained {
	bounds := make([]string, len(b.Boundaries))
	for i, n := range b.Boundaries {
		bounds[i] = fmt.Sprint(n)
	}
	if half := maxBounds / 2; len(bounds) > maxBounds {
		bounds = append(append(bounds[:half:half], "..."), bounds[len(bounds)-half:]...)
	}
	what := fmt.Sprintf("by the length of %s along axis %d: up to %s, and longer", b.Tensor, b.Axis, strings.Join(bounds, ", "))
	if b.Elements > 0 {
		what += fmt.Sprintf("; at most %s elements of it in a batch", figures.Count(b.Elements))
	}
	return Explained{Name: "bucket", What: what, Bucket: b.Bucket}
}
