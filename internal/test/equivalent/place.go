package equivalent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// FunctionName returns the name of a declaration in an entry: "columns",
// "parser.columns" for a method, "" if it is not a function.
func FunctionName(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch inner := t.(type) {
		case *ast.StarExpr:
			t = inner.X
		case *ast.IndexExpr:
			t = inner.X
		case *ast.IndexListExpr:
			t = inner.X
		case *ast.Ident:
			return inner.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// InCode reports whether an entry's function still has its line. It compares text only,
// so it needs no compiler.
func (e *Entry) InCode(module string) (bool, error) {
	paths, err := filepath.Glob(filepath.Join(module, filepath.FromSlash(e.Package), "*.go"))
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if found, err := e.inFile(path); found || err != nil {
			return found, err
		}
	}
	return false, err
}

func (e *Entry) inFile(path string) (bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	for _, d := range tree.Decls {
		if FunctionName(d) != e.Function {
			continue
		}
		for line := range strings.Lines(string(text[files.Position(d.Pos()).Offset:files.Position(d.End()).Offset])) {
			if line := words(line); line == e.Was || line+" ..." == e.Was {
				return true, nil
			}
		}
	}
	return false, nil
}
