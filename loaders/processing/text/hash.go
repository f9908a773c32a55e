package text

import (
	"fmt"

	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// HashArgs are the arguments of a step of type hash.
type HashArgs struct {
	decl.Object
	Buckets int64 `json:"buckets" decl:"required,min=1" doc:"How many numbers there are: a string becomes one from 0 to buckets-1, as with tf.strings.to_hash_bucket_fast."`
}

// Check returns a step that makes an int64 of each string.
func (a *HashArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Strings()
	if a.At == nil || a.Bad("buckets") || !ok {
		return nil
	}
	return processing.Map{What: fmt.Sprintf("%d buckets", a.Buckets), To: processing.Tensor{DType: dtype.Int64, Shape: t.Shape}, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("StringToHashBucketFast", map[string]any{"num_buckets": a.Buckets}, x)
	}}
}
