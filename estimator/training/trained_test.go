package training

import (
	"testing"

	"millrace/savedmodel"
)

// The seed of a recurrent cell is found by the variables before it in Keras's list.
func TestInRecurrentCell(t *testing.T) {
	const value = "/.ATTRIBUTES/VARIABLE_VALUE"
	objects := map[string]savedmodel.VariableObject{}
	for path, name := range map[string]string{
		"variables/0": "lstm/lstm_cell/kernel", "variables/1": "lstm/lstm_cell/recurrent_kernel", "variables/2": "lstm/lstm_cell/bias",
		"variables/3": "seed_generator/seed_generator_state",
		"variables/4": "gru/gru_cell/kernel", "variables/5": "gru/gru_cell/recurrent_kernel", "variables/6": "seed_generator_1/seed_generator_state",
		"variables/7": "head/kernel", "variables/8": "head/bias", "variables/9": "seed_generator_2/seed_generator_state",
	} {
		objects[path+value] = savedmodel.VariableObject{Name: name}
	}
	for path, want := range map[string]bool{"variables/3": true, "variables/6": true, "variables/9": false, "drop/seed": false} {
		if got := inRecurrentCell(path+value, objects); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
