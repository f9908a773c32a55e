package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// Each function below makes the mutants of one kind of code. What it writes
// calls the functions of switches.go.txt.

const number = types.IsInteger | types.IsFloat

// constant adds 1 to a number, and negates a truth value. Constants of named types are
// not changed: most are enumerations.
func (f *finder) constant(e ast.Expr, v types.TypeAndValue) {
	if t := basic(v.Type, number); t != nil {
		now := constant.BinaryOp(v.Value, token.ADD, constant.MakeInt64(1)).ExactString()
		f.wrap("constant", e, now, "mutantNumber["+t.Name()+"](%d, ", ")")
	}
	if v.Value.Kind() == constant.Bool && basic(v.Type, types.IsBoolean) != nil {
		f.wrap("constant", e, fmt.Sprint(!constant.BoolVal(v.Value)), "(mutantOn(%d) != ", ")")
	}
}

// opposites are the comparisons that are true when another is false.
var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ,
	token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
}

// swap is an operator that is replaced by another, and the function that does so.
type swap struct {
	kind string
	by   token.Token
	call string
	of   types.BasicInfo
}

var swaps = map[token.Token]swap{
	token.LSS: {"boundary", token.LEQ, "mutantLess", types.IsOrdered},
	token.LEQ: {"boundary", token.LSS, "mutantLessEqual", types.IsOrdered},
	token.GTR: {"boundary", token.GEQ, "mutantGreater", types.IsOrdered},
	token.GEQ: {"boundary", token.GTR, "mutantGreaterEqual", types.IsOrdered},
	token.ADD: {"arithmetic", token.SUB, "mutantAdd", number},
	token.SUB: {"arithmetic", token.ADD, "mutantSubtract", number},
	token.MUL: {"arithmetic", token.QUO, "mutantMultiply", number},
	token.QUO: {"arithmetic", token.MUL, "mutantDivide", number},
	token.REM: {"arithmetic", token.MUL, "mutantRemainder", types.IsInteger},
	token.AND: {"arithmetic", token.OR, "mutantAnd", types.IsInteger},
	token.OR:  {"arithmetic", token.AND, "mutantOr", types.IsInteger},
	token.SHL: {"arithmetic", token.SHR, "mutantLeft", types.IsInteger},
	token.SHR: {"arithmetic", token.SHL, "mutantRight", types.IsInteger},
}

// binary negates comparisons and swaps operators.
func (f *finder) binary(n *ast.BinaryExpr) {
	op := spanOf(f.p.fset, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())))
	whole := f.span(n)
	if o, ok := opposites[n.Op]; ok {
		f.add("negated", n, op, o.String(), func(id int) []edit {
			return []edit{around(whole.from, whole.to, fmt.Sprintf("(mutantOn(%d) != (", id), "))")}
		})
	}
	if n.Op == token.LAND || n.Op == token.LOR {
		f.logic(n, op)
		f.condition(n.X)
		f.condition(n.Y)
	}
	s, ok := swaps[n.Op]
	if !ok || !f.is(n.X, s.of) || !f.is(n.Y, s.of) {
		return
	}
	f.add(s.kind, n, op, s.by.String(), func(id int) []edit {
		return []edit{
			around(whole.from, whole.to, fmt.Sprintf("%s(%d, ", s.call, id), ")"),
			instead(op.from, op.to, ","),
		}
	})
}

// logic swaps && and ||. It negates both sides and the whole expression, so the second
// side is evaluated only when the swapped operator would evaluate it.
func (f *finder) logic(n *ast.BinaryExpr, op span) {
	by := token.LOR
	if n.Op == token.LOR {
		by = token.LAND
	}
	f.add("logic", n, op, by.String(), func(id int) []edit {
		var edits []edit
		for _, part := range []ast.Node{n, n.X, n.Y} {
			s := f.span(part)
			edits = append(edits, around(s.from, s.to, fmt.Sprintf("(mutantOn(%d) != (", id), "))"))
		}
		return edits
	})
}

