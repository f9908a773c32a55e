package lint

import (
	"go/ast"
	"strconv"
	"strings"
	"testing"
)

// Other programs embed the packages of serving. They cannot name types of internal
// packages, so exported declarations of serving must not use them.
func TestPublicTypes(t *testing.T) {
	each(t, func(s *source) {
		if s.test() || !strings.HasPrefix(s.path, "serving/") || strings.Contains(s.path, "/internal/") {
			return
		}
		hidden := map[string]bool{}
		for _, i := range s.file.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err == nil && strings.Contains("/"+p+"/", "/internal/") && i.Name == nil {
				hidden[p[strings.LastIndex(p, "/")+1:]] = true
			}
		}
		look := func(name string, n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if pkg, ok := sel.X.(*ast.Ident); ok && hidden[pkg.Name] {
						t.Errorf("%s: exported %s has the internal type %s.%s", s.path, name, pkg.Name, sel.Sel.Name)
					}
				}
				return true
			})
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv.List[0].Type)) {
					look(d.Name.Name, d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
						lookAtType(ts, look)
					}
				}
			}
		}
	})
}

// lookAtType checks the visible part of a type: the exported fields of a struct.
func lookAtType(ts *ast.TypeSpec, look func(string, ast.Node)) {
	st, ok := ts.Type.(*ast.StructType)
	if !ok {
		look(ts.Name.Name, ts.Type)
		return
	}
	for _, f := range st.Fields.List {
		for _, name := range f.Names {
			if name.IsExported() {
				look(ts.Name.Name+"."+name.Name, f.Type)
			}
		}
	}
}

// exportedReceiver reports whether a method belongs to an exported type.
func exportedReceiver(e ast.Expr) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	name, ok := e.(*ast.Ident)
	return ok && name.IsExported()
}
