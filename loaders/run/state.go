package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"millrace"
	"millrace/tfbridge"
)

// stateMagic begins a saved state: one line, then the header as one line of
// JSON, then the iterator's own state.
const stateMagic = "millrace loader state 1\n"

// stateHeader says what a saved state is of.
type stateHeader struct {
	Plan    string `json:"plan"` // digest of the plan without its seed
	Seed    int64  `json:"seed"`
	Runtime string `json:"runtime"` // TensorFlow's version
	Batches int64  `json:"batches"` // delivered before
	Rows    int64  `json:"rows"`    // likewise
	Group   int64  `json:"group"`   // records parsed at once
	Skip    int64  `json:"skip"`    // batches left out at the start
	SHA256  string `json:"sha256"`  // of what follows
}

// saveState returns the state after the batches so far.
func (p *producer) saveState() ([]byte, error) {
	digest, err := p.pipe.Plan.Digest()
	if err != nil {
		return nil, err
	}
	state, err := p.pipe.Iterator.SaveState(context.Background(), p.session)
	if err != nil {
		return nil, p.stateError("save the loader's state: %w", err)
	}
	header, err := json.Marshal(&stateHeader{
		Plan: digest, Seed: p.pipe.Plan.Seed, Runtime: tfbridge.Version(),
		Batches: p.batches, Rows: p.rows, Group: p.group, Skip: p.skip, SHA256: fmt.Sprintf("%x", sha256.Sum256(state)),
	})
	if err != nil {
		return nil, p.stateError("save the loader's state: %w", err)
	}
	return bytes.Join([][]byte{[]byte(stateMagic), header, []byte("\n"), state}, nil), nil
}

func (p *producer) stateError(format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrCheckpoint, format, args...)
	e.Loader = p.pipe.Plan.Path
	return e
}

// restoreState puts the iterator where a state was saved.
func (p *producer) restoreState(saved []byte) error {
	header, state, err := p.readState(saved)
	if err != nil {
		return err
	}
	if err := p.start(header.Group, header.Skip); err != nil {
		return err
	}
	if err := p.pipe.Iterator.RestoreState(context.Background(), p.session, state); err != nil {
		return p.stateError("restore the loader's state: %w", err)
	}
	p.batches, p.rows = header.Batches, header.Rows
	return nil
}

// readState checks that a state is whole and of this plan: TensorFlow does not.
func (p *producer) readState(saved []byte) (*stateHeader, []byte, error) {
	rest, ok := bytes.CutPrefix(saved, []byte(stateMagic))
	line, state, found := bytes.Cut(rest, []byte("\n"))
	if !ok || !found {
		return nil, nil, p.stateError("this is no saved state of a loader")
	}
	var header stateHeader
	if err := json.Unmarshal(line, &header); err != nil {
		return nil, nil, p.stateError("saved state: %w", err)
	}
	if fmt.Sprintf("%x", sha256.Sum256(state)) != header.SHA256 {
		return nil, nil, p.stateError("the saved state is damaged")
	}
	digest, err := p.pipe.Plan.Digest()
	switch {
	case err != nil:
		return nil, nil, err
	case header.Plan != digest:
		return nil, nil, p.stateError("the saved state is of another loader config, manifest or list of files")
	case header.Seed != p.pipe.Plan.Seed:
		return nil, nil, p.stateError("the state was saved with seed %d, the plan has %d; set args.seed", header.Seed, p.pipe.Plan.Seed)
	case header.Runtime != tfbridge.Version():
		return nil, nil, p.stateError("the state was saved with TensorFlow %s, this is %s", header.Runtime, tfbridge.Version())
	}
	return &header, state, nil
}
