package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"millrace/diag"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
)

// Explanation is a plan in a form to print, or to read by other programs as
// JSON. Its JSON keys stay as they are.
type Explanation struct {
	Config      string          `json:"config"`
	Type        spec.LoaderType `json:"type"`
	Manifest    string          `json:"manifest"`
	SHA256      string          `json:"manifest_sha256"`
	Records     string          `json:"records"`     // "Example" or "SequenceExample"
	Compression string          `json:"compression"` // "none", "gzip" or "zlib"
	List        string          `json:"list,omitempty"`

	Mixture []spec.MixturePart `json:"mixture,omitempty"` // the datasets, where there are several; the manifest of the first one

	Files     []ExplainedFile  `json:"files"`
	Seed      int64            `json:"seed"`
	SeedGiven bool             `json:"seed_given"` // false: drawn for this plan
	Stages    []Stage          `json:"stages"`
	Rewrites  []engine.Rewrite `json:"rewrites"`
	InGo      []engine.GoStage `json:"in_go,omitempty"`   // the stages that call Go; none: any process with Millrace's operations can run the graph
	Service   *spec.Service    `json:"service,omitempty"` // whose workers carry out all stages before the batch
	Warnings  diag.List        `json:"warnings"`
}

// ExplainedFile is a data file of an [Explanation].
type ExplainedFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // -1 if the path has a scheme
}

// Stage is the printed form of a stage of the pipeline.
type Stage = stage.Explained

// MarshalJSON writes the plan's [Explanation].
func (p *Plan) MarshalJSON() ([]byte, error) { return json.Marshal(p.Explanation()) }

// Explanation describes the plan stage by stage.
func (p *Plan) Explanation() *Explanation {
	e := &Explanation{
		Config: p.Path, Type: p.Type, Manifest: p.ManifestPath, SHA256: p.Manifest.SHA256,
		Records: "Example", Compression: p.Manifest.Compression.String(), List: p.ListPath,
		Mixture: p.Mixture, Seed: p.Seed, SeedGiven: p.SeedGiven,
		Files: []ExplainedFile{}, Rewrites: p.Engine().Rewrites(), InGo: engine.InGo(p.Engine()), Warnings: append(diag.List{}, p.Warnings...),
	}
	e.Service = p.Service
	if p.Manifest.AllowVarLen {
		e.Records = "SequenceExample"
	}
	for _, f := range p.Files {
		e.Files = append(e.Files, ExplainedFile{spec.PrintablePath(f.Path), f.Size})
	}
	e.Stages = stage.Explain(p.Stages())
	return e
}

// Stages returns the stages of the plan, in the order of their meaning.
func (p *Plan) Stages() []stage.Stage { return stage.Of(p.Engine()) }

// Explain returns the plan as text: where the data is, the stages in order with the
// dtypes and shapes of their outputs, and the optimiser's decisions with their reasons.
// A dimension that is not known before the data is read is a question mark.
func (p *Plan) Explain() string {
	e := p.Explanation()
	var b strings.Builder
	e.writeHead(&b)
	e.writeFiles(&b)
	e.writeStages(&b)
	e.writeRewrites(&b)
	e.writeInGo(&b)
	e.writeService(&b)
	if len(e.Warnings) > 0 {
		fmt.Fprintf(&b, "\n%v\n", e.Warnings)
	}
	return b.String()
}
