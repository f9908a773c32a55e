package tfbridge

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
)

// The fields used of OpDef and OpDef.AttrDef.
const (
	opDefAttr   = 4
	attrDefName = 1
)

// checkAttrNames refuses attributes that the operation's type does not have,
// which TensorFlow would keep and never look at. Names that begin with an
// underscore are free.
func (g *Graph) checkAttrNames(spec *OpSpec) error {
	var has map[string]bool
	for _, name := range slices.Sorted(maps.Keys(spec.Attrs)) {
		if strings.HasPrefix(name, "_") {
			continue
		}
		if has == nil {
			if has = g.attrNames(spec.Type); has == nil {
				return nil // TensorFlow will say what is wrong with the type
			}
		}
		if !has[name] {
			return millrace.Errorf(millrace.ErrModel, "type %q has no attribute %q; it has %s", spec.Type, name, quoteKeys(has))
		}
	}
	return nil
}

// attrNames returns the names of the attributes of an operation type, nil if
// there is no such type.
func (g *Graph) attrNames(opType string) map[string]bool {
	if known, ok := g.attrs.Load(opType); ok {
		return known.(map[string]bool)
	}
	def, err := g.OpDef(opType)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	eachField(def, func(num protowire.Number, attr []byte, _ uint64) bool {
		return num != opDefAttr || eachField(attr, func(num protowire.Number, name []byte, _ uint64) bool {
			if num == attrDefName {
				names[string(name)] = true
			}
			return true
		})
	})
	g.attrs.Store(opType, names)
	return names
}
