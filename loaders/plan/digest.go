package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"millrace"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
)

// A saved state belongs to two different things:
//
//	Identity.Batches    the batches: which records make them, in which order, and what they hold
//	Identity.Pipeline   the pipeline that makes them, with its threads, buffers and engine
//
// A position fits every pipeline that makes the same batches. The state of tf.data's
// iterator fits one pipeline only; for another pipeline the batches up to the position
// are made once more.

// Digest identifies the batches of a plan, independent of its seed and of the folders
// of its files: it covers the bytes of the manifest and the list, and the names of the
// data files relative to the manifest's folder. It does not cover threads, prefetching,
// buffers and the engine, unless sloppy_interleave lets them decide the order of the
// records.
func (p *Plan) Digest() (string, error) { return p.identified().digest() }

// Identity identifies what a saved state belongs to.
type Identity struct {
	Batches  string            // see [Plan.Digest]
	Pipeline string            // digest of the pipeline that makes the batches
	Keys     map[string]string // the values, as JSON, of the config's keys that decide the batches, for messages; long values are shortened
}

// Identity returns the identity to which the plan's saved states belong.
func (p *Plan) Identity() (*Identity, error) {
	batches, err := p.Digest()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(struct {
		*Explanation
		Timed bool `json:"timed"`
	}{p.whereverFilesAre(), p.TimeStages})
	pipeline, err := digestOf(text, err)
	return &Identity{batches, pipeline, p.batchKeys()}, err
}

// ConfigDigest is Digest without the manifest's contents and the sizes of the files. It
// distinguishes a changed config, or list of files, from changed data.
func (p *Plan) ConfigDigest() (string, error) {
	e := p.identified()
	e.SHA256 = ""
	e.Stages = slices.DeleteFunc(e.Stages, func(s Stage) bool { return s.Name == stage.FilesName })
	for i := range e.Files {
		e.Files[i].Bytes = 0
	}
	return e.digest()
}

// batchKeys returns the keys of an [Identity].
func (p *Plan) batchKeys() map[string]string {
	keys := map[string]string{"manifest": p.Manifest.SHA256, "type": string(p.Type)}
	if p.ListSHA256 != "" {
		keys["list"] = p.ListSHA256
	}
	e := p.identified()
	if text, err := json.Marshal(e.Files); err == nil {
		sum, _ := digestOf(text, nil)
		keys["files"] = fmt.Sprintf("%d with the digest %.12s", len(e.Files), sum)
	}
	maps.Copy(keys, p.Args)
	if !engine.AnyOrder(p.Engine()) {
		maps.DeleteFunc(keys, func(key, _ string) bool { return slices.Contains(spec.PaceKeys, key) })
	}
	maps.DeleteFunc(keys, func(key, _ string) bool { return slices.Contains(spec.PlaceKeys, key) })
	for key, value := range keys {
		keys[key] = cut(value)
	}
	return keys
}

// longestValue is how many bytes of a value batchKeys keeps, so that saved states stay small.
const longestValue = 100

// cut shortens a long value, so that different values stay different.
func cut(value string) string {
	if len(value) <= longestValue {
		return value
	}
	sum, _ := digestOf([]byte(value), nil)
	return strings.ToValidUTF8(value[:longestValue-20], "") + "... (" + sum[:12] + ")"
}

// identified returns the explanation of everything that decides the batches of the
// plan.
func (p *Plan) identified() *Explanation {
	if !engine.AnyOrder(p.Engine()) {
		p = p.withoutPace()
	}
	return p.whereverFilesAre()
}

// whereverFilesAre returns the explanation of a plan without its seed and without the
// folders of its files.
func (p *Plan) whereverFilesAre() *Explanation {
	if p.BadRecords != nil { // the limit changes no batch
		p = p.clone()
		p.BadRecords = &spec.BadRecords{}
	}
	e := p.Explanation()
	e.Seed, e.SeedGiven, e.Warnings, e.InGo = 0, false, nil, nil
	e.Config, e.Manifest, e.List = "", "", p.ListSHA256
	e.Mixture = slices.Clone(e.Mixture)
	for i := range e.Mixture {
		e.Mixture[i].ManifestPath = "" // the digest covers all manifests
	}
	for i, f := range e.Files {
		if name, err := filepath.Rel(filepath.Dir(p.ManifestPath), f.Path); err == nil && f.Bytes >= 0 {
			e.Files[i].Path = name
		}
	}
	return e
}

func (e *Explanation) digest() (string, error) { return digestOf(json.Marshal(e)) }

// digestOf returns the digest of a text unless making it failed with err.
func digestOf(text []byte, err error) (string, error) {
	if err != nil {
		return "", millrace.Errorf(millrace.ErrInternal, "plan: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), nil
}

// withoutPace returns the plan without the settings that affect only speed. The shard
// is not part of a position either: see loaders/run/position.go.
func (p *Plan) withoutPace() *Plan {
	q := p.clone()
	if p.Records != nil && (p.Engine().Seeks() || p.Engine().Replays()) {
		order := *p.Records
		order.Shard, order.Shards = 0, 1
		q.Records = &order
	}
	q.NativeLibrary, q.TimeStages, q.MultiLoad, q.Service = "", false, false, nil
	q.ParallelReads, q.ParallelParses, q.ReadBufferBytes, q.Prefetch = 1, 1, 0, 0
	q.InterleaveIn, q.InterleaveOut, q.DecodeLimit = 1, 1, 0
	return q
}
