package loaders

import (
	"crypto/rand"
	"encoding/binary"
	"path/filepath"

	"millrace"
	"millrace/graph/dataset/native"
	"millrace/loaders/decl"
	"millrace/loaders/diag"
	"millrace/loaders/jsonpos"
	"millrace/tfbridge"
)

// CheckOptions holds what [Check] can be told. Nil means the defaults.
type CheckOptions struct {
	Model       *ModelNames // the model to be fed; nil = its rules rest
	Seed        *int64      // instead of the config's seed; nil = the config's, or else a fresh one
	Root        string      // a folder that no path may lead out of; "" = any path
	MemoryLimit int64       // bytes that the buffers of the pipeline may hold; 0 = not checked

	CheckRecords bool // see [Plan.CheckRecords]

	Runtime *tfbridge.RuntimeOptions // where the plan will run, for the library of our own operations
}

// Check reads a loader config, its manifest and its list of files, and
// reports everything that is wrong with them at once, in file order. The plan
// is nil if a problem is an error; warnings alone come with a plan, which
// holds them too. Check looks at data files' sizes, not into them, and needs
// no TensorFlow.
func Check(path string, o *CheckOptions) (*Plan, diag.List) {
	c := newChecker(path, o)
	defer c.disk.close()
	if c.readConfig() {
		c.run()
	}
	return c.finish()
}

// ReadConfig reads a loader config without looking at what it refers to. The
// config is nil if a problem is an error.
func ReadConfig(path string) (*Config, diag.List) {
	c := newChecker(path, nil)
	defer c.disk.close()
	c.readConfig()
	problems := c.problems()
	if problems.HasErrors() {
		return nil, problems
	}
	return c.config, problems
}

// ReadManifest reads a dataset manifest and checks it by itself. The manifest
// is nil if a problem is an error.
func ReadManifest(path string) (*ManifestConfig, diag.List) {
	c := newChecker(path, nil)
	defer c.disk.close()
	c.plan.ManifestPath = path
	m, err := c.loadManifest()
	if err != nil {
		c.fail(path, "read manifest", err)
	}
	if m != nil {
		c.manifest(m)
	}
	problems := c.problems()
	if problems.HasErrors() {
		return nil, problems
	}
	return m, problems
}

// checker is one run of [Check]. Its parts are in the files of the parts of
// the config that they check.
type checker struct {
	o    CheckOptions
	plan *Plan
	disk *disk

	config     *Config
	args       *CommonArgs
	inConfig   *decl.Reporter
	inManifest *decl.Reporter
	loose      diag.List // problems of files that are no JSON, or not to be read

	features     map[string]*featureState // nil if the manifest could not be read
	featureNames []string                 // in the manifest's order
	unnamed      bool                     // a feature's name is wrong; it may be any
	tensors      []*tensorState           // in the config's order
	byName       map[string]*tensorState
}

// tensorState is a tensor of the pipeline, as far as the parts that were
// checked so far have made it.
type tensorState struct {
	TensorSpec
	typed   bool           // DType is known
	shaped  bool           // the rank is known
	index   int            // in checker.tensors
	made    bool           // a secondary feature, not read
	measure *measuring     // of type lengths or mask; nil for others
	at      *jsonpos.Node  // its entry in the config
	padding *PaddingConfig // its entry in the padding, nil if it has none
}

func newChecker(path string, o *CheckOptions) *checker {
	c := &checker{
		plan: &Plan{Path: path, Manifest: &ManifestPlan{}}, byName: make(map[string]*tensorState),
		inConfig:   &decl.Reporter{File: path, Class: millrace.ErrConfig, Limit: millrace.ErrLimit},
		inManifest: &decl.Reporter{Class: millrace.ErrConfig, Limit: millrace.ErrLimit},
	}
	if o != nil {
		c.o = *o
	}
	var err error
	if c.disk, err = newDisk(filepath.Dir(path), c.o.Root); err != nil {
		c.fail(path, "find the config's folder", err)
	}
	return c
}

// readConfig reads the config into c.config and reports whether it has
// arguments that can be looked at.
func (c *checker) readConfig() bool {
	node := c.parseGiven(c.plan.Path, "read loader config")
	if node == nil {
		return false
	}
	c.config = &Config{}
	c.inConfig.Decode(node, c.config)
	c.args = c.config.CommonArgs()
	c.plan.Type = c.config.loaderType()
	return c.args != nil && c.args.At != nil
}

// run checks the parts in the order in which they build on each other.
func (c *checker) run() {
	c.scalars()
	c.dataset()
	c.interleave()
	c.primaries()
	c.windows()
	c.secondaries()
	c.steps()
	c.measures()
	c.padding()
	c.buckets()
	c.multiLoad()
	c.model()
	c.sizes()
	c.ragged()
	c.memory()
}

// problems returns all problems in file order, each with its cause.
func (c *checker) problems() diag.List {
	all := append(c.inConfig.Finish(), c.inManifest.Finish()...)
	all = append(all, c.loose...)
	all.Sort(c.plan.Path, c.plan.ManifestPath, c.plan.ListPath)
	for _, d := range all {
		c.setCause(d)
	}
	return all
}

// setCause makes errors.As find a *millrace.Error in a problem.
func (c *checker) setCause(d *diag.Diagnostic) {
	class, _ := d.Class.(millrace.Class)
	e := millrace.Errorf(class, "%s", d.Msg)
	if d.Hint != "" {
		e.Msg += "; " + d.Hint
	}
	e.Op, e.Loader, e.Key = "check", c.plan.Path, d.Key
	e.File, e.Line, e.Column, e.Err = d.File, d.Line, d.Column, d.Cause
	d.Cause = e
}

// finish returns the plan if nothing is wrong.
func (c *checker) finish() (*Plan, diag.List) {
	problems := c.problems()
	if problems.HasErrors() {
		return nil, problems
	}
	p := c.plan
	p.Warnings = problems
	p.CheckRecords = c.o.CheckRecords
	p.NativeLibrary = native.Find(c.o.Runtime)
	for _, t := range c.tensors {
		p.Tensors = append(p.Tensors, t.TensorSpec)
	}
	switch {
	case c.o.Seed != nil:
		p.Seed, p.SeedGiven = *c.o.Seed, true
	case c.args.Has("seed"):
		p.Seed, p.SeedGiven = c.args.Seed, true
	default:
		p.Seed = freshSeed()
	}
	return p, problems
}

// freshSeed draws a seed that is no negative number and exact as a float64,
// so that it survives other programs' JSON.
func freshSeed() int64 {
	var b [8]byte
	rand.Read(b[:]) // never returns an error
	return int64(binary.LittleEndian.Uint64(b[:]) >> 11)
}
