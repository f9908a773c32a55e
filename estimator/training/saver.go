package training

import (
	"time"

	"millrace/estimator/checkpoint"
)

// saver writes snapshots in its own goroutine, one at a time. If a snapshot is due while
// the one before it is still being written, the training waits: so at most two sets of
// values are in memory.
type saver struct {
	store   *checkpoint.Store
	before  func() error // see Options.BeforeSave; may be nil
	pending *pendingSave // nil: nothing is being written
}

// pendingSave is a snapshot that is being written.
type pendingSave struct {
	done  chan error
	saved *Saved
}

// newSaver returns a saver for a store.
func newSaver(store *checkpoint.Store, before func() error) *saver {
	return &saver{store: store, before: before}
}

// start writes a snapshot and takes ownership of it. No other snapshot may be pending.
func (s *saver) start(shot *snapshot, saved *Saved, keep checkpoint.Keep) {
	p := &pendingSave{done: make(chan error, 1), saved: saved}
	s.pending = p
	go func() {
		began := time.Now()
		err := s.save(shot, saved, keep)
		saved.Duration = time.Since(began)
		p.done <- err
	}()
}

// save writes a snapshot and frees it.
func (s *saver) save(shot *snapshot, saved *Saved, keep checkpoint.Keep) error {
	c, err := shot.content()
	if err != nil {
		return err
	}
	defer checkpoint.CloseTensors(c.Values)
	if s.before != nil {
		if err := s.before(); err != nil {
			return err
		}
	}
	err = s.store.Save(c, keep)
	saved.Bytes = c.Info.Bytes
	return err
}

// finished returns the result of the pending snapshot, if it has been written since the
// last call; otherwise nil.
func (s *saver) finished() (*Saved, error) {
	if s.pending == nil {
		return nil, nil
	}
	select {
	case err := <-s.pending.done:
		return s.end(err)
	default:
		return nil, nil
	}
}

// wait is finished that waits.
func (s *saver) wait() (*Saved, error) {
	if s.pending == nil {
		return nil, nil
	}
	return s.end(<-s.pending.done)
}

// end forgets the pending snapshot.
func (s *saver) end(err error) (*Saved, error) {
	saved := s.pending.saved
	s.pending = nil
	return saved, err
}
