package tfbridge

import "context"

// LoadSavedModelContext is LoadSavedModel that stops waiting when ctx ends,
// with an error of class millrace.ErrCanceled. TensorFlow cannot be stopped
// while it loads: it goes on by itself, and the model is closed when it is
// done.
//
// It wraps TF_LoadSessionFromSavedModel.
func LoadSavedModelContext(ctx context.Context, dir string, tags []string, o *SessionOptions) (*SavedModel, error) {
	if ctx == nil {
		return nil, errNoContext()
	}
	if ctx.Err() != nil {
		return nil, errCanceled(ctx)
	}
	type result struct {
		m   *SavedModel
		err error
	}
	done, left := make(chan result), make(chan struct{})
	go func() {
		m, err := LoadSavedModel(dir, tags, o)
		select {
		case done <- result{m, err}:
		case <-left:
			m.Close()
		}
	}()
	select {
	case r := <-done:
		return r.m, r.err
	case <-ctx.Done():
		close(left)
		return nil, errCanceled(ctx)
	}
}
