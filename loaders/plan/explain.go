package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"millrace/internal/figures"
	"millrace/loaders/decl"
	"millrace/loaders/diag"
	"millrace/loaders/engine"
	"millrace/loaders/permutation"
	"millrace/loaders/spec"
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

	Mixture []spec.MixturePart `json:"mixture,omitempty"` // the datasets, where there are several; the manifest is that of the first

	Files     []ExplainedFile  `json:"files"`
	Seed      int64            `json:"seed"`
	SeedGiven bool             `json:"seed_given"` // false: drawn for this plan
	Stages    []Stage          `json:"stages"`
	Rewrites  []engine.Rewrite `json:"rewrites"`
	Warnings  diag.List        `json:"warnings"`
}

// ExplainedFile is a data file of an [Explanation].
type ExplainedFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // -1 if the path has a scheme
}

// Stage is a stage of the pipeline, in the order of their meaning.
type Stage struct {
	Name    string        `json:"name"`
	What    string        `json:"what"`
	Tensors []StageTensor `json:"tensors,omitempty"` // what comes out, where that changes
	Bucket  *spec.Bucket  `json:"bucket,omitempty"`  // of the stage that puts examples into buckets
}

// StageTensor is a tensor that comes out of a stage.
type StageTensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"` // -1 = not known before the data is read

	// Padding is the share of padding in a padded batch, from 0 to 1; nil where
	// nothing is padded or that is not known before the data is read.
	Padding *float64 `json:"padding,omitempty"`
}

// MarshalJSON writes the plan's [Explanation].
func (p *Plan) MarshalJSON() ([]byte, error) { return json.Marshal(p.Explanation()) }

// Explanation describes the plan stage by stage.
func (p *Plan) Explanation() *Explanation {
	e := &Explanation{
		Config: p.Path, Type: p.Type, Manifest: p.ManifestPath, SHA256: p.Manifest.SHA256,
		Records: "Example", Compression: p.Manifest.Compression.String(), List: p.ListPath,
		Mixture: p.Mixture, Seed: p.Seed, SeedGiven: p.SeedGiven,
		Files: []ExplainedFile{}, Rewrites: p.Engine().Rewrites(), Warnings: append(diag.List{}, p.Warnings...),
	}
	if p.Manifest.AllowVarLen {
		e.Records = "SequenceExample"
	}
	for _, f := range p.Files {
		e.Files = append(e.Files, ExplainedFile{spec.PrintablePath(f.Path), f.Size})
	}
	e.Stages = p.stages()
	return e
}

// stages lists the stages that the plan has.
func (p *Plan) stages() []Stage {
	s := &staging{plan: p}
	s.add(filesStage, s.files())
	s.add("read", s.read())
	s.order()
	s.check()
	s.parse()
	s.window()
	s.secondary()
	s.steps()
	s.chunks()
	s.measures()
	if p.Shuffle != nil {
		s.add("shuffle", fmt.Sprintf("%s in a buffer of %s", s.unit(), figures.Count(p.Shuffle.Elements)))
	}
	s.add("repeat", s.repeat())
	s.batch()
	if p.Prefetch > 0 {
		s.add("prefetch", figures.Plural(p.Prefetch, "batch", "batches"))
	}
	return s.stages
}

// filesStage is the name of the stage that lists the files.
const filesStage = "files"

// paddedBatch is the name of the stage that pads.
const paddedBatch = "padded batch"

// staging collects stages and follows what becomes of the tensors.
type staging struct {
	plan    *Plan
	stages  []Stage
	tensors []spec.TensorSpec
}

// add adds a stage that leaves the tensors as they are.
func (s *staging) add(name, what string) {
	s.stages = append(s.stages, Stage{Name: name, What: what})
}

// change adds a stage that some tensors come out of anew.
func (s *staging) change(name, what string, tensors ...spec.TensorSpec) {
	s.add(name, what)
	last := &s.stages[len(s.stages)-1]
	for _, t := range tensors {
		last.Tensors = append(last.Tensors, StageTensor{Name: t.Name, DType: t.DType.String(), Shape: t.Shape})
	}
}

