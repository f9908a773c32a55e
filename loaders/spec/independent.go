package spec

// IndependentArgs are the arguments of a loader of type independent.
type IndependentArgs struct {
	ExampleArgs
	OrderArgs
	MultiLoad bool `json:"multi_load" decl:"default=false" doc:"Whether records must be parsed in batches. The batches are the same. It is an error with sequence records, features of variable length, secondary features, processing steps or padding."`
}

// check reports a multi_load that other arguments rule out. Each record is an example.
func (a *IndependentArgs) check(c *checker) {
	orderPart{c}.checkOrder(&a.OrderArgs)
	if !a.MultiLoad || a.Bad("multi_load") {
		return
	}
	c.spec.MultiLoad = true
	reasons := []struct {
		broken bool
		why    string
	}{
		{c.spec.Manifest.AllowVarLen, "records of variable length (allow_var_len is true)"},
		{!c.spec.Manifest.AllowVarLen && c.spec.HasLists(), "features of variable length (their shape begins with -1)"},
		{len(a.SecondaryFeatures) > 0, "secondary_features"},
		{len(a.ProcessingSteps) > 0, "processing_steps"},
		{c.pads(), "padding"},
	}
	for _, r := range reasons {
		if r.broken {
			c.inConfig.Report(a.Key("multi_load"), "must be false with %s", r.why)
		}
	}
}
