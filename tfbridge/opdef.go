//go:build cgo

package tfbridge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/wire"
)

// The fields used of OpDef and OpDef.AttrDef.
const (
	opDefAttr   = 4
	attrDefName = 1
	attrDefType = 2
)

// checkAttrNames refuses attributes that the operation's type does not have, which
// TensorFlow would keep and ignore. Names that begin with an underscore are allowed.
func (g *Graph) checkAttrNames(spec *OpSpec) error {
	var has map[string]string
	for _, name := range slices.Sorted(maps.Keys(spec.Attrs)) {
		if strings.HasPrefix(name, "_") {
			continue
		}
		if has == nil {
			if has = g.attrTypes(spec.Type); has == nil {
				return nil // TensorFlow reports the wrong type
			}
		}
		if has[name] == "" {
			return millrace.Errorf(millrace.ErrModel, "type %q has no attribute %q; it has %s", spec.Type, name, quoteKeys(has))
		}
	}
	return nil
}

// explainType returns the error of an operation that could not be added. If its type
// does not exist, the error reports that and names the nearest one.
func (g *Graph) explainType(opType string, err error) error {
	if _, unknown := g.OpDef(opType); !errors.Is(unknown, NotFound) {
		return err
	}
	what := fmt.Sprintf("there is no operation type %q", opType)
	list, listErr := OpList()
	if listErr != nil {
		return err
	}
	names, listErr := opNames(list)
	if listErr != nil {
		return err
	}
	public := slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "_") })
	if near := diag.DidYouMean(opType, public); near != "" {
		what += "; " + near
	}
	return &millrace.Error{Class: millrace.ErrModel, Record: -1, Offset: -1, Code: int(NotFound), Msg: what, Err: err}
}

// attrTypes returns the attributes of an operation type and their types, such as
// "list(string)"; nil if there is no such operation type.
func (g *Graph) attrTypes(opType string) map[string]string {
	if known, ok := g.attrs.Load(opType); ok {
		return known.(map[string]string)
	}
	def, err := g.OpDef(opType)
	if err != nil {
		return nil
	}
	types := map[string]string{}
	wire.Each(def, func(num protowire.Number, attr []byte, _ uint64) bool {
		if num != opDefAttr {
			return true
		}
		var name, typ string
		ok := wire.Each(attr, func(num protowire.Number, v []byte, _ uint64) bool {
			switch num {
			case attrDefName:
				name = string(v)
			case attrDefType:
				typ = string(v)
			}
			return true
		})
		types[name] = typ
		return ok
	})
	g.attrs.Store(opType, types)
	return types
}
