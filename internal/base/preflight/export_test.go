package preflight

// XLAFlags are the flags of TF_XLA_FLAGS with their types.
func XLAFlags() map[string]string {
	flags := make(map[string]string)
	for name, kind := range xlaFlags {
		flags[name] = string(kind)
	}
	return flags
}

// CheckedBools and CheckedInts are the variables with one value.
func CheckedBools() []string { return checkedBools }
func CheckedInts() []string  { return checkedInts }
