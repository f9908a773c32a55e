package graph

import (
	"slices"

	"millrace/tfbridge"
)

// The derivative of a loop is two loops. The first, record, runs the loop again
// and pushes the variables of each iteration on tensor lists. The second, replay,
// pops them from the last iteration to the first, and applies the derivative of
// the body to them and to the derivatives so far:
//
//	record:   v0 --body--> v1 --body--> v2 --body--> v3     lists: [v0 v1 v2]
//	replay:   d0 <--body'-- d1 <--body'-- d2 <--body'-- d3
//	                 v0            v1            v2
//
// The alternative is to keep the variables while the loop itself runs. Then every
// loop would pay for it, also in a graph that only predicts.

// scalarSpec is the spec of a scalar.
func scalarSpec(dt tfbridge.DataType) Spec {
	return Spec{DType: dt, Shape: tfbridge.ScalarShape()}
}

// addGradient adds the derivative of the loop. args are the variables, the
// captures, and a derivative for each variable. The results are a derivative for
// each variable and each capture.
func (l *loop) addGradient(s *Scope, args []tfbridge.Output) []tfbridge.Output {
	x, dys := args[:len(l.all)], args[len(l.all):]
	rounds, lists := l.record(s, x)
	var dx []tfbridge.Output // derivatives of the variables and captures that have one
	var specs []Spec
	for i, v := range x {
		switch {
		case !trainable(v.DataType()):
			continue
		case i < len(dys):
			dx = append(dx, dys[i])
		default:
			dx = append(dx, ZerosLike(s, v))
		}
		specs = append(specs, l.all[i])
	}
	if s.Err() != nil {
		return nil
	}
	dx = l.replay(s, rounds, lists, x, dx, specs)
	if s.Err() != nil {
		return nil
	}
	var results []tfbridge.Output
	for _, v := range x {
		switch {
		case trainable(v.DataType()):
			results, dx = append(results, dx[0]), dx[1:]
		case hasZero(v.DataType()):
			results = append(results, ZerosLike(s, v))
		default:
			results = append(results, Identity(s, v))
		}
	}
	return results
}

// record adds the loop once more. It returns the number of iterations, and for
// each variable a list of its values at the start of each iteration.
func (l *loop) record(s *Scope, x []tfbridge.Output) (rounds tfbridge.Output, lists []tfbridge.Output) {
	n := len(l.vars)
	specs := append([]Spec{scalarSpec(tfbridge.Int32)}, l.all...)
	inputs := append([]tfbridge.Output{s.Const(int32(0))}, x...)
	for _, v := range l.vars {
		inputs = append(inputs, s.Op1("EmptyTensorList", map[string]any{"element_dtype": v.DType}, s.Const(int32(-1)), s.Const(int32(-1))))
		specs = append(specs, scalarSpec(tfbridge.Variant))
	}
	cond := s.Func("while_record_cond", specs, nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return s.call(l.cond, args[1:1+len(l.all)])
	})
	body := s.Func("while_record_body", specs, nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		all := args[1 : 1+len(l.all)]
		results := append([]tfbridge.Output{Add(s, args[0], s.Const(int32(1)))}, s.call(l.body, all)...)
		for i, list := range args[1+len(l.all):] {
			results = append(results, s.Op1("TensorListPushBack", map[string]any{"element_dtype": l.vars[i].DType}, list, all[i]))
		}
		return results
	})
	if s.Err() != nil {
		return tfbridge.Output{}, nil
	}
	outputs := l.while(s, cond, body, specs, inputs)
	if s.Err() != nil {
		return tfbridge.Output{}, nil
	}
	return outputs[0], outputs[len(outputs)-n:]
}

// replay adds the loop that goes through the lists from their ends and carries the
// derivatives dx back. The captures are the last elements of x.
func (l *loop) replay(s *Scope, rounds tfbridge.Output, lists, x, dx []tfbridge.Output, specs []Spec) []tfbridge.Output {
	n, d := len(l.vars), len(dx)
	all := slices.Concat([]Spec{scalarSpec(tfbridge.Int32)}, specs, l.all[n:])
	inputs := slices.Concat([]tfbridge.Output{rounds}, dx, x[n:], lists)
	for range lists {
		all = append(all, scalarSpec(tfbridge.Variant))
	}
	cond := s.Func("while_replay_cond", all, nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{Greater(s, args[0], s.Const(int32(0)))}
	})
	body := s.Func("while_replay_body", all, nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		dx, captures, lists := args[1:1+d], args[1+d:len(args)-n], args[len(args)-n:]
		var vars, shorter []tfbridge.Output
		for i, list := range lists {
			popped := s.Op("TensorListPopBack", map[string]any{"element_dtype": l.vars[i].DType}, list, s.Const(int32(-1)))
			if s.Err() != nil {
				return nil
			}
			shorter, vars = append(shorter, popped[0]), append(vars, popped[1])
		}
		vars = slices.Concat(s.shaped(vars, l.vars), captures)
		dx = l.apply(s, vars, dx)
		left := Sub(s, args[0], s.Const(int32(1)))
		return slices.Concat([]tfbridge.Output{left}, dx, captures, shorter)
	})
	if s.Err() != nil {
		return nil
	}
	outputs := l.while(s, cond, body, all, inputs)
	if s.Err() != nil {
		return nil
	}
	return outputs[1 : 1+d]
}

// apply calls the derivative of the body. It returns the derivatives of those
// variables and captures that have one.
func (l *loop) apply(s *Scope, x, dx []tfbridge.Output) []tfbridge.Output {
	args := slices.Clone(x)
	for _, v := range x { // the body has as many results as arguments
		switch {
		case trainable(v.DataType()):
			args, dx = append(args, dx[0]), dx[1:]
		case hasZero(v.DataType()):
			args = append(args, ZerosLike(s, v))
		default:
			args = append(args, v)
		}
	}
	var out []tfbridge.Output
	for i, g := range s.call(l.gradient, args) {
		if trainable(x[i].DataType()) {
			out = append(out, g)
		}
	}
	return out
}
