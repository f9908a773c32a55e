// Package message checks the protobuf messages of models and checkpoints, and
// serializes them again in a canonical form that all parsers read alike. It knows their
// types from tables, not from generated code, and limits depth and size before anything
// is allocated.
//
//	var check message.Checker
//	err := check.Whole(data, message.SavedModelType())
//	data = message.Canonical(data, message.SavedModelType())
package message
