package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"millrace"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
)

// Digest identifies a plan for states, whatever its seed and wherever its files
// are: the digest of the manifest's and the list's bytes counts, and the names
// of the data files from the manifest's folder on.
func (p *Plan) Digest() (string, error) { return p.identified().digest() }

// ConfigDigest is Digest without what the manifest says and how large the files are: it
// tells a changed config, or list of files, from changed data.
func (p *Plan) ConfigDigest() (string, error) {
	e := p.identified()
	e.SHA256 = ""
	e.Stages = slices.DeleteFunc(e.Stages, func(s Stage) bool { return s.Name == stage.FilesName })
	for i := range e.Files {
		e.Files[i].Bytes = 0
	}
	return e.digest()
}

// identified returns the explanation of the plan with what identifies it for states.
func (p *Plan) identified() *Explanation {
	if p.Engine().Seeks() || p.Engine().Replays() {
		p = p.forPosition()
	}
	if p.BadRecords != nil { // how many may be left out changes no batch
		p = p.clone()
		p.BadRecords = &spec.BadRecords{}
	}
	e := p.Explanation()
	e.Seed, e.SeedGiven, e.Warnings = 0, false, nil
	e.Config, e.Manifest, e.List = "", "", p.ListSHA256
	e.Mixture = slices.Clone(e.Mixture)
	for i := range e.Mixture {
		e.Mixture[i].ManifestPath = "" // the digest of the manifests is that of all
	}
	for i, f := range e.Files {
		if name, err := filepath.Rel(filepath.Dir(p.ManifestPath), f.Path); err == nil && f.Bytes >= 0 {
			e.Files[i].Path = name
		}
	}
	return e
}

func (e *Explanation) digest() (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", millrace.Errorf(millrace.ErrInternal, "plan: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), nil
}

// forPosition returns the plan without what does not change which record comes when:
// a saved position fits all of these.
func (p *Plan) forPosition() *Plan {
	q := p.clone()
	if p.Records != nil {
		order := *p.Records
		order.Shard, order.Shards = 0, 1
		q.Records = &order
	}
	q.NativeLibrary, q.TimeStages = "", false
	q.ParallelReads, q.ParallelParses, q.ReadBufferBytes, q.Prefetch = 1, 1, 0, 0
	q.InterleaveIn, q.InterleaveOut = 1, 1
	return q
}
