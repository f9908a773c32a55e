package cli

import (
	"cmp"
	"os"
	"strconv"
	"strings"

	"millrace"
	"millrace/estimator"
	"millrace/internal/base/bytecheck"
	"millrace/loaders"
	"millrace/loaders/spec"
	"millrace/observe"
	"millrace/savedmodel"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ModelFlags are the flags that choose a model, its MetaGraph and its
// signature.
type ModelFlags struct {
	Path      string
	signature string
	tags      []string
	allow     []string
	unchecked bool
	sha256    string
	set       *pflag.FlagSet
}

const decodeLimit = "decode-limit"

// AddDecodeLimit declares the flag that limits how many bytes a model, or a step of a loader, may
// decode from an input, if no other set of flags has declared it.
func AddDecodeLimit(f *pflag.FlagSet) {
	if f.Lookup(decodeLimit) == nil {
		f.Var(Size(new(int64), bytecheck.DefaultLimit), decodeLimit, "refuse an image, a sound or a compressed string that takes more than `BYTES` when a processing step or an operation of the model decodes it")
	}
}

// DecodeLimit returns the value of the flag, 0 for the default.
func DecodeLimit(f *pflag.FlagSet) (int64, error) {
	if f == nil {
		return 0, nil // no command declared flags
	}
	limit, err := f.GetInt64(decodeLimit)
	if err == nil && limit < 0 {
		err = millrace.Errorf(millrace.ErrConfig, "--decode-limit %d: want a number of bytes, or 0 for 256 MiB", limit)
	}
	return limit, err
}

// DecodeReplacement returns what the flag, if it is given, replaces in a loader config.
func DecodeReplacement(f *pflag.FlagSet) ([]spec.Replacement, error) {
	limit, err := DecodeLimit(f)
	if err != nil || !f.Changed(decodeLimit) {
		return nil, err
	}
	if limit == 0 {
		limit = bytecheck.DefaultLimit
	}
	return []spec.Replacement{{Key: "decode_limit", Value: strconv.AppendInt(nil, limit, 10)}}, nil
}

// Add declares the flags; usage says what --model takes.
func (m *ModelFlags) Add(c *cobra.Command, usage string) {
	f := c.Flags()
	f.StringVar(&m.Path, "model", "", usage)
	f.StringVar(&m.signature, "signature", "", "`KEY` of the model's signature (default "+estimator.DefaultSignature+")")
	f.StringSliceVar(&m.tags, "tag-set", nil, "`TAGS` of the model's meta graph, separated by commas (default serve, or those of the only one)")
	f.StringArrayVar(&m.allow, "allow-op", nil, "allow the operation `NAME` although it touches the host; may be repeated")
	f.BoolVar(&m.unchecked, "unchecked", false, "DANGEROUS: load a model that the policy refuses; it can do whatever this process can")
	f.StringVar(&m.sha256, "model-sha256", "", "refuse a saved_model.pb that does not have this `HASH`")
	AddDecodeLimit(f)
	m.set = f
}

// Read reads and checks the SavedModel. The listener, which may be nil, hears
// the events of the model once it is loaded.
func (m *ModelFlags) Read(p *Program, listener *observe.Listener) (*estimator.CheckedModel, error) {
	decode, err := DecodeLimit(m.set)
	if err != nil {
		return nil, err
	}
	o := &estimator.ModelOptions{Tags: m.tags, AllowOps: m.allow, Unchecked: m.unchecked, SHA256: m.sha256, DecodeLimit: decode, Runtime: p.RuntimeOptions(), Observe: listener}
	if m.signature != "" {
		o.Signatures = []string{m.signature}
	}
	checked, err := estimator.ReadModel(m.Path, o)
	if err != nil {
		return nil, err
	}
	p.WarnOfModel(checked.Saved(), m.unchecked)
	return checked, nil
}

// WarnOfModel prints the warnings about a model, and a clear warning about --unchecked.
func (p *Program) WarnOfModel(m *savedmodel.Model, unchecked bool) {
	for _, w := range m.Warnings {
		p.Warn("%v", w)
	}
	if !unchecked {
		return
	}
	p.Warn("UNCHECKED MODEL: --unchecked lets %s read and write files, use the network and end this process", millrace.Quote(m.Dir))
	for _, r := range m.Refused {
		p.Warn("UNCHECKED MODEL: without --unchecked it is refused: %v", r)
	}
}

// Names returns the names of the model's inputs and outputs, from a
// SavedModel's signature or from a JSON file. It runs nothing. It returns nil
// without --model.
func (m *ModelFlags) Names(p *Program) (*loaders.ModelNames, error) {
	if m.Path == "" {
		return nil, nil
	}
	info, err := os.Stat(m.Path)
	if err == nil && !info.IsDir() || err != nil && strings.HasSuffix(m.Path, ".json") {
		names, problems := spec.ReadModelNames(m.Path)
		if names == nil {
			return nil, problems
		}
		return names, nil
	}
	checked, err := m.Read(p, nil)
	if err != nil {
		return nil, err
	}
	return checked.Names("")
}

// CheckWithModel reads and checks the model, then checks the config against it, in mode eval
// unless the flags say otherwise. Each file is read once, and nothing is loaded.
func (p *Program) CheckWithModel(config string, f *ConfigFlags, m *ModelFlags, listener *observe.Listener) (*estimator.CheckedModel, *loaders.Plan, error) {
	checked, err := m.Read(p, listener)
	if err != nil {
		return nil, nil, err
	}
	names, err := checked.Names("")
	if err != nil {
		return nil, nil, err
	}
	f.mode = cmp.Or(f.mode, spec.ModeEval)
	plan, err := p.Check(config, f, names)
	return checked, plan, err
}
