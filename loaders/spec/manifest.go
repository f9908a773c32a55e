package spec

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// ManifestConfig is a dataset manifest as it is written. [ReadManifest] reads
// one.
type ManifestConfig struct {
	decl.Object
	Compression *string         `json:"compression" decl:"required,null,enum=gzip|zlib" doc:"The compression of the data files; null means none."`
	AllowVarLen bool            `json:"allow_var_len" decl:"required" doc:"Whether records are SequenceExamples, which may hold feature lists. Otherwise they are Examples."`
	Features    []FeatureConfig `json:"features" decl:"required,nonempty,most=65536" doc:"All features that can be loaded."`
}

// MarshalJSON writes a manifest in the form of its file: features have var_len only if
// allow_var_len is set.
func (m *ManifestConfig) MarshalJSON() ([]byte, error) {
	type manifest ManifestConfig // without this method
	if m.AllowVarLen {
		return json.Marshal((*manifest)(m))
	}
	type feature struct {
		FeatureConfig
		VarLen any `json:"var_len,omitempty"` // hides the embedded field
	}
	features := make([]feature, len(m.Features))
	for i, f := range m.Features {
		features[i] = feature{FeatureConfig: f}
	}
	return json.Marshal(&struct {
		*manifest
		Features []feature `json:"features"`
	}{(*manifest)(m), features})
}

// FeatureConfig is one feature of a manifest.
type FeatureConfig struct {
	decl.Object
	Name            string  `json:"name" decl:"required,nonempty,label=feature" doc:"The name of the feature or feature list in the records."`
	DType           string  `json:"dtype" decl:"required" doc:"The data type of the tensor, by TensorFlow's name. The stored values are cast to it."`
	Shape           []int64 `json:"shape" decl:"required,most=253,items.min=-1,items.limit=2147483648" doc:"The shape of one record's tensor or, if var_len is true, of one element of the list. If allow_var_len is false, the first dimension of a feature of type int, float or string may be -1: a record stores any number of values, a multiple of the product of the other dimensions. No dimension is 0."`
	VarLen          bool    `json:"var_len" decl:"" doc:"Whether this is a feature list, of any length. Required if allow_var_len is true; otherwise it must be false or absent."`
	Default         []int64 `json:"default,omitzero" decl:"" doc:"What a record has that lacks the feature. The only default is [], no values, for a feature whose shape begins with -1. Without a default it is an error."`
	DeserializeType Kind    `json:"deserialize_type" decl:"required" doc:"How the feature is stored: int, float and string in the list of that kind, raw as the bytes of numbers."`
	DeserializeArgs any     `json:"deserialize_args,omitempty" decl:"variant=deserialize_type" doc:"How exactly the feature is stored; deserialize_type says which keys there are."` // *RawArgs or *NoArgs
	CheckedCast     bool    `json:"checked_cast,omitempty" decl:"default=false" doc:"Whether it is an error if the cast to dtype changes a value."`
}

// Variants lists the arguments of each way to store a feature.
func (*FeatureConfig) Variants(string) []decl.Variant {
	none := func() any { return new(NoArgs) }
	return []decl.Variant{
		{Name: string(Int), New: none},
		{Name: string(Float), New: none},
		{Name: string(String), New: none},
		{Name: string(Raw), New: func() any { return new(RawArgs) }, Doc: "A byte string holds numbers of the dtype, one after the other."},
	}
}

// NoArgs are arguments that do not exist.
type NoArgs struct {
	decl.Object
}

// RawArgs are the arguments of a feature that is stored as raw bytes.
type RawArgs struct {
	decl.Object
	Endian string `json:"endian" decl:"required,enum=little|big" doc:"The byte order of the numbers."`
	Len    int64  `json:"len,omitempty" decl:"default=1,min=1,limit=2147483647" doc:"How many byte strings a record has. More than 1 are stacked along a new first axis. Ignored if var_len is true."`
}

// manifestPart checks a manifest.
type manifestPart struct{ *checker }

