package savedmodel

// Limits of what the policy follows.
const (
	maxFunctionDepth = 256      // of functions that call functions
	maxFunctionCalls = 1 << 20  // of one function, in the functions that it calls too
	maxVisits        = 16 << 20 // of nodes, for all signatures together
	maxTraceDepth    = 64       // of identities between a file name and its use
	maxViolations    = 32       // unsafe operations that one error names
)
