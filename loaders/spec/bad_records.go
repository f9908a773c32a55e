package spec

import (
	"slices"
	"strconv"
	"strings"

	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/tfbridge"
)

// FaultArgs define which records are bad, and whether a run skips them or ends.
type FaultArgs struct {
	BadRecords  decl.Either[string, SkipConfig] `json:"bad_records" decl:"enum=error" doc:"What becomes of a record whose data fail their checksum, whose bytes do not parse, or whose features do not fit the manifest. error, the default: the run ends. {\"skip\": N} or {\"skip\": \"1%\"}: the record is left out alone, and one more than so many, or than that share of the records, ends the run. skip needs local files."`
	CheckFinite decl.Either[bool, []string]     `json:"check_finite" decl:"most=65536" doc:"Primary tensors in which NaN or infinity makes a bad record; true stands for all of floating point. It needs local files."`

	DuplicateFeatures string `json:"duplicate_features" decl:"default=last,enum=last|error" doc:"What becomes of a record that has the key of a feature, or of a feature list, twice. last: the last one counts, as in protobuf. error: the record is bad, whether the feature is read or not. error needs local files."`
	AllowEmptyRecords *bool  `json:"allow_empty_records" decl:"null" doc:"Whether a record of 0 bytes is good: each feature has its default. This matters only where all features that are read have a default in the manifest, for elsewhere such a record is bad. Without the key, or with null, the record is good unless bad_records, check_finite or duplicate_features have records checked. false needs local files."`
}

// SkipConfig is the form of "bad_records" that skips bad records.
type SkipConfig struct {
	decl.Object
	Skip decl.Either[int64, string] `json:"skip" decl:"required,min=0" doc:"How many bad records are left out at most: a number, or a share of the records, such as \"1%\"."`
}

// faultPart checks what the config says of bad records.
type faultPart struct{ *checker }

// faults checks what the config says of bad records. The tensors are known.
func (c faultPart) faults() {
	a := c.args
	if skip := a.BadRecords.B; skip != nil && !a.Bad("bad_records") && !skip.Bad("skip") {
		c.skip(skip)
	}
	if !a.Bad("check_finite") {
		c.checkFinite()
	}
	if c.spec.BadRecords != nil {
		c.recordsChecked("bad_records")
	}
	if c.spec.ChecksFinite() {
		c.recordsChecked("check_finite")
	}
	c.spec.RefuseDuplicates = a.DuplicateFeatures == "error"
	if c.spec.RefuseDuplicates {
		c.recordsChecked("duplicate_features")
	}
	c.spec.AllowEmptyRecords = a.AllowEmptyRecords
	if c.spec.RefusesEmptyRecords() {
		c.recordsChecked("allow_empty_records")
	}
}

// recordsChecked reports a key that requires Go to check every record where Go cannot.
func (c faultPart) recordsChecked(key string) {
	c.localFiles(key)
	if c.spec.Window != nil && c.ordered.given() {
		c.inConfig.Report(c.args.Key(key), "windows that are read by their place cannot do without a record of the file; leave out shuffle_mode, shard and range")
	}
}

// localFiles reports a key that requires Go to read the files if one of them is remote.
func (c faultPart) localFiles(key string) {
	for _, f := range c.spec.Files {
		if f.Remote {
			c.inConfig.Report(c.args.Key(key), "needs counted records, and those of the remote file %s are not; %s", decl.QuotePath(PrintablePath(f.Path)), needIndex(f.Path))
			return
		}
	}
}

func (c faultPart) skip(s *SkipConfig) {
	if n := s.Skip.A; n != nil {
		c.spec.BadRecords = &BadRecords{Number: *n, Text: `"skip": ` + strconv.FormatInt(*n, 10)}
		return
	}
	text := *s.Skip.B
	number, isShare := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !isShare || err != nil || !(percent >= 0 && percent <= 100) {
		c.inConfig.Report(s.Key("skip"), "must be a number of records, or a share from \"0%%\" to \"100%%\", got %s", decl.Quote(text))
		return
	}
	c.spec.BadRecords = &BadRecords{Number: -1, Share: percent / 100, Text: `"skip": ` + decl.Quote(text)}
}

// checkFinite marks the features whose values must be finite.
func (c faultPart) checkFinite() {
	a := c.args
	switch names := a.CheckFinite.B; {
	case a.CheckFinite.A != nil && *a.CheckFinite.A:
		for _, primary := range c.spec.Primaries {
			primary.From.Finite = primary.From.Finite || hasInfinity(primary.From.DType)
		}
	case names != nil:
		for i, name := range *names {
			c.finiteTensor(a.Key("check_finite").Elem(i), name)
		}
	}
}

// finiteTensor marks the feature of one tensor.
func (c faultPart) finiteTensor(at *jsonpos.Node, name string) {
	t := c.tensor(at, name)
	f := c.spec.FeatureOf(name)
	switch {
	case t == nil:
	case f == nil && !t.typed:
		// already reported
	case f == nil:
		c.inConfig.Report(at, "%s is not read from the records: only primary features are checked", decl.Quote(name))
	case !hasInfinity(f.DType):
		c.inConfig.Report(at, "%s is %s, which has neither NaN nor infinity", decl.Quote(name), f.DType)
	default:
		f.Finite = true
	}
}

// ChecksFinite reports whether values of some feature must be finite.
func (s *Spec) ChecksFinite() bool {
	for _, f := range s.Features {
		if f.Finite {
			return true
		}
	}
	return false
}

// RefusesEmptyRecords reports whether a record of 0 bytes is bad though it could be
// decoded: every feature may be missing, and the config says false.
func (s *Spec) RefusesEmptyRecords() bool {
	required := func(f *Feature) bool { return !f.Optional }
	return s.AllowEmptyRecords != nil && !*s.AllowEmptyRecords && !slices.ContainsFunc(s.Features, required)
}

// hasInfinity reports whether a dtype has NaN and infinity.
func hasInfinity(d tfbridge.DataType) bool {
	switch d {
	case tfbridge.Half, tfbridge.Bfloat16, tfbridge.Float, tfbridge.Double, tfbridge.Complex64, tfbridge.Complex128:
		return true
	}
	return false
}
