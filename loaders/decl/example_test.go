package decl_test

import (
	"fmt"

	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
)

// fruit is an object with two keys.
type fruit struct {
	decl.Object
	Name  string `json:"name" decl:"required,enum=apple|pear" doc:"Which fruit."`
	Count int64  `json:"count" decl:"default=1,min=1"`
}

func ExampleReporter_Decode() {
	node, err := jsonpos.Parse([]byte(`{"name": "appel", "count": 0, "colour": "red"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := &decl.Reporter{File: "fruit.json"}
	r.Decode(node, &fruit{})
	problems := r.Finish()
	problems.Sort()
	fmt.Println(problems)
	// Output:
	// fruit.json:1:10: name: must be "apple" or "pear", got "appel"; did you mean "apple"?
	// fruit.json:1:28: count: must be at least 1, got 0
	// fruit.json:1:31: colour: unknown key "colour"; the keys are "name" and "count"
}

func ExampleSchema() {
	schema, err := decl.Schema(&fruit{}, decl.SchemaOptions{Title: "fruit"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", schema)
	// Output:
	// {
	//   "$schema": "https://json-schema.org/draft/2020-12/schema",
	//   "properties": {
	//     "name": {
	//       "type": "string",
	//       "enum": [
	//         "apple",
	//         "pear"
	//       ],
	//       "description": "Which fruit."
	//     },
	//     "count": {
	//       "type": "integer",
	//       "minimum": 1,
	//       "default": 1
	//     }
	//   },
	//   "additionalProperties": false,
	//   "type": "object",
	//   "required": [
	//     "name"
	//   ],
	//   "title": "fruit"
	// }
}
