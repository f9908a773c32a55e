package engine

// GoStage is a stage of a plan whose work calls Go functions while the graph runs. A graph
// with such calls runs in the process alone that built it.
type GoStage struct {
	Stage string `json:"stage"`
	Why   string `json:"why"`
}

// inGo is a part of the table: which stages call Go, and why. Every rule that matches is a
// reason.
var inGo = []struct {
	GoStage
	when func(Choice) bool
}{
	{GoStage{"read", "the library of dataset operations is not built for this runtime, so Go reads the files (millrace runtime native)"},
		func(c Choice) bool { return !c.Own }},
}

// InGo lists the stages that call Go functions while the graph runs; none for a plan
// whose graph runs in any process that has Millrace's operations. Checks of records are not
// among them: who takes the graph elsewhere checks the records before.
func InGo(c Choice) (list []GoStage) {
	for _, r := range inGo {
		if r.when(c) {
			list = append(list, r.GoStage)
		}
	}
	return list
}

// ReadsSequences reports whether a native operation reads the sequences of an epoch in their
// order, where they are read by their place.
func ReadsSequences(c Choice) bool { return c.ReadsNatively() && c.ReadsByPlace() }
