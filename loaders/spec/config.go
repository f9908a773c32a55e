package spec

import "millrace/loaders/decl"

// Config is a loader config as it is written. [ReadConfig] reads one.
type Config struct {
	decl.Object
	Type LoaderType `json:"type" decl:"required" doc:"How records become examples."`
	Args any        `json:"args" decl:"required,variant=type" doc:"The loader's arguments; type says which there are."` // *IndependentArgs, *ContinuousArgs, *DiscreteArgs or *ChunkedArgs
}

// Variants lists the arguments of each loader type.
func (*Config) Variants(string) []decl.Variant {
	var variants []decl.Variant
	for _, t := range loaderTypes {
		variants = append(variants, decl.Variant{Name: string(t.name), Doc: t.doc, New: func() any { return t.newArgs() }})
	}
	return variants
}

// CommonArgs returns the arguments that all loader types have, nil if args
// are missing or no object.
func (c *Config) CommonArgs() *CommonArgs {
	if a, ok := c.Args.(loaderArgs); ok {
		return a.common()
	}
	return nil
}