// condition negates a condition that is not a comparison. Function binary negates
// those.
func (f *finder) condition(e ast.Expr) {
	if e == nil {
		return
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && (opposites[b.Op] != 0 || b.Op == token.LAND || b.Op == token.LOR) {
		return
	}
	if f.p.info.Types[e].Value != nil || f.done[e] {
		return
	}
	f.done[e] = true
	f.wrap("negated", e, "!("+f.text(e)+")", "(mutantOn(%d) != (", "))")
}

// branch negates the condition of an if. If the block ends by leaving the function or
// the loop, branch also makes the condition false.
func (f *finder) branch(n *ast.IfStmt) {
	if len(n.Body.List) > 0 {
		switch n.Body.List[len(n.Body.List)-1].(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			f.wrap("never", n.Cond, "false", "(!mutantOn(%d) && (", "))")
		}
	}
	f.condition(n.Cond)
}

// returned drops the error that a function returns.
func (f *finder) returned(n *ast.ReturnStmt) {
	fields := f.results[len(f.results)-1]
	if fields == nil || len(n.Results) == 0 || len(n.Results) != fields.NumFields() {
		return
	}
	last := n.Results[len(n.Results)-1]
	declared := f.p.info.TypeOf(fields.List[len(fields.List)-1].Type)
	if f.p.info.Types[last].IsNil() || !types.Identical(declared, types.Universe.Lookup("error").Type()) {
		return
	}
	f.wrap("error dropped", last, "nil", "mutantError(%d, ", ")")
}

// assigned exchanges the assignments += and -=.
func (f *finder) assigned(n *ast.AssignStmt) {
	by := map[token.Token]token.Token{token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN}[n.Tok]
	if by == 0 || !f.is(n.Lhs[0], number) {
		return
	}
	name, ok := f.spell(f.p.info.TypeOf(n.Lhs[0]))
	if !ok {
		return
	}
	y := f.span(n.Rhs[0])
	op := spanOf(f.p.fset, n.TokPos, n.TokPos+2)
	f.add("arithmetic", n, op, by.String(), func(id int) []edit {
		return []edit{around(y.from, y.to, fmt.Sprintf("mutantSign[%s](%d, ", name, id), ")")}
	})
}

// statements removes statements.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		if removable(s) {
			f.wrap("removed", s, "", "if !mutantOn(%d) { ", " }")
		}
	}
}

// unremarkable are calls whose absence shows only in a log, at a garbage collection, or
// at a failure at the wrong moment.
var unremarkable = []string{"runtime.KeepAlive", "runtime.GC"}

func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		blank, ok := s.Lhs[0].(*ast.Ident)
		return s.Tok != token.DEFINE && !(ok && blank.Name == "_" && len(s.Lhs) == 1)
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
		return true
	case *ast.DeferStmt:
		return !slices.Contains(unremarkable, types.ExprString(s.Call.Fun))
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		name := types.ExprString(call.Fun)
		return name != "panic" && !slices.Contains(unremarkable, name)
	}
	return false
}

// field leaves a field of a struct at its zero value.
func (f *finder) field(kv *ast.KeyValueExpr) {
	v := f.p.info.Types[kv.Value]
	if v.IsNil() || v.Type == nil {
		return
	}
	before := "mutantZero(%d, "
	if v.Value != nil {
		if basic(v.Type, number|types.IsBoolean) != nil || isZero(v.Value) {
			return // see constant
		}
		name, ok := f.spell(v.Type)
		if !ok {
			return
		}
		before = "mutantZero[" + name + "](%d, "
	}
	s, value := f.span(kv), f.span(kv.Value)
	f.add("field", kv, s, f.text(kv.Key)+": zero", func(id int) []edit {
		return []edit{around(value.from, value.to, fmt.Sprintf(before, id), ")")}
	})
}

func isZero(v constant.Value) bool {
	switch v.Kind() {
	case constant.String:
		return constant.StringVal(v) == ""
	case constant.Bool:
		return !constant.BoolVal(v)
	}
	return constant.Sign(v) == 0
}