func (s *staging) files() string {
	what := figures.Plural(int64(len(s.plan.Files)), "file", "files")
	if f := s.plan.Shuffle; f != nil {
		return fmt.Sprintf("%s, names shuffled in a buffer of %s", what, figures.Count(f.Filenames))
	}
	return what + ", in order"
}

func (s *staging) read() string {
	p, what := s.plan, "one file after another"
	if p.Records != nil {
		return s.readByPlace()
	}
	if p.Shuffle != nil && p.Shuffle.MixFiles > 1 {
		what = fmt.Sprintf("%s files in turns, one record at a time", figures.Count(p.Shuffle.MixFiles))
	}
	if p.Sloppy {
		what += ", in whatever order they come"
	}
	if p.ParallelReads > 1 {
		what += fmt.Sprintf(", up to %s at the same time", figures.Count(p.ParallelReads))
	}
	if p.ReadBufferBytes == 0 {
		return what + ", without a buffer"
	}
	return fmt.Sprintf("%s, buffers of %s bytes", what, figures.Count(p.ReadBufferBytes))
}

// readByPlace describes which records are read, and in which order.
func (s *staging) readByPlace() string {
	o, what := s.plan.Records, "all records"
	switch {
	case o.End >= 0:
		what = fmt.Sprintf("records %d to %d", o.Start, o.End-1)
	case o.Start > 0:
		what = fmt.Sprintf("records from %d on", o.Start)
	}
	switch o.Shuffling {
	case permutation.Exact:
		what += ", shuffled exactly"
	case permutation.Block:
		what += fmt.Sprintf(", in shuffled blocks of which %s records are mixed", figures.Count(o.Mixed))
	}
	if n := len(s.plan.Mixture); n > 0 {
		what += fmt.Sprintf(", drawn from %d datasets by weight", n)
	}
	if o.Shards > 1 {
		what += fmt.Sprintf(", of each epoch the shard with index %d of %d", o.Shard, o.Shards)
	}
	return what + ", by their place"
}

// check describes how records are checked before they are parsed.
func (s *staging) check() {
	p := s.plan
	if !p.Engine().JudgesRecords() {
		return
	}
	what := "every record"
	if p.Engine().ChecksNatively() {
		what = "records that the native operation cannot decode for sure"
	}
	switch {
	case p.BadRecords == nil:
		what += ", the first bad one ends the run"
	case p.BadRecords.Text == "":
		what += ", bad ones are left out"
	default:
		what += ", bad ones are left out: " + p.BadRecords.Text
	}
	var finite []string
	for _, f := range p.Features {
		if f.Finite {
			finite = append(finite, f.Name)
		}
	}
	if len(finite) > 0 {
		what += "; finite values in " + strings.Join(finite, ", ")
	}
	if p.RefuseDuplicates {
		what += "; no key twice"
	}
	switch allow := p.AllowEmptyRecords; {
	case p.RefusesEmptyRecords():
		what += "; no record of 0 bytes"
	case allow != nil && *allow:
		what += "; records of 0 bytes have no features"
	}
	s.add("check", what)
}

func (s *staging) parse() {
	p := s.plan
	for _, f := range p.Primaries {
		s.tensors = append(s.tensors, spec.TensorSpec{Name: f.To, DType: f.From.DType, Shape: f.From.TensorShape()})
	}
	what := figures.Plural(int64(len(p.Features)), "feature", "features")
	if p.MultiLoad {
		what += ", in batches"
	}
	if p.ParallelParses > 1 {
		what += fmt.Sprintf(", %s at the same time", figures.Count(p.ParallelParses))
	}
	s.change("parse", what, s.tensors...)
}

func (s *staging) window() {
	w := s.plan.Window
	if w == nil {
		return
	}
	unit := w.Unit
	what := fmt.Sprintf("%s to %s %s", figures.Count(w.Min), figures.Count(w.Max), unit)
	if w.Min == w.Max {
		what = fmt.Sprintf("%s %s", figures.Count(w.Min), unit)
	}
	if w.Stride > 0 {
		what += fmt.Sprintf(", one every %s", figures.Count(w.Stride))
	}
	for i := range s.tensors {
		s.tensors[i].Shape = w.Shape(s.tensors[i].Shape)
	}
	s.change("window", what+", tail: "+w.Tail, s.tensors...)
}

