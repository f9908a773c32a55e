package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"millrace"
)

// Digest identifies a plan for states, whatever its seed.
func (p *Plan) Digest() (string, error) {
	e := p.Explanation()
	e.Seed, e.SeedGiven, e.Warnings = 0, false, nil
	text, err := json.Marshal(e)
	if err != nil {
		return "", millrace.Errorf(millrace.ErrInternal, "plan: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), nil
}
