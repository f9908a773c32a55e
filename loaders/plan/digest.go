package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"

	"millrace"
)

// Digest identifies a plan for states, whatever its seed and wherever its files
// are: the digest of the manifest's and the list's bytes counts, and the names
// of the data files from the manifest's folder on.
func (p *Plan) Digest() (string, error) {
	e := p.Explanation()
	e.Seed, e.SeedGiven, e.Warnings = 0, false, nil
	e.Config, e.Manifest, e.List = "", "", p.ListSHA256
	for i, f := range e.Files {
		if name, err := filepath.Rel(filepath.Dir(p.ManifestPath), f.Path); err == nil && f.Bytes >= 0 {
			e.Files[i].Path = name
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return "", millrace.Errorf(millrace.ErrInternal, "plan: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), nil
}