func (s *staging) secondary() {
	for _, c := range s.plan.Secondaries {
		t := spec.TensorSpec{Name: c.To, DType: c.DType, Shape: c.Shape}
		s.tensors = append(s.tensors, t)
		what := fmt.Sprintf("%s, %s everywhere", c.To, showValue(c.Value))
		if c.ShapeFrom != "" {
			what += ", in the shape of " + c.ShapeFrom
		}
		s.change("const", what, t)
	}
}

func (s *staging) steps() {
	for _, step := range s.plan.Steps {
		s.change("slice", fmt.Sprintf("%s, %s", step.Tensor, step.Text), step.Out)
	}
	s.tensors = s.plan.Tensors
}

func (s *staging) measures() {
	for _, m := range s.plan.Measures {
		of := "of"
		if m.Records {
			of = "of the records of"
		}
		what := fmt.Sprintf("%s, %s %s along axis %d", m.To, of, m.Tensor, m.Axis)
		s.change(string(m.Kind), what, s.plan.Tensor(m.To))
	}
}

// unit says what is shuffled.
func (s *staging) unit() string {
	if s.plan.Window != nil {
		return "windows"
	}
	return "records"
}

func (s *staging) repeat() string {
	switch n := s.plan.Epochs; n {
	case 0:
		return "without end"
	default:
		return figures.Plural(n, "epoch", "epochs")
	}
}

// batch adds the last stage that changes tensors. The size of a batch is
// known if none can be smaller.
func (s *staging) batch() {
	p, size := s.plan, s.plan.BatchRows()
	if p.Chunks != nil {
		s.batchTensors(s.budget(), size)
		return
	}
	what := figures.Plural(p.BatchSize, "example", "examples")
	if p.Bucket != nil {
		s.bucket()
		if p.Bucket.Elements > 0 {
			what = "up to " + what
		}
	}
	switch {
	case p.Epochs == 0:
	case p.DropRemainder && p.Bucket != nil:
		what += ", a rest of each bucket is dropped"
	case p.DropRemainder:
		what += ", a rest is dropped"
	case p.Bucket != nil:
		what += ", the last of each bucket may have fewer"
	default:
		what += ", the last may have fewer"
	}
	s.batchTensors(what, size)
}

// batchTensors adds a stage that makes batches of so many rows.
func (s *staging) batchTensors(what string, size int64) {
	p := s.plan
	tensors := make([]spec.TensorSpec, len(p.Tensors))
	for i, t := range p.Tensors {
		shape := t.Shape
		if p.Padding != nil {
			shape = spec.PaddedShape(t.Shape, p.Padding[i].Shape)
		}
		tensors[i] = spec.TensorSpec{Name: t.Name, DType: t.DType, Shape: append([]int64{size}, shape...)}
	}
	if p.Padding == nil {
		s.change("batch", what, tensors...)
		return
	}
	s.change(paddedBatch, what, tensors...)
	last := &s.stages[len(s.stages)-1]
	for i := range last.Tensors {
		if share, known := p.padShare(i); known && len(p.Tensors[i].Shape) > 0 {
			last.Tensors[i].Padding = &share
		}
	}
}

func (s *staging) bucket() {
	b := s.plan.Bucket
	bounds := make([]string, len(b.Boundaries))
	for i, n := range b.Boundaries {
		bounds[i] = fmt.Sprint(n)
	}
	if half := maxShown / 2; len(bounds) > maxShown {
		bounds = append(append(bounds[:half:half], "..."), bounds[len(bounds)-half:]...)
	}
	what := fmt.Sprintf("by the length of %s along axis %d: up to %s, and longer", b.Tensor, b.Axis, strings.Join(bounds, ", "))
	if b.Elements > 0 {
		what += fmt.Sprintf("; at most %s elements of it in a batch", figures.Count(b.Elements))
	}
	s.add("bucket", what)
	s.stages[len(s.stages)-1].Bucket = b
}

// showValue returns a value as it is written in a config.
func showValue(v any) string {
	if s, ok := v.(string); ok {
		return decl.Quote(s)
	}
	return fmt.Sprint(v)
}
