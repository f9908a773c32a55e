//go:build cgo

package tfbridge

import (
	"context"

	"millrace/internal/base/uninterruptible"
)

// LoadSavedModelContext is LoadSavedModel that returns when ctx is done, with an
// error of class millrace.ErrCanceled. TensorFlow cannot stop loading: it goes
// on in the background, and then the model is closed.
//
// It wraps TF_LoadSessionFromSavedModel.
func LoadSavedModelContext(ctx context.Context, dir string, tags []string, o *SessionOptions) (*SavedModel, error) {
	return uninterruptible.Run(ctx, func() (*SavedModel, error) { return LoadSavedModel(dir, tags, o) })
}
