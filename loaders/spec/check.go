package spec

import (
	"crypto/rand"
	"encoding/binary"

	"millrace/diag"
	"millrace/loaders/decl"
)

// Check reads a loader config, its manifest and its list of files, and reports all
// problems at once, in file order. The plan is nil if a problem is an error; otherwise it
// contains the warnings too. Check looks at the sizes of data files, not at their content.
// It needs no TensorFlow.
func Check(path string, o *Options) (*Spec, diag.List) {
	c := newChecker(path, o)
	defer c.disk.close()
	if c.readConfig() {
		c.run()
	}
	return c.finish()
}

// CheckPart is [Check] for a loader config that is a part of another file. The
// reporter r has read it from there; what is wrong in that file goes to r, and
// the list holds the problems of other files. Relative paths start at that
// file's folder.
func CheckPart(r *decl.Reporter, config *Config, o *Options) (*Spec, diag.List) {
	c := newChecker(r.File, o)
	defer c.disk.close()
	c.inConfig, c.config = r, config
	before := r.Errors()
	if c.takeArgs() {
		c.run()
	}
	c.inConfig = &decl.Reporter{}
	spec, problems := c.finish()
	if r.Errors() > before {
		spec = nil
	}
	return spec, problems
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
	c.spec.ManifestPath = path
	m, err := manifestPart{c}.loadManifest()
	if err != nil {
		c.fail(path, "read manifest", err)
	}
	if m != nil {
		manifestPart{c}.manifest(m)
	}
	problems := c.problems()
	if problems.HasErrors() {
		return nil, problems
	}
	return m, problems
}

// readConfig reads the config into c.config and reports whether it has arguments that can
// be checked.
func (c *checker) readConfig() bool {
	node := c.readReplaced("read loader config")
	if node == nil {
		return false
	}
	c.config = &Config{}
	c.inConfig.Decode(node, c.config)
	return c.takeArgs()
}

// takeArgs extracts the arguments from the config and reports whether they can be
// checked.
func (c *checker) takeArgs() bool {
	if a, ok := c.config.Args.(loaderArgs); ok {
		c.args, c.spec.Type = a.common(), c.config.Type
		c.examples, c.padded, c.ordered = a.examples(), a.padding(), a.recordOrder()
	}
	return c.args != nil && c.args.At != nil
}

// run checks the parts in the order in which they build on each other.
func (c *checker) run() {
	scalarPart{c}.scalars()
	datasetPart{c}.dataset()
	scalarPart{c}.interleave()
	primaryPart{c}.primaries()
	mixturePart{c}.agree()
	args := c.config.Args.(loaderArgs)
	args.check(c)
	secondaryPart{c}.secondaries()
	faultPart{c}.faults()
	c.spec.Mode = c.mode()
	stepPart{c}.steps()
	args.rows(c)
	measurePart{c}.measures()
	paddingPart{c}.padding()
	bucketPart{c}.buckets()
	batchedPart{c}.steps()
	batchStepPart{c}.batchSteps()
	batchedPart{c}.leave()
	epochPart{c}.epochs()
	servicePart{c}.service()
	modelPart{c}.model()
	sizePart{c}.sizes()
	sizePart{c}.ragged()
	sizePart{c}.memory()
}

// finish returns the plan if nothing is wrong.
func (c *checker) finish() (*Spec, diag.List) {
	problems := c.problems()
	if problems.HasErrors() {
		return nil, problems
	}
	p := c.spec
	p.Warnings, p.Args = problems, textOfArgs(c.config.Args)
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

// freshSeed draws a seed that is not negative and exact as a float64,
// so that it survives other programs' JSON.
func freshSeed() int64 {
	var b [8]byte
	rand.Read(b[:]) // never returns an error
	return int64(binary.LittleEndian.Uint64(b[:]) >> 11)
}
