package policy

// Limits of what the policy follows.
const (
	MaxFunctionDepth = 256      // of functions that call functions
	maxFunctionCalls = 1 << 20  // of one function, in the functions that it calls too
	maxVisits        = 16 << 20 // of nodes, for all signatures together
	MaxTraceDepth    = 64       // of identities between a file name and its use
	MaxViolations    = 32       // unsafe operations that one error names
)
