package plan

import (
	"context"

	"millrace"
)

// Canceled returns the error of work that ended because its context did.
func Canceled(ctx context.Context) error {
	return millrace.Errorf(millrace.ErrCanceled, "canceled: %w", context.Cause(ctx))
}
