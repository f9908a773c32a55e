package main

import (
	"go/ast"
	"go/token"
	"go/types"

	"millrace/internal/test/equivalent"
)

// find adds the mutants of a file to its package.
func (f *finder) find() {
	for _, d := range f.src.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR {
			continue // constants must be constants
		}
		f.function = equivalent.FunctionName(d)
		ast.Inspect(d, f.visit)
	}
}

// visit mutates a node. It returns false for nodes whose children are not to be
// mutated.
func (f *finder) visit(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok {
		if v := f.p.info.Types[e]; v.Value != nil {
			f.constant(e, v)
			return false
		}
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		return f.body(n.Type, n.Body)
	case *ast.FuncLit:
		return f.body(n.Type, n.Body)
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.ArrayType, *ast.StructType, *ast.InterfaceType, *ast.FuncType:
		return false
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.branch(n)
	case *ast.ForStmt:
		f.condition(n.Cond)
	case *ast.ReturnStmt:
		f.returned(n)
	case *ast.AssignStmt:
		f.assigned(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.CompositeLit:
		return f.composite(n)
	}
	return true
}

// body mutates a function's body. Meanwhile it keeps the function's results, which the
// mutants of return statements need.
func (f *finder) body(t *ast.FuncType, body *ast.BlockStmt) bool {
	if body != nil {
		f.results = append(f.results, t.Results)
		ast.Inspect(body, f.visit)
		f.results = f.results[:len(f.results)-1]
	}
	return false
}

// composite mutates the values of a literal. Keys stay as they are.
func (f *finder) composite(n *ast.CompositeLit) bool {
	t := f.p.info.TypeOf(n)
	_, isStruct := t.Underlying().(*types.Struct)
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			ast.Inspect(e, f.visit)
			continue
		}
		if isStruct {
			f.field(kv)
		}
		ast.Inspect(kv.Value, f.visit)
	}
	return false
}
