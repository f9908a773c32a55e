package run

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"millrace"
	"millrace/internal/base/changes"
	"millrace/loaders/engine"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// A saved state is a header followed by the state of tf.data's iterator. The
// header identifies the plan that the state belongs to. TensorFlow restores any
// bytes into any iterator: without the header, a damaged state or the state of
// another plan would silently give wrong batches.
//
// The state of a plan that seeks or replays is the header alone, see position.go, or
// with the positions of the records that buckets hold, see held.go. Such a state fits
// whatever pipeline makes the same batches. The state of tf.data's iterator fits one
// pipeline only: if the threads, the buffers or the engine have changed, the pass makes
// the batches before the position once more and skips them.
//
//	millrace loader state 1\n
//	{"plan": ..., "seed": ..., ..., "sha256": of the rest}\n
//	the iterator's own state, as tf.data serializes it, deflated if it is small
//
// tf.data's state contains the name of every stage many times, so deflating reduces 6
// KB to 1 KB.

// stateMagic is the first line of a saved state.
const stateMagic = "millrace loader state 1\n"

// position is the state of a run that can begin at any example.
type position struct {
	Data   string `json:"data"`   // digest of all records
	Epoch  int64  `json:"epoch"`  // from 0
	Record int64  `json:"record"` // position in the shard's order of the epoch; where the plan replays, elements of the epoch
	Shard  int64  `json:"shard"`
	Shards int64  `json:"shards"`
}

// stateHeader identifies the plan of a saved state, and the position of its
// run.
type stateHeader struct {
	Plan     string            `json:"plan"` // this and the next two: see [plan.Identity]
	Pipeline string            `json:"pipeline"`
	Keys     map[string]string `json:"keys"`

	Seed    int64  `json:"seed"`
	Runtime string `json:"runtime"`        // TensorFlow's version
	Batches int64  `json:"batches"`        // number of batches delivered before
	Rows    int64  `json:"rows"`           // number of rows delivered before
	Read    int64  `json:"read,omitempty"` // examples that filters saw before
	Group   int64  `json:"group"`          // records parsed at once
	Skip    int64  `json:"skip"`           // batches to skip at the start
	Deflate bool   `json:"deflate"`        // whether the iterator's state is deflated
	SHA256  string `json:"sha256"`         // digest of the other fields and the body

	LeftOut leftOut `json:"left_out,omitempty"` // bad records

	Position *position `json:"position,omitempty"` // set for a plan that seeks; what follows the header is then not the iterator's state
}

// encodeState puts a header before the state of an iterator. It sets the header's
// fields about the plan, the runtime and the state.
func (pl *Pipeline) encodeState(header *stateHeader, state []byte) (saved []byte, err error) {
	id, err := pl.identity()
	if err != nil {
		return nil, err
	}
	header.Plan, header.Keys = id.Batches, id.Keys
	if keepsIterator(pl.Plan.Engine()) && len(state) > 0 {
		header.Pipeline = id.Pipeline
	}
	header.Seed, header.Runtime = pl.Plan.Seed, tfbridge.Version()
	if header.Deflate = len(state) > 0 && len(state) <= mostDeflated; header.Deflate {
		state = deflate(state)
	}
	if header.SHA256, err = header.digest(state); err != nil {
		return nil, stateError(pl.Plan, "save the loader's state: %w", err)
	}
	line, err := json.Marshal(header)
	if err != nil {
		return nil, stateError(pl.Plan, "save the loader's state: %w", err)
	}
	return bytes.Join([][]byte{[]byte(stateMagic), line, []byte("\n"), state}, nil), nil
}

// digest returns the digest of a state with this header.
func (h stateHeader) digest(state []byte) (string, error) {
	h.SHA256 = ""
	line, err := json.Marshal(h)
	return fmt.Sprintf("%x", sha256.Sum256(append(line, state...))), err
}

// decodeState splits a saved state into header and iterator state. It checks
// that the state is complete and belongs to the plan.
func (pl *Pipeline) decodeState(saved []byte) (*stateHeader, []byte, error) {
	p := pl.Plan
	rest, ok := bytes.CutPrefix(saved, []byte(stateMagic))
	line, state, found := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return nil, nil, stateError(p, "this is not a saved state of a loader")
	}
	header := &stateHeader{}
	if err := json.Unmarshal(line, header); !found || err != nil {
		return nil, nil, stateError(p, "the saved state is damaged")
	}
	if sum, err := header.digest(state); err != nil || sum != header.SHA256 {
		return nil, nil, stateError(p, "the saved state is damaged")
	}
	if header.Deflate {
		var err error
		if state, err = inflate(state); err != nil {
			return nil, nil, stateError(p, "the saved state is damaged: %w", err)
		}
	}
	id, err := pl.identity()
	switch {
	case err != nil:
		return nil, nil, err
	case header.Plan != id.Batches:
		return nil, nil, stateError(p, "the saved state belongs to another loader config, manifest or list of files%s", differences(header.Keys, id.Keys))
	case header.Seed != p.Seed:
		return nil, nil, stateError(p, "the state was saved with seed %d, but the plan has seed %d; set args.seed", header.Seed, p.Seed)
	case header.Runtime != tfbridge.Version() && (!p.Engine().Seeks() || p.Shuffle != nil):
		return nil, nil, stateError(p, "the state was saved with TensorFlow %s, but this is TensorFlow %s", header.Runtime, tfbridge.Version())
	}
	return header, state, nil
}

// differences names the keys that differ, for a message.
func differences(was, is map[string]string) (text string) {
	for i, change := range changes.Between(was, is) {
		text += []string{": ", ", "}[min(i, 1)] + change.Text()
	}
	return text
}

// fits reports whether the state of tf.data's iterator fits the pipeline.
func (h stateHeader) fits(pl *Pipeline) bool {
	id, err := pl.identity()
	return err == nil && h.Pipeline == id.Pipeline
}

// mostDeflated bounds the states that are deflated. Larger ones hold buffers of data, and
// deflating takes a millisecond for 100 KB.
const mostDeflated = 64 << 10

func deflate(state []byte) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.DefaultCompression) // no other level
	w.Write(state)                                        // to memory
	w.Close()
	return b.Bytes()
}

// inflate returns a state that was deflated.
func inflate(state []byte) ([]byte, error) {
	r := io.LimitReader(flate.NewReader(bytes.NewReader(state)), mostDeflated+1)
	all, err := io.ReadAll(r)
	if err == nil && len(all) > mostDeflated {
		err = errors.New("it is too large")
	}
	return all, err
}

// stateError is an error about a saved state of a plan.
func stateError(p *plan.Plan, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrCheckpoint, format, args...)
	e.Loader = p.Path
	return e
}

// keepsIterator reports whether states have the state of tf.data's iterator.
func keepsIterator(e engine.Choice) bool { return !e.Seeks() && !e.Replays() }
