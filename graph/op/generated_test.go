package op_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	tf "millrace/tfbridge"
)

// wrapper describes what a generated function passes to the operation.
type wrapper struct {
	inputs int
	lists  []string // the named list outputs
	attrs  map[string]bool
}

// wrappers reads the generated files: for each operation the arguments that its
// function passes on, and the attributes of its options.
func wrappers(t *testing.T) map[string]*wrapper {
	t.Helper()
	paths, err := filepath.Glob("*_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	all, options := map[string]*wrapper{}, map[string][]string{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if f.Type.Params.List[0].Names[0].Name != "scope" {
				result := f.Type.Results.List[0].Type.(*ast.Ident).Name
				options[strings.TrimSuffix(result, "Attr")] = append(options[strings.TrimSuffix(result, "Attr")], literals(f.Body)...)
				continue
			}
			name, w := read(t, f)
			all[name] = w
		}
	}
	for name, attrs := range options {
		for _, a := range attrs {
			all[name].attrs[a] = true
		}
	}
	return all
}

// literals returns the string literals in a body, in order.
func literals(body ast.Node) []string {
	var found []string
	ast.Inspect(body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, _ := strconv.Unquote(lit.Value)
			found = append(found, s)
		}
		return true
	})
	return found
}

// read returns the arguments that the function of an operation passes on.
func read(t *testing.T, f *ast.FuncDecl) (string, *wrapper) {
	w := &wrapper{attrs: map[string]bool{}}
	name := ""
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			if fun.Name == "add" {
				name = literals(call.Args[1])[0]
				for _, a := range literals(call.Args[2]) {
					w.attrs[a] = true
				}
				w.inputs = len(call.Args) - 3
			}
		case *ast.SelectorExpr:
			if fun.Sel.Name == "list" {
				w.lists = append(w.lists, literals(call.Args[0])...)
			}
		}
		return true
	})
	if name != f.Name.Name {
		t.Errorf("%s adds a %q", f.Name, name)
	}
	return name, w
}

// Each public operation of the runtime has a function, which passes on each input,
// names each list among the outputs, and can set each attribute that the inputs do not
// imply; and no other function exists.
func TestGeneratedFunctions(t *testing.T) {
	raw, err := tf.OpList()
	if err != nil {
		t.Fatal(err)
	}
	var list tfproto.OpList
	if err := proto.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	have := wrappers(t)
	for _, def := range list.Op {
		if strings.HasPrefix(def.Name, "_") || strings.HasPrefix(def.Name, "Millrace") || def.Name == "Const" {
			continue
		}
		w := have[def.Name]
		if w == nil {
			t.Errorf("no function for %s", def.Name)
			continue
		}
		delete(have, def.Name)
		want := definition(def)
		if diff := cmp.Diff(want, w, cmp.AllowUnexported(wrapper{})); diff != "" {
			t.Errorf("%s (-definition +function)\n%s", def.Name, diff)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		t.Errorf("%s is no public operation", name)
	}
}

// definition returns the arguments that a function must pass on.
func definition(def *tfproto.OpDef) *wrapper {
	w := &wrapper{inputs: len(def.InputArg), attrs: map[string]bool{}}
	for _, a := range def.Attr {
		w.attrs[a.Name] = true
	}
	for _, in := range def.InputArg {
		delete(w.attrs, in.TypeAttr)
		delete(w.attrs, in.TypeListAttr)
		delete(w.attrs, in.NumberAttr)
	}
	for _, out := range def.OutputArg {
		if out.NumberAttr != "" || out.TypeListAttr != "" {
			w.lists = append(w.lists, out.Name)
		}
	}
	return w
}
