package savedmodel

// eachMessage calls visit with every message in b, a checked message of type m,
// itself included and those around others first. It stops at the first error.
func eachMessage(b []byte, m *messageType, visit func(b []byte, m *messageType) error) error {
	if err := visit(b, m); err != nil {
		return err
	}
	for f := range fieldsOf(b) {
		if t := m.field(f.num).message; t != nil {
			if err := eachMessage(f.bytes, t, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// functionsIn calls found with every function that a message of type m names,
// at whatever depth.
func functionsIn(b []byte, m *messageType, found func(name string)) {
	eachMessage(b, m, func(b []byte, m *messageType) error { //nolint:errcheck // visit returns none
		if m.name != "NameAttrList" {
			return nil
		}
		name, _ := attrField(b, funcName)
		found(string(name.bytes))
		return nil
	})
}