// readManifest reads and checks the manifest that a node of the config names.
func (c manifestPart) readManifest(at *jsonpos.Node) {
	m, err := c.loadManifest()
	if err != nil {
		d := c.unreadable(at, "manifest", c.spec.ManifestPath, err)
		if errors.Is(err, fs.ErrNotExist) && path.Base(filepath.ToSlash(c.spec.ManifestPath)) == ManifestName {
			d.Hint = "millrace inspect DIR --write-manifest FILE writes a first one"
		}
	}
	if m != nil {
		c.manifest(m)
	}
}

// loadManifest reads the manifest. After reporting that it is not a JSON object, it
// returns nil. It returns an error only if the file cannot be read.
func (c manifestPart) loadManifest() (*ManifestConfig, error) {
	path := c.spec.ManifestPath
	c.inManifest.File = path
	data, err := c.disk.read(path, jsonpos.MaxBytes)
	if err != nil {
		return nil, err
	}
	node := c.parse(path, data)
	if node == nil {
		return nil, nil
	}
	c.spec.Manifest.SHA256 = fmt.Sprintf("%x", sha256.Sum256(data))
	m := &ManifestConfig{}
	c.inManifest.Decode(node, m)
	if m.At == nil {
		return nil, nil
	}
	return m, nil
}

// manifest checks a manifest that has been read and remembers its features.
func (c manifestPart) manifest(m *ManifestConfig) {
	c.spec.Manifest.AllowVarLen = m.AllowVarLen
	if m.Compression != nil && !m.Bad("compression") {
		c.spec.Manifest.Compression = tfrecord.Compression(*m.Compression)
	}
	if len(m.Features) == 0 {
		return
	}
	c.features = make(map[string]*featureState, len(m.Features))
	for i := range m.Features {
		f := &m.Features[i]
		if f.At == nil {
			c.unnamed = true
			continue // no object
		}
		state := c.feature(f, m)
		state.Index = i
		if f.Bad("name") {
			c.unnamed = true
			continue
		}
		if first, ok := c.features[f.Name]; ok {
			c.inManifest.Report(f.Key("name"), "repeated feature %s; features[%d] has that name too", decl.Quote(f.Name), first.Index)
			continue
		}
		c.features[f.Name] = state
		c.featureNames = append(c.featureNames, f.Name)
	}
}

// feature checks one feature.
func (c manifestPart) feature(f *FeatureConfig, m *ManifestConfig) *featureState {
	s := &featureState{Feature: Feature{
		Name: f.Name, Kind: f.DeserializeType, Shape: f.Shape, VarLen: f.VarLen, Len: 1, CheckedCast: f.CheckedCast,
	}}
	if s.Shape == nil {
		s.Shape = []int64{}
	}
	whole := c.variableShape(f, m, s)
	if raw, ok := f.DeserializeArgs.(*RawArgs); ok {
		s.Endian = raw.Endian
		if !f.VarLen {
			s.Len = raw.Len
		}
	}
	s.shaped = !f.Bad("shape", "var_len", "deserialize_type", "deserialize_args") && !m.Bad("allow_var_len")
	s.typed = c.featureType(f, s)
	s.shaped = c.featureLength(f, m) && whole && s.shaped
	if s.typed && s.shaped {
		s.shaped = c.featureSize(f, s)
	}
	return s
}

// featureType checks dtype, both alone and against deserialize_type.
func (c manifestPart) featureType(f *FeatureConfig, s *featureState) bool {
	if f.Bad("dtype") {
		return false
	}
	at := f.Key("dtype")
	d, ok := processing.Loadable(f.DType)
	if !ok {
		report := c.inManifest.Report(at, "unknown dtype %s", decl.Quote(f.DType))
		report.Hint = processing.DTypeHint(f.DType)
		return false
	}
	s.DType = d
	switch stored := f.DeserializeType; {
	case f.Bad("deserialize_type"):
	case stored == String && d != tfbridge.String:
		c.inManifest.Report(at, "a feature stored as strings has dtype \"string\", not %q", f.DType)
		return false
	case stored != String && d == tfbridge.String:
		c.inManifest.Report(at, "only a feature stored as strings has dtype \"string\"; this one is stored as %q", string(stored))
		return false
	}
	return true
}

