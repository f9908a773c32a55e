package spec

import (
	"slices"

	"millrace/loaders/decl"
)

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