// featureLength checks var_len against allow_var_len.
func (c manifestPart) featureLength(f *FeatureConfig, m *ManifestConfig) bool {
	switch {
	case m.Bad("allow_var_len") || f.Bad("var_len"):
		return false
	case m.AllowVarLen && !f.Has("var_len"):
		c.inManifest.Report(f.At, "missing key \"var_len\"; it is required because allow_var_len is true")
	case !m.AllowVarLen && f.VarLen:
		d := c.inManifest.Report(f.Key("var_len"), "must be false, because allow_var_len is")
		d.Hint = "in an Example a feature of any number of values has a shape that begins with -1"
	default:
		return true
	}
	return false
}

// featureSize checks that the tensor of a record is not too large.
func (c manifestPart) featureSize(f *FeatureConfig, s *featureState) bool {
	bytes, ok := ByteSize(s.DType, 1, s.TensorShape())
	if ok && bytes <= maxBatchBytes {
		return true
	}
	d := c.inManifest.Report(f.Key("shape"), "a tensor of shape %s is larger than %d bytes", processing.FormatShape(s.TensorShape()), int64(maxBatchBytes))
	d.Class = c.inManifest.Limit
	return false
}

// Records of a manifest without allow_var_len are Examples. A feature whose shape begins
// with -1 may have any number of elements:
//
//	"shape": [-1]       stored 5 6 7            tensor [5 6 7]
//	"shape": [-1, 3]    stored 1 2 3 4 5 6      tensor [[1 2 3] [4 5 6]]
//
// Once decoded, it equals a feature list of that length: see [Feature.VarLen].

// variableShape checks the shape and the default of a feature, and makes one
// whose shape begins with -1 variable. It reports whether they can be used.
func (c manifestPart) variableShape(f *FeatureConfig, m *ManifestConfig, s *featureState) bool {
	if f.Bad("shape", "default") {
		return false
	}
	variable := len(f.Shape) > 0 && f.Shape[0] == -1
	ok := c.dimensions(f, variable)
	if variable {
		ok = c.variable(f, m) && ok
		s.VarLen, s.Shape = true, slices.Clone(f.Shape[1:])
	}
	switch {
	case !f.Has("default"):
		return ok
	case len(f.Default) > 0:
		c.inManifest.Report(f.Key("default"), "must be [], the only default there is, got %s", decl.Show(f.Key("default")))
	case !variable:
		c.inManifest.Report(f.Key("default"), "only a feature whose shape begins with -1 has a default; others must be in every record")
	default:
		s.Optional = true
		return ok
	}
	return false
}

// dimensions checks the dimensions of a shape, except for a variable first one.
func (c manifestPart) dimensions(f *FeatureConfig, variable bool) bool {
	low, ok := int64(1), true
	for i, at := range f.Key("shape").Elems() {
		switch n := f.Shape[i]; {
		case i == 0 && variable:
		case n == -1:
			c.inManifest.Report(at, "only the first dimension can be -1")
			ok = false
		default:
			ok = c.inManifest.InRange(at, n, decl.Range{Min: &low}) && ok
		}
	}
	return ok
}

// variable checks whether a feature may have any number of elements.
func (c manifestPart) variable(f *FeatureConfig, m *ManifestConfig) bool {
	at := f.Key("shape").Elem(0)
	switch {
	case m.Bad("allow_var_len") || f.Bad("deserialize_type"):
		return false
	case m.AllowVarLen && f.VarLen:
		c.inManifest.Report(at, "must be at least 1, got -1").Hint = "the shape of a feature list is that of one element: leave the -1 out"
	case m.AllowVarLen:
		c.inManifest.Report(at, "must be at least 1, got -1").Hint = "only features of Examples (allow_var_len false) have -1; a feature list has var_len true"
	case f.DeserializeType == Raw:
		c.inManifest.Report(at, "a feature stored as raw bytes cannot have -1: only int, float and string can")
	default:
		return true
	}
	return false
}
